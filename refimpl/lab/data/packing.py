"""Features written in an order in which rows that training reads together lie together.

Storage is read in pages, and a row is smaller than a page. Rows of neighbours on one page are
read at once. Not in the three papers; Cuthill and McKee (1969) number a matrix breadth-first.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.untrusted_files import map_npy, reading
from refimpl.block import entries_of_rows
from refimpl.graph import Graph
from refimpl.hints import Ids, Positions
from refimpl.lab.data.arrays import ArrayFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENTRIES = 2**20  # of the graph that are looked at together
ROWS = 2**16  # of features that are copied together
MOST_PARTS = 512  # files that are open at a time


def packed_order(graph: Graph, train: Positions) -> Ids:
    """Return all nodes in the order that their rows are packed in: breadth-first from training.

    First the training nodes, ascending. Then, for one node after another of this order, its
    neighbours that are not in the order yet, ascending. Last the nodes that no training node
    reaches, ascending. O(n + e log e) time, up to 14 bytes a node and a block of entries.

    Parameters
    ----------
    graph : Graph
    train : (k,) int64 array
        Ascending.

    Returns
    -------
    (n,) int32 array
    """
    order, met = np.empty(graph.n, np.int32), np.zeros(graph.n, bool)
    order[: len(train)], met[train] = train, True
    first, end = 0, len(train)
    while first < end:
        some = order[first : min(end, first + ROWS)]
        total = np.cumsum(graph.degrees(some))
        some = some[: max(np.searchsorted(total, ENTRIES, side="right"), 1)]
        neighbors = graph.indices[entries_of_rows(graph.start[some], graph.end[some])]
        new, place = np.unique(neighbors[~met[neighbors]], return_index=True)
        new = new[np.argsort(place)]
        order[end : end + len(new)], met[new] = new, True
        first, end = first + len(some), end + len(new)
    order[end:] = np.flatnonzero(~met)
    return order


def pack_rows(
    path: Path, packed: Path, row_of: Ids, memory: int, progress: Callable[[float], object]
) -> dict[str, Any]:
    """Write the rows of a file of features to another: that of node v as row ``row_of[v]``.

    Rows are first sorted into files without a name, one for each part of the rows, and then put in
    order part by part: everything is read and written twice, in blocks. A part takes `memory`
    bytes, about. The parts and `packed` together take the bytes of the features on storage.

    Parameters
    ----------
    path, packed : Path
        Of a .npy file, and of the file to be.
    row_of : (n,) int32 array
        A permutation.
    memory : int
    progress : callable
        Called with the share that is done.

    Returns
    -------
    dict
        What `ArrayFile.finish` does.
    """
    with reading(path, "an array") as file:
        X = map_npy(file)
    n, dtype, tail = len(X), X.dtype, X.shape[1:]
    row_bytes = max(X[:1].nbytes, 1)
    of_part = max(memory // (2 * row_bytes), -(-n // MOST_PARTS), 1)
    with ExitStack() as opened:
        parts = [
            opened.enter_context(tempfile.TemporaryFile(dir=packed.parent))
            for _ in range(0, n, of_part)
        ]
        progress(0.0)
        for first in range(0, n, ROWS):
            part = row_of[first : first + ROWS] // of_part
            rows = X[first : first + ROWS]
            for one in np.unique(part):
                parts[one].write(np.ascontiguousarray(rows[part == one]))
            progress(min(first + ROWS, n) / n / 2)
        with ArrayFile(packed, dtype, tail) as file:
            for number, part in enumerate(parts):
                begin = number * of_part
                here = row_of[(row_of >= begin) & (row_of < begin + of_part)]  # by node
                part.seek(0)
                rows = np.fromfile(part, dtype).reshape(len(here), *tail)
                ordered = np.empty_like(rows)
                ordered[here - begin] = rows
                file.append(ordered)
                part.truncate(0)
                progress((1 + (number + 1) / len(parts)) / 2)
            return file.finish()
