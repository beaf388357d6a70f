"""Reports of `pytest bench`, and the numbers that the documentation takes from a stored one."""

import csv
import json
import re
from statistics import median

import pytest
from docs_ext import DOCS, stored_results

from bench import readme, report
from bench.figures import training
from bench.figures.result_rows import pick, values_of

TYPED = re.compile(r"(?<![\w`.])\d[\d.,]*(?:e-?\d+)? ?(?:ms|ns|seconds|x)(?!\w)")
README = DOCS.parent / "README.md"


def one(group, impl, seconds, **told):
    """Return what pytest-benchmark saves of a test."""
    kernel, size = group.split()
    stats = {"median": seconds, "min": seconds / 2, "max": 2 * seconds, "rounds": 7}
    return {
        "fullname": f"bench/test_rows.py::test_rows[{kernel}]",
        "group": group,
        "params": {"impl": impl},
        "extra_info": {"kernel": kernel, "input": "</script> & n=3", "size": size, **told},
        "stats": {**stats, "data": [seconds] * 7},
    }


@pytest.fixture
def run():
    limit = {"limit": "10 GB/s triad", "limit_seconds": 0.0005}
    benchmarks = [
        one("gather_rows medium", "refimpl", 0.004, **limit),
        one("gather_rows medium", "fastimpl", 0.002, **limit),
        one("gather_rows medium", "bench.peers.torch_kernels", 0.001, **limit),
        one("dropout tiny", "refimpl", 0.003),
    ]
    told = {"blas": ["openblas 1"], "threads": 1, "numpy": "2", "scipy": "1", "version": "0"}
    machine = {"processor": "Some CPU", "cpu": {"count": 2}, "system": "Linux", "machine": "x86"}
    return {
        "machine_info": {
            **machine,
            "python_version": "3.11",
            "minibatch_gnn": {**told, "builds": {"fastimpl": {"openmp": 1, "level": ""}}},
        },
        "commit_info": {"id": "0123456789abcdef", "dirty": True},
        "datetime": "2026-11-25T12:00:00",
        "load": {"before": 0.1, "share_of_others": 0.02},
        "benchmarks": benchmarks,
    }


def test_rows_have_speed_ups_and_the_share_of_the_limit(run):
    gather, dropout = report.rows_of(run)
    assert gather.topic == "rows" and list(gather.times) == report.names_of([gather])
    assert gather.speed_up("fastimpl", "refimpl") == 2 and gather.share() == 0.5
    assert dropout.speed_up("fastimpl", "refimpl") is None and dropout.share() is None
    ((row, other, slower),) = report.losses([gather, dropout])
    assert (row, other, slower) == (gather, "bench.peers.torch_kernels", 2)


def test_a_page_has_the_machine_the_bars_the_losses_and_the_whole_run(run):
    text = report.page(run)
    for words in ("Some CPU, 2 cores", "openblas 1", "commit 0123456789a-dirty", "2.0x fastimpl"):
        assert words in text
    assert "torch is 2.00 times as fast" in text and "Other programs" not in text
    widths = [float(x) for x in re.findall(r'width="([\d.]+)" height="11"', text)]
    assert widths[:3] == [160, 80, 40]
    assert "</script> &" not in text  # of an input's name: it would end the page's own data
    data = re.search(r'<script type="application/json" id="run">(.*?)</script>', text, re.S)[1]
    assert json.loads(data) == run
    run["load"]["share_of_others"] = 0.5
    assert "do not quote these times" in report.page(run)


def test_a_saved_run_becomes_a_page_and_another_file_is_refused(run, tmp_path, capsys):
    saved, out = tmp_path / "run.json", tmp_path / "page.html"
    saved.write_text(json.dumps(run))
    words = ["--out", str(out), "--json", str(tmp_path / "small.json")]
    assert report.main([str(saved), *words]) == 0
    assert out.read_text() == report.page(run)
    assert report.main([str(tmp_path / "small.json"), "--out", str(out)]) == 0
    saved.write_text('{"benchmarks": [{}]}')
    assert report.main([str(saved), *words]) == 2
    assert "is no file of `pytest bench --benchmark-json`" in capsys.readouterr().err


def test_the_rows_of_the_readme_come_from_a_saved_run(run, tmp_path, capsys):
    saved = tmp_path / "run.json"
    saved.write_text(json.dumps(run))
    assert readme.main([str(saved)]) == 2
    assert "the run has no 'pin_tile medium' of refimpl" in capsys.readouterr().err
    for at, (group, _, other) in enumerate(readme.ROWS):
        for name, seconds in ((other, 0.01 if at < 4 else 0.001), ("fastimpl", 0.002)):
            run["benchmarks"].append(one(group.format("medium"), name, seconds))
    told = run["machine_info"]["minibatch_gnn"]
    told["builds"]["fastimpl"]["blas"] = "openblas 1 (the package mkl is not installed)"
    told["peers"] = {readme.PYG: {"torch": "2.13.0", "BLAS": "mkl"}}
    saved.write_text(json.dumps(run))
    assert readme.main([str(saved)]) == 0
    lines = capsys.readouterr().out.splitlines()
    machine = " ".join(lines[: lines.index("")])
    assert "Some CPU" in machine and "loaded: openblas 1;" in machine and "BLAS mkl" in machine
    assert "`fastimpl` uses openblas 1 (the package mkl is not installed)." in machine
    assert lines[-1] == (
        'Code written by hand in PyTorch ("torch by hand") is faster than `fastimpl` '
        "for GraphSAGE, forward and backward."
    )
    assert [line.split("|")[-2].strip() for line in lines if "| 2.00 |" in line] == [
        *["5.0x"] * 4,
        "0.5x",
    ]


def test_a_number_is_found_by_its_group_and_another_is_refused():
    text = stored_results.measured("pin_tile medium / fastimpl")
    assert float(text) < float(stored_results.measured("pin_tile medium / refimpl"))
    assert stored_results.measured("pin_tile medium / speed-up").endswith("x")
    for path in ("pin_tile huge / fastimpl", "pin_tile medium / numba", "pin_tile medium"):
        with pytest.raises(ValueError, match="kernels.json has no"):
            stored_results.measured(path)


def seconds_to(score):
    """Return {method: [seconds until the validation F1, or None, of each seed]} of I-fig2."""
    with (DOCS / "results" / "I-fig2.csv").open(encoding="utf-8") as file:
        rows = [
            row | {k: float(row[k]) for k in ("seconds", "val_f1")} for row in csv.DictReader(file)
        ]
    seeds = [pick(rows, seed=seed) for seed in values_of(rows, "seed")]
    return {
        name: [training.seconds_to(some, name, score) for some in seeds]
        for name in values_of(rows, "name")
    }


def test_time_to_a_score_is_that_of_the_first_epoch_that_reaches_it():
    found = seconds_to(0.96)
    assert found["FastGCN"] == [None] * 5
    assert found["frontier"][0] == pytest.approx(0.22620757999902708)


def test_the_page_has_the_time_to_each_score():
    page = (DOCS / "measurements.md").read_text(encoding="utf-8")
    for name, seeds in seconds_to(0.965).items():
        reached = [seconds for seconds in seeds if seconds is not None]
        numbers = [median(reached), min(reached), max(reached)] if reached else []
        cells = [f"{x:.2f}" for x in numbers] or ["-"] * 3
        assert f"| {' | '.join([name, *cells, f'{len(reached)} of 5'])} |\n" in page
    date = stored_results.result_of("I-fig2")["date"]
    assert f" {date}.\n" in page


def test_the_readme_has_the_rows_that_its_command_prints():
    lines = [line for line in README.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    start = next(at for at, line in enumerate(lines) if "`fastimpl` ms" in line)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    assert tuple(cells[0]) == readme.TITLES
    rows = [(row[0], row[2]) for row in cells[2 : 2 + len(readme.ROWS)]]
    assert rows == [(name, readme.NAMES[other]) for _, name, other in readme.ROWS]


@pytest.mark.parametrize("page", sorted(DOCS.glob("learn/*.md")), ids=lambda page: page.stem)
def test_no_learn_page_types_a_time_or_a_speed_up(page):
    assert not TYPED.findall(page.read_text(encoding="utf-8"))
