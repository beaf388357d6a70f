"""docs/results.toml and docs/results: every figure, table and headline claim of the papers."""

import ast
import csv
import json
import re
import sys

import pytest
from docs_ext import DOCS

import fastimpl
from bench.figures import experiment
from bench.figures.command import FILES
from bench.figures.experiment import Lab
from refimpl.lab.apps.papers import LETTERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KNOWN = tomllib.loads((DOCS / "results.toml").read_text(encoding="utf-8"))
RESULTS = DOCS / "results"


def stored(id):
    return json.loads((RESULTS / f"{id}.json").read_text(encoding="utf-8"))


def test_every_numbered_figure_and_table_is_shown_or_a_drawing():
    figures = experiment.known().values()
    shown = {name for figure in figures for name in (figure.id, *figure.also)}
    listed = [item["id"] for item in KNOWN["item"]]
    assert listed == [
        f"{LETTERS[paper]}-{kind}{number}"
        for paper, counts in KNOWN["papers"].items()
        for kind, count in counts.items()
        for number in range(1, count + 1)
    ]
    for item in KNOWN["item"]:
        assert ("illustration" in item) != (item["id"] in shown), item["id"]
    theorems = {name for name in shown if "-thm" in name}
    assert shown - theorems <= set(listed)


def test_every_figure_has_words():
    assert [one["id"] for one in KNOWN["figure"]] == list(experiment.ABOUT)
    for one in KNOWN["figure"]:
        sentences = re.findall(r"[.?!](?= [A-Z0-9]|$)", one["sees"])
        assert 1 <= len(sentences) <= 5, one["id"]


def test_every_headline_has_one_verdict_and_every_verdict_one_figure():
    judged = [one for id in experiment.ABOUT for one in stored(id)["verdicts"]]
    names = [one["claim"] for one in judged]
    assert len(names) == len(set(names))
    headlines = KNOWN["headlines"]
    assert set(headlines) <= set(names) and len(headlines) == len(set(headlines))
    assert {one["claim"] for one in judged if "abstract" in one["where"]} <= set(headlines)


def stored_rows(id):
    """Return the rows of a stored result, their values as they were."""

    def value(text):
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            return text

    with (RESULTS / f"{id}.csv").open(encoding="utf-8") as file:
        return [
            {name: value(text) for name, text in row.items() if text}
            for row in csv.DictReader(file)
        ]


@pytest.mark.runs
@pytest.mark.parametrize("id", list(experiment.ABOUT))
def test_the_stored_table_and_verdicts_are_those_of_the_stored_rows(id):
    """What the code makes of these rows now is what is shown, and each claim has its verdict."""
    figure, record = experiment.load(id), stored(id)
    threads = record["machine"]["threads"]
    lab = Lab(fastimpl, figure.full, figure.data, figure.seeds, threads)
    rows = stored_rows(id)
    titles, lines = figure.table(lab, rows)
    assert list(titles) == record["titles"]
    assert [[str(word) for word in line] for line in lines] == record["table"]
    assert figure.judged(lab, rows) == record["verdicts"]
    assert {one["claim"] for one in record["verdicts"]} == set(figure.claims)
    assert figure.plot(lab, rows)


@pytest.mark.parametrize("id", list(experiment.ABOUT))
def test_the_stored_results_are_of_whole_runs_of_what_there_is(id):
    figure, record = experiment.load(id), stored(id)
    assert record["command"] == f"python -m bench figure {id}"
    whole = {"sizes": figure.full, "impl": "fastimpl", "data": figure.data, "seeds": figure.seeds}
    assert record["settings"] == whole
    assert record["title"] == figure.title and record["also"] == list(figure.also)
    assert not record["noisy"]
    with (RESULTS / f"{id}.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file))
    assert (RESULTS / f"{id}.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_folder_holds_nothing_else_and_is_small():
    files = [path for path in RESULTS.iterdir() if path.suffix in (".csv", ".json", ".svg")]
    wanted = {f"{id}.{kind}" for id in experiment.ABOUT for kind in FILES if kind != "png"}
    assert {path.name for path in files} == wanted
    assert sum(path.stat().st_size for path in files) < 6 * 2**20
