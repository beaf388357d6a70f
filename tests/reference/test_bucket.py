"""The bucket sampler: its draws written out in full, and the exact law of frontier sampling."""

import importlib
from collections import Counter

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    KEYS,
    draws_of_a_law,
    even_graph,
    graph_from_edges,
    graphs,
    power_law_graph,
    sampler_options,
)

module = importlib.import_module("refimpl.samplers.bucket")
DRAWS = draws_of_a_law(4000, 20000, quick=4000)  # fewer do not tell another law apart
M, N = 3, 6
# The hub's degree and cap put its slots in another class than the rest; node 6 is isolated.
GRAPH = graph_from_edges(7, {(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (4, 5), (5, 5), (1, 4)})
LAWS = {
    (deg_cap, include): oracles.frontier_law(GRAPH, M, N, deg_cap, include)
    for deg_cap in (None, 3)
    for include in ("pushed", "popped")
}
LEVEL = 0.01 / (2 * len(LAWS))
HUB = graph_from_edges(9, {(0, v) for v in range(1, 9)})
HUBS = power_law_graph(80)


def bucket_walk(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    """Return nodes, log and counters, with the classes as plain lists of slots."""
    weights, main, probe = oracles.pop_weights(graph, deg_cap), *map(oracles.Draws, (main, probe))
    slots = oracles.dense_fisher_yates(main, graph.n, m)
    sample, popped, pushed, tries = set(slots), [], [], 0
    classes = {}
    for slot, v in enumerate(slots):
        if weights[v]:
            classes.setdefault(len(f"{weights[v]:b}") - 1, []).append(slot)
    while len(popped) < n - m and any(classes.values()):
        t = probe.below(sum(weights[slots[i]] for members in classes.values() for i in members))
        for j in sorted(classes, reverse=True):
            stacked = sum(weights[slots[i]] for i in classes[j])
            if t < stacked:
                break
            t -= stacked
        while True:
            x, tries = probe.below(len(classes[j]) * 2 ** (j + 1)), tries + 1
            place = x // 2 ** (j + 1)
            slot = classes[j][place]
            if x % 2 ** (j + 1) < weights[slots[slot]]:
                break
        classes[j][place] = classes[j][-1]
        classes[j].pop()
        near = oracles.neighbours(graph, slots[slot])
        popped.append(slots[slot])
        pushed.append(near[main.below(len(near))])
        slots[slot] = pushed[-1]
        classes.setdefault(len(f"{weights[pushed[-1]]:b}") - 1, []).append(slot)
        sample.add(pushed[-1] if include == "pushed" else popped[-1])
    counters = {
        "pops": len(popped),
        "probes": tries,
        "rounds": len(popped),
        "popped_degree_sum": sum(len(oracles.neighbours(graph, v)) for v in popped),
        "added_degree_sum": sum(len(oracles.neighbours(graph, v)) for v in pushed),
        "draws": main.count,
    }
    return sorted(sample), popped, pushed, counters


def assert_is_bucket_walk(gnn, graph, main, probe, options):
    nodes, popped, pushed, counters = bucket_walk(graph, main, probe, **options)
    got = gnn.bucket(graph, main, probe, **options)
    assert got.nodes.tolist() == nodes
    assert got.popped.tolist() == popped
    assert got.pushed.tolist() == pushed
    assert got.counters == gnn.graph.Counters(**counters)
    assert [a.dtype for a in got[:3]] == [np.int32] * 3
    return got


@given(graph=graphs(min_nodes=1), main=KEYS, probe=KEYS, data=st.data())
def test_bucket_is_the_walk_written_out(gnn, graph, main, probe, data):
    options = data.draw(sampler_options(graph, "frontier"), label="options")
    assert_is_bucket_walk(gnn, graph, main, probe, options)


@pytest.mark.parametrize("deg_cap", [None, 5])
def test_bucket_among_hubs(gnn, deg_cap):
    for q in range(6):
        options = {"m": 20, "n": 200, "deg_cap": deg_cap}
        sample = assert_is_bucket_walk(gnn, HUBS, q, q + 1, options)
        assert sample.counters.pops == 180
        assert len(sample.nodes) <= 200


@pytest.mark.parametrize("include", ["pushed", "popped"])
@pytest.mark.parametrize("deg_cap", [None, 3])
def test_bucket_has_the_exact_law(gnn, deg_cap, include):
    """Against the exact law of Algorithm 2."""
    seen = Counter()
    for q in range(DRAWS[gnn.__name__]):
        keys = gnn.streams.key(11, 0, q, 0), gnn.streams.key(11, 0, q, 1)
        sample = gnn.bucket(GRAPH, *keys, m=M, n=N, deg_cap=deg_cap, include=include)
        seen[frozenset(sample.nodes.tolist())] += 1
    assert oracles.chi_square_p(seen, LAWS[deg_cap, include]) > LEVEL
    if deg_cap is None and include == "pushed":  # there is power to tell another law apart
        assert oracles.chi_square_p(seen, oracles.frontier_law(GRAPH, M, N, deg_cap=1)) < 1e-6


def test_two_tries_a_pop_at_most(gnn):
    """A slot is accepted with probability above one half, whatever the degrees."""
    for graph in (power_law_graph(1000), even_graph(1000, 16)):
        c = gnn.bucket(graph, 1, 2, m=100, n=1500).counters
        assert 1 < c.probes / c.pops < 2
    cycle = graph_from_edges(10, {(v, (v + 1) % 10) for v in range(10)})  # all weights 2
    c = gnn.bucket(cycle, 1, 2, m=4, n=1004).counters
    assert c.probes / c.pops == pytest.approx(2, rel=0.1)


def test_isolated_roots_stay_and_end_the_walk(gnn):
    sample = gnn.bucket(graph_from_edges(4, set()), 1, 2, m=3, n=10)
    assert len(sample.nodes) == 3
    assert sample.counters == gnn.graph.Counters(draws=3)
    lone = gnn.bucket(graph_from_edges(4, {(0, 1)}), 1, 2, m=4, n=9)
    assert lone.counters.pops == 5
    assert set(lone.popped) <= {0, 1}


def test_classes_hold_what_one_draw_can_tell_apart():
    """A graph at the limit is too large for a test: 2**26 nodes that meet in one."""
    assert module.class_count(2**40, 2**12 - 1) == 12
    assert module.class_count(1000, 2**31 - 1) == 31
    assert module.class_count(1, 0) == 0
    for m, heaviest in ((2**41, 2**12 - 1), (2**40, 2**12), (2**22, 2**31 - 1)):
        with pytest.raises(ValueError, match="deg_cap"):
            module.class_count(m, heaviest)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"m": 0}, ValueError),
        ({"m": 10}, ValueError),  # more than there are nodes
        ({"n": 2}, ValueError),  # below m
        ({"m": 2.0}, TypeError),
        ({"n": None}, TypeError),
        ({"deg_cap": 0}, ValueError),
        ({"include": "both"}, ValueError),
        ({"eta": 2}, TypeError),
    ],
)
def test_bucket_rejects(gnn, change, error):
    with pytest.raises(error):
        gnn.bucket(HUB, 0, 1, **{"m": 3, "n": 5, **change})
    with pytest.raises(ValueError, match="probe"):
        gnn.bucket(HUB, 0, -1, m=3, n=5)
