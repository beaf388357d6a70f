"""Ranks that are threads of one process: a communicator where there is no MPI."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import showing
from refimpl._support.thread_limits import in_background
from refimpl.hints import Int

Result = TypeVar("Result")


class SimComm:
    """Ranks that are threads of this process, as a `Communicator`; made by `SimComm.run`.

    Not in the papers: for `DistributedFeatures` and `train` where there is no MPI.

    Parameters
    ----------
    rank : int
        The number of this rank.
    shared : object
        What all ranks have in common.
    """

    def __init__(self, rank: int, shared: Any) -> None:
        self.rank, self.size = rank, len(shared.boxes)
        self._shared = shared

    __repr__ = showing("rank", "size")

    @staticmethod
    def run(size: Int, function: Callable[[SimComm], Result]) -> list[Result]:
        """Call ``function(comm)`` on `size` ranks at once; return what each returned, as a list.

        Raises
        ------
        TypeError, ValueError
            If `size` is no integer from 1.
        Exception
            What a rank raised; the others are stopped at their next collective call. So are all
            when a signal (Ctrl-C) ends the wait for them.
        """
        shared: Any = _Shared(require.integer("size", size, 1))
        ranks = [
            threading.Thread(target=shared.call, args=(function, SimComm(rank, shared)))
            for rank in range(size)
        ]
        for thread in ranks:
            thread.start()
        try:
            for thread in ranks:
                thread.join()
        except BaseException:  # a signal's handler raised it
            shared.stop()
            raise
        if shared.errors:
            raise shared.errors[0]
        return shared.results

    def barrier(self) -> None:
        """Wait for every rank.

        Raises
        ------
        RuntimeError
            In a forked child, which has none of the other ranks.
        """
        if self._shared.process != os.getpid():
            raise RuntimeError("the other ranks are threads of the process that forked this one")
        self._shared.barrier.wait()

    def exchange(
        self, arrays: Sequence[np.ndarray], counts: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """Send ``arrays[k]`` to rank k; return what each sent, `counts` of them where known."""
        received = [a.copy() for a in self._all(list(arrays), self.rank)]
        if counts is not None and [len(a) for a in received] != list(counts):
            raise ValueError(f"counts must be {[len(a) for a in received]}, got {list(counts)}")
        return received

    def all_to_all(self, X: np.ndarray) -> np.ndarray:
        """Send ``X[k]`` to rank k; return what each rank sent: see `Communicator`."""
        return np.stack([x.copy() for x in self._all(X, self.rank)])

    def all_gather(self, x: np.ndarray) -> np.ndarray:
        """Return the array `x` of each rank: see `Communicator`."""
        return np.stack([other.copy() for other in self._all([x], 0)])

    def expose(self, X: np.ndarray) -> Any:
        """Return a window on every rank's X: see `Communicator`."""
        return _SimWindow(self, self._all([X] * self.size, self.rank))

    def duplicate(self) -> SimComm:
        """Return the same ranks again, for another thread: see `Communicator`."""
        mine = _Shared(self.size, self._shared) if self.rank == 0 else None
        shared = self._all([mine] * self.size, self.rank)[0]
        return SimComm(self.rank, shared)

    def _all(self, box, k):
        """Put a list where all can see it; return item k of every rank's list."""
        self._shared.boxes[self.rank] = box
        self.barrier()
        items = [other[k] for other in self._shared.boxes]
        self.barrier()
        return items


class _Shared:
    """What the ranks of a SimComm have in common."""

    def __init__(self, size, original=None):
        self.boxes = [None] * size
        self.results = [None] * size
        self.errors = []
        self.barrier = threading.Barrier(size)
        self.process, self.unwanted = os.getpid(), bytearray(1)
        self.duplicates = []
        if original is not None:
            self.unwanted = original.unwanted
            original.duplicates.append(self)

    def stop(self):
        self.unwanted[0] = 1
        self.abort()

    def abort(self):
        """Let whoever waits at a barrier wait no longer."""
        self.barrier.abort()
        for other in self.duplicates:
            other.abort()

    def call(self, function, comm):
        try:
            self.results[comm.rank] = in_background(self.unwanted, function, comm)
        except threading.BrokenBarrierError:
            pass  # another rank's error stopped this one
        except BaseException as error:
            self.errors.append(error)
            self.abort()


class _SimWindow:
    """Reads at `flush`, no sooner: what uses rows before that is wrong here too."""

    def __init__(self, comm, parts):
        self._comm, self._parts, self.X = comm, parts, parts[comm.rank]
        self._pending: list[deque] = [deque() for _ in parts]

    def get(self, peer, rows, out):
        self._pending[peer].append((rows, out))

    def flush(self, peer):
        while self._pending[peer]:
            rows, out = self._pending[peer].popleft()
            out[...] = self._parts[peer][rows]

    def close(self):
        self._comm.barrier()  # a rank that still reads keeps the others' parts
