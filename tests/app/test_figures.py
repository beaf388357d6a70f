"""`bench figure`: what it runs, keeps, writes and refuses; how it measures, draws, judges."""

import csv
import json
import re
import shutil
import sys
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refimpl
from bench.__main__ import main
from bench.figures import experiment, plotting, runs
from bench.figures.experiment import (
    FAILS,
    HOLDS,
    UNTESTED,
    WEAKER,
    Experiment,
    Lab,
    Verdict,
    graded,
)
from bench.figures.experiments.cache_misses import misses, stack_distances
from bench.figures.interleaved_timing import rows_of_rounds, seconds_in_turns
from bench.figures.result_rows import curve_of, ratios, spread_of, values_of
from bench.figures.row_counts import Rules, shares_saved
from refimpl.lab.apps.errors import UserError
from refimpl.lab.data.communities import communities
from refimpl.lab.data.loading import load_dataset


class Toy:
    """A figure of runs that count themselves."""

    def __init__(self, **changed):
        self.done = []
        form = {
            "id": "V-fig99",
            "title": "a toy",
            "full": {"runs": 3},
            "quick": {"runs": 2},
            "cells": lambda lab: [{"run": i} for i in range(lab.sizes["runs"])],
            "measure": self.measure,
            "table": lambda lab, rows: (["run", "y"], [[row["run"], row["y"]] for row in rows]),
            "verdicts": self.verdicts,
            "claims": {"toy": {"where": "V section 0", "says": "two sides"}},
            "plot": lambda lab, rows: [
                plotting.Lines("", "x", "y", {"y": plotting.Curve(*curve_of(rows, "run", "y"))})
            ],
        }
        self.figure = Experiment(**{**form, **changed})

    def measure(self, _lab, cell):
        self.done.append(cell["run"])
        return [{"y": 10 * cell["run"] + side} for side in (1, 3)]

    def verdicts(self, _lab, rows):
        return [Verdict("toy", f"{len(rows)} rows", UNTESTED, "a toy")]


@pytest.fixture
def shown(monkeypatch, tmp_path, capsys):
    """Run the command on toys; return its status, what it printed and said."""

    def run(toy, *words):
        monkeypatch.setattr(experiment, "known", lambda: {toy.figure.id: toy.figure})
        status = main(["figure", "V-fig99", "--out", str(tmp_path / "out"), "--overwrite", *words])
        return SimpleNamespace(status=status, folder=tmp_path / "out", **vars_of(capsys))

    return run


def vars_of(capsys):
    out, err = capsys.readouterr()
    return {"out": out, "err": err}


def test_files_hold_all_rows_settings_and_verdicts(shown):
    toy = Toy()
    found = shown(toy)
    assert found.status == 0 and toy.done == [0, 1, 2]
    with (found.folder / "V-fig99.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{"run": str(i), "y": str(10 * i + s)} for i in range(3) for s in (1, 3)]
    record = json.loads((found.folder / "V-fig99.json").read_text())
    assert record["table"][0] == ["0", "1"] and record["titles"] == ["run", "y"]
    assert record["settings"] == {
        "impl": "fastimpl",
        "data": None,
        "seeds": None,
        "sizes": {"runs": 3},
    }
    assert record["verdicts"][0]["outcome"] == UNTESTED and record["command"].endswith("V-fig99")
    assert {"processor", "threads", "blas", "versions", "build"} <= set(record["machine"])
    for words in ("two sides", "6 rows", "cannot be tested here: a toy", "V-fig99.csv"):
        assert words in found.out


def test_a_picture_is_drawn_and_said(shown):
    pytest.importorskip("matplotlib")
    found = shown(Toy())
    assert (found.folder / "V-fig99.png").read_bytes().startswith(b"\x89PNG")
    assert (found.folder / "V-fig99.svg").read_text().startswith("<?xml")


def test_without_matplotlib_it_says_so_and_writes_the_rest(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = shown(Toy())
    assert found.status == 0 and "minibatch-gnn[plot]" in found.err
    assert {"V-fig99.csv", "V-fig99.json"} <= {path.name for path in found.folder.iterdir()}
    assert not list(found.folder.glob("*.svg"))


def test_a_finished_run_is_not_done_again_unless_asked(shown):
    toy = Toy()
    first = shown(toy)
    rows = (first.folder / "V-fig99.csv").read_text()
    again = shown(toy)
    assert toy.done == [0, 1, 2] and "3 of 3 runs were there" in again.out
    assert (first.folder / "V-fig99.csv").read_text() == rows
    shown(toy, "--again")
    assert toy.done == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["--seeds", "2"], 0),  # seeds stand in cells, so they alone make no other run
        (["--threads", "3"], 3),
        (["--quick"], 2),
        (["--data", "communities"], 3),
        (["--impl", "refimpl"], 3),
    ],
)
def test_what_a_run_depends_on_makes_it_another(shown, words, again):
    toy = Toy(data="karate", seeds=3)
    first = shown(toy)
    assert len(toy.done) == 3
    found = shown(toy, *words)
    assert len(toy.done) == 3 + again
    record = json.loads((first.folder / "V-fig99.json").read_text())
    assert record["command"] == " ".join(["python -m bench figure V-fig99", *words])
    assert "of other code" not in found.out


def test_sizes_that_are_asked_for_are_run_and_recorded(shown):
    toy = Toy()
    found = shown(toy, "--quick", "--size", "runs=1")
    record = json.loads((found.folder / "V-fig99.json").read_text())
    assert toy.done == [0] and record["settings"]["sizes"] == {"runs": 1}
    assert record["command"] == "python -m bench figure V-fig99 --quick --size runs=1"


def test_a_figure_that_makes_its_graph_takes_another_where_it_says_so(tmp_path, capsys):
    """Rows saved on a data set, against those of its graph and training nodes."""
    words = ["--size", "widths=[[8, 4]]", "--size", "fanouts=[3, 2]", "--data", "karate"]
    assert main(["figure", "V-fig14", "--quick", *words, "--out", str(tmp_path)]) == 0
    with (tmp_path / "V-fig14.csv").open() as file:
        found = [float(row["saved"]) for row in csv.DictReader(file) if row["overflow"] == "drop"]
    data = load_dataset("karate")
    rules = Rules((3, 2), 5, 0.9, max(1, -(-len(data.train) // 5) // 6), 0.08, "drop")
    graphs = shares_saved(refimpl, rules, data.graph, data.train, 8, 4, iterations=6, counted=3)
    assert found == list(graphs.values())


def test_runs_of_another_data_set_of_the_same_name_are_others(shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toy = Toy(data="communities")
    for seed in (0, 1):
        folder = tmp_path / "mine"
        shutil.rmtree(folder, ignore_errors=True)
        communities(seed, nodes=100).save(folder)
        shown(toy, "--data", "mine")
    assert len(toy.done) == 6


def test_runs_of_other_code_are_kept_and_named(shown, monkeypatch):
    toy = Toy()
    shown(toy)
    monkeypatch.setattr(runs, "_code", lambda: "other")
    found = shown(toy)
    assert len(toy.done) == 3 and "3 runs are of other code" in found.out


def test_of_all_figures_one_that_refuses_the_data_leaves_the_others(monkeypatch, tmp_path, capsys):
    def refuse(_lab, _cell):
        raise UserError("no labels")

    toys = {"V-fig98": Toy(id="V-fig98", measure=refuse, data="karate"), "V-fig99": Toy()}
    monkeypatch.setattr(
        experiment, "known", lambda: {name: toy.figure for name, toy in toys.items()}
    )
    assert main(["figure", "all", "--out", str(tmp_path)]) == 2
    assert "V-fig98 is left out: no labels" in capsys.readouterr().err
    assert (tmp_path / "V-fig99.json").exists() and not (tmp_path / "V-fig98.json").exists()
    assert main(["figure", "V-fig98", "--out", str(tmp_path)]) == 2


def test_pictures_of_an_earlier_run_do_not_stay_without_matplotlib(shown, monkeypatch):
    pytest.importorskip("matplotlib")
    folder = shown(Toy()).folder
    assert (folder / "V-fig99.svg").exists()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown(Toy())
    assert not list(folder.glob("*.svg")) and not list(folder.glob("*.png"))


def test_an_interrupted_figure_goes_on_where_it_was(shown):
    toy, stop = Toy(), True

    def measure(lab, cell):
        if stop and cell["run"] == 2:
            raise KeyboardInterrupt
        return Toy.measure(toy, lab, cell)

    toy.figure = Toy(measure=measure).figure
    first = shown(toy)
    assert first.status == 130 and not (first.folder / "V-fig99.csv").exists()
    stop = False
    assert shown(toy).status == 0 and toy.done == [0, 1, 2]


def test_a_torn_record_is_measured_again(shown):
    toy = Toy()
    folder = shown(toy).folder
    torn, *_ = sorted((folder / ".runs" / "V-fig99").iterdir())
    torn.write_text(torn.read_text()[:40])
    shown(toy)
    assert len(toy.done) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["V-fig77"], "there is no figure 'V-fig77'; did you mean"),
        (["V-fig14", "all"], "there is no figure 'all'"),
        (["V-fig18", "--data", "karate"], "--data does not apply to V-fig18"),
        (["V-fig14", "--seeds", "2"], "--seeds does not apply to V-fig14"),
        (["V-fig3", "--seeds", "0"], "--seeds must be in [1, 1000], got 0"),
        (["V-fig14", "--threads", "0"], "--threads must be in [1, 1024], got 0"),
        (["V-fig14", "--impl", "nobody"], "--impl nobody cannot be imported"),
        (["I-tab1", "--data", "no-such-folder", "--quick"], "no-such-folder"),
        (["V-fig14", "--size", "nodes"], "argument --size: must be NAME=VALUE"),
        (["V-fig14", "--size", "knots=3"], "--size: V-fig14 has no size 'knots'; it has nodes, "),
        (["V-fig14", "--size", "nodes=2.5"], "--size nodes must be of the kind of 100000, got"),
        (["V-fig14", "--size", "widths=[8]"], "--size widths must be of the kind of [[768, 256]"),
        (["V-fig14", "--size", "share=-1"], "--size share must be of the kind of 0.08, got"),
        (["V-fig14", "--quick", "--size", "counted=9"], "--size counted must be at least 1"),
        (["V-fig13", "--size", 'controls=["all"]'], "--size controls must be of random, anti, got"),
        (["V-fig3", "--seeds", "1_000"], "argument --seeds: "),
        (["V-fig3", "--threads", " 3"], "argument --threads: "),
        (["I-tab1", "--out", ""], "argument --out: must name a file or folder, got ''"),
        ([], "the following arguments are required: ID"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, capsys, words, message):
    assert main(["figure", "--out", str(tmp_path), *words]) == 2
    err = capsys.readouterr().err
    assert message in err and err.startswith("python -m bench figure: error: ")
    assert list(tmp_path.iterdir()) == []


def test_the_list_names_every_figure_and_what_else_it_shows(capsys):
    assert main(["figure", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(experiment.ABOUT)
    names = [name for figure in experiment.known().values() for name in (figure.id, *figure.also)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[IJV]-(fig|tab|thm)\d+", name) for name in names)
    assert experiment.find(["j-tab2"])[0].id == "I-tab1"
    assert [figure.id for figure in experiment.find(["J-tab2", "I-tab1"])] == ["I-tab1"]


@pytest.mark.runs
@pytest.mark.parametrize("id", list(experiment.ABOUT))
def test_every_figure_runs_quickly_with_both_packages(id, tmp_path, capsys):
    """Each claim once, each verdict in words; what is not timed is the same from both packages."""
    pytest.importorskip("matplotlib")
    figure, tables = experiment.load(id), []
    for impl in ("fastimpl", "refimpl"):
        out = tmp_path / impl
        words = ["figure", id, "--quick", "--threads", "1", "--impl", impl, "--out", str(out)]
        assert main(words) == 0
        record = json.loads((out / f"{id}.json").read_text())
        claims = [one["claim"] for one in record["verdicts"]]
        assert claims and len(claims) == len(set(claims))
        for one in record["verdicts"]:
            assert one["outcome"] in (HOLDS, WEAKER, FAILS, UNTESTED)
            assert one["says"] and one["ours"] and re.match(r"[IJV] ", one["where"])
            assert one["because"] or one["outcome"] != UNTESTED
        assert all(len(line) == len(record["titles"]) for line in record["table"])
        assert (out / f"{id}.svg").stat().st_size > 1000
        tables.append((record["table"], [one["outcome"] for one in record["verdicts"]]))
    capsys.readouterr()
    if not figure.timed:
        assert tables[0] == tables[1]


# How it is measured


def test_tasks_take_turns_and_each_round_begins_with_another():
    order = []
    tasks = {name: lambda number, name=name: order.append((name, number)) for name in "ab"}
    found = seconds_in_turns(tasks, 2)
    assert "".join(name for name, _ in order) == "abbaab"
    assert [number for _, number in order] == [0, 0, 1, 1, 2, 2]
    assert {name: len(each) for name, each in found.items()} == {"a": 2, "b": 2}
    assert rows_of_rounds({("a", 1): [5], ("b", 2): [6]}, "who", "at", key="y") == [
        {"who": "a", "at": 1, "round": 0, "y": 5},
        {"who": "b", "at": 2, "round": 0, "y": 6},
    ]


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 12))
def test_misses_are_those_of_a_cache(lines, room):
    """Against a dictionary in the order of last use."""
    cache, missed = OrderedDict(), []
    for line in lines:
        missed.append(line not in cache)
        cache[line] = None
        cache.move_to_end(line)
        if len(cache) > room:
            cache.popitem(last=False)
    distances = stack_distances(np.array(lines, np.int64))
    assert (distances >= room).tolist() == missed
    half = np.arange(len(lines)) % 2 == 0
    assert misses(distances, half, room) == sum(missed[::2])


def test_grades():
    assert [graded(x, 2.0) for x in (1.8, 1.79, 1.06, 1.05, 0.5)] == [
        HOLDS,
        WEAKER,
        WEAKER,
        FAILS,
        FAILS,
    ]
    assert graded(0.5, 0.59, nothing=0.4) == WEAKER and graded(0.4, 0.59, nothing=0.4) == FAILS


def test_spreads_and_curves_are_of_the_rows_asked_for():
    rows = [{"x": x, "y": x + s, "who": w} for x in (2, 1) for s in (0, 4) for w in "ab"]
    rows.append({"x": 1, "y": 99, "who": "c"})
    assert spread_of(rows, "y", x=1, who="a") == (3, 1, 5)
    assert curve_of(rows, "x", "y", who="b") == ([1, 2], [3, 4], [1, 2], [5, 6])
    assert spread_of(rows, "y", who="c").text(".1f", unit=" s") == "99.0 s"
    assert spread_of(rows, "y", x=2, who="a").text(".0f") == "4 (2 to 6)"
    assert values_of(rows, "x", "who") == [(2, "a"), (2, "b"), (1, "a"), (1, "b"), (1, "c")]
    made = ([{"y": y} for y in each] for each in ((1, 4, 9), (1, 2, 3)))
    assert ratios(*made, "y") == (2, 1, 3)


@given(st.floats(0.1, 10), st.integers(1, 9))
def test_the_mean_of_equal_numbers_is_that_number(x, count):
    """The sum of three is rounded: without care their mean is outside their range."""
    assert spread_of([{"y": x}] * count, "y") == (x, x, x)


def test_counts_of_threads_end_with_the_most():
    counts = {most: Lab(None, {}, threads=most).thread_counts() for most in (1, 2, 3, 8, 12)}
    assert counts == {1: [1], 2: [1, 2], 3: [1, 2, 3], 8: [1, 2, 4, 8], 12: [1, 2, 4, 8, 12]}
    assert Lab(None, {}, threads=12).thread_counts(also=(10, 40)) == [1, 2, 4, 8, 10, 12]


def test_only_the_last_few_things_are_kept():
    lab, made = Lab(None, {}), []
    for key in "abcdea":
        lab.once(key, lambda key=key: made.append(key))
    assert made == list("abcdea")
    lab.once("e", lambda: made.append("again"))
    assert made == list("abcdea")


def test_pictures_are_the_same_for_the_same_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    curves = {
        "ours": plotting.Curve([1, 2, 4], [1.0, 2.0, 3.0], [0.9, 1.8, 2.7], [1.1, 2.1, 3.2]),
        "theirs": plotting.Curve([1, 4], [1, 4], printed=True),
    }
    lines = plotting.Lines("t", "x", "y", curves, {"xscale": "log"}, [1, 2, 4])
    bars = plotting.Bars(
        "b",
        "y",
        ["one", "two"],
        {"s": [1, None], "t": [2, 3]},
        {"s": [(0.5, 1.5), None]},
        {"t": [None, 4]},
    )
    stacked = bars._replace(stacked=True, ranges={}, series={"s": [1, 2], "t": [2, 3]})
    for name in ("a.svg", "b.svg", "a.png"):
        plotting.draw(tmp_path / name, [lines, bars, stacked], "note")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    text = (tmp_path / "a.svg").read_text()
    assert [text.count(f">{name}</text>") for name in ("ours", "as the paper prints")] == [1, 2]
