"""Features between ranks: threads here, and real MPI processes where there is an MPI."""

import sys

import mpi_ranks
import numpy as np
import pytest
from launching import done, need_mpi

import refimpl
from refimpl.loader import threads

pytestmark = pytest.mark.runs

FETCHES = 2 * 2 * 3 * 4  # of each rank: dtypes, owners, sizes, ways


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_fetches_between_threads(size):
    assert refimpl.loader.SimComm.run(size, mpi_ranks.check) == [FETCHES] * size


@pytest.mark.parametrize("size", [1, 2, 4])
def test_fetches_between_processes(size):
    need_mpi()
    said = done(size, "-m", "mpi4py", mpi_ranks.__file__)
    assert said.strip() == f"{size} ranks, {size * FETCHES} fetches checked"


def test_without_mpi4py_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r"pip install 'minibatch-gnn\[mpi\]'"):
        refimpl.loader.MPIComm()


def test_an_error_of_one_rank_stops_the_others():
    def work(comm):
        if comm.rank == 1:
            raise KeyError("rank 1")
        comm.barrier()

    with pytest.raises(KeyError, match="rank 1"):
        refimpl.loader.SimComm.run(3, work)
    with pytest.raises(ValueError, match="size must be at least 1"):
        refimpl.loader.SimComm.run(0, work)


def test_one_rank_may_read_while_no_other_takes_part():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)

    def work(comm):
        with refimpl.loader.DistributedFeatures(
            comm, X[3 * comm.rank : 3 * comm.rank + 3]
        ) as features:
            if comm.rank == 0:
                return [features.fetch_one_sided([5, 1]).rows.tolist() for _ in range(3)]
        return None

    assert refimpl.loader.SimComm.run(2, work) == [[X[[5, 1]].tolist()] * 3, None]


def test_each_round_reads_from_one_rank_only(monkeypatch):
    """And waits for the others before the next begins."""
    seen, X = [], np.ones((4, 1), np.float32)
    get, barrier = threads._SimWindow.get, threads.SimComm.barrier

    def noted_get(window, peer, rows, out):
        seen.append((window._comm.rank, peer))
        get(window, peer, rows, out)

    def noted_barrier(comm):
        seen.append((comm.rank, "barrier"))
        barrier(comm)

    def work(comm):
        with refimpl.loader.DistributedFeatures(comm, X[comm.rank : comm.rank + 1]) as features:
            comm.barrier()
            monkeypatch.setattr(threads._SimWindow, "get", noted_get)
            monkeypatch.setattr(threads.SimComm, "barrier", noted_barrier)
            rounds = refimpl.loader.pairwise_exchange(1 - np.eye(4, dtype=int))
            trace = features.fetch_one_sided(np.arange(4), rounds=rounds).trace
        return trace.rounds

    assert refimpl.loader.SimComm.run(4, work) == [3] * 4
    for rank in range(4):
        events = [what for who, what in seen if who == rank and what != "barrier"]
        assert events == [rank ^ 1, rank ^ 2, rank ^ 3]
        mine = [what for who, what in seen if who == rank]
        between = mine[mine.index(rank ^ 1) : mine.index(rank ^ 3) + 1]
        assert between == [rank ^ 1, "barrier", rank ^ 2, "barrier", rank ^ 3]
