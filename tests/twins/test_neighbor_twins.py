"""Fast against reference for neighbour sampling."""

import numpy as np
import pytest
from comparison import assert_bits, assert_twins, read_only, threads
from fastimpl.samplers._relabelling import Relabelling
from hypothesis import given
from hypothesis import strategies as st
from strategies import KEYS, directed_graphs, even_graph, graph_from_edges, graphs, power_law_graph

import fastimpl
import refimpl
from fastimpl._lending import lent

THREADS = st.sampled_from([1, 2, 5])
MODES = ["layered", "shared", "labor", "labor_exact", "labor_1", "labor_3"]
HOW = st.sampled_from(MODES).flatmap(
    lambda mode: st.fixed_dictionaries(
        {"mode": st.just(mode), "batch_dependency": st.integers(1, 6 if "labor" in mode else 1)}
    )
)
FANOUTS = st.lists(st.sampled_from([-1, 0, 1, 2, 3, 7]), max_size=3)
BIG, HUBS, EVEN = power_law_graph(700), power_law_graph(3000), even_graph(3000, 20)
PATH = graph_from_edges(3, {(0, 1), (1, 2)})
# Rows of up to 2300 neighbours.
LONG = graph_from_edges(2400, {(u, v) for u in range(3) for v in range(3, 900 + 700 * u)})
NAME = {"seed": 1, "epoch": 2, "batch": 3}
EPOCH = {"seed": 1, "epoch": 2}


@st.composite
def graph_and_batches(draw):
    """Draw a graph and lists of distinct nodes."""
    graph = draw(graphs(max_nodes=14) | directed_graphs())
    node = st.integers(0, max(graph.n - 1, 0))
    roots = st.lists(node, max_size=graph.n, unique=True)
    dtype = draw(st.sampled_from([np.int32, np.int64, np.uint8]))
    batches = draw(st.lists(roots, max_size=7))
    return graph, [read_only(np.array(batch, dtype)) for batch in batches]


@given(drawn=graph_and_batches(), fanouts=FANOUTS, key=KEYS, how=HOW, count=THREADS)
def test_sample_mfg(drawn, fanouts, key, how, count):
    graph, batches = drawn
    for batch, roots in enumerate(batches[:2]):
        name = {"seed": key, "epoch": 1, "batch": batch}
        mfg = assert_twins("sample_mfg", graph, roots, fanouts, **name, **how, count=count)
        assert isinstance(mfg, refimpl.MFG)


@given(drawn=graph_and_batches(), fanouts=FANOUTS, key=KEYS, how=HOW, count=THREADS)
def test_sample_mfg_many(drawn, fanouts, key, how, count):
    graph, batches = drawn
    name = {"seed": key, "epoch": 1, "first_batch": 4}
    got = assert_twins("sample_mfg_many", graph, batches, fanouts, **name, **how, count=count)
    assert isinstance(got, list)


@given(
    ids=st.lists(st.integers(0, 2**31 - 2), max_size=60, unique=True),
    size=st.integers(1, 70),
    seed=KEYS,
    epoch=KEYS,
)
def test_epoch_batches(ids, size, seed, epoch):
    got = assert_twins("epoch_batches", read_only(np.array(ids, np.int64)), size, seed, epoch)
    assert isinstance(got, list)


@given(key=KEYS, n=st.integers(0, 400), data=st.data())
def test_floyd(key, n, data):
    chosen = assert_twins("floyd", key, n, data.draw(st.integers(0, n)))
    assert isinstance(chosen, np.ndarray)


@given(key=KEYS, n=st.integers(0, 400))
def test_permutation(key, n):
    assert isinstance(assert_twins("permutation", key, n), np.ndarray)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fanouts", [(25, 10), (64, 65), (70, 3), (-1, 2), (1, 1, 1, 1)], ids=repr)
@pytest.mark.parametrize("graph", [BIG, LONG], ids=repr)
def test_hundreds_of_nodes(graph, fanouts, mode):
    """More rows than a thread takes at a time; few and many picks of short and long rows."""
    for seed, count in ((1, 1), (2, 2), (3, 5)):
        rng = np.random.default_rng(seed)
        batches = [rng.permutation(graph.n)[:length] for length in (150, 0, 1, 70)]
        name = {"seed": seed, "epoch": 2**64 - 1}
        got = assert_twins(
            "sample_mfg_many", graph, batches, fanouts, **name, mode=mode, count=count
        )
        with threads(count):
            alone = fastimpl.sample_mfg(graph, batches[3], fanouts, **name, batch=3, mode=mode)
        assert_bits(alone, got[3])


def test_more_batches_than_threads():
    batches = [np.arange(b, 3000, 37 + b) for b in range(7)]
    want = assert_twins("sample_mfg_many", HUBS, batches, (5, 4), **EPOCH, count=3)
    assert len(want) == 7
    for first in (0, 3):
        with threads(2):
            some = fastimpl.samplers.sample_mfg_many(
                HUBS, batches[first:], (5, 4), **EPOCH, first_batch=first
            )
        assert_bits(some, want[first:])


def test_a_relabelling_is_lent_to_one_at_a_time():
    """And thrown away after an error, which may have left nodes in it."""
    with lent(Relabelling, PATH, 2) as (first, second), lent(Relabelling, PATH, 1) as (third,):
        assert len({first, second, third}) == 3
    with pytest.raises(KeyError), lent(Relabelling, PATH, 1) as (fourth,):
        assert fourth in (first, second, third)
        raise KeyError
    with lent(Relabelling, PATH, 4) as later:
        assert fourth not in later


def layers():
    roots = [np.arange(b, 3000, 4 + b) for b in range(3)]
    cases = [
        (graph, fanouts, mode)
        for graph in (HUBS, EVEN)
        for fanouts in ((25, 10), (70, 3), (-1,))
        for mode in MODES
    ]
    return [
        [
            fastimpl.sample_mfg(graph, roots[0], fanouts, **NAME, mode=mode),
            fastimpl.samplers.sample_mfg_many(graph, roots, fanouts, **EPOCH, mode=mode),
        ]
        for graph, fanouts, mode in cases
    ]


TWINS = {
    "epoch_batches": test_epoch_batches,
    "floyd": test_floyd,
    "permutation": test_permutation,
    "sample_mfg": test_sample_mfg,
    "sample_mfg_many": test_sample_mfg_many,
}

SEEDS = np.array([0])
ERRORS = [
    ("epoch_batches", np.array([0.5]), 1, 0, 0),
    ("epoch_batches", np.array([-1]), 1, 0, 0),
    ("epoch_batches", SEEDS, 0, 0, 0),
    ("epoch_batches", SEEDS, 1, -1, 0),
    ("epoch_batches", SEEDS, 1, 0, 0.5),
    ("floyd", 0, 3, 4),
    ("floyd", 0, 2**31, 4),
    ("floyd", -1, 3, 2),
    ("permutation", 2**64, 3),
    ("permutation", 0, -1),
    ("permutation", 0, 2.0),
    ("sample_mfg", "graph", SEEDS, (1,), NAME),
    ("sample_mfg", PATH, np.array([3]), (1,), NAME),
    ("sample_mfg", PATH, np.array([0, 0]), (1,), NAME),
    ("sample_mfg", PATH, np.array([0.5]), (1,), NAME),
    ("sample_mfg", PATH, SEEDS, 1, NAME),
    ("sample_mfg", PATH, SEEDS, (1, -2), NAME),
    ("sample_mfg", PATH, SEEDS, (1.0,), NAME),
    ("sample_mfg", PATH, SEEDS, (1,), {**NAME, "seed": 2**64}),
    ("sample_mfg", PATH, SEEDS, (1,), {**NAME, "epoch": "1"}),
    ("sample_mfg", PATH, SEEDS, (1,), {**NAME, "batch": -1}),
    ("sample_mfg", PATH, SEEDS, (1,), {**NAME, "mode": "other"}),
    ("sample_mfg", PATH, SEEDS, (1,), {**NAME, "batch_dependency": 2}),
    ("sample_mfg", PATH, SEEDS, (1,), {**NAME, "mode": "labor", "batch_dependency": 0}),
    ("sample_mfg_many", PATH, [SEEDS], (1,), {**EPOCH, "mode": "labor", "batch_dependency": 0.5}),
    ("sample_mfg_many", "graph", [SEEDS], (1,), EPOCH),
    ("sample_mfg_many", PATH, 3, (1,), EPOCH),
    ("sample_mfg_many", PATH, [SEEDS, np.array([1, 1])], (1,), EPOCH),
    ("sample_mfg_many", PATH, [SEEDS, SEEDS], (1,), {**EPOCH, "first_batch": 2**64 - 1}),
    ("sample_mfg_many", PATH, [SEEDS], (1,), {**EPOCH, "mode": None}),
]

LARGE = {
    "epoch_batches": lambda: fastimpl.samplers.epoch_batches(np.arange(50_000), 999, 1, 2),
    "floyd": lambda: [fastimpl.streams.floyd(q, 5000, 1000 * q) for q in range(6)],
    "permutation": lambda: fastimpl.streams.permutation(1, 50_000),
    "sample_mfg": layers,
    "sample_mfg_many": layers,
}
