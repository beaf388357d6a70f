"""`minibatch-gnn bench`: the report on made runs, runs side by side, and runs that were saved."""

import json

import pytest

from refimpl.lab.apps.bench import measuring, report, saved
from refimpl.lab.apps.bench.picture import labels, lines_of
from refimpl.lab.apps.bench.work import stream
from refimpl.lab.apps.bench.yardsticks import Limit
from refimpl.lab.apps.cli import main as cli

pytestmark = pytest.mark.runs


def made_run(seconds, date="2026-01-01", machine="A"):
    """Return a Run of two kernels whose medians are given, as typed in."""
    spmm, floyd, wrong = seconds
    cells = [
        measuring.Cell("refimpl", 1, "timed", "", spmm, spmm, 0.0, 7),
        measuring.Cell("mine", 1, "timed", "", spmm / 4, spmm / 4, spmm / 2, 1, True),
    ]
    rows = [
        measuring.Row("spmm", "n=1", "small", stream(1e9), cells),
        measuring.Row("floyd", "3", "small", [], [cells[0]._replace(median=floyd)]),
        measuring.Row("mix", "2", "small", [], [measuring.Cell("mine", 1, "differs", wrong)]),
    ]
    limits = [Limit("triad", "GB/s", 1, 10.0, 1024)]
    header = [f"- Processor: {machine}", f"- Date: {date}", ""]
    return saved.Run(["refimpl", "mine"], [1], header, rows, limits, ["A note."], ["Load: 0."])


def test_a_report_by_hand():
    """1 s and 0.25 s for 1 GB at 10 GB/s: 10x marks, 4x, and 0.40 of the limit."""
    lines = report.lines(made_run((1.0, 2.0, "result[0]: want 1, got 2 " + 40 * "x")))
    head, _, spmm, floyd, mix = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[:5]
    ]
    assert head[2:5] == ["refimpl ms", "mine ms", "speed-up"]
    assert spmm[2:] == ["1,000", "~250*+", "4.0x", "4.00 GB/s", "10.0 GB/s triad", "0.40"]
    assert floyd[2:] == ["2,000", "-", "-", "-", "-", "-"]
    assert mix[3] == "differs: result[0]: want 1, got 2 xxx .."
    assert any(line.endswith("got 2 " + 40 * "x") for line in lines)
    assert "A note." in lines


def test_what_the_marks_mean_can_be_read_in_80_columns():
    said = report.lines(made_run((1.0, 2.0, "x")))
    note = [line for line in said if line and not line.startswith(("|", "- "))]
    assert note[0].startswith("Medians; ~ where") and max(map(len, note)) <= 80
    assert " ".join(report.NOTE.format(first="refimpl", bound="mine").split()) in " ".join(note)


def test_runs_side_by_side(capsys, tmp_path):
    runs = {"old": (1.0, 2.0, "x"), "new": (0.5, 2.0, "x"), "newer": (0.25, 4.0, "x")}
    for name, seconds in runs.items():
        machine = "B" if name == "newer" else "A"
        saved.write(made_run(seconds, name, machine), tmp_path / f"{name}.json")
    paths = [str(tmp_path / f"{name}.json") for name in runs]
    words = ["--histogram", str(tmp_path / "runs.svg")]
    status, out = cli(["bench", "--compare", *paths, *words]), capsys.readouterr().out
    table = [line for line in out.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert status == 0 and "different machines" in out
    assert cells[0] == [
        *("kernel", "input", "who", "old ms", "new ms", "newer ms"),
        *("new / old", "newer / old"),
    ]
    assert ["spmm", "n=1", "refimpl", "1,000", "500", "250", "0.5x", "0.25x"] in cells
    assert ["floyd", "3", "refimpl", "2,000", "2,000", "4,000", "1.0x", "2.0x"] in cells
    drawn = (tmp_path / "runs.svg").read_text()
    assert "small inputs" in drawn and "old: refimpl" in drawn and "newer: mine" in drawn
    cli(["bench", "--compare", *paths[:2]])
    assert "different machines" not in capsys.readouterr().out  # of another date only


@pytest.mark.parametrize(
    ("more", "unlike"),
    [
        ("- Threads: 2", False),
        ("- Build of other: gcc 1", False),
        ("- Program cmd:other: 1", False),
        ("- BLAS: A; of other: B", False),
        ("- BLAS: B", True),
        ("- BLAS: A; of mine: B", True),
        ("- Build of mine: gcc 1", True),
        ("- Versions: Python 9", True),
    ],
)
def test_runs_are_compared_by_what_both_have(more, unlike):
    runs = [made_run((1.0, 2.0, "x")) for _ in "ab"]
    runs[0].header.append("- BLAS: A")
    runs[1].header.append(more)
    if "BLAS" not in more:
        runs[1].header.append("- BLAS: A")
    order = [run._replace(header=sorted(run.header)) for run in runs]
    told = any("different machines" in line for line in report.compared(order, ["a", "b"]))
    assert told == unlike


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "{", "is no JSON"),
        (lambda text: "[]", "is no saved run"),
        (lambda text: text.replace("bench/1", "bench/9"), "is no saved run"),
        (lambda text: text.replace('"median": 1.0', '"median": "fast"'), "is damaged"),
        (lambda text: text.replace('"cells"', '"sells"'), "is damaged"),
        (lambda text: json.dumps({**json.loads(text), "more": 1}), "is damaged"),
        (lambda text: text.replace('"median": 1.0', '"median": 0.0'), "is damaged"),
        (lambda text: text.replace('"said": ""', '"said": 5'), "is damaged"),
        (lambda text: text.replace('"kernel": "spmm"', '"kernel": ["spmm"]'), "is damaged"),
        (lambda text: json.dumps({**json.loads(text), "impls": 3}), "is damaged"),
        (lambda text: json.dumps({**json.loads(text), "header": None}), "is damaged"),
        (lambda text: json.dumps({**json.loads(text), "threads": None}), "is damaged"),
    ],
)
def test_a_saved_run_that_is_none_is_refused_by_name(tmp_path, damage, message):
    path = tmp_path / "run.json"
    saved.write(made_run((1.0, 2.0, "x")), path)
    assert saved.read(path) == made_run((1.0, 2.0, "x"))
    path.write_text(damage(path.read_text()))
    with pytest.raises(saved.UserError, match=f"run.json.* {message}"):
        saved.read(path)


def test_rows_of_a_picture_are_named_by_what_tells_inputs_apart():
    keys = [("spmm", "n=1 f=2"), ("spmm", "n=1 f=3"), ("mix", "5 draws")]
    assert list(labels(keys).values()) == ["spmm f=2", "spmm f=3", "mix"]
    lines = lines_of([made_run((1.0, 2.0, "x"))], ["run"])
    assert [line.name for line in lines] == ["streams", "floyd", "propagation", "spmm"]
    assert list(lines[3].cells) == ["refimpl", "mine"]
