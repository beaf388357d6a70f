"""The exact pass over a graph, in blocks of rows: how a model is scored, and how it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from refimpl._support.row_block_products import rows_alike
from refimpl._support.thread_limits import one_blas_thread
from refimpl.graph.csr import undirected
from refimpl.lab.distributed.collectives import SharedRows
from refimpl.lab.training.config import MEMORY
from refimpl.lab.training.full_neighborhoods import Needed, cuts
from refimpl.lab.training.layer_outputs import InMemory, Loaded, Scratch
from refimpl.lab.training.models.base import stages_of
from refimpl.lab.training.stack import weights_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import Absent, FloatDtype, Ids, Matrix, Sparse
    from refimpl.lab.hints import Weights
    from refimpl.lab.training.layer_outputs import OnDisk
    from refimpl.lab.training.models.base import StageRun
    from refimpl.lab.training.stack import Stack
    from refimpl.loader.mpi import Communicator

    Load: TypeAlias = Callable[[Ids], Matrix[Any] | Sparse]
    Rows: TypeAlias = Loaded | InMemory | OnDisk | SharedRows
    Operands: TypeAlias = tuple[Any, ...]  # one a hop

UNBOUNDED = 2**62
ENTRY_BYTES, ROW_BYTES = 72, 64  # of positions and the like, for an entry and for a row


class FullGraphPass(NamedTuple):
    """What a stack makes of k nodes: the input of what gives the logits, and the logits, (k, C).

    `embeddings` is None where they were not asked for.
    """

    embeddings: Matrix[Any] | Absent
    logits: Matrix[Any]


class Pass(NamedTuple):
    """One pass over rows: what is done to a block of them.

    Attributes
    ----------
    hops : int
        How many hops away the first stage looks; the others look at no graph.
    stages : list of Placed
    """

    hops: int
    stages: list[Placed]


class Placed(NamedTuple):
    """A stage in its place.

    Attributes
    ----------
    place : str
        The name of its layer.
    run : callable
        As in `Stage`.
    width : int
        Of its output.
    tops : bool
        Whether its input is what the logits are made of: it begins the last layer, or is the
        linear classifier.
    """

    place: str
    run: StageRun
    width: int
    tops: bool


class Plan(NamedTuple):
    """How a pass is done.

    Attributes
    ----------
    hop : int
        How many hops came before.
    shape : tuple of 2 ints
        Of its output.
    on_disk : bool
        Whether that is kept in a file.
    blocks : list of (first, last)
        Those of its rows that are computed here.
    """

    hop: int
    shape: tuple[int, int]
    on_disk: bool
    blocks: list[tuple[int, int]]


class Evaluation:
    """The exact pass for some nodes of a graph, with any weights: nothing is sampled or dropped.

    It goes layer by layer, over blocks of rows. A layer's rows are computed once each, for those
    nodes alone that one of `nodes` depends on, and are kept until the next layer has read them, in
    memory or in a file. A row of a sparse product is summed in the order of the graph's, and a row
    of a dense one does not depend on the rows beside it (`rows_alike`): the result has the same
    bits for any `memory`, any `nodes` and any number of threads.

    Parameters
    ----------
    stack : Stack
    graph : Graph
        Undirected, with n nodes; it may be another one than the stack was trained on.
    nodes : (k,) integer array, optional
        In any order, repeated or not; default: all n.
    dtype : float32 or float64
    memory : int
        Bytes for all but the features and the result, which are the caller's, the weights, and
        13 bytes a node. A single row may take more.
    comm : Communicator, optional
        The ranks that compute a share of each layer's rows each, and read those of other ranks
        where the next layer needs them: with the same bits. Each rank gets the whole result, but
        no embeddings. Default: there are no others.
    width : int, optional
        How many numbers a row of features takes in memory. Default: one a column.

    Raises
    ------
    TypeError, ValueError
        If the graph is not one that the model works on.
    """

    def __init__(
        self,
        stack: Stack,
        graph: Graph,
        nodes: NDArray[Any] | None = None,
        *,
        dtype: FloatDtype,
        memory: int = MEMORY,
        comm: Communicator | None = None,
        width: int | None = None,
    ) -> None:
        undirected(graph)
        stack.model.check_graph(graph)
        self.stack, self.gnn, self.hidden = stack, stack.gnn, stack.config.hidden
        self.dtype, self.memory = np.dtype(dtype), memory
        self.width = stack.f_in if width is None else width
        self.comm = comm if comm is not None and comm.size > 1 else None
        self.back: np.ndarray | slice = slice(None)  # where each of `nodes` stands in the result
        ids = np.arange(graph.n, dtype=np.int32)
        if nodes is not None:
            ids, back = np.unique(np.asarray(nodes, np.int32), return_inverse=True)
            if not np.array_equal(ids, nodes):
                self.back = back
        self.passes = passes_of(stack)
        self.needed = Needed(graph, ids, sum(one.hops for one in self.passes))
        self.plans = self._plans()
        self.operands: dict[int, Operands] = {}  # by pass: of those that are one block, and small
        self.matrix: Any = None  # of the whole graph, where that is one block

    def run(self, weights: Weights, load: Load, embeddings: bool = False) -> FullGraphPass:
        """Return the FullGraphPass of the nodes, in their order.

        Parameters
        ----------
        weights : dict of arrays
            By name, as ``stack.shapes()``.
        load : callable
            ``load(ids)`` returns the features of some nodes, scaled, (len(ids), f) of the dtype.
            It is asked for needed nodes only. Collective where there are other ranks.
        embeddings : bool
            Whether they are wanted.

        Returns
        -------
        FullGraphPass

        Raises
        ------
        OSError
            If a file for a layer's rows cannot be written; it is named.
        """
        with one_blas_thread(), rows_alike(), Scratch() as scratch:
            rows: Rows = Loaded(load, self.needed.order)
            wanted = None
            if embeddings:
                width = self.stack.f_in if len(self.stack.layers) == 1 else self.hidden
                wanted = InMemory((self.needed.counts[-1], width), self.dtype)
            for number, (one, plan) in enumerate(zip(self.passes, self.plans, strict=True)):
                last_pass = number == len(self.passes) - 1
                on_disk = plan.on_disk and not last_pass
                first, last = self._share(plan.shape[0])
                out = scratch.room((last - first, plan.shape[1]), self.dtype, on_disk)
                for first, last in plan.blocks:
                    operands, X = self._inputs(number, first, last, rows)
                    for stage in one.stages:
                        if stage.tops and wanted is not None:  # its rows' own come first
                            wanted.append(X[: max(min(last, wanted.shape[0]) - first, 0)])
                        X = stage.run(weights_of(weights, stage.place), operands, X)
                    out.append(X)
                rows.close()
                rows = out if self.comm is None else SharedRows(self.comm, out)
            found = None if wanted is None else wanted.array[self.back]
            logits = rows.take(self.gnn, slice(None))
            rows.close()
            return FullGraphPass(found, logits[self.back])

    def _inputs(self, number: int, first: int, last: int, rows: Rows) -> tuple[Operands, Any]:
        """Return what each hop of a pass aggregates with, and its input, for some rows."""
        one, plan = self.passes[number], self.plans[number]
        if not one.hops:
            return (), rows.take(self.gnn, slice(first, last))
        whole = last - first == plan.shape[0]
        if number in self.operands:
            return self.operands[number], rows.take(self.gnn, slice(None))
        if whole and self.needed.everything:
            operands = self._of_the_graph(one)
            if operands is not None:
                return operands, rows.take(self.gnn, slice(None))
        at, found = np.arange(first, last), []
        for hop in reversed(range(plan.hop + 1, plan.hop + one.hops + 1)):
            lengths = self.stack.model.matrix == "sym"
            complete, at = self.needed.rows(at, hop, whole, lengths)
            found.append(self.stack.model.complete_operand(self.gnn, complete, self.dtype))
        operands = tuple(found[::-1])
        if whole and self._entries(plan) * (16 + self.dtype.itemsize) <= self.memory // 8:
            self.operands[number] = operands
        return operands, rows.take(self.gnn, slice(None) if whole else at)

    def _of_the_graph(self, one: Pass) -> Operands | None:
        """Return what a pass over all nodes aggregates with: the same matrix for all, if small."""
        graph, matrix = self.needed.graph, self.matrix
        if matrix is None:
            matrix = self.stack.model.whole_operand(self.gnn, graph, self.dtype)
            if matrix is None:
                return None
            entry = self.dtype.itemsize if matrix.graph is graph else 8 + 2 * self.dtype.itemsize
            if matrix.graph.e * entry <= self.memory // 8:
                self.matrix = matrix
        return (matrix,) * one.hops

    def _plans(self) -> list[Plan]:
        """Return the Plan of each pass."""
        plans, hop, held, width = [], 0, 0, self.width
        for one in self.passes:
            shape = self.needed.counts[hop + one.hops], one.stages[-1].width
            first, last = self._share(shape[0])
            size = (last - first) * shape[1] * self.dtype.itemsize
            on_disk = size > 0 and held + size > self.memory // 2
            size = 0 if on_disk else size
            room = max(self.memory * 3 // 4 - held - size, 1)
            plan = Plan(hop, shape, on_disk, [(first, last)] if first < last else [])
            if last - first < shape[0] or self._whole_cost(one, plan, width) > room:
                blocks = cuts(last - first, self._costs(one, plan, width), room)
                plan = plan._replace(blocks=[(first + lo, first + hi) for lo, hi in blocks])
            plans.append(plan)
            hop, held, width = hop + one.hops, size, shape[1]
        return plans

    def _share(self, count: int) -> tuple[int, int]:
        """Return (first, last) of those of so many rows that are computed here."""
        if self.comm is None:
            return 0, count
        rank, size = self.comm.rank, self.comm.size
        return count * rank // size, count * (rank + 1) // size

    def _whole_cost(self, one: Pass, plan: Plan, width: int) -> int:
        """Return how many bytes a pass takes as one block, at most."""
        entry, source, row = self._bytes(one, width)
        total = row * plan.shape[0]
        if one.hops:
            total += source * self.needed.counts[plan.hop] + entry * self._entries(plan)
        return total

    def _costs(self, one: Pass, plan: Plan, width: int) -> Callable[[int, int], NDArray[Any]]:
        """Return a function for how many bytes some rows of a pass take, at most."""
        entry, source, row = self._bytes(one, width)

        begin, _ = self._share(plan.shape[0])

        def costs(first: int, last: int) -> NDArray[Any]:
            if not one.hops:
                return np.full(last - first, row)
            first, last = first + begin, last + begin
            reached = (self.needed.degrees(self.needed.order[first:last]) + 1.0) ** one.hops
            most: NDArray[Any]
            most = np.minimum(reached * (entry + source) + row, UNBOUNDED // len(reached))
            return most

        return costs

    def _bytes(self, one: Pass, width: int) -> tuple[int, int, int]:
        """Return the bytes of an entry, of a source and of a row of a pass."""
        widest, size = max(stage.width for stage in one.stages), self.dtype.itemsize
        layer = self.stack.layers[one.stages[0].place]
        entry = ENTRY_BYTES + size * getattr(layer, "numbers_an_entry", 2)
        row = ROW_BYTES + size * (width + 4 * widest + getattr(layer, "numbers_a_row", 0))
        return entry, ROW_BYTES + size * (2 * width + widest), row

    def _entries(self, plan: Plan) -> int:
        """Return how many entries the rows of a pass have, a self-loop for each among them."""
        count = plan.shape[0]
        return count + int(self.needed.degrees(self.needed.order[:count]).sum())


def passes_of(stack: Stack) -> list[Pass]:
    """Return the passes of a stack: a stage that looks at no graph goes with the one before."""
    passes: list[Pass] = []
    for place, layer in stack.layers.items():
        top, first = place == stack.top, True
        for stage in stages_of(layer, stack.model):
            if stage.hops or not passes:
                passes.append(Pass(stage.hops, []))
            width = stage.width or (stack.classes if top else stack.config.hidden)
            passes[-1].stages.append(Placed(place, stage.run, width, top and first))
            first = False
    return passes


def full_graph_forward(
    stack: Stack, weights: Weights, graph: Graph, X: Matrix[Any]
) -> FullGraphPass:
    """Return what a stack makes of every node, from all of its neighbours.

    `Evaluation` without a bound on memory. O(e f + n f^2) time for widths f.

    Parameters
    ----------
    stack : Stack
    weights : dict of arrays
        By name, as ``stack.shapes()``.
    graph : Graph
        Undirected, with n nodes.
    X : (n, f) float array
        Features, scaled.

    Returns
    -------
    FullGraphPass
    """
    evaluation = Evaluation(stack, graph, dtype=X.dtype, memory=UNBOUNDED)
    return evaluation.run(weights, rows_of(stack.gnn, X), embeddings=True)


def rows_of(gnn: ModuleType, X: Matrix[Any]) -> Load:
    """Return a function that takes the rows of some nodes, each at most once, out of an array."""
    return lambda nodes: X if len(nodes) == len(X) else gnn.loader.gather_rows(X, nodes)
