"""Live rows alone give what the whole graph gives: exact sums, structure, degenerate graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mfgs import edges, hits, mfg_from_rows, mfgs, no_hits, weighted
from oracles import matrix
from strategies import KEYS, graphs


@st.composite
def cases(draw):
    mfg = draw(mfgs() | mfgs().map(weighted))
    return mfg, draw(hits(mfg))


def constants(mfg):
    """Return an integer for every node of every layer, what a cache would give."""
    return [7919 * (layer + 1) + 13 * ids.astype(np.int64) for layer, ids in enumerate(mfg.nodes)]


def sums(block, X):
    """Return twice each node's own row plus the rows of its sources."""
    A = matrix(block, np.ones(block.e, np.int64))
    return A @ X + 2 * X[: block.n_dst]


def dense_sums(mfg, hit):
    """Return the sums of every layer on the whole graph, constants where they are cached."""
    values = constants(mfg)
    H = [values[0]]
    for layer, block in enumerate(mfg.blocks, start=1):
        H.append(np.where(hit[layer - 1], values[layer], sums(block, H[-1])))
    return H


def live_sums(mfg, live):
    """Return the same, from the live rows alone."""
    H = [rows[order] for rows, order in zip(constants(mfg), live.order, strict=True)]
    for layer, block in enumerate(live.blocks, start=1):
        H[layer][live.computed[layer - 1]] = sums(block, H[layer - 1])
    return H


def two_steps(gnn, mfg, hit):
    """Return the live rows of a graph that was pruned before."""
    return gnn.history.live_layers(gnn.prune_mfg(mfg, hit))


def one_step(gnn, mfg, hit):
    """Return the live rows as an iteration asks for them."""
    return gnn.history.prune_layers(mfg, hit)


@pytest.fixture(params=[two_steps, one_step], ids=["two steps", "one step"], scope="module")
def way(request):
    return request.param


@given(case=cases())
def test_live_rows_are_computed_as_on_the_whole_graph(gnn, way, case):
    mfg, hit = case
    live = way(gnn, mfg, hit)
    for order, rows, whole in zip(
        live.order, live_sums(mfg, live), dense_sums(mfg, hit), strict=True
    ):
        np.testing.assert_array_equal(rows, whole[order])


@given(case=cases())
def test_rows_and_columns(gnn, way, case):
    """Each layer's live rows once; those computed above first; blocks on nothing else."""
    mfg, hit = case
    pruned = gnn.prune_mfg(mfg, hit)
    live = way(gnn, mfg, hit)
    assert live.order[-1].tolist() == list(range(len(mfg.nodes[-1])))
    for layer, block in enumerate(live.blocks, start=1):
        order, below = live.order[layer], live.order[layer - 1]
        computed = live.computed[layer - 1]
        np.testing.assert_array_equal(np.sort(below), np.flatnonzero(pruned.live[layer - 1]))
        np.testing.assert_array_equal(computed, ~hit[layer - 1][order])
        rows = order[computed]
        np.testing.assert_array_equal(below[: len(rows)], rows)
        others = mfg.nodes[layer - 1][below[len(rows) :]]
        assert (np.diff(others) > 0).all()  # E-V27: by node
        assert (block.n_dst, block.n_src) == (len(rows), len(below))
        before = edges(mfg.blocks[layer - 1])
        found = [[(below[u], *more) for u, *more in row] for row in edges(block)]
        assert found == [before[v] for v in rows]


@given(graph=graphs(min_nodes=1), seed=KEYS, fanouts=st.lists(st.integers(1, 3), max_size=3))
def test_without_hits_the_blocks_are_those_that_were_sampled(gnn, way, graph, seed, fanouts):
    """So is training without hits: every source of a sampled graph is there for someone."""
    roots = np.arange(0, graph.n, 2)
    mfg = gnn.sample_mfg(graph, roots, fanouts, seed=seed, epoch=0, batch=0)
    live = way(gnn, mfg, no_hits(mfg))
    for nodes, order in zip(mfg.nodes, live.order, strict=True):
        np.testing.assert_array_equal(order, np.arange(len(nodes)))
    for block, before, computed in zip(live.blocks, mfg.blocks, live.computed, strict=True):
        assert computed.all()
        for part in ("start", "end", "indices"):
            np.testing.assert_array_equal(getattr(block, part), getattr(before, part))


def test_everything_cached_leaves_empty_blocks(gnn, way):
    mfg = mfg_from_rows(4, [[1], [2, 3], []], [[0], [1, 2]], [[0, 1]])
    hit = [np.zeros(3, np.bool_), np.ones(2, np.bool_), np.zeros(1, np.bool_)]
    live = way(gnn, mfg, hit)
    assert [order.tolist() for order in live.order] == [[], [], [0, 1], [0]]
    assert [(block.n_dst, block.n_src, block.e) for block in live.blocks] == [
        (0, 0, 0),
        (0, 0, 0),
        (1, 2, 2),
    ]
    assert [c.tolist() for c in live.computed] == [[], [False, False], [True]]


def test_computed_rows_come_before_the_others(gnn, way):
    """Node 0 of layer 1 is cached, node 1 is computed, node 2 is dead."""
    mfg = mfg_from_rows(4, [[3], [0, 2], [3]], [[1, 0], [2]], [[1]])
    hit = [np.array([True, False, True]), np.array([False, True]), np.zeros(1, np.bool_)]
    live = way(gnn, mfg, hit)
    assert [order.tolist() for order in live.order] == [[1, 0, 2], [0, 1], [0, 1], [0]]
    assert [c.tolist() for c in live.computed] == [[False, True], [True, False], [True]]
    assert edges(live.blocks[0]) == [[(1, -1), (2, -1)]]


def test_models_that_leave_a_node_itself_out_are_refused(gnn):
    """A computed row would not be live below, but stands first there."""
    mfg = mfg_from_rows(3, [[1, 2]])
    with pytest.raises(ValueError, match="uses_self"):
        gnn.history.live_layers(gnn.prune_mfg(mfg, no_hits(mfg), uses_self=False))
