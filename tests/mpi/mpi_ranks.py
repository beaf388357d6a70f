"""What every rank checks, whatever connects the ranks; run as a program, MPI does.

mpiexec -n 2 python -m mpi4py tests/mpi/mpi_ranks.py
"""

import tempfile
from pathlib import Path

import numpy as np

from refimpl.loader import (
    DistributedFeatures,
    MPIComm,
    Topology,
    open_features,
    pairwise_exchange,
    plan_rounds,
    write_features,
)


def check(comm):
    """Fetch in every way, and compare with plain indexing; return how many fetches that were."""
    fetches = 0
    for dtype in (np.float32, np.float16):
        for owners in ("contiguous", "modulo"):
            for n in (0, 1, 57):
                X = np.random.default_rng(n).standard_normal((n, 5)).astype(dtype)
                fetches += check_fetches(comm, X, owners)
    check_uneven_parts(comm)
    check_a_file(comm)
    check_parts_that_do_not_fit(comm)
    return fetches


def part_of(comm, X, owners):
    """Return this rank's part of X, which nobody may write to."""
    if owners == "modulo":
        part = np.ascontiguousarray(X[comm.rank :: comm.size])
    else:
        first, end = (len(X) * k // comm.size for k in (comm.rank, comm.rank + 1))
        part = X[first:end].copy()
    part.flags.writeable = False
    return part


def owner_of(comm, v, n, owners):
    if owners == "modulo":
        return v % comm.size
    return next(k for k in range(comm.size) if v < n * (k + 1) // comm.size)


def check_fetches(comm, X, owners):
    n, demand = len(X), 1 - np.eye(comm.size, dtype=np.int64)
    rng = np.random.default_rng(100 + comm.rank)  # every rank asks for others, and for other many
    ways = {
        "one-sided": lambda features, ids: features.fetch_one_sided(ids),
        "pairwise": lambda features, ids: features.fetch_one_sided(
            ids, rounds=pairwise_exchange(demand)
        ),
        "tree": lambda features, ids: features.fetch_one_sided(
            ids, rounds=plan_rounds(Topology.tree((comm.size,)), demand)
        ),
        "two-sided": lambda features, ids: features.fetch_two_sided(ids),
    }
    with DistributedFeatures(comm, part_of(comm, X, owners), owners) as features:
        assert features.n == n
        for name, fetch in ways.items():
            ids = rng.integers(0, n, 3 * n * comm.rank + n % 2) if n else np.zeros(0, int)
            rows, trace = fetch(features, ids)
            assert rows.dtype == np.float32 and np.array_equal(rows, X[ids]), name
            remote = [v for v in set(ids.tolist()) if owner_of(comm, v, n, owners) != comm.rank]
            row = X.itemsize * 5 + (8 if name == "two-sided" else 0)
            assert trace.bytes() == len(remote) * row, name
        if comm.rank == 0:  # alone
            assert np.array_equal(features.fetch_one_sided(np.arange(n)).rows, X)
        comm.barrier()
    return len(ways)


def check_uneven_parts(comm):
    """The last rank holds all: the others' windows are empty."""
    X = np.arange(30, dtype=np.float32).reshape(10, 3)
    mine = X if comm.rank == comm.size - 1 else X[:0]
    with DistributedFeatures(comm, mine) as features:
        ids = np.array([9, 0, 9, 3])
        assert np.array_equal(features.fetch_one_sided(ids).rows, X[ids])
        assert np.array_equal(features.fetch_two_sided(ids).rows, X[ids])
        if comm.size > 1 and comm.rank == 0:
            try:
                features.fetch_one_sided(ids, rounds=())
            except ValueError as error:
                assert f"read from rank {comm.size - 1}" in str(error)
            else:
                raise AssertionError("rounds that leave out a rank were accepted")
        comm.barrier()
    try:
        features.fetch_one_sided(ids)
    except ValueError as error:
        assert "closed" in str(error)
    else:
        raise AssertionError("closed features were read")
    features.close()


def check_a_file(comm):
    """A window on a read-only memory-mapped file."""
    X = np.random.default_rng(5).standard_normal((40, 7)).astype(np.float16)
    with tempfile.TemporaryDirectory() as folder:
        write_features(Path(folder, "part"), part_of(comm, X, "modulo"))
        with DistributedFeatures(comm, open_features(Path(folder, "part")), "modulo") as features:
            ids = np.arange(39, -1, -1)
            assert np.array_equal(features.fetch_one_sided(ids).rows, X[ids])
            comm.barrier()


def check_parts_that_do_not_fit(comm):
    """Every rank raises, so none waits for another."""
    if comm.size == 1:
        return
    for part, owners, message in (
        (np.zeros((2, 1 + comm.rank), np.float32), "contiguous", "one dtype and one width"),
        (np.zeros((2, 2), "f2" if comm.rank else "f4"), "contiguous", "one dtype and one width"),
        (np.zeros((2 * comm.rank, 2), np.float32), "modulo", "by modulo"),
    ):
        try:
            DistributedFeatures(comm, part, owners)
        except ValueError as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"parts that do not fit were accepted: {message}")


if __name__ == "__main__":
    comm = MPIComm()
    done = comm.exchange([np.array([check(comm)])] * comm.size)
    if comm.rank == 0:
        print(f"{comm.size} ranks, {np.concatenate(done).sum()} fetches checked")
