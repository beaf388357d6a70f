"""Features in parts, one with each rank, read when a minibatch needs them or one ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import showing
from refimpl._support.thread_limits import Threads
from refimpl.hints import Features, Int, Integers, Matrix
from refimpl.lab.hints import Comm
from refimpl.loader.distributed import DistributedFeatures
from refimpl.loader.features import Fetched
from refimpl.loader.mpi import as_communicator
from refimpl.loader.rounds import Topology, Transfer, pairwise_exchange, plan_rounds

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class Fetching:
    """What a rank has read of others' features.

    Attributes
    ----------
    rows, bytes, messages, rounds : int
        Rows of other ranks, their size, reads from a rank, and waits for a rank.
    waiting : float
        Seconds in which training waited for rows.
    """

    rows: int = 0
    bytes: int = 0
    messages: int = 0
    rounds: int = 0
    waiting: float = 0.0


class FeatureParts:
    """The training features, a part with each rank, for `train` (collective).

    FreshGNN section 6: rows of other ranks are read one-sidedly, those of the next minibatch by a
    thread while this one is computed, where the method knows them in time; FreshGNN's own
    iterations know what they need only once their cache is looked up.

    Parameters
    ----------
    comm : MPIComm, SimComm or communicator of mpi4py
    X : (any, f) float16, float32 or float64 array
        The rows of this rank, C-contiguous: those of the first nodes with rank 0, and so on.
    rounds : {None, "pairwise"} or tuple of ints
        Read from all ranks at once, or in rounds in which no link carries two transfers: of ranks
        around one switch, or of a tree with so many children at each level, the root's first, such
        as (2, 4) for two machines with four ranks each. They change no result.

    Attributes
    ----------
    fetching : Fetching

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or the parts do not fit together.
    ImportError
        If `comm` is mpi4py's, and no MPI is there.
    """

    def __init__(
        self,
        comm: Comm,
        X: Features,
        rounds: Literal["pairwise"] | Sequence[Int] | None = None,
    ) -> None:
        self.comm = as_communicator(comm).duplicate()  # for the thread
        self.rounds = planned(rounds, self.comm.size)
        self.features = DistributedFeatures(self.comm, X)
        self.fetching = Fetching()
        self._asked: deque[tuple[Integers, Future[Fetched]]] = deque()
        self._thread = Threads(1, thread_name_prefix="minibatch-gnn-features")

    __repr__ = showing("comm", "shape", "dtype", "rounds")

    @property
    def shape(self) -> tuple[int, int]:
        """Of all parts together."""
        return self.features.n, self.features.d

    @property
    def dtype(self) -> np.dtype[Any]:
        """How features are kept."""
        return self.features.dtype

    @property
    def row_bytes(self) -> int:
        """Bytes of a node's features."""
        return self.features.row_bytes

    def ask(self, nodes: Integers) -> None:
        """Begin to fetch the features of some nodes; the next `load` but those asked is of them."""
        fetched = self._thread.submit(self.features.fetch_one_sided, nodes, rounds=self.rounds)
        self._asked.append((nodes, fetched))

    def load(self, nodes: Integers) -> Matrix[Any]:
        """Return the features of some nodes, in float32 where they are kept in float16."""
        begin = perf_counter()
        if not self._asked or self._asked[0][0] is not nodes:
            self.finish()
            self.ask(nodes)
        rows, trace = self._asked.popleft()[1].result()
        counts = self.fetching
        counts.waiting += perf_counter() - begin
        counts.bytes += trace.bytes()
        counts.rows += trace.bytes() // self.row_bytes
        counts.messages += len(trace.messages)
        counts.rounds += trace.rounds
        return rows

    def finish(self) -> None:
        """Wait for what was asked for, and forget it."""
        while self._asked:
            self._asked.popleft()[1].result()

    def close(self) -> None:
        """End the thread, and take the parts away (collective)."""
        self.finish()
        self._thread.shutdown()
        self.features.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exc_info: object) -> None:
        if kind is None:
            self.close()
        else:  # the other ranks may never come to the end
            self._thread.shutdown(wait=False, cancel_futures=True)


def planned(
    rounds: str | Sequence[Int] | None, size: int
) -> tuple[tuple[Transfer, ...], ...] | None:
    """Return the rounds of transfers between any two ranks, or None for all at once."""
    if rounds is None:
        return None
    demand = 1 - np.eye(size, dtype=np.int64)
    if rounds == "pairwise":
        return pairwise_exchange(demand)
    if isinstance(rounds, str):
        raise ValueError(f'rounds must be None, "pairwise" or the shape of a tree, got {rounds!r}')
    shape = require.sequence("rounds", rounds)
    topology = Topology.tree(shape)
    if topology.devices != size:
        raise ValueError(f"rounds must be a tree of {size} ranks, got one of {topology.devices}")
    return plan_rounds(topology, demand)


class Ahead:
    """Minibatches, one after another: the features of the next are asked for with each.

    Parameters
    ----------
    minibatches : iterator without end
        With a method ``close()``.
    inputs : callable
        ``inputs(minibatch)`` returns the nodes whose features it loads.
    ask : callable
        ``ask(nodes)`` begins to fetch them.
    """

    def __init__(
        self,
        minibatches: Any,
        inputs: Callable[[Any], Integers],
        ask: Callable[[Integers], object],
    ) -> None:
        self.minibatches, self.inputs, self.ask = minibatches, inputs, ask
        self.waiting: deque[Any] = deque()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        while len(self.waiting) < 2:
            minibatch = next(self.minibatches)
            self.ask(self.inputs(minibatch))
            self.waiting.append(minibatch)
        return self.waiting.popleft()

    def close(self) -> None:
        """End the threads that sample ahead."""
        self.minibatches.close()
