"""Ranks that MPI connects, as a communicator: what ranks that work together can do."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

from refimpl._support.mpi_start import mpi
from refimpl._support.reprs import showing


class Communicator(Protocol):
    """What ranks that work together can do.

    All but a window's `get` and `flush` are collective: every rank calls them, in the same order.
    """

    rank: int
    size: int

    def barrier(self) -> None:
        """Wait for every rank."""

    def exchange(
        self, arrays: Sequence[np.ndarray], counts: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """Send ``arrays[k]`` to rank k; return what each rank sent, as a list.

        The arrays have one dtype and, but for their length, one shape, on all ranks. `counts` are
        the lengths to receive, where they are known.
        """

    def all_to_all(self, X: np.ndarray) -> np.ndarray:
        """Send ``X[k]`` to rank k; return the like array of what each rank sent.

        X has as many rows as there are ranks, and one shape and dtype on all of them.
        """

    def all_gather(self, x: np.ndarray) -> np.ndarray:
        """Return the arrays `x` of all ranks, of one shape and dtype, as one, rank 0's first."""

    def expose(self, X: np.ndarray) -> Any:
        """Return a window: ``X``, ``get(peer, rows, out)``, ``flush(peer)``, ``close()``.

        `get` reads ``X[rows]`` of a peer, `rows` ascending; the rows are in `out` after `flush`.
        Its X has the values of the X that was given, which nobody needs any more.
        """

    def duplicate(self) -> Any:
        """Return the same ranks again, for another thread: what it does meets nothing of these."""


class MPIComm:
    """The ranks of an MPI communicator, as a `Communicator`.

    Not in the papers: for `DistributedFeatures`, and for `train`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        Default: ``MPI.COMM_WORLD``.

    Raises
    ------
    ImportError
        If mpi4py is not there, or finds no MPI.
    """

    def __init__(self, comm: Any = None) -> None:
        MPI = mpi()
        self._MPI, self._comm = MPI, MPI.COMM_WORLD if comm is None else comm
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()

    __repr__ = showing("rank", "size")

    def barrier(self) -> None:
        """Wait for every rank."""
        self._comm.Barrier()

    def exchange(
        self, arrays: Sequence[np.ndarray], counts: Sequence[int] | None = None
    ) -> list[np.ndarray]:
        """Send ``arrays[k]`` to rank k; return what each sent, `counts` of them where known."""
        sent = np.array([len(a) for a in arrays], np.int32)
        if counts is None:
            received = np.empty(self.size, np.int32)
            self._comm.Alltoall(sent, received)
        else:
            received = np.array(counts, np.int32)
        outgoing = np.ascontiguousarray(np.concatenate(arrays))
        incoming = np.empty((received.sum(dtype=np.int64), *outgoing.shape[1:]), outgoing.dtype)
        with ExitStack() as types:
            row = self._row_type(outgoing, types)
            self._comm.Alltoallv(
                [outgoing, (sent, _starts(sent)), row],
                [incoming, (received, _starts(received)), row],
            )
        return np.split(incoming, np.cumsum(received)[:-1])

    def all_to_all(self, X: np.ndarray) -> np.ndarray:
        """Send ``X[k]`` to rank k; return what each rank sent: see `Communicator`."""
        received = np.empty_like(X)
        self._comm.Alltoall(X, received)
        return received

    def all_gather(self, x: np.ndarray) -> np.ndarray:
        """Return the array `x` of each rank: see `Communicator`."""
        received = np.empty((self.size, *x.shape), x.dtype)
        self._comm.Allgather(x, received)
        return received

    def expose(self, X: np.ndarray) -> Any:
        """Return a window on every rank's X: see `Communicator`."""
        return _MPIWindow(self, X)

    def duplicate(self) -> MPIComm:
        """Return the same ranks again, for another thread: see `Communicator`."""
        return MPIComm(self._comm.Dup())

    def ranks_here(self) -> int:
        """Return how many of the ranks are on this rank's machine (collective)."""
        here = self._comm.Split_type(self._MPI.COMM_TYPE_SHARED)
        try:
            return here.Get_size()
        finally:
            here.Free()

    def abort(self, status: int) -> None:
        """End the processes of all ranks, at once; not collective.

        Parameters
        ----------
        status : int
            Their exit status, where the launcher passes it on.
        """
        self._MPI.COMM_WORLD.Abort(status)

    def _row_type(self, array, types):
        """Return the committed type of a row; it lives as long as the stack `types`."""
        MPI = self._MPI
        elements = {
            "float64": MPI.DOUBLE,
            "float32": MPI.FLOAT,
            "float16": MPI.UINT16_T,
            "int64": MPI.INT64_T,
            "uint8": MPI.UINT8_T,
        }
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        row = elements[array.dtype.name].Create_contiguous(width).Commit()
        types.callback(row.Free)
        return row


def _starts(counts):
    starts = np.cumsum(counts) - counts
    return starts.astype(np.int32)


class _MPIWindow:
    """One-sided access to the rows of X on every rank.

    X is copied to memory that MPI allocates, which ranks of one machine share: there a read needs
    no help of the rank that is read. Where one of them has a part that is mapped from a file, all
    parts stay where they are.
    """

    def __init__(self, comm, X):
        MPI = comm._MPI
        self._types = ExitStack()
        self._row = comm._row_type(X, self._types)
        width = X.shape[1] * X.dtype.itemsize
        if np.any(comm.all_gather(np.array([_is_mapped(X)], np.int64))):
            # by its address, because mpi4py refuses read-only memory; nothing is ever put into it
            memory = MPI.buffer.fromaddress(X.ctypes.data, X.nbytes) if X.size else None
            self._win = MPI.Win.Create(memory, width, comm=comm._comm)
        else:
            self._win = MPI.Win.Allocate(X.nbytes, width, comm=comm._comm)
            room = np.frombuffer(self._win.tomemory(), X.dtype, X.size).reshape(X.shape)
            room[...] = X
            X = room
            comm.barrier()  # nobody reads what is not there yet
        self.X = X  # must live as long as the window
        self._win.Lock_all(MPI.MODE_NOCHECK)
        self._pending: dict[int, list] = {}  # peer -> types that its transfers use

    def get(self, peer, rows, out):
        if len(rows) == 0:
            return
        there = self._row.Create_indexed_block(1, rows.astype(np.int32)).Commit()
        self._pending.setdefault(peer, []).append(there)
        self._win.Get([out, len(rows), self._row], peer, target=(0, 1, there))

    def flush(self, peer):
        self._win.Flush(peer)
        for there in self._pending.pop(peer, ()):
            there.Free()

    def close(self):
        for peer in list(self._pending):
            self.flush(peer)
        self.X = None
        self._win.Unlock_all()
        self._win.Free()
        self._types.close()


def _is_mapped(array):
    """Whether an array, or what it is a view of, is mapped from a file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def as_communicator(comm):
    """Return a `Communicator` of what a user gives: that, or a communicator of mpi4py."""
    if hasattr(comm, "Get_rank"):
        return MPIComm(comm)
    if not all(hasattr(comm, name) for name in ("rank", "size", "exchange", "duplicate")):
        raise TypeError(
            "comm must be a communicator of mpi4py, an MPIComm or a SimComm, got "
            f"{type(comm).__name__}"
        )
    return comm
