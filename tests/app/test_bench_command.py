"""The benchmarks' one command line: its list, its options, its header, what it refuses."""

import importlib
import os
import re
from pathlib import Path

import pytest

from bench.markdown import significant

pytestmark = pytest.mark.runs

README = Path(__file__).parents[2] / "bench" / "README.md"


@pytest.fixture
def main(monkeypatch):
    """The command line, on a machine that says it is idle."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    return importlib.import_module("bench.__main__").main


def names():
    return importlib.import_module("bench.command").BENCHMARKS


def test_without_a_name_all_are_listed_with_a_line_each(main, capsys):
    assert main([]) == 0
    listed = re.findall(r"^  (\w+) +(\S.*\.)$", capsys.readouterr().out, re.M)
    assert [name for name, _ in listed] == [*names(), "figure"]


def test_each_can_be_imported():
    for path in names().values():
        importlib.import_module(path)


def test_the_readme_has_the_same_list(main):
    listed = re.findall(r"^\| `(\w+)` \|", README.read_text(), re.M)
    assert listed == [*names(), "figure"]


def test_each_has_a_help_with_quick_and_out(main, capsys):
    for name in names():
        with pytest.raises(SystemExit) as stop:
            main([name, "--help"])
        text = capsys.readouterr().out
        assert stop.value.code == 0 and f"python -m bench {name}" in text
        assert "--quick" in text and "--out" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["storag"], "no benchmark 'storag'; did you mean storage?"),
        (["quick", "polisies"], "no benchmark 'polisies'"),
        (["storage", "--rounds", "6"], "--rounds must be at least 7, got 6"),
        (["accuracy", "--seeds", "0"], "--seeds must be at least 1, got 0"),
        (["peers", "--threads", "1,0"], "--threads must be numbers from 1, got [1, 0]"),
        (["peers", "--threads", "one"], "invalid list of int value: 'one'"),
        (["growth", "--out", "no-such-folder/a.md"], "for --out"),
        (["peers", "-k", "nothing"], "nothing has 'nothing' in its name"),
        (["peers", "--quick", "--python", "no-such-python"], "cannot import torch"),
        (["accuracy", "--quick", "--train", "--data none-such"], "none-such"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_printed(main, capsys, words, message):
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "") and message in err


def test_a_report_begins_with_its_command_and_what_it_ran_on(main, capsys, tmp_path):
    out = tmp_path / "report.md"
    words = ["--scale", "6"]
    assert main(["growth", "--quick", *words, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert out.read_text() == printed
    assert printed.splitlines()[0] == f"`python -m bench growth --quick {' '.join(words)}`"
    for topic in ("Processor", "BLAS", "Threads: the", "Versions", "Build"):
        assert f"- {topic}" in printed
    assert "- Peer:" not in printed and "Graph(n=64," in printed  # what is given wins over --quick
    assert "Load before: 0.00 a core" in printed


def test_the_header_names_the_peer_and_its_backend(main):
    header = importlib.import_module("bench.machine").header([1], "torch 2, BLAS mkl")
    assert "- Peer: torch 2, BLAS mkl" in header


def test_contestants_take_turns_and_each_round_begins_with_another(main):
    timing, order = importlib.import_module("bench.timing"), []
    tasks = {name: lambda number, name=name: order.append(name) or number for name in "ab"}
    found = timing.in_turns(tasks, 2, warm_up=1)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("x", "text"), [(1234.5, "1,234"), (0.056789, "0.0568"), (2.3456, "2.35"), (0.0, "0")]
)
def test_numbers_have_three_digits_and_no_exponent(x, text):
    assert significant(x) == text
