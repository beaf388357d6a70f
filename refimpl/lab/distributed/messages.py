"""Python's values between the ranks of one run: settings, states, errors."""

import pickle

import numpy as np

MOST = 2**31 - 1  # bytes of a message: MPI counts in an int


def everyones(comm, value):
    """Return what each rank has given, on every rank (collective)."""
    return swapped(comm, [value] * comm.size)


def check_alike(comm, facts):
    """Raise ValueError on every rank unless all have the same facts, a dict (collective)."""
    first, *others = everyones(comm, facts)
    for rank, other in enumerate(others, start=1):
        differing = [name for name in first if other.get(name) != first[name]]
        if differing:
            raise ValueError(f"rank {rank} differs from rank 0 in its {', '.join(differing)}")


def to_first(comm, value):
    """Return what each rank has given, on rank 0; None on the others (collective)."""
    found = swapped(comm, [value] + [None] * (comm.size - 1))
    return found if comm.rank == 0 else None


def swapped(comm, values):
    """Send ``values[k]`` to rank k; return what each rank sent (collective).

    They go as pickles, which is safe between the processes of one run.
    """
    kept = {id(value): np.frombuffer(pickle.dumps(value, 5), np.uint8) for value in values}
    sent = [kept[id(value)] for value in values]
    most = MOST // comm.size  # so that what a rank gets at a time can be counted too
    mine = np.array(max(-(-len(one) // most) for one in sent), np.int64)
    turns = int(comm.all_gather(mine).max())
    found: list[list] = [[] for _ in sent]
    for turn in range(turns):
        parts = comm.exchange([one[turn * most : (turn + 1) * most] for one in sent])
        for of_rank, part in zip(found, parts, strict=True):
            of_rank.append(part)
    return [pickle.loads(np.concatenate(of_rank).data) for of_rank in found]
