"""Fetching features: against plain indexing; what is moved; files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import distinct

from refimpl.loader.store import Ownership

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
AT_REST = st.sampled_from([np.float32, np.float16])


def features(n, d, dtype=np.float32):
    return distinct((n, d), np.float64).astype(dtype)


@st.composite
def fetches(draw):
    """Draw (features, number of parts, owners, ids, the part at hand)."""
    n, parts = draw(st.integers(0, 12)), draw(st.integers(1, 4))
    X = features(n, draw(st.integers(1, 9)), draw(AT_REST))
    owners = draw(st.sampled_from(["contiguous", "modulo"]))
    ids = draw(st.lists(st.integers(0, n - 1), max_size=20)) if n else []
    return X, parts, owners, ids, draw(st.integers(0, parts - 1))


@given(fetch=fetches())
def test_both_ways_give_the_rows_and_say_what_they_moved(gnn, fetch):
    X, parts, owners, ids, me = fetch
    store = gnn.loader.FeatureStore.of(X, parts, owners)
    assert (store.n, store.d, store.dtype) == (*X.shape, X.dtype)
    plan = gnn.loader.plan_fetch(store, np.array(ids, np.int64), me)
    one, two = gnn.loader.fetch_one_sided(plan), gnn.loader.fetch_two_sided(plan)
    for fetched in (one, two):
        assert fetched.rows.dtype == np.float32
        assert_array_equal(fetched.rows, X[np.array(ids, int)].astype(np.float32))
    size = len(X) and X[0].nbytes
    remote = [v for v in set(ids) if owner_of(v, len(X), parts, owners) != me]
    sources = {owner_of(v, len(X), parts, owners) for v in remote}
    assert one.trace.bytes() == one.trace.bytes("data") == len(remote) * size
    assert two.trace.bytes() == len(remote) * (8 + size)
    assert two.trace.bytes("idx") == len(remote) * 8
    assert (one.trace.packed, two.trace.packed) == (0, len(remote) * size)
    assert (one.trace.rounds, two.trace.rounds) == ((1, 2) if remote else (0, 0))
    assert [m[:2] for m in one.trace.messages] == [(p, me) for p in sorted(sources)]
    kinds = [(m.source, m.target, m.kind) for m in two.trace.messages]
    for p in sources:
        assert kinds.index((me, p, "idx")) < kinds.index((p, me, "data"))
    assert len(kinds) == 3 * len(sources)


def owner_of(v, n, parts, owners):
    if owners == "modulo":
        return v % parts
    return next(p for p in range(parts) if v < n * (p + 1) // parts)


@given(fetch=fetches())
def test_a_plan_reads_each_row_once_in_ascending_order(gnn, fetch):
    X, parts, owners, ids, me = fetch
    plan = gnn.loader.plan_fetch(
        gnn.loader.FeatureStore.of(X, parts, owners), np.array(ids, np.int64), me
    )
    assert sum(map(len, plan.rows)) == len(set(ids))
    for rows in plan.rows:
        assert np.all(np.diff(rows) > 0)


@pytest.mark.parametrize("huge", [0, 2**62])
def test_a_plan_of_ids_beyond_all_memory(huge):
    """Ids that do not share a word with their places are sorted another way."""
    ids = np.array([huge + 4, 1, huge + 2, 1, huge + 4])
    rows, positions, copies = Ownership((huge, 2, 5)).split(ids)
    if huge:
        assert [r.tolist() for r in rows] == [[1], [], [0, 2]]
        assert [p.tolist() for p in positions] == [[1], [], [2, 0]]
    else:
        assert [r.tolist() for r in rows] == [[], [1], [0, 2]]
        assert [p.tolist() for p in positions] == [[], [1], [2, 0]]
    assert sorted(copies.T.tolist()) == [[3, 1], [4, 0]]


def test_parts_of_any_size(gnn):
    X = features(6, 3)
    store = gnn.loader.FeatureStore([X[:0], X[:1], X[1:1], X[1:6]])
    assert_array_equal(
        gnn.loader.fetch_one_sided(gnn.loader.plan_fetch(store, [5, 0, 1])).rows, X[[5, 0, 1]]
    )
    assert np.shares_memory(gnn.loader.FeatureStore.of(X, 2).parts[1], X)


@pytest.mark.parametrize("d", [1, 7, 8, 64])
def test_every_float16_becomes_float32_exactly(gnn, d):
    X = np.resize(HALVES, (len(HALVES) // d + 1, d))
    got = gnn.loader.gather_rows(X, np.arange(len(X)))
    assert got.dtype == np.float32
    sign, exponent, fraction = X.view(np.uint16) >> 15, X.view(np.uint16) >> 10 & 31, 1023
    fraction = (X.view(np.uint16) & fraction).astype(float)
    exponent = exponent.astype(int)
    finite = np.where(
        exponent > 0, np.ldexp(1 + fraction / 1024, exponent - 15), np.ldexp(fraction, -24)
    )
    want = np.where(exponent < 31, finite, np.where(fraction > 0, np.nan, np.inf))
    assert_array_equal(got, np.where(sign, -want, want).astype(np.float32))
    assert_array_equal(np.signbit(got), sign == 1)


@given(dtype=AT_REST, rows=st.lists(st.integers(0, 4)))
def test_gather_rows(gnn, dtype, rows):
    X = features(5, 3, dtype)
    assert_array_equal(gnn.loader.gather_rows(X, np.array(rows, np.int32)), X[np.array(rows, int)])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("readahead", [False, True])
def test_features_in_a_file(gnn, tmp_path, dtype, readahead):
    X = features(300, 5, dtype)
    gnn.loader.write_features(tmp_path / "x.bin", X)
    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]
    mapped = gnn.loader.open_features(tmp_path / "x.bin", readahead=readahead)
    assert isinstance(mapped, np.memmap) and not mapped.flags.writeable
    assert_array_equal(mapped, X)
    assert mapped.dtype == dtype
    ids = np.random.default_rng(0).integers(0, 300, 1000)
    assert_array_equal(gnn.loader.gather_rows(mapped, ids), X[ids])
    store = gnn.loader.FeatureStore([mapped[:100], mapped[100:]])
    for fetch in (gnn.loader.fetch_one_sided, gnn.loader.fetch_two_sided):
        assert_array_equal(fetch(gnn.loader.plan_fetch(store, ids, 1)).rows, X[ids])


def test_a_file_without_rows(gnn, tmp_path):
    gnn.loader.write_features(tmp_path / "x.npy", features(0, 4))
    assert gnn.loader.open_features(tmp_path / "x.npy").shape == (0, 4)


def test_a_file_is_written_whole_or_not_at_all(gnn, tmp_path, monkeypatch):
    path = tmp_path / "x.npy"
    gnn.loader.write_features(path, features(3, 2))

    def full_disk(file, *args, **kwargs):
        file.write(b"some")
        raise OSError("no space left")

    monkeypatch.setattr(np, "save", full_disk)
    with pytest.raises(OSError, match="no space left"):
        gnn.loader.write_features(path, features(4, 2))
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]
    before = gnn.loader.open_features(path)
    assert_array_equal(before, features(3, 2))
    monkeypatch.undo()
    gnn.loader.write_features(path, -features(3, 2))
    assert_array_equal(before, features(3, 2))  # whoever has the old file open keeps it
    assert_array_equal(gnn.loader.open_features(path), -features(3, 2))


def test_bad_files(gnn, tmp_path):
    with pytest.raises(FileNotFoundError, match="no features at"):
        gnn.loader.open_features(tmp_path / "x.npy")
    path = tmp_path / "cut.npy"
    gnn.loader.write_features(path, features(50, 4))
    whole = path.read_bytes()
    for cut in (whole[:-1], whole[:40], b"", b"no array"):
        path.write_bytes(cut)
        with pytest.raises(ValueError, match=r"cut\.npy is not a whole file of features"):
            gnn.loader.open_features(path)
    for bad, error in (
        (np.zeros((2, 2)), TypeError),
        (np.zeros(3, np.float32), ValueError),
        (np.asfortranarray(features(3, 2)), ValueError),
        (np.array([[None]]), ValueError),
    ):
        np.save(path, bad)
        with pytest.raises(error, match=r"cut\.npy"):
            gnn.loader.open_features(path)


BAD_STORES = {
    "none": ([], ValueError, "parts must hold at least one array"),
    "array": (features(4, 2), TypeError, "parts must be a list of arrays"),
    "list": ([[[1.0]]], TypeError, "parts must be arrays, got list"),
    "float64": ([np.ones((2, 2))], TypeError, "parts must be float32 or float16, got float64"),
    "1-D": ([np.ones(2, np.float32)], ValueError, r"parts must have shape \(any, at least 1\)"),
    "no-width": ([features(2, 0)], ValueError, r"parts must have shape \(any, at least 1\)"),
    "order": ([np.asfortranarray(features(3, 2))], ValueError, "parts must be C-contiguous"),
    "widths": ([features(3, 2), features(3, 4)], ValueError, "parts must be alike"),
    "dtypes": ([features(3, 2), features(3, 2, np.float16)], ValueError, "parts must be alike"),
}


@pytest.mark.parametrize("case", BAD_STORES)
def test_bad_stores(gnn, case):
    parts, error, message = BAD_STORES[case]
    with pytest.raises(error, match=message):
        gnn.loader.FeatureStore(parts)


def test_parts_that_do_not_fit_modulo(gnn):
    with pytest.raises(ValueError, match=r"parts must have \(3, 2\) rows for 5 nodes by modulo"):
        gnn.loader.FeatureStore([features(2, 1), features(3, 1)], "modulo")
    with pytest.raises(ValueError, match="owners must be one of"):
        gnn.loader.FeatureStore([features(2, 1)], "random")


def test_bad_plans(gnn):
    store = gnn.loader.FeatureStore.of(features(6, 2), 2)
    with pytest.raises(TypeError, match="store must be a FeatureStore"):
        gnn.loader.plan_fetch(features(6, 2), [0])
    with pytest.raises(ValueError, match=r"ids must be in \[0, 6\)"):
        gnn.loader.plan_fetch(store, [6])
    with pytest.raises(ValueError, match=r"me must be in \[0, 1\]"):
        gnn.loader.plan_fetch(store, [0], 2)
    plan = gnn.loader.plan_fetch(store, [0, 5, 5])
    for change, message in (
        ({"rows": (np.array([3]), plan.rows[1])}, r"plan.rows must be in \[0, 3\)"),
        ({"rows": plan.rows[:1]}, "plan must have rows and positions for 2 parts"),
        ({"rows": (plan.rows[0][:0], plan.rows[1])}, "plan.positions must be as long"),
        ({"positions": (plan.positions[0] + 3, plan.positions[1])}, r"plan.positions must be in"),
        ({"n": 4}, "plan must write each row of the result once"),
        ({"copies": np.array([[2], [2]])}, "plan must write each row of the result once"),
        ({"copies": plan.copies[::-1]}, "plan must write each row of the result once"),
        ({"positions": (plan.positions[0], plan.positions[0])}, "plan must write each row"),
        ({"copies": plan.copies[:, :0]}, "plan must write each row of the result once"),
    ):
        for fetch in (gnn.loader.fetch_one_sided, gnn.loader.fetch_two_sided):
            with pytest.raises(ValueError, match=message):
                fetch(plan._replace(**change))


def test_modelled_seconds_by_hand(gnn):
    rates = {"latency": 2.0, "bandwidth": 4.0}
    # 10 rows of 8 bytes at half of 4 bytes a second; there and back, packed at 16 a second
    assert gnn.loader.one_sided_seconds(10, 8, half_row=8, **rates) == 2 + 80 / 2
    extreme = {"latency": 0, "bandwidth": 2.8e-263, "half_row": 1.2e61}
    assert gnn.loader.one_sided_seconds(1, 1, **extreme) == np.inf
    assert (
        gnn.loader.two_sided_seconds(10, 8, memory=16.0, **rates) == 4 + 80 / 4 + 80 / 16 + 80 / 4
    )
    with pytest.raises(ValueError, match="bandwidth must be finite and above 0"):
        gnn.loader.one_sided_seconds(10, 8, bandwidth=0)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="no /proc/self/io")
def test_io_counters_count_what_is_read(gnn, tmp_path):
    (tmp_path / "file").write_bytes(bytes(100_000))
    before = gnn.loader.io_counters()
    (tmp_path / "file").read_bytes()
    after = gnn.loader.io_counters()
    assert 100_000 <= after.calls - before.calls < 200_000
    assert after.storage >= before.storage >= 0


def test_no_io_counters_without_proc(gnn, monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr("pathlib.Path.read_text", missing)
    assert gnn.loader.io_counters() is None
