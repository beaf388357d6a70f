"""VR-GCN: few sampled neighbours, corrected by histories of all (a control variate).

Chen, Zhu and Song 2018, "Stochastic Training of Graph Convolutional Networks with Variance
Reduction".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.hints import Fanouts
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import HopFanouts, Kept
from refimpl.lab.training.edge_weights import all_values
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, LoadCounts, MethodSettings, Step
from refimpl.lab.training.methods.gas import histories_of, history_counts, rows_of
from refimpl.lab.training.prefetch import message_flow_graphs
from refimpl.lab.training.run import Run, RunConfig
from refimpl.profiling import timed

if TYPE_CHECKING:
    from refimpl.block import MFG
    from refimpl.graph import Graph
    from refimpl.hints import Absent, FloatDtype, Floats, Ids, Positions
    from refimpl.lab.training.stack import Passes

FANOUTS = (2,)  # "only two neighbors per node"


@dataclass(frozen=True)
class VrGcn(MethodSettings):
    """VR-GCN: batches with few sampled neighbours, corrected by histories.

    Chen, Zhu and Song 2018.

    Parameters
    ----------
    batch_size, workers, fanout_order
        As for `Fresh`.
    fanouts : sequence of ints, optional
        As for `Fresh`, but one less: the first layer has the features of all neighbours. Default:
        2 in every hop.
    refresh : int
        As for `Gas`.
    """

    name: ClassVar[str] = "vrgcn"
    description: ClassVar[str] = "batches"
    several_workers: ClassVar[bool] = False
    features_in: ClassVar[tuple[str, ...]] = ("memory", "mmap", "parts")  # it keeps all rows
    state_description: ClassVar[str] = "histories for variance reduction"
    setup_step: ClassVar[str] = "aggregating features"
    counts_loads: ClassVar[bool] = True
    sample_mode: ClassVar[str] = "layered"
    batch_dependency: ClassVar[int] = 1

    batch_size: int = base.batch_size()
    fanouts: Kept[HopFanouts | None, Fanouts | None] = base.fanouts("2,2,..")
    fanout_order: Literal["roots_first", "code"] = base.fanout_order()
    workers: int = base.workers()
    refresh: int = base.refresh()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless these settings fit the model."""
        base.only(config, "sage", "gcn")
        base.check_fanouts(self, config)
        base.check_refresh(self, config)

    def fitted(self, config: RunConfig, dataset: Dataset) -> VrGcn:
        """Return these settings with what depends on the model filled in."""
        return replace(self, fanouts=base.fitted_fanouts(self, config.reach - 1, FANOUTS))

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return VrGcnIterations(run)


class VrGcnIterations:
    """The iterations of VR-GCN on a `Run`.

    With P the matrix of the model on the training graph, h the inputs of a layer, h' their
    histories, and S the matrix of a sample of P's entries, D of them in a row v of deg v, scaled
    by deg v / D, a layer aggregates

        P h' + S (h - h') = S h + (P - S) h'.

    The node's own row, where a layer has one, is exact. So the aggregate is exact where h' = h,
    and its mean over the sample is exact for any h'. The gradient flows through the sampled h
    alone. After a step the histories hold every row that it computed. Layer 1 knows its inputs,
    the features, so its aggregate is exact; it is computed once, before training, as the authors
    do, and dropout comes after it. Layers above drop the same elements of h and of h', which keeps
    both statements above true; the authors' other estimator for dropout (CVD) is not used.

    An iteration takes O(e f + s f^2) time, with e counting all neighbours of the nodes that
    layers 2 .. L compute, and s these nodes.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.minibatches = run, message_flow_graphs(run)
        ahead = base.refreshed_ahead(run, -(-len(run.roots) // run.config.method.batch_size))
        self.others = [message_flow_graphs(run, steps) for steps in ahead]
        self.histories = self.cache = histories_of(run)
        with timed("normalization"):
            A = run.stack.adjacency(run.graph, dtype=run.dtype)
            self.P = self._entries()
            self.X = run.load()
            self.PX = run.gnn.spmm(A.graph, A.data, self.X)

    def _entries(self) -> Floats[Any]:
        """Return the entries of P that belong to edges, (e,)."""
        run = self.run
        if run.config.model.uses_weights(run.graph):
            return all_values(run.config.model.matrix, run.graph).astype(run.dtype)
        return edge_values(run.graph, run.config.model.name, run.dtype)

    def iteration(self) -> Step:
        """Go forward and back over the next minibatch; return its `Step`."""
        run, L = self.run, self.run.config.layers
        done = []
        for others in self.others:
            mfg, passes = next(others), run.forward_only()
            H, counts = self._forward(mfg, passes, L - 1)
            self._write(mfg, H)
            done.append(counts._replace(inputs=0))
        mfg, passes = next(self.minibatches), run.passes()
        # of layers 1 .. L: those that the layer computes
        nodes: tuple[Ids | Absent, ...] = (None, *mfg.nodes)
        H, counts = self._forward(mfg, passes, L)
        logits = passes.classify(H[L], nodes[L])
        loss = run.stack.loss(logits, *run.targets(nodes[L]))

        G = passes.backward(L + 1, loss.gradient)
        for l in range(L, 0, -1):
            below = len(nodes[l - 1]) if l > 1 else 0
            G = passes.backward(l, G, rows=below)  # h' is a constant

        self._write(mfg, H)
        return Step(loss.value, passes.gradients, len(nodes[L]), counts.plus(*done))

    def _forward(self, mfg: MFG, passes: Passes, last: int) -> tuple[list[Any], LoadCounts]:
        """Return the rows of layers 1 .. `last`, and the counts of a pass."""
        run, histories, L = self.run, self.histories, self.run.config.layers
        nodes: tuple[Ids | Absent, ...] = (None, *mfg.nodes)
        H: list[Any] = [None] * (L + 1)
        read = 0

        X = np.concatenate([self.X[nodes[1]], self.PX[nodes[1]]])
        A = read_off(len(nodes[1]), run.dtype)
        H[1] = passes.forward(1, A, X, np.concatenate([nodes[1], nodes[1]]))
        for l in range(2, last + 1):
            with timed("sampling"):
                block = mfg.blocks[l - 2]
                S = run.block_operand(block, nodes[l - 1])
                A, outside = control_variate(S, block, nodes[l], run.graph, self.P)
            sources = np.concatenate([nodes[l - 1], outside])
            X = np.concatenate([H[l - 1], histories.read(l - 1, outside)])  # h and h'
            H[l] = passes.forward(l, A, X, sources)
            read += len(outside)
        counts = history_counts(
            2 * len(nodes[1]), read, sum(map(len, nodes[1:L])), row_bytes=run.row_bytes
        )
        return H, counts

    def _write(self, mfg: MFG, H: list[Any]) -> None:
        """Put the rows of layers 1 .. L - 1 into the histories."""
        for l in range(1, self.run.config.layers):
            self.histories.write(l, mfg.nodes[l - 1], H[l])

    def close(self) -> None:
        """End the threads that sample ahead."""
        for minibatches in (self.minibatches, *self.others):
            minibatches.close()


def read_off(k: int, dtype: FloatDtype) -> Adjacency:
    """Return the matrix (0 I) that takes the last k of 2 k rows: they are aggregated already."""
    rows, nothing = np.arange(k), np.empty(0, dtype)
    pattern = Block._trusted(rows, rows + 1, (k + rows).astype(np.int32), 2 * k)
    none = Block._trusted(np.zeros(2 * k, np.int64), np.zeros(2 * k, np.int64), rows[:0], k)
    return Adjacency(pattern, np.ones(k, dtype), nothing, none)


def edge_values(graph: Graph, model: str, dtype: FloatDtype) -> Floats[Any]:
    """Return, for every edge (v, u), what a model multiplies the row of u by at v; shape (e,).

    1 / deg v for "sage". For "gcn" the entry of `sym_norm`, but 0 for a self-loop: a node's own
    row has its own weight.
    """
    degrees = graph.degrees()
    if model == "sage":
        return np.repeat(1 / np.maximum(degrees, 1), degrees).astype(dtype)
    receiving = np.repeat(np.arange(graph.n), degrees)
    values = 1 / np.sqrt((degrees[receiving] + 1) * (degrees[graph.indices] + 1))
    return np.where(receiving == graph.indices, 0, values).astype(dtype)


def control_variate(
    S: Adjacency, block: Block, receiving: Ids, graph: Graph, P: Floats[Any]
) -> tuple[Adjacency, Ids]:
    """Return the matrix (S, P - S) of the rows (h, h'), and the nodes whose h' it reads.

    The gradient of h' is not computed: the transpose has empty rows there. A node that has all of
    its neighbours sampled needs no histories. O(k log k) time for k neighbours.

    Parameters
    ----------
    S : Adjacency
        From `block_norm`: it scales what was sampled up to all neighbours.
    block : Block
        What it was made of, with `edge_ids` in `graph`.
    receiving : int32 array
        The destinations of `block`.
    graph : Graph
    P : (e,) array
        From `edge_values`.

    Returns
    -------
    Adjacency
        Each row has the entries of S first, then those of P - S in the order of the graph.
    (k,) int32 array
        The nodes of the columns behind those of S, ascending.
    """
    degrees, taken = graph.degrees(receiving), block.degrees()
    short = taken < degrees  # rows with neighbours that were not sampled
    positions, ends = rows_of(graph, receiving[short])
    row = np.repeat(np.arange(len(receiving)), taken)
    drawn = block.edge_ids - graph.start[receiving][row]  # the place in its row
    begin = np.zeros(len(receiving), np.int64)
    begin[short] = ends - degrees[short]
    sampled, of_row = (begin[row] + drawn)[short[row]], row[short[row]]

    P_minus_S = P[positions]
    scale = degrees / np.maximum(taken, 1)
    P_minus_S[sampled] *= (1 - scale[of_row]).astype(P.dtype)  # S is scale times P there
    others, place = np.unique(graph.indices[positions], return_inverse=True)
    lengths = np.where(short, degrees, 0)
    return side_by_side(S, lengths, place, P_minus_S, len(others)), others


def side_by_side(
    S: Adjacency, lengths: Positions, columns: Positions, values: Floats[Any], width: int
) -> Adjacency:
    """Return S with `width` more columns: row i has its next ``lengths[i]`` of `values` there."""
    n_src, first = S.graph.n_src, S.graph.degrees()
    end = np.cumsum(first + lengths)
    start = end - first - lengths
    left = np.repeat(start, first) + _within(first)
    right = np.repeat(start + first, lengths) + _within(lengths)
    indices, data = np.empty(end[-1:].sum(), np.int32), np.empty(end[-1:].sum(), values.dtype)
    indices[left], data[left] = S.graph.indices, S.data
    indices[right], data[right] = n_src + columns, values
    pattern = Block._trusted(start, end, indices, n_src + width)
    t, none = S.graph_t, np.full(width, S.graph_t.e)
    t = Block._trusted(
        np.concatenate([t.start, none]), np.concatenate([t.end, none]), t.indices, t.n_src
    )
    return Adjacency(pattern, data, S.data_t, t)


def _within(lengths: Positions) -> Positions:
    """Return 0 .. k - 1 for every length k, one behind the other."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
