"""Ranks that raise or are killed: the job ends, and what it left goes on to the same bits."""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from launching import done, ended, mpiexec, need_mpi, ranks_of, started, started_as
from tiny_data import arrays_of, same_run, write_graphsaint

pytestmark = pytest.mark.runs

SOON = 30  # seconds, on a machine that does other things
KILLS = 3

# A rank that fails in front of a step; the others go on until they need it.
DRIVER = """
import runpy, sys
from refimpl.lab.training.trainer import Trainer
rank, step, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
steps, whole = 0, Trainer.step
def failing(self):
    global steps
    steps += 1
    if steps == step and self.team.comm.rank == rank:
        errors = {"bug": AttributeError, "memory": MemoryError, "exit": SystemExit}
        raise errors[kind]("made to fail")
    return whole(self)
Trainer.step = failing
sys.argv[1:] = sys.argv[4:]
runpy.run_module("fastimpl", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    need_mpi()
    return write_graphsaint(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture
def words(folder, tmp_path):
    """Return the words of a run of four workers of FreshGNN in the folder `out`."""

    def words(out, *options):
        start = ("train", "--data", folder, "--out", tmp_path / out, "--hidden", 8)
        fresh = ("--method", "fresh", "--batch-size", 14, "--buffer", 3000, "--t-stale", 2)
        return (*start, *fresh, "--workers-a-step", 4, *options)

    return words


@pytest.mark.parametrize("size, rank, kind", [(2, 1, "bug"), (4, 0, "memory"), (2, 1, "exit")])
def test_a_rank_that_raises_ends_the_job(words, tmp_path, size, rank, kind):
    """In the second epoch: with its number, a bug with its traceback; the checkpoint is whole."""
    run = words("out", "--epochs", 4)
    status, out, err = ended(started(size, "-c", DRIVER, rank, 5, kind, *run), 60)
    assert status != 0
    name = {"bug": "AttributeError", "exit": "SystemExit"}.get(kind)
    if kind == "memory":  # the user's data and settings are too large, which is no bug
        assert f"rank {rank}: out of memory: try a smaller --hidden" in err
        assert "Traceback" not in err
    else:
        assert f"rank {rank} of {size}" in err
        assert f"{name}: made to fail" in err and err.count("Traceback") == 1
    assert "wrote" not in out
    assert len(arrays_of(tmp_path / "out" / "checkpoint.npz")[1]["history"]) == 1
    if kind == "exit":
        done(None, "-m", "fastimpl", *words("whole", "--epochs", 4))
        done(4, "-m", "fastimpl", "train", "--resume", "--out", tmp_path / "out")
        same_run(tmp_path / "whole" / "checkpoint.npz", tmp_path / "out" / "checkpoint.npz")


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_rank_ends_the_job(words, tmp_path, seed):
    """At a random moment; on another number of ranks the run ends in the same bits."""
    draw = random.Random(seed)
    epochs, size, rank = 60, draw.choice([2, 4]), draw.randrange(2)
    done(None, "-m", "fastimpl", *words("whole", "--epochs", epochs))
    job = started(size, "-m", "fastimpl", *words("out", "--epochs", epochs))
    checkpoint = tmp_path / "out" / "checkpoint.npz"
    while not (tmp_path / "out" / "history.csv").exists():  # an epoch is over
        assert job.poll() is None, job.communicate()
        time.sleep(0.005)
    pids = ranks_of(job)
    assert len(pids) == size
    time.sleep(draw.random() / 2)
    with suppress(ProcessLookupError):  # it was done sooner
        os.kill(pids[rank], signal.SIGKILL)
    ended(job, SOON)
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in pids), "a rank lives on"
    assert 1 <= len(arrays_of(checkpoint)[1]["history"]) <= epochs
    others = draw.choice([other for other in (None, 2, 4) if other != size])
    done(others, "-m", "fastimpl", "train", "--resume", "--out", tmp_path / "out")
    same_run(tmp_path / "whole" / "checkpoint.npz", checkpoint)


def test_an_interrupt_keeps_the_checkpoint(words, tmp_path):
    """Ctrl-C reaches every rank through mpiexec, or ends them."""
    job = started(2, "-m", "fastimpl", *words("out", "--epochs", 500))
    while not (tmp_path / "out" / "history.csv").exists():
        assert job.poll() is None, job.communicate()
        time.sleep(0.005)
    os.kill(job.pid, signal.SIGINT)
    status, _, err = ended(job, SOON)
    assert status != 0
    history = len(arrays_of(tmp_path / "out" / "checkpoint.npz")[1]["history"])
    assert 1 <= history < 500


def test_ranks_without_mpi4py(words, tmp_path):
    """Two ranks that cannot meet would be two runs in one folder: refused, the extra is named."""
    hide = "import sys; sys.modules['mpi4py'] = None; sys.argv[0] = 'x'; import runpy; "
    run = hide + "runpy.run_module('fastimpl', run_name='__main__', alter_sys=True)"
    argv = [mpiexec(), "-n", "2", sys.executable, "-c", run, *map(str, words("out"))]
    status, _, err = ended(started_as(argv), SOON)
    assert status != 0
    assert "minibatch-gnn[mpi]" in err
    assert not (tmp_path / "out").exists()
