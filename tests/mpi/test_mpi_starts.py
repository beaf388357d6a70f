"""Ranks that end before training: the job ends within seconds, with one line."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from launching import all_ended, ended, mpiexec, need_mpi, own_lines, started_as

pytestmark = pytest.mark.runs

SOON = 20  # seconds, on a machine that does other things
ENTRIES = {
    "refimpl": (sys.executable, "-m", "refimpl"),
    "fastimpl": (sys.executable, "-m", "fastimpl"),
    "script": (str(Path(sys.executable).with_name("minibatch-gnn")),),
}
TRAIN = ("train", "--data", "karate", "--epochs", "1", "--hidden", "4", "--workers-a-step", "2")

# Runs DIES_CODE on one rank, or on all, when the program looks for a module.
SITE = """
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["DIES_AT"]:
            sys.meta_path.remove(self)
            exec(os.environ["DIES_CODE"])

rank = os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK"))
if os.environ["DIES_RANK"] in (rank, "all"):
    sys.meta_path.insert(0, Finder())
"""
BREAK_PARSER = """
import argparse
def parse_args(self, args=None, namespace=None):
    raise MemoryError
argparse.ArgumentParser.parse_args = parse_args
"""
SET = "name = [n for n in ('PMI_{0}', 'OMPI_COMM_WORLD_{0}') if n in os.environ][0]\n"
SET += "os.environ[name] = {1!r}"


class Death(NamedTuple):
    """How a rank ends, at which import, and what the job shows."""

    code: str
    at: str
    shown: str
    status: int = 2


DEATHS = {
    "numpy": Death("raise ImportError('no numpy')", "numpy", "ImportError: no numpy"),
    "refimpl": Death("raise AttributeError('oops')", "refimpl.graph", "AttributeError: oops"),
    "implementation": Death("raise ImportError('oops')", "", "oops"),
    "mpi4py": Death("raise ImportError('no mpi')", "mpi4py", "needs mpi4py and an MPI"),
    "mpi library": Death("raise RuntimeError('no\\nmpi')", "mpi4py.MPI", "needs mpi4py and an MPI"),
    "memory, importing": Death("raise MemoryError", "scipy", "MemoryError"),
    "memory, parsing": Death(BREAK_PARSER, "refimpl.lab.apps.cli", "MemoryError"),
    "exit": Death("sys.exit(0)", "scipy", "Python ended before training"),
    "interrupt": Death("raise KeyboardInterrupt", "scipy", "interrupted", 130),
    "SIGTERM": Death("os.kill(os.getpid(), 15)", "scipy", "ended by SIGTERM", 143),
    "option": Death("sys.argv.append('--nonsense')", "refimpl.lab.apps.cli", "arguments: --nonse"),
    "file": Death("sys.argv += ['--config', 'x.toml']", "refimpl.lab.apps.cli", "x.toml"),
    "command": Death("sys.argv[1] = 'trian'", "refimpl.lab.apps.cli", "invalid choice: 'trian'"),
}
IMPLEMENTATIONS = {"refimpl": "refimpl.layers"}  # else modules of fastimpl


@pytest.fixture
def ending(tmp_path):
    """Return a function that lets a rank, or all, of each entry's job die; they run at once."""
    need_mpi()
    (tmp_path / "sitecustomize.py").write_text(SITE)

    def ending(death, rank, entries=ENTRIES):
        jobs = {}
        for entry in entries:
            words = [*ENTRIES[entry], *TRAIN, "--out", str(tmp_path / entry)]
            jobs[entry] = started_as(
                [mpiexec(), "-n", "2", *words],
                PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
                DIES_RANK=str(rank),
                DIES_AT=death.at or IMPLEMENTATIONS.get(entry, "fastimpl._build"),
                DIES_CODE=death.code,
            )
        found = dict(zip(jobs, all_ended(jobs.values(), SOON), strict=True))
        assert not any((tmp_path / entry / "metrics.json").exists() for entry in jobs)
        return found

    return ending


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind", DEATHS)
def test_a_rank_that_ends_early_ends_the_job(ending, kind, rank):
    death = DEATHS[kind]
    for entry, (status, _, err) in ending(death, rank).items():
        (line,) = own_lines(err)
        assert f"rank {rank}: " in line and death.shown in line, entry
        assert line.startswith(" ".join(ENTRIES[entry]).replace(sys.executable, "python")) or (
            entry == "script" and line.startswith("minibatch-gnn: ")
        )
        assert status == death.status, entry


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name, value", [("RANK", "x"), ("RANK", "2"), ("SIZE", "two")])
def test_a_variable_of_the_launcher_that_is_no_number_ends_the_job(ending, name, value, rank):
    death = Death(SET.format(name, value), "refimpl", f"_{name} must be a whole number")
    for status, _, err in ending(death, rank).values():
        (line,) = own_lines(err)
        assert death.shown in line and repr(value) in line
        assert status == 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_shows_help_ends_the_job(ending, rank):
    """Every rank needs the same command."""
    help = Death("sys.argv.append('--help')", "refimpl.lab.apps.cli", "")
    for status, out, err in ending(help, rank).values():
        (line,) = own_lines(err)
        assert "rank 1 differs from rank 0 in its command" in line
        assert "usage:" in out and status == 2


@pytest.mark.parametrize("kind", ["numpy", "mpi4py", "exit", "interrupt"])
def test_what_all_ranks_have_is_shown_once(ending, kind):
    death = DEATHS[kind]
    for status, _, err in ending(death, "all").values():
        (line,) = own_lines(err)
        assert "rank 0: " in line and death.shown in line
        assert status == death.status


@pytest.mark.parametrize("kind", ["option", "file", "command"])
def test_a_mistake_of_the_user_is_shown_once_as_in_one_process(ending, kind):
    death = DEATHS[kind]
    for status, _, err in ending(death, "all").values():
        (line,) = own_lines(err)
        assert "error: " in line and death.shown in line and "rank" not in line
        assert status == 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_before_mpi_ends_the_job(ending, rank):
    """The launcher notices it, and shows it in its own words."""
    for status, _, err in ending(Death("os.kill(os.getpid(), 15)", "mpi4py", ""), rank).values():
        assert status != 0
        assert "error: " not in err and "Traceback" not in err


def test_help_and_commands_without_ranks_are_each_process_s_own(tmp_path):
    need_mpi()
    for words, shown in ((["train", "--help"], "usage:"), (["info"], "minibatch-gnn")):
        argv = [mpiexec(), "-n", "2", *ENTRIES["script"], *words]
        status, out, err = ended(started_as(argv), SOON)
        assert (status, own_lines(err)) == (0, [])
        assert out.count(shown) == 2  # lines of both may be mixed
