"""A cache of feature rows that knows which rows the next minibatches need.

Not in the papers. Draws depend on keys alone, so the minibatches of the next window can be drawn
before they are trained on. The rows of a window are read together, each once and in ascending
order, while training works on the window before. A row makes room by the rule of Belady (1966):
the row whose next use is farthest is evicted. Ginex (VLDB 2022) uses the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Int, Integers, Positions

FREE = -1  # no row in a slot, or no slot of a row
UNKNOWN = 2**62  # a next use that no window tells of


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
        The slot of the cache that each row is written to.
    """

    rows: Positions
    slots: Positions


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
    uses = [
        require.ids("minibatches", rows, 0, 2**31, np.int64) << 31 | i
        for i, rows in enumerate(listed)
    ]
    rows, first = np.divmod(np.sort(np.concatenate([np.empty(0, np.int64), *uses])), 2**31)
    new = np.diff(rows, prepend=-1) != 0
    return Window(rows[new], begin + first[new], begin + len(listed))


def plan_arguments(cache, window, pinned, later):
    """Check the arguments of `RowCache.plan`; return them."""

    def checked(name, known):
        known = require.record(name, known, Window)
        rows = require.ids(name, known.rows, 0, cache.n, np.int64)
        if np.any(rows[1:] <= rows[:-1]):
            raise ValueError(f"{name} must have rows that ascend")
        end = require.integer(name, known.end, 0, 2**62)
        first = require.positions(name, known.first, len(rows), max(end, 1))
        return Window(rows, first.astype(np.int64), end)

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
        The end of the last window that needed the row in the slot.

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
        self.used = np.zeros(self.capacity, np.int64)

    @checked_by(plan_arguments)
    def plan(
        self, window: Window, pinned: Window | None = None, later: Sequence[Window] = ()
    ) -> Reads:
        """Make room for a window, and return what is to be read.

        Rows of `window` and of `pinned` are never evicted. Rows that `later` does not contain go
        first, the one used longest ago before the others. Then the rows of `later` go, the one with
        the farthest next use before the others. O(capacity + k) time for k rows.

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
        rows = window.rows[self.slot_of[window.rows] == FREE]
        slots = self._room(len(rows), kept, later)
        if len(slots) < len(rows):
            raise ValueError(
                f"capacity must be a slot for each row of two windows, got {self.capacity}"
            )
        evicted = self.row_in[slots]
        self.slot_of[evicted[evicted != FREE]] = FREE
        self.row_in[slots] = rows
        self.slot_of[rows] = slots
        self.used[self.slot_of[window.rows]] = window.end
        return Reads(rows, slots)

    def _room(self, count, kept, later):
        """Return slots for `count` rows, fewer if all others hold rows of the `kept` windows."""
        next_use = UNKNOWN - self.used
        next_use[self.row_in == FREE] = 2 * UNKNOWN - 1  # a free slot is taken first
        for known in (*reversed(later), *reversed(kept)):  # the nearest use counts
            slots = self.slot_of[known.rows]
            next_use[slots[slots != FREE]] = known.first[slots != FREE]
        slots = _largest(next_use, count)
        return slots[next_use[slots] >= kept[-1].end]

    def forget(self, slots: Positions) -> None:
        """Free some slots: their rows were never read."""
        rows = self.row_in[slots]
        self.slot_of[rows[rows != FREE]] = FREE
        self.row_in[slots] = FREE


def _largest(values, count):
    """Return where the `count` largest values are, ascending; all where there are fewer."""
    if count == 0:
        return np.arange(0)
    return np.sort(np.argpartition(values, -min(count, len(values)))[-count:])
