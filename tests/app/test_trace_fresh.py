"""The steppers of FreshGNN's cache, of pruning, and of an iteration: what their recordings tell."""

import numpy as np
import pytest
from test_trace_recipes import last, recorded, states, values

import refimpl
from refimpl.lab.apps.stepper.course import six_nodes, tail_dataset
from refimpl.lab.apps.stepper.flow_pictures import name
from refimpl.lab.apps.stepper.recipes import history, iteration

pytestmark = pytest.mark.runs


def state(recipe, panel, step):
    """Return the state of a panel at a step."""
    return recorded(recipe).states[panel][step.panels[panel]]


def marks(recipe, step):
    """Return the lines of the papers that the statement of a step is, as ("vldb24:1", "5")."""
    function = recorded(recipe).functions[step.function]
    return {mark for line in function.statement(step.line) for mark in line.marks}


# The cache: the worked example of the learn pages


def worked_example():
    """Return the cache after the calls of the worked example, and what each iteration did."""
    X = np.array([[2.0, 0], [1, 0], [1, 1], [0, 1], [0, 2], [1, 2]])
    cache = refimpl.BidirectionalCache(6, 2, 2, 1, 10, t_stale=2, dtype="float64")
    cache.fill(X, refimpl.history.degree_hotness(six_nodes()))
    told = []
    for i, norms in enumerate([(0.9, 0.5, 0.2, 0.1), *[(0.9, 0.1, 0.2, 0.5)] * 4]):
        ids = np.arange(4)
        slots = cache.lookup(1, ids, i)
        cache.begin_update(i)
        rows = np.repeat(ids + i / 10, 2).reshape(4, 2)
        done = refimpl.policy_update(cache, 1, ids, np.array(norms), slots < 0, rows, i, p=0.5)
        told.append((ids[slots >= 0].tolist(), done))
    return cache, told


def test_the_cache_on_the_page_is_that_of_the_worked_example():
    cache, told = worked_example()
    slots, kept = dict(last("cache", "slots")), dict(last("cache", "map"))["slot_of"]
    entries = cache.entries
    assert values(slots["key"]) == [None if k < 0 else k for k in entries.back.tolist()]
    shown = [None if k < 0 else s for k, s in zip(entries.back, entries.stamp, strict=True)]
    assert values(slots["stamp"]) == shown
    assert values(kept) == [None if s < 0 else s for s in entries.slot_of[0].tolist()]
    got, steps = recorded("cache").result
    assert got.arena.tolist() == cache.arena.tolist()
    for step, (read, done) in zip(steps, told, strict=True):
        assert step.nodes[1][step.cached[0]].tolist() == read and step.updates[1] == done


def test_every_lookup():
    """An entry is read if the slot says so and it is young; what is refused is shown."""
    found = {}
    for step, table in states("cache", "lookup"):
        i = state("cache", "counters", step)["iteration"]
        found |= {(i, row[0][0]): values(row[1:]) for row in table if row[0][0] is not None}
    none = [None, None, None, False]
    assert found == {
        **{(i, 0): none for i in range(5)},
        **{(0, v): none for v in (1, 2, 3)},
        (1, 1): none,
        (1, 2): [0, 2, 0, True],
        (1, 3): [1, 3, 0, True],
        (2, 1): [1, 1, 1, True],
        (2, 2): [0, 2, 0, True],
        (2, 3): none,  # evicted
        (3, 1): [1, 1, 1, True],
        (3, 2): [0, 2, 0, False],  # too old
        (3, 3): none,
        (4, 1): [1, 1, 1, False],  # too old
        (4, 2): [0, 2, 3, True],
        (4, 3): none,
    }


def test_an_entry_that_is_too_old_is_marked():
    """Node 2's in iteration 3, in the map and at its slot, until that is given up for a new one."""
    marks = {}
    for step, table in states("cache", "map"):
        i = state("cache", "counters", step)["iteration"]
        node_2, slot_0 = dict(table)["slot_of"][2], dict(state("cache", "slots", step))["stamp"][0]
        marks.setdefault(i, set()).add((node_2[2], slot_0[2]))
    assert marks[2] == {("", "")} and marks[3] == {("old", "old"), ("lost", ""), ("", "")}
    assert marks[1] == {("", "")} == marks[4]


def test_the_header_goes_round_and_features_give_way():
    heads, held = [], []
    for _, counters in states("cache", "counters"):
        for found, counter in ((heads, "header"), (held, "features held")):
            if not found or found[-1] != counters[counter]:
                found.append(counters[counter])
    assert heads == [0, 2, 1, 2]
    assert held == [5, 3]
    assert last("cache", "counters")["evicted"] == 1 and last("cache", "counters")["lost"] == 0


def test_the_policy_admits_keeps_and_evicts():
    outcome = {}
    for step, table in states("cache", "policy"):
        i = state("cache", "counters", step)["iteration"]
        outcome |= {(i, row[0][0]): values(row[1:]) for row in table if row[0][0] is not None}
    assert outcome[0, 3] == ["computed", "0.1", True, 1]  # admitted
    assert outcome[1, 3] == ["read", "0.5", False, None]  # evicted
    assert outcome[1, 2] == ["read", "0.2", True, 0]  # kept where it was
    assert outcome[2, 0] == ["computed", "0.9", False, None]  # not admitted
    assert outcome[3, 2] == ["computed", "0.2", True, 0]  # anew


# Pruning


def test_node_4_is_spared_when_node_3_is_cached():
    """In the iteration; what is computed, read and loaded is what `prune_mfg` says."""
    mfg = history.root_0()
    hit = [np.isin(mfg.nodes[1], [3]), np.array([False])]
    want = refimpl.prune_mfg(mfg, hit)
    (loaded,) = {
        tuple(sorted(graph["roles"].items()))
        for step, graph in states("pruning", "graph")
        if "loaded" in graph["roles"].values()
    }
    roles = dict(loaded)
    for layer, live in enumerate(want.live):
        for row, needed in enumerate(live.tolist()):
            role = "loaded" if needed else "dead"
            if needed and layer:
                role = "computed" if want.comp[layer - 1][row] else "cached"
            assert roles[name(layer, mfg.nodes[layer][row])] == role
    assert [node for node, role in roles.items() if role == "dead"] == [name(0, 4)]
    assert recorded("pruning").result[0].nodes[0].tolist() == [0, 1, 2, 3]


def test_the_work_of_both_layouts_is_the_kernels():
    _, csr2, csr = recorded("pruning").result
    work = list(last("pruning", "counters").values())
    assert work == [csr2.ops, csr2.touched_bytes, csr.ops, csr.touched_bytes]
    assert work[0] < work[2] and work[1] < work[3]
    for got, want in zip(csr2.live, csr.live, strict=True):
        assert np.array_equal(got, want)


def layout_of(bounds):
    return "csr" if "indptr" in bounds else "csr2"


def test_entries_move_in_csr_only():
    moved, before = {"csr2": set(), "csr": set()}, None
    for step, entries in states("pruning", "entries"):
        layout = layout_of(dict(state("pruning", "bounds", step)))
        sources = values(dict(entries)["source"])
        if before is not None and before[0] == layout and len(before[1]) == len(sources):
            moved[layout].add(sources != before[1])
        before = layout, sources
    assert moved == {"csr2": {False}, "csr": {False, True}}


def test_a_row_is_emptied_by_its_end():
    """In each layer the bounds end up as those of the pruned blocks, in CSR2 and in CSR."""
    final = {}
    for _, shown in states("pruning", "bounds"):
        bounds = {row: values(cells) for row, cells in shown}
        final[layout_of(bounds), len(bounds.get("computed", ()))] = bounds
    _, csr2, csr = recorded("pruning").result
    for block, packed in zip(csr2.mfg.blocks, csr.mfg.blocks, strict=True):
        shown = final["csr2", block.n_dst]
        assert shown["start"] == block.start.tolist() and shown["end"] == block.end.tolist()
        emptied = np.array(shown["start"]) == shown["end"]
        assert np.array_equal(emptied, ~np.array(shown["computed"]))
        assert final["csr", block.n_dst]["indptr"] == [*packed.start.tolist(), packed.end[-1]]


# A whole iteration


def without_a_trace():
    """Return the FreshStep, and how many features the buffer held, of the iteration shown."""
    method = refimpl.methods.Fresh(batch_size=1, fanouts=(-1, -1), p_grad=0.5, t_stale=2, buffer=80)
    seed = iteration.ITERATION.seed
    config = refimpl.TrainConfig(method=method, layers=2, hidden=2, lr=0.1, rng=seed)
    with refimpl.make_trainer(tail_dataset(), config) as trainer:
        for _ in range(iteration.BEFORE):
            trainer.step()
        return trainer.iterations.open_iteration()


def test_the_iteration_is_the_trainers():
    step, _, held = without_a_trace()
    counters = last("iteration", "counters")
    loaded = len(step.nodes[0]) - held
    got = [counters[k] for k in ("inputs sampled", "needed", "held", "loaded")]
    assert got == [step.inputs, len(step.nodes[0]), held, loaded]
    assert counters["rows read"] == sum(int(rows.sum()) for rows in step.cached)
    assert counters["rows computed"] == sum(int((~rows).sum()) for rows in step.cached)
    roles = next(
        graph["roles"]
        for _, graph in states("iteration", "graph")
        if "loaded" in graph["roles"].values()
    )
    assert {n for n, role in roles.items() if role == "loaded"} == {
        name(0, v) for v in step.nodes[0]
    }
    read = step.nodes[1][step.cached[0]]
    assert {n for n, role in roles.items() if role == "cached"} == {name(1, v) for v in read}
    norms = {row[0][0]: row[2][0] for row in last("iteration", "policy")}
    wanted = np.linalg.norm(step.G[1], axis=1)
    assert norms == {
        v: f"{norm:.2g}" for v, norm in zip(step.nodes[1].tolist(), wanted, strict=True)
    }


def test_the_iteration_has_all_that_the_paper_has():
    """Read and computed, held and loaded, spared, admitted and evicted: each occurs."""
    step, _, held = without_a_trace()
    assert step.cached[0].any() and not step.cached[0].all()
    assert 0 < held < len(step.nodes[0]) < step.inputs
    assert step.updates[1].admitted and step.updates[1].evicted


def test_only_one_iteration_is_recorded():
    recording = recorded("iteration")
    begun = [
        step.event
        for step in recording.steps
        if recording.functions[step.function].name == "fresh_iteration"
        and ("vldb24:1", "5") in marks("iteration", step)
    ]
    assert begun == ["line", "return"]


@pytest.mark.parametrize("seed", [0, 7])
def test_the_iteration_runs_from_other_seeds(seed):
    recording = iteration.ITERATION.record(seed)
    assert recording.result[0] > 0 and "graph" in recording.states


def test_lines_of_algorithm_1_are_there():
    """The cache runs lines 5 to 20, pruning as well, and the iteration those from 3 on."""
    for recipe, first in (("cache", 5), ("pruning", 5), ("iteration", 3)):
        recording, run = recorded(recipe), set()
        for step in recording.steps:
            run |= {lines for id, lines in marks(recipe, step) if id == "vldb24:1"}
        numbers = {n for lines in run for n in numbers_in(lines)}
        silent = {10, 15}
        assert numbers == set(range(first, 21)) - silent, recipe


def numbers_in(lines):
    first, _, last = lines.partition("-")
    return range(int(first), int(last or first) + 1)
