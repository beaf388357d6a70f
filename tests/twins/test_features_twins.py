"""Fast against reference for the gathering of features."""

from tempfile import TemporaryFile

import numpy as np
import pytest
from comparison import assert_twins, read_only
from hypothesis import given
from hypothesis import strategies as st
from strategies import distinct

import fastimpl
import refimpl

THREADS = st.sampled_from([1, 2, 5])
BITS = np.arange(2**16, dtype=np.uint16)
X = distinct((9, 3), float).astype(np.float32)
STORE = refimpl.loader.FeatureStore.of(X, 3)
PLAN = refimpl.loader.plan_fetch(STORE, [8, 0, 4, 8], 1)


@st.composite
def features(draw, n):
    """Draw read-only features, of halves any bits: subnormal, infinite, not a number."""
    d = draw(st.integers(1, 20))
    dtype = draw(st.sampled_from([np.uint16, np.uint32]))
    seed = draw(st.integers(0, 2**32 - 1))
    bits = np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, (n, d), dtype, True)
    return read_only(bits.view(np.float16 if dtype == np.uint16 else np.float32))


@given(data=st.data(), n=st.integers(0, 10), count=THREADS)
def test_gather_rows(data, n, count):
    rows = data.draw(st.lists(st.integers(0, n - 1), max_size=15) if n else st.just([]))
    dtype = data.draw(st.sampled_from([np.int64, np.int32, np.uint8]))
    rows = read_only(np.array(rows, dtype))
    got = assert_twins("gather_rows", data.draw(features(n)), rows, count=count)
    assert isinstance(got, np.ndarray)


@given(
    data=st.data(),
    n=st.integers(0, 12),
    parts=st.integers(1, 4),
    owners=st.sampled_from(["contiguous", "modulo"]),
    count=THREADS,
)
def test_fetches(data, n, parts, owners, count):
    store = refimpl.loader.FeatureStore.of(data.draw(features(n)), parts, owners)
    ids = data.draw(st.lists(st.integers(0, n - 1), max_size=20) if n else st.just([]))
    plan = refimpl.loader.plan_fetch(store, ids, data.draw(st.integers(0, parts - 1)))
    one = assert_twins("fetch_one_sided", plan, count=count)
    two = assert_twins("fetch_two_sided", plan, count=count)
    assert one.rows.tobytes() == two.rows.tobytes()


@pytest.mark.parametrize("d", [1, 4, 7, 8, 33, 64])
def test_every_half_keeps_its_value_and_every_nan_its_bits(d):
    halves = np.resize(BITS, (len(BITS) // d + 1, d)).view(np.float16)
    assert_twins("gather_rows", halves, np.arange(len(halves)))


@pytest.mark.parametrize("count", [1, 5])
def test_rows_of_float64(count):
    X = distinct((300, 7), float)
    got = assert_twins("gather_rows", X, np.arange(299, -1, -3), count=count)
    assert got.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_thousands_of_rows_of_a_file(tmp_path, dtype, count):
    """More rows than a thread takes at a time, more than a page, in any order."""
    big = distinct((3000, 37), float).astype(dtype)
    refimpl.loader.write_features(tmp_path / "x", big)
    mapped = refimpl.loader.open_features(tmp_path / "x")
    ids = np.random.default_rng(1).integers(0, 3000, 5000)
    for X in (big, mapped):
        assert_twins("gather_rows", X, ids, count=count)
        assert_twins("gather_rows", X, np.sort(ids), count=count)
        plan = refimpl.loader.plan_fetch(refimpl.loader.FeatureStore([X[:1000], X[1000:]]), ids)
        assert_twins("fetch_one_sided", plan, count=count)
        assert_twins("fetch_two_sided", plan, count=count)


def test_rows_beyond_two_gigabytes(tmp_path):
    """Row times width past 2**31: a sparse file, of which a few pages are touched."""
    big = np.memmap(tmp_path / "x", np.float16, "w+", shape=(40_000_000, 32))
    big[-1] = np.arange(32)
    got = fastimpl.loader.gather_rows(big, [len(big) - 1, 0])
    assert got.tolist() == [list(range(32)), [0] * 32]
    got = fastimpl.loader.gather_rows(big.view(np.float32), [0, len(big) - 1])
    assert got.tobytes() == bytes(64) + np.arange(32, dtype=np.float16).tobytes()


@given(st.data(), st.sampled_from([1, 40, 3000]))
def test_rows_are_read(data, width):
    """The reference reads piece by piece, fastimpl in several threads."""
    X = np.random.default_rng(1).normal(size=(50, width)).astype(np.float32)
    rows = sorted(data.draw(st.sets(st.integers(0, 49))))
    slots = data.draw(st.permutations(range(60)))[: len(rows)]
    found = []
    with TemporaryFile() as file:
        file.write(bytes(100) + X.tobytes())
        file.flush()
        for gnn in (refimpl, fastimpl):
            cache = np.zeros((60, width), np.float32)
            count = gnn.loader.read_rows(file.fileno(), 100, rows, slots, cache, 3)
            found.append((count, cache.tobytes()))
            assert np.array_equal(cache[slots], X[rows])
    assert found[0] == found[1]


TWINS = {
    "fetch_one_sided": test_fetches,
    "fetch_two_sided": test_fetches,
    "gather_rows": test_gather_rows,
    "read_rows": test_rows_are_read,
}

ERRORS = [
    ("fetch_one_sided", STORE),
    ("fetch_one_sided", PLAN._replace(n=7)),
    ("fetch_one_sided", PLAN._replace(positions=[p + 2 for p in PLAN.positions])),
    ("fetch_one_sided", PLAN._replace(positions=PLAN.positions[:2])),
    ("fetch_two_sided", None),
    ("fetch_two_sided", PLAN._replace(rows=(np.array([3]),) * 3)),
    ("fetch_two_sided", PLAN._replace(copies=PLAN.copies[:, :0])),
    ("gather_rows", X.astype(int), [0]),
    ("gather_rows", X.tolist(), [0]),
    ("gather_rows", X.T, [0]),
    ("gather_rows", X[0], [0]),
    ("gather_rows", X, [9]),
    ("gather_rows", X, [-1]),
    ("gather_rows", X, [0.5]),
    ("gather_rows", X, [[0]]),
    ("read_rows", -1, 0, [0], [0], X.copy()),
    ("read_rows", 0, -1, [0], [0], X.copy()),
    ("read_rows", 0, 0, [1, 0], [0, 1], X.copy()),
    ("read_rows", 0, 0, [0, 1], [0, 0], X.copy()),
    ("read_rows", 0, 0, [0], [len(X)], X.copy()),
    ("read_rows", 0, 0, [0], [0], X.astype(int)),
    ("read_rows", 0, 0, [0], [0], X.copy(), 0),
]

MANY = np.random.default_rng(2).integers(0, 4000, 9000)
WIDE = distinct((4000, 41), float).astype(np.float32)
PLANS = [
    refimpl.loader.plan_fetch(refimpl.loader.FeatureStore.of(WIDE.astype(dtype), 3, "modulo"), MANY)
    for dtype in (np.float32, np.float16)
]


def read_all():
    """Return the rows of a file, read in another order."""
    cache = np.zeros_like(WIDE)
    with TemporaryFile() as file:
        file.write(WIDE.tobytes())
        file.flush()
        rows = np.arange(len(WIDE))
        fastimpl.loader.read_rows(file.fileno(), 0, rows, rows[::-1].copy(), cache)
    return cache


LARGE = {
    "fetch_one_sided": lambda: [fastimpl.loader.fetch_one_sided(plan) for plan in PLANS],
    "fetch_two_sided": lambda: [fastimpl.loader.fetch_two_sided(plan) for plan in PLANS],
    "gather_rows": lambda: [
        fastimpl.loader.gather_rows(X, MANY) for X in (WIDE, WIDE.astype("f2"))
    ],
    "read_rows": read_all,
}
