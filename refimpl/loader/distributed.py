"""Fetching features between processes, from the memory that each rank shows the others.

`DistributedFeatures` is written once over a communicator. `MPIComm` is one (extra ``mpi``),
`SimComm` is one whose ranks are threads of this process, so that all of it runs without MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import showing
from refimpl.hints import Features, Integers
from refimpl.loader.features import Fetched, one_sided_trace, two_sided_trace
from refimpl.loader.files import AT_REST, matrix, still_whole
from refimpl.loader.mpi import Communicator
from refimpl.loader.store import OWNERS, Ownership

KEPT = (*AT_REST, np.dtype(np.float64))
MOST_ROWS = 2**31 - 1  # of a rank: MPI counts rows in an int


class DistributedFeatures:
    """The features of n nodes, a part with each rank (collective).

    The data loader of FreshGNN section 6, between processes.

    Parameters
    ----------
    comm : MPIComm or SimComm
    X : (any, d) float64, float32 or float16 array
        The part of this rank, C-contiguous; must not change before `close`. All ranks have one
        dtype and one d. With MPI at most 2**31 - 1 rows, which are copied, unless they are mapped
        from a file.
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

    def __init__(
        self,
        comm: Communicator,
        X: Features,
        owners: Literal["contiguous", "modulo"] = "contiguous",
    ) -> None:
        self.comm = comm
        X = matrix("X", X, dtypes=KEPT)
        require.choice("owners", owners, OWNERS)
        shapes = comm.all_gather(np.array([len(X), X.shape[1], X.dtype.itemsize], np.int64))
        if np.any(shapes[:, 1:] != shapes[0, 1:]):
            raise ValueError("X must have one dtype and one width on all ranks")
        if shapes[:, 0].max() > MOST_ROWS:
            raise ValueError(f"X must have at most {MOST_ROWS} rows, got {shapes[:, 0].max()}")
        self.ownership = Ownership(shapes[:, 0].tolist(), owners)
        self._window = comm.expose(X)
        self._X = self._window.X

    __repr__ = showing("comm", "n", "d", "dtype")

    @property
    def n(self) -> int:
        """Number of nodes, of all ranks together."""
        return self.ownership.n

    @property
    def dtype(self) -> np.dtype:
        """How features are kept; rows of float16 are read as float32."""
        return self._X.dtype

    @property
    def d(self) -> int:
        """Number of features of a node."""
        return self._X.shape[1]

    def fetch_one_sided(
        self, ids: Integers, *, rounds: Sequence[Sequence[Any]] | None = None
    ) -> Fetched:
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
        out = np.empty(
            (sum(map(len, rows)) + copies.shape[1], self.d), np.result_type(self.dtype, np.float32)
        )
        for step in steps:
            self._read([p for p in step if p in wanted], rows, positions, out)
            wanted -= set(step)
            if rounds is not None:
                self.comm.barrier()
        out[copies[0]] = out[copies[1]]
        waits = 1 if rounds is None else len(rounds)
        return Fetched(out, one_sided_trace(me, rows, self.row_bytes, waits))

    def fetch_two_sided(self, ids: Integers) -> Fetched:
        """Ask the ranks for the rows of some nodes; every rank packs and sends (collective).

        Nodes `ids` and result as for `fetch_one_sided`, the trace as of the function
        `fetch_two_sided`.
        """
        rows, positions, copies = self._split(ids)
        me, comm = self.comm.rank, self.comm
        asked = comm.exchange([r if p != me else r[:0] for p, r in enumerate(rows)])
        counts = [len(r) if p != me else 0 for p, r in enumerate(rows)]
        packed = comm.exchange([self._X[r] for r in asked], counts)
        out = np.empty(
            (sum(map(len, rows)) + copies.shape[1], self.d), np.result_type(self.dtype, np.float32)
        )
        packed[me] = self._X[rows[me]]
        for p, where in enumerate(positions):
            out[where] = packed[p]
        out[copies[0]] = out[copies[1]]
        return Fetched(out, two_sided_trace(me, rows, self.row_bytes))

    def close(self) -> None:
        """Take the window away (collective). A second call does nothing."""
        window, self._window = self._window, None
        if window is not None:
            self._X = self._X[:0].copy()  # its memory is the window's
            window.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    @property
    def row_bytes(self) -> int:
        """Bytes of a node's features."""
        return self.d * self.dtype.itemsize

    def _split(self, ids):
        if self._window is None:
            raise ValueError("these features have been closed")
        still_whole(self._X)
        return self.ownership.split(require.ids("ids", ids, 0, self.n, np.int64))

    def _read(self, peers, rows, positions, out):
        """Read the rows of some ranks into `out`: all are asked before the first is waited for."""
        buffers = {}
        for p in peers:
            if p == self.comm.rank:
                out[positions[p]] = self._X[rows[p]]
            else:
                buffers[p] = np.empty((len(rows[p]), self.d), self.dtype)
                self._window.get(p, rows[p], buffers[p])
        for p, buffer in buffers.items():
            self._window.flush(p)
            out[positions[p]] = buffer
