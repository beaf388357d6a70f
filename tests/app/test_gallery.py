"""docs/results.toml and docs/results: every figure, table and headline claim of the papers."""

import csv
import json
import re
import sys

import pytest
from docs_ext import DOCS

from bench.figures import catalogue
from bench.figures.command import FILES
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
    figures = catalogue.known().values()
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
    assert [one["id"] for one in KNOWN["figure"]] == list(catalogue.MODULES)
    for one in KNOWN["figure"]:
        sentences = re.findall(r"[.?!](?= [A-Z0-9]|$)", one["sees"])
        assert 1 <= len(sentences) <= 3, one["id"]


def test_every_headline_has_one_verdict_and_every_verdict_one_figure():
    judged = [one for id in catalogue.MODULES for one in stored(id)["verdicts"]]
    names = [one["claim"] for one in judged]
    assert len(names) == len(set(names))
    headlines = KNOWN["headlines"]
    assert set(headlines) <= set(names) and len(headlines) == len(set(headlines))
    assert {one["claim"] for one in judged if "abstract" in one["where"]} <= set(headlines)


@pytest.mark.parametrize("id", list(catalogue.MODULES))
def test_the_stored_results_are_of_whole_runs_of_what_there_is(id):
    figure, record = catalogue.load(id), stored(id)
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
    wanted = {f"{id}.{kind}" for id in catalogue.MODULES for kind in FILES if kind != "png"}
    assert {path.name for path in files} == wanted
    assert sum(path.stat().st_size for path in files) < 6 * 2**20
