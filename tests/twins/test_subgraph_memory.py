"""Subgraphs of fastimpl: memory that is used again, and edge ids that are found when asked for."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from strategies import even_graph

import fastimpl
import refimpl
from fastimpl import _buffers, _graph
from refimpl import Sampler

ARRAYS = "nodes", "edge_ids", "transpose_perm"


def subgraphs(first, count=4):
    graph = even_graph(20_000, 24)
    return fastimpl.sample_many(graph, Sampler("edge", b=6000), 1, first, count)


def held(sub):
    """Return copies of all that a subgraph holds."""
    arrays = [getattr(sub, name) for name in ARRAYS]
    return [array.copy() for array in (*arrays, sub.graph.indptr, sub.graph.indices)]


def test_more_subgraphs_ask_for_no_more_memory():
    for first in range(3):
        subgraphs(8 * first, 8)
    gc.collect()
    before = _buffers.allocated()
    for first in range(3, 6):  # of about the sizes of those before
        subgraphs(8 * first, 8)
    assert _buffers.allocated() == before


def test_what_is_kept_of_a_subgraph_stays_as_it_was():
    sub = subgraphs(0)[0]
    want = held(sub)
    perm, indices = sub.transpose_perm, sub.graph.indices
    del sub
    gc.collect()
    others = subgraphs(4, 8)
    assert_array_equal(perm, want[2])
    assert_array_equal(indices, want[4])
    assert not any(np.shares_memory(perm, other.transpose_perm) for other in others)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_have_the_edge_ids(copied):
    sub, other = subgraphs(0)[0], copied(subgraphs(0)[0])
    for a, b in zip(held(sub), held(other), strict=True):
        assert_array_equal(a, b)
    assert other.counters == sub.counters


def test_edge_ids_are_those_of_the_nodes_drawn():
    """They are found later, and nothing done to the subgraph until then changes them."""
    sub, want = subgraphs(0)[0], held(subgraphs(0)[0])
    changed = sub._replace(counters=refimpl.graph.Counters(draws=7))
    sub.nodes[:] = 0
    for one in (sub, changed):
        assert one.edge_ids.dtype == np.int64
        assert_array_equal(one.edge_ids, want[1])
    assert sub.edge_ids is sub.edge_ids and changed.counters.draws == 7


def test_the_parent_is_kept_until_the_edge_ids_are_found():
    graph = even_graph(300, 8)
    gone = weakref.ref(graph)
    sub = fastimpl.induced_subgraph(graph, np.arange(0, 300, 2))
    del graph
    gc.collect()
    assert gone() is not None and sub.edge_ids.size == sub.graph.e
    gc.collect()
    assert gone() is None


def test_what_a_subgraph_has_not():
    sub = subgraphs(0)[0]
    assert "edge_ids" not in vars(sub) and not hasattr(sub, "edges")
    with pytest.raises(AttributeError, match="'Subgraph' has no attribute 'edges'"):
        sub.edges  # noqa: B018
    with pytest.raises(AttributeError):
        sub.nodes = None
    with pytest.raises(TypeError, match="a Subgraph has no edges"):
        sub._replace(edges=3)
    given = sub._replace(edge_ids=sub.nodes)
    assert given.edge_ids is sub.nodes and given._find_edge_ids is None


def test_a_thread_that_comes_second_gets_the_edge_ids_of_the_first():
    """It had found none, and asks when they are there and the parent is forgotten."""
    sub = subgraphs(0)[0]
    first = sub.edge_ids
    assert sub.__getattr__("edge_ids") is first


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_widths_of_positions(dtype):
    """The kernels for 2^31 entries, which no test can make, on a small graph."""
    graph = even_graph(500, 9)
    perm = np.empty(graph.e, dtype)
    _graph.transpose_perm(graph.indptr, graph.indices, np.empty(graph.n, dtype), perm)
    assert_array_equal(perm, refimpl.transpose_perm(graph))
    nodes = np.arange(0, 500, 3)
    want = refimpl.induced_subgraph(graph, nodes)
    _graph.narrow_up_to(2**31 - 1 if dtype is np.int32 else want.graph.e - 1)
    try:
        got = fastimpl.induced_subgraph(graph, nodes)
    finally:
        _graph.narrow_up_to(2**31 - 1)
    assert got.transpose_perm.dtype == dtype
    for a, b in zip(held(got), held(want), strict=True):
        assert_array_equal(a, b)


def test_a_position_takes_as_little_as_it_can():
    dtypes = [refimpl._support.require.position_dtype(e) for e in (0, 2**31 - 1, 2**31)]
    assert dtypes == [np.int32, np.int32, np.int64]
