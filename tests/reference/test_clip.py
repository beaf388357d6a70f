"""Clipping drops as many random nodes as are over a multiple, and nothing else."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import KEYS, power_law_graph, sampler_takes

from refimpl.samplers.nodes import KERNELS

GRAPH = power_law_graph(60)
SIZES = {"m": 6, "n": 35, "b": 15, "r": 6, "h": 5}
NODES = st.sets(st.integers(0, 2**31 - 2), max_size=40).map(sorted)


@given(nodes=NODES, unit=st.integers(1, 50), k=KEYS, c=KEYS)
def test_clip_keeps_a_multiple(gnn, nodes, unit, k, c):
    got = gnn.samplers.clip_nodes(np.array(nodes, np.int64), unit, k, c)
    assert got.dtype == np.int32
    if len(nodes) < unit:
        assert got.tolist() == nodes
        return
    assert len(got) == len(nodes) // unit * unit
    draws = oracles.Draws(k)
    draws.count = c
    dropped = oracles.dense_fisher_yates(draws, len(nodes), len(nodes) % unit)
    assert got.tolist() == [v for i, v in enumerate(nodes) if i not in dropped]


@pytest.mark.parametrize(("s", "unit"), [(17, 8), (10, 8)])
def test_dropped_positions_are_uniform(gnn, s, unit):
    nodes = np.arange(s, dtype=np.int32)
    pairs = list(combinations(range(s), s % unit))
    seen = Counter()
    for q in range(3000):
        kept = gnn.samplers.clip_nodes(nodes, unit, gnn.streams.key(11, q), 3)
        seen[tuple(sorted(set(range(s)) - set(kept.tolist())))] += 1
    law = dict.fromkeys(pairs, Fraction(1, len(pairs)))
    assert oracles.chi_square_p(seen, law) > 0.001


@pytest.mark.parametrize("name", KERNELS)
def test_sampler_clips_before_induction(gnn, name):
    """With the first draws that the sampler left of its own stream."""
    options = sampler_takes(name, SIZES)
    plain, clipped = (gnn.Sampler(name, clip=clip, **options) for clip in (None, 8))
    dropped = 0
    for q, sub in enumerate(gnn.sample_many(GRAPH, clipped, 3, 0, 8)):
        (whole,) = gnn.sample_many(GRAPH, plain, 3, q, 1)
        draws = whole.counters.draws
        assert draws > 0
        nodes = gnn.samplers.clip_nodes(whole.nodes, 8, gnn.streams.key(3, 0, q, 0), draws)
        assert_array_equal(sub.nodes, nodes)
        assert sub.counters == whole.counters
        want = gnn.induced_subgraph(GRAPH, nodes)
        assert_array_equal(sub.graph.indptr, want.graph.indptr)
        assert_array_equal(sub.graph.indices, want.graph.indices)
        assert_array_equal(sub.edge_ids, want.edge_ids)
        assert_array_equal(sub.transpose_perm, want.transpose_perm)
        assert len(nodes) % 8 == 0
        dropped += len(whole.nodes) - len(nodes)
    assert dropped > 0


def test_small_samples_are_not_clipped_away(gnn):
    sampler = gnn.Sampler("edge", b=2, clip=64)
    (sub,) = gnn.sample_many(GRAPH, sampler, 3, 0, 1)
    assert 2 <= len(sub.nodes) <= 4


def test_samplers_with_another_clip_differ(gnn):
    one, other = gnn.Sampler("edge", b=2), gnn.Sampler("edge", b=2, clip=8)
    assert one != other
    assert other == gnn.Sampler("edge", clip=np.int64(8), b=2, method="direct")
    assert "clip" not in other.options
    assert other.clip == 8
    assert eval(repr(other), {"Sampler": gnn.Sampler}) == other


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([3, 1], 2, 0, 0), ValueError),
        (([1, 1], 2, 0, 0), ValueError),
        (([-1], 2, 0, 0), ValueError),
        (([2**31 - 1], 2, 0, 0), ValueError),
        (([[1]], 2, 0, 0), ValueError),
        (([1.5], 2, 0, 0), TypeError),
        (([1], 0, 0, 0), ValueError),
        (([1], 1.0, 0, 0), TypeError),
        (([1], 1, -1, 0), ValueError),
        (([1], 1, 0, 2**64), ValueError),
    ],
)
def test_clip_nodes_rejects(gnn, arguments, error):
    with pytest.raises(error):
        gnn.samplers.clip_nodes(*arguments)


@pytest.mark.parametrize(("clip", "error"), [(0, ValueError), (-8, ValueError), (8.0, TypeError)])
def test_sampler_rejects_a_bad_clip(gnn, clip, error):
    with pytest.raises(error, match="clip"):
        gnn.Sampler("edge", b=2, clip=clip)
