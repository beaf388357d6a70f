"""Which slots the next embeddings go to: the ring of FreshGNN's cache (section 4.2)."""

import numpy as np

from refimpl import _check

HEADERS, OVERFLOWS = ("continue", "cycle"), ("wrap", "drop")
NUMBERS = ("head", "used", "top", "cycle")  # all that a ring has to remember


class Ring:
    """A header that goes round some slots and says which is next.

    Parameters
    ----------
    slots : int
        How many there are.
    header : {"continue", "cycle"}
        "continue" passes over slots that are not free. "cycle" goes back to slot 0 every `t_stale`
        iterations and takes one slot after the other, free or not: as printed (E-V20).
    overflow : {"wrap", "drop"}
        What becomes of an embedding when no slot is left: "wrap" puts it where the header is,
        "drop" nowhere.
    t_stale : int or None
        Iterations of a cycle; None: the first never ends.
    start_iter : int
        The iteration that the first cycle begins with.

    Attributes
    ----------
    head : int
        The slot that the header is at; `slots` behind the last one.
    used : int
        Slots from 0 that embeddings were written to: features have the rest.
    top : int
        The same, in this cycle alone.
    cycle : int
        Number of this cycle; -1 before the first.
    """

    def __init__(self, slots, header, overflow, t_stale, start_iter):
        self.slots = slots
        self.header = _check.choice("header", header, HEADERS)
        self.overflow = _check.choice("overflow", overflow, OVERFLOWS)
        self.length = None if t_stale is None else max(t_stale, 1)
        self.start_iter = start_iter
        self.head = self.used = self.top = 0
        self.cycle = -1

    def begins_cycle(self, i):
        """Return whether iteration `i` begins a cycle that had not begun yet; begin it."""
        if self.length is None or (i - self.start_iter) // self.length == self.cycle:
            return False
        self.cycle = (i - self.start_iter) // self.length
        if self.header == "cycle":
            self.head = 0
        return True

    def shrink(self):
        """Give up the slots that the last cycle did not write to; begin again at slot 0."""
        self.used, self.head, self.top = self.top, 0, 0

    def room(self, free):
        """Return how many slots are left, of which nothing is overwritten that is not free."""
        if self.header == "cycle":
            return self.slots - self.head
        return int(np.count_nonzero(free)) + self.slots - self.used

    def advance(self, count, free):
        """Return the next `count` slots, all different; the header moves behind the last.

        Parameters
        ----------
        count : int
            At most `slots`; with overflow "drop", at most `room`.
        free : (used,) bool array
            Used slots that may be written to without a loss.

        Returns
        -------
        (count,) integer array
        """
        slots = self._round(count) if self.header == "cycle" else self._free_first(count, free)
        if count:
            self.head = int(slots[-1]) + 1
            self.top = max(self.top, int(slots.max()) + 1)
            self.used = max(self.used, self.top)
        return slots

    def _round(self, count):
        """Return the slots from the header on, free or not."""
        return (self.head + np.arange(count)) % max(self.slots, 1)

    def _free_first(self, count, free):
        """Return slots that are free, then new ones, which cost features, then any."""
        used = self._from_header(np.flatnonzero(free))[:count]
        new = np.arange(self.used, min(self.slots, self.used + count - len(used)))
        slots = np.concatenate([used, new])
        if len(slots) < count:
            others = self._from_header(np.flatnonzero(~free))
            slots = np.concatenate([slots, others[: count - len(slots)]])
        return slots

    def _from_header(self, slots):
        """Return ascending slots in the order in which the header meets them."""
        return np.roll(slots, -np.searchsorted(slots, self.head))
