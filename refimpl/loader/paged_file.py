"""Pages of a file in memory, each at its own place: unread pages take no memory.

Not in the papers. Address space for the whole file is reserved, and a page of it takes memory once
it is written to. So an array over the whole file is indexed as ever, and has what was read so far.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
import weakref
from contextlib import suppress
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.distinct import distinct
from refimpl.loader.direct_reads import PAGE
from refimpl.loader.lookahead import FREE, RowCache, Window
from refimpl.loader.lookahead_features import ReadCounts, ReadFailed, opened
from refimpl.loader.windows import CacheTooSmall

if TYPE_CHECKING:
    from pathlib import Path

    from refimpl.hints import Positions

OF_A_PAGE = PAGE + 8 + 8 + 16  # bytes: the page, its number, its last use, its next use and rank
OF_A_NUMBER = 4  # bytes of the table that has an entry for each page of the file
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class TooManyPages(CacheTooSmall):
    """A cache of a graph's neighbours does not hold what a hop of one minibatch needs."""


class PagedFile:
    """The pages of a file that are in memory, at most as many as `memory` holds.

    Parameters
    ----------
    path : Path
    memory : int
        Bytes of pages and tables.
    depth : int
        Reads under way at a time.
    read_rows : callable
        The kernel.

    Attributes
    ----------
    bytes : (size,) uint8 array
        Of the file; what was not read is anything.
    counts : ReadCounts
        `asked` and `rows` count pages.

    Raises
    ------
    ValueError
        If `memory` is too small for a page.
    OSError
        If the file cannot be opened or read.
    MemoryError
        If the address space or the tables cannot be had.
    """

    def __init__(self, path: Path, memory: int, depth: int, read_rows: Any) -> None:
        self.path, self.depth, self.read_rows = path, depth, read_rows
        self._file = opened(path)
        self._closing = weakref.finalize(self, os.close, self._file)
        size = os.fstat(self._file).st_size
        self.whole = size // PAGE  # pages; a shorter one behind them is read at once
        capacity = (memory - OF_A_NUMBER * self.whole) // OF_A_PAGE
        if capacity < 1:
            raise ValueError(
                f"memory must hold the place of each of {self.whole} pages and one page, which are "
                f"{self.bytes_for(1)} bytes, got {memory}"
            )
        self.pages = RowCache(self.whole, min(capacity, max(self.whole, 1)))
        space = reserved(max(size, 1))
        self.bytes = np.frombuffer(space, np.uint8)[:size]
        rows = np.frombuffer(space, np.float32)[: self.whole * (PAGE // 4)]
        self._pages, self._space = rows.reshape(self.whole, PAGE // 4), space
        self._read_tail()
        self.counts = ReadCounts()
        self.clock = 0
        self._right = True  # whether the tables are right: not while pages are read
        self.lock, self._process = Lock(), os.getpid()

    def bytes_for(self, pages: int) -> int:
        """Return the bytes that some pages in memory take, with the tables."""
        return OF_A_NUMBER * self.whole + pages * OF_A_PAGE

    def _read_tail(self):
        begin = self.whole * PAGE
        with self.path.open("rb") as file:
            file.seek(begin)
            tail = file.read(len(self.bytes) - begin)
        if len(tail) < len(self.bytes) - begin:
            raise ReadFailed(
                errno.EIO, f"{self.path}: the file ends at byte {begin + len(tail)}, and "
                f"{len(self.bytes)} are needed",
            )  # fmt: skip
        self.bytes[begin:] = np.frombuffer(tail, np.uint8)

    def pages_of(self, begin: Positions, end: Positions) -> Positions:
        """Return the whole pages that hold some bytes, each once and ascending. O(k log k) time.

        Parameters
        ----------
        begin, end : (k,) int64 arrays
            Bytes ``begin[i]`` to ``end[i]`` of the file, for each i.
        """
        some = end > begin
        first, last = begin[some] // PAGE, (end[some] - 1) // PAGE
        lengths = last - first + 1
        behind = np.repeat(np.cumsum(lengths) - lengths, lengths)
        pages = np.repeat(first, lengths) + np.arange(len(behind)) - behind
        return distinct(pages[pages < self.whole])

    def hold(self, pages: Positions) -> None:
        """Read the pages that are not in memory; the caller has the `lock` and reads them then.

        Pages that were used longest ago make room.

        Parameters
        ----------
        pages : (k,) int64 array
            As `pages_of` returns them.

        Raises
        ------
        TooManyPages
            If there are more than memory holds.
        ReadFailed
            If they cannot be read; the file and the place in it are named.
        """
        if not self._closing.alive:
            raise ValueError(f"{self.path} must be open, and is closed")
        if not self._right:  # a read failed, or was interrupted
            self._empty()
        if len(pages) > self.pages.capacity:
            raise TooManyPages(
                f"memory must hold the {len(pages)} pages of neighbours of one minibatch in one "
                f"hop, which are {self.bytes_for(len(pages))} bytes, and holds "
                f"{self.pages.capacity} pages"
            )
        begin, self._right = perf_counter(), False
        reads = self.pages.plan(Window(pages, np.full(len(pages), self.clock), self.clock + 1))
        self.clock += 1
        self._give_back(np.sort(reads.evicted[reads.evicted != FREE]))
        size = self._read(reads.rows)
        self._right = True
        self.counts.asked += len(pages)
        self.counts.rows += len(reads.rows)
        self.counts.bytes += size
        self.counts.waiting += perf_counter() - begin

    def _read(self, pages):
        """Read some pages to their places; return the bytes."""
        try:
            return self.read_rows(self._file, 0, pages, pages, self._pages, self.depth)
        except OSError as error:
            raise ReadFailed(error.errno, f"{self.path}: {error.strerror}") from error

    def _give_back(self, pages):
        """Let the system have the memory of some pages, ascending."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        new = np.flatnonzero(np.diff(pages, prepend=-2) > 1)
        lengths = np.diff(np.append(new, len(pages)))
        for first, length in zip(pages[new].tolist(), lengths.tolist(), strict=True):
            self._space.madvise(mmap.MADV_DONTNEED, first * PAGE, length * PAGE)

    def own_process(self) -> None:
        """Begin anew in a forked child: a thread of the parent may have had the lock, and read."""
        if self._process != os.getpid():
            self.lock, self._process, self._right = Lock(), os.getpid(), False

    def _empty(self):
        """Forget all pages."""
        self.pages = RowCache(self.whole, self.pages.capacity)
        self._give_back(np.arange(self.whole))
        self._right = True

    def close(self) -> None:
        """Close the file once no thread reads it; may be called again."""
        self.own_process()
        with self.lock:
            self._closing()


def reserved(size):
    """Return address space of at least `size` bytes, whole pages, without memory."""
    size = -(-size // PAGE) * PAGE
    try:
        if not hasattr(mmap, "MAP_PRIVATE"):
            return mmap.mmap(-1, size)
        space = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    except OSError as error:
        raise MemoryError(f"no address space for {size} bytes: {error.strerror}") from error
    with suppress(AttributeError, OSError):  # a huge page would take the memory of 512
        space.madvise(mmap.MADV_NOHUGEPAGE)
    return space
