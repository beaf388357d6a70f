"""SIEVE: which row makes room where nothing is known of the next minibatches.

Zhang, Yang, Yue, Vigfusson and Rashmi 2024, "SIEVE is Simpler than LRU: an Efficient Turn-Key
Eviction Algorithm for Web Caches" (NSDI), Algorithm 1. Not in the three papers: a baseline for
the rule of Belady, which `RowCache` follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refimpl.loader.lookahead import FREE, RowCache

TOO_SMALL: list[int] = []


@dataclass(eq=False)
class SieveCache(RowCache):
    """A `RowCache` that evicts by SIEVE, whatever later windows need.

    Rows are in a queue by the time that they were read, the newest at its head. A hand goes from
    the tail to the head, and then begins anew. It evicts the first row that was not used since it
    came by last. A row that is evicted and read again goes to the head; other rows never move.
    SIEVE takes one request after another; rows of a window and of the window before, which
    training needs, are passed over, and their bits stay as they are. O(k) steps of Python for k
    rows that are read or passed over.

    Attributes
    ----------
    visited : (capacity,) bool array
        Whether the row in a slot was used since the hand came by, or since it was read.
    newer, older : (capacity,) int32 arrays
        The next slot towards the head and towards the tail, or -1.
    head, tail, hand : int
        Slots, or -1.
    """

    def __post_init__(self):
        super().__post_init__()
        self.visited = np.zeros(self.capacity, bool)
        self.newer, self.older = np.full((2, self.capacity), FREE, np.int32)
        self.head = self.tail = self.hand = FREE

    def _enqueue(self, first=(), last=()):
        """The queue is that of SIEVE."""

    def _room(self, count, kept, later):
        busy = np.zeros(self.capacity, bool)
        for known in kept:
            hits = self.slot_of[known.rows]
            hits = hits[hits != FREE]
            busy[hits] = True
        self.visited[hits] = True  # x in T: x.visited <- 1; of the last one, which is the window
        slots = np.flatnonzero(self.row_in == FREE)[:count].tolist()
        if np.count_nonzero(~busy & (self.row_in != FREE)) < count - len(slots):
            return TOO_SMALL
        busy[slots] = True
        for x in slots:
            self._insert(x)
        while len(slots) < count:  # |T| = C
            o = self.tail if self.hand == FREE else self.hand  # o <- p; if NULL, o <- tail of T
            while self.visited[o] or busy[o]:  # while o.visited = 1
                self.visited[o] &= busy[o]  # o.visited <- 0
                o = self.tail if self.newer[o] == FREE else self.newer[o]  # o <- o.prev, or tail
            self._discard(o)  # p <- o.prev; discard o in T
            self._insert(o)  # insert x in the head of T; x.visited <- 0
            busy[o] = True
            slots.append(int(o))
        return np.array(slots, np.int64)

    def _insert(self, x):
        """Put a slot at the head of the queue."""
        self.visited[x], self.older[x], self.newer[x] = False, self.head, FREE
        if self.head == FREE:
            self.tail = x
        else:
            self.newer[self.head] = x
        self.head = x

    def _discard(self, o):
        """Take a slot out of the queue; the hand goes to the one in front of it."""
        older, newer = int(self.older[o]), int(self.newer[o])
        if older == FREE:
            self.tail = newer
        else:
            self.newer[older] = newer
        if newer == FREE:
            self.head = older
        else:
            self.older[newer] = older
        self.hand = newer

    def forget(self, slots):
        """Free some slots: their rows were never read."""
        for o in slots[self.row_in[slots] != FREE]:
            hand = self.hand
            self._discard(o)
            self.hand = self.hand if hand == o else hand
        super().forget(slots)
