"""Layer sampling as GraphSAGE does it: the baseline of JPDC'21 section 7.7."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from refimpl.block import MFG
from refimpl.hints import Fanouts
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import HopFanouts, Kept
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings, Shuffle, Step
from refimpl.lab.training.run import Run, RunConfig
from refimpl.profiling import timed
from refimpl.streams import LAYER, key
from refimpl.training.subgraph_pool import Pool, one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from refimpl.hints import Ids

FANOUTS = (25, 10)  # JPDC'21 section 7.7
Drawn: TypeAlias = tuple[MFG, tuple[Any, ...]]  # and what each layer aggregates with


@dataclass(frozen=True)
class LayerSampling(MethodSettings):
    """Batches of nodes with sampled neighbours in each layer, a baseline (GraphSAGE).

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
    description: ClassVar[str] = "batches"
    sparse_features: ClassVar[bool] = True
    in_parts: ClassVar[bool] = True

    batch_size: int = base.batch_size()
    fanouts: Kept[HopFanouts | None, Fanouts | None] = base.fanouts("25,10,10,..")
    fanout_order: Literal["roots_first", "code"] = base.fanout_order()
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless these settings fit the model."""
        base.check_fanouts(self, config)

    def fitted(self, config: RunConfig, dataset: Dataset) -> LayerSampling:
        """Return these settings with what depends on the model filled in."""
        return replace(self, fanouts=base.fitted_fanouts(self, config.reach, FANOUTS))

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return DrawnLayers(run, partial(sampled_batch, run, base.hop_fanouts(self)))


class DrawnLayers:
    """The iterations on a `Run` of a method that draws nodes layer by layer, from batches of roots.

    An iteration depends on its number alone: its roots are a batch of a `Shuffle` of all training
    nodes, and what batch b of an epoch draws is ``sample(roots, key)``, with the key (seed, LAYER,
    epoch, b): the MFG of the roots, and what each layer aggregates with on it.
    """

    cache, moves_weights = None, True

    def __init__(self, run: Run, sample: Callable[[Ids, int], Drawn]) -> None:
        settings = run.config.method
        self.run = run
        roots = run.roots
        self.shuffle = Shuffle(run.gnn, len(roots), settings.batch_size, run.config.rng)
        with timed("sampling"):
            pool = Pool(
                one_by_one(partial(drawn, run.config.rng, roots, self.shuffle, sample), run.turns),
                size=settings.pool,
                first=run.begun,
                background=settings.background,
            )
        self.pool = run.ahead(pool, lambda drawn: drawn[0].nodes[0])

    def iteration(self) -> Step:
        """Do an iteration on the next minibatch; return its `Step`."""
        run = self.run
        done = run.gnn.training.sampled_iteration(
            self.pool, run.passes(), run.load, run.targets, run.adam()
        )
        return Step(done.loss, done.gradients, len(done.nodes))

    def close(self) -> None:
        """End the pool's thread."""
        self.pool.close()


def drawn(
    seed: int, roots: Ids, shuffle: Shuffle, sample: Callable[[Ids, int], Drawn], iteration: int
) -> Drawn:
    """Return what `sample` draws for an iteration."""
    epoch, b = shuffle.name(iteration)
    return sample(roots[shuffle.batch(iteration)], key(seed, LAYER, epoch, b))


def sampled_batch(run: Run, fanouts: HopFanouts, roots: Ids, stream: int) -> Drawn:
    """Return the MFG of a batch of roots, and what each layer aggregates with on it."""
    mfg = run.gnn.layer_sample(run.graph, roots, fanouts, stream)
    return mfg, run.stack.block_operands(mfg, run.graph, dtype=run.dtype)
