"""Files of edges that are no tables: Matrix Market's (.mtx) and NetworkX's (.edgelist)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.untrusted_files import naming, reading
from refimpl._support.user_warnings import warn
from refimpl.graph import from_edges
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.edge_weights import with_weights
from refimpl.lab.data.label_encoding import Encoded
from refimpl.lab.data.table_files import LONGEST, NodeTable, whole_number
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from refimpl.hints import Positions

BANNER = ["%%matrixmarket", "matrix", "coordinate"]
FIELDS, SYMMETRIES = ("real", "integer", "pattern"), ("general", "symmetric")
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
COMMENT = re.compile(r"(?:^|\s)#.*")
ATTRIBUTES = re.compile(rf"(?:\{{\s*(?:'weight'\s*:\s*({NUMBER})\s*)?\}})?", re.ASCII)


def load_with_nodes(
    path: Path, read: Callable[[Path, NodeTable], tuple[Any, ...]], request: Any
) -> Dataset:
    """Return the data set of a file of edges and the table of nodes that the user gives.

    Parameters
    ----------
    path : Path
    read : callable
        Returns (u, v, weights, directed) of the edges in the file, given `path` and the NodeTable.
    request : Request
    """
    for name, value in (("titles", request.titles), ("source and target", request.chosen.ends)):
        if value is not None:
            raise ValueError(f"{name} must be left out: {path} has no titles")
    table = NodeTable(request.features, request.chosen, minus_one=request.minus_one)
    n = len(table.names)
    u, v, weights, directed = read(path, table)
    if directed and not from_edges(u, v, n).symmetric:
        warn(f"the graph in {path} is directed: its edges are read in both directions")
    warn_of_loops(u[u == v], path)
    graph = from_edges(u, v, n, symmetrize=True, self_loops=False)
    graph = with_weights(graph, u, v, np.array(weights), path)
    features = np.concatenate(list(table.features()))
    with naming(request.features):
        data = Dataset.from_arrays(
            graph,
            features,
            Encoded(table.labels, table.class_names),
            name=Path(request.features).stem,
            node_names=table.names,
            rng=request.seed,
            **table.parts,
            **request.options,
        )
    return data._changed(feature_names=table.feature_names)


def read_matrix_market(path: Path, nodes: NodeTable) -> tuple[Any, ...]:
    """Return the entries of the matrix in a .mtx file, row i being the node that is called i."""
    with reading(path, "a sparse matrix in Matrix Market's coordinates") as file:
        lines = _lines(file)
        _, banner = next(lines, (1, ""))
        field, symmetry = _kind(banner)
        lines = ((at, line.split()) for at, line in lines if line.strip() and line[0] != "%")
        at, sizes = next(lines, (1, []))
        if len(sizes) != 3:
            raise ValueError(f"line {at} must have three numbers: rows, columns and entries")
        rows, columns, count = (whole_number(word, f"line {at}") for word in sizes)
        n = len(nodes.names)
        if rows != n or columns != n:
            raise ValueError(
                f"line {at} must have {n} rows and {n} columns, as {nodes.path} has nodes, got "
                f"{rows} and {columns}"
            )
        ends, values = [], []
        for at, words in lines:
            if len(words) != (2 if field == "pattern" else 3):
                raise ValueError(f"line {at} must be an entry of kind {field}, got {words!r:.80}")
            ends.append([str(whole_number(word, f"line {at}", 1, n)) for word in words[:2]])
            values.append(1.0 if field == "pattern" else _value(words[2], at))
        if len(ends) != count:
            raise ValueError(f"it must have {count} entries, as it says, got {len(ends)}")
        missing = next((row for row in map(str, range(1, n + 1)) if row not in nodes.known), None)
        if missing is not None:
            raise ValueError(
                f"its rows are numbered from 1 to {n}, and {nodes.path} must have these as names "
                f"of nodes, but has no {missing!r}"
            )
        if not ends:
            raise ValueError("it must have at least one entry")
    return *_numbers(ends, nodes, path), values, symmetry == "general"


def _kind(banner: str) -> list[str]:
    """Return the kind of values, and of matrix, that the first line of a .mtx file says."""
    words = banner.casefold().split()
    if words[:3] != BANNER or len(words) != 5:
        raise ValueError(
            f"line 1 must be %%MatrixMarket matrix coordinate FIELD SYMMETRY, got {banner!r:.80}"
        )
    for word, known in zip(words[3:], (FIELDS, SYMMETRIES), strict=True):
        if word not in known:
            raise ValueError(f"line 1 must have one of {', '.join(known)}, got {word!r:.40}")
    return words[3:]


def read_edge_list(path: Path, nodes: NodeTable) -> tuple[Any, ...]:
    """Return the edges in an .edgelist file, as NetworkX's `write_edgelist` writes it."""
    ends, values = [], []
    with reading(path, "a list of edges of NetworkX") as file:
        for at, line in _lines(file):
            comment = COMMENT.search(line)
            word = comment[0].split()[0] if comment else ""
            if word in nodes.known:
                raise ValueError(
                    f"line {at} may have a comment or the node {word!r:.80}: write edges as a "
                    ".csv file"
                )
            words = COMMENT.sub("", line).split(maxsplit=2)
            if not words:
                continue
            found = ATTRIBUTES.fullmatch(words[2].strip() if len(words) == 3 else "")
            if len(words) < 2 or found is None:
                raise ValueError(
                    f"line {at} must have two names without spaces, and perhaps {{'weight': "
                    f"NUMBER}}, got {line.strip()!r:.80}: write other edges as a .csv file"
                )
            for name in words[:2]:
                if name not in nodes.known:
                    raise ValueError(
                        f"line {at} must name nodes only, but {name!r:.80} is none: {nodes.path} "
                        "has a line for each node"
                    )
            ends.append(words[:2])
            values.append(float(found[1] or 1))
        if not ends:
            raise ValueError("it must have at least one edge")
    return *_numbers(ends, nodes, path), values, False


def _lines(file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of an open file of text."""
    for at, line in enumerate(iter(lambda: file.readline(LONGEST), b""), 1):
        yield at, line.decode("utf-8-sig" if at == 1 else "utf-8")


def _value(word: str, at: int) -> float:
    if not re.fullmatch(NUMBER, word, re.ASCII):
        raise ValueError(f"line {at} must have a finite number as value, got {word!r:.40}")
    return float(word)


def _numbers(ends: list[list[str]], nodes: NodeTable, path: Path) -> list[Positions]:
    """Return the numbers of the nodes at both ends of edges."""
    return [np.asarray(nodes.number(names, str(path))) for names in zip(*ends, strict=True)]
