"""Layer sampling as GraphSAGE does it: the baseline of JPDC'21 section 7.7."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from refimpl.lab.training.batches import Shuffle
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import MethodSettings
from refimpl.lab.training.pool import Pool, one_by_one
from refimpl.profiling import timed
from refimpl.streams import LAYER, key

FANOUTS = (25, 10)  # JPDC'21 section 7.7


@dataclass(frozen=True)
class LayerSampling(MethodSettings):
    """Batches of nodes with sampled neighbours in each layer, as GraphSAGE does: a baseline.

    JPDC'21 section 7.7; Hamilton et al. 2017.

    Parameters
    ----------
    batch_size : int
        Roots of a minibatch.
    fanouts : sequence of ints, optional
        At most so many neighbours of each node are sampled in each hop, the roots' hop first; -1
        for all. One a hop, so `layers` in all, for MixHop layers x hops. Default: 25, then 10 for
        every other hop.
    fanout_order : {"roots_first", "code"}
        "code" reads `fanouts` backwards (E-G5).
    pool, background
        As for `SampledGraph`.
    """

    name: ClassVar[str] = "layer"
    way: ClassVar[str] = "batches"

    batch_size: int = base.batch_size()
    fanouts: tuple | None = base.fanouts("25,10,10,..")
    fanout_order: str = base.fanout_order()
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config):
        """Raise ValueError unless these settings fit the model."""
        base.check_fanouts(self, config)

    def fitted(self, config, graph):
        """Return these settings with what depends on the model filled in."""
        return replace(self, fanouts=base.fitted_fanouts(self, config.reach, FANOUTS))

    def start(self, run):
        """Return the iterations of a run."""
        return LayerIterations(run)


class LayerIterations:
    """The iterations of layer sampling on a `Run`.

    An iteration depends on its number alone: its roots are a batch of a `Shuffle` of all training
    nodes, and what batch b of an epoch samples has the key (seed, LAYER, epoch, b).
    """

    cache = None

    def __init__(self, run):
        settings = run.config.method
        self.run = run
        self.shuffle = Shuffle(run.gnn, run.graph.n, settings.batch_size, run.config.rng)
        batch = partial(sampled_batch, run, self.shuffle, base.hop_fanouts(settings))
        with timed("sampling"):
            self.pool = Pool(
                one_by_one(batch),
                size=settings.pool,
                first=run.state.iterations,
                background=settings.background,
            )

    def iteration(self):
        """Go forward and back over the next minibatch; return its `Step`."""
        run = self.run
        mfg, operands = next(self.pool)
        X, Y = run.gnn.loader.gather_rows(run.X, mfg.nodes[0]), run.Y[mfg.nodes[-1]]
        return run.pass_over(operands, X, Y)

    def close(self):
        """End the pool's thread."""
        self.pool.close()


def sampled_batch(run, shuffle, fanouts, iteration):
    """Return the MFG of an iteration, and what each layer aggregates with on it."""
    epoch, b = shuffle.name(iteration)
    stream = key(run.config.rng, LAYER, epoch, b)
    mfg = run.gnn.layer_sample(run.graph, shuffle.batch(iteration), fanouts, stream)
    return mfg, run.stack.block_operands(mfg, run.degrees, graph=run.graph, dtype=run.dtype)
