"""Minibatches whose neighbours are not drawn yet, and an estimate of what all of them would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refimpl.lab.training.methods.base import hop_fanouts
from refimpl.profiling import timed
from refimpl.samplers.neighbor import Minibatch

if TYPE_CHECKING:
    from collections.abc import Generator

    from refimpl.hints import Absent, Ids
    from refimpl.history.iteration import FreshStep
    from refimpl.lab.training.run import Run

EVERY = 64  # minibatches of an epoch, and worker: the inputs of one are counted, for all of them


def undrawn_minibatches(run: Run, ahead: int = 0) -> Generator[Minibatch, None, None]:
    """Yield one `Minibatch` after another, of those here, without end: nothing is drawn.

    The first one is of the step that comes `ahead` steps later.
    """
    batches = -(-len(run.roots) // run.config.method.batch_size)  # in an epoch
    count, epoch, roots = run.begun_by(ahead), None, []
    while True:
        before, (epoch, b) = epoch, divmod(run.turns.number(count), batches)
        if epoch != before:
            roots = epoch_roots(run, epoch)
        yield minibatch_of(run, roots[b], epoch, b)
        count += 1


@timed("sampling")
def epoch_roots(run: Run, epoch: int) -> list[Ids]:
    """Return the roots of each batch of an epoch."""
    settings = run.config.method
    batches: list[Ids]
    batches = run.gnn.samplers.epoch_batches(run.roots, settings.batch_size, run.config.rng, epoch)
    return batches


def minibatch_of(run: Run, roots: Ids, epoch: int, b: int) -> Minibatch:
    """Return the `Minibatch` of batch b of an epoch, which has these roots."""
    fanouts = hop_fanouts(run.config.method)
    return Minibatch(run.graph, roots, fanouts, run.config.rng, epoch, b)


class InputCounts:
    """The inputs of the minibatches of a `Run`: counted in some, for the others in proportion.

    The first minibatch of an epoch is counted, and one in 64 behind it. It stands for those up to
    the next that is counted: their inputs are in proportion to their roots, and not below their
    live rows. The result does not depend on where a run was resumed, nor on its ranks.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.latest: tuple[Any, int, Any] = (None, 0, 0)  # (epoch, batch), its roots and its inputs

    def counted_batch(self, b: int) -> int:
        """Return the batch of the same epoch that is counted for batch b, or b itself."""
        return b - b % (EVERY * self.run.turns.workers)

    def inputs(self, step: FreshStep) -> int | Absent:
        """Return the inputs of the minibatch of a `FreshStep`."""
        run = self.run
        epoch, b = divmod(run.number, -(-len(run.roots) // run.config.method.batch_size))
        counted, roots, live = self.counted_batch(b), len(step.nodes[-1]), len(step.nodes[0])
        if b == counted:
            self.latest = (epoch, b), roots, step.inputs
            return step.inputs
        if not any(step.cached[l - 1].any() for l in step.updates):
            return live  # all were drawn
        if self.latest[0] != (epoch, counted):  # in a resumed run, or by another rank
            self.latest = (epoch, counted), *self._drawn(epoch, counted)
        _, its_roots, its_inputs = self.latest
        return max(its_inputs * roots // its_roots, live)

    def _drawn(self, epoch: int, b: int) -> tuple[int, int]:
        """Return the roots and the inputs of a batch."""
        roots = epoch_roots(self.run, epoch)[b]
        mfg = minibatch_of(self.run, roots, epoch, b).drawn_whole(self.run.gnn)
        return len(roots), len(mfg.nodes[0])
