"""Recording a run line by line, the page made of it, and `minibatch-gnn trace`."""

import base64
import hashlib
import html
import json
import re
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from comparison import parts

from refimpl.lab.apps.stepper import recipes
from refimpl.lab.apps.stepper.changes import changes
from refimpl.lab.apps.stepper.page import page, page_data
from refimpl.lab.apps.stepper.recipe import (
    KINDS,
    Panel,
    array_state,
    cell,
    graph_picture,
    graph_state,
    table_state,
)
from refimpl.lab.apps.stepper.recorder import record
from refimpl.lab.training.state import TrainResult

pytestmark = pytest.mark.runs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RECIPES = recipes.recipes()
NAMES = [
    "cache",
    "dashboard",
    "frontier",
    "iteration",
    "lookahead",
    "partition",
    "pin_tile",
    "pool",
    "pruning",
    "transpose",
]
ALGORITHMS = {
    f"{a['paper']}:{a['number']}": a
    for a in tomllib.loads((Path(__file__).parents[2] / "docs/algorithms.toml").read_text())[
        "algorithm"
    ]
}


# The recipes


def test_the_steppers_that_there_are():
    assert [name for name in RECIPES if name in NAMES] == NAMES
    assert list(RECIPES) == sorted(RECIPES)


def test_a_module_in_the_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "__path__", [*recipes.__path__, str(tmp_path)])
    text = "from refimpl.lab.apps.stepper.recipes.samplers import RECIPES as THERE\nRECIPES = {}\n"
    (tmp_path / "added_one.py").write_text(text.format("(THERE[0]._replace(name='added'),)"))
    assert list(recipes.recipes()) == sorted([*RECIPES, "added"])
    (tmp_path / "added_two.py").write_text(text.format("THERE"))
    with pytest.raises(ValueError, match="two recipes are called 'frontier'"):
        recipes.recipes()


@pytest.mark.parametrize("name", ["dashboard", "frontier", "partition", "pin_tile", "transpose"])
def test_a_kernel_is_followed_wherever_the_papers_table_sends_one(name):
    for id in RECIPES[name].algorithms:
        assert set(ALGORITHMS[id]["functions"]) <= set(RECIPES[name].functions)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_bare_marks_are_those_of_the_papers_table(recipe):
    assert set(recipe.algorithms) <= set(ALGORITHMS)
    assert bool(recipe.algorithms) == (recipe.name != "lookahead")  # not in the papers
    listed: dict[str, list] = {}
    for id, algorithm in ALGORITHMS.items():
        for place in algorithm.get("functions", ()):
            listed.setdefault(place, []).append(id)
    for place, id in recipe.functions.items():
        owner, _, method = place.rpartition(".")
        allowed = listed.get(place) or listed.get(owner if method else place) or []
        assert id in allowed or (id is None and len(allowed) != 1), place


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_a_recipe_can_be_drawn(recipe):
    """Panels and states have the forms that the page draws."""
    recording = recipe.record()
    ids = [panel.id for panel in recipe.panels]
    assert len(set(ids)) == len(ids) and set(recording.states) == set(ids)
    for panel in recipe.panels:
        assert panel.kind in KINDS and panel.title and panel.help.endswith(".")
        for state in recording.states[panel.id]:
            check_state(panel, state)


def check_state(panel, state):
    if panel.kind == "counters":
        assert all(isinstance(value, int | float) for value in state.values())
    elif panel.kind == "graph":
        nodes, roles = panel.fixed["positions"], panel.fixed["roles"]
        assert 1 <= len(roles) <= 8
        assert len({letter for letter, _ in roles.values()}) == len(roles), "for the colour-blind"
        assert set(state["roles"]) | set(state["notes"]) <= set(nodes)
        assert set(state["roles"].values()) <= set(roles)
        known = {tuple(edge) for edge in panel.fixed["edges"]}
        if not panel.fixed["directed"]:
            known |= {(v, u) for u, v in known}
        assert {tuple(edge) for edge in state["edges"]} <= known
    elif panel.kind == "array":
        assert len({name for name, _ in state}) == len(state)
        assert all(is_cell(c) for _, cells in state for c in cells)
    else:
        assert all(len(row) == len(panel.fixed["columns"]) for row in state)
        assert all(is_cell(c) for row in state for c in row)


def is_cell(c):
    value, group, mark = c
    known = value is None or isinstance(value, str | int | float)
    return known and (group is None or group >= 0) and isinstance(mark, str)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_a_trace_is_the_same_each_time(recipe):
    assert page(recipe, recipe.record()) == page(recipe, recipe.record())


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_tracing_changes_no_result(recipe):
    """To the last bit, for what a recipe's call returns."""
    traced, plain = (without_times(r) for r in (recipe.record().result, recipe.call(recipe.seed)))
    compared = 0
    for (name, a), (_, b) in zip(parts(traced), parts(plain), strict=True):
        assert type(a) is type(b), name
        if isinstance(b, np.ndarray):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name
            compared += 1
        elif "__eq__" in vars(type(b)):
            assert a == b, name
    assert compared


def without_times(result):
    """Return what of a recipe's result does not depend on the clock."""
    return list(result.weights.items()) if isinstance(result, TrainResult) else result


def test_a_negative_group_is_refused():
    with pytest.raises(ValueError, match="group"):
        cell(1, -1)


# What a step changed, in words

GRAPH = Panel(
    "graph",
    "graph",
    "Graph",
    "Help.",
    graph_picture(
        {0: (0, 0), 1: (1, 0), 2: (0, 1)},
        [(0, 1), (1, 2)],
        {"in": ("F", "frontier"), "out": ("P", "popped")},
    ),
)


def cells(*values):
    return [cell(value) for value in values]


@pytest.mark.parametrize(
    ("panel", "before", "after", "words"),
    [
        (GRAPH, None, graph_state({0: "in", 2: "in"}), "Graph: frontier 0, 2."),
        (
            GRAPH,
            graph_state({0: "in"}, notes={0: "tile 1", 2: "tile 3"}),
            graph_state({1: "out"}, notes={0: "tile 2"}, edges=[(0, 1)]),
            "Graph: plain 0; popped 1; 0 is tile 2; 2 no longer tile 3, and 1 more.",
        ),
        (
            Panel("array", "DB", "Dashboard", "Help."),
            array_state(DB=cells(None, None, 1, 1, 5)),
            array_state(DB=[*cells(2, 2, None, 1), cell(6, 0, "probe")]),
            "Dashboard: DB 0 to 1 is 2; DB 2 is empty; DB 4 is 6; probe at DB 4.",
        ),
        (
            Panel("array", "DB", "Dashboard", "Help."),
            array_state(DB=[cell(1, 0, "probe"), cell(2)]),
            array_state(DB=[cell(1, 0, "probe"), cell(3)]),
            "Dashboard: DB 1 is 3.",
        ),
        (
            Panel("array", "DB", "Dashboard", "Help."),
            array_state(DB=[cell(1, 0, "probe"), cell(2, 0, "end"), cell(3)]),
            array_state(DB=[cell(1), cell(2), cell(3, 0, "probe")]),
            "Dashboard: probe at DB 2; no end at DB 1.",
        ),
        (
            Panel("array", "DB", "Dashboard", "Help."),
            array_state(DB=cells(1, 1), old=cells(1)),
            array_state(DB=cells(1, 1, 1)),
            "Dashboard: old gone; DB has 3 cells.",
        ),
        (
            Panel("array", "a", "A", "Help."),
            array_state(a=cells(*range(9))),
            array_state(a=cells(*range(1, 10))),
            "A: a 0 is 1; a 1 is 2; a 2 is 3; a 3 is 4, and 5 more.",
        ),
        (
            Panel("table", "t", "Tiles", "Help.", {"columns": ["tile", "node", "start"]}),
            table_state([cells(0, 7, 1), cells(1, 8, 2), cells(2, 9, 3)]),
            table_state([cells(0, 7, 1), cells(1, 5, None), cells(3, 4, 4)]),
            "Tiles: 2 gone; tile 1, node 5, start empty; tile 3, node 4, start 4.",
        ),
        (
            Panel("counters", "c", "Counted", "Help."),
            {"probes": 1, "moved": 0},
            {"probes": 3, "moved": 0, "pops": 1},
            "Counted: probes 3; pops 1.",
        ),
        (GRAPH, graph_state({0: "in"}), graph_state({0: "in"}), ""),
        (
            Panel("array", "a", "A", "Help."),
            array_state(a=[cell(1, 0)]),
            array_state(a=[cell(1, 1)]),
            "A redrawn.",
        ),
    ],
)
def test_what_a_step_changed_in_words(panel, before, after, words):
    assert changes(panel, before, after) == words


def test_a_step_says_what_there_is_room_for():
    """All that fits into two lines, then fewer changes of each picture, then fewer pictures."""
    values = Panel("array", "a", "A", "Help.")
    panels = tuple(values._replace(id=name, title=name * 30) for name in "abcdefg")
    recipe = RECIPES["frontier"]._replace(panels=panels)

    def said(last):
        number = count()

        def view(stack):
            k = next(number)
            return {panel.id: array_state(r=cells(*range(k, k + 9))) for panel in last}

        recording = record(lambda: recipe.call(0), recipe.functions, view)
        return page_data(recipe, recording)["steps"][1]["said"]

    one = "r 0 is 1; r 1 is 2; r 2 is 3; r 3 is 4, and 5 more."
    assert said(panels[:1]) == f"{'a' * 30}: {one}"
    assert said(panels[:3]).count("r 0 is 1, and 8 more.") == 3
    assert said(panels).count("r 0 is 1, and 8 more.") == 2
    assert said(panels).endswith(" Other pictures change too.")


# The page


@pytest.mark.parametrize("name", RECIPES)
def test_the_gallery_leads_to_each_stepper_and_to_its_page(name):
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "steppers.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {name}\n(.*?)^## ", text, re.M | re.S)
    assert f"<{name}>`" in section and len(section) > 150
    (page,) = re.findall(r"\{doc\}`(learn/\w+)`", section)
    assert f"```{{stepper}} {name}\n" in (docs / f"{page}.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pin_tile():
    recipe = RECIPES["pin_tile"]
    recording = recipe.record()
    return recipe, recording, page(recipe, recording)


def test_the_page_holds_the_trace(pin_tile):
    recipe, recording, text = pin_tile
    (data,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', text, re.S)
    data = json.loads(data)
    assert data == json.loads(json.dumps(page_data(recipe, recording)))
    assert data["format"] == "minibatch-gnn-trace/1" and data["seed"] == "7"
    assert data["algorithms"] == ["JPDC'21 Algorithm 3", "JPDC'21 Algorithm 4"]
    for i, step in enumerate(data["steps"]):
        shown = zip(data["panels"], step["panels"], strict=True)
        states = {panel["id"]: panel["states"][k] for panel, k in shown if k >= 0}
        assert states == recording.state(i)


def test_a_step_says_the_papers_line(pin_tile):
    recipe, recording, _ = pin_tile
    data = page_data(recipe, recording)
    said = {step["where"] for step in data["steps"]}
    assert "pin_tile, JPDC'21 Algorithm 3 line 23 (erratum E-B8)" in said
    assert "back in pin_tile, JPDC'21 Algorithm 3 line 24 to 25" in said
    assert "enters Dashboard.cleanup, JPDC'21 Algorithm 4 line 19" in said
    assert "Dashboard.cleanup, JPDC'21 Algorithm 4 line 25 to 26" in said
    assert "Dashboard.__init__, JPDC'21 Algorithm 3 line 3 and 7 (erratum E-B10)" in said
    assert "enters Dashboard.free, not a line of the paper" in said
    gists = {step["where"]: step["gist"] for step in data["steps"]}
    assert gists["pin_tile, JPDC'21 Algorithm 3 line 23 (erratum E-B8)"] == (
        'E-B8: without the printed "+ 1"'
    )
    above = "E-B10: the entry behind the last column is not live; E-B13: a column names its tile"
    assert above in {step["gist"] for step in data["steps"]}
    functions = {f["name"]: f for f in data["functions"]}
    assert functions["Dashboard.__init__"]["algorithm"] == "JPDC'21 Algorithm 3"
    assert functions["Dashboard.cleanup"]["algorithm"] == "JPDC'21 Algorithm 4"
    assert functions["Dashboard.free"]["algorithm"] == ""
    papers = [line["paper"] for line in functions["Dashboard.cleanup"]["lines"]]
    assert [paper for paper in papers if paper] == ["19", "20", "21–22", "23", "25–26", "26", "28"]


def test_lines_of_a_second_paper_name_it():
    """Feature propagation is an algorithm of both papers."""
    recipe = RECIPES["partition"]
    papers = {
        line["paper"]
        for function in page_data(recipe, recipe.record())["functions"]
        for line in function["lines"]
    }
    assert any(re.fullmatch(r"\d+ I6:\d+", paper) for paper in papers), papers


def test_the_page_needs_nothing_else(pin_tile):
    *_, text = pin_tile
    assert (
        "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    )
    assert not re.search(r"<(link|script|img)[^>]*(src|href)=\"(?!data:,)", text)
    code = re.findall(r"<script>(.*?)</script>", text, re.S)
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', text)[0])
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for part in (*code, *style):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert len(code) == len(style) == 1
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert name not in code[0]
