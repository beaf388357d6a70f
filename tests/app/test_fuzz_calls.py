"""The fuzzer of calls: a case has a limit of processor time, and a finding can be seen again."""

import contextlib
import functools
import importlib
import json
import sys

import pytest

import fastimpl
from refimpl.lab.backend import find

pytestmark = pytest.mark.runs


@pytest.fixture
def fuzzer(monkeypatch, tmp_path):
    """Return a function: the fuzzer of some callables, which keeps findings in another file."""

    def fuzzer(*names):
        module = importlib.import_module("fuzz.calls")
        starts = importlib.import_module("fuzz.starts").starts()
        monkeypatch.setattr(module, "FOUND", tmp_path / "calls.jsonl")
        monkeypatch.setattr(module, "all_starts", lambda: {name: starts[name] for name in names})
        return module

    return fuzzer


def test_a_clean_run_counts_its_calls(fuzzer, capsys):
    calls = fuzzer("floyd")
    assert calls.main(["--seed", "7", "--cases", "30", "--no-save"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("seed 7\n") and "callables reached" in out and "1 of 1" in out


def test_a_case_over_its_limit_is_made_smaller_kept_and_seen_again(fuzzer, monkeypatch, capsys):
    calls = fuzzer("train")
    monkeypatch.setattr(calls, "PATIENCE", 1e7)
    monkeypatch.setattr("refimpl.lab.apps.worker.MOST_STARTS", 3)
    # a limit is noticed when the clock of the system ticks, which short cases may miss
    assert calls.main(["--seed", "7", "--cases", "20", "--limit", "0.000001"]) == 1
    out = capsys.readouterr().out
    assert "train: the program ended by SIGPROF" in out
    assert "python tests/fuzz calls --seed 7 --first " in out
    kept = json.loads(calls.FOUND.read_text().splitlines()[0])
    assert kept["name"] == "train" and kept["found"].startswith("the program ended by SIGPROF")


def test_what_packages_do_differently_is_a_finding(fuzzer, monkeypatch, capsys):
    """Judged here: the worker would import a `fastimpl` without the fault."""
    calls = fuzzer("floyd")
    judge = importlib.import_module("fuzz.judge")
    monkeypatch.setattr(judge, "find", with_a_fault)
    monkeypatch.setattr(calls, "supervised", lambda limit: Here(calls.all_starts(), judge.judge))
    assert calls.main(["--seed", "7", "--cases", "20"]) == 1
    assert "not the same: result" in capsys.readouterr().out


def test_a_worker_that_cannot_start_says_why(fuzzer, monkeypatch):
    calls = fuzzer("floyd")
    command = [sys.executable, "-S", "-c", "import numpy"]
    monkeypatch.setattr(calls, "this_python", lambda code: command)
    with pytest.raises(SystemExit, match="(?s)did not start: .* status 1.*named 'numpy'"):
        calls.main(["--cases", "1"])


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

    def __init__(self, starts, judge):
        super().__init__(self)
        self.starts, self.judge = starts, judge

    def ask(self, question):
        verdict, text = self.judge(question["recipe"], self.starts)
        return {"verdict": verdict, "text": text}
