"""The steppers of transpose, partition, pool, cache and pruning: what their recordings tell."""

import json
from functools import cache

import numpy as np
import pytest

import refimpl
from refimpl.lab.apps.stepper.recipes import history, pool, pruning, structure
from refimpl.lab.data.karate import karate_dataset
from refimpl.streams import SAMPLE

pytestmark = pytest.mark.runs

RECIPES = {r.name: r for module in (structure, pool, history, pruning) for r in module.RECIPES}
MOST_STEPS, MOST_BYTES = 400, 500_000
NOT_RUN = {  # statements of the functions followed, and why a recipe does not come there
    "width -= width % values": "no part is wider than a cache line",
    "after_epoch(trainer.state)": "nobody asked to be called",
    "self._under_way = worker.start(self.draw, self.next_q, self.size)": "no thread samples ahead",
    'nodes = parts["clip_nodes"](nodes, sampler.clip, keys[0], sample.counters.draws)': (
        "nothing is clipped"
    ),
    "word, line = _check.shown(word), _check.shown(line)": "sizes that are refused",
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


def statement(name, step):
    """Return the first line of the statement of a step."""
    function = recorded(name).functions[step.function]
    return next(line.text.strip() for line in function.lines if line.number == step.line)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recording_is_small_and_fills_every_panel(name):
    recipe, recording = RECIPES[name], recorded(name)
    assert 50 < len(recording.steps) <= MOST_STEPS
    steps = [step._asdict() for step in recording.steps]
    assert len(json.dumps([steps, recording.states], allow_nan=False)) < MOST_BYTES
    assert set(recording.states) == {panel.id for panel in recipe.panels}
    assert all(len(found) > 1 for found in recording.states.values())


def test_every_statement_is_run():
    """But those that raise, and those of `NOT_RUN`; a line of the papers always is."""
    missing = set()
    for name in RECIPES:
        recording = recorded(name)
        run = {(step.function, step.line) for step in recording.steps}
        for number, function in enumerate(recording.functions):
            first = {begin for begin, _ in function.statements.values()}
            for line in function.lines:
                text = line.text.strip()
                if line.number not in first or text.startswith("raise "):
                    continue
                if (number, line.number) not in run:
                    assert not line.marks, f"line {line.marks} of the paper: {line.text}"
                    missing.add(text)
    assert missing == set(NOT_RUN)


def test_the_permutation_on_the_page_is_the_kernels():
    graph = refimpl.as_graph(structure.ENTRIES, symmetrize=True)
    perm = refimpl.transpose_perm(graph)
    entries = rows(last("transpose", "entries"))
    assert values(entries["perm"]) == perm.tolist()
    assert np.array_equal(recorded("transpose").result[0], perm)
    row, column = values(entries["row v"]), values(entries["column u"])
    data = values(entries["A[v, u]"])
    for k, j in enumerate(perm):
        assert (row[k], column[k]) == (column[j], row[j])
        assert values(entries["A^T[v, u]"])[k] == data[j] == f"1/{graph.degrees()[row[j]]}"


def test_rows_of_the_transpose_fill_from_left_to_right():
    graph = refimpl.as_graph(structure.ENTRIES, symmetrize=True)
    placed = []
    for _, state in states("transpose", "entries"):
        filled = [value is not None for value in values(rows(state)["perm"])]
        for v in range(graph.n):
            row = filled[graph.indptr[v] : graph.indptr[v + 1]]
            assert row == sorted(row, reverse=True)
        placed.append(sum(filled))
    assert placed == sorted(placed) and (placed[0], placed[-1]) == (0, graph.e)
    hub = [k for k, j in enumerate(recorded("transpose").result[0]) if graph.indptr[2] <= j < 7]
    assert np.diff(graph.indptr)[2] == len(hub) == 5  # one in each neighbour's row
    assert np.unique(np.searchsorted(graph.indptr, hub, side="right")).size == 5


def test_a_step_of_the_transpose_shows_the_line_that_ran():
    """Entry 4, (2, 3), goes where row 3 begins, and both nodes are shown."""
    perms = ((step, values(rows(state)["perm"])) for step, state in states("transpose", "entries"))
    step, perm = next((step, perm) for step, perm in perms if 4 in perm)
    assert statement("transpose", step) == "perm[ptr[u]] = j"
    assert perm.index(4) == 7
    graph = recorded("transpose").states["graph"][step.panels["graph"]]
    assert graph["roles"] == {"2": "row", "3": "column"} and graph["edges"] == [["2", "3"]]


def test_the_product_on_the_page_is_the_kernels():
    graph = refimpl.as_graph(structure.FRIENDS, symmetrize=True)
    X = 10.0 * np.arange(1, 5)[:, None] + np.arange(9)
    Y = refimpl.spmm(graph, np.ones(graph.e), X)
    final = rows(last("partition", "columns"))
    assert [values(final[f"Y[{v}]"]) for v in range(4)] == Y.tolist()
    assert np.array_equal(recorded("partition").result[-1], Y)
    added = [state["products added"] for _, state in states("partition", "counters")]
    assert added == sorted(added) and (added[0], added[-1]) == (0, graph.e * 9)


def test_the_two_plans_and_orders():
    """The paper's widest part does not fit; IPDPS'19 takes neighbours at once, JPDC'21 does not."""
    plans = {row[0][0]: values(row)[1:] for row in last("partition", "plans")}
    assert plans == {"paper": [4, "3 2 2 2", 2, False], "columns": [5, "2 2 2 2 1", 3, True]}
    lines = values(rows(last("partition", "columns"))["cache line"])
    parts = values(rows(last("partition", "columns"))["part, columns"])
    assert lines == parts  # each part is a line
    order = [values(row)[1:] for row in last("partition", "order")]
    assert order == [[0, 1, 0, 3], [2, 3, 1, 4], [4, -1, 2, -1]]
    assert [mark for *_, mark in last("partition", "order")[2]] == ["", "", "idle", "", "idle"]


def test_only_the_part_under_way_changes():
    recording, before, met = recorded("partition"), np.full((4, 9), np.nan), []
    for step, state in states("partition", "columns"):
        table = rows(state)
        Y = np.array([values(table[f"Y[{v}]"]) for v in range(4)], float)
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
    assert met == [0, 3, 1, 4, 2]


def test_the_size_of_the_pool_changes_no_weight():
    method = refimpl.methods.SampledGraph(sampler=refimpl.Sampler("frontier", m=2, n=6), pool=5)
    config = refimpl.TrainConfig(method=method, layers=1, hidden=4, epochs=2, lr=0.1, rng=0)
    result = refimpl.train(karate_dataset(dtype="float64"), config)
    shown = recorded("pool").result
    assert shown.iterations == result.iterations == 8
    for name, W in result.weights.items():
        assert np.array_equal(shown.weights[name], W)


def test_the_pool_is_refilled_twice_when_it_is_empty():
    sizes = [state["in the pool"] for _, state in states("pool", "counters")]
    filled = [(a, b) for a, b in zip(sizes, sizes[1:], strict=False) if b > a]
    assert filled == [(0, pool.SIZE)] * 3
    assert last("pool", "counters") == {"sampled": 9, "used": 8, "in the pool": 0}


def test_a_subgraph_waits_trains_once_and_is_used():
    lives: dict[int, list] = {}
    for _, state in states("pool", "numbers"):
        marks = values(rows(state)["subgraph"])
        assert marks.count("trains") <= 1
        for q, mark in enumerate(marks):
            life = lives.setdefault(q, [])
            if not life or life[-1] != mark:
                life.append(mark)
    assert lives.pop(8) == ["new", "waits", "dropped"]
    assert set(map(tuple, lives.values())) == {("new", "waits", "trains", "used")}


def test_the_subgraphs_on_the_page_are_the_samplers():
    dataset, sampler = karate_dataset(), refimpl.Sampler("frontier", m=2, n=6)
    subgraphs = refimpl.sample_many(dataset.train_graph, sampler, 0, 0, 9, domain=SAMPLE)
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
    assert trained == [sub.nodes.tolist() for sub in subgraphs[:8]]


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_the_pool_runs_from_other_seeds(seed):
    recording = pool.POOL.record(seed)
    used = recording.states["counters"][recording.steps[-1].panels["counters"]]["used"]
    assert used == recording.result.iterations


def test_the_cache_on_the_page_is_the_caches():
    untraced, embeddings = history.fresh_iterations(0)
    slots, nodes = rows(last("cache", "slots")), rows(last("cache", "map"))
    entries = untraced.entries
    assert values(slots["back"]) == entries.back.tolist()
    assert values(slots["stamp"]) == entries.stamp.tolist()
    kept = [None if s < 0 else s for s in entries.slot_of[0].tolist()]
    assert values(nodes["slot_of"]) == kept
    floats = values(rows(last("cache", "buffer"))["floats"])
    assert floats == [f"{x:.1f}" for x in untraced.arena[:8]] + [None]
    for (shown, counts), (H, untraced_counts) in zip(
        recorded("cache").result[1], embeddings, strict=True
    ):
        assert np.array_equal(shown, H) and counts == untraced_counts


def lookups():
    """Return (iteration, node) -> (slot, whose, age, served), as the lookups ended."""
    found = {}
    recording = recorded("cache")
    for step, table in states("cache", "lookup"):
        i = recording.states["counters"][step.panels["counters"]]["iteration"]
        found |= {(i, row[0][0]): tuple(values(row[1:])) for row in table if row[0][0] is not None}
    return found


def test_every_lookup_and_why():
    """An entry is served if the slot says so and it is young; all ways to be refused occur."""
    assert lookups() == {
        **{(0, v): (None, None, None, False) for v in (0, 1, 2, 5)},
        (1, 1): (1, 1, 1, True),
        (1, 3): (None, None, None, False),
        (1, 4): (None, None, None, False),
        (2, 0): (0, 4, 1, False),  # node 4 was written over it
        (2, 2): (2, 2, 2, True),
        (2, 6): (None, None, None, False),
        (3, 1): (None, None, None, False),  # evicted
        (3, 2): (2, 2, 3, False),  # too old
        (3, 3): (3, 3, 2, True),
        (3, 4): (0, 0, 1, False),  # node 0 was written over it in turn
    }


def test_the_ring_wraps_and_a_cycle_begins():
    heads, lost, held = [], [], []
    for _, state in states("cache", "counters"):
        for found, name in ((heads, "header"), (lost, "lost"), (held, "features held")):
            if not found or found[-1] != state[name]:
                found.append(state[name])
    assert heads == [0, 3, 1, 0, 1, 3]  # 3 + 2 go round to 1; then a cycle begins
    assert lost == [0, 1, 2]
    assert held == [4, 1, 0]


def test_an_overwritten_node_keeps_its_place_in_the_map():
    """Writing node 4 to slot 0 touches what the map says of node 4 only."""
    recording = recorded("cache")
    seen = []
    for step, state in states("cache", "map"):
        node_0 = rows(state)["slot_of"][0]
        slot_0 = rows(recording.states["slots"][step.panels["slots"]])["back"][0]
        seen.append((node_0[0], node_0[2], slot_0[0], statement("cache", step)))
    first = next(k for k, (_, mark, *_) in enumerate(seen) if mark == "lost")
    assert seen[first - 1][:3] == (0, "", 0)
    assert seen[first] == (0, "lost", 4, "entries.back[s] = (layer - 1) * n + node")


def test_the_policy_admits_keeps_and_evicts():
    outcome = {}
    recording = recorded("cache")
    for step, table in states("cache", "policy"):
        i = recording.states["counters"][step.panels["counters"]]["iteration"]
        outcome |= {
            (i, row[0][0]): tuple(values(row[1:])) for row in table if row[0][0] is not None
        }
    assert outcome[1, 1] == ("cached", 9, False, None)  # evicted
    assert outcome[1, 4] == ("computed", 2, True, 0)  # admitted
    assert outcome[2, 2] == ("cached", 1, True, 2)  # kept where it was
    assert outcome[2, 6] == ("computed", 8, False, None)  # not admitted
    assert outcome[3, 2] == ("computed", 2, True, 1)  # anew, in another slot
    assert last("cache", "counters")["evicted"] == 1


def test_what_is_pruned_on_the_page_is_what_the_kernel_prunes():
    mfg = pruning.message_flow_graph()
    hit = [np.isin(ids, nodes) for ids, nodes in zip(mfg.nodes[1:], pruning.HITS, strict=True)]
    result = refimpl.prune_mfg(mfg, hit)
    roles = last("pruning", "graph")["roles"]
    for layer, live in enumerate(result.live):
        for v, needed in enumerate(live.tolist()):
            role = "needed" if needed else "dead"
            if needed and layer:
                role = "computed" if result.comp[layer - 1][v] else "cached"
            assert roles[pruning.name(layer, v)] == role
    for shown in recorded("pruning").result:
        for got, want in zip(shown.live, result.live, strict=True):
            assert np.array_equal(got, want)
    work = list(last("pruning", "counters").values())
    csr = refimpl.prune_mfg(mfg, hit, layout="csr")
    assert work == [result.ops, result.touched_bytes, csr.ops, csr.touched_bytes]
    assert work[0] < work[2] and work[1] < work[3]


def test_whole_subtrees_die_and_shared_nodes_stay():
    roles = last("pruning", "graph")["roles"]
    dead = {name for name, role in roles.items() if role == "dead"}
    assert dead == {pruning.name(1, v) for v in (2, 3, 5)} | {
        pruning.name(0, v) for v in (3, 4, 5, 6)
    }
    assert 5 in pruning.HITS[0] and roles[pruning.name(1, 5)] == "dead"  # its hit is ignored
    assert roles[pruning.name(1, 4)] == "cached"  # a source of a cached and of a computed node


def test_entries_move_in_csr_only():
    recording, moved = recorded("pruning"), {"csr2": set(), "csr": set()}
    before = None
    for step, state in states("pruning", "entries"):
        bounds = rows(recording.states["bounds"][step.panels["bounds"]])
        layout = "csr" if "indptr" in bounds else "csr2"
        sources = values(rows(state)["source"])
        if before is not None and before[0] == layout and len(before[1]) == len(sources):
            moved[layout].add(tuple(sources) != tuple(before[1]))
        before = layout, sources
    assert moved == {"csr2": {False}, "csr": {False, True}}


def test_a_row_is_emptied_by_its_end():
    """In each layer the bounds end up as those of the pruned blocks, in CSR2 and in CSR."""
    final = {}
    for _, state in states("pruning", "bounds"):
        bounds = {row: values(cells) for row, cells in state}
        final["indptr" in bounds, len(bounds.get("computed", ()))] = bounds
    csr2, csr = recorded("pruning").result
    for block, packed in zip(csr2.mfg.blocks, csr.mfg.blocks, strict=True):
        shown = final[False, block.n_dst]
        assert shown["start"] == block.start.tolist() and shown["end"] == block.end.tolist()
        emptied = np.array(shown["start"]) == shown["end"]
        assert np.array_equal(emptied, ~np.array(shown["computed"]))
        assert final[True, block.n_dst]["indptr"] == [*packed.start.tolist(), packed.end[-1]]
