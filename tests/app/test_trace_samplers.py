"""The steppers of the frontier samplers: what is drawn is what the sampler did."""

from collections import Counter
from functools import cache

import pytest
from comparison import assert_bits
from test_trace_recipes import values

import refimpl
from refimpl.lab.apps.stepper.course import EDGES, ETA, SEED, M, N, six_nodes
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.backend import find
from refimpl.streams import SAMPLE, key

pytestmark = pytest.mark.runs

BOARDS = ("dashboard", "pin_tile")
NAMES = ("frontier", *BOARDS)
SEEDS = (SEED, 0, 3, 12)


@cache
def recorded(name, seed=SEED):
    """Return a Recording, and the NodeSample that the sampler alone gives for the same seed."""
    graph = six_nodes()
    options = {"m": M, "n": N} | ({"eta": ETA} if name in BOARDS else {})
    keys = [key(seed, SAMPLE, 0, s) for s in range(2)]
    return recipes()[name].record(seed), find(refimpl, name)(graph, *keys, **options)


def texts(recording):
    """Return the text of the line of each step."""
    return [
        next(
            line.text.strip()
            for line in recording.functions[step.function].lines
            if line.number == step.line
        )
        for step in recording.steps
    ]


def heads(name, recording):
    """Yield the state at each head of the sampler's loop, and its number."""
    states = [
        recording.state(i)
        for i, (step, text) in enumerate(zip(recording.steps, texts(recording), strict=True))
        if recording.functions[step.function].name == name and text.startswith("for _ in range")
    ]
    yield from enumerate(states)


def drawn_graphs(recording):
    """Return the state of the graph at each step."""
    nothing = {"roles": {}, "notes": {}, "edges": []}
    return [recording.state(i).get("graph", nothing) for i in range(len(recording.steps))]


def in_role(state, *roles):
    return {int(node) for node, role in state["graph"]["roles"].items() if role in roles}


def frontier_after(sample, k):
    """Replay k steps of a sample: the frontier, as a multiset, and the nodes seen."""
    recording, _ = recorded("frontier")
    roots = values(dict(next(heads("frontier", recording))[1]["frontier"])["FS"])
    now = Counter(roots)
    now.subtract(sample.popped[:k].tolist())
    now.update(sample.pushed[:k].tolist())
    return +now, {*roots, *sample.pushed[:k].tolist()}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_tracing_changes_no_result(name, seed, gnn):
    """The subgraph is that of an untraced run, of both packages, and its counters too."""
    graph = six_nodes()
    options = {"eta": ETA} if name in BOARDS else {}
    sampler = gnn.Sampler(name, m=M, n=N, **options)
    (want,) = gnn.sample_many(graph, sampler, seed, 0, 1)
    got = recorded(name, seed)[0].result
    assert_bits(got.nodes, want.nodes)
    assert_bits(got.edge_ids, want.edge_ids)
    assert got.counters == want.counters


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_thick_edge_is_each_step_of_the_walk(name, seed):
    """Popped and pushed nodes stand on the graph in the order in which they were."""
    recording, sample = recorded(name, seed)
    walk = []
    for state in drawn_graphs(recording):
        if "pushed" not in state["roles"].values():
            walk.append(None)
            continue
        (edge,) = state["edges"]
        assert state["roles"][edge[1]] == "pushed"
        walk.append(tuple(map(int, edge)))
    steps = [edge for edge, before in zip(walk, [None, *walk], strict=False) if edge and not before]
    assert steps == list(zip(sample.popped.tolist(), sample.pushed.tolist(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_node_popped_is_shown_before_the_one_pushed(name, seed):
    recording, sample = recorded(name, seed)
    graphs = [
        recording.state(i).get("graph", {"roles": {}})["roles"] for i in range(len(recording.steps))
    ]
    alone = [
        [int(v) for v, role in roles.items() if role == "popped"]
        for roles in graphs
        if "popped" in roles.values() and "pushed" not in roles.values()
    ]
    order = [node for node, before in zip(alone, [None, *alone], strict=False) if node != before]
    popped = [[v] for v in sample.popped.tolist()]
    assert order == [v for v, before in zip(popped, [None, *popped], strict=False) if v != before]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BOARDS)
def test_a_pop_shows_its_node_as_soon_as_it_is_known(name, seed):
    """And nothing of the step before."""
    recording, sample = recorded(name, seed)
    seen = []
    for step, text, graph in zip(
        recording.steps, texts(recording), drawn_graphs(recording), strict=True
    ):
        function = recording.functions[step.function].name
        if not function.endswith("pop_frontier"):
            continue
        popped = [int(v) for v, role in graph["roles"].items() if role == "popped"]
        assert "pushed" not in graph["roles"].values()
        if step.event == "call" or text.startswith(("tries", "idx = ", "idx_p = ")):
            assert popped == []
        if text.startswith("return"):
            seen += popped
    assert seen == sample.popped.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_slot_shows_its_node_as_soon_as_it_is_drawn(seed):
    recording, sample = recorded("frontier", seed)
    seen = []
    for i, text in enumerate(texts(recording)):
        if text.startswith("slot ="):
            state = recording.state(i)
            (v,) = [v for v, _, mark in dict(state["frontier"])["FS"] if mark == "slot"]
            assert in_role(state, "popped") == {v} and not in_role(state, "pushed")
            seen.append(v)
    assert seen == sample.popped.tolist()


def test_notes_on_the_graph_are_the_tiles_with_pins():
    recording, _ = recorded("pin_tile")
    checked = 0
    for i, step in enumerate(recording.steps):
        state = recording.state(i)
        name = recording.functions[step.function].name
        if (
            "draws" not in state
            or "tiles" not in state
            or name in ("Dashboard.__init__", "sample_one")
        ):
            continue
        nodes = {row[0][0]: str(row[1][0]) for row in state["tiles"]}
        (_, DB), *_ = state["DB"]
        tiles = sorted({tile for tile in values(DB) if tile is not None})
        notes: dict[str, list] = {}
        for tile in tiles:
            notes.setdefault(nodes[tile], []).append(str(tile))
        assert state["graph"]["notes"] == {v: f"tile {', '.join(t)}" for v, t in notes.items()}
        checked += len(tiles) < M
    assert checked


@pytest.mark.parametrize("name", NAMES)
def test_the_graph_shows_the_frontier_at_each_step(name):
    recording, sample = recorded(name)
    count = 0
    for k, state in heads(name, recording):
        now, seen = frontier_after(sample, k)
        shown = in_role(state, "frontier", "pushed")
        if k and sample.popped[k - 1] in now:  # in the frontier still, by another slot
            shown |= in_role(state, "popped")
        assert shown == set(now)
        assert in_role(state, "sampled", "frontier", "popped", "pushed") == seen
        count += 1
    assert count == N - M + 1
    last = recording.state(len(recording.steps) - 1)
    assert in_role(last, "sampled") == set(sample.nodes.tolist())
    inside = [(u, v) for u, v in EDGES if {u, v} <= set(sample.nodes.tolist())]
    assert [tuple(map(int, edge)) for edge in last["graph"]["edges"]] == inside


def test_the_list_of_the_frontier_is_replayed():
    recording, sample = recorded("frontier")
    for k, state in heads("frontier", recording):
        rows = dict(state["frontier"])
        now, seen = frontier_after(sample, k)
        assert Counter(values(rows["FS"])) == now
        degrees = six_nodes().degrees()
        assert values(rows["degree"]) == degrees[values(rows["FS"])].tolist()
        assert state["counters"] == {"pops": k, "sampled": len(seen)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BOARDS)
def test_the_dashboard_holds_the_frontier_at_each_step(name, seed):
    """Between two steps every node of the frontier has as many entries as its degree."""
    recording, sample = recorded(name, seed)
    assert not sample.counters.truncated
    degrees = six_nodes().degrees()
    for _, state in heads(name, recording):
        owners = nodes_of_entries(name, state)
        frontier = Counter(v for v in owners if v is not None)
        assert all(count % degrees[v] == 0 for v, count in frontier.items())
        assert sum(count // degrees[v] for v, count in frontier.items()) == M
        assert state["counters"]["valid"] == sum(frontier.values())
    assert state["counters"] == {
        "valid": sum(frontier.values()),
        "probes": sample.counters.probes,
        "clean-ups": sample.counters.cleanups,
        "moved": sample.counters.moved,
        "truncated": 0,
    }


def nodes_of_entries(name, state):
    """Return the node of each entry of the Dashboard, None where there is none."""
    rows = dict(state["DB"])
    if name == "dashboard":
        return values(rows["node"])
    tiles = {row[0][0]: values(row)[1:] for row in state["tiles"]}
    for k, tile in enumerate(values(rows["DB"])):
        if tile is not None:
            _, start, end, _ = tiles[tile]
            assert start <= k < end
    return [None if tile is None else tiles[tile][0] for tile in values(rows["DB"])]


def test_both_dashboards_show_the_same_at_each_step():
    """Same sample, same probes: entry by entry the same nodes, in the same columns."""
    both = [heads(name, recorded(name)[0]) for name in BOARDS]
    for (_, slots), (_, pins) in zip(*both, strict=True):
        assert slots["graph"]["roles"] == pins["graph"]["roles"]
        assert slots["counters"] == pins["counters"] and slots["draws"] == pins["draws"]
        assert nodes_of_entries("dashboard", slots) == nodes_of_entries("pin_tile", pins)
        ends = [mark for _, _, mark in dict(slots["IA"])["start"]]
        assert ends == [mark for _, _, mark in dict(pins["IA"])["start"]]
        used = ends.index("end") + 1
        for row in ("start", "live"):
            of_slots, of_pins = (values(dict(state["IA"])[row]) for state in (slots, pins))
            assert of_slots[:used] == of_pins[:used]


@pytest.mark.parametrize("name", BOARDS)
def test_probes_are_marked_where_they_are(name):
    recording, sample = recorded(name)
    lines = texts(recording)
    hits = 0
    for i, text in enumerate(lines):
        if "probe.below(limit)" not in text:
            continue
        cells = recording.state(i)["DB"][0][1]
        (entry,) = [k for k, (_, _, mark) in enumerate(cells) if mark == "probe"]
        (_, probe) = recording.state(i)["draws"]
        stream, c, last = values(probe)
        assert stream == "probe"
        assert int(float(last) * sample.counters.capacity) == entry
        hits += cells[entry][0] is not None
        assert c == sum("probe.below" in t for t in lines[: i + 1])
    assert hits == sample.counters.pops
    assert sum("probe.below" in text for text in lines) == sample.counters.probes


def test_a_clean_up_is_seen_as_it_happens():
    """The new Dashboard fills from the front while the old one stands."""
    recording, sample = recorded("pin_tile")
    assert sample.counters.cleanups == 1
    filled = []
    for i, step in enumerate(recording.steps):
        if recording.functions[step.function].name == "Dashboard.cleanup":
            rows = dict(recording.state(i)["DB"])
            new = values(rows.get("DB_new", []))
            filled.append(sum(tile is not None for tile in new))
            assert new[: filled[-1]].count(None) == 0
    assert filled == sorted(filled) and filled[0] == 0 and filled[-1] == sample.counters.moved


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_the_papers_is_run(name):
    """With the default seed a reader comes to every line, clean-up included."""
    recording, _ = recorded(name)
    recipe = recipes()[name]
    marks = {"run": set(), "there": set()}
    for number, function in enumerate(recording.functions):
        ran = {
            line
            for step in recording.steps
            if step.function == number
            for line in range(step.line, function.statements[step.line][1] + 1)
        }
        for line in function.lines:
            there = {mark for mark in line.marks if mark[0] in recipe.algorithms}
            marks["there"] |= there
            marks["run"] |= there if line.number in ran else set()
    assert marks["run"] == marks["there"]
