"""The table of test scores: options that all rows share, and rows that fail."""

import csv
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
        if "fresh" in command:
            found = {**found, "test_f1": score**2, "loads": {"embedding_saving": score}}
        Path(folder, "metrics.json").write_text(json.dumps(found))
        Path(folder, "history.csv").write_text(f"epoch,val_f1\n1,0\n2,{score}\n3,\n4,{score}\n")
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


def test_rows_are_compared_seed_by_seed(trained, capsys, tmp_path):
    """Scores are 0.5, 0.6, 0.7, and their squares: differences 0.25, 0.24, 0.21."""
    rows = ("--row", "--method gas", "--row", "--method fresh", "--paired", "--processes", "3")
    words = (*rows, "--seeds", "3", "--runs", str(tmp_path / "runs.csv"))
    status, found, err = rows_and_error(capsys, *words)
    assert (status, err) == (0, "")
    assert [one.split(" | ", 3)[-1] for one in found] == [
        "2.0 | +0.00 ± 0.00 | +0.00 ± 0.00 | - |",
        "2.0 | -23.33 ± 1.20 | +0.00 ± 0.00 | 60.0% |",
    ]
    with (tmp_path / "runs.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(one["options"], one["seed"]) for one in lines] == [
        (f"--method {name}", str(seed)) for name in ("gas", "fresh") for seed in range(3)
    ]
    assert [float(one["test_f1"]) for one in lines[3:]] == pytest.approx([0.25, 0.36, 0.49])
    assert {one["late_val_f1"] for one in lines} == {"0.5", "0.6", "0.7"}


def test_without_a_first_row_there_is_no_difference(trained, capsys):
    rows = ("--row", "--method ladies", "--row", "--method fresh", "--paired")
    status, found, _ = rows_and_error(capsys, *rows)
    assert status == 2
    assert found[1] == "| `--method fresh` | 0.305 | 0.250 to 0.360 | 2.0 | - | - | 55.0% |"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--processes", "0"), "--processes must be at least 1, got 0"),
        (("--runs", "nowhere/runs.csv"), "there is no folder"),
    ],
)
def test_bad_options(trained, capsys, words, message):
    status, found, err = rows_and_error(capsys, *words)
    assert status == 2 and not found and message in err and not trained
