"""Fast against reference where the answer is exact: streams, graphs and samplers."""

import numpy as np
import pytest
from comparison import assert_bits, assert_same_error, assert_twins, read_only, threads
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    FLOATS,
    KEYS,
    graphs,
    power_law_graph,
    sampler_options,
)

import fastimpl
import refimpl

THREADS = st.sampled_from([1, 2, 5])
BIG = power_law_graph(700)
COUNTERS = st.lists(KEYS, max_size=40)


@given(x=KEYS, array=COUNTERS)
def test_mix(x, array):
    assert_twins("mix", x)
    assert_twins("mix", read_only(np.array(array, np.uint64)))


@given(numbers=st.lists(KEYS, max_size=6))
def test_key(numbers):
    assert_twins("key", *numbers)


@given(k=KEYS, c=KEYS, array=COUNTERS)
def test_uniform(k, c, array):
    assert_twins("uniform", k, c)
    assert_twins("uniform", k, read_only(np.array(array, np.uint64)))


@given(k=KEYS, c=KEYS, array=COUNTERS, n=st.integers(1, 2**53 - 1) | st.integers(1, 9))
def test_below(k, c, array, n):
    assert_twins("below", k, c, n)
    assert_twins("below", k, read_only(np.array(array, np.uint64).reshape(-1, 1)), n)


@given(k=KEYS, c=KEYS, N=st.integers(0, 50) | st.integers(0, 2**31 - 1), m=st.integers(0, 60))
def test_pick_without_replacement(k, c, N, m):
    if m <= N:
        assert_twins("pick_without_replacement", k, c, N, m)
    else:
        assert_same_error("pick_without_replacement", k, c, N, m)


@given(graph=graphs(), count=THREADS)
def test_transpose_perm(graph, count):
    assert_twins("transpose_perm", graph, count=count)


@given(graph=graphs(), data=st.data(), count=THREADS)
def test_induced_subgraph(graph, data, count):
    node = st.integers(0, max(graph.n - 1, 0))
    nodes = data.draw(st.sets(node, max_size=graph.n).map(sorted) | st.lists(node, max_size=4))
    dtype = data.draw(st.sampled_from([np.int32, np.int64, np.uint8]))
    array = read_only(np.array(nodes, dtype))
    if nodes == sorted(set(nodes)) and all(v < graph.n for v in nodes):
        assert_twins("induced_subgraph", graph, array, count=count)
    else:
        assert_same_error("induced_subgraph", graph, array)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.97, 1.0])
def test_induced_subgraph_of_hundreds_of_nodes(share):
    """More nodes than any word of bits, and runs of consecutive ones."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        picked = np.flatnonzero(rng.random(BIG.n) < share)
        assert_twins("induced_subgraph", BIG, picked.astype(np.int32))
    assert_twins("transpose_perm", BIG)


@given(graph=graphs(), dtype=FLOATS, with_perm=st.booleans(), count=THREADS)
def test_row_norm(graph, dtype, with_perm, count):
    perm = read_only(refimpl.transpose_perm(graph).copy()) if with_perm else None
    assert_twins("row_norm", graph, perm, dtype=dtype, count=count)


OPTIONS = [
    {"m": 40, "n": 300},
    {"m": BIG.n, "n": BIG.n + 40},  # every node is a root
    {"m": 25, "n": 25},  # no step at all
    {"m": 1, "n": 60},
    {"m": 40, "n": 300, "deg_cap": 7, "include": "popped"},
]
DASHBOARD = [
    {"eta": 1.01},
    {"eta": 1.01, "overflow": "grow", "lanes": 1},
    {"eta": 1.5, "probe_range": "used", "lanes": 5},
    {"eta": 3, "lanes": 64},
]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_samplers_on_hundreds_of_nodes(options):
    for q in range(3):
        keys = refimpl.streams.key(2, 0, q, 0), refimpl.streams.key(2, 0, q, 1)
        assert_twins("frontier", BIG, *keys, **options)
        for dashboard in DASHBOARD:
            assert_twins("pin_tile", BIG, *keys, **options, **dashboard)


@given(
    graph=graphs(min_nodes=1, max_nodes=14),
    name=st.sampled_from(["frontier", "pin_tile"]),
    seed=KEYS,
    first=st.integers(0, 2**20),
    drawn=st.integers(0, 20),
    data=st.data(),
    count=THREADS,
)
def test_sample_many(graph, name, seed, first, drawn, data, count):
    options = data.draw(sampler_options(graph, name), label="options")
    sampler = refimpl.Sampler(name, **options)
    subgraphs = assert_twins("sample_many", graph, sampler, seed, first, drawn, count=count)
    assert isinstance(subgraphs, list)


@pytest.mark.parametrize("dashboard", [None, *DASHBOARD], ids=repr)
@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_sample_many_on_hundreds_of_nodes(options, dashboard):
    """More subgraphs than are drawn in step, and batches that end in the middle of a step."""
    if dashboard is None:
        sampler = refimpl.Sampler("frontier", **options)
    else:
        sampler = refimpl.Sampler("pin_tile", **options, **dashboard)
    want = assert_twins("sample_many", BIG, sampler, 9, 0, 7, count=1)
    for count, first, drawn in ((2, 0, 1), (5, 2, 5), (2, 5, 2), (1, 3, 3)):
        with threads(count):
            part = fastimpl.sample_many(BIG, sampler, 9, first, drawn)
        assert_bits(part, want[first : first + drawn])
