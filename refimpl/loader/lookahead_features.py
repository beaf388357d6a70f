"""Features in a file that is larger than memory, and the rows of it that are needed next."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from refimpl._support import require
from refimpl._support.distinct import distinct
from refimpl._support.reprs import showing
from refimpl._support.thread_limits import Threads
from refimpl.hints import FilePath, FloatDtype, Int, Integers, Matrix, Positions
from refimpl.loader.direct_reads import PAGE
from refimpl.loader.files import open_features
from refimpl.loader.lookahead import FREE, RowCache, Window
from refimpl.loader.packed import rows_beside
from refimpl.loader.sieve import SieveCache

if TYPE_CHECKING:
    from typing_extensions import Self

OF_A_SLOT = 8 + 8 + 16 + 1  # bytes: its row, its last use, its places in queues, its state
CACHES = {"belady": RowCache, "sieve": SieveCache}  # by what they evict
AT_ONCE = 2**24  # bytes that are read on demand together
# A slot's row was used, is being read, was read and not yet used, or was read in vain.
USED, COMING, READ, VAIN = range(4)


class ReadFailed(OSError):
    """Features or neighbours could not be read from their file."""


@dataclass
class ReadCounts:
    """What a `LookaheadFeatures` has read.

    Attributes
    ----------
    asked, rows : int
        Rows of all windows, and rows of these that were read for a window.
    on_demand : int
        Rows that were read when they were asked for, because no window had them.
    in_vain : int
        Rows that were read for a window and not used before the window was over.
    bytes : int
        Bytes that were read.
    waiting : float
        Seconds in which training waited for rows.
    """

    asked: int = 0
    rows: int = 0
    on_demand: int = 0
    in_vain: int = 0
    bytes: int = 0
    waiting: float = 0.0

    def since(self, before: ReadCounts) -> ReadCounts:
        """Return what was read after the counts were `before`."""
        names = [field.name for field in fields(self)]
        return ReadCounts(**{name: getattr(self, name) - getattr(before, name) for name in names})

    def shares(self, seconds: float) -> dict[str, float | None]:
        """Return hit rate, MiB a second and share of waiting, in `seconds`; None for 0 / 0."""
        needed, idle = self.asked + self.on_demand, not (self.bytes or self.asked)
        return {
            "hit_rate": (self.asked - self.rows) / needed if needed else None,
            "mib_a_second": None if idle or not seconds else self.bytes / 2**20 / seconds,
            "wait_share": None if idle or not seconds else self.waiting / seconds,
        }


class LookaheadFeatures:
    """Features in a .npy file, read past the system's cache into a cache of a given size.

    `expect` tells which rows a window of minibatches needs, and lets a thread read them; `gather`
    then finds them. Rows that were not expected are read on demand, and are not kept. A forked
    child has a thread of its own, and reads again what the parent was reading. Not in the papers;
    `RowCache` chooses which rows are kept.

    Parameters
    ----------
    path : str or Path
        A file of float16 or float32 features, such as `features.npy` of ``minibatch-gnn convert``.
        If the folder is packed, `gather` takes nodes, and `expect` takes their rows in the file.
    memory : int
        Bytes of the cache, its tables included.
    depth : int, from 1 to 1024
        Reads under way at a time, in fastimpl: for a window, and for rows on demand.
    window : int, at least 1
        Minibatches of a window at most. It changes no result.
    evict : {"belady", "sieve"}
        Which row makes room: the one whose next use is farthest (`RowCache`), or the one that
        `SieveCache` chooses without knowing what comes. It changes no result.

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

    def __init__(
        self,
        path: FilePath,
        memory: Int,
        *,
        depth: Int = 64,
        window: Int = 8,
        evict: Literal["belady", "sieve"] = "belady",
    ) -> None:
        X = open_features(path)
        self.path, self.shape, self.dtype = require.path("path", path), X.shape, X.dtype
        self.depth = require.integer("depth", depth, 1, 1024)
        self.window = require.integer("window", window, 1, 2**31 - 1)
        self._offset = getattr(X, "offset", 0)
        n, d = X.shape
        self.row_of = rows_beside(self.path, n)  # of each node; None: its number
        self.row_bytes = d * X.itemsize
        memory = require.integer("memory", memory, 1, 2**62)
        if memory < self.bytes_for(1):
            raise ValueError(
                f"memory must hold the place of each of {n} rows and one row, which are "
                f"{self.bytes_for(1)} bytes, got {memory}"
            )
        capacity = min((memory - 4 * n) // (self.row_bytes + OF_A_SLOT), max(n, 1))
        self.evict = require.choice("evict", evict, tuple(CACHES))
        self.cache = np.empty((capacity, d), X.dtype)
        self.counts = ReadCounts()
        self.clock = 0  # the number behind the last minibatch that was expected
        self._file = opened(self.path)
        self._closing = weakref.finalize(self, os.close, self._file)
        self._reading: Future | None = None
        self._empty(capacity)
        self._thread, self._process = _thread(), os.getpid()

    __repr__ = showing("path", "shape", "dtype", "depth", "window", "evict")

    @property
    def capacity(self) -> int:
        """Rows that the cache can hold."""
        return self.rows.capacity

    def _empty(self, capacity):
        self.rows = CACHES[self.evict](self.shape[0], capacity)
        self._state = np.zeros(capacity, np.uint8)  # of each slot
        self._coming = self._unused = np.empty(0, np.int64)  # slots: being read; read, not used
        self._right = True  # whether all these are right: not while `expect` changes them

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
        unused = self._unused[self._state[self._unused] == READ]
        self._right = False
        reads = self.rows.plan(window, pinned, later)
        self.clock = max(self.clock, window.end)
        self.counts.asked += len(window.rows)
        self._state[reads.slots], self._coming = COMING, reads.slots
        self._leave_behind(unused, 1 if pinned is None else 2)
        try:
            self._reading = self._thread.submit(self._read, reads.rows, reads.slots)
        except BaseException:
            self._forget()
            raise
        self._right = True

    def _leave_behind(self, unused, windows):
        """Count the unused rows that made room, or that none of the last `windows` needs."""
        here = unused[self._state[unused] == READ]
        needed = self.rows.used[here] >= self.rows.plans - windows
        self._unused = here[needed]
        self._state[here[~needed]] = VAIN
        self.counts.in_vain += len(unused) - len(self._unused)

    def finish(self) -> None:
        """Wait for what is being read."""
        self._own_thread()
        if self._reading is None:
            return
        begin = perf_counter()
        reading, self._reading = self._reading, None
        try:
            rows, size = reading.result()
        except BaseException:
            self._forget()
            raise
        finally:
            here = self._coming[self._state[self._coming] == COMING]
            self._state[here] = READ
            self._unused = np.concatenate([self._unused, here])
            self.counts.waiting += perf_counter() - begin
        self.counts.rows += rows
        self.counts.bytes += size

    def _own_thread(self):
        """Begin anew in a forked child: only the parent has the thread that reads.

        Forget all rows if `expect` was interrupted.
        """
        if not self._right:
            self._empty(self.capacity)
        if self._process != os.getpid():
            self._reading, self._thread, self._process = None, _thread(), os.getpid()
            self._forget()

    def _forget(self):
        """Free the slots whose rows were to be read, and are not."""
        slots = self._coming[self._state[self._coming] == COMING]
        self.rows.forget(slots)
        self._state[slots] = USED

    def gather(
        self, X: object, rows: Integers, scaling: Any = None, dtype: FloatDtype | None = None
    ) -> Matrix[Any]:
        """Return rows of the features. O(k log k) time for k rows, whatever the cache holds.

        Parameters
        ----------
        X, rows, scaling, dtype
            As for `gather_rows`. X is not read: the rows of the file are the same.
        """
        self._own_thread()
        gather = self.gnn.loader.gather_rows
        rows = self.in_file(require.ids("rows", rows, 0, self.shape[0], np.int64))
        slots = self.rows.slot_of[rows]
        states = self._state[slots]  # anything, where there is no slot
        here = (slots != FREE) & (states != COMING)
        if here.all():
            found = gather(self.cache, slots, scaling, dtype)
            self._use(slots, states)
            return found
        kept = gather(self.cache, slots[here], scaling, dtype)
        self._use(slots[here], states[here])
        found = np.empty((len(rows), kept.shape[1]), kept.dtype)
        found[here] = kept
        places = np.flatnonzero(~here)
        places = places[np.argsort(rows[places], kind="stable")]
        wanted, first = np.unique(rows[places], return_index=True)
        ends = np.append(first, len(places))
        at_once = max(AT_ONCE // self.row_bytes, 1)
        for begin in range(0, len(wanted), at_once):
            some = wanted[begin : begin + at_once]
            of_some = places[ends[begin] : ends[begin + len(some)]]
            slots = np.searchsorted(some, rows[of_some])
            found[of_some] = gather(self._on_demand(some), slots, scaling, dtype)
        return found

    def in_file(self, nodes: Positions) -> Positions:
        """Return the rows of some nodes in the file: their numbers, unless the folder is packed."""
        return nodes if self.row_of is None else self.row_of[nodes].astype(np.int64)

    def _use(self, slots, states):
        """Note that the rows in some slots were asked for."""
        late = distinct(slots[states == VAIN])  # later than the window that they were read for
        self.counts.in_vain -= len(late)
        self._state[slots] = USED

    def _on_demand(self, rows):
        """Return rows, ascending and each once, read now; the cache stays as it is."""
        if not self._closing.alive:
            raise ValueError(f"the features of {self.path} must be open, and are closed")
        begin = perf_counter()
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        self.counts.bytes += self._read_into(found, rows, np.arange(len(rows)))
        self.counts.on_demand += len(rows)
        self.counts.waiting += perf_counter() - begin
        return found

    def _read(self, rows, slots):
        """Read the rows of a window, in the thread; return their number and the bytes."""
        return len(rows), self._read_into(self.cache, rows, slots)

    def _read_into(self, cache, rows, slots):
        """Read rows into slots of an array; return the bytes that were read."""
        try:
            return self.gnn.loader.read_rows(
                self._file, self._offset, rows, slots, cache, self.depth
            )
        except OSError as error:
            raise ReadFailed(error.errno, f"{self.path}: {error.strerror}") from error

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
    return Threads(1, thread_name_prefix="minibatch-gnn-features")


def opened(path):
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
