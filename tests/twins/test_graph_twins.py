"""Graphs made by both packages: the same entries, and the same word on their symmetry."""

import networkx as nx
import numpy as np
import pytest
from comparison import assert_twins, threads
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles import dense
from strategies import directed_graphs, even_graph, graphs, power_law_graph

import fastimpl
import refimpl
from fastimpl import _symmetry
from refimpl import Graph

COUNTS = st.sampled_from([1, 2, 3, 5])
BIG = power_law_graph(700)
ROWS = np.repeat(np.arange(BIG.n), BIG.degrees())
OPTIONS = {"symmetrize": st.booleans(), "self_loops": st.booleans()}


@given(graph=directed_graphs() | graphs(), count=COUNTS)
def test_symmetry(graph, count):
    want = bool((dense(graph) == dense(graph).T).all())
    with threads(count):
        assert _symmetry.is_symmetric(graph.indptr, graph.indices) == want
    assert Graph(graph.indptr, graph.indices).symmetric == want


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("part", range(6))
def test_a_single_entry_without_its_counterpart(count, part):
    """Dropped, or moved to where its row has a gap: at the front, in between and at the end."""
    at = min(part * BIG.e // 5, BIG.e - 1)
    keep = np.arange(BIG.e) != at
    u, v = ROWS[at], BIG.indices[at]
    free = np.setdiff1d(np.arange(BIG.n), [*BIG.indices[u == ROWS], u])[part * 50]
    moved = np.r_[ROWS[keep], u], np.r_[BIG.indices[keep], free]
    for graph in (
        refimpl.graph.from_edges(ROWS[keep], BIG.indices[keep], BIG.n),
        refimpl.graph.from_edges(*moved, BIG.n),
    ):
        with threads(count):
            assert _symmetry.is_symmetric(BIG.indptr, BIG.indices)
            assert _symmetry.is_symmetric(graph.indptr, graph.indices) == (u == v)
        assert graph.symmetric == (u == v)


@given(graph=directed_graphs(), count=COUNTS, **OPTIONS)
def test_as_graph(graph, count, **options):
    nodes = nx.DiGraph()
    nodes.add_nodes_from(range(graph.n))
    nodes.add_edges_from(zip(*of(graph), strict=True))
    for source in (graph, graph.to_scipy(), (graph.indptr, graph.indices), nodes):
        with threads(count):
            got = fastimpl.as_graph(source, **options)
        assert got.symmetric == refimpl.as_graph(source, **options).symmetric
        assert_twins("as_graph", source, count=count, **options)
        assert_twins("graph_and_names", source, count=count, **options)


@given(graph=directed_graphs(), count=COUNTS, **OPTIONS)
def test_from_edges(graph, count, **options):
    assert_twins("from_edges", *of(graph), graph.n, count=count, **options)
    got = fastimpl.graph.from_edges(*of(graph), graph.n)
    assert_array_equal(got.indices, graph.indices)


def of(graph):
    return np.repeat(np.arange(graph.n), graph.degrees()), graph.indices


LARGE_GRAPH = even_graph(3000, 20)
U, V = of(LARGE_GRAPH)

TWINS = {
    "as_graph": test_as_graph,
    "from_edges": test_from_edges,
    "graph_and_names": test_as_graph,
}

ERRORS = [
    *((name, *case) for name in ("as_graph", "graph_and_names") for case in (
        (np.array([(0, 1), (1, 2)]),),
        (np.zeros((3, 3), int),),
        (np.zeros((3, 3)), {"dense": "yes"}),
        (np.array([[np.nan]]), {"dense": True}),
        (BIG, {"n": 3}),
        (BIG, {"dense": True}),
        ([(0, 1)], {"symmetrize": 1}),
        ("edges",),
    )),
    ("from_edges", [0], [0, 1]),
    ("from_edges", [0.5], [0]),
    ("from_edges", [0], [-1]),
    ("from_edges", [0], [1], 1),
    ("from_edges", [0], [1], {"self_loops": None}),
]  # fmt: skip

LARGE = {
    "as_graph": lambda: fastimpl.as_graph((LARGE_GRAPH.indptr, LARGE_GRAPH.indices)),
    "from_edges": lambda: fastimpl.graph.from_edges(U, V),
    "graph_and_names": lambda: fastimpl.graph.graph_and_names(LARGE_GRAPH.to_scipy()),
}
