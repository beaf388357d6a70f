"""The tree that sums over workers are taken along, and whose minibatches are whose."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worker_cases import divisors, tree_sum

from refimpl.lab.distributed.collectives import halves, total, total_of_parts, within
from refimpl.training.subgraph_pool import Turns

COUNTS = range(1, 70)


def nodes_of(lo, hi):
    """Return all nodes of the tree over lo .. hi - 1, as it is defined."""
    found = {(lo, hi)}
    if hi - lo > 1:
        mid = lo + max(2**k for k in range(20) if 2**k < hi - lo)
        found |= nodes_of(lo, mid) | nodes_of(mid, hi)
    return found


@pytest.mark.parametrize("count", COUNTS)
def test_halves(count):
    for lo in (0, 5):
        if count > 1:
            mid = lo + max(2**k for k in range(20) if 2**k < count)
            cut = halves(lo, lo + count)
            assert cut in (mid, ((lo, mid), (mid, lo + count)))


@pytest.mark.parametrize("count", COUNTS)
def test_total_is_the_sum_in_the_order_of_the_tree(count):
    """Exactly with integers, and to the bit with floats, for which the order matters."""
    asked = []

    def part(w):
        asked.append(w)
        return 3**w

    assert total(0, count, part) == sum(3**w for w in range(count))
    assert asked == list(range(count))
    rng = np.random.default_rng(count)
    for dtype in (np.float32, np.float64):
        items = [
            (10.0 ** rng.integers(-6, 6, 9) * rng.standard_normal(9)).astype(dtype) for _ in asked
        ]
        kept = [item.copy() for item in items]
        got = total(2, 2 + count, lambda w, items=items: items[w - 2])
        assert got.dtype == dtype
        assert got.tobytes() == tree_sum(kept).tobytes()
        assert all(np.array_equal(a, b) for a, b in zip(items, kept, strict=True))


def test_other_orders_have_other_bits():
    """So equal bits say something."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((8, 100)).astype(np.float32)
    assert tree_sum(list(items)).tobytes() != sum(items[1:], items[0]).tobytes()
    assert tree_sum(list(items)).tobytes() != tree_sum(list(np.roll(items, 1, axis=0))).tobytes()


def test_every_two_orders_of_a_tree_of_three_differ():
    """The tree over 5, 6, 7 is (5 + 6) + 7."""
    items = dict(zip((5, 6, 7), np.array([2.0**53, 1.0, 1.0]), strict=True))
    assert total(5, 8, items.get) == 2.0**53 != items[5] + (items[6] + items[7])


@pytest.mark.parametrize("count", range(1, 40))
def test_within_covers_with_the_largest_nodes(count):
    lo, hi = 3, 3 + count
    nodes = nodes_of(lo, hi)
    for first in range(lo, hi + 1):
        for last in range(first, hi + 1):
            parts = list(within(first, last, lo, hi))
            assert all(part in nodes for part in parts)
            assert [w for a, b in parts for w in range(a, b)] == list(range(first, last))
            assert all(a < b for a, b in parts)
            inside = {(a, b) for a, b in nodes if first <= a and b <= last}
            maximal = {
                n
                for n in inside
                if not any(o != n and o[0] <= n[0] and n[1] <= o[1] for o in inside)
            }
            assert set(parts) == maximal
            assert len(parts) <= 2 * max(1, (count - 1).bit_length())


@given(st.data(), st.integers(1, 40))
def test_the_parts_of_any_division_give_the_total(draw, count):
    """Cut the workers among ranks, evenly or not: exact with fractions, to the bit with floats."""
    cuts = sorted(draw.draw(st.lists(st.integers(0, count), max_size=6)))
    shares = list(pairwise([0, *cuts, count]))
    numbers = st.floats(-1e9, 1e9, width=32)
    items = draw.draw(st.lists(numbers, min_size=count, max_size=count))
    for kind in (np.float32, np.float64, Fraction):
        values = [kind(item) for item in items]
        parts = {
            (a, b): total(a, b, values.__getitem__)
            for first, last in shares
            for a, b in within(first, last, 0, count)
        }
        got = total_of_parts(0, count, parts)
        assert got == tree_sum(values) and type(got) is type(values[0])


@pytest.mark.parametrize("workers", range(1, 13))
def test_every_minibatch_is_one_workers(workers):
    """In step i worker w has number i W + w; each rank counts its own from 0."""
    for ranks in divisors(workers):
        share, seen = workers // ranks, []
        for rank in range(ranks):
            turns = Turns(workers, rank * share, (rank + 1) * share)
            numbers = [turns.number(count) for count in range(5 * share)]
            assert numbers == [i * workers + w for i in range(5) for w in turns.mine]
            assert [turns.begun(i) for i in range(5)] == [i * share for i in range(5)]
            seen += numbers
        assert sorted(seen) == list(range(5 * workers))


@given(st.data(), st.integers(1, 8))
def test_drawing_by_count_draws_by_number(draw, workers):
    """In one go or in many: item c here is the item of its number."""
    share = draw.draw(st.sampled_from(divisors(workers)))
    first = share * draw.draw(st.integers(0, workers // share - 1))
    turns = Turns(workers, first, first + share)
    drawn = turns.drawing(lambda number, size: [f"item {number + k}" for k in range(size)])
    count, size = draw.draw(st.integers(0, 30)), draw.draw(st.integers(1, 20))
    expected = [i * workers + w for i in range(60) for w in range(first, first + share)]
    assert list(drawn(count, size)) == [f"item {n}" for n in expected[count : count + size]]
