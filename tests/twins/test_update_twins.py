"""Fast against reference for the update of the cache: rows, counts, and all that it remembers."""

import numpy as np
import pytest
from comparison import assert_bits, threads
from hypothesis import given
from hypothesis import strategies as st
from strategies import FLOATS, distinct

import fastimpl
import refimpl
from refimpl.lab.backend import backend

N, H = 9, 2
THREADS = st.sampled_from([1, 2, 5])
SCORES = st.sampled_from([0.0, -0.0, 5e-324, 1.0, 1.0, np.inf]) | st.floats(0, 9)


@st.composite
def options(draw):
    return {
        "floats": draw(st.integers(0, 6 * H + 1), label="floats"),
        "layers": draw(st.integers(1, 2), label="layers"),
        "t_stale": draw(st.sampled_from([None, 0, 1, 2]), label="t_stale"),
        "dtype": draw(FLOATS, label="dtype"),
        "header": draw(st.sampled_from(["continue", "cycle"]), label="header"),
        "overflow": draw(st.sampled_from(["wrap", "drop"]), label="overflow"),
        "staleness": draw(st.sampled_from(["stamp", "header_only"]), label="staleness"),
    }


@st.composite
def rows(draw, layers):
    """Return a layer, its rows without their values, and how they are ranked.

    Nodes are int32, which is what the kernel copies by itself, or not; some stand there twice.
    """
    count = draw(st.integers(0, N), label="count")
    of_each = {"min_size": count, "max_size": count}
    once = draw(st.permutations(range(N)), label="ids")[:count]
    twice = draw(st.lists(st.integers(0, N - 1), **of_each), label="ids, any")
    ids = draw(st.sampled_from([once, once, twice]))
    dtype = draw(st.sampled_from([np.int32, np.int32, np.int64]))
    score = np.array(draw(st.lists(SCORES, **of_each), label="score"), np.float64)
    comp = np.array(draw(st.lists(st.booleans(), **of_each), label="comp"), np.bool_)
    ranked = {
        "p": draw(st.sampled_from([0, 0.3, 0.5, 0.9, 1.0, 1]), label="p"),
        "rank_base": draw(st.sampled_from(["all", "all", "new"]), label="rank_base"),
        "gradient_evict": draw(st.sampled_from([True, True, False]), label="gradient_evict"),
    }
    if draw(st.booleans(), label="allow"):
        ranked["allow"] = np.array(draw(st.lists(st.booleans(), **of_each)), np.bool_)
    return draw(st.integers(1, layers)), np.array(ids, dtype), score, comp, ranked


def cache_of(gnn, *, kind="BidirectionalCache", **options):
    return getattr(gnn.history, kind)(N, 3, H, **options)


def assert_alike(got, want):
    """Check that two caches remember the same."""
    got, want = got.state_dict(), want.state_dict()
    assert got.keys() == want.keys()
    for name, array in want.items():
        assert_bits(got[name], array)


def updated(gnn, cache, found, i):
    """Return the counts of an update in iteration `i`, with embeddings that say which it is."""
    layer, ids, score, comp, ranked = found
    values = (ids[:, None] * 100 + i + np.arange(H) / 64).astype(cache.arena.dtype)
    return gnn.history.cache_update(cache, layer, ids, score, comp, values, i, **ranked)


@given(
    made=options(),
    kind=st.sampled_from(["BidirectionalCache", "StaticSplitCache"]),
    data=st.data(),
    count=THREADS,
)
def test_cache_update(made, kind, data, count):
    """Update after update, the ring round and round, of a buffer that is often full."""
    want, got = (cache_of(gnn, kind=kind, **made) for gnn in (refimpl, fastimpl))
    for i in data.draw(st.lists(st.integers(0, 2), max_size=8).map(np.cumsum), label="i").tolist():
        found = data.draw(rows(made["layers"]))
        for cache in (want, got):
            cache.begin_update(i)
        counts = updated(refimpl, want, found, i)
        with threads(count):
            assert_bits(updated(fastimpl, got, found, i), counts)
        assert_alike(got, want)


def test_a_cache_of_another_package_is_updated_by_its_own_kernels():
    """Of refimpl's the kernel knows nothing; of a backend's it must not go past a given one."""
    calls = []

    def cache_admit(*args, **kwargs):
        calls.append(args)
        return fastimpl.history.cache_admit(*args, **kwargs)

    made = backend(fastimpl, cache_admit=cache_admit)
    found = 1, np.arange(4, dtype=np.int32), np.arange(4.0), np.ones(4, np.bool_), {"p": 0.5}
    caches = [
        cache_of(gnn, layers=1, floats=20, t_stale=2) for gnn in (refimpl, fastimpl, made, refimpl)
    ]
    for gnn, cache in zip((refimpl, fastimpl, made, fastimpl), caches, strict=True):
        assert updated(gnn, cache, found, 0) == (2, 2, 0)
        assert_alike(cache, caches[0])
    assert len(calls) == 1


def test_a_backend_with_another_selection_updates_by_it():
    calls = []

    def select_stable(score, ids, p):
        calls.append(p)
        return refimpl.history.select_stable(-score, ids, p)

    made = backend(fastimpl, select_stable=select_stable)
    cache = cache_of(made, layers=1, floats=20, t_stale=2)
    found = 1, np.arange(4, dtype=np.int32), np.arange(4.0), np.ones(4, np.bool_), {"p": 0.5}
    assert updated(made, cache, found, 0) == (2, 2, 0) and calls == [0.5]
    assert (cache.lookup(1, np.arange(4), 0) >= 0).tolist() == [False, False, True, True]


class Watching(fastimpl.BidirectionalCache):
    """A cache that does something of its own when embeddings are admitted."""

    seen = 0

    def admit(self, layer, ids, values, i, *, take=None):
        self.seen += len(ids)
        return super().admit(layer, ids, values, i, take=take)


def test_a_cache_that_admits_in_its_own_way_does_so():
    cache = Watching(N, 3, H, 1, 20, t_stale=2)
    found = 1, np.arange(4, dtype=np.int32), np.arange(4.0), np.ones(4, np.bool_), {"p": 0.5}
    assert updated(fastimpl, cache, found, 0) == (2, 2, 0) and cache.seen == 2


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_node_that_is_none_and_a_broken_gradient_change_nothing(dtype):
    """Both are found before anything is evicted, by the kernel as by the reference."""
    made = {"layers": 1, "floats": 20, "t_stale": 2}
    for gnn in (refimpl, fastimpl):
        cache, kept = cache_of(gnn, **made), cache_of(gnn, **made)
        found = 1, np.arange(4, dtype=dtype), np.arange(4.0), np.ones(4, np.bool_), {"p": 1.0}
        updated(gnn, cache, found, 0)
        updated(gnn, kept, found, 0)
        for ids, score, error in (
            ([0, N], [1.0, 2.0], ValueError),
            ([-1, 0], [1.0, 2.0], ValueError),
            ([0, 1], [np.nan, 2.0], FloatingPointError),
        ):
            wrong = 1, np.array(ids, dtype), np.array(score), np.ones(2, np.bool_), {"p": 0.0}
            with pytest.raises(error):
                updated(gnn, cache, wrong, 1)
            assert_alike(cache, kept)


COUNT, WIDTH = 40_000, 16
LARGE_IDS = np.random.default_rng(5).permutation(COUNT).astype(np.int32)
LARGE_SCORE = np.random.default_rng(6).random(COUNT)
LARGE_VALUES = distinct((COUNT, WIDTH), np.float32, 7)


def large(gnn=fastimpl, **options):
    """Return the counts and the state of a cache after updates that go round it."""
    cache = gnn.BidirectionalCache(COUNT, 3, WIDTH, 1, 30_000 * WIDTH, t_stale=2, **options)
    made = []
    for i in range(4):
        comp = cache.lookup(1, LARGE_IDS, i) < 0
        cache.begin_update(i)
        rows = LARGE_IDS, np.roll(LARGE_SCORE, i * 999), comp, LARGE_VALUES
        made.append(gnn.history.cache_update(cache, 1, *rows, i, p=0.9))
    return made, list(cache.state_dict().values())


@pytest.mark.parametrize("overflow", ["wrap", "drop"])
@pytest.mark.parametrize("header", ["continue", "cycle"])
def test_a_large_update_is_the_references(header, overflow):
    want = large(refimpl, header=header, overflow=overflow)
    for count in (1, 2, 5):
        with threads(count):
            assert_bits(large(fastimpl, header=header, overflow=overflow), want)


TWINS = {"cache_update": test_cache_update}
LARGE = {"cache_update": large}

CACHE = cache_of(refimpl, layers=1, floats=20, t_stale=2)
GOOD = [0, 1], np.ones(2), np.ones(2, np.bool_), np.ones((2, H), np.float32), 0
ERRORS = [
    ("cache_update", CACHE, 2, *GOOD, {"p": 0.5}),
    ("cache_update", CACHE, 1, [0, N], *GOOD[1:], {"p": 0.5}),
    ("cache_update", CACHE, 1, [0, -1], *GOOD[1:], {"p": 0.5}),
    ("cache_update", CACHE, 1, [0, 1.5], *GOOD[1:], {"p": 0.5}),
    ("cache_update", CACHE, 1, [0], *GOOD[1:], {"p": 0.5}),
    ("cache_update", CACHE, 1, *GOOD[:1], np.ones(2, int), *GOOD[2:], {"p": 0.5}),
    ("cache_update", CACHE, 1, *GOOD[:2], np.ones(2), *GOOD[3:], {"p": 0.5}),
    ("cache_update", CACHE, 1, *GOOD[:3], np.ones((2, H)), 0, {"p": 0.5}),
    ("cache_update", CACHE, 1, *GOOD[:3], np.ones((2, H + 1), np.float32), 0, {"p": 0.5}),
    ("cache_update", CACHE, 1, *GOOD[:4], -1, {"p": 0.5}),
    ("cache_update", CACHE, 1, *GOOD, {"p": 1.5}),
    ("cache_update", CACHE, 1, *GOOD, {"p": 0.5, "rank_base": "old"}),
    ("cache_update", CACHE, 1, *GOOD, {"p": 0.5, "gradient_evict": 1}),
    ("cache_update", CACHE, 1, *GOOD, {"p": 0.5, "allow": np.ones(2)}),
    ("cache_update", "cache", 1, *GOOD, {"p": 0.5}),
]
