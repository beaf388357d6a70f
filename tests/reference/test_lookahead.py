"""Which rows a look-ahead cache keeps and reads: against the fewest reads of any policy."""

from functools import cache
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refimpl.loader import RowCache, Window, lookahead, window_of
from refimpl.loader.direct_reads import GAP, PAGE, PIECE, pieces_of
from refimpl.loader.sieve import SieveCache


def reads_of(windows, n, capacity, known, cache_of=RowCache, pin=False):
    """Return the rows that each window lets be read, when `known` windows behind it are known."""
    rows, found = cache_of(n, capacity), []
    windows = [window_of([w], i) for i, w in enumerate(windows)]
    for i, window in enumerate(windows):
        before = set(rows.row_in[rows.row_in >= 0].tolist())
        pinned = windows[i - 1] if pin and i else None
        reads = rows.plan(window, pinned, windows[i + 1 : i + 1 + known])
        assert sorted(set(window.rows.tolist()) - before) == reads.rows.tolist()
        for row, slot in zip(reads.rows, reads.slots, strict=True):
            assert rows.row_in[slot] == row and rows.slot_of[row] == slot
        held = rows.row_in[rows.row_in >= 0]
        assert len(set(held.tolist())) == len(held) == np.count_nonzero(rows.slot_of >= 0)
        assert set(window.rows.tolist()) <= set(held.tolist())
        found.append(len(reads.rows))
    return found


def sieve_reads(windows, capacity, pin):
    """Return the rows that SIEVE reads for each window, request by request, on a list."""
    queue, visited, hand, found = [], set(), None, []
    for i, window in enumerate(windows):
        kept = set(window) | set(windows[i - 1] if pin and i else ())
        missing = sorted(set(window) - set(queue))
        visited |= set(window) & set(queue)
        for row in missing:
            if len(queue) == capacity:
                at = 0 if hand is None else queue.index(hand)
                while queue[at] in visited or queue[at] in kept:
                    visited -= {queue[at]} - kept
                    at = (at + 1) % capacity
                hand = queue[at + 1] if at + 1 < capacity else None
                del queue[at]
            queue.append(row)
        found.append(len(missing))
    return found


def fewest_reads(windows, capacity):
    """Return the fewest rows that any policy reads, by trying all."""

    @cache
    def fewest(i, held):
        if i == len(windows):
            return 0
        needed = frozenset(windows[i])
        others = sorted(held - needed)
        room = min(capacity - len(needed), len(others))
        return len(needed - held) + min(
            fewest(i + 1, needed | frozenset(kept)) for kept in combinations(others, room)
        )

    return fewest(0, frozenset())


SETS = st.lists(st.lists(st.integers(0, 6), max_size=3, unique=True), max_size=7)
WIDE = st.lists(st.lists(st.integers(0, 11), max_size=3, unique=True), max_size=20)


@given(SETS, st.integers(3, 5))
def test_no_policy_reads_fewer_rows_than_one_that_knows_all_windows(windows, capacity):
    assert sum(reads_of(windows, 7, capacity, len(windows))) == fewest_reads(windows, capacity)


@given(
    st.integers(0, 2**32),
    st.integers(8, 12),
    st.integers(0, 3),
    st.sampled_from([1, 3, 4096]),
)
def test_the_rows_whose_next_use_is_farthest_make_room(seed, capacity, known, at_once):
    """By a table of all slots, however many slots are looked at together."""
    rows, last, rng = RowCache(20, capacity), {}, np.random.default_rng(seed)
    windows = [window_of([*rng.integers(20, size=(2, 2))], 2 * i) for i in range(30)]
    for i, window in enumerate(windows):
        later, pinned = windows[i + 1 : i + 1 + known], windows[i - 1] if i else None
        next_use = {row: 10**6 - last[row] for row in rows.row_in[rows.row_in >= 0].tolist()}
        free = capacity - len(next_use)
        for one in later[::-1]:
            uses = dict(zip(one.rows.tolist(), one.first.tolist(), strict=True))
            next_use |= {row: use for row, use in uses.items() if row in next_use}
        for row in {*window.rows.tolist(), *(pinned.rows.tolist() if i else ())}:
            next_use.pop(row, None)
        with mock.patch.object(lookahead, "AT_ONCE", at_once):
            reads = rows.plan(window, pinned, later)
        evicted = reads.evicted[reads.evicted >= 0].tolist()
        assert len(evicted) == max(len(reads.rows) - free, 0)
        farthest = sorted(next_use.values(), reverse=True)[: len(evicted)]
        assert sorted((next_use[row] for row in evicted), reverse=True) == farthest
        assert np.all(reads.slots[1:] > reads.slots[:-1]) and rows.queued <= 2 * capacity
        assert rows.queued == sum(len(slots) for _, slots in rows.queue)
        last |= dict.fromkeys(window.rows.tolist(), i)
        if i % 5 == 4:
            rows.forget(reads.slots[::2])


@given(SETS, st.integers(3, 5), st.integers(0, 2))
def test_with_few_windows_known_each_window_is_read_in_time(windows, capacity, known):
    assert sum(reads_of(windows, 7, capacity, known)) >= fewest_reads(windows, capacity)


def test_without_a_look_ahead_the_row_used_longest_ago_goes_first():
    assert reads_of([[0], [1], [2], [1], [0], [2]], 3, 2, 0) == [1, 1, 1, 0, 1, 1]


@given(WIDE, st.integers(3, 8))
@example([[0], [0], [1, 2, 3]], 3)  # two of the new rows find a free slot
def test_sieve_reads_what_it_reads_request_by_request(windows, capacity):
    pin = capacity >= 6  # two windows have no more rows
    assert reads_of(windows, 12, capacity, 0, SieveCache, pin) == sieve_reads(
        windows, capacity, pin
    )


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(2, 5))
def test_sieve_takes_one_request_after_another(requests, capacity):
    """And one that knows all requests never reads more."""
    windows = [[row] for row in requests]
    found = reads_of(windows, 10, capacity, 0, SieveCache)
    assert found == sieve_reads(windows, capacity, False)
    assert sum(found) >= sum(reads_of(windows, 10, capacity, len(windows)))


@given(SETS, st.integers(3, 5))
def test_sieve_never_reads_less_than_one_that_knows_all_windows(windows, capacity):
    found = reads_of(windows, 7, capacity, 0, SieveCache)
    assert sum(found) >= sum(reads_of(windows, 7, capacity, len(windows)))


def test_sieve_keeps_a_row_that_was_used_again():
    """New rows go before it; without a look-ahead, `RowCache` evicts the row used longest ago."""
    requests = [[0], [1], [2], [0], [3], [4], [5], [0]]
    assert reads_of(requests, 6, 3, 0, SieveCache) == [1, 1, 1, 0, 1, 1, 1, 0]
    assert reads_of(requests, 6, 3, 0) == [1, 1, 1, 0, 1, 1, 1, 1]


@given(SETS, st.sets(st.integers(0, 5)))
def test_slots_that_were_never_read_are_free(windows, slots):
    rows = SieveCache(7, 6)
    for i, window in enumerate(windows):
        rows.plan(window_of([window], i))
    rows.forget(np.array(sorted(slots), np.int64))
    rows.plan(window_of([[0, 1, 2, 3, 4, 5]], len(windows)))
    queue, slot = [], rows.tail
    while slot >= 0:
        queue.append(slot)
        slot = rows.newer[slot]
    assert sorted(queue) == list(range(6)) and queue[-1] == rows.head


@pytest.mark.parametrize("cache_of", [RowCache, SieveCache])
def test_a_window_that_is_trained_on_keeps_its_rows(cache_of):
    rows = cache_of(9, 4)
    first, second = window_of([[0, 1]], 0), window_of([[2, 3]], 1)
    rows.plan(first)
    slots = rows.slot_of[[0, 1]].copy()
    rows.plan(second, first)
    assert rows.slot_of[[0, 1]].tolist() == slots.tolist() and (rows.slot_of[[2, 3]] >= 0).all()
    with pytest.raises(ValueError, match="a slot for each row of two windows, got 4"):
        rows.plan(window_of([[4, 5, 6]], 2), second)
    assert len(rows.plan(window_of([[4, 5]], 2), second).rows) == 2  # nothing was lost


@given(st.lists(st.integers(0, 3)), st.integers(0, 9))
def test_the_largest_are_those_in_front(values, count):
    found = lookahead._largest(np.array(values, np.int64), count)
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert sorted(found.tolist()) == sorted(order[:count])


@pytest.mark.parametrize(
    ("window", "pinned", "later", "message"),
    [
        (window_of([[9]], 0), None, (), r"window must be in \[0, 9\)"),
        (window_of([[1]], 0), [1], (), "pinned must be like Window"),
        (Window([1, 1], [0, 0], 1), None, (), "window must have rows that ascend"),
        (Window([1], [3], 1), None, (), r"window must be in \[0, 1\)"),
        (Window([1], [0], None), None, (), "window must be an integer"),
        (window_of([[1]], 0), None, [window_of([[0]], 0), 3], "later must be like Window"),
        (window_of([[1]], 0), None, window_of([[1]], 0), "later must be like Window"),
    ],
)
def test_windows_are_checked(window, pinned, later, message):
    with pytest.raises((TypeError, ValueError), match=message):
        RowCache(9, 4).plan(window, pinned, later)


def test_a_window_names_the_first_minibatch_of_each_row():
    window = window_of([[5, 2], [2, 7], []], 3)
    assert [x.tolist() for x in window[:2]] == [[2, 5, 7], [3, 3, 4]] and window.end == 6


@example(np.array([0, 1 + GAP, 3 + 2 * GAP]), 0, PAGE)  # the second is near enough
@given(
    st.lists(st.integers(0, 400), unique=True).map(sorted)
    | st.integers(1, 3000).map(lambda step: list(range(0, 600_000, step))),
    st.integers(0, 9000),
    st.sampled_from([1, 100, 1024, 4096, 5000, 300_000]),
)
def test_pieces_are_whole_pages_that_hold_their_rows(rows, offset, size):
    rows = np.array(rows, np.int64)
    begin, end, first = pieces_of(rows, offset, size)
    assert not (begin % PAGE).any() and not (end % PAGE).any()
    assert np.all(end - begin <= PIECE + size + 2 * PAGE)
    assert first[0] == 0 and first[-1] == len(rows) and np.all(np.diff(first) > 0)
    for low, high, a, b in zip(begin, end, first[:-1], first[1:], strict=True):
        here = offset + rows[a:b] * size
        assert low <= here[0] < low + PAGE and high - PAGE < here[-1] + size <= high
        gaps = here[1:] // PAGE * PAGE - (here[:-1] + size + PAGE - 1) // PAGE * PAGE
        assert np.all(gaps <= GAP * PAGE)
    if len(rows):
        wide = np.count_nonzero(begin[1:] - end[:-1] > GAP * PAGE)
        assert len(begin) <= 1 + wide + (end[-1] - begin[0]) // PIECE
