"""Memory that kernels keep for a graph: as much as was met, and clean when it is used again."""

import numpy as np
import pytest
from comparison import assert_bits, assert_twins, threads
from fastimpl._graph import NodeSet
from fastimpl.samplers._relabelling import Relabelling
from hypothesis import given
from hypothesis import strategies as st
from strategies import even_graph, power_law_graph

import fastimpl
import refimpl
from fastimpl import _lending
from fastimpl.samplers.edge import _nodes_with_edges

MANY = 2**22
FEW = 4096  # slots of a new table


@pytest.fixture(scope="module")
def sparse():
    """Return a graph with many nodes, few of which have edges: ids that collide, and others."""
    rng = np.random.default_rng(0)
    names = np.unique(np.r_[np.arange(512) * 8192, rng.integers(0, MANY, 6000)])
    u, v = names[rng.integers(0, len(names), (2, 60_000))]
    return refimpl.graph.from_edges(u, v, MANY, symmetrize=True, self_loops=False), names


def slots_of(graph):
    """Return the slots of a graph's relabellings, which hold nothing."""
    kept = [relabelling.slots() for relabelling in _lending.kept_for(graph)[Relabelling]]
    assert not any(held for _, held in kept)
    return max(slots for slots, _ in kept)


def test_neighbours_take_memory_in_proportion_to_what_is_met(sparse):
    graph, names = sparse
    fastimpl.sample_mfg(graph, names[:9], (3,), seed=0, epoch=0, batch=0)
    assert slots_of(graph) == FEW
    name = {"seed": 1, "epoch": 0, "batch": 0}
    for mode in ("layered", "shared", "labor", "labor_exact", "labor_2"):
        for roots in (names[:900], names[5000:5003], names[:512][::-1]):  # used again, each clean
            assert_twins("sample_mfg", graph, roots, (9, 4, 3), **name, mode=mode)
            assert_twins("layer_sample", graph, roots, (9, 4), 3)
    met = len(fastimpl.sample_mfg(graph, names, (9,), **name).nodes[0])
    assert met == len(names) and FEW < slots_of(graph) <= 4 * met < MANY / 8


def test_a_relabelling_of_a_large_graph_begins_small():
    assert Relabelling(2**31 - 1).slots() == Relabelling(2**21 + 1).slots() == (FEW, 0)
    for few in (0, 100, 2**21):  # an array: quicker, and never large
        assert Relabelling(few).slots() == (few, 0)


@given(nodes=st.lists(st.integers(0, 2**31 - 2), unique=True, max_size=60), times=st.integers(1, 9))
def test_a_table_is_empty_again(nodes, times):
    """What is left in it would be found by the next minibatch; colliding ids among others."""
    known = Relabelling(2**31 - 1)
    for shift in range(times):
        met = np.array(sorted({(node + shift * 2**20) % (2**31 - 1) for node in nodes}), np.int32)
        known.enter(met)
        assert known.slots()[1] == len(met)
        known.leave(met[::-1].copy())
        assert known.slots()[1] == 0


@pytest.mark.parametrize("graph", [even_graph(500, 20), power_law_graph(500)], ids=["even", "hubs"])
def test_a_set_of_nodes_is_used_again_and_empty(graph):
    want = refimpl.induced_subgraph(graph, np.arange(0, 500, 7))
    for nodes in (np.arange(500), np.arange(3), np.arange(0)):
        fastimpl.induced_subgraph(graph, nodes)
        (kept,) = _lending.kept_for(graph)[NodeSet]
        assert_bits(fastimpl.induced_subgraph(graph, np.arange(0, 500, 7)), want)
        assert _lending.kept_for(graph)[NodeSet] == [kept]


def test_edges_need_no_table_where_no_node_is_isolated():
    even, hubs = even_graph(500, 20), power_law_graph(500)
    assert even.degrees().min() > 0 == hubs.degrees().min()
    for graph, length in ((even, 0), (hubs, np.count_nonzero(hubs.degrees()))):
        with threads(2):
            assert_twins("edge", graph, 3, b=50)
        (first, *_), outcomes = _lending.kept_for(graph)[_nodes_with_edges]
        assert len(first) == length and outcomes == np.count_nonzero(graph.degrees())
