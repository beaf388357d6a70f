"""Parts of the graph for workers: clusters at first, then a share of their nodes changes places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import even_graph, graphs

from refimpl.lab.distributed.local import first_parts, shuffled


@given(graphs(min_nodes=1), st.data())
def test_first_parts_are_disjoint_cover_and_are_not_empty(graph, draw):
    workers = draw.draw(st.integers(1, graph.n))
    parts = first_parts(graph, workers, 3)
    assert parts.shape == (graph.n,) and parts.dtype == np.int32
    assert np.bincount(parts, minlength=workers).all() and parts.max() < workers
    assert np.array_equal(parts, first_parts(graph, workers, 3))


def test_first_parts_keep_more_edges_than_chance():
    """And are of about one size."""
    graph = even_graph(400, 8)
    parts = first_parts(graph, 4, 0)
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    inside = (parts[rows] == parts[graph.indices]).mean()
    assert inside > 0.3  # 0.25 by chance
    assert np.ptp(np.bincount(parts)) <= 40


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.floats(0, 1),
    st.integers(0, 2**64 - 1),
    st.integers(1, 100),
)
def test_parts_keep_their_sizes_and_just_a_share_moves(parts, share, seed, epoch):
    parts = np.array(parts, np.int32)
    given = parts.copy()
    found = shuffled(parts, share, seed, epoch)
    assert np.array_equal(parts, given)
    assert found.dtype == np.int32 and found.shape == parts.shape
    assert sorted(found) == sorted(parts)
    for part in range(5):
        left = int(((parts == part) & (found != part)).sum())
        assert left <= round(share * int((parts == part).sum()))
    assert np.array_equal(found, shuffled(parts, share, seed, epoch))


def test_share_0_never_moves():
    parts = np.arange(1000, dtype=np.int32) % 7
    for epoch in range(1, 50):
        assert np.array_equal(shuffled(parts, 0, 5, epoch), parts)


SIZES = (40, 70, 90)


def tables(share, draws):
    """Return (old part x new part) counts of so many shuffles, and how often each node moved."""
    parts = np.repeat(np.arange(3, dtype=np.int32), SIZES)
    counts, moved = np.zeros((draws, 3, 3), int), np.zeros(len(parts))
    for k in range(draws):
        found = shuffled(parts, share, k // 10, 1 + k % 10)
        np.add.at(counts[k], (parts, found), 1)
        moved += found != parts
    return counts, moved / draws


def test_with_share_1_the_new_part_is_independent_of_the_old():
    """By the chi-square of each table, whose mean and variance are known."""
    draws, n, sizes = 1000, sum(SIZES), np.array(SIZES)
    counts, moved = tables(1.0, draws)
    expected = np.outer(sizes, sizes) / n
    chi2 = ((counts - expected) ** 2 / expected).sum(axis=(1, 2))
    mean = 4 * n / (n - 1)
    assert abs(chi2.mean() - mean) < 5 * np.sqrt(2 * 4 / draws)
    mean_table = counts.mean(axis=0)
    assert np.abs(mean_table - expected).max() < 5 * np.sqrt(expected.max() / draws)
    chance = np.repeat(1 - sizes / n, SIZES)  # of every single node
    assert np.abs(moved - chance).max() < 5 * np.sqrt(0.25 / draws)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_every_node_is_as_likely_to_be_drawn_as_any(share):
    """A drawn node comes back as often as the places that its part left are of all."""
    draws, leaving = 1000, np.array([round(share * size) for size in SIZES])
    counts, moved = tables(share, draws)
    stays = leaving / leaving.sum()
    chance = np.repeat(leaving / SIZES * (1 - stays), SIZES)
    assert np.abs(moved - chance).max() < 5 * np.sqrt(0.25 / draws)
    expected = np.outer(leaving, leaving) / leaving.sum()
    apart = ~np.eye(3, dtype=bool)
    assert np.abs(counts.mean(axis=0) - expected)[apart].max() < 5 * np.sqrt(20 / draws)


def test_the_places_are_dealt_in_an_order_of_their_own():
    """Two nodes leave each of two parts: both pairs come back in 1 of 6 cases, swap in 1 of 6."""
    parts, draws = np.repeat(np.arange(2, dtype=np.int32), 10), 3000
    moved = [(shuffled(parts, 0.2, seed, 1) != parts).sum() for seed in range(draws)]
    counts = np.bincount(moved, minlength=5)
    assert counts.sum() == counts[[0, 2, 4]].sum() == draws
    expected = draws / 6 * np.array([1, 4, 1])
    assert ((counts[[0, 2, 4]] - expected) ** 2 / expected).sum() < 20  # 5e-5


def test_epochs_and_seeds_move_other_nodes():
    parts = np.repeat(np.arange(4, dtype=np.int32), 100)
    found = [shuffled(parts, 0.3, seed, epoch) for seed in range(3) for epoch in (1, 2, 3)]
    assert len({one.tobytes() for one in found}) == 9
    # two epochs move one node as often as chance has it: 0.225 ** 2 of 400
    both = [((a != parts) & (b != parts)).sum() for a in found for b in found if a is not b]
    assert abs(np.mean(both) - 400 * 0.225**2) < 4
