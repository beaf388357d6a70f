"""Embeddings and features in one buffer, from both ends: FreshGNN's cache (section 4.2)."""

from typing import Any

import numpy as np

from refimpl import _check
from refimpl.history.entries import Entries
from refimpl.history.policy import MOST, layer_ids, rows_taken, staleness_bound

NUMBERS = ("head", "hwm", "_top", "_cycle")
COUNTS = ("admitted", "evicted", "wrapped", "dropped", "refilled")
OVERFLOWS, STALENESS = ("wrap", "drop"), ("stamp", "header_only")


class BidirectionalCache:
    """Embeddings from the left, the hottest features from the right, in one buffer.

    FreshGNN section 4.2. Embeddings are written to one slot after the other; a *header* says
    which is next, and goes back to the first slot every `t_stale` iterations. The features that
    embeddings have grown over are gone.

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
    overflow : {"wrap", "drop"}
        What a full buffer does with another embedding: overwrite the oldest of the cycle, or
        refuse it.
    staleness : {"stamp", "header_only"}
        "header_only" leaves out the check of ages, as the public code does: entries behind
        the point where a cycle ends are then served for ever.
    start_iter : int
        Iteration from which cycles are counted: the first that updates the cache.
    refill : bool
        At the end of a cycle, copy the features back that the cycle did not grow over.

    Attributes
    ----------
    admitted, evicted : int
        Entries written, and taken out by `evict`, so far.
    wrapped : int
        How often the header went back because the buffer was full.
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
        n,
        d,
        h,
        layers,
        floats,
        *,
        t_stale,
        dtype="float32",
        overflow="wrap",
        staleness="stamp",
        start_iter=0,
        refill=False,
    ):
        self.n = _check.integer("n", n, 0, MOST)
        self.d, self.h = _check.integer("d", d, 1), _check.integer("h", h, 1)
        self.layers = _check.integer("layers", layers, 0)
        floats = _check.integer("floats", floats, 0)
        self.t_stale = staleness_bound(t_stale)
        self.overflow = _check.choice("overflow", overflow, OVERFLOWS)
        self.staleness = _check.choice("staleness", staleness, STALENESS)
        self.start_iter = _check.integer("start_iter", start_iter, 0, MOST)
        if not isinstance(refill, bool):
            raise TypeError("refill must be True or False")
        self.refill = refill
        self._allocate(floats, _check.float_dtype("dtype", dtype))
        self.head = self.hwm = self._top = 0  # next slot; highest ever; highest of the cycle
        self._cycle = -1
        self.admitted = self.evicted = self.wrapped = self.dropped = self.refilled = 0
        self._X = None

    def _allocate(self, floats, dtype):
        for_embeddings, for_features = self._shares(floats)
        slots, most = for_embeddings // self.h, min(self.n, for_features // self.d)
        if slots > MOST:
            raise ValueError(f"floats must hold at most {MOST} embeddings, got {slots}")
        self.arena = np.zeros(floats, dtype)
        self.entries = Entries(
            self.arena[: slots * self.h].reshape(slots, self.h),
            np.full((self.layers, self.n), -1, np.int32),
            np.full(slots, -1, np.int64),
            np.zeros(slots, np.int32),
        )
        self.features = self.arena[floats - most * self.d :].reshape(most, self.d)
        self.rank = np.full(self.n, MOST, np.int32)  # no features yet

    def _shares(self, floats):
        """Return the floats that embeddings, and that features, may use."""
        return floats, floats

    @property
    def nbytes(self):
        """Bytes of all arrays: 4 floats + 4 layers n + 12 slots + 4 n, with a float32 buffer."""
        return sum(array.nbytes for array in self._arrays().values())

    @property
    def feature_rows(self):
        """How many features are in the buffer, the hottest ones, once it was filled."""
        free = self.arena.size - self.hwm * self.h
        return min(len(self.features), free // self.d)

    def fill(self, X, hotness):
        """Copy the features of the hottest nodes, cast to the buffer's dtype, and rank all nodes.

        O(n log n) time and the copying.

        Parameters
        ----------
        X : (n, d) float16, float32 or float64 array
            May be a memory map. Kept with `refill`; later changes of it are then seen.
        hotness : (n,) real array
            Of two nodes equally hot, the lower comes first.
        """
        if X.shape != (self.n, self.d) or X.dtype not in (np.float16, *_check.FLOATS):
            raise ValueError(f"X must be ({self.n}, {self.d}) floats, got {X.shape} {X.dtype}")
        hotness = np.asarray(hotness)
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
        self.features[len(self.features) - 1 - self.rank[chosen]] = X[chosen]

    def feature_mask(self, ids):
        """Return for which of the nodes `ids` the features are in the buffer, (k,) bool."""
        return self.rank[_check.ids("ids", ids, 0, self.n, np.int32)] < self.feature_rows

    def fetch_features(self, ids):
        """Return (rows, hit) of the nodes `ids`, as `cache_fetch` does: features or zeros."""
        return self.gnn.history.cache_fetch(self.features, self.rank, ids, self.feature_rows)

    def lookup(self, layer, ids, i):
        """Return the slots of the entries valid in iteration `i`, -1 for the others, int32.

        `layer` counts from 1, `ids` is a (k,) integer array of nodes.
        """
        i = _check.integer("i", i, 0, MOST)
        by_age = self.staleness == "stamp" and self.t_stale is not None
        oldest = i - self.t_stale if by_age else 0
        return self.gnn.history.cache_lookup(self.entries, layer, ids, oldest)

    def read(self, slots):
        """Return the embeddings in some `slots`, (len(slots), h)."""
        return self.gnn.history.cache_read(self.entries.rows, slots)

    def begin_update(self, i):
        """Begin the update of iteration `i`: if a new cycle does, the header goes back.

        Cycle c is the iterations from ``start_iter + c t_stale`` on; calls must not go back.
        """
        i = _check.integer("i", i, self.start_iter, MOST)
        if self.t_stale is None or (i - self.start_iter) // max(self.t_stale, 1) == self._cycle:
            return
        self._cycle = (i - self.start_iter) // max(self.t_stale, 1)
        self.head = 0
        if self.refill:
            self._bring_features_back()
        self._top = 0

    def _bring_features_back(self):
        """Retire what the last cycle did not write; copy the features that were there."""
        before = self.feature_rows
        self.hwm = self._top
        after = self.feature_rows
        if after > before:
            if self._X is None:
                raise ValueError("refill needs the features: call fill")
            self.entries.back[(self.arena.size - after * self.d) // self.h :] = -1
            self._copy_features(self._X, before, after)
            self.refilled += after - before

    def evict(self, layer, ids):
        """Take out a `layer`'s entries of `ids`, each given once; return how many there were."""
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        found = self.gnn.history.cache_lookup(self.entries, layer, ids, 0) >= 0
        self.entries.slot_of[layer - 1, ids] = -1
        count = int(np.count_nonzero(found))
        self.evicted += count
        return count

    def admit(self, layer, ids, values, i, *, take=None):
        """Write the entries of some nodes, in order; return how many were written.

        `layer`, `ids`, `values`, `i` and `take` are as for `cache_admit`; any number of nodes, each
        given once. If there are more than slots, the last ones stay.
        """
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        values, take = rows_taken(values, (len(ids), self.h), self.arena.dtype, take)
        asked, slots = len(ids), len(self.entries.back)
        if self.overflow == "wrap" and slots:
            chosen, end = slice(max(asked - slots, 0), asked), self.head + asked
        else:
            chosen = slice(0, min(asked, slots - self.head))
            end = self.head + chosen.stop
        ids = ids[chosen]
        if take is None:
            values = values[chosen]
        else:
            take = take[chosen]
        first = (self.head + chosen.start) % max(slots, 1)
        self.gnn.history.cache_admit(self.entries, layer, ids, values, first, i, take=take)
        if len(ids):
            self.wrapped += (end - 1) // slots
            self.head = (end - 1) % slots + 1
            self._top = max(self._top, slots if end > slots else end)
            self.hwm = max(self.hwm, self._top)
        self.admitted += len(ids)
        self.dropped += asked - len(ids)
        return len(ids)

    def state_dict(self):
        """Return everything that `load_state_dict` needs to go on alike: a dictionary of arrays.

        The features outside the buffer are not in it: with `refill`, call `fill` before loading.
        """
        numbers = [getattr(self, name) for name in (*NUMBERS, *COUNTS)]
        return {
            "options": self._options(),
            "numbers": np.array(numbers, np.int64),
            **{name: array.copy() for name, array in self._arrays_in_use().items()},
        }

    def load_state_dict(self, state):
        """Take over a `state` that `state_dict` of a cache with the same options returned.

        Raises
        ------
        KeyError, ValueError
            If it is not that: nothing was taken over then.
        """
        if not np.array_equal(state["options"], self._options()):
            raise ValueError("state must be of a cache with the same options")
        names, numbers = (*NUMBERS, *COUNTS), [int(number) for number in state["numbers"]]
        arrays = self._arrays_in_use(dict(zip(names, numbers, strict=True))["hwm"])
        for name, array in arrays.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise ValueError(f"state must hold {name} as {array.shape} {array.dtype}")
        for name, number in zip(names, numbers, strict=True):
            setattr(self, name, number)
        for name, array in arrays.items():
            array[...] = state[name]

    def _arrays(self):
        maps = {name: getattr(self.entries, name) for name in Entries._fields[1:]}
        return {"arena": self.arena, **maps, "rank": self.rank}

    def _arrays_in_use(self, hwm=None):
        """Return views of what is ever read again, where `hwm` slots were ever written."""
        hwm = self.hwm if hwm is None else hwm
        rows = min(len(self.features), (self.arena.size - hwm * self.h) // self.d)
        maps = {name: array for name, array in self._arrays().items() if name != "arena"}
        features = self.features[len(self.features) - rows :]
        return {"embeddings": self.entries.rows[:hwm], "features": features, **maps}

    def _options(self):
        t_stale = -1 if self.t_stale is None else self.t_stale
        shares = [self.arena.size, len(self.entries.back), len(self.features)]
        choices = [OVERFLOWS.index(self.overflow), STALENESS.index(self.staleness), self.refill]
        sizes = [self.n, self.d, self.h, self.layers]
        return np.array([*sizes, *shares, t_stale, self.start_iter, *choices], np.int64)


class StaticSplitCache(BidirectionalCache):
    """Embeddings and features in parts of a buffer whose sizes are fixed.

    What FreshGNN's Figure 14 is taken to mean by a cache without the bidirectional layout; the
    interface is that of `BidirectionalCache`.

    Parameters
    ----------
    n, d, h, layers, floats, t_stale, dtype, overflow, staleness, start_iter
        As in `BidirectionalCache`.
    split : float in [0, 1]
        Fraction of the buffer that is for embeddings.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    def __init__(
        self,
        n,
        d,
        h,
        layers,
        floats,
        *,
        t_stale,
        split=0.5,
        dtype="float32",
        overflow="wrap",
        staleness="stamp",
        start_iter=0,
    ):
        self.split = _check.real("split", split, 0, high=1)
        super().__init__(
            n,
            d,
            h,
            layers,
            floats,
            t_stale=t_stale,
            dtype=dtype,
            overflow=overflow,
            staleness=staleness,
            start_iter=start_iter,
        )

    def _shares(self, floats):
        for_embeddings = int(self.split * floats)
        return for_embeddings, floats - for_embeddings
