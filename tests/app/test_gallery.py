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
from refimpl.lab.apps.papers import LETTERS, TITLES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KNOWN = tomllib.loads((DOCS / "results.toml").read_text(encoding="utf-8"))
RESULTS = DOCS / "results"
WORDS = {"fig": "Figure", "tab": "Table"}
HEADLINES = r"^### (.+): (\d+) of (\d+)\n\n```\{paper-verdict\} (.*)$"


def page(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def stored(id):
    return json.loads((RESULTS / f"{id}.json").read_text(encoding="utf-8"))


def test_every_numbered_figure_and_table_is_shown_or_a_drawing():
    figures = experiment.known().values()
    shown = {name: figure for figure in figures for name in (figure.id, *figure.also)}
    rows = iter(re.findall(r"^\| (\S+ (?:Figure|Table) \d+) \| (.*) \|$", page("figures"), re.M))
    numbered = [
        (f"{LETTERS[paper]}-{kind}{number}", f"{TITLES[paper]} {WORDS[kind]} {number}")
        for paper, counts in KNOWN["papers"].items()
        for kind, count in counts.items()
        for number in range(1, count + 1)
    ]
    for (id, title), (said, cells) in zip(numbered, rows, strict=True):
        assert said == title
        if id in shown:
            words = shown[id].title.replace("_", "\\_")
            link = f"[{words}](#figure-{shown[id].id.lower()})"
            assert cells == f"{link} | `python -m bench figure {id}`"
        else:
            assert re.fullmatch(r"a drawing: [\w' ]+ \| ", cells), id
    assert {name for name in shown if "-thm" not in name} <= {id for id, _ in numbered}


def test_every_figure_has_words():
    assert [one["id"] for one in KNOWN["figure"]] == list(experiment.ABOUT)
    for one in KNOWN["figure"]:
        sentences = re.findall(r"[.?!](?= [A-Z0-9]|$)", one["sees"])
        assert 1 <= len(sentences) <= 5, one["id"]


def test_every_headline_is_under_its_verdict_and_every_verdict_is_of_one_figure():
    judged = [one for id in experiment.ABOUT for one in stored(id)["verdicts"]]
    outcomes = {one["claim"]: one["outcome"] for one in judged}
    assert len(outcomes) == len(judged)
    found = re.findall(HEADLINES, page("held"), re.M)
    headlines = [claim for *_, claims in found for claim in claims.split()]
    assert len(headlines) == len(set(headlines))
    assert {one["claim"] for one in judged if "abstract" in one["where"]} <= set(headlines)
    for outcome, count, total, claims in found:
        named = claims.split()
        assert {outcomes[claim] for claim in named} == {outcome.lower()}
        assert (int(count), int(total)) == (len(named), len(headlines))


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
