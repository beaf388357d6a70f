"""Layer sampling, its draws written out, its law, and how many nodes it meets."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import (
    KEYS,
    directed_graphs,
    draws_of_a_law,
    even_graph,
    graph_from_edges,
    graphs,
    power_law_graph,
)

DRAWS = draws_of_a_law(4000, 20000)
LEVEL = 0.01 / 4
HUBS, EVEN = power_law_graph(400), even_graph(2000, 40)
# A hub and its five neighbours, with 2, 2, 2, 3 and 3 neighbours of their own.
GRAPH = graph_from_edges(
    7, {(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (3, 4), (4, 5), (5, 6)}
)
FANOUTS = st.lists(st.sampled_from([-1, 0, 1, 1, 2, 2, 3, 5, 100]), max_size=3)


def rows_drawn(graph, dst, fanout, draws):
    """Return, for each node, the positions in `graph.indices` that it draws."""
    rows = []
    for v in dst:
        position = list(range(graph.indptr[v], graph.indptr[v + 1]))
        if fanout != -1 and len(position) > fanout:
            picks = oracles.dense_fisher_yates(draws, len(position), fanout)
            position = [position[i] for i in sorted(picks)]
        rows.append(position)
    return rows


def written_out(graph, roots, fanouts, key):
    """Return (nodes, rows) of layer sampling, inputs first: rows[l][i] as in `rows_drawn`."""
    draws, nodes, hops = oracles.Draws(key), [list(roots)], []
    for fanout in fanouts:
        hops.append(rows_drawn(graph, nodes[-1], fanout, draws))
        met = {int(graph.indices[j]) for row in hops[-1] for j in row}
        nodes.append(nodes[-1] + sorted(met - set(nodes[-1])))
    return nodes[::-1], hops[::-1]


@st.composite
def graph_and_roots(draw):
    graph = draw(graphs(max_nodes=12) | directed_graphs())
    roots = draw(st.permutations(range(graph.n)))[: draw(st.integers(0, graph.n))]
    return graph, np.array(roots, draw(st.sampled_from([np.int32, np.int64])))


@given(graph_and_roots=graph_and_roots(), fanouts=FANOUTS, key=KEYS)
def test_layer_sample_is_what_is_written_out(gnn, graph_and_roots, fanouts, key):
    graph, roots = graph_and_roots
    nodes, hops = written_out(graph, roots.tolist(), fanouts, key)
    mfg = gnn.layer_sample(graph, roots, fanouts, key)
    assert isinstance(mfg, gnn.MFG)
    assert [array.tolist() for array in mfg.nodes] == nodes
    assert all(array.dtype == np.int32 for array in mfg.nodes)
    assert len(mfg.blocks) == len(fanouts)
    for block, src, rows in zip(mfg.blocks, nodes, hops, strict=False):
        assert isinstance(block, gnn.Block)
        assert block.n_src == len(src)
        assert_array_equal(block.start, np.cumsum([0, *map(len, rows)])[:-1])
        assert_array_equal(block.degrees(), [len(row) for row in rows])
        assert block.edge_ids.tolist() == [j for row in rows for j in row]
        assert [src[k] for k in block.indices] == graph.indices[block.edge_ids].tolist()
    assert not np.shares_memory(mfg.nodes[-1], roots)


def check_invariants(graph, roots, fanouts, mfg):
    """Prefixes, at most so many distinct true neighbours, no source without a use."""
    assert_array_equal(mfg.nodes[-1], roots)
    for layer, fanout in enumerate(fanouts[::-1]):
        src, dst, block = mfg.nodes[layer], mfg.nodes[layer + 1], mfg.blocks[layer]
        assert (block.n_src, block.n_dst) == (len(src), len(dst))
        assert_array_equal(src[: len(dst)], dst)
        assert len(np.unique(src)) == len(src)
        assert (np.diff(src[len(dst) :]) > 0).all()
        assert set(range(len(dst), len(src))) <= set(block.indices.tolist())
        near = graph.degrees()[dst]
        want = near if fanout < 0 else np.minimum(near, fanout)
        assert_array_equal(block.degrees(), want)
        assert len(src) <= len(dst) + want.sum()
        row = np.repeat(np.arange(len(dst)), want)
        assert_array_equal(oracles.rows(graph)[block.edge_ids], dst[row])
        assert_array_equal(graph.indices[block.edge_ids], src[block.indices])
        assert (np.diff(block.edge_ids)[row[1:] == row[:-1]] > 0).all()  # no neighbour twice
        checked = (block.start, block.end, block.indices, block.n_src, block.edge_ids)
        assert type(block)(*checked).e == block.e
        assert not any(array.flags.writeable for array in checked if array is not block.n_src)


@pytest.mark.parametrize("fanouts", [(25, 10), (3, 2, 2), (-1, 4), (70, -1), (90,), (2,) * 5])
def test_invariants_on_hundreds_of_nodes(gnn, fanouts):
    for graph in (HUBS, EVEN):
        for key in range(3):
            roots = np.random.default_rng(key).permutation(graph.n)[:40]
            mfg = gnn.layer_sample(graph, roots, fanouts, key)
            check_invariants(graph, roots, fanouts, mfg)


@given(graph_and_roots=graph_and_roots(), hops=st.integers(0, 3), key=KEYS)
def test_all_neighbours_are_the_whole_neighbourhood(gnn, graph_and_roots, hops, key):
    """No draw decides anything: any key gives what a search in breadth reaches."""
    graph, roots = graph_and_roots
    fanouts = [-1] * hops
    mfg = gnn.layer_sample(graph, roots, fanouts, key)
    check_invariants(graph, roots, fanouts, mfg)
    reached = set(roots.tolist())
    for nodes in mfg.nodes[::-1]:
        assert set(nodes.tolist()) == reached
        reached |= {u for v in reached for u in oracles.neighbours(graph, v)}
    most = gnn.layer_sample(graph, roots, [graph.n] * hops, key ^ 1)
    for ours, theirs in zip(mfg.nodes, most.nodes, strict=True):
        assert_array_equal(ours, theirs)


def test_a_row_with_just_enough_neighbours_draws_nothing(gnn):
    """Node 4 has three; behind it, the hub draws the first numbers of the stream."""
    (block,) = gnn.layer_sample(GRAPH, np.array([4, 0]), [3], 9).blocks
    picks = oracles.dense_fisher_yates(oracles.Draws(9), 5, 3)
    assert block.edge_ids[3:].tolist() == sorted(int(GRAPH.indptr[0]) + i for i in picks)


def test_fanouts_begin_at_the_roots(gnn):
    """E-G5: the GraphSAGE code's reading is the reversed list: fewer nodes at the roots' hop."""
    roots = np.arange(30)
    ours = gnn.layer_sample(EVEN, roots, (9, 4), 1)
    theirs = gnn.layer_sample(EVEN, roots, (9, 4)[::-1], 1)
    assert (ours.blocks[1].e, theirs.blocks[1].e) == (30 * 9, 30 * 4)
    assert ours.blocks[0].e == 4 * len(ours.nodes[1])
    assert theirs.blocks[0].e == 9 * len(theirs.nodes[1])


def outcome(mfg):
    """Return the neighbours drawn by every row, as nodes of the graph, roots first."""
    return tuple(
        tuple(
            tuple(src[block.indices[a:b]].tolist())
            for a, b in zip(block.start, block.end, strict=True)
        )
        for src, block in zip(mfg.nodes[-2::-1], mfg.blocks[::-1], strict=True)
    )


def without_replacement(near, fanout):
    """Return {what a node draws: probability}."""
    picks = list(combinations(near, min(fanout, len(near))))
    return dict.fromkeys(picks, Fraction(1, len(picks)))


def with_replacement(near, fanout):
    law = Counter()
    for pick in product(near, repeat=fanout):
        law[tuple(sorted(set(pick)))] += Fraction(1, len(near) ** fanout)
    return law


def exact_law(graph, dst, fanouts, row_law=without_replacement):
    """Return {outcome: probability}: rows draw independently of each other and of other hops."""
    if not fanouts:
        return {(): Fraction(1)}
    law = Counter()
    rows = [row_law(oracles.neighbours(graph, v), fanouts[0]).items() for v in dst]
    for picks in product(*rows):
        drawn = tuple(pick for pick, _ in picks)
        met = {u for pick in drawn for u in pick}
        chance = np.prod([p for _, p in picks])
        after = exact_law(graph, dst + sorted(met - set(dst)), fanouts[1:], row_law)
        for rest, p in after.items():
            law[(drawn, *rest)] += chance * p
    return law


def seen(gnn, roots, fanouts):
    counts = Counter()
    for q in range(DRAWS[gnn.__name__]):
        counts[
            outcome(gnn.layer_sample(GRAPH, np.array(roots), fanouts, gnn.streams.key(3, 4, q)))
        ] += 1
    return counts


@pytest.mark.parametrize(("roots", "fanouts"), [([0], (2, 1)), ([5, 0], (2,))])
def test_layer_sample_has_the_exact_law(gnn, roots, fanouts):
    law = exact_law(GRAPH, roots, fanouts)
    assert sum(law.values()) == 1
    assert oracles.chi_square_p(seen(gnn, roots, fanouts), law) > LEVEL


def test_a_wrong_law_of_neighbours_is_told_apart(gnn):
    """The test has power: draws with replacement would be rejected."""
    law = exact_law(GRAPH, [5, 0], (2,), with_replacement)
    assert oracles.chi_square_p(seen(gnn, [5, 0], (2,)), law) < 1e-6


def test_calls_share_nothing(gnn):
    """One graph after another, after an error, and from several Python threads at once."""
    jobs = [
        (graph, np.arange(q % 5, 60, 7), fanouts, q)
        for q in range(6)
        for graph in (HUBS, GRAPH, EVEN)
        for fanouts in ((4, 3), (-1,))
    ]
    jobs = [(graph, roots[roots < graph.n], fanouts, q) for graph, roots, fanouts, q in jobs]
    want = [written_out(graph, roots.tolist(), f, q)[0] for graph, roots, f, q in jobs]

    def nodes(job):
        return [array.tolist() for array in gnn.layer_sample(*job).nodes]

    assert [nodes(job) for job in jobs] == want
    with pytest.raises(ValueError, match="distinct"):
        gnn.layer_sample(HUBS, np.array([3, 5, 3]), (4, 3), 0)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(nodes, jobs)) == want


BAD = {
    "graph": (("graph", [0], [2], 1), TypeError, "graph must be a Graph"),
    "roots-outside": ((GRAPH, [7], [2], 1), ValueError, "roots must be in"),
    "roots-twice": ((GRAPH, [1, 0, 1], [2], 1), ValueError, "roots must be distinct"),
    "roots-float": ((GRAPH, [0.0], [2], 1), TypeError, "roots must hold integers"),
    "roots-2d": ((GRAPH, [[0]], [2], 1), ValueError, "roots must be 1-D"),
    "fanouts-int": ((GRAPH, [0], 2, 1), TypeError, "fanouts must be a sequence"),
    "fanouts-float": ((GRAPH, [0], [2.0], 1), TypeError, "fanouts must be an integer"),
    "fanouts-negative": ((GRAPH, [0], [3, -2], 1), ValueError, "fanouts must be"),
    "fanouts-large": ((GRAPH, [0], [2**31], 1), ValueError, "fanouts must be"),
    "key-negative": ((GRAPH, [0], [2], -1), ValueError, "key must be"),
    "key-float": ((GRAPH, [0], [2], 1.0), TypeError, "key must be an integer"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused(gnn, case):
    arguments, error, message = BAD[case]
    with pytest.raises(error, match=message):
        gnn.layer_sample(*arguments)
