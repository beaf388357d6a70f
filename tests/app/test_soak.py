"""Memory that stays: the soak for a moment, and what it finds; `python tests/fuzz soak` goes on."""

import importlib
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.runs

SHORT = ["--methods", "full", "--seed", "1", "--steps", "160", "--rounds", "16"]


@pytest.fixture
def soak(monkeypatch):
    """tests/fuzz/soak.py itself."""
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")  # it sets them, and they are to be as before
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    return importlib.import_module("fuzz.soak")


def test_a_run_is_flat_and_one_that_loses_memory_is_not(soak, capsys):
    assert soak.main(SHORT) == 0
    assert "flat" in capsys.readouterr().out.splitlines()[2].split()
    assert soak.main([*SHORT, "--leak", "40000"]) == 1
    out = capsys.readouterr().out
    assert 30_000 < int(re.search(r"MiB more, (\d+) bytes a step", out)[1]) < 50_000
    assert out.endswith("NOT FLAT: see above\n")


def readings(soak, a_step=0, files=0, threads=0, steps=20_000, rounds=80):
    """Return the readings of a run that loses so much a step, and goes up and down."""
    found = []
    for i in range(rounds):
        done = (i + 1) * steps // rounds
        noise = (-1) ** i * 2**18  # a quarter of a MiB up and down
        memory = 70 * 2**20 + a_step * done + noise
        found.append(soak.Reading(done, memory, 9 + files * done, 4 + threads * done))
    return found


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ({}, []),
        ({"a_step": 100}, ["0.95 MiB more, 100 bytes a step"]),
        ({"a_step": -100}, []),
        ({"files": 1}, ["10000 more files"]),
        ({"threads": 1}, ["10000 more threads"]),
    ],
)
def test_what_counts_as_growth(soak, lost, words):
    assert soak.growth(readings(soak, **lost)) == words


def ends(*asked):
    os._exit(3)


def test_a_process_that_ends_is_not_flat(soak, monkeypatch, capsys):
    monkeypatch.setattr(soak, "soaked", ends)
    assert soak.main(SHORT) == 1
    assert "the process ended" in capsys.readouterr().out


def test_an_unknown_method(soak, capsys):
    assert soak.main(["--methods", "nothing"]) == 2
    assert "no such method: nothing" in capsys.readouterr().err
