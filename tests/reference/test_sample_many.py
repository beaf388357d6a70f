"""sample_many: subgraph q depends on the seed and q alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from oracles import dense
from strategies import graph_from_edges, power_law_graph
from threadpoolctl import threadpool_limits

from refimpl.lab.backend import find

GRAPH = power_law_graph(60)
SAMPLERS = {
    "frontier": {"m": 5, "n": 25, "deg_cap": 4},
    "pin_tile": {"m": 5, "n": 25, "eta": 1.5, "include": "popped"},
}
FIELDS = ("nodes", "edge_ids", "transpose_perm")


def same(a, b):
    """Say whether two subgraphs are equal in every part."""
    graphs_equal = all(
        np.array_equal(getattr(a.graph, x), getattr(b.graph, x)) for x in ("indptr", "indices")
    )
    arrays_equal = all(np.array_equal(getattr(a, x), getattr(b, x)) for x in FIELDS)
    return graphs_equal and arrays_equal and a.counters == b.counters


def all_same(first, second):
    """Say whether two lists hold equal subgraphs in the same order."""
    return all(same(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture(params=SAMPLERS)
def draw(request, gnn):
    """Draw from the sampler of this name: draw(first, count, seed, graph)."""

    def draw(first, count, seed=3, graph=GRAPH):
        sampler = gnn.Sampler(request.param, **SAMPLERS[request.param])
        return gnn.sample_many(graph, sampler, seed, first, count)

    draw.kernel, draw.options = find(gnn, request.param), SAMPLERS[request.param]
    return draw


def test_subgraph_q_is_the_kernel_on_the_streams_of_q(gnn, draw):
    for q, sub in enumerate(draw(0, 20)):
        want = draw.kernel(
            GRAPH, gnn.streams.key(3, 0, q, 0), gnn.streams.key(3, 0, q, 1), **draw.options
        )
        assert_array_equal(sub.nodes, want.nodes)
        assert sub.counters == want.counters
        assert same(sub, gnn.induced_subgraph(GRAPH, sub.nodes)._replace(counters=want.counters))
        assert_array_equal(dense(sub.graph), dense(GRAPH)[np.ix_(sub.nodes, sub.nodes)])
        assert_array_equal(sub.transpose_perm, gnn.transpose_perm(sub.graph))


def test_batches_do_not_matter(draw):
    whole = draw(0, 37)
    for first, count in ((0, 1), (0, 5), (7, 1), (7, 17), (36, 1), (31, 6)):
        part = draw(first, count)
        assert len(part) == count
        assert all_same(part, whole[first : first + count])


def test_different_q_and_seed_differ(draw):
    nodes = {tuple(sub.nodes) for sub in draw(0, 30) + draw(0, 30, seed=4)}
    assert len(nodes) > 55


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(draw, threads):
    """The whole result is drawn before the number of threads changes."""
    want = draw(0, 40)
    with threadpool_limits(threads):
        assert all_same(draw(0, 40), want)


def test_generator_as_seed(gnn, draw):
    first, second = (draw(0, 2, seed=np.random.default_rng(1)) for _ in range(2))
    assert all_same(first, second)
    seed = gnn.streams.as_seed(np.random.default_rng(1))
    assert all_same(first, draw(0, 2, seed=seed))


def test_last_number_and_nothing_at_all(gnn, draw):
    assert draw(5, 0) == []
    (sub,) = draw(2**40, 1)
    keys = (gnn.streams.key(3, 0, 2**40, s) for s in (0, 1))
    assert_array_equal(sub.nodes, draw.kernel(GRAPH, *keys, **draw.options).nodes)


def test_isolated_nodes_only(draw):
    (sub,) = draw(0, 1, graph=graph_from_edges(6, set()))
    assert (sub.graph.n, sub.graph.e) == (5, 0)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"first": -1}, ValueError),
        ({"count": -1}, ValueError),
        ({"count": 1.0}, TypeError),
        ({"first": "0"}, TypeError),
        ({"rng": -1}, ValueError),
        ({"rng": "seed"}, TypeError),
        ({"sampler": "frontier"}, TypeError),
        ({"graph": graph_from_edges(3, {(0, 1)})}, ValueError),  # m is 5
    ],
)
def test_sample_many_rejects(gnn, change, error):
    sampler = gnn.Sampler("frontier", m=5, n=9)
    arguments = {"graph": GRAPH, "sampler": sampler, "rng": 0, "first": 0, "count": 1}
    with pytest.raises(error):
        gnn.sample_many(**{**arguments, **change})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("nobody", {"m": 1, "n": 2}),
        ("frontier", {"m": 1}),
        ("frontier", {"m": 1, "n": 2, "eta": 2}),
        ("pin_tile", {"m": 1, "n": 2, "speed": 2}),
        (3, {"m": 1, "n": 2}),
    ],
)
def test_sampler_rejects(gnn, name, options):
    with pytest.raises((TypeError, ValueError)):
        gnn.Sampler(name, **options)
