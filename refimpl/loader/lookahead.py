"""A cache of feature rows that knows which rows the next minibatches need.

Not in the papers. Draws depend on keys alone, so the minibatches of the next window can be drawn
before they are trained on. The rows of a window are read together, each once and in ascending
order, while training works on the window before. A row makes room by the rule of Belady (1966):
the row whose next use is farthest is evicted. Ginex (VLDB 2022) uses the same rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.distinct import distinct
from refimpl.hints import Int, Integers, Positions

FREE = -1  # no row in a slot, or no slot of a row
AT_ONCE = 2**12  # slots, at least, that are looked at together


class Window(NamedTuple):
    """Rows that some minibatches in a row need: `window_of` makes it.

    Attributes
    ----------
    rows : (k,) int64 array
        Each row once, ascending.
    first : (k,) int64 array
        The number of the first minibatch that needs the row.
    end : int
        The number of the minibatch behind the last.
    """

    rows: Positions
    first: Positions
    end: int


class Reads(NamedTuple):
    """What a window lets be read: `RowCache.plan` makes it.

    Attributes
    ----------
    rows : (k,) int64 array
        Rows to read, ascending.
    slots : (k,) int64 array
        The slot of the cache that each row is written to, ascending.
    evicted : (k,) int64 array
        The row that was in the slot before, or -1.
    """

    rows: Positions
    slots: Positions
    evicted: Positions


def window_of(minibatches: Sequence[Integers], begin: Int) -> Window:
    """Return the window of some minibatches, the first of which has the number `begin`.

    Not in the papers. O(k log k) time for k rows in all.

    Parameters
    ----------
    minibatches : sequence of (any,) integer arrays
        The rows that each minibatch needs, below 2**31.
    begin : int, at least 0

    Returns
    -------
    Window

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    begin = require.integer("begin", begin, 0, 2**31)
    listed = require.listed("minibatches", minibatches, "arrays of rows")
    uses = [require.ids("minibatches", rows, 0, 2**31, np.int64) for rows in listed]
    bits = max(len(uses) - 1, 0).bit_length()
    most = max((int(rows.max()) for rows in uses if len(rows)), default=0)
    word: Any = np.uint32 if most < 2**32 >> bits else np.uint64  # short numbers are sorted faster
    packed = [rows.astype(word) << word(bits) | word(i) for i, rows in enumerate(uses)]
    packed = np.sort(np.concatenate([np.empty(0, word), *packed]))
    rows = packed >> word(bits)
    new = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    first = packed[new] & word(2**bits - 1)
    return Window(rows[new].astype(np.int64), begin + first.astype(np.int64), begin + len(uses))


def plan_arguments(cache, window, pinned, later):
    """Check the arguments of `RowCache.plan`; return them."""

    def checked(name, known):
        known = require.record(name, known, Window)
        rows = require.ids(name, known.rows, 0, cache.n, np.int64)
        if np.any(rows[1:] <= rows[:-1]):
            raise ValueError(f"{name} must have rows that ascend")
        end = require.integer(name, known.end, 0, 2**62)
        first = require.ids(name, known.first, 0, max(end, 1), np.int64)
        if len(first) != len(rows):
            raise ValueError(f"{name} must have as many first as rows, {len(rows)}")
        return Window(rows, first, end)

    later = [checked("later", one) for one in require.listed("later", later, "windows")]
    pinned = None if pinned is None else checked("pinned", pinned)
    return cache, checked("window", window), pinned, later


@dataclass(eq=False)
class RowCache:
    """Which rows of n are in which of `capacity` slots, and when they were used.

    Not in the papers: Belady (1966).

    Parameters
    ----------
    n : int
        Rows of the file.
    capacity : int, at least 1
        Slots.

    Attributes
    ----------
    slot_of : (n,) int32 array
        The slot of each row, or -1.
    row_in : (capacity,) int64 array
        The row in each slot, or -1.
    used : (capacity,) int64 array
        The number of the last plan that needed the row in the slot, from 0; -1 for a free slot.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    n: int
    capacity: int

    def __post_init__(self):
        self.n = require.integer("n", self.n, 0, 2**31 - 1)
        self.capacity = require.integer("capacity", self.capacity, 1, 2**31 - 1)
        self.slot_of = np.full(self.n, FREE, np.int32)
        self.row_in = np.full(self.capacity, FREE, np.int64)
        self.used = np.full(self.capacity, FREE, np.int64)
        self.plans = 0
        self._known = np.zeros(self.capacity + 1, np.int32)  # by which window; the last is no slot
        self.queue: deque[tuple[int, Any]] = deque()  # slots, by the last plan that needed them
        self.queued = 0  # slots in it, each once and some more
        self._requeue()

    @checked_by(plan_arguments)
    def plan(
        self, window: Window, pinned: Window | None = None, later: Sequence[Window] = ()
    ) -> Reads:
        """Make room for a window, and return what is to be read.

        Rows of `window` and of `pinned` are never evicted. Rows that `later` does not contain go
        first, the one used longest ago before the others. Then the rows of `later` go, the one with
        the farthest next use before the others. O(k log k) time for k rows, on average.

        Parameters
        ----------
        window : Window
        pinned : Window, optional
            The one before, which training still reads.
        later : sequence of Windows
            Those behind `window`, in order.

        Returns
        -------
        Reads

        Raises
        ------
        TypeError, ValueError
            If an argument is not as above, or the rows of `window` and `pinned` are more than the
            slots.
        """
        kept = (window,) if pinned is None else (pinned, window)
        places = self.slot_of[window.rows]
        rows = window.rows[places == FREE]
        slots = self._room(len(rows), kept, later)
        if len(slots) < len(rows):
            self._requeue()
            raise ValueError(
                f"capacity must be a slot for each row of two windows, got {self.capacity}"
            )
        evicted = self.row_in[slots]
        self.slot_of[evicted[evicted != FREE]] = FREE
        self.row_in[slots] = rows
        places[places == FREE] = slots
        self.slot_of[rows] = slots
        self._use(places)
        return Reads(rows, slots, evicted)

    def _room(self, count, kept, later):
        """Return slots for `count` rows, fewer if all others hold rows of the `kept` windows."""
        if count == 0:
            return np.arange(0)
        windows = [*reversed(later), *reversed(kept)]  # the nearest use counts
        held = [self.slot_of[window.rows] for window in windows]
        for number, slots in enumerate(held, 1):
            self._known[slots] = number
        self._known[FREE] = 0
        room = self._unknown(count)
        for number in range(1, len(later) + 1):
            if len(room) == count:
                break
            places = np.flatnonzero(self._known[held[number - 1]] == number)
            far = _largest(windows[number - 1].first[places], count - len(room))
            room = np.concatenate([room, held[number - 1][places[far]]])
        for slots in held:
            self._known[slots] = 0
        return np.sort(room).astype(np.int64)

    def _unknown(self, count):
        """Take slots that no known window needs: free ones, then the one used longest ago first."""
        room, passed = [np.empty(0, np.int32)], []
        while count and self.queue:
            use, slots = self.queue.popleft()
            end = max(count, AT_ONCE)
            if end < len(slots):
                self.queue.appendleft((use, slots[end:]))
            slots = slots[:end]
            here = slots[self.used[slots] == use]  # others were used later, and come again
            found = np.flatnonzero(self._known[here] == 0)[:count]
            room.append(here[found])
            count -= len(found)
            self.queued -= len(slots)
            passed.append((use, np.delete(here, found)))
        self._enqueue(passed)
        return np.concatenate(room)

    def _enqueue(self, first=(), last=()):
        """Put slots in front of the queue and behind it, each with the plan that used them last."""
        self.queue.extendleft(pair for pair in reversed(first) if len(pair[1]))
        self.queue.extend(last)
        self.queued += sum(len(slots) for _, slots in (*first, *last))
        if self.queued > 2 * self.capacity:  # no slot is in it twice by its last use
            whole = ((use, slots[self.used[slots] == use]) for use, slots in self.queue)
            self.queue = deque(pair for pair in whole if len(pair[1]))
            self.queued = sum(len(slots) for _, slots in self.queue)

    def _requeue(self):
        """Make the queue anew: each slot once, by when it was used, free slots first."""
        slots = np.argsort(self.used, kind="stable").astype(np.int32)
        used = self.used[slots]
        begins = np.flatnonzero(np.diff(used, prepend=-2))
        parts = np.split(slots, begins[1:])
        self.queue = deque(zip(used[begins].tolist(), parts, strict=True))
        self.queued = self.capacity

    def _use(self, slots):
        """Note that a plan needs the rows in some slots."""
        self.used[slots] = self.plans
        self._enqueue(last=[(self.plans, slots)])
        self.plans += 1

    def forget(self, slots: Positions) -> None:
        """Free some slots: their rows were never read."""
        slots = distinct(slots[self.row_in[slots] != FREE])
        self.slot_of[self.row_in[slots]] = FREE
        self.row_in[slots] = self.used[slots] = FREE
        self._enqueue(first=[(FREE, slots.astype(np.int32))])


def _largest(values, count):
    """Return where the `count` largest values are; of equal ones those in front."""
    if not 0 < count < len(values):
        return np.arange(len(values))[:count]
    least = np.partition(values, -count)[-count]
    above = np.flatnonzero(values > least)
    return np.append(above, np.flatnonzero(values == least)[: count - len(above)])
