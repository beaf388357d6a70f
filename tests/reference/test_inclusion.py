"""LABOR-i against its equations, solved by bisection, and against its laws."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import binomtest
from strategies import (
    KEYS,
    directed_graphs,
    draws_of_a_law,
    graph_from_edges,
    graphs,
    power_law_graph,
)
from test_labor import rows_of, sample, variate

from refimpl.samplers.inclusion import inclusion_chances, row_scale

DRAWS = draws_of_a_law(2000, 6000)
LEVEL = 0.01 / 8
ROUNDS = {"labor_1": 1, "labor_2": 2, "labor_3": 3}
MODES = pytest.mark.parametrize("mode", ROUNDS)
# Nodes 0, 1 and 2 have 3, 5 and 9 of the nodes 3 to 11 as neighbours; all have 3, 4 and 5.
NESTED = graph_from_edges(
    12,
    {(0, v) for v in range(3, 6)} | {(1, v) for v in range(3, 8)} | {(2, v) for v in range(3, 12)},
)
HUBS = power_law_graph(2000)


def solved(pi, fanout):
    """Return c of a row, by bisection: the variance is that of `fanout` of the d neighbours."""
    d = len(pi)
    if fanout == -1 or d <= fanout:
        return 1 / min(pi, default=1)
    excess = lambda c: sum(max(1, 1 / (c * p)) for p in pi) - d**2 / fanout  # noqa: E731
    return brentq(excess, fanout / d / 2, 2 / min(pi), xtol=1e-300, rtol=1e-15)


def chances_of(graph, dst, fanout, rounds):
    """Return the chance of each neighbour of each of `dst`, by the definition."""
    rows = {s: graph.indices[graph.indptr[s] : graph.indptr[s + 1]].tolist() for s in dst}
    pi = dict.fromkeys((t for row in rows.values() for t in row), 1.0)
    for left in range(rounds, -1, -1):
        c = {s: solved([pi[t] for t in row], fanout) for s, row in rows.items()}
        if left:
            pi = {t: max(c[s] * p for s in dst if t in rows[s]) for t, p in pi.items()}
    return {s: {t: min(1, c[s] * pi[t]) for t in row} for s, row in rows.items()}


@given(
    pi=st.lists(st.floats(1e-6, 1), min_size=1, max_size=40) | st.lists(st.sampled_from([0.1, 1])),
    fanout=st.sampled_from([-1, 1, 2, 3, 7]),
)
def test_the_variance_of_a_row_is_that_of_neighbour_sampling(pi, fanout):
    """And at least as many neighbours as the fan-out are kept on average."""
    d, c = len(pi), row_scale(np.array(pi), fanout)
    if fanout == -1 or d <= fanout:
        assert c == 1
        return
    chances = np.minimum(c * np.array(pi), 1)
    assert (1 / chances).sum() == pytest.approx(d**2 / fanout, rel=1e-12)
    assert chances.sum() >= fanout * (1 - 1e-12)
    assert c == pytest.approx(solved(pi, fanout), rel=1e-10)


@given(
    graph=graphs(min_nodes=1, max_nodes=12) | directed_graphs().filter(lambda graph: graph.n),
    fanout=st.sampled_from([-1, 1, 2, 3]),
    rounds=st.integers(0, 3),
    data=st.data(),
)
def test_chances_are_those_of_the_definition(graph, fanout, rounds, data):
    dst = data.draw(st.lists(st.integers(0, graph.n - 1), unique=True))
    want = chances_of(graph, dst, fanout, rounds)
    rows = [list(want[s]) for s in dst]
    nodes, t = np.unique(np.array([u for row in rows for u in row], int), return_inverse=True)
    bounds = np.cumsum([0, *map(len, rows)])
    got = inclusion_chances(bounds, t, len(nodes), fanout, rounds)
    assert_allclose(got, [p for s in dst for p in want[s].values()], rtol=1e-9)


@MODES
@given(
    graph=graphs(min_nodes=1, max_nodes=12) | directed_graphs().filter(lambda graph: graph.n),
    fanouts=st.lists(st.sampled_from([-1, 0, 1, 2, 3]), max_size=2),
    name=st.tuples(KEYS, KEYS, st.integers(0, 20)),
    kappa=st.integers(1, 7),
    data=st.data(),
)
def test_rows_and_weights_are_what_is_written_out(gnn, mode, graph, fanouts, name, kappa, data):
    roots = data.draw(st.permutations(range(graph.n)))[: data.draw(st.integers(0, graph.n))]
    mfg = sample(gnn, graph, np.array(roots, np.int64), fanouts, name, mode, kappa)
    for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
        dst, block = mfg.nodes[layer].tolist(), mfg.blocks[layer - 1]
        chances = chances_of(graph, dst if fanout else [], fanout, ROUNDS[mode])
        r = {t: variate(t, name, layer, kappa) for t in range(graph.n)}
        assert block.weights.dtype == np.float64 and not block.weights.flags.writeable
        for v, row, (a, b) in zip(
            dst, rows_of(mfg, layer), zip(block.start, block.end, strict=True), strict=True
        ):
            p = chances.get(v, {})
            near = graph.indices[row].tolist()
            assert near == [t for t in p if r[t] < p[t] or p[t] > 1 - 1e-12]
            assert_allclose(block.weights[a:b], [1 / p[t] for t in near], rtol=1e-9)


def kept_by(gnn, mode, b, roots=(0, 1, 2), fanout=2):
    """Return what the nodes of NESTED keep in batch b: a dict of neighbours and weights each."""
    (block,), (src, _) = sample(gnn, NESTED, list(roots), (fanout,), (3, 1, b), mode)[::-1]
    return [
        dict(zip(src[block.indices[a:e]].tolist(), block.weights[a:e].tolist(), strict=True))
        for a, e in zip(block.start, block.end, strict=True)
    ]


@MODES
def test_an_entry_is_kept_with_its_chance_and_with_others_of_its_source(gnn, mode):
    """(t, s) and (t, s') together with the smaller of their chances; two sources independently."""
    chances = chances_of(NESTED, [0, 1, 2], 2, ROUNDS[mode])
    own = {
        t: sorted((p[t] for p in chances.values() if t in p), reverse=True) for t in range(3, 12)
    }
    entries, both, draws = Counter(), 0, DRAWS[gnn.__name__]
    for b in range(draws):
        kept = kept_by(gnn, mode, b)
        for t, of_all in own.items():
            holders = [p[t] for p, row in zip(chances.values(), kept, strict=True) if t in row]
            assert sorted(holders, reverse=True) == of_all[: len(holders)]  # the larger chances
        both += 3 in kept[2] and 8 in kept[2]
        entries.update((s, t) for s, row in enumerate(kept) for t in row)
    assert binomtest(both, draws, chances[2][3] * chances[2][8]).pvalue > LEVEL
    for s, row in chances.items():
        for t, p in row.items():
            assert binomtest(entries[s, t], draws, p).pvalue > LEVEL / 17


@pytest.mark.runs
@MODES
def test_the_weighted_sum_is_unbiased_and_varies_as_under_neighbour_sampling(gnn, mode):
    x, draws = np.random.default_rng(1).normal(size=12), DRAWS[gnn.__name__]
    kept = [kept_by(gnn, mode, b) for b in range(draws)]
    sums = np.array([[sum(w * x[t] for t, w in row.items()) for row in rows] for rows in kept])
    for s, near in enumerate([range(3, 6), range(3, 8), range(3, 12)]):
        p = chances_of(NESTED, [0, 1, 2], 2, ROUNDS[mode])[s]
        deviation = np.sqrt(sum(x[t] ** 2 * (1 / p[t] - 1) for t in near))
        assert abs(sums[:, s].mean() - x[near].sum()) < 3.5 * deviation / np.sqrt(draws)
    # of constant features: d^2 / k - d, for any chances
    counts = [[sum(row.values()) for row in rows] for rows in kept]
    assert_allclose(np.var(counts, axis=0), [9 / 2 - 3, 25 / 2 - 5, 81 / 2 - 9], rtol=0.15)


def test_each_round_expects_fewer_distinct_nodes():
    """The sum of the largest chances of the sources; round 0 is LABOR-0."""
    for graph, dst, fanout in ((NESTED, [0, 1, 2], 2), (HUBS, list(range(0, 2000, 40)), 3)):
        expected = []
        for rounds in range(4):
            largest: dict = {}
            for row in chances_of(graph, dst, fanout, rounds).values():
                largest |= {t: max(p, largest.get(t, 0)) for t, p in row.items()}
            expected.append(sum(largest.values()))
        assert all(later < before for before, later in pairwise(expected))


def test_fewer_distinct_nodes_than_labor_0_are_drawn(gnn):
    roots, draws = np.arange(0, 2000, 10), 30
    found = {
        mode: np.mean(
            [len(sample(gnn, HUBS, roots, (5,), (1, 0, b), mode).nodes[0]) for b in range(draws)]
        )
        for mode in ("labor", *ROUNDS)
    }
    assert found["labor_1"] < 0.99 * found["labor"]
    assert found["labor_3"] < found["labor_2"] < found["labor_1"]
