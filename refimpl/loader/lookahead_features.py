"""Features in a file that is larger than memory, and the rows of it that are needed next."""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import showing
from refimpl.hints import FilePath, FloatDtype, Int, Integers, Matrix, Positions
from refimpl.loader.direct_reads import PAGE
from refimpl.loader.files import open_features
from refimpl.loader.lookahead import RowCache, Window, window_of

if TYPE_CHECKING:
    from typing_extensions import Self

OF_A_SLOT = 8 + 8 + 16 + 1  # bytes: its row, its last use, its next use and rank, whether it waits


class CacheTooSmall(ValueError):
    """A cache of features does not hold the rows of two minibatches."""


class ReadFailed(OSError):
    """Features could not be read from their file."""


@dataclass
class ReadCounts:
    """What a `LookaheadFeatures` has read.

    Attributes
    ----------
    asked, rows, bytes : int
        Rows that were asked for, rows of these that were read, and bytes that were read for them.
    waiting : float
        Seconds in which training waited for rows.
    """

    asked: int = 0
    rows: int = 0
    bytes: int = 0
    waiting: float = 0.0


class LookaheadFeatures:
    """Features in a .npy file, read past the system's cache into a cache of a given size.

    `expect` tells which rows a window of minibatches needs, and lets a thread read them; `gather`
    then finds them. Rows that were not expected are read at once. A forked child has a thread of
    its own, and reads again what the parent was reading. Not in the papers; `RowCache` chooses
    which rows are kept.

    Parameters
    ----------
    path : str or Path
        A file of float16 or float32 features, such as `features.npy` of ``minibatch-gnn convert``.
    memory : int
        Bytes of the cache, its tables included.
    depth : int, from 1 to 1024
        Reads under way at a time, in fastimpl.

    Attributes
    ----------
    counts : ReadCounts

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        As `open_features`, or if `memory` is too small for a row.
    OSError
        If the file cannot be opened.
    MemoryError
        If the cache finds no memory.
    """

    gnn: Any = None  # the implementation; bound in each package

    def __init__(self, path: FilePath, memory: Int, *, depth: Int = 64) -> None:
        X = open_features(path)
        self.path, self.shape, self.dtype = require.path("path", path), X.shape, X.dtype
        self.depth = require.integer("depth", depth, 1, 1024)
        self._offset = getattr(X, "offset", 0)
        n, d = X.shape
        self.row_bytes = d * X.itemsize
        memory = require.integer("memory", memory, 1, 2**62)
        if memory < self.bytes_for(1):
            raise ValueError(
                f"memory must hold the place of each of {n} rows and one row, which are "
                f"{self.bytes_for(1)} bytes, got {memory}"
            )
        capacity = min((memory - 4 * n) // (self.row_bytes + OF_A_SLOT), max(n, 1))
        self.rows = RowCache(n, capacity)
        self.cache = np.empty((capacity, d), X.dtype)
        self.counts = ReadCounts()
        self.clock = 0  # the number behind the last minibatch that was expected
        self._file = _opened(self.path)
        self._closing = weakref.finalize(self, os.close, self._file)
        self._reading: Future | None = None
        self._coming = np.zeros(capacity, bool)  # slots whose rows are being read
        self._thread, self._process = _thread(), os.getpid()

    __repr__ = showing("path", "shape", "dtype", "depth")

    @property
    def capacity(self) -> int:
        """Rows that the cache can hold."""
        return self.rows.capacity

    def bytes_for(self, rows: int) -> int:
        """Return the bytes that a cache of `rows` rows takes, with its tables."""
        return 4 * self.shape[0] + rows * (self.row_bytes + OF_A_SLOT)

    def expect(
        self, window: Window, pinned: Window | None = None, later: Sequence[Window] = ()
    ) -> None:
        """Begin to read the rows of a window.

        Parameters
        ----------
        window, pinned, later
            As for `RowCache.plan`.
        """
        if not self._closing.alive:
            raise ValueError(f"the features of {self.path} must be open, and are closed")
        self.finish()
        reads = self.rows.plan(window, pinned, later)
        self.clock = max(self.clock, window.end)
        self.counts.asked += len(window.rows)
        self._coming[reads.slots] = True
        try:
            self._reading = self._thread.submit(self._read, *reads)
        except BaseException:
            self._forget()
            raise

    def finish(self) -> None:
        """Wait for what is being read."""
        self._own_thread()
        if self._reading is None:
            return
        begin = perf_counter()
        reading, self._reading = self._reading, None
        try:
            reading.result()
        except BaseException:
            self._forget()
            raise
        finally:
            self._coming[:] = False
            self.counts.waiting += perf_counter() - begin

    def _own_thread(self):
        """Begin anew in a forked child, where nobody reads what the parent began."""
        if self._process != os.getpid():
            self._reading, self._thread, self._process = None, _thread(), os.getpid()
            self._forget()

    def _forget(self):
        """Free the slots whose rows were to be read, and are not."""
        self.rows.forget(np.flatnonzero(self._coming))
        self._coming[:] = False

    def gather(
        self, X: object, rows: Integers, scaling: Any = None, dtype: FloatDtype | None = None
    ) -> Matrix[Any]:
        """Return rows of the features.

        Parameters
        ----------
        X, rows, scaling, dtype
            As for `gather_rows`. X is not read: the rows of the file are the same.
        """
        self._own_thread()
        rows = require.ids("rows", rows, 0, self.shape[0], np.int64)
        slots = self.rows.slot_of[rows]
        if np.any(slots < 0) or np.any(self._coming[slots]):
            self.finish()
        gather = self.gnn.loader.gather_rows
        found = []
        for begin in range(0, max(len(rows), 1), self.capacity):  # at once where there is room
            some = rows[begin : begin + self.capacity]
            if np.any(self.rows.slot_of[some] < 0):
                self.expect(window_of([some], max(self.clock - 1, 0)))
                self.finish()
            found.append(gather(self.cache, self.rows.slot_of[some], scaling, dtype))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _read(self, rows, slots):
        try:
            read = self.gnn.loader.read_rows(
                self._file, self._offset, rows, slots, self.cache, self.depth
            )
        except OSError as error:
            raise ReadFailed(error.errno, f"{self.path}: {error.strerror}") from error
        self.counts.rows += len(rows)
        self.counts.bytes += read

    def close(self) -> None:
        """End the thread and close the file; may be called again."""
        self._own_thread()
        self._thread.shutdown()
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _thread():
    return ThreadPoolExecutor(1, thread_name_prefix="minibatch-gnn-features")


def _opened(path):
    """Return a descriptor of a file, past the system's cache where the system can."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECT", 0))
    except OSError:  # a file system in memory has no direct reads
        return os.open(path, os.O_RDONLY)
    try:
        os.preadv(file, [mmap.mmap(-1, PAGE)], 0)
    except OSError:  # nor have some that open the file
        os.close(file)
        return os.open(path, os.O_RDONLY)
    return file


class Windows:
    """Minibatches, one after another: the features of a window are read while the last one trains.

    Parameters
    ----------
    minibatches : iterator without end
        With a method ``close()``.
    inputs : callable
        ``inputs(minibatch)`` returns the rows of features that it loads.
    features : LookaheadFeatures
    most : int
        Minibatches of a window at most.

    Raises
    ------
    CacheTooSmall
        If the rows of two minibatches do not fit in the cache.
    """

    def __init__(
        self,
        minibatches: Any,
        inputs: Callable[[Any], Integers],
        features: LookaheadFeatures,
        most: int = 8,
    ) -> None:
        self.minibatches, self.inputs = minibatches, inputs
        self.features, self.most = features, most
        self.number = features.clock
        self.drawn: deque[Any] = deque()
        self.now: deque[Any] = deque()
        self.known: deque[tuple[list, Window]] = deque()
        try:
            self.known.append(self._draw())  # before a run has written anything
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if not self.now:
            self._advance()
        return self.now.popleft()

    def _advance(self):
        """Go to the next window, and let the one behind it be read."""
        features = self.features
        if len(self.known) == 1:
            features.expect(self.known[0][1])
        while len(self.known) < 3:
            self.known.append(self._draw())
        features.finish()
        (_, window), (_, following), (_, last) = self.known
        features.expect(following, window, [last])
        self.now.extend(self.known.popleft()[0])

    def _draw(self):
        """Return minibatches whose rows are at most half of the cache, and their `Window`."""
        rows: Positions = np.empty(0, np.int64)
        count = 0
        while count < self.most:
            if count == len(self.drawn):
                self.drawn.append(next(self.minibatches))
            both = np.union1d(rows, np.asarray(self.inputs(self.drawn[count]), np.int64))
            needed = min(2 * len(both), self.features.shape[0])
            if needed <= self.features.capacity:
                rows, count = both, count + 1
            elif count:
                break
            else:
                raise CacheTooSmall(
                    f"memory must hold the {needed} rows of two minibatches, which are "
                    f"{self.features.bytes_for(needed)} bytes, and holds "
                    f"{self.features.capacity} rows"
                )
        minibatches = [self.drawn.popleft() for _ in range(count)]
        window = window_of([self.inputs(one) for one in minibatches], self.number)
        self.number = window.end
        return minibatches, window

    def close(self) -> None:
        """End the threads that sample ahead, and the read under way."""
        self.minibatches.close()
        with suppress(ReadFailed):  # whoever needs the rows reads them again
            self.features.finish()
