"""What the ranks of one run send each other: Python's values, sums over workers, shared rows.

Floating-point sums depend on their order. So the workers' numbers alone fix the order, by a binary
tree: the sum over workers lo .. hi - 1 is the sum over lo .. mid - 1 plus the sum over mid ..
hi - 1, where mid is lo plus the largest power of two below hi - lo. A rank adds up the parts of the
tree that have only its own workers; sums above these parts are added where several ranks meet.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refimpl.hints import Matrix
from refimpl.loader.distributed import DistributedFeatures
from refimpl.loader.mpi import Communicator

MOST = 2**31 - 1  # bytes of a message: MPI counts in an int


def everyones(comm: Communicator, value: object) -> list[Any]:
    """Return what each rank has given, on every rank (collective)."""
    return swapped(comm, [value] * comm.size)


def check_alike(comm: Communicator, facts: dict[str, Any]) -> None:
    """Raise ValueError on every rank unless all have the same facts, a dict (collective)."""
    first, *others = everyones(comm, facts)
    for rank, other in enumerate(others, start=1):
        differing = [name for name in first if other.get(name) != first[name]]
        if differing:
            raise ValueError(f"rank {rank} differs from rank 0 in its {', '.join(differing)}")


def to_first(comm: Communicator, value: object) -> Any:
    """Return what each rank has given, on rank 0; None on the others (collective)."""
    found = swapped(comm, [value] + [None] * (comm.size - 1))
    return found if comm.rank == 0 else None


def swapped(comm: Communicator, values: Sequence[object]) -> list[Any]:
    """Send ``values[k]`` to rank k; return what each rank sent (collective).

    They go as pickles, which is safe between the processes of one run.
    """
    kept = {id(value): np.frombuffer(pickle.dumps(value, 5), np.uint8) for value in values}
    sent = [kept[id(value)] for value in values]
    most = MOST // comm.size  # so that what a rank gets at a time can be counted too
    mine = np.array(max(-(-len(one) // most) for one in sent), np.int64)
    turns = int(comm.all_gather(mine).max())
    found: list[list[NDArray[Any]]] = [[] for _ in sent]
    for turn in range(turns):
        parts = comm.exchange([one[turn * most : (turn + 1) * most] for one in sent])
        for of_rank, part in zip(found, parts, strict=True):
            of_rank.append(part)
    return [pickle.loads(np.concatenate(of_rank).data) for of_rank in found]


def halves(lo: int, hi: int) -> int:
    """Return where the tree cuts the workers lo .. hi - 1, at least two."""
    return lo + (1 << (hi - lo - 1).bit_length() - 1)


def total(lo: int, hi: int, part: Callable[[int], Any]) -> Any:
    """Return the sum of ``part(w)`` over the workers w = lo .. hi - 1; they are called in order.

    `part` returns arrays, or numbers; the result is a new one, unless it is of one worker.
    """
    if hi - lo == 1:
        return part(lo)
    mid = halves(lo, hi)
    left = total(lo, mid, part)
    return left + total(mid, hi, part)


def within(first: int, last: int, lo: int, hi: int) -> list[tuple[int, int]]:
    """Return the largest parts (lo, hi) of a tree that have no worker but first .. last - 1.

    In order; (lo, hi) is the tree. There are at most two for each of its levels.
    """
    if first <= lo and hi <= last:
        return [(lo, hi)]
    if hi <= first or last <= lo:
        return []
    mid = halves(lo, hi)
    return within(first, last, lo, mid) + within(first, last, mid, hi)


def total_of_parts(lo: int, hi: int, parts: dict[tuple[int, int], Any]) -> Any:
    """Return the sum over the workers lo .. hi - 1 from those over parts of the tree."""
    if (lo, hi) in parts:
        return parts[lo, hi]
    mid = halves(lo, hi)
    return total_of_parts(lo, mid, parts) + total_of_parts(mid, hi, parts)


class SharedRows:
    """The shares of all ranks, rank 0's first (collective; so is `close`).

    Parameters
    ----------
    comm : Communicator
    share : InMemory or OnDisk
        The rows that this rank has computed.
    """

    def __init__(self, comm: Communicator, share: Any) -> None:
        self.share = share
        mine = np.ascontiguousarray(share.take(None, slice(None)))
        self.rows = DistributedFeatures(comm, mine)

    def take(self, gnn: object, at: slice | NDArray[Any]) -> Matrix[Any]:
        """Return the rows at some places, an array or a slice."""
        at = np.arange(self.rows.n)[at] if isinstance(at, slice) else at
        return self.rows.fetch_one_sided(at).rows

    def close(self) -> None:
        """Take the windows away, and forget the rows."""
        self.rows.close()
        self.share.close()
