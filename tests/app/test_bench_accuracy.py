"""The table of test scores: options that all rows share, and rows that fail."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace

import pytest

from bench import accuracy
from bench.__main__ import main

pytestmark = pytest.mark.runs


@pytest.mark.parametrize(
    ("shared", "row", "kept", "left_out"),
    [
        ("--epochs 2 --batch-size 9", "--method gas", "--epochs 2 --batch-size 9", []),
        ("--epochs 2 --batch-size 9", "--method cluster", "--epochs 2", ["--batch-size"]),
        ("--batch-size=9 --epochs 2", "--method full", "--epochs 2", ["--batch-size"]),
        ("--method gas --heads 2", "--model gat", "--method gas --heads 2", []),
        ("--method gas --batch-size 9", "--method cluster", "--method gas", ["--batch-size"]),
    ],
)
def test_what_a_method_does_not_have_is_left_out(shared, row, kept, left_out):
    assert accuracy.applying(shared.split(), row.split()) == (kept.split(), left_out)


def test_an_option_of_the_row_itself_must_apply():
    """It is the user's mistake in that row, which `train` refuses."""
    words = ["--batch-size", "9"], ["--method", "cluster", "--batch-size", "5"]
    assert accuracy.applying(*words) == (words[0], [])


@pytest.fixture
def trained(monkeypatch):
    """A stand-in for `train` that knows no method "ladies"; returns what it was called with."""
    called = []

    def run(command, **_):
        called.append(command)
        folder = command[command.index("--out") + 1]
        if "ladies" in command:
            return CompletedProcess(command, 1, "", "Traceback\nValueError: a | b\n")
        score = 0.5 + int(command[command.index("--seed") + 1]) / 10
        found = {"test_f1": score, "seconds": {"weights": 2.0, "evaluation": 5.0}}
        Path(folder, "metrics.json").write_text(json.dumps(found))
        return CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(accuracy, "subprocess", SimpleNamespace(run=run))
    return called


def rows_and_error(capsys, *words):
    status = main(["accuracy", "--seeds", "2", *words])
    out, err = capsys.readouterr()
    return status, [line for line in out.splitlines() if line.startswith("| `")], err


def test_a_row_that_fails_does_not_lose_the_others(trained, capsys, tmp_path):
    out = tmp_path / "table.md"
    rows = ("--row", "--method ladies", "--row", "--method gas", "--row", "--method cluster")
    words = "--train", "--batch-size 9", *rows, "--out", str(out)
    status, found, err = rows_and_error(capsys, *words)
    assert status == 2 and "1 of 3 rows failed" in err
    assert found == [
        "| `--method ladies` | failed: ValueError: a \\| b | - | - |",
        "| `--method gas` | 0.550 | 0.500 to 0.600 | 2.0 |",
        "| `--method cluster` without --batch-size | 0.550 | 0.500 to 0.600 | 2.0 |",
    ]
    assert all(row in out.read_text() for row in found)
    assert not any("--batch-size" in words for words in trained if "cluster" in words)


def test_where_all_rows_fail_there_is_no_table(trained, capsys, tmp_path):
    out = tmp_path / "table.md"
    words = "--row", "--method ladies", "--out", str(out)
    status, found, err = rows_and_error(capsys, *words)
    assert status == 2 and not found and "ValueError: a | b" in err and not out.exists()
