"""GraphFM: GNNAutoScale whose histories move towards what a batch says about its neighbours.

Yu, Wang, Wang, Liu, Gui, Li and Ji 2022, "GraphFM: Improving Large-Scale GNN Training via Feature
Momentum": the variant for out-of-batch nodes (GraphFM-OB).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from refimpl.block import Block
from refimpl.hints import Integers, Positions
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import Kept
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, MethodSettings, Step
from refimpl.lab.training.methods.gas import (
    checked_partition,
    cluster_batches,
    cluster_order,
    histories_of,
    history_counts,
    neighborhoods_ahead,
)
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import custom, real
from refimpl.profiling import timed


@dataclass(frozen=True, eq=False)
class GraphFm(MethodSettings):
    """GraphFM-OB: GNNAutoScale with momentum in the histories.

    Yu et al. 2022.

    Parameters
    ----------
    batch_size : int
        As for `Gas`.
    partition : (n,) integer array, optional
        As for `Gas`.
    beta : float in [0, 1]
        The weight of what a batch says about a node outside it, against the node's history; 0 is
        GNNAutoScale.
    """

    name: ClassVar[str] = "graphfm"
    description: ClassVar[str] = "batches"
    several_workers: ClassVar[bool] = False
    epoch_covers_graph: ClassVar[bool] = True
    state_description: ClassVar[str] = "histories with momentum"
    counts_loads: ClassVar[bool] = True

    batch_size: int = base.batch_size()
    partition: Kept[Positions | None, Integers | None] = custom(
        None, checked_partition, "clusters", flag=""
    )
    beta: float = real(
        0.5, "set the momentum of histories outside the batch", high=1, metavar="SHARE"
    )

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless the model is one that aggregates by one matrix."""
        base.only(config, "sage", "gcn", "gat")

    def fitted(self, config: RunConfig, dataset: Dataset) -> GraphFm:
        """Return these settings unless the model would use weights of edges."""
        if config.model.uses_weights(dataset.train_graph):
            raise ValueError(
                "method must be another one where edges have weights: GraphFM estimates a row "
                "outside a batch from some of its edges, and its paper has no weights there"
            )
        return self

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return GraphFmIterations(run)


class GraphFmIterations:
    """The iterations of GraphFM-OB on a `Run`.

    As those of GNNAutoScale, but before layer l + 1 reads a node u outside the batch from the
    histories, its row of layer l becomes 1 - beta times itself plus beta times what layer l gives
    for u from u's own input and the inputs of its neighbours in the batch. These count as a sample
    of all its neighbours: the mean is taken over them, and GCN's sum is scaled up to the degree of
    u, as in `block_norm`. (The authors' program, which has no GraphSAGE, leaves that sum as it is,
    and u's own input out.) The new rows are constants for the weights, as all that is read from
    histories.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.histories = self.cache = histories_of(run)
        self.passes = neighborhoods_ahead(run, cluster_batches(run, cluster_order(run)))

    def iteration(self) -> Step:
        """Go forward and back over the next batch; return its `Step`."""
        run, histories, L = self.run, self.histories, self.run.config.layers
        beta = run.config.method.beta
        (nodes, block), passes = next(self.passes), run.passes()
        s = block.n_dst
        batch, outside = nodes[:s], nodes[s:]
        with timed("sampling"):
            A = run.block_operand(block, nodes)
            outer = outer_block(A.graph_t, s)
            A_outer = run.block_operand(outer, np.concatenate([outside, batch]))

        X = run.load(nodes)
        for l in range(1, L):
            H = passes.forward(l, A, X, nodes)
            histories.write(l, batch, H)
            partial = passes.again(l, A_outer, lambda X: np.concatenate([X[s:], X[:s]]))
            moved = (1 - beta) * histories.read(l, outside) + beta * partial
            histories.write(l, outside, moved)
            X = np.concatenate([H, moved])
        H = passes.forward(L, A, X, nodes)
        loss = run.stack.loss(passes.classify(H, batch), *run.targets(batch))

        G = loss.gradient
        for l in range(L + 1, 0, -1):
            G = passes.backward(l, G, rows=s)  # histories are constants

        counts = history_counts(
            len(nodes), len(outside) * (L - 1), s * (L - 1), row_bytes=run.row_bytes
        )
        return Step(loss.value, passes.gradients, s, counts)

    def close(self) -> None:
        """End the reads ahead, if there are any."""
        self.passes.close()


def outer_block(transpose: Block, s: int) -> Block:
    """Return the Block from the nodes outside a batch to their neighbours in it.

    Parameters
    ----------
    transpose : Block
        The transpose of a block whose s destinations, a batch, are its first sources.
    s : int

    Returns
    -------
    Block
        Destinations are the sources of the first block from number s; they stand first among the
        sources, then come the nodes of the batch.
    """
    start, end, outside = transpose.start[s:], transpose.end[s:], transpose.n_dst - s
    return Block._trusted(start, end, transpose.indices + np.int32(outside), transpose.n_dst)
