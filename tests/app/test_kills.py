"""Runs killed at random moments: the fuzzer, for a moment; `python tests/fuzz kills` goes on."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from refimpl.lab.apps import plots
from refimpl.lab.apps.cli import main
from refimpl.lab.training.methods import METHODS

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def kills(tmp_path):
    """Run ``python tests/fuzz kills``."""
    env = {**os.environ, "TMPDIR": str(tmp_path)}

    def kills(*words):
        argv = [sys.executable, str(ROOT / "tests" / "fuzz"), "kills", *words]
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    return kills


@pytest.fixture
def module():
    """tests/fuzz/kills.py itself."""
    return importlib.import_module("fuzz.kills")


def test_three_kills(kills, tmp_path):
    done = kills("--times", "3", "--seed", "1", "--methods", "fresh", "graph")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert re.search(r"^all +\d+ +3 ", done.stdout, re.M)
    assert "every run ended in the same bits" in done.stdout
    assert not list(tmp_path.glob("fuzz_kills_*"))


def test_an_unknown_method(kills):
    done = kills("--methods", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such method: nothing" in done.stderr


def test_options_are_of_methods(module):
    """A method without options of its own is killed with its defaults."""
    assert module.VARIANTS.keys() <= METHODS.keys()


def test_what_is_compared(module, tmp_path, monkeypatch):
    """Two runs are one if they differ in nothing but times; a file cut short is found."""
    monkeypatch.setattr(plots, "draw_curves", lambda *args: False)
    case = module.Case("full", "refimpl", "--dropout 0.5")
    runs = [tmp_path / name for name in "abc"]
    for out, more in zip(runs, ([], [], ["--seed", "1"]), strict=True):
        assert main(case.argv(out, *more)) == 0
        module.check_whole(out)
    a, b, c = map(module.result_of, runs)
    assert a == b != c
    for name in ("checkpoint.npz", "model.npz", "metrics.json", "history.csv"):
        whole = (runs[0] / name).read_bytes()
        (runs[0] / name).write_bytes(whole[:-2])
        with pytest.raises(module.Wrong, match=f"{name} is not whole"):
            module.check_whole(runs[0])
        (runs[0] / name).write_bytes((runs[2] / name).read_bytes())
        assert module.result_of(runs[0]) != a
        (runs[0] / name).write_bytes(whole)


def test_conversions(tmp_path):
    """`python tests/fuzz conversions`, for a moment."""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    argv = [sys.executable, str(ROOT / "tests" / "fuzz"), "conversions", "--times", "4"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert sum(map(int, re.findall(r"(\d+) (?:whole|other|absent)", done.stdout))) == 4
    assert not list(tmp_path.iterdir())
