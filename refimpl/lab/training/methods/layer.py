"""Layer sampling as GraphSAGE does it: the baseline of JPDC'21 section 7.7."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from refimpl.hints import Fanouts
from refimpl.lab.hints import HopFanouts, Kept
from refimpl.lab.training.batches import DrawnLayers
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings

if TYPE_CHECKING:
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.training.config import TrainConfig
    from refimpl.lab.training.run import Run

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
    in_parts: ClassVar[bool] = True

    batch_size: int = base.batch_size()
    fanouts: Kept[HopFanouts | None, Fanouts | None] = base.fanouts("25,10,10,..")
    fanout_order: Literal["roots_first", "code"] = base.fanout_order()
    pool: int = base.pool_size()
    background: bool = base.background()

    def check(self, config: TrainConfig) -> None:
        """Raise ValueError unless these settings fit the model."""
        base.check_fanouts(self, config)

    def fitted(self, config: TrainConfig, dataset: Dataset) -> LayerSampling:
        """Return these settings with what depends on the model filled in."""
        return replace(self, fanouts=base.fitted_fanouts(self, config.reach, FANOUTS))

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return DrawnLayers(run, partial(sampled_batch, run, base.hop_fanouts(self)))


def sampled_batch(run, fanouts, roots, stream):
    """Return the MFG of a batch of roots, and what each layer aggregates with on it."""
    mfg = run.gnn.layer_sample(run.graph, roots, fanouts, stream)
    return mfg, run.stack.block_operands(mfg, run.graph, dtype=run.dtype)
