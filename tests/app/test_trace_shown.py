"""Which steps a page shows unless every line is asked for, and with which it begins."""

import pytest

from refimpl.lab.apps.stepper.page import page_data
from refimpl.lab.apps.stepper.places import shown
from refimpl.lab.apps.stepper.recipes import recipes

pytestmark = pytest.mark.runs

RECIPES = recipes()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_no_step_that_is_shown_tells_nothing(recipe):
    """A picture changes, or a line of a paper has run; of all steps a good part is not shown."""
    recording = recipe.record()
    data = page_data(recipe, recording)
    steps, numbers = data["steps"], shown(recipe, recording)
    told = [k for k, step in enumerate(steps) if step["telling"]]
    assert [k for k in told if k >= data["begin"]] == numbers
    assert 20 < len(numbers) < len(steps)
    for k in range(data["begin"], len(steps)):
        function = recording.functions[recording.steps[k].function]
        rows = function.statement(recording.steps[k].line)
        marked = any(id for row in rows for id, _ in row.marks)
        if k in numbers:
            assert steps[k]["said"] or steps[k]["gist"] or marked
        else:
            assert not steps[k]["said"]
            calls = k + 1 < len(steps) and steps[k + 1]["depth"] > steps[k]["depth"]
            assert not (marked or steps[k]["gist"]) or steps[k]["event"] == "call" or calls


@pytest.mark.parametrize(
    ("name", "function", "lines"),
    [
        ("frontier", "frontier", {("jpdc21:2", "1")}),
        ("pin_tile", "pin_tile", {("jpdc21:3", "1")}),
        ("dashboard", "dashboard", {("ipdps19:3", "1")}),
        ("transpose", "transpose_perm", {("jpdc21:6", "1")}),
        ("partition", "partition_plan", {("jpdc21:7", "2"), ("ipdps19:6", "2")}),
        ("pool", "Pool.__init__", {("jpdc21:8", "1")}),
        ("cache", "fresh_iteration", {("vldb24:1", "5")}),
        ("pruning", "fresh_iteration", {("vldb24:1", "5")}),
        ("iteration", "message_flow_graphs", {("vldb24:1", "3")}),
        ("lookahead", "read_windows", set()),
    ],
)
def test_a_page_begins_at_the_papers_first_line_that_runs_or_where_the_recipe_says(
    name, function, lines
):
    recording = RECIPES[name].record()
    first = shown(RECIPES[name], recording)[0]
    followed = recording.functions[recording.steps[first].function]
    rows = followed.statement(recording.steps[first].line)
    assert followed.name == function
    assert {mark for row in rows for mark in row.marks} == lines
    begin = page_data(RECIPES[name], recording)["begin"]
    assert begin <= first and not any(map(recording.tells, range(begin, first)))
