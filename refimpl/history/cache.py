"""Embeddings and features in one buffer, from both ends: FreshGNN's cache (section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import showing
from refimpl.hints import F, Features, FloatDtype, Ids, Int, Integers, Mask, Matrix, Reals
from refimpl.history.cache_state import all_arrays, state_of, take_over
from refimpl.history.entries import (
    STALENESS,
    Entries,
    is_valid,
    oldest_stamp,
    take_out,
    vacate,
)
from refimpl.history.policy import MOST, layer_ids, rows_taken, staleness_bound
from refimpl.history.ring import Ring
from refimpl.loader.files import still_whole
from refimpl.loader.gathering import BLOCK

FEATURES = (np.float16, *require.FLOATS)
MOST_LAYERS, MOST_FLOATS = 2**10, 2**48  # a map of all nodes for each layer; 2^48 fill any memory


class BidirectionalCache:
    """Embeddings from the left, the hottest features from the right, in one buffer.

    FreshGNN section 4.2. Embeddings are in slots; a *header* goes round those that embeddings
    have used and says which is next (``refimpl/history/ring.py``). It passes over entries that are
    still valid (``refimpl/history/entries.py``): these are overwritten only if the buffer is full
    of them. Where no used slot is free, embeddings grow over the coldest features, which are gone.

    Parameters
    ----------
    n : int
        Nodes of the graph.
    d, h : int
        Widths of the features and of the embeddings, which is one for all layers.
    layers : int
        Layers whose embeddings are kept, 1 to `layers`.
    floats : int
        Size of the buffer.
    t_stale : int or None
        The highest age of an entry, in iterations; None: any.
    dtype : float32 or float64
        Of the buffer.
    header : {"continue", "cycle"}
        "cycle", as printed: the header goes back to the first slot every `t_stale` iterations,
        and takes one slot after the other, over entries that are still valid, too (E-V20).
    overflow : {"wrap", "drop"}
        What a full buffer does with another embedding: write it where the header is, or refuse
        it. With header "cycle" it is full when the header has come to its end.
    staleness : {"stamp", "header_only"}
        "header_only" leaves out the check of ages; with header "cycle", this is the public code:
        entries behind the point where a cycle ends are then served for ever.
    start_iter : int
        Iteration from which cycles are counted: the first that updates the cache.
    refill : bool
        At the end of a cycle, of `t_stale` iterations, begin at the first slot again, and copy
        the features back that the cycle did not grow over.

    Attributes
    ----------
    admitted : int
        Entries written so far.
    evicted, lost : int
        Entries that the next iteration could have read, but for `evict`, or for what was written
        over them.
    dropped : int
        Embeddings that were not written: for want of room, or because the same call would have
        overwritten them.
    refilled : int
        Features copied back: they are loaded once more.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or more than 2**31 - 1 embeddings would fit.
    """

    gnn: Any = None  # the implementation; bound in each package

    def __init__(
        self,
        n: Int,
        d: Int,
        h: Int,
        layers: Int,
        floats: Int,
        *,
        t_stale: Int | None,
        dtype: FloatDtype = "float32",
        header: Literal["continue", "cycle"] = "continue",
        overflow: Literal["wrap", "drop"] = "wrap",
        staleness: Literal["stamp", "header_only"] = "stamp",
        start_iter: Int = 0,
        refill: bool = False,
    ) -> None:
        self.n = require.integer("n", n, 0, MOST)
        self.d, self.h = require.integer("d", d, 1, MOST), require.integer("h", h, 1, MOST)
        self.layers = require.integer("layers", layers, 0, MOST_LAYERS)
        floats = require.integer("floats", floats, 0, MOST_FLOATS)
        self.t_stale = staleness_bound(t_stale)
        self.staleness = require.choice("staleness", staleness, STALENESS)
        start_iter = require.integer("start_iter", start_iter, 0, MOST)
        if not isinstance(refill, bool):
            raise TypeError("refill must be True or False")
        self.refill = refill
        self._allocate(floats, require.float_dtype("dtype", dtype))
        self.ring = Ring(len(self.entries.back), header, overflow, self.t_stale, start_iter)
        self.admitted = self.evicted = self.lost = self.dropped = self.refilled = 0
        self._X: Any = None

    def _allocate(self, floats, dtype):
        slots = self._shares(floats)[0] // self.h
        if slots > MOST:
            raise ValueError(f"floats must hold at most {MOST} embeddings, got {slots}")
        self.arena = zeros_in_lines(floats, dtype)
        self.rank = np.full(self.n, MOST, np.int32)  # no features yet
        slot_of = np.full((self.layers, self.n), -1, np.int32)
        self._divide(slot_of, np.full(slots, -1, np.int64), np.zeros(slots, np.int32))

    def _divide(self, *maps):
        """Make the views of the buffer: the rows of `Entries`, beside its `maps`; and features."""
        for_embeddings, for_features = self._shares(self.arena.size)
        slots, most = for_embeddings // self.h, min(self.n, for_features // self.d)
        self.entries = Entries(self.arena[: slots * self.h].reshape(slots, self.h), *maps)
        self.features = self.arena[self.arena.size - most * self.d :].reshape(most, self.d)

    __repr__ = showing(
        *("n", "d", "h", "layers", "nbytes", "t_stale", "admitted", "evicted", "lost", "dropped")
    )

    def __getstate__(self):
        """Return all but the views, each of which would become a buffer of its own."""
        state = {**vars(self), "entries": self.entries[1:]}
        del state["features"]
        return state

    def __setstate__(self, state):
        vars(self).update(state)
        self._divide(*self.entries)

    def _shares(self, floats):
        """Return the floats that embeddings, and that features, may use."""
        return floats, floats

    @property
    def head(self) -> int:
        """The slot that the header is at."""
        return self.ring.head

    @property
    def hwm(self) -> int:
        """How many slots embeddings have used: those below it. Features have the rest."""
        return self.ring.used

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays: 4 floats + 4 layers n + 12 slots + 4 n, with a float32 buffer."""
        return sum(array.nbytes for array in all_arrays(self).values())

    @property
    def feature_rows(self) -> int:
        """How many features are in the buffer, the hottest ones, once it was filled."""
        return self.features_beside(self.hwm)

    def features_beside(self, used: Int) -> int:
        """Return how many features there is room for beside embeddings in `used` slots."""
        return min(len(self.features), (self.arena.size - used * self.h) // self.d)

    def slots_beside(self, rows: Int) -> int:
        """Return how many slots there is room for beside `rows` features."""
        return min(len(self.entries.back), (self.arena.size - rows * self.d) // self.h)

    def fill(self, X: Features | Callable[[Ids], Any], hotness: Reals) -> None:
        """Copy the features of the hottest nodes, cast to the buffer's dtype, and rank all nodes.

        O(n log n) time and the copying.

        Parameters
        ----------
        X : (n, d) float16, float32 or float64 array, or callable
            May be a memory map. ``X(ids)`` returns the rows of some nodes. Kept with `refill`;
            later changes of it are then seen.
        hotness : (n,) real array
            Of two nodes equally hot, the lower comes first.
        """
        if not callable(X) or isinstance(X, type):  # a class is given by mistake
            if not isinstance(X, np.ndarray):
                raise TypeError(f"X must be an array or callable, got {type(X).__name__}")
            if X.shape != (self.n, self.d) or X.dtype not in FEATURES:
                raise ValueError(f"X must be ({self.n}, {self.d}) floats, got {X.shape} {X.dtype}")
        hotness = require.array("hotness", hotness)
        if hotness.shape != (self.n,) or hotness.dtype.kind not in "iuf":
            raise ValueError(f"hotness must be ({self.n},) numbers, got shape {hotness.shape}")
        hotness = hotness.astype(np.float64)
        if np.isnan(hotness).any():
            raise ValueError("hotness must not be NaN")
        order = np.argsort(-hotness, kind="stable")
        self.rank[order] = np.arange(self.n, dtype=np.int32)
        self._copy_features(X, 0, self.feature_rows)
        self._X = X if self.refill else None

    def _copy_features(self, X, first, last):
        """Copy the features of the ranks in [first, last)."""
        chosen = np.flatnonzero((first <= self.rank) & (self.rank < last))
        for i in range(0, len(chosen), BLOCK):
            ids = chosen[i : i + BLOCK]
            rows = self._returned(X, ids) if callable(X) else still_whole(X)[ids]
            self.features[len(self.features) - 1 - self.rank[ids]] = rows

    def _returned(self, X, ids):
        """Return ``X(ids)``, or raise: a row alone would be copied to all nodes."""
        rows = X(ids)
        if not isinstance(rows, np.ndarray):
            raise TypeError(f"X(ids) must be an array, got {type(rows).__name__}")
        if rows.shape != (len(ids), self.d) or rows.dtype not in FEATURES:
            wanted = f"({len(ids)}, {self.d}) floats"
            raise ValueError(f"X(ids) must be {wanted}, got {rows.shape} {rows.dtype}")
        return rows

    def feature_mask(self, ids: Integers) -> Mask:
        """Return for which of the nodes `ids` the features are in the buffer, (k,) bool."""
        return self.rank[require.ids("ids", ids, 0, self.n, np.int32)] < self.feature_rows

    def fetch_features(self, ids: Integers) -> tuple[Matrix, Mask]:
        """Return (rows, hit) of the nodes `ids`, as `cache_fetch` does: features or zeros."""
        return self.gnn.history.cache_fetch(self.features, self.rank, ids, self.feature_rows)

    def lookup(self, layer: Int, ids: Integers, i: Int) -> Ids:
        """Return the slots of the entries valid in iteration `i`, -1 for the others, int32.

        `layer` counts from 1, `ids` is a (k,) integer array of nodes.
        """
        i = require.integer("i", i, 0, MOST)
        return self.gnn.history.cache_lookup(self.entries, layer, ids, self._oldest(i))

    def _oldest(self, i):
        """Return the lowest stamp of an entry that iteration `i` may read."""
        return oldest_stamp(i, self.t_stale, self.staleness)

    def oldest_kept(self, i: Int) -> int:
        """Return the lowest stamp of an entry that is worth its slot when iteration `i` updates.

        A later iteration may read it, or this one has just written it.
        """
        return min(self._oldest(i + 1), i)

    def read(self, slots: Integers, computed: Matrix | None = None) -> Matrix:
        """Return the embeddings in some `slots`, (len(slots), h), with `computed` rows for -1."""
        return self.gnn.history.cache_read(self.entries.rows, slots, computed=computed)

    def begin_update(self, i: Int) -> None:
        """Begin the update of iteration `i`, and with it a new cycle if it is the first of one.

        Cycle c is the iterations from ``start_iter + c t_stale`` on; calls must not go back.
        """
        i = require.integer("i", i, self.ring.start_iter, MOST)
        if self.ring.begins_cycle(i) and self.refill:
            self._bring_features_back(i)

    def _bring_features_back(self, i):
        """Copy the features back that were where the last cycle did not write.

        What else it did not write is retired, too; with header "cycle" it stays, as printed.
        """
        before = self.feature_rows
        self.ring.shrink()
        after = self.feature_rows
        if self.ring.header == "continue":
            self._retire(self.hwm, i)
        elif after > before:
            self._retire(self.slots_beside(after), i)
        if after > before:
            if self._X is None:
                raise ValueError("refill needs the features: call fill")
            self._copy_features(self._X, before, after)
            self.refilled += after - before

    def _retire(self, first, i):
        """Take out the entries in the slots from `first` on."""
        behind = slice(first, None)
        self.lost += int(np.count_nonzero(is_valid(self.entries, behind, self.oldest_kept(i))))
        self.entries.back[behind] = -1

    def evict(self, layer: Int, ids: Integers, i: Int) -> int:
        """Take out a `layer`'s entries of `ids`, each given once, in iteration `i`.

        Return how many the next iteration could have read: those that are too old go uncounted.
        """
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        i = require.integer("i", i, 0, MOST)
        count = take_out(self.gnn, self.entries, layer, ids, self.oldest_kept(i))
        self.evicted += count
        return count

    def admit(
        self, layer: Int, ids: Integers, values: Matrix[F], i: Int, *, take: Integers | None = None
    ) -> int:
        """Write the entries of some nodes, in order; return how many were written.

        `layer`, `ids`, `values`, `i` and `take` are as for `cache_admit`; any number of nodes, each
        given once. If there is not room for all, the first ones are written with overflow "drop",
        the last ones with "wrap". The entry that a node had before is no more.
        """
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        values, take = rows_taken(values, (len(ids), self.h), self.arena.dtype, take)
        i = require.integer("i", i, 0, MOST)
        asked, chosen = len(ids), self._with_room(layer, ids, i)
        ids = ids[chosen]
        if take is None:
            values = values[chosen]
        else:
            take = take[chosen]
        slots = self._make_room(layer, ids, i, chosen.start)
        self.gnn.history.cache_admit(self.entries, layer, ids, values, slots, i, take=take)
        self.admitted += len(ids)
        self.dropped += asked - len(ids)
        return len(ids)

    def _with_room(self, layer, ids, i):
        """Return which of `ids` can be written, a slice."""
        if self.ring.overflow == "wrap":
            return slice(max(len(ids) - self.ring.slots, 0), len(ids))
        room = self.ring.room(len(ids), self._is_free(i))
        if self.ring.header == "continue":  # a node's own entry makes room for its next
            own = self.gnn.history.cache_lookup(self.entries, layer, ids, self.oldest_kept(i)) >= 0
            room = room + np.cumsum(own)
        fits = np.arange(len(ids)) < room
        return slice(0, len(ids) if fits.all() else int(fits.argmin()))

    def _make_room(self, layer, ids, i, passed):
        """Return a slot for each of `ids`, before which others were `passed`; count the lost."""
        vacate(self.gnn, self.entries, layer, ids)
        slots = self.ring.advance(len(ids), self._is_free(i), passed)
        self.lost += int(np.count_nonzero(is_valid(self.entries, slots, self.oldest_kept(i))))
        return slots

    def _is_free(self, i):
        """Return a function: which slots of a slice hold nothing that is worth it, bool."""
        oldest = self.oldest_kept(i)
        return lambda slots: ~is_valid(self.entries, slots, oldest)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that `load_state_dict` needs to go on alike: a dictionary of arrays.

        The features outside the buffer are not in it: with `refill`, call `fill` before loading.
        """
        return state_of(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over a `state` that `state_dict` of a cache with the same options returned.

        Raises
        ------
        ValueError
            If it is not that: nothing was taken over then.
        """
        take_over(self, state)


def zeros_in_lines(floats, dtype):
    """Return that many zeros from the beginning of a line of memory on."""
    line = 64  # bytes; a row that begins with a line shares fewer lines with others
    memory = np.zeros(floats * dtype.itemsize + line, np.uint8)
    first = -memory.ctypes.data % line
    return memory[first : first + floats * dtype.itemsize].view(dtype)
