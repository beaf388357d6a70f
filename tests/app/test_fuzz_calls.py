"""The fuzzer of calls: a case has a limit of processor time, and a finding can be seen again."""

import importlib
import re

import pytest

pytestmark = pytest.mark.runs


@pytest.fixture
def calls():
    return importlib.import_module("fuzz.calls")


def test_a_seed_is_clean_or_says_how_to_see_a_case_again(calls, monkeypatch, capsys):
    assert calls.main(["--seed", "7", "--cases", "9", "--no-save"]) == 0
    assert "findings" in capsys.readouterr().out
    monkeypatch.setattr(calls, "PATIENCE", 1e9)
    # a limit is noticed when the clock of the system ticks, which short cases may miss
    assert calls.main(["--seed", "7", "--cases", "60", "--no-save", "--limit", "0.000001"]) == 1
    out = capsys.readouterr().out
    assert "the process ended: over 1e-06 seconds of the processor" in out
    assert re.search(r"python tests/fuzz calls --seed 7 --first \d+ --cases 1\n", out)
