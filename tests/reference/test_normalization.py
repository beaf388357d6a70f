"""Normalisation makes loss and aggregation unbiased, by exact enumeration of a sampler."""

from math import lcm
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from strategies import distinct, graph_from_edges, power_law_graph
from threadpoolctl import threadpool_limits

import fastimpl
import refimpl
from refimpl.lab.backend import find

M, N = 2, 5
# A hub with a tail, a triangle and a loop; node 6 is isolated.
GRAPH = graph_from_edges(7, {(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5), (5, 5)})
LAW = oracles.frontier_law(GRAPH, M, N)
HUBS = power_law_graph(60)
SAINT = 1  # the domain


def exact_counts(gnn):
    """Return the counts of as many subgraphs as it takes for the law to be exact."""
    subgraphs = lcm(*(p.denominator for p in LAW.values()))
    nodes = [sum(p for s, p in LAW.items() if v in s) for v in range(GRAPH.n)]
    edges = [
        sum(p for s, p in LAW.items() if v in s and u in s)
        for v, u in zip(oracles.rows(GRAPH), GRAPH.indices, strict=True)
    ]
    as_counts = [np.array([int(p * subgraphs) for p in ps], np.int64) for ps in (nodes, edges)]
    return gnn.samplers.SamplingCounts(*as_counts, subgraphs), np.array(nodes, float)


def every_outcome(gnn):
    """Yield every subgraph and its probability."""
    for nodes, probability in LAW.items():
        yield gnn.induced_subgraph(GRAPH, np.array(sorted(nodes))), float(probability)


def test_loss_is_unbiased(gnn):
    counts, _ = exact_counts(gnn)
    losses, expected, plain, weight = distinct((GRAPH.n,), np.float64), 0, 0, 0
    for sub, probability in every_outcome(gnn):
        omega = gnn.samplers.loss_weights(counts, sub.nodes)
        expected += probability * (omega @ losses[sub.nodes])
        plain += probability * losses[sub.nodes].mean()
        weight += probability * omega.sum()
    assert expected == pytest.approx(losses.mean(), abs=1e-14)
    assert weight == pytest.approx(1, abs=1e-14)
    assert abs(plain - losses.mean()) > 0.01  # without weights it is biased


def expected_aggregation(gnn, x, matrix):
    """Return the expectation of matrix(sub) x at each node, given that the node was sampled."""
    _, p = exact_counts(gnn)
    total = np.zeros(GRAPH.n)
    for sub, probability in every_outcome(gnn):
        total[sub.nodes] += probability * (matrix(sub) @ x[sub.nodes])
    return total / p


def test_aggregation_is_unbiased_given_the_node_was_sampled(gnn):
    counts, _ = exact_counts(gnn)
    x = distinct((GRAPH.n,), np.float64)
    mean = oracles.dense(GRAPH) @ x / np.maximum(GRAPH.degrees(), 1)

    def normalised(sub):
        A = gnn.samplers.aggregator(counts, GRAPH, sub)
        return oracles.dense(sub.graph, A.data)

    def by_subgraph_degree(sub):
        inner = np.maximum(sub.graph.degrees(), 1)[:, None]
        return normalised(sub) * GRAPH.degrees()[sub.nodes][:, None] / inner

    def plain(sub):
        return oracles.dense(sub.graph, gnn.adjacency.row_norm(sub.graph).data)

    np.testing.assert_allclose(expected_aggregation(gnn, x, normalised), mean, atol=1e-14)
    for biased in (by_subgraph_degree, plain):
        assert np.abs(expected_aggregation(gnn, x, biased) - mean).max() > 0.02


def test_counts_are_those_of_the_first_subgraphs_that_cover(gnn):
    sampler = gnn.Sampler("pin_tile", m=5, n=20)
    counts = gnn.estimate_counts(HUBS, sampler, 3, coverage=7.5)
    subs = gnn.sample_many(HUBS, sampler, 3, 0, counts.subgraphs, domain=SAINT)
    sizes = np.cumsum([sub.nodes.size for sub in subs])
    assert sizes[-2] < 7.5 * HUBS.n <= sizes[-1]
    nodes = [sum(v in sub.nodes for sub in subs) for v in range(HUBS.n)]
    edges = [sum(j in sub.edge_ids for sub in subs) for j in range(HUBS.e)]
    assert counts.nodes.tolist() == nodes
    assert counts.edges.tolist() == edges
    assert [a.dtype for a in counts[:2]] == [np.int64] * 2
    # The weights' sum is 1 on average over just these subgraphs, if every node was met.
    assert counts.nodes.min() > 0
    mean = np.mean([gnn.samplers.loss_weights(counts, sub.nodes).sum() for sub in subs])
    assert mean == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("coverage, subgraphs", [(0.1, 1), (1, 1), (3, 3), (3.1, 4)])
def test_coverage_reached_is_enough(gnn, coverage, subgraphs):
    """With all nodes in every subgraph, and pools that draw too many."""
    sampler = gnn.Sampler("frontier", m=GRAPH.n, n=GRAPH.n)
    counts = gnn.estimate_counts(GRAPH, sampler, 0, coverage=coverage, pool=3)
    assert counts.subgraphs == subgraphs
    assert set(counts.nodes) == set(counts.edges) == {subgraphs}


@pytest.mark.runs
def test_expected_weight_approaches_one(gnn):
    """E sum omega over a new subgraph, for counts that were estimated."""
    _, p = exact_counts(gnn)
    sampler, errors = gnn.Sampler("frontier", m=M, n=N), []
    for coverage in (3, 3000):
        counts = gnn.estimate_counts(GRAPH, sampler, 1, coverage=coverage)
        expected = p @ gnn.samplers.loss_weights(counts, np.arange(GRAPH.n))
        errors.append(abs(expected - 1))
    assert errors[1] < 0.02 < errors[0]  # three standard deviations, at 3000


@pytest.mark.parametrize("name", ["frontier", "pin_tile"])
def test_both_packages_pools_and_threads_give_one_result(name):
    results = set()
    for gnn, pool, threads in (
        (refimpl, 4, 1),
        (fastimpl, 1, 1),
        (fastimpl, 4, 2),
        (fastimpl, 11, 2),
    ):
        with threadpool_limits(threads):
            counts = gnn.estimate_counts(
                HUBS, gnn.Sampler(name, m=6, n=25), 8, coverage=9, pool=pool
            )
        results.add((counts.nodes.tobytes(), counts.edges.tobytes(), counts.subgraphs))
    assert len(results) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("floor", [1.0, 0.1, 3])
def test_values_entry_by_entry(gnn, dtype, floor):
    sampler = gnn.Sampler("frontier", m=3, n=12)
    counts = gnn.estimate_counts(HUBS, sampler, 0, coverage=1)
    assert (counts.nodes == 0).any()
    assert (counts.edges == 0).any()
    (sub,) = gnn.sample_many(HUBS, sampler, 99, 0, 1)
    A = gnn.samplers.aggregator(counts, HUBS, sub, floor=floor, dtype=dtype)
    assert A.graph is sub.graph
    j = 0
    for i, v in enumerate(sub.nodes.tolist()):
        for k in oracles.neighbours(sub.graph, i):
            u = int(sub.nodes[k])
            place = HUBS.indptr[v] + oracles.neighbours(HUBS, v).index(u)
            inverse = max(counts.nodes[v], floor) / max(counts.edges[place], floor)
            degree = len(oracles.neighbours(HUBS, v))
            assert A.data[j] == dtype(inverse / degree)
            j += 1
    assert j == sub.graph.e == A.data.size
    transposed = oracles.dense(sub.graph, A.data).T
    np.testing.assert_array_equal(oracles.dense(sub.graph, A.data_t), transposed)
    omega = gnn.samplers.loss_weights(counts, np.arange(HUBS.n), floor=floor, dtype=dtype)
    want = [counts.subgraphs / (HUBS.n * max(c, floor)) for c in counts.nodes.tolist()]
    np.testing.assert_array_equal(omega, np.array(want, dtype))
    assert A.data.dtype == A.data_t.dtype == omega.dtype == dtype


def test_values_are_clipped(gnn):
    """An edge that was never met, of a node that often was; and counts no sampler gives."""
    pair = graph_from_edges(2, {(0, 1)})
    sub = gnn.induced_subgraph(pair, np.arange(2))
    counts = gnn.samplers.SamplingCounts(np.array([10**6, 4]), np.array([0, 8]), 10**6)
    assert gnn.samplers.aggregator(counts, pair, sub).data.tolist() == [1e4, 1]


def test_no_nodes(gnn):
    counts, _ = exact_counts(gnn)
    empty = gnn.induced_subgraph(GRAPH, np.array([], np.int32))
    assert gnn.samplers.loss_weights(counts, empty.nodes).shape == (0,)
    A = gnn.samplers.aggregator(counts, GRAPH, empty)
    assert A.data.shape == A.data_t.shape == (0,)


SAMPLER = refimpl.Sampler("frontier", m=2, n=4)
ARROW = refimpl.as_graph([(0, 1)], n=3)
COUNTS, _ = exact_counts(refimpl)
SUB = refimpl.induced_subgraph(GRAPH, np.arange(4))
BAD = [
    ("estimate_counts", (ARROW, SAMPLER, 0), {}, "undirected"),
    ("estimate_counts", (GRAPH, "frontier", 0), {}, "Sampler"),
    ("estimate_counts", (GRAPH, SAMPLER, -1), {}, "rng"),
    ("estimate_counts", (GRAPH, refimpl.Sampler("frontier", m=8, n=9), 0), {}, "m must be"),
    ("estimate_counts", (GRAPH, SAMPLER, 0), {"coverage": 0}, "coverage must be"),
    ("estimate_counts", (GRAPH, SAMPLER, 0), {"coverage": np.inf}, "coverage must be"),
    ("estimate_counts", (GRAPH, SAMPLER, 0), {"pool": 0}, "pool must be"),
    ("estimate_counts", (graph_from_edges(0, set()), SAMPLER, 0), {}, "m must be"),
    ("loss_weights", (COUNTS[:2], [0]), {}, "counts must be SamplingCounts"),
    ("loss_weights", (COUNTS, np.array([7])), {}, "nodes must be in"),
    ("loss_weights", (COUNTS, np.array([0.5])), {}, "nodes must hold integers"),
    ("loss_weights", (COUNTS, np.array([0])), {"floor": 0}, "floor must be"),
    ("loss_weights", (COUNTS, np.array([0])), {"dtype": int}, "dtype must be"),
    ("aggregator", (None, GRAPH, SUB), {}, "counts must be SamplingCounts"),
    ("aggregator", (COUNTS, HUBS, SUB), {}, "counts must be of this graph"),
    ("aggregator", (COUNTS, ARROW, SUB), {}, "undirected"),
    ("aggregator", (COUNTS, GRAPH, GRAPH), {}, "sub must be a Subgraph"),
    ("aggregator", (COUNTS, GRAPH, SUB._replace(nodes=SUB.nodes + 4)), {}, "sub.nodes must be"),
    ("aggregator", (COUNTS, GRAPH, SUB), {"floor": -1.0}, "floor must be"),
    ("aggregator", (COUNTS, GRAPH, SUB), {"dtype": np.float16}, "dtype must be"),
]


@pytest.mark.parametrize("name, args, kwargs, message", BAD, ids=lambda x: str(x)[:20])
def test_errors(gnn, name, args, kwargs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find(gnn, name)(*args, **kwargs)


def test_a_sampler_that_draws_nothing_is_refused(gnn):
    """It would be asked for ever."""

    def draw(graph, sampler, rng, first, count, *, domain):
        return [gnn.induced_subgraph(graph, np.array([], np.int32))] * count

    with pytest.raises(ValueError, match="sampler must draw at least one node"):
        gnn.estimate_counts.unbound(SimpleNamespace(sample_many=draw), GRAPH, SAMPLER, 0)
