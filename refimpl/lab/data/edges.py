"""Sorting more edges than memory holds into the rows of a graph, by files of parts of them.

An entry (u, v) is one number, its key: u in the upper half, then v, then a bit that says whether it
was read or is the reverse of one that was. Keys go to one file for each range of them; each file is
sorted by itself, and what is larger than memory allows is spread over files again.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from refimpl._support import edge_sources
from refimpl._support.sparse_matrices import check_node_count
from refimpl.lab.data.journal import synced
from refimpl.lab.data.rows import RowsFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from refimpl.hints import Mask, Positions

KEY = 8  # bytes
AT_ONCE = 48  # bytes that sorting takes for each key, about
IN_BLOCK = 96  # bytes that an edge takes while it is spread, about
LEAST, MOST = 2**8, 2**22  # edges spread at a time
FILES = 128  # open at a time


class EdgeSorter:
    """Edges in any order, to be taken out as the sorted entries of an undirected graph.

    Every edge is an entry in both directions, each entry once; self-loops are dropped.

    Parameters
    ----------
    folder : Path
        For files that last no longer than this object is used.
    n : int
        Number of nodes.
    expected : int
        How many edges there are, about.
    memory : int
        Bytes that may be taken, about: an edge at least, however few these are.
    symmetric : bool
        Refuse edges of which the reverse is missing, instead of adding it.
    names : (n,) array, optional
        What an error calls nodes.
    """

    def __init__(
        self,
        folder: Path,
        n: int,
        expected: int,
        memory: int,
        symmetric: bool = False,
        names: NDArray[Any] | None = None,
    ) -> None:
        check_node_count(n)
        self.folder, self.n, self.symmetric, self.names = Path(folder), n, symmetric, names
        self.most = max(2, memory // AT_ONCE)  # keys sorted at a time
        self.block = min(max(LEAST, memory // IN_BLOCK), MOST)
        self.made = 0
        self.parts = self._split(0, n << 32, 2 * expected)

    def add(self, blocks: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Take the edges of an iterable of (u, v), two integer arrays of one length each.

        Edges are added to those in files that are there already.

        Raises
        ------
        TypeError, ValueError
            If they are no integers, or an id is not in [0, n).
        """
        with self.parts:
            for u, v in blocks:
                for first in range(0, max(len(u), len(v)), self.block):
                    ends = (u[first : first + self.block], v[first : first + self.block])
                    self.parts.spread(self._keys(*(self._ids(one) for one in ends)))
            synced(self.parts.handles)

    def _ids(self, ends: NDArray[Any]) -> Positions:
        ends = edge_sources.integers("an end of edges", ends)
        if ends.size and (int(ends.min()) < 0 or int(ends.max()) >= self.n):
            raise ValueError(f"nodes must be in [0, {self.n})")
        return ends.astype(np.int64)

    def _keys(self, u: Positions, v: Positions) -> Positions:
        """Return the keys of some edges and of their reverses."""
        if len(u) != len(v):
            raise ValueError("edges must have two ends each")
        kept = u != v
        u, v = u[kept], v[kept]
        reverse = int(self.symmetric)
        return np.concatenate([u << 32 | v << 1, v << 32 | u << 1 | reverse])

    def sorted(self) -> Iterator[tuple[Path, Iterator[Positions]]]:
        """Yield each file that has keys, and its sorted keys without their last bits.

        There are some keys at a time, each once. The caller removes the file.

        Raises
        ------
        ValueError
            If `symmetric`, and an entry lacks its reverse.
        """
        for low, high, path in self.parts.files():
            yield path, self._sorted(low, high, path)

    def _sorted(self, low: int, high: int, path: Path) -> Iterator[Positions]:
        count = path.stat().st_size // KEY
        if count <= self.most or high - low <= 2:
            yield self._distinct(np.fromfile(path, np.int64))
            return
        inner = self._split(low, high, count)
        with inner, path.open("rb") as file:
            while len(keys := np.fromfile(file, np.int64, self.block)):
                inner.spread(keys)
        for low, high, part in inner.files():
            yield from self._sorted(low, high, part)
            part.unlink()

    def _distinct(self, keys: Positions) -> Positions:
        keys.sort()
        if self.symmetric:
            keys = keys[_is_first(keys)]
        entries = keys >> 1
        first = _is_first(entries)
        if self.symmetric and 2 * np.count_nonzero(first) != entries.size:
            alone = np.flatnonzero(first & np.append(first[1:], True))[0]
            u, v = divmod(int(entries[alone]), 2**31)
            if self.names is not None:
                u, v = self.names[u], self.names[v]
            raise ValueError(
                f"it must be symmetric, but of ({u}, {v}) and ({v}, {u}) it has one only"
            )
        return entries[first]

    def _split(self, low: int, high: int, count: int) -> Parts:
        """Return Parts of the keys from low up to high, of which there are about `count`."""
        wanted = min(max(2, -(-2 * count // self.most)), FILES)
        width = max(2, -(-(high - low) // wanted))
        width += width % 2  # both keys of an entry are in one part
        bounds = np.arange(low, max(high, low + 1), width)
        self.made += 1
        return Parts(self.folder, f"{self.made}", bounds, high)


class Parts(ExitStack):
    """Files of keys, one for each range of them. They are open inside a `with`."""

    def __init__(self, folder: Path, name: str, bounds: Positions, high: int) -> None:
        super().__init__()
        self.bounds, self.high = bounds, high
        self.paths = [folder / f"part-{name}-{i}" for i in range(len(bounds))]
        self.handles: list[BinaryIO] = []

    def __enter__(self) -> Parts:
        self.handles = [self.enter_context(path.open("ab")) for path in self.paths]
        return self

    def spread(self, keys: Positions) -> None:
        """Put every key where it belongs, each once."""
        keys.sort()
        keys = keys[_is_first(keys)]
        cuts = np.searchsorted(keys, [*self.bounds[1:], self.high])
        first = 0
        for file, last in zip(self.handles, cuts, strict=True):
            if last > first:
                file.write(keys[first:last].data)
            first = last

    def files(self) -> Iterator[tuple[int, int, Path]]:
        """Yield (low, high, path) of each range that has keys; remove the others' files."""
        for low, high, path in zip(
            self.bounds, [*self.bounds[1:], self.high], self.paths, strict=True
        ):
            if path.exists() and path.stat().st_size:
                yield int(low), int(high), path
            else:
                path.unlink(missing_ok=True)


def write_sorted(
    sorter: EdgeSorter,
    folder: Path,
    prefix: str = "",
    progress: Callable[[float], object] = lambda share: None,
    state: dict[str, Any] | None = None,
    written: Callable[[RowsFile, Path], object] = lambda file, path: path.unlink(),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the graph of an EdgeSorter; return arrays and facts as `RowsFile.finish` does.

    `progress` is told of the share of it that is written. `written` is called after each file of
    keys, with the file's path. `state` is what the RowsFile's `state` was after a file of keys
    that is removed now, as are those before it.
    """
    with RowsFile(folder, prefix, sorter.n, state) as file:
        progress(file.next_row / max(sorter.n, 1))
        for path, blocks in sorter.sorted():
            for entries in blocks:
                file.append(entries >> 31, entries & (2**31 - 1))
                progress(file.next_row / max(sorter.n, 1))
            written(file, path)
        return file.finish()


def _is_first(keys: Positions) -> Mask:
    """Return which of some sorted keys differ from the one before."""
    first = np.empty(keys.size, np.bool_)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first
