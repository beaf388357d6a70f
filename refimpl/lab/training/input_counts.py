"""How many inputs neighbour sampling would load where not all neighbours are drawn: an estimate."""

from refimpl.lab.training.methods.base import LoadCounts
from refimpl.lab.training.prefetch import epoch_roots, minibatch_of

EVERY = 64  # minibatches of an epoch, and worker: the inputs of one are counted, for all of them


class InputCounts:
    """The inputs of the minibatches of a `Run`: counted in some, for the others in proportion.

    The first minibatch of an epoch is counted, and one in 64 behind it. It stands for those up to
    the next that is counted: their inputs are in proportion to their roots, and not below their
    live rows. The result does not depend on where a run was resumed, nor on its ranks.
    """

    def __init__(self, run):
        self.run = run
        self.latest: tuple = (None, 0, 0)  # (epoch, batch), its roots and its inputs

    def counted_batch(self, b):
        """Return the batch of the same epoch that is counted for batch b, or b itself."""
        return b - b % (EVERY * self.run.turns.workers)

    def inputs(self, step):
        """Return the inputs of the minibatch of a `FreshStep`."""
        run = self.run
        epoch, b = divmod(run.number, -(-len(run.roots) // run.config.method.batch_size))
        counted, roots, live = self.counted_batch(b), len(step.nodes[-1]), len(step.nodes[0])
        if b == counted:
            self.latest = (epoch, b), roots, step.inputs
            return step.inputs
        if not any(read.any() for read in step.cached):
            return live  # all were drawn
        if self.latest[0] != (epoch, counted):  # in a resumed run, or by another rank
            self.latest = (epoch, counted), *self._drawn(epoch, counted)
        _, its_roots, its_inputs = self.latest
        return max(its_inputs * roots // its_roots, live)

    def _drawn(self, epoch, b):
        """Return the roots and the inputs of a batch."""
        roots = epoch_roots(self.run, epoch)[b]
        mfg = minibatch_of(self.run, roots, epoch, b).drawn_whole(self.run.gnn)
        return len(roots), len(mfg.nodes[0])


def load_counts(step, inputs, held, row_bytes):
    """Return what an iteration needed, found and loaded; `held` features were in the cache."""
    loaded = len(step.nodes[0]) - held
    return LoadCounts(
        inputs=inputs,
        live=len(step.nodes[0]),
        feature_hits=held,
        loaded=loaded,
        bytes=loaded * row_bytes,
        lookups=sum(len(step.cached[l - 1]) for l in step.updates),
        hits=sum(int(step.cached[l - 1].sum()) for l in step.updates),
        admitted=sum(done.admitted for done in step.updates.values()),
        evicted=sum(done.evicted for done in step.updates.values()),
    )
