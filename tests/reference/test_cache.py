"""The buffer of embeddings and features: what FreshGNN's cache promises."""

import numpy as np
import pytest
from cache_cases import N, admit, embeddings, features, valid

from refimpl.lab.backend import find

HEADERS = pytest.mark.parametrize("header", ["continue", "cycle"])


def test_sizes_of_the_paper(gnn):
    """Bytes by hand: 1000 floats hold 31 slots of 32."""
    cache = gnn.BidirectionalCache(50, 7, 32, 2, 1000, t_stale=10)
    assert cache.nbytes == 4 * 1000 + 4 * 2 * 50 + 12 * 31 + 4 * 50
    wide = gnn.BidirectionalCache(50, 7, 32, 2, 1000, t_stale=10, dtype="float64")
    assert wide.nbytes - cache.nbytes == 4 * 1000


@pytest.mark.parametrize("t_stale", [0, 1, 3, None])
def test_ages(gnn, t_stale):
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 40, t_stale=t_stale)
    admit(cache, 1, [4], 5)
    ages = [age for age in range(1, 9) if cache.lookup(1, [4], 5 + age)[0] >= 0]
    assert ages == list(range(1, 9 if t_stale is None else t_stale + 1))


def served_ages(gnn, staleness, t_stale=10, iterations=400):
    """Return the ages of all entries served while nodes are visited by a law with a long tail.

    What is not valid is admitted, as with p = 1; the first cycle, which is cold, admits the most.
    The header goes back at the end of a cycle, as printed.
    """
    n = 300
    rng = np.random.default_rng(3)
    law = 1 / np.arange(1.0, n + 1)
    cache = gnn.BidirectionalCache(
        n,
        1,
        1,
        1,
        50 * n,
        t_stale=t_stale,
        header="cycle",
        staleness=staleness,
        dtype="float64",
    )
    ages = []
    for i in range(iterations):
        ids = rng.choice(n, 20, replace=False, p=law / law.sum())
        slots = cache.lookup(1, ids, i)
        cache.begin_update(i)
        ages += (i - cache.read(slots[slots >= 0])[:, 0]).tolist()
        new = ids[slots < 0]
        cache.admit(1, new, np.full((len(new), 1), i, float), i)
    return np.array(ages)


def test_the_header_alone_bounds_no_age(gnn):
    """FreshGNN's section 4.2 claims that going back with the header is enough: it is not."""
    stamped, header_only = (served_ages(gnn, s) for s in ("stamp", "header_only"))
    assert len(stamped) and stamped.max() == 10 and stamped.min() == 1
    assert header_only.max() > 100


def test_a_hit_makes_nothing_younger(gnn):
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 40, t_stale=2)
    admit(cache, 1, [4], 0)
    for i, found in ((1, True), (2, True), (3, False)):
        slots = cache.lookup(1, [4], i)
        assert (slots[0] >= 0) == found
        cache.read(slots[slots >= 0])


@HEADERS
def test_wrapping(gnn, header):
    """4 slots: the fifth embedding takes the place of the first."""
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 8, t_stale=None, header=header)
    assert admit(cache, 1, [0, 1, 2], 0) == 3
    assert admit(cache, 1, [3, 4, 5], 0) == 3
    assert cache.lookup(1, np.arange(6), 1).tolist() == [-1, -1, 2, 3, 0, 1]
    assert (cache.head, cache.lost, cache.dropped) == (2, 2, 0)


@HEADERS
def test_a_slot_is_full_before_the_header_goes_back(gnn, header):
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 8, t_stale=None, header=header)
    admit(cache, 1, [0, 1, 2, 3], 0)
    assert (cache.head, cache.lost) == (4, 0)
    admit(cache, 1, [4], 0)
    assert (cache.head, cache.lost) == (1, 1)
    assert cache.lookup(1, np.arange(5), 1).tolist() == [-1, 1, 2, 3, 0]


@HEADERS
def test_more_than_all_slots_at_once(gnn, header):
    """The last 4 of 11 stay, as if one were written after the other."""
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 8, t_stale=None, header=header)
    admit(cache, 1, [11], 0)
    assert admit(cache, 1, np.arange(11), 1, 7) == 4
    one_by_one = gnn.BidirectionalCache(N, 1, 2, 1, 8, t_stale=None, header=header)
    admit(one_by_one, 1, [11], 0)
    for v in range(11):
        admit(one_by_one, 1, [v], 1, 7)
    assert valid(cache, 2) == valid(one_by_one, 2) and len(valid(cache, 2)) == 4
    assert (cache.admitted, cache.dropped, cache.lost) == (5, 7, 1)
    assert (one_by_one.admitted, one_by_one.dropped, one_by_one.lost) == (12, 0, 8)
    if header == "cycle":
        assert cache.head == one_by_one.head == 4
        every = np.arange(N)
        assert np.array_equal(cache.lookup(1, every, 2), one_by_one.lookup(1, every, 2))


def test_dropping(gnn):
    """4 slots. What was written in iteration 0 can be read in 3: it is free from then on."""
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 8, t_stale=3, overflow="drop")
    cache.begin_update(0)
    assert admit(cache, 1, np.arange(6), 0) == 4
    cache.begin_update(2)
    assert admit(cache, 1, [6], 2) == 0
    assert admit(cache, 1, [2], 2, 5) == 1  # in the place of its own
    cache.begin_update(3)
    assert admit(cache, 1, [6, 7, 8, 9], 3) == 3
    assert (cache.admitted, cache.dropped, cache.lost) == (8, 4, 0)
    assert sorted(v for _, v in valid(cache, 4)) == [2, 6, 7, 8]


def test_dropping_as_printed(gnn):
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 8, t_stale=3, header="cycle", overflow="drop")
    cache.begin_update(0)
    assert admit(cache, 1, np.arange(6), 0) == 4
    assert admit(cache, 1, [6], 1) == 0
    assert (cache.admitted, cache.dropped, cache.lost, cache.head) == (4, 3, 0, 4)
    assert sorted(v for _, v in valid(cache, 1)) == [0, 1, 2, 3]
    cache.begin_update(2)
    assert cache.head == 4
    cache.begin_update(3)
    assert cache.head == 0
    assert admit(cache, 1, [6], 3) == 1
    assert sorted(v for _, v in valid(cache, 3)) == [1, 2, 3, 6]


def test_an_overwritten_slot_leaves_the_moved_entry_alone(gnn):
    """Node 0 moves from slot 0 to slot 1; then slot 0 goes to another node."""
    cache = gnn.BidirectionalCache(N, 1, 2, 2, 4, t_stale=None, header="cycle")
    admit(cache, 1, [0], 0, 1)
    admit(cache, 1, [0], 1, 2)
    admit(cache, 2, [0], 2, 3)
    assert cache.lookup(1, [0], 3).tolist() == [1]
    assert cache.lookup(2, [0], 3).tolist() == [0]
    assert np.array_equal(cache.read([1]), embeddings([0], 2, 2))


def test_a_node_given_twice_keeps_the_later(gnn):
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 8, t_stale=None)
    cache.admit(1, [3, 3, 4], np.array([[1], [2], [3]], np.float32), 0)
    assert cache.lookup(1, [3, 4], 1).tolist() == [1, 2]
    assert cache.read([1]).tolist() == [[2]]


def test_rows_of_the_values_can_be_chosen(gnn):
    values = np.arange(20, dtype=np.float32).reshape(10, 2)
    for overflow, kept in (("wrap", [2, 9, 0]), ("drop", [4, 2, 9])):
        cache = gnn.BidirectionalCache(N, 1, 2, 1, 6, t_stale=None, overflow=overflow)
        cache.admit(1, [4, 2, 9, 0], values, 0, take=[1, 8, 8, 5])
        rows = dict(zip([4, 2, 9, 0], [1, 8, 8, 5], strict=True))
        assert sorted(v for _, v in valid(cache, 1)) == sorted(kept)
        slots = cache.lookup(1, kept, 1)
        assert np.array_equal(cache.read(slots), values[[rows[v] for v in kept]])


def test_the_header_passes_over_valid_entries(gnn):
    """6 slots, ages up to 2. By hand: what was written in iteration 0 is free from 2 on."""
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 6, t_stale=2)
    steps = (
        (0, [0, 1], [], {0: 0, 1: 1}, 2),
        (1, [2, 3], [], {0: 0, 1: 1, 2: 2, 3: 3}, 4),
        (2, [4, 5, 6], [2], {3: 3, 4: 0, 5: 1, 6: 2}, 3),  # slots 0, 1 are old, 2 was evicted
        (3, [7, 8], [], {4: 0, 5: 1, 6: 2, 7: 3, 8: 4}, 5),  # slot 3 is old; then a new one
        (4, [], [8], {7: 3}, 5),
        (5, [9, 7, 0, 1, 2], [], {9: 0, 7: 1, 0: 2, 1: 3, 2: 4}, 5),  # 7 leaves its old slot 3
    )
    for i, ids, gone, want, head in steps:
        cache.begin_update(i)
        cache.evict(1, gone, i)
        admit(cache, 1, ids, i, i)
        slots = cache.lookup(1, np.arange(N), i + 1)
        assert {v: slots[v] for v in range(N) if slots[v] >= 0} == want, i
        assert cache.head == head
    assert (cache.hwm, cache.lost, cache.dropped, cache.evicted) == (5, 0, 0, 2)


def test_as_printed_the_header_goes_over_valid_entries(gnn):
    """E-V20: 3 of 100 slots are in use, and yet an entry is lost. With the default, it is not."""
    for header, lost, held in (("cycle", 1, [1, 2, 3]), ("continue", 0, [0, 1, 2, 3])):
        cache = gnn.BidirectionalCache(N, 1, 1, 1, 100, t_stale=3, header=header)
        for i, ids in ((0, []), (1, [0]), (2, [1, 2]), (3, [3])):
            cache.begin_update(i)
            admit(cache, 1, ids, i)
        assert sorted(v for _, v in valid(cache, 4)) == held
        assert cache.lost == lost


def test_features_are_grown_over_only_for_want_of_a_free_slot(gnn):
    """Two embeddings an iteration, valid in the two after it: four slots, and never more."""
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 20, t_stale=2)
    cache.fill(features(N, 1), np.arange(N))
    for i in range(9):
        cache.begin_update(i)
        admit(cache, 1, [2 * i % N, (2 * i + 1) % N], i)
    assert (cache.hwm, cache.lost, cache.feature_rows) == (4, 0, N)


def test_embeddings_grow_over_the_coldest_features(gnn):
    """20 floats, 5 features of 4 at first: the third embedding of 3 floats ends at float 9."""
    cache = gnn.BidirectionalCache(N, 4, 3, 1, 20, t_stale=2)
    X, hotness = features(N, 4), np.array([5, 9, 5, 1, 0, 0, 0, 0, 0, 7, 0, 0])
    assert not cache.feature_mask(np.arange(N)).any()
    cache.fill(X, hotness)
    by_slots = {0: [0, 1, 2, 3, 9], 1: [0, 1, 2, 9], 2: [0, 1, 9], 3: [1, 9], 4: [1, 9], 5: [1]}
    cache.begin_update(0)
    for count, want in by_slots.items():
        if count:
            admit(cache, 1, [count], 0)
        assert np.flatnonzero(cache.feature_mask(np.arange(N))).tolist() == want
        rows, hit = cache.fetch_features(np.arange(N))
        assert np.array_equal(rows[hit], X[want])
    cache.begin_update(2)
    assert cache.feature_mask([1, 9]).tolist() == [True, False]  # not restored


def test_features_come_back_with_refill(gnn):
    cache = gnn.BidirectionalCache(N, 4, 3, 1, 20, t_stale=2, refill=True)
    X = features(N, 4)
    cache.fill(X, -np.arange(N))
    for i, ids in ((0, [1, 2, 3]), (1, [4, 5, 6]), (2, [7]), (3, []), (4, [8])):
        cache.begin_update(i)
        before = cache.feature_rows
        admit(cache, 1, ids, i)
        if i == 2:
            assert before == 0 and cache.hwm == 6  # the cycle before wrote to six slots
    assert cache.hwm == 1 and cache.feature_rows == 4 and cache.refilled == 4
    rows, hit = cache.fetch_features(np.arange(N))
    assert np.flatnonzero(hit).tolist() == [0, 1, 2, 3]
    assert np.array_equal(rows[hit], X[:4])
    assert list(valid(cache, 5)) == [(1, 8)]


@HEADERS
def test_refill_takes_out_what_it_writes_over(gnn, header):
    """Without stamps, entries of a cycle before would be served with a feature for a value."""
    cache = gnn.BidirectionalCache(
        N,
        4,
        3,
        1,
        20,
        t_stale=2,
        refill=True,
        header=header,
        staleness="header_only",
        dtype="float64",
    )
    cache.fill(features(N, 4), -np.arange(N))
    for i, ids in ((0, [1, 2, 3, 4, 5, 6]), (2, [7]), (4, [])):
        cache.begin_update(i)
        admit(cache, 1, ids, i)
    assert cache.feature_rows == 4
    assert list(valid(cache, 5)) == [(1, 7)]
    assert cache.lost == 6  # 7 is written over one, and features over five


def test_filling_again_leaves_embeddings_alone(gnn):
    cache = gnn.BidirectionalCache(N, 4, 3, 1, 20, t_stale=None)
    admit(cache, 1, [0, 1, 2], 0)
    before = valid(cache, 1)
    cache.fill(features(N, 4), np.arange(N))
    assert valid(cache, 1) == before and cache.feature_rows == 2


@pytest.mark.parametrize("X", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_features_are_cast_once(gnn, X, dtype):
    X = (np.arange(N * 3).reshape(N, 3) / 7).astype(X)
    cache = gnn.BidirectionalCache(N, 3, 2, 1, 60, t_stale=1, dtype=dtype)
    cache.fill(X, np.zeros(N))
    rows, hit = cache.fetch_features(np.arange(N))
    assert hit.all() and rows.dtype == dtype and np.array_equal(rows, X.astype(dtype))


def test_features_from_a_file(gnn, tmp_path):
    X = np.memmap(tmp_path / "X", np.float16, "w+", shape=(N, 3))
    X[:] = features(N, 3)
    cache = gnn.BidirectionalCache(N, 3, 2, 1, 9, t_stale=1)
    cache.fill(X, np.arange(N))
    rows, hit = cache.fetch_features([11, 0, 9])
    assert hit.tolist() == [True, False, True] and np.array_equal(rows[[0, 2]], X[[11, 9]])


@pytest.mark.parametrize("hotness", [np.arange(N, dtype=np.uint8), np.arange(N) / 7, -np.arange(N)])
def test_hotness_of_any_type(gnn, hotness):
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 2, t_stale=1)
    cache.fill(features(N, 1), hotness)
    assert sorted(np.flatnonzero(cache.feature_mask(np.arange(N)))) == sorted(
        np.argsort(hotness)[-2:]
    )


@pytest.mark.parametrize("floats", [0, 1, 2, 3, N * 3, N * 3 + 1, 500])
@pytest.mark.parametrize("d, h", [(3, 2), (2, 3), (1, 1), (4, 4)])
@pytest.mark.parametrize("kind", ["BidirectionalCache", "StaticSplitCache"])
def test_small_and_large_buffers(gnn, kind, floats, d, h):
    """No room for one of a kind, or room for all."""
    cache = find(gnn, kind)(N, d, h, 1, floats, t_stale=1)
    X = features(N, d)
    cache.fill(X, np.arange(N))
    share = floats if kind == "BidirectionalCache" else floats - floats // 2
    assert cache.feature_rows == min(N, share // d)
    written = admit(cache, 1, np.arange(N), 0)
    slots = (floats if kind == "BidirectionalCache" else floats // 2) // h
    assert written == min(N, slots) == len(valid(cache, 1))
    assert cache.dropped == N - written
    rows, hit = cache.fetch_features(np.arange(N))
    assert np.array_equal(rows[hit], X[hit])
    for (_, v), row in valid(cache, 1).items():
        assert row == embeddings([v], h, 0).astype(np.float32).tobytes()


def test_the_static_split(gnn):
    """Embeddings never take the features' part, whatever is admitted."""
    cache = gnn.history.StaticSplitCache(N, 3, 2, 1, 21, t_stale=None, split=0.6)
    cache.fill(features(N, 3), np.arange(N))
    assert cache.feature_rows == 3  # 12 floats for 6 embeddings, 9 for features
    assert admit(cache, 1, np.arange(N), 0) == 6
    assert cache.feature_rows == 3
    rows, hit = cache.fetch_features(np.arange(N))
    assert np.array_equal(rows[hit], features(N, 3)[9:])
    for split, embedded, kept in ((0, 0, 7), (1, 10, 0)):
        cache = gnn.history.StaticSplitCache(N, 3, 2, 1, 21, t_stale=None, split=split)
        assert (len(cache.entries.back), cache.feature_rows) == (embedded, kept)


def test_features_may_come_from_a_function(gnn):
    """It is asked for the features that fit alone, not for those of all nodes."""
    X, asked = features(N, 3), []

    def rows(ids):
        asked.extend(ids.tolist())
        return X[ids]

    caches = [gnn.BidirectionalCache(N, 3, 2, 1, 21, t_stale=None, refill=True) for _ in range(2)]
    for cache, source in zip(caches, (X, rows), strict=True):
        cache.fill(source, np.arange(N))
        assert admit(cache, 1, np.arange(5), 0) == 5
    assert sorted(asked) == list(range(N - 7, N))
    assert caches[0].arena.tobytes() == caches[1].arena.tobytes()


def test_no_layer_to_cache_and_no_nodes(gnn):
    cache = gnn.BidirectionalCache(N, 3, 2, 0, 21, t_stale=1)
    cache.fill(features(N, 3), np.arange(N))
    assert cache.feature_mask(np.arange(N)).sum() == 7
    with pytest.raises(ValueError, match="layer must"):
        cache.lookup(1, [0], 0)
    empty = gnn.BidirectionalCache(0, 3, 2, 1, 21, t_stale=1)
    empty.fill(features(0, 3), np.zeros(0))
    assert empty.lookup(1, np.zeros(0, int), 0).tolist() == []
    assert empty.fetch_features(np.zeros(0, int))[0].shape == (0, 3)


def test_cycles_begin_with_the_first_update(gnn):
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 9, t_stale=3, start_iter=4, header="cycle")
    heads = []
    for i in range(4, 12):
        cache.begin_update(i)
        cache.begin_update(i)  # once more does nothing
        admit(cache, 1, [i % 2], i)
        heads.append(cache.head)
    assert heads == [1, 2, 3, 1, 2, 3, 1, 2]
    with pytest.raises(ValueError, match="i must"):
        cache.begin_update(3)


def test_evicting_counts_what_could_still_be_read(gnn):
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 3, t_stale=2)
    admit(cache, 1, [0, 1, 2, 3], 0)  # 0 is not written
    assert cache.evict(1, [0, 1, 5], 1) == 1
    assert cache.evict(1, [0, 1, 5], 1) == 0
    assert cache.evicted == 1 and [v for _, v in valid(cache, 1)] == [2, 3]
    assert cache.evict(1, [2], 2) == 0  # iteration 3 could not read it; gone all the same
    assert cache.evicted == 1 and [v for _, v in valid(cache, 1)] == [3]


def test_the_value_of_no_valid_slot_is_read(gnn):
    """Garbage in slots without an entry goes nowhere."""
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 20, t_stale=None)
    admit(cache, 1, [3, 4, 5], 0)
    cache.evict(1, [4], 1)
    good = cache.lookup(1, [3, 5], 1)
    cache.entries.rows[np.setdiff1d(np.arange(10), good)] = np.nan
    found = cache.lookup(1, np.arange(N), 1)
    assert np.isfinite(cache.read(found[found >= 0])).all()
