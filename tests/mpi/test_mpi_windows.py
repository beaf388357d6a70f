"""Features between ranks: threads here, and real MPI processes where there is an MPI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mpi_ranks
import numpy as np
import pytest

import refimpl
from refimpl.loader import mpi

pytestmark = pytest.mark.runs

FETCHES = 2 * 2 * 3 * 4  # of each rank: dtypes, owners, sizes, ways


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_fetches_between_threads(size):
    assert refimpl.loader.SimComm.run(size, mpi_ranks.check) == [FETCHES] * size


def mpiexec():
    """Return the mpiexec beside this Python, or on the path; None without one."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


@pytest.mark.parametrize("size", [1, 2, 4])
def test_fetches_between_processes(size):
    pytest.importorskip("mpi4py")
    if mpiexec() is None:
        pytest.skip("no mpiexec")
    oversubscribed = {  # Open MPI's permissions; MPICH needs none
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMP_NUM_THREADS": "1",
    }
    program = [sys.executable, "-m", "mpi4py", mpi_ranks.__file__]
    done = subprocess.run(
        [mpiexec(), "-n", str(size), *program],
        env=os.environ | oversubscribed,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == f"{size} ranks, {size * FETCHES} fetches checked"


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
    get, barrier = mpi._SimWindow.get, mpi.SimComm.barrier

    def noted_get(window, peer, rows, out):
        seen.append((window._comm.rank, peer))
        get(window, peer, rows, out)

    def noted_barrier(comm):
        seen.append((comm.rank, "barrier"))
        barrier(comm)

    def work(comm):
        with refimpl.loader.DistributedFeatures(comm, X[comm.rank : comm.rank + 1]) as features:
            comm.barrier()
            monkeypatch.setattr(mpi._SimWindow, "get", noted_get)
            monkeypatch.setattr(mpi.SimComm, "barrier", noted_barrier)
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
