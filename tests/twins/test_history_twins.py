"""Fast against reference for the cache and its policy."""

import numpy as np
import pytest
from comparison import assert_bits, assert_same_error, assert_twins, read_only, threads
from hypothesis import given
from hypothesis import strategies as st
from strategies import FLOATS, distinct

import fastimpl
import refimpl
from fastimpl.history.policy import norms_and_rows
from refimpl.history import Entries

THREADS = st.sampled_from([1, 2, 5])
SCORES = st.sampled_from([0.0, -0.0, 5e-324, 1.0, -1.0, np.inf, -np.inf]) | st.floats(
    allow_nan=False
)


def entries_of(layers, n, slots, h, dtype=np.float64, seed=0):
    """Return Entries with anything in the maps that may be there, and some that may not."""
    rng = np.random.default_rng(seed)
    back = rng.integers(-1, max(layers * n, 1), slots)
    slot_of = rng.integers(-1, slots + 2, (layers, n)).astype(np.int32)
    for s in range(0, slots, 2):
        if back[s] >= 0 and layers * n:
            slot_of.reshape(-1)[back[s]] = s
    stamp = rng.integers(0, 9, slots).astype(np.int32)
    return Entries(distinct((slots, h), dtype, seed).copy(), slot_of, back, stamp)


def copied(entries):
    return Entries(*(array.copy() for array in entries))


def admitted(gnn, entries, *args, **kwargs):
    """Return the entries after `cache_admit`."""
    entries = copied(entries)
    assert gnn.history.cache_admit(entries, *args, **kwargs) is None
    return entries


@given(
    shape=st.tuples(st.integers(0, 20), st.sampled_from([0, 1, 40, 64, 65, 150])),
    dtype=FLOATS,
    size=st.sampled_from([1.0, 1e-30, 1e30, 1e200]),
    count=THREADS,
)
def test_row_norms(shape, dtype, size, count):
    with np.errstate(over="ignore"):
        G = (distinct(shape, np.float64) * size).astype(dtype)
    assert_twins("gradient_norms", read_only(G), count=count)


@given(
    rows=st.integers(0, 300),
    f=st.sampled_from([0, 1, 9, 128]),
    dtype=FLOATS,
    share=st.floats(0, 1),
    count=THREADS,
)
def test_norms_and_chosen_rows_in_one_pass(rows, f, dtype, share, count):
    G = distinct((rows, f), dtype)
    taken = np.flatnonzero(np.random.default_rng(rows).random(rows) < share)
    with threads(count):
        norms, chosen = norms_and_rows(read_only(G), taken)
    assert_bits(norms, refimpl.history.gradient_norms(G))
    assert_bits(chosen, G[taken])


@given(data=st.data(), p=st.floats(0, 1) | st.sampled_from([0.5, 1]), count=THREADS)
def test_select_stable(data, p, count):
    score = data.draw(st.lists(SCORES, max_size=40), label="score")
    id_of = st.sampled_from([0, 1, 2**31 - 1, 2**40]) | st.integers(0, 60)
    ids = data.draw(st.lists(id_of, min_size=len(score), max_size=len(score)), label="ids")
    assert_twins("select_stable", np.array(score, float), np.array(ids, np.int64), p, count=count)


def test_select_stable_without_a_number():
    score = np.array([1.0, np.nan])
    assert_same_error("select_stable", score, np.arange(2), 0.5, error=FloatingPointError)


@st.composite
def caches(draw):
    layers, n = draw(st.integers(1, 3), label="layers"), draw(st.integers(1, 9), label="n")
    slots, h = draw(st.integers(0, 9), label="slots"), draw(st.integers(1, 4), label="h")
    entries = entries_of(layers, n, slots, h, draw(FLOATS), draw(st.integers(0, 99)))
    return entries, draw(st.integers(1, layers), label="layer")


@given(cache=caches(), data=st.data(), oldest=st.integers(-1, 9), count=THREADS)
def test_cache_lookup(cache, data, oldest, count):
    entries, layer = cache
    node = st.integers(0, entries.slot_of.shape[1] - 1)
    ids = np.array(data.draw(st.lists(node), label="ids"), np.int32)
    for array in entries:
        read_only(array)
    slots = assert_twins("cache_lookup", entries, layer, read_only(ids), oldest, count=count)
    assert slots.dtype == np.int32


@given(rows=st.integers(0, 9), h=st.integers(0, 5), dtype=FLOATS, data=st.data(), count=THREADS)
def test_cache_read(rows, h, dtype, data, count):
    slots = data.draw(st.lists(st.integers(0, rows - 1)) if rows else st.just([]), label="slots")
    assert_twins("cache_read", distinct((rows, h), dtype), np.array(slots, np.int32), count=count)


@given(rows=st.integers(0, 9), h=st.integers(0, 5), dtype=FLOATS, data=st.data(), count=THREADS)
def test_cache_read_with_computed_rows(rows, h, dtype, data, count):
    """The rows follow as the slots say, each computed row once and in order."""
    slots = np.array(data.draw(st.lists(st.integers(-1, rows - 1)), label="slots"), np.int32)
    cache, computed = distinct((rows, h), dtype), -distinct(((slots < 0).sum(), h), dtype) - 1
    found = assert_twins("cache_read", cache, slots, computed=computed, count=count)
    rest = iter(computed)
    for row, s in zip(found, slots, strict=True):
        assert row.tolist() == (cache[s] if s >= 0 else next(rest)).tolist()


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("count", [1, 2])
def test_many_rows_past_the_caches(first, count):
    """Of whole lines, and of parts of lines: at least 4 MiB are read, and 1 MiB is written."""
    slots, h, rng = 10_000, 128, np.random.default_rng(0)
    entries = entries_of(1, slots, slots, h, np.float32)
    memory = refimpl.history.cache.zeros_in_lines(first + slots * h, np.dtype(np.float32))
    rows = memory[first:].reshape(slots, h)
    rows[:] = rng.random((slots, h), np.float32)
    at = np.where(rng.random(9000) < 0.5, rng.permutation(slots)[:9000], -1).astype(np.int32)
    computed = rng.random((int((at < 0).sum()), h), np.float32)
    with threads(count):
        found = fastimpl.history.cache_read(rows, at, computed=computed)
        assert_bits(found, refimpl.history.cache_read(rows, at, computed=computed))
        to, take = rng.permutation(slots)[:6000].astype(np.int32), rng.permutation(9000)[:6000]
        written = entries._replace(rows=rows)
        want = copied(written)
        ids = np.arange(6000, dtype=np.int32)
        refimpl.history.cache_admit(want, 1, ids, found, to, 3, take=take)
        fastimpl.history.cache_admit(written, 1, ids, found, to, 3, take=take)
    assert_bits(written, want)


@given(cache=caches(), data=st.data(), taken=st.booleans(), count=THREADS)
def test_cache_admit(cache, data, taken, count):
    """Nodes may stand in the list twice."""
    entries, layer = cache
    slots, h = entries.rows.shape
    node = st.integers(0, entries.slot_of.shape[1] - 1)
    ids = np.array(data.draw(st.lists(node, max_size=slots), label="ids"), np.int32)
    places = data.draw(st.permutations(range(slots)), label="slots")[: len(ids)]
    take = None
    if taken:
        take = data.draw(st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
        take = np.array(take, np.int64)
    values = distinct((4 if taken else len(ids), h), entries.rows.dtype, 5)
    args = (layer, ids, values, np.array(places, np.int32), 7)
    want = admitted(refimpl, entries, *args, take=take)
    with threads(count):
        assert_bits(admitted(fastimpl, entries, *args, take=take), want)


@given(
    n=st.integers(1, 9),
    most=st.integers(0, 9),
    d=st.integers(0, 4),
    dtype=FLOATS,
    data=st.data(),
    count=THREADS,
)
def test_cache_fetch(n, most, d, dtype, data, count):
    rank = np.array(data.draw(st.permutations(range(n)), label="rank"), np.int32)
    rank[: data.draw(st.integers(0, n), label="unknown")] = 2**31 - 1
    ids = np.array(data.draw(st.lists(st.integers(0, n - 1)), label="ids"), np.int32)
    held = data.draw(st.integers(0, most), label="held")
    rows, hit = assert_twins(
        "cache_fetch", distinct((most, d), dtype), read_only(rank), ids, held, count=count
    )
    assert rows.shape == (len(ids), d) and hit.dtype == np.bool_


TWINS = {
    "cache_admit": test_cache_admit,
    "cache_fetch": test_cache_fetch,
    "cache_lookup": test_cache_lookup,
    "cache_read": test_cache_read,
    "gradient_norms": test_row_norms,
    "select_stable": test_select_stable,
}

SMALL = entries_of(2, 6, 4, 3)
FROZEN = Entries(*(read_only(array) for array in copied(SMALL)))
ROWS, RANK, VALUES = np.ones((4, 3)), np.arange(6, dtype=np.int32), np.ones((2, 3))

ERRORS = [
    ("cache_admit", FROZEN, 1, [0, 1], VALUES, [0, 1], 1),
    ("cache_admit", SMALL, 3, [0, 1], VALUES, [0, 1], 1),
    ("cache_admit", SMALL, 1, [0, 6], VALUES, [0, 1], 1),
    ("cache_admit", SMALL, 1, [0], VALUES, [0], 1),
    ("cache_admit", SMALL, 1, [0, 1, 2, 3, 4], np.ones((5, 3)), [0, 1, 2, 3, 0], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES[:, :2], [0, 1], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES.astype(np.float32), [0, 1], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [0, 4], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [0, -1], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [2, 2], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [2], 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, 0, 1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [0, 1], -1),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [0, 1], 2**31),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [0, 1], 1, {"take": [0]}),
    ("cache_admit", SMALL, 1, [0, 1], VALUES, [0, 1], 1, {"take": [0, 2]}),
    ("cache_admit", SMALL._replace(stamp=SMALL.back), 1, [0, 1], VALUES, [0, 1], 1),
    ("cache_admit", "entries", 1, [0, 1], VALUES, [0, 1], 1),
    ("cache_fetch", ROWS, RANK, [6], 2),
    ("cache_fetch", ROWS, RANK, [0], 5),
    ("cache_fetch", ROWS, RANK, [0], -1),
    ("cache_fetch", ROWS, RANK.astype(np.int64), [0], 2),
    ("cache_fetch", ROWS, [0, 1], [0], 2),
    ("cache_fetch", ROWS.astype(int), RANK, [0], 2),
    ("cache_lookup", SMALL, 0, [0], 0),
    ("cache_lookup", SMALL, 1, [-1], 0),
    ("cache_lookup", SMALL, 1, [0.5], 0),
    ("cache_lookup", SMALL, 1, [[0]], 0),
    ("cache_lookup", SMALL, 1, [0], 2**63),
    ("cache_lookup", SMALL._replace(back=SMALL.back[:3]), 1, [0], 0),
    ("cache_lookup", SMALL._replace(slot_of=SMALL.slot_of[:, ::2]), 1, [0], 0),
    ("cache_read", ROWS, [4]),
    ("cache_read", ROWS, [-1]),
    ("cache_read", ROWS[0], [0]),
    ("cache_read", ROWS.astype(np.float16), [0]),
    ("cache_read", ROWS, [0, -2], {"computed": ROWS[:1]}),
    ("cache_read", ROWS, [-1], {"computed": ROWS[:2]}),
    ("cache_read", ROWS, [-1], {"computed": ROWS[:1, :2]}),
    ("cache_read", ROWS, [-1], {"computed": ROWS[:1].astype(np.float32)}),
    ("cache_read", ROWS, np.int32([0, -2]), {"computed": ROWS[:1]}),  # the kernel finds these
    ("cache_read", ROWS, np.int32([-1]), {"computed": ROWS[:2]}),
    ("cache_read", ROWS, np.empty(0, np.int32), {"computed": ROWS[:2]}),  # nothing is read
    ("cache_read", ROWS[:, :0], np.int32([9]), {"computed": ROWS[:0, :0]}),
    ("gradient_norms", ROWS[0]),
    ("gradient_norms", ROWS.astype(int)),
    ("select_stable", np.ones(2), [0], 0.5),
    ("select_stable", np.ones(2), [0, -1], 0.5),
    ("select_stable", np.ones(2), [0, 1], 1.01),
    ("select_stable", np.ones(2), [0, 1], -0.1),
    ("select_stable", np.ones(2), [0, 1], np.nan),
    ("select_stable", np.ones(2, int), [0, 1], 0.5),
    ("select_stable", np.ones((2, 1)), [0, 1], 0.5),
]

MANY, SLOTS = 60_000, 50_000
BIG = entries_of(2, MANY, SLOTS, 3, np.float32)
ORDER = np.random.default_rng(0).permutation(MANY).astype(np.int32)
EVERY_SECOND = np.where(np.arange(MANY) % 2, ORDER % SLOTS, -1).astype(np.int32)
SCORE = np.abs(distinct(MANY, float, 1))
ROUND = np.roll(np.arange(SLOTS, dtype=np.int32), 100)
VALUES = distinct((SLOTS, 3), np.float32, 2)
GRADIENTS = distinct((3000, 37), np.float32)


def admissions():
    """Return the entries after lists that go round the ring, with and without nodes given twice."""
    twice = ORDER[:SLOTS].copy()
    twice[SLOTS // 2 :: 7] = twice[: len(twice[SLOTS // 2 :: 7])]
    return [admitted(fastimpl, BIG, 2, ids, VALUES, ROUND, 5) for ids in (ORDER[:SLOTS], twice)]


LARGE = {
    "cache_admit": admissions,
    "cache_fetch": lambda: fastimpl.history.cache_fetch(
        BIG.rows, ORDER, ORDER[::-1].copy(), 30_000
    ),
    "cache_lookup": lambda: [fastimpl.history.cache_lookup(BIG, k, ORDER, 4) for k in (1, 2)],
    "cache_read": lambda: [
        fastimpl.history.cache_read(BIG.rows, ORDER % SLOTS),
        fastimpl.history.cache_read(BIG.rows, EVERY_SECOND, computed=BIG.rows[: MANY // 2]),
    ],
    "gradient_norms": lambda: fastimpl.history.gradient_norms(GRADIENTS),
    "select_stable": lambda: [
        fastimpl.history.select_stable(SCORE, ORDER, p) for p in (0.1, 0.5, 0.9)
    ],
}


def test_large_lookups_and_reads_are_the_references():
    assert (assert_twins("cache_lookup", BIG, 2, ORDER, 4, count=5) >= 0).sum() > 1000
    assert_twins("cache_read", BIG.rows, ORDER % SLOTS, count=5)
    assert_twins("cache_read", BIG.rows, EVERY_SECOND, computed=BIG.rows[: MANY // 2], count=5)
    _, hit = assert_twins("cache_fetch", BIG.rows, ORDER, ORDER, 30_000, count=5)
    assert hit.sum() == 30_000
    assert_twins("gradient_norms", GRADIENTS, count=5)


def test_a_large_admission_is_the_references():
    twice = ORDER[:SLOTS].copy()
    twice[30_000:] = twice[:20_000]
    args = (2, twice, VALUES, ROUND, 5)
    want = admitted(refimpl, BIG, *args)
    for count in (1, 2, 5):
        with threads(count):
            assert_bits(admitted(fastimpl, BIG, *args), want)


@pytest.mark.parametrize("kind", ["distinct", "few", "equal", "near", "tiny"])
@pytest.mark.parametrize("p", [1e-4, 0.3, 0.5, 0.9, 0.9999])
def test_selecting_from_many(kind, p):
    """Scores that differ in their highest bits, in their lowest, or not at all."""
    rng = np.random.default_rng(1)
    score = {
        "distinct": SCORE,
        "few": rng.integers(0, 3, MANY).astype(float),
        "equal": np.full(MANY, 0.1),
        "near": 1 + rng.integers(0, 50, MANY) * 2.0**-52,
        "tiny": rng.integers(0, 50, MANY) * 5e-324,
    }[kind]
    low = assert_twins("select_stable", score, ORDER, p)
    assert low.sum() == int(p * MANY + 1e-9)
    assert_twins("select_stable", score, ORDER % 7, p)
