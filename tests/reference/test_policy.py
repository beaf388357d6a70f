"""Which embeddings are kept: laws of FreshGNN's policy, and its example by hand."""

import math

import numpy as np
import pytest
from dict_cache import DictCache
from hypothesis import given
from hypothesis import strategies as st

SCORES = st.sampled_from([0.0, -0.0, 1e-300, 0.5, 1.0, 3.0, math.inf]) | st.floats(0, 1e300)
FRACTIONS = st.sampled_from([0, 0.1, 0.3, 0.5, 0.9, 1]) | st.floats(0, 1)


@st.composite
def scored_ids(draw, max_rows=30):
    score = draw(st.lists(SCORES, max_size=max_rows), label="score")
    ids = draw(st.permutations(range(0, 3 * len(score), 3)), label="ids")
    return np.array(score, float), np.array(ids, np.int64)


def by_sorting(score, ids, p):
    """Return the definition of the stable rows, one comparison at a time."""
    k = math.floor(p * len(score) + 1e-9)
    lower = [
        sum((a, v) < (b, w) for a, v in zip(score, ids, strict=True))
        for b, w in zip(score, ids, strict=True)
    ]
    return np.array([rank < k for rank in lower], np.bool_)


@given(rows=scored_ids(), p=FRACTIONS)
def test_stable_rows_are_those_of_lowest_rank(gnn, rows, p):
    """So many as the fraction says, those of lowest rank: also where scores are equal."""
    score, ids = rows
    low = gnn.history.select_stable(score, ids, p)
    assert low.dtype == np.bool_ and low.shape == score.shape
    assert np.array_equal(low, by_sorting(score, ids, p))
    assert low.sum() == math.floor(p * len(score) + 1e-9)


@given(rows=scored_ids(), p=FRACTIONS, q=FRACTIONS)
def test_more_is_stable_with_a_larger_fraction(gnn, rows, p, q):
    p, q = sorted((p, q))
    assert not (gnn.history.select_stable(*rows, p) & ~gnn.history.select_stable(*rows, q)).any()


@given(rows=scored_ids(), p=FRACTIONS, data=st.data())
def test_neither_order_nor_scale_matters(gnn, rows, p, data):
    score, ids = rows
    low = gnn.history.select_stable(score, ids, p)
    order = np.array(data.draw(st.permutations(range(len(ids)))), np.int64)
    assert np.array_equal(gnn.history.select_stable(score[order], ids[order], p), low[order])
    plain = np.where(np.isfinite(score) & (score > 1e-200), score, 0)  # no underflow, no overflow
    for scale in (0.25, 1024.0):
        assert np.array_equal(
            gnn.history.select_stable(scale * plain, ids, p),
            gnn.history.select_stable(plain, ids, p),
        )


@pytest.mark.parametrize("score", [0.0, 2.5, math.inf])
def test_of_equal_scores_the_lowest_ids(gnn, score):
    """With an equal score for all, p decides how many."""
    ids = np.array([40, 7, 13, 2, 99, 8])
    low = gnn.history.select_stable(np.full(6, score), ids, 0.5)
    assert sorted(ids[low]) == [2, 7, 8]


def test_zeros_of_both_signs_are_equal(gnn):
    low = gnn.history.select_stable(np.array([0.0, -0.0, 0.0]), np.array([1, 2, 0]), 2 / 3)
    assert low.tolist() == [True, False, True]


def test_equal_scores_and_ids_by_position(gnn):
    low = gnn.history.select_stable(np.ones(5), np.array([4, 4, 3, 4, 4]), 0.6)
    assert low.tolist() == [True, True, True, False, False]


@pytest.mark.parametrize(
    "m, p, k", [(0, 1, 0), (1, 0.99, 0), (1, 1, 1), (10, 0.9, 9), (100, 0.29, 29)]
)
def test_how_many_rows_are_stable(gnn, m, p, k):
    """0.29 x 100 is 28.999999999999996 in floats: the fraction is meant, not its rounding."""
    assert gnn.history.select_stable(np.ones(m), np.arange(m), p).sum() == k


def test_a_broken_gradient_is_never_stable(gnn):
    with pytest.raises(FloatingPointError, match="score"):
        gnn.history.select_stable(np.array([1.0, np.nan]), np.arange(2), 1)


@given(
    shape=st.tuples(st.integers(0, 6), st.integers(0, 30)),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 99),
)
def test_row_norms(gnn, shape, dtype, seed):
    G = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    norms = gnn.history.gradient_norms(G)
    assert norms.dtype == np.float64
    want = [math.sqrt(math.fsum(float(x) ** 2 for x in row)) for row in G]
    np.testing.assert_allclose(norms, np.array(want).reshape(shape[0]), rtol=1e-14)


def test_row_norms_of_large_single_precision_numbers(gnn):
    assert gnn.history.gradient_norms(np.full((1, 4), 1e30, np.float32))[0] == pytest.approx(
        2e30, rel=1e-6
    )


def test_row_norms_add_from_left_to_right(gnn):
    """Each 1 is lost beside 1e16, but 1 + 1 before it is not; 9 rows are more than a block."""
    G = np.zeros((9, 16))
    G[::2, [0, 8, 9]] = 1e8, 1, 1
    G[1::2, [0, 8, 9]] = 1, 1, 1e8
    assert gnn.history.gradient_norms(G).tolist() == [1e8, math.sqrt(1e16 + 2)] * 4 + [1e8]


def held(cache, layer, ids, i):
    return set(np.asarray(ids)[cache.lookup(layer, ids, i) >= 0].tolist())


def cache_of(gnn, cached, *, t_stale=None, n=100, kind="dict"):
    """Return a cache that holds the embedding (v, 0) of each node in layer 1 since iteration 0."""
    if kind == "dict":
        cache = DictCache(2, n, 2, t_stale, dtype="float64")
    else:
        cache = gnn.BidirectionalCache(n, 3, 2, 2, 400, t_stale=t_stale, dtype="float64")
    cached = np.array(cached, np.int64)
    cache.admit(1, cached, np.stack([cached, 0 * cached], axis=1).astype(float), 0)
    return cache


KINDS = pytest.mark.parametrize("kind", ["dict", "buffer"])


def update(gnn, cache, ids, score, comp, i=1, **options):
    ids = np.array(ids, np.int64)
    values = np.stack([ids, np.full(len(ids), i)], axis=1).astype(float)
    return gnn.policy_update(
        cache, 1, ids, np.array(score, float), np.array(comp, np.bool_), values, i, **options
    )


@KINDS
def test_the_papers_example(gnn, kind):
    """Figure 6: node 2 is admitted, node 3 evicted by its gradient, node 11 is too old."""
    cache = cache_of(gnn, [11], t_stale=4, kind=kind)
    cache.admit(1, [3], np.array([[3.0, 0]]), 2)
    assert held(cache, 1, [2, 3, 11], 4) == {3, 11}
    counts = update(gnn, cache, [2, 3], [0.1, 0.7], [True, False], i=4, p=0.5)
    assert counts == gnn.history.PolicyCounts(low=1, admitted=1, evicted=1)
    assert held(cache, 1, [2, 3, 11], 5) == {2}
    assert cache.read(cache.lookup(1, [2], 5)).tolist() == [[2, 4]]


@st.composite
def updates(draw):
    score, ids = draw(scored_ids(12))
    comp = np.array(draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids))), np.bool_)
    return score, ids, comp


@given(rows=updates(), p=FRACTIONS, kind=st.sampled_from(["dict", "buffer"]))
def test_after_an_update(gnn, rows, p, kind):
    """Nothing unstable is left; all stable is there; what stays keeps its value and its stamp."""
    score, ids, comp = rows
    cache = cache_of(gnn, ids[~comp], t_stale=2, kind=kind)
    low = gnn.history.select_stable(score, ids, p)
    counts = update(gnn, cache, ids, score, comp, p=p)
    assert counts == gnn.history.PolicyCounts(low.sum(), (low & comp).sum(), (~low & ~comp).sum())
    assert held(cache, 1, ids, 2) == set(ids[low].tolist())
    assert held(cache, 1, ids, 3) == set(ids[low & comp].tolist())  # not made younger
    values = cache.read(cache.lookup(1, ids[low], 2))
    assert np.array_equal(values, np.stack([ids[low], comp[low]], axis=1))
    assert cache.lookup(2, ids, 1).tolist() == [-1] * len(ids)  # another layer


@given(rows=updates(), base=st.sampled_from(["all", "new"]))
def test_extreme_fractions(gnn, rows, base):
    """p = 1 never evicts by gradient; p = 0 admits nothing and evicts every cached row."""
    score, ids, comp = rows
    cache = cache_of(gnn, ids[~comp])
    assert update(gnn, cache, ids, score, comp, p=1, rank_base=base).evicted == 0
    assert held(cache, 1, ids, 1) == set(ids.tolist())
    cache = cache_of(gnn, ids[~comp])
    counts = update(gnn, cache, ids, score, comp, p=0, rank_base=base)
    assert counts == gnn.history.PolicyCounts(0, 0, (~comp).sum())
    assert held(cache, 1, ids, 1) == set()


def test_of_equal_scores_the_last_stable_new_row_is_the_limit(gnn):
    """Half of the new rows 1 and 5 is row 1: of the cached rows, 0 is before it and 7 is not."""
    cache, ids = cache_of(gnn, [0, 7]), [0, 1, 5, 7]
    update(gnn, cache, ids, [0.5] * 4, [False, True, True, False], p=0.5, rank_base="new")
    assert held(cache, 1, ids, 1) == {0, 1}


@given(rows=updates(), p=st.sampled_from([0.2, 0.5, 0.8]))
def test_ranking_only_new_rows(gnn, rows, p):
    score, ids, comp = rows
    cache = cache_of(gnn, ids[~comp])
    counts = update(gnn, cache, ids, score, comp, p=p, rank_base="new")
    new = sorted(zip(score[comp], ids[comp], strict=True))
    stable = new[: math.floor(p * len(new) + 1e-9)]
    assert counts.admitted == len(stable)
    want = {int(v) for _, v in stable}
    for g, v in zip(score[~comp], ids[~comp], strict=True):
        if not new or (stable and (g, v) < stable[-1]):
            want.add(int(v))
    assert held(cache, 1, ids, 1) == want


@KINDS
def test_unstable_rows_lose_entries_whether_read_or_computed(gnn, kind):
    """Section 4.1.1: "any already present". Entry 3 was read; 4 and 5 were computed anew.

    Entry 6, computed, is too old by now: it goes without being counted. 7 has none.
    """
    cache = cache_of(gnn, [6], t_stale=4, kind=kind)
    cache.admit(1, [3, 4, 5], np.zeros((3, 2)), 3)
    ids, comp = [2, 3, 4, 5, 6, 7], [True, False, True, True, True, True]
    counts = update(gnn, cache, ids, [0, 4, 5, 1, 6, 7], comp, i=5, p=0.4)
    assert counts == gnn.history.PolicyCounts(low=2, admitted=2, evicted=2)
    assert cache.evicted == 2
    assert held(cache, 1, ids, 5) == {2, 5}
    assert cache.read(cache.lookup(1, [5], 6)).tolist() == [[5, 5]]  # what is new of it


@given(rows=updates(), p=FRACTIONS, present=st.integers(0, 2**12 - 1), stamp=st.integers(0, 3))
def test_any_unstable_entry_goes(gnn, rows, p, present, stamp):
    """Against the definition: of the entries there were, what is low and not computed stays."""
    score, ids, comp = rows
    has = np.array([present >> j & 1 for j in range(len(ids))], np.bool_) | ~comp
    cache = gnn.BidirectionalCache(100, 3, 2, 1, 400, t_stale=2, dtype="float64")
    cache.admit(1, ids[has], np.zeros((has.sum(), 2)), stamp)
    low = by_sorting(score, ids, p)
    counts = update(gnn, cache, ids, score, comp, i=3, p=p)
    assert counts.evicted == ((~low & has).sum() if stamp >= 2 else 0)
    assert held(cache, 1, ids, 4) == set(ids[low & (comp | (has & (stamp >= 2)))].tolist())
    assert held(cache, 1, ids, 5) == set(ids[low & (comp | (has & (stamp >= 3)))].tolist())


def test_controls(gnn):
    ids, score = [5, 6, 7, 8], [0.0, 1.0, 2.0, 3.0]
    cache = cache_of(gnn, [])
    update(gnn, cache, ids, score, [True] * 4, p=0.5, control="anti")
    assert held(cache, 1, ids, 1) == {7, 8}
    for key in range(20):
        cache = cache_of(gnn, [])
        update(gnn, cache, ids, score, [True] * 4, p=0.5, control="random", key=key)
        assert held(cache, 1, ids, 1) == set(
            sorted(ids, key=lambda v: gnn.streams.uniform(key, v))[:2]
        )


def test_eviction_by_gradient_can_be_left_out(gnn):
    cache = cache_of(gnn, [3])
    counts = update(gnn, cache, [2, 3], [0.1, 0.7], [True, False], p=0.5, gradient_evict=False)
    assert counts == gnn.history.PolicyCounts(low=1, admitted=1, evicted=0)
    assert held(cache, 1, [2, 3], 1) == {2, 3}
    again = {"i": 2, "p": 0.5, "gradient_evict": False}  # computed although they have entries
    assert update(gnn, cache, [2, 3], [0.1, 0.7], [True, True], **again).evicted == 0
    assert held(cache, 1, [2, 3], 2) == {2, 3} and cache.evicted == 0


def test_the_policy_for_performance_only_says_no(gnn):
    """W1: of the stable rows 1 and 2, row 2 is not allowed; row 4 is allowed, but not stable."""
    cache = cache_of(gnn, [3])
    allow = np.array([True, False, False, True])
    counts = update(
        gnn, cache, [1, 2, 3, 4], [0, 1, 2, 3], [True, True, False, True], p=0.5, allow=allow
    )
    assert counts == gnn.history.PolicyCounts(low=2, admitted=1, evicted=1)
    assert held(cache, 1, [1, 2, 3, 4], 1) == {1}


def test_no_live_rows(gnn):
    cache = cache_of(gnn, [3])
    for base in ("all", "new"):
        assert update(gnn, cache, [], [], [], p=0.5, rank_base=base) == gnn.history.PolicyCounts(
            0, 0, 0
        )
    assert held(cache, 1, [3], 1) == {3}


GOOD = {"ids": [0, 1], "score": [1, 2], "comp": [True, False], "p": 0.5}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"p": 1.5}, "p must"),
        ({"p": True}, "p must"),
        ({"ids": [0, 1, 2]}, "ids must"),
        ({"ids": [-1, 0]}, "ids must"),
        ({"ids": [0, 100]}, "ids must"),
        ({"comp": [True]}, "comp must"),
        ({"rank_base": "old"}, "rank_base must"),
        ({"control": "none"}, "control must"),
        ({"control": "random"}, "key must"),
        ({"allow": np.ones(2)}, "allow must"),
        ({"allow": np.ones(3, np.bool_)}, "allow must"),
        ({"i": -1}, "i must"),
    ],
    ids=repr,
)
def test_refused(gnn, change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        update(gnn, cache_of(gnn, [], kind="buffer"), **{**GOOD, **change})


@pytest.mark.parametrize("control", ["gradient", "random", "anti"])
def test_a_broken_gradient_stops_every_control(gnn, control):
    with pytest.raises(FloatingPointError):
        update(gnn, cache_of(gnn, []), [1], [np.nan], [True], p=1, control=control, key=1)


def test_values_have_a_row_for_each_node(gnn):
    with pytest.raises(ValueError, match="values must have 2 rows"):
        gnn.policy_update(
            cache_of(gnn, []), 1, [0, 1], np.ones(2), np.ones(2, np.bool_), np.ones((3, 2)), 1, p=1
        )
