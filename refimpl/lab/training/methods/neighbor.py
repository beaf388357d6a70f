"""Neighbour sampling: FreshGNN without its cache, the baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from refimpl.hints import Fanouts, SampleMode
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import HopFanouts, Kept
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, LoadCounts, MethodSettings, Step
from refimpl.lab.training.methods.fresh import FANOUTS
from refimpl.lab.training.prefetch import message_flow_graphs
from refimpl.lab.training.run import Run, RunConfig


@dataclass(frozen=True)
class Neighbor(MethodSettings):
    """Batches of nodes, each with sampled neighbours for every hop (FreshGNN section 2).

    Parameters
    ----------
    batch_size, fanouts, fanout_order, sample_mode, batch_dependency, workers
        As for `Fresh`.
    """

    name: ClassVar[str] = "neighbor"
    description: ClassVar[str] = "batches"
    sparse_features: ClassVar[bool] = True
    in_parts: ClassVar[bool] = True
    counts_loads: ClassVar[bool] = True
    graph_in: ClassVar[tuple[str, ...]] = ("memory", "lookahead")

    batch_size: int = base.batch_size()
    fanouts: Kept[HopFanouts | None, Fanouts | None] = base.fanouts("20,15,10,10,..")
    fanout_order: Literal["roots_first", "code"] = base.fanout_order()
    sample_mode: SampleMode = base.sample_mode()
    batch_dependency: int = base.batch_dependency()
    workers: int = base.workers()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless these settings fit the model."""
        base.check_one_hop(config)
        base.check_fanouts(self, config)
        base.check_labor(self, config)

    def fitted(self, config: RunConfig, dataset: Dataset) -> Neighbor:
        """Return these settings with what depends on the model filled in."""
        return replace(self, fanouts=base.fitted_fanouts(self, config.reach, FANOUTS))

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return NeighborIterations(run)


class NeighborIterations:
    """The iterations of neighbour sampling on a `Run`."""

    cache = None

    def __init__(self, run: Run) -> None:
        self.run = run
        self.minibatches = run.ahead(message_flow_graphs(run), lambda mfg: mfg.nodes[0])

    def iteration(self) -> Step:
        """Go forward and back over the next minibatch, layer by layer; return its `Step`."""
        run, L = self.run, self.run.config.layers
        mfg, passes = next(self.minibatches), run.passes()
        roots = mfg.nodes[L]
        passes.spent.update(range(1, L + 1))  # nobody else reads the layers' rows

        H = run.load(mfg.nodes[0])
        for l in range(1, L + 1):
            nodes = mfg.nodes[l - 1]
            H = passes.forward(l, run.block_operand(mfg.blocks[l - 1], nodes), H, nodes)
        loss = run.stack.loss(passes.classify(H, roots), *run.targets(roots))

        G = loss.gradient
        for l in range(L + 1, 0, -1):
            G = passes.backward(l, G)

        loaded = len(mfg.nodes[0])
        counts = LoadCounts(loaded, loaded, loaded=loaded, bytes=loaded * run.row_bytes)
        return Step(loss.value, passes.gradients, len(roots), counts)

    def close(self) -> None:
        """End the threads that sample ahead."""
        self.minibatches.close()
