"""The tutorial's measurement: its answers are checked, and the page says what its table says."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastimpl

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
PAGE, TABLE = ROOT / "docs" / "tutorial.md", ROOT / "docs" / "tutorial_table.md"
QUIET = (0.0, 0.0, 0.0)


@pytest.fixture
def tutorial(monkeypatch):
    """The module, on a machine that says it is idle."""
    monkeypatch.setattr(os, "getloadavg", lambda: QUIET, raising=False)
    return importlib.import_module("bench.tutorial")


def run(options):
    """Run the benchmark; return its exit status."""
    return importlib.import_module("bench.command").run("tutorial", options)


def rows(text):
    """Return the cells of each step of a table."""
    lines = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def number(cell):
    return float(cell.strip("~x").replace(",", ""))


def test_quick_run_prints_every_step(tutorial, tmp_path):
    (tmp_path / "bench").symlink_to(ROOT / "bench", target_is_directory=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}  # the packages stay as installed
    command = [sys.executable, "-m", "bench", "tutorial", "--quick", "--out"]
    command.append(str(tmp_path / "out.md"))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out.md").read_text() == done.stdout
    threads = importlib.import_module("bench.machine").THREADS
    steps = [step for step in tutorial.STEPS if step.threads in threads]
    got = rows(done.stdout)
    assert [row[:3] for row in got] == [
        [str(i), step.name, str(step.threads)] for i, step in enumerate(steps, start=1)
    ]
    speeds = [number(row[3]) for row in got]
    for row, speed, before in zip(got, speeds, [None, *speeds], strict=False):
        assert number(row[4]) == pytest.approx(speed / speeds[0], rel=0.06)
        if before is None:
            assert row[5] == "-"
        else:
            assert number(row[5]) == pytest.approx(speed / before, rel=0.06)
        assert 1000 / number(row[6]) == pytest.approx(speed, rel=0.02)
        apart = row[7] != "-"
        assert apart == ("sample_many" not in row[1])
        assert not apart or 0 < number(row[7]) < number(row[6])
    above = [row[0] for row, speed in zip(got, speeds, strict=True) if speed > 1000]
    assert f"Steps above 1,000 subgraphs a second: {', '.join(above) or 'none'}." in done.stdout


def test_a_busy_machine_is_not_measured(tutorial, monkeypatch, capsys):
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0), raising=False)
    assert run([]) == 2
    assert "above 0.5" in capsys.readouterr().err
    assert run(["--quick"]) == 0
    assert "**Noisy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rounds", "6"], "--rounds must be at least 7, got 6"),
        (["--out", "no/such/folder/table.md"], "there is no folder"),
        (["--nodes", "40", "--frontier", "41"], "m must be at most the number of nodes"),
        (["--budget", "999"], "n must be at least m"),
    ],
)
def test_bad_options_end_with_status_2(tutorial, capsys, options, words):
    assert run(options) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True), err


def other_nodes(graph, *keys, **options):
    """Another sample than the one asked for."""
    return pin_tile(graph, keys[0] + 1, keys[1], **options)


def one_entry_less(graph, nodes):
    """A subgraph in which the last row has lost its last entry."""
    sub = induced_subgraph(graph, nodes)
    indptr = sub.graph.indptr.copy()
    indptr[-1] -= 1
    return sub._replace(graph=fastimpl.Graph(indptr, sub.graph.indices[:-1]))


pin_tile, induced_subgraph = fastimpl.pin_tile, fastimpl.induced_subgraph


@pytest.mark.parametrize(
    ("name", "wrong"), [("pin_tile", other_nodes), ("induced_subgraph", one_entry_less)]
)
def test_a_wrong_answer_is_not_measured(tutorial, monkeypatch, name, wrong):
    monkeypatch.setattr(fastimpl, name, wrong)
    with pytest.raises(AssertionError):
        run(["--quick"])


def test_the_page_shows_a_table_of_its_steps(tutorial):
    assert "```{include} tutorial_table.md\n```" in PAGE.read_text()
    names = [row[1] for row in rows(TABLE.read_text())]
    assert names == [step.name for step in tutorial.STEPS]
    text = TABLE.read_text()
    sizes = f"`power_law({tutorial.NODES:_}, {tutorial.MEAN_DEGREE})`"
    assert sizes in text and f"m = {tutorial.FRONTIER:,}, n = {tutorial.BUDGET:,}" in text


def test_the_page_has_no_times_of_its_own():
    text = re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.S)
    units = r"(?:ms|µs|us|ns|seconds?|subgraphs a second|times (?:as|faster|slower))"
    quoted = re.findall(rf"\d[\d,.]*x?\s+{units}\b", text)
    assert quoted == ["1000 subgraphs a second"]  # the title


def test_the_page_says_what_the_table_says():
    """Which rows the text calls faster; the table is a file, nothing is timed here."""
    table = TABLE.read_text()
    if "**Noisy" in table:
        pytest.skip("docs/tutorial_table.md was measured on a busy machine")
    speed = {i: number(row[3]) for i, row in enumerate(rows(table), start=1)}
    choosing = {i: number(row[7]) for i, row in enumerate(rows(table), start=1) if row[7] != "-"}
    whole = {i: number(row[6]) for i, row in enumerate(rows(table), start=1)}
    assert speed[2] < speed[1], "row 2 does not beat row 1"
    assert speed[3] > speed[2], "row 3 is faster than row 2"
    assert speed[6] > speed[5], "the order of the two is as it was"
    assert speed[4] > max(speed[5], speed[6]), "row 4 is not the slow one"
    assert min((4, 5, 6, 7), key=choosing.get) == 7, "row 7 chooses nodes fastest"
    assert choosing[1] > whole[1] / 2 > 0 and choosing[7] < whole[7] / 2, "what is left"
    assert np.argmax(list(speed.values())) == len(speed) - 1, "each of the last steps gains"
    assert speed[len(speed)] > 1000, "the title"
