"""Fast against reference for draws of rows, their tables, and the places of what they meet."""

from functools import cache

import numpy as np
import pytest
from comparison import assert_bits, assert_twins, read_only, threads
from hypothesis import given
from hypothesis import strategies as st
from strategies import KEYS, directed_graphs, graph_from_edges, graphs, power_law_graph

import fastimpl
import refimpl
from refimpl.graph import Graph
from refimpl.samplers import EntryTable

THREADS = st.sampled_from([1, 2, 5])
FANOUTS = st.sampled_from([-1, 0, 1, 2, 3, 7, 70])
WEIGHTS = st.sampled_from([0.0, 1.0, 2.5, 0.125, 1e-300, 5e-324, 1e-9, 1e9])
HUBS = power_law_graph(3000)
PATH = graph_from_edges(3, {(0, 1), (1, 2)})


def times_of(graph, rng, high=6):
    """Return a time for each entry, ascending in each row."""
    rows = [np.sort(rng.integers(0, high, degree)) for degree in graph.degrees()]
    return np.concatenate([np.empty(0, np.int64), *rows])


@st.composite
def table_arguments(draw):
    """Draw a graph and keywords of `build_entry_table`."""
    graph = draw(graphs(max_nodes=14) | directed_graphs())
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    weights = draw(st.lists(WEIGHTS, min_size=graph.e, max_size=graph.e))
    some = {"weights": np.array(weights, dtype), "times": times_of(graph, rng)}
    kept = draw(st.sets(st.sampled_from(["weights", "times"])))
    return graph, {name: read_only(some[name]) for name in kept}


@given(drawn=table_arguments(), count=THREADS)
def test_entry_table(drawn, count):
    graph, given = drawn
    assert isinstance(assert_twins("build_entry_table", graph, **given, count=count), EntryTable)


@given(
    drawn=table_arguments(),
    fanout=FANOUTS,
    key=KEYS,
    switches=st.fixed_dictionaries({"replace": st.booleans(), "last": st.booleans()}),
    data=st.data(),
    count=THREADS,
)
def test_draw_rows(drawn, fanout, key, switches, data, count):
    graph, given = drawn
    node = st.integers(0, max(graph.n - 1, 0))
    rows = np.array(data.draw(st.lists(node, max_size=9 if graph.n else 0)), np.int64)
    keys = refimpl.streams.key(key, np.arange(len(rows), dtype=np.uint64))
    until = None
    if "times" in given and data.draw(st.booleans()):
        time = st.integers(-1, 6)
        until = np.array(data.draw(st.lists(time, min_size=len(rows), max_size=len(rows))), int)
    table = refimpl.samplers.build_entry_table(graph, **given)
    assert_twins(
        "draw_rows", graph, rows, fanout, keys, table=table, until=until, **switches, count=count
    )


@given(
    known=st.lists(st.integers(-5, 20) | st.integers(-(2**63), 2**63 - 1), max_size=20),
    met=st.lists(st.integers(-5, 20) | st.integers(-(2**63), 2**63 - 1), max_size=40),
)
def test_relabel(known, met):
    assert_twins("relabel", np.array(known, np.int64), np.array(met, np.int64))


@cache
def long_rows():
    """Return (graph, rows, keys, table, until) with rows of up to 3,000 entries that repeat."""
    rng = np.random.default_rng(3)
    degrees = np.array([3000, 0, 1, 2, 64, 65, 129, 700] * 30)
    indptr = np.append(0, np.cumsum(degrees))
    indices = rng.integers(0, len(degrees), indptr[-1]).astype(np.int32)
    graph = Graph._trusted(indptr, indices, False)
    weights = rng.random(graph.e) ** 20  # few entries have most of the weight
    weights[rng.random(graph.e) < 0.3] = 0
    table = refimpl.samplers.build_entry_table(
        graph, weights=weights, times=times_of(graph, rng, 50)
    )
    rows = rng.integers(0, graph.n, 3000)
    keys = refimpl.streams.key(1, np.arange(len(rows), dtype=np.uint64))
    return graph, rows, keys, table, rng.integers(-1, 50, len(rows))


@pytest.mark.parametrize("fanout", [-1, 1, 10, 64, 65, 500])
@pytest.mark.parametrize("timed", [False, True])
def test_long_rows_and_heavy_entries(fanout, timed):
    graph, rows, keys, table, until = long_rows()
    rows, keys, until = rows[:300], keys[:300], until[:300] if timed else None
    for replace in (False, True):
        for own in (table, table._replace(weights=None, prob=None, alias=None)):
            for last in (False, True):
                how = {"replace": replace, "table": own, "until": until, "last": last}
                assert_twins("draw_rows", graph, rows, fanout, keys, **how)


@pytest.mark.parametrize("n", [6, 9, 60, 90])
def test_numbers_that_are_equal(n):
    """Weights so small that their numbers overflow: the first entries win, in both packages."""
    graph = Graph._trusted(np.array([0, n]), np.zeros(n, np.int32), False)
    rng = np.random.default_rng(n)
    keys = refimpl.streams.key(1, np.arange(50, dtype=np.uint64))
    for _ in range(5):
        weights = rng.choice([5e-324, 1e-320, 1e-310, 1.0, 0.0], n)
        table = refimpl.samplers.build_entry_table(graph, weights=weights, times=np.arange(n))
        for until in (None, np.full(50, n - 2)):
            how = {"table": table, "until": until}
            assert_twins("draw_rows", graph, np.zeros(50, int), n // 2, keys, **how)


def test_no_bit_depends_on_threads():
    graph, rows, keys, table, until = long_rows()
    how = {"table": table, "until": until}
    results = []
    for count in (1, 2, 5):
        with threads(count):
            results.append(fastimpl.samplers.draw_rows(graph, rows, 9, keys, **how))
    assert_bits(results[0], results[1])
    assert_bits(results[0], results[2])


def test_a_damaged_table_is_written_to_no_other_memory():
    """A sanitised build would see it; here every position is one of a row, or a sum with -1."""
    graph, rows, keys, table, _ = long_rows()
    for damaged in (
        table._replace(weights=np.full(graph.e, np.nan)),
        table._replace(prob=np.zeros(graph.e), alias=np.full(graph.e, 2**31 - 1, np.int32)),
        table._replace(prob=np.zeros(graph.e), alias=np.full(graph.e, -1, np.int32)),
    ):
        drawn = fastimpl.samplers.draw_rows(graph, rows, 9, keys, table=damaged)
        assert np.all(np.diff(drawn.bounds) <= 9)


def all_draws():
    graph, rows, keys, table, until = long_rows()
    rows, keys, until = np.tile(rows, 3), np.tile(keys, 3), np.tile(until, 3)
    return [
        fastimpl.samplers.draw_rows(graph, rows, fanout, keys, table=table, **how)
        for fanout in (5, 70)
        for how in ({}, {"replace": True}, {"until": until, "last": True})
    ]


def codes():
    rng = np.random.default_rng(1)
    return fastimpl.samplers.relabel(rng.integers(0, 10**6, 50_000), rng.integers(0, 10**6, 10**5))


TWINS = {
    "draw_rows": test_draw_rows,
    "build_entry_table": test_entry_table,
    "relabel": test_relabel,
}

ROWS, TWO = np.array([1]), np.array([7], np.uint64)
TIMED = refimpl.samplers.build_entry_table(PATH, times=np.zeros(4, np.int64))
ERRORS = [
    ("build_entry_table", "graph"),
    ("build_entry_table", PATH, {"weights": np.ones(3)}),
    ("build_entry_table", PATH, {"weights": np.ones(4, int)}),
    ("build_entry_table", PATH, {"weights": np.array([1.0, -1, 1, 1])}),
    ("build_entry_table", PATH, {"weights": np.array([1.0, np.nan, 1, 1])}),
    ("build_entry_table", PATH, {"weights": np.array([1.0, np.inf, 1, 1])}),
    ("build_entry_table", PATH, {"weights": np.full(4, 1e308)}),
    ("build_entry_table", PATH, {"times": np.zeros(3, int)}),
    ("build_entry_table", PATH, {"times": np.zeros(4)}),
    ("build_entry_table", PATH, {"times": np.array([0, 2, 1, 0])}),
    ("draw_rows", "graph", ROWS, 1, TWO),
    ("draw_rows", PATH, np.array([3]), 1, TWO),
    ("draw_rows", PATH, np.array([0.5]), 1, TWO),
    ("draw_rows", PATH, ROWS, -2, TWO),
    ("draw_rows", PATH, ROWS, 1.0, TWO),
    ("draw_rows", PATH, ROWS, 1, 7),
    ("draw_rows", PATH, ROWS, 1, np.array([7])),
    ("draw_rows", PATH, ROWS, 1, np.array([7, 8], np.uint64)),
    ("draw_rows", PATH, ROWS, 1, TWO, {"replace": 1}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"last": None}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"table": tuple(TIMED)}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"table": TIMED._replace(times=np.zeros(4))}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"table": TIMED._replace(times=np.zeros(3, int))}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"table": TIMED._replace(weights=np.ones(4))}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"until": np.array([1])}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"until": np.array([1, 2]), "table": TIMED}),
    ("draw_rows", PATH, ROWS, 1, TWO, {"until": np.array([0.5]), "table": TIMED}),
    ("relabel", np.array([0.5]), np.array([1])),
    ("relabel", np.array([1]), np.array([[1]])),
    ("relabel", "a", np.array([1])),
]

LARGE = {
    "draw_rows": all_draws,
    "build_entry_table": lambda: fastimpl.samplers.build_entry_table(
        HUBS, weights=np.arange(HUBS.e, dtype=float)
    ),
    "relabel": codes,
}
