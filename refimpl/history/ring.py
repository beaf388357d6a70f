"""Which slots the next embeddings go to: the ring of FreshGNN's cache (section 4.2)."""

import numpy as np

from refimpl._support import require

HEADERS, OVERFLOWS = ("continue", "cycle"), ("wrap", "drop")
NUMBERS = ("head", "used", "top", "cycle")  # all that a ring has to remember
CHUNK = 4096  # slots looked at together when free ones are sought


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
        self.header = require.choice("header", header, HEADERS)
        self.overflow = require.choice("overflow", overflow, OVERFLOWS)
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

    def room(self, count, is_free):
        """Return how many slots are left, at most `count`, without a loss; see `advance`."""
        if self.header == "cycle":
            return min(self.slots - self.head, count)
        new = min(self.slots - self.used, count)
        return new + len(self._from_header(count - new, is_free))

    def advance(self, count, is_free, passed=0):
        """Return the next `count` slots, all different; the header moves behind the last.

        With header "cycle" this takes O(count) time. With "continue" it also takes that of passing
        over slots that are not free, all of the used ones at worst.

        Parameters
        ----------
        count : int
            At most `slots`; with overflow "drop", at most `room`.
        is_free : function
            ``is_free(slots)``, of a slice of the used ones, returns which of them may be written
            to without a loss, bool.
        passed : int
            Embeddings before these that the same call would overwrite. With header "cycle" the
            header passes their slots first, as if they had been written.

        Returns
        -------
        (count,) integer array
        """
        if self.header == "cycle":
            slots = self._round(count, passed)
        else:
            slots = self._free_first(count, is_free)
        if count:
            self.move(int(slots[-1]) + 1, int(slots.max()) + 1)
        return slots

    def move(self, head, top):
        """Put the header at slot `head`, when the slots below `top` may have been written to."""
        self.head = head
        self.top = max(self.top, top)
        self.used = max(self.used, self.top)

    def _round(self, count, passed):
        """Return the slots from `passed` behind the header on, free or not."""
        return (self.head + passed + np.arange(count)) % max(self.slots, 1)

    def _free_first(self, count, is_free):
        """Return slots that are free, then new ones, which cost features, then any."""
        used = self._from_header(count, is_free)
        new = np.arange(self.used, min(self.slots, self.used + count - len(used)))
        others = self._from_header(count - len(used) - len(new), lambda slots: ~is_free(slots))
        return np.concatenate([used, new, others])

    def _from_header(self, count, wanted):
        """Return the first `count` used slots that are wanted, in the order of the header."""
        found = [np.zeros(0, np.int64)]
        for first, last in ((self.head, self.used), (0, min(self.head, self.used))):
            for begin in range(first, last, CHUNK):
                if count <= 0:
                    break
                chunk = begin + np.flatnonzero(wanted(slice(begin, min(begin + CHUNK, last))))
                found.append(chunk[:count])
                count -= len(found[-1])
        return np.concatenate(found)
