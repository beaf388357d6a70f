"""The steppers of transpose, partition and pool: what their recordings tell."""

import json
from functools import cache

import numpy as np
import pytest

import refimpl
from refimpl.lab.apps.stepper.course import six_nodes, tail_dataset
from refimpl.lab.apps.stepper.recipes import pool, recipes
from refimpl.streams import SAMPLE

pytestmark = pytest.mark.runs

RECIPES = recipes()
MOST_STEPS, MOST_BYTES = 500, 500_000
NOT_RUN = {  # function -> reasons why a recipe does not come to some of its statements, one each
    "Dashboard.add_to_frontier": ("overflow is “truncate”",),
    "Pool.__next__": ("no thread samples ahead",),
    "RowCache._room": ("each window reads rows",),
    "RowCache.plan": ("the slots are enough",),
    "SlotDashboard.add_to_frontier": ("overflow is “truncate”",),
    "dashboard": ("a node has a neighbour always",),
    "fresh_iteration": ("roots are looked up",),
    "frontier": ("a node has a neighbour always",),
    "move_weights": ("weights do not decay",),
    "partition_plan": ("no part is wider than a cache line",),
    "pin_tile": ("a node has a neighbour always",),
    "sample_one": ("nothing is clipped",),
    "train": ("nobody asked to be called",),
}
BEFORE = {  # functions that began before what the recipe shows, and ended after it
    "message_flow_graphs": "the generator is between two batches",
    "FreshIterations.open_iteration": "a function in it that is not followed loads the features",
}


@cache
def recorded(name):
    """Return the Recording of a recipe, made once."""
    return RECIPES[name].record()


def states(name, panel):
    """Yield (step, state of a panel) at each step that has one."""
    recording = recorded(name)
    for step in recording.steps:
        if panel in step.panels:
            yield step, recording.states[panel][step.panels[panel]]


def last(name, panel):
    """Return the state of a panel in the end."""
    return list(states(name, panel))[-1][1]


def values(cells):
    """Return what stands in the cells of a row."""
    return [value for value, _, _ in cells]


def rows(state):
    """Return the rows of an array's state by name."""
    return dict(state)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recording_is_small_and_fills_every_panel(name):
    recipe, recording = RECIPES[name], recorded(name)
    assert 50 < len(recording.steps) <= MOST_STEPS
    steps = [step._asdict() for step in recording.steps]
    assert len(json.dumps([steps, recording.states], allow_nan=False)) < MOST_BYTES
    assert set(recording.states) == {panel.id for panel in recipe.panels}
    assert all(len(found) > 1 for found in recording.states.values())


@pytest.mark.parametrize("name", [name for name, one in RECIPES.items() if one.seed is not None])
def test_another_seed_is_another_run(name):
    recipe = RECIPES[name]
    assert recipe.record(recipe.seed + 1).states != recipe.record().states


def test_every_statement_is_run():
    """But those that raise, and those of `NOT_RUN`; a line of the papers always is.

    In functions of `BEFORE` the lines of the papers are run.
    """
    missing: dict[str, set] = {}
    for name in RECIPES:
        recording = recorded(name)
        run = {(step.function, step.line) for step in recording.steps}
        for number, function in enumerate(recording.functions):
            first = {begin for begin, _ in function.statements.values()}
            for line in function.lines:
                raises = line.text.strip().startswith("raise ")
                if line.number not in first or raises or (number, line.number) in run:
                    continue
                assert not line.marks, f"line {line.marks} of the paper: {line.text}"
                if function.name not in BEFORE:
                    missing.setdefault(function.name, set()).add(line.number)
    assert {name: len(rows) for name, rows in missing.items()} == {
        name: len(reasons) for name, reasons in NOT_RUN.items()
    }


def test_the_permutation_on_the_page_is_the_kernels():
    graph = six_nodes()
    perm = refimpl.transpose_perm(graph)
    entries = rows(last("transpose", "entries"))
    assert values(entries["perm"]) == perm.tolist()
    assert np.array_equal(recorded("transpose").result[0], perm)
    row, column = values(entries["row v"]), values(entries["column u"])
    data = values(entries["A[v, u]"])
    for k, j in enumerate(perm):
        assert (row[k], column[k]) == (column[j], row[j])
        assert values(entries["A^T[v, u]"])[k] == data[j] == 10 + j


def test_the_cache_that_looks_ahead_evicts_what_the_page_says():
    """The third window evicts row 2, and the fourth row 5: the fifth reads both again."""
    row_in, reads = recorded("lookahead").result
    assert [one.rows.tolist() for one in reads] == [[0, 1, 2, 3], [4, 5], [6, 7], [8], [2, 5]]
    assert values(rows(last("lookahead", "slots"))["row in slot"]) == row_in.tolist()
    assert last("lookahead", "counters") == {"rows asked for": 16, "rows read": 11}
    uses = [rows(state).get("next use", []) for _, state in states("lookahead", "slots")]
    assert [6, 4, "unknown (2)", 7, 2, 2, "free"] in [values(cells) for cells in uses]


def test_rows_of_the_transpose_fill_from_left_to_right():
    graph = six_nodes()
    placed = []
    for _, state in states("transpose", "entries"):
        filled = [value is not None for value in values(rows(state)["perm"])]
        for v in range(graph.n):
            row = filled[graph.indptr[v] : graph.indptr[v + 1]]
            assert row == sorted(row, reverse=True)
        placed.append(sum(filled))
    assert placed == sorted(placed) and (placed[0], placed[-1]) == (0, graph.e)
    row_0 = [k for k, j in enumerate(recorded("transpose").result[0]) if j < graph.indptr[1]]
    assert len(row_0) == 3  # one in each neighbour's row
    assert np.unique(np.searchsorted(graph.indptr, row_0, side="right")).size == 3


def test_a_step_of_the_transpose_shows_the_line_that_ran():
    """Entry 2, (0, 3), goes where row 3 begins, and both nodes are shown."""
    perms = ((step, values(rows(state)["perm"])) for step, state in states("transpose", "entries"))
    step, perm = next((step, perm) for step, perm in perms if 2 in perm)
    function = recorded("transpose").functions[step.function]
    assert [line.marks for line in function.statement(step.line)] == [(("jpdc21:6", "7"),)]
    assert perm.index(2) == 7
    graph = recorded("transpose").states["graph"][step.panels["graph"]]
    assert graph["roles"] == {"0": "row", "3": "column"} and graph["edges"] == [["0", "3"]]


def test_the_product_on_the_page_is_the_kernels():
    """The mean of the neighbours' rows of X, worked out with a dense matrix."""
    A = six_nodes().to_scipy().toarray()
    Y = A / A.sum(1, keepdims=True) @ np.arange(36.0).reshape(6, 6)
    final = rows(last("partition", "columns"))
    assert [values(final[f"Y[{v}]"]) for v in range(6)] == [[f"{y:.4g}" for y in row] for row in Y]
    assert np.allclose(recorded("partition").result[-1], Y)
    read = [state["entries read"] for _, state in states("partition", "counters")]
    assert read == sorted(read) and (read[0], read[-1]) == (0, 12 * 6)
    assert set(np.diff(read)) == {0, 1}


def test_the_two_plans_and_orders():
    """IPDPS'19 takes neighbours at once, JPDC'21 does not; of five parts one lane has none."""
    plans = {row[0][0]: values(row)[1:] for row in last("partition", "plans")}
    assert plans == dict.fromkeys(("paper", "columns"), [6, "1 1 1 1 1 1", 2, True])
    order = [values(row)[1:] for row in last("partition", "order")]
    assert order == [[0, 1, 2, 0, 2, 4, 0, 2, 4], [3, 4, 5, 1, 3, 5, 1, 3, -1]]
    marks = [mark for row in last("partition", "order") for *_, mark in row]
    assert [mark for mark in marks if mark] == ["idle"] and marks[-1] == "idle"


def test_only_the_part_under_way_changes():
    recording, before, met = recorded("partition"), np.full((6, 6), np.nan), []
    for step, state in states("partition", "columns"):
        table = rows(state)
        if "Y[0]" not in table:
            continue
        Y = np.array([values(table[f"Y[{v}]"]) for v in range(6)], float)
        changed = np.argwhere(~np.isnan(before) & (before != Y))
        if len(changed):
            order = recording.states["order"][step.panels["order"]]
            ((part, *_),) = [c for row in order for c in row if c[2] == "now"]
            (v,) = set(changed[:, 0].tolist())
            assert {values(table["part, columns"])[c] for c in changed[:, 1]} == {part}
            roles = recording.states["graph"][step.panels["graph"]]["roles"]
            assert roles[str(v)] == "row"
            met += [part] if part not in met else []
        before = Y
    assert met == [0, 2, 4, 1, 3, 5]


def test_the_size_of_the_pool_changes_no_weight():
    method = refimpl.methods.SampledGraph(sampler=refimpl.Sampler("pin_tile", m=2, n=4), pool=5)
    config = refimpl.TrainConfig(method=method, layers=1, hidden=2, epochs=4, rng=7)
    result = refimpl.train(tail_dataset(), config)
    shown = recorded("pool").result
    assert shown.iterations == result.iterations == 9
    for name, W in result.weights.items():
        assert np.array_equal(shown.weights[name], W)


def test_the_pool_is_refilled_twice_when_it_is_empty():
    sizes = [state["in the pool"] for _, state in states("pool", "counters")]
    filled = [(a, b) for a, b in zip(sizes, sizes[1:], strict=False) if b > a]
    assert filled == [(0, pool.SIZE)] * 3
    assert last("pool", "counters") == {"sampled": 9, "used": 9, "in the pool": 0}


def test_a_subgraph_waits_trains_once_and_is_used():
    lives: dict[int, list] = {}
    for _, state in states("pool", "numbers"):
        marks = values(rows(state)["subgraph"])
        assert marks.count("trains") <= 1
        for q, mark in enumerate(marks):
            life = lives.setdefault(q, [])
            if not life or life[-1] != mark:
                life.append(mark)
    assert len(lives) == 9
    assert set(map(tuple, lives.values())) == {("new", "waits", "trains", "used")}


def test_the_subgraphs_on_the_page_are_the_samplers():
    dataset, sampler = tail_dataset(), refimpl.Sampler("pin_tile", m=2, n=4)
    subgraphs = refimpl.sample_many(dataset.train_graph, sampler, 7, 0, 9, domain=SAMPLE)
    shown = {}
    for _, table in states("pool", "waiting"):
        shown |= {row[0][0]: (row[1][0], row[2][0]) for row in table if row[0][0] is not None}
    for q, sub in enumerate(subgraphs):
        assert shown[q] == (" ".join(map(str, sub.nodes)), sub.graph.e // 2)
    trained = []
    for _, state in states("pool", "graph"):
        if "trains" in state["roles"].values():
            nodes = sorted(map(int, state["roles"]))
            trained += [nodes] if not trained or trained[-1] != nodes else []
    assert trained == [sub.nodes.tolist() for sub in subgraphs]


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_the_pool_runs_from_other_seeds(seed):
    recording = pool.POOL.record(seed)
    used = recording.states["counters"][recording.steps[-1].panels["counters"]]["used"]
    assert used == recording.result.iterations
