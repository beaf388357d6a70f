"""Writing graphs entry by entry: those that are sorted, and those between some nodes of another."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.graph import WeightedGraph
from refimpl.lab.data.arrays import ArrayFile
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import Ids, Positions

IDS = 2**20  # rows begun at a time
ROWS, ENTRIES = 2**16, 2**20  # of a graph looked at at a time


class RowsFile:
    """The two arrays of a graph, written entry by entry.

    Parameters
    ----------
    folder : Path
    prefix : str
        Of the names of the arrays.
    n : int
        Number of rows.
    state : dict, optional
        What `state` returned when files that are there already had their first entries.
    """

    def __init__(
        self, folder: Path, prefix: str, n: int, state: dict[str, Any] | None = None
    ) -> None:
        self.n = n
        self.next_row, self.before, self.max_degree = 0, 0, 0
        self.self_loops = False
        if state is not None:
            self.next_row, self.before, self.max_degree = (
                state["at"],
                state["before"],
                state["most"],
            )
            self.self_loops = state["self_loops"]
        self.files = {}
        with ExitStack() as stack:
            for name, dtype in (("indptr", np.int64), ("indices", np.int32)):
                file = ArrayFile(folder / f"{prefix}{name}.npy", dtype, state=state and state[name])
                self.files[f"{prefix}{name}"] = stack.enter_context(file)
            self.stack = stack.pop_all()
        self.indptr, self.indices = self.files.values()

    def __enter__(self) -> RowsFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stack.close()

    def append(self, rows: Positions, columns: Ids | Positions) -> None:
        """Write some entries more; rows ascend, and may begin with the last one of before."""
        if len(rows):
            self._begin_rows(int(rows[-1]), rows)
            self.indices.append(columns)
            self.self_loops = self.self_loops or bool(np.any(rows == columns))

    def state(self) -> dict[str, Any]:
        """Return how far the files are."""
        return {
            "at": self.next_row,
            "before": self.before,
            "most": self.max_degree,
            "self_loops": self.self_loops,
            "indptr": self.indptr.state(),
            "indices": self.indices.state(),
        }

    def finish(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """End the files; return what meta.json says of them, and the facts about the graph."""
        self._begin_rows(self.n, np.empty(0, np.int64))
        arrays = {name: file.finish() for name, file in self.files.items()}
        facts = {
            "nodes": self.n,
            "entries": self.indices.rows,
            "symmetric": True,
            "self_loops": self.self_loops,
            "max_degree": self.max_degree,
        }
        return arrays, facts

    def _begin_rows(self, last: int, rows: Positions) -> None:
        """Write where all rows up to number `last` begin, with `rows` those of coming entries."""
        while self.next_row <= last:
            ids = np.arange(self.next_row, min(last + 1, self.next_row + IDS))
            begins = self.indices.rows + np.searchsorted(rows, ids)
            degrees = np.diff(begins, prepend=self.before)
            self.max_degree = max(self.max_degree, int(degrees.max()))
            self.indptr.append(begins)
            self.before, self.next_row = int(begins[-1]), int(ids[-1]) + 1


def write_induced(
    graph: Graph, nodes: Positions, folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the graph on some nodes alone, node i being ``nodes[i]``, with its types or weights.

    Some rows at a time. Returns arrays and facts, as `RowsFile.finish` does.

    Parameters
    ----------
    graph : Graph
    nodes : (any,) int64 array, ascending
    folder : Path
    """
    prefix = "induced_"
    more: dict[str, NDArray[Any]] = {}
    with ExitStack() as stack:
        file = stack.enter_context(RowsFile(folder, prefix, len(nodes)))
        if isinstance(graph, TypedGraph):
            more[f"{prefix}edge_types"] = graph.edge_types
        elif isinstance(graph, WeightedGraph):
            more[f"{prefix}edge_weights"] = graph.weights
        files = {
            name: stack.enter_context(ArrayFile(folder / f"{name}.npy", values.dtype))
            for name, values in more.items()
        }
        for _, rows, at in entries_of(graph, nodes):
            columns = graph.indices[at]
            local = np.searchsorted(nodes, columns)
            inside = nodes[np.minimum(local, len(nodes) - 1)] == columns
            file.append(rows[inside], local[inside])
            for name, values in more.items():
                files[name].append(values[at[inside]])
        arrays, facts = file.finish()
        arrays |= {name: one.finish() for name, one in files.items()}
        if isinstance(graph, TypedGraph):
            facts |= typed_facts(graph, nodes)
    return arrays, facts


def typed_facts(graph: TypedGraph, nodes: Positions | slice) -> dict[str, int]:
    """Return the facts about the types of a typed graph's subgraph on some nodes."""
    kinds = 0
    if graph.node_types is not None:
        kinds = int(graph.node_types[nodes].max(initial=-1)) + 1
    return {"relations": graph.relations, "kinds": kinds}


def write_inner_types(
    graph: TypedGraph, nodes: Positions, inner: Graph, folder: Path
) -> dict[str, Any]:
    """Write the types that the entries of a graph between some nodes have in the whole graph.

    Some rows at a time. Returns what `ArrayFile.finish` does.

    Parameters
    ----------
    graph : TypedGraph
    nodes : (k,) int64 array, ascending
    inner : Graph
        Node i is ``nodes[i]``.
    folder : Path

    Raises
    ------
    ValueError
        If `graph` lacks an entry of `inner`.
    """
    with ArrayFile(folder / "induced_edge_types.npy", np.int16) as file:
        for some, rows, at in entries_of(graph, nodes):
            begin, end = inner.indptr[some[0]], inner.indptr[some[-1] + 1]
            degrees = inner.end[some] - inner.start[some]
            columns = nodes[inner.indices[begin:end]]
            wanted = np.repeat(some, degrees) << 32 | columns
            held = rows << 32 | graph.indices[at]
            found = np.searchsorted(held, wanted)
            there = found < held.size
            there[there] = held[found[there]] == wanted[there]
            if not there.all():
                u, v = divmod(int(wanted[there.argmin()]), 2**32)
                raise ValueError(
                    "it must have no entry that adj_full.npz does not have, but it has "
                    f"({nodes[u]}, {v})"
                )
            file.append(graph.edge_types[at[found]])
        return file.finish()


def entries_of(graph: Graph, nodes: Positions) -> Iterator[tuple[Positions, Positions, Positions]]:
    """Yield the entries of some nodes of a graph, a few whole rows at a time.

    Yields
    ------
    some : (any,) int64 array
        Places in `nodes`, each following the one before.
    rows, at : (any,) int64 arrays
        Of each entry of theirs the place of its row, and its own position in ``graph.indices``.
    """
    for first in range(0, len(nodes), ROWS):
        block = nodes[first : first + ROWS]
        begins, degrees = graph.start[block], graph.end[block] - graph.start[block]
        cuts = np.flatnonzero(np.diff(np.cumsum(degrees) // ENTRIES)) + 1
        for some in np.split(np.arange(len(block)), cuts):
            counts = degrees[some]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            yield (
                first + some,
                np.repeat(first + some, counts),
                np.repeat(begins[some], counts) + within,
            )
