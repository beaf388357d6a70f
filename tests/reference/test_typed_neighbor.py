"""Neighbour sampling with a fan-out for each relation: by hand, its law, and bad input."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import (
    KEYS,
    directed_from_edges,
    directed_graphs,
    draws_of_a_law,
    graph_from_edges,
    graphs,
)

from refimpl import TypedGraph

NEIGHBOR, RELATION = 10, 12  # the domains
DRAWS = draws_of_a_law(3000, 20000)
LEVEL = 0.01 / 2
NAMES = st.tuples(KEYS, KEYS, KEYS)
STAR = graph_from_edges(13, {(0, v) for v in range(1, 13)})


@st.composite
def typed_batches(draw):
    """Draw a TypedGraph, roots, and fan-outs of two layers: by relation, or one for all."""
    graph, R = draw(graphs(1, 10) | directed_graphs()), draw(st.integers(1, 3))
    types = draw(st.lists(st.integers(0, R - 1), min_size=graph.e, max_size=graph.e))
    roots = draw(st.permutations(range(graph.n)))[: draw(st.integers(0, graph.n))]
    one = st.sampled_from([-1, 0, 1, 2, 100])
    fanout = st.tuples(*[one] * R) | one
    typed = TypedGraph(graph, np.array(types, np.int16), R)
    return typed, np.array(roots, np.int32), [draw(st.tuples(*[one] * R)), draw(fanout)]


def written_out(graph, roots, fanouts, name):
    """Return (nodes, rows), inputs first: rows[l][i] are the positions that node i draws."""
    nodes, hops = [roots.tolist()], []
    for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
        whole = not isinstance(fanout, tuple)
        rows = []
        for v in nodes[-1]:
            mine = range(graph.indptr[v], graph.indptr[v + 1])
            row = []
            for r, f in enumerate([fanout] if whole else fanout):
                own = [j for j in mine if whole or graph.edge_types[j] == r]
                if f != -1 and len(own) > f:
                    rest = (layer, v) if whole else (layer, r, v)
                    domain = NEIGHBOR if whole else RELATION
                    key = oracles.stream_key(name[0], domain, *name[1:], *rest)
                    own = [own[i] for i in oracles.floyd(key, len(own), f)]
                row += own
            rows.append(sorted(row))
        hops.append(rows)
        met = {int(graph.indices[j]) for row in rows for j in row}
        nodes.append(nodes[-1] + sorted(met - set(nodes[-1])))
    return nodes[::-1], hops[::-1]


@given(case=typed_batches(), name=NAMES)
def test_it_is_the_sampling_written_out(gnn, case, name):
    graph, roots, fanouts = case
    seed, epoch, batch = name
    mfg = gnn.sample_mfg(graph, roots, fanouts, seed=seed, epoch=epoch, batch=batch)
    nodes, rows = written_out(graph, roots, fanouts, name)
    assert [ids.tolist() for ids in mfg.nodes] == nodes
    for block, wanted, src in zip(mfg.blocks, rows, mfg.nodes, strict=False):
        drawn = [block.edge_ids[a:b].tolist() for a, b in zip(block.start, block.end, strict=True)]
        assert drawn == wanted
        assert_array_equal(src[block.indices], graph.indices[block.edge_ids])


def test_each_relation_has_its_own_law(gnn):
    """The hub has 5 neighbours in relation 0, 7 in relation 1: all pairs are as likely."""
    types = np.zeros(STAR.e, np.int16)
    types[5:12] = 1
    graph, seen = TypedGraph(STAR, types, 2), []
    for batch in range(DRAWS[gnn.__name__]):
        mfg = gnn.sample_mfg(graph, np.array([0]), [(2, 1)], seed=9, epoch=0, batch=batch)
        seen.append(tuple(mfg.blocks[0].edge_ids.tolist()))
    law = {
        (*pair, last): Fraction(1, 10 * 7)
        for pair in combinations(range(5), 2)
        for last in range(5, 12)
    }
    assert oracles.chi_square_p(Counter(seen), law) > LEVEL


def test_several_batches_are_those_one_by_one(gnn):
    types = np.arange(STAR.e) % 2
    graph, common = TypedGraph(STAR, types, 2), {"seed": 1, "epoch": 2}
    batches = [np.array([0, 3]), np.array([5])]
    many = gnn.samplers.sample_mfg_many(graph, batches, [(2, 1), 3], first_batch=4, **common)
    for number, (batch, got) in enumerate(zip(batches, many, strict=True)):
        want = gnn.sample_mfg(graph, batch, [(2, 1), 3], batch=4 + number, **common)
        for a, b in zip(got.nodes, want.nodes, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("graph", "fanouts", "mode", "error"),
    [
        (STAR, [(1, 1)], "layered", "no relations"),
        (TypedGraph(STAR, np.zeros(STAR.e, int), 2), [(1,)], "layered", "2 relations, got 1"),
        (TypedGraph(STAR, np.zeros(STAR.e, int), 1), [(1,)], "shared", "mode must be"),
        (TypedGraph(STAR, np.zeros(STAR.e, int), 1), [(-2,)], "layered", "fanouts must be"),
    ],
    ids=["no types", "too few", "shared", "negative"],
)
def test_refused(gnn, graph, fanouts, mode, error):
    with pytest.raises(ValueError, match=error):
        gnn.sample_mfg(graph, np.array([0]), fanouts, seed=0, epoch=0, batch=0, mode=mode)


def test_a_relation_is_a_graph_of_its_own():
    graph = TypedGraph(directed_from_edges(3, {(0, 1), (0, 2), (2, 0)}), np.array([1, 0, 1]), 3)
    found = [(g.indptr.tolist(), g.indices.tolist(), w.tolist()) for g, w in graph.relation_graphs]
    assert found == [
        ([0, 1, 1, 1], [2], [1]),
        ([0, 1, 1, 2], [1, 0], [0, 2]),
        ([0, 0, 0, 0], [], []),
    ]
