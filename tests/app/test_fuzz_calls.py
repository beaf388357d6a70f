"""The fuzzer of calls: a case has a limit of processor time, and a finding can be seen again."""

import contextlib
import functools
import importlib
import json
import re
import sys

import pytest

import fastimpl
from refimpl.lab.backend import find

pytestmark = pytest.mark.runs

calls = importlib.import_module("fuzz.calls")
driver = importlib.import_module("fuzz.driver")
judge = importlib.import_module("fuzz.judge")


@pytest.fixture
def fuzz(monkeypatch, tmp_path):
    """Return a function: the fuzzer of a callable, which keeps findings in another file."""
    monkeypatch.setattr(calls, "FOUND", tmp_path / "calls.jsonl")
    return lambda name, *words: driver.main(calls, ["--seed", "7", "--only", name, *words])


def test_a_clean_run_counts_its_calls(fuzz, capsys):
    assert fuzz("floyd", "--cases", "30", "--no-save") == 0
    out = capsys.readouterr().out
    assert out.startswith("seed 7\n") and "callables reached" in out and "1 of 1" in out


def test_an_unknown_callable_is_refused(fuzz, capsys):
    with pytest.raises(SystemExit, match="2"):
        fuzz("nothing")
    assert "no such callables: nothing" in capsys.readouterr().err


def test_a_case_over_its_limit_is_made_smaller_kept_and_seen_again(fuzz, monkeypatch, capsys):
    monkeypatch.setattr(driver, "PATIENCE", 1e7)
    monkeypatch.setattr("refimpl.lab.apps.worker.MOST_STARTS", 3)
    # a limit is noticed when the clock of the system ticks, which short cases may miss
    assert fuzz("train", "--cases", "20", "--limit", "0.000001") == 1
    out = capsys.readouterr().out
    assert "train: the program ended by SIGPROF" in out
    assert "python tests/fuzz calls --seed 7 --only train --first " in out
    kept = json.loads(calls.FOUND.read_text().splitlines()[0])
    assert kept["name"] == "train" and kept["found"].startswith("the program ended by SIGPROF")


def test_what_packages_do_differently_is_a_finding(fuzz, monkeypatch, capsys):
    """Judged here: the worker would import a `fastimpl` without the fault."""
    monkeypatch.setattr(judge, "find", with_a_fault)
    monkeypatch.setattr(driver, "supervised", lambda fuzzer, limit: Here())
    assert fuzz("floyd", "--cases", "20") == 1
    out = capsys.readouterr().out
    assert "not the same: result" in out
    again = re.search(r"python tests/fuzz calls (.*)", out)[1].split()
    assert driver.main(calls, again) == 1  # what is printed finds it again
    assert "not the same: result" in capsys.readouterr().out


def test_a_worker_that_cannot_start_says_why(fuzz, monkeypatch):
    command = [sys.executable, "-S", "-c", "import numpy"]
    monkeypatch.setattr(driver, "this_python", lambda code: command)
    with pytest.raises(SystemExit, match="(?s)did not start: .* status 1.*named 'numpy'"):
        fuzz("floyd", "--cases", "1")


def with_a_fault(gnn, name):
    """Return the callable of a package; that of `fastimpl` returns one more."""
    right = find(gnn, name)
    if gnn is not fastimpl:
        return right

    @functools.wraps(right)
    def off(*args, **options):
        return right(*args, **options) + 1

    return off


class Here(contextlib.nullcontext):
    """What judges in this process."""

    def __init__(self):
        super().__init__(self)

    def ask(self, question):
        verdict, text = calls.judged(question["case"])
        return {"verdict": verdict, "text": text}
