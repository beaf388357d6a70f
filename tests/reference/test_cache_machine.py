"""Random runs of the cache: against a dictionary, and of both packages side by side."""

import numpy as np
from cache_cases import N, admit, embeddings, features, valid
from dict_cache import DictCache
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import fastimpl
import refimpl
from refimpl.lab.backend import find

CACHES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["BidirectionalCache", "StaticSplitCache"]),
        "d": st.integers(1, 5),
        "h": st.integers(1, 5),
        "floats": st.integers(0, 40) | st.sampled_from([N * 5, 200]),
        "t_stale": st.sampled_from([None, 0, 1, 2, 5]),
        "header": st.sampled_from(["continue", "cycle"]),
        "overflow": st.sampled_from(["wrap", "drop"]),
        "refill": st.booleans(),
        "start_iter": st.sampled_from([0, 3]),
    }
)


class AgainstADictionary(RuleBasedStateMachine):
    """A cache, and a dictionary that is told the same; what the buffer overwrote may be missing.

    They are compared by what the next iteration can read, for that is what a cache is for.
    """

    gnn = refimpl

    @initialize(options=CACHES, hotness=st.lists(st.integers(0, 4), min_size=N, max_size=N))
    def make(self, options, hotness):
        kind, d, h = options.pop("kind"), options.pop("d"), options.pop("h")
        floats = options.pop("floats")
        if kind == "StaticSplitCache":
            options.pop("refill")
        self.new = lambda: find(self.gnn, kind)(N, d, h, 2, floats, **options)
        self.X, self.hotness = features(N, d), np.array(hotness)
        self.cache, self.floats = self.new(), floats
        self.cache.fill(self.X, self.hotness)
        self.slots = len(self.cache.entries.back)
        self.goes_on = options["header"] == "continue"
        self.oracle = DictCache(2, N, h, options["t_stale"])
        self.i = options["start_iter"]
        self.number = 0
        self.highest = self.cache.hwm

    @rule(steps=st.sampled_from([1, 1, 2, 7]))
    def next_iteration(self, steps):
        self.i += steps
        self.cache.begin_update(self.i)

    @rule(layer=st.integers(1, 2), ids=st.lists(st.integers(0, N - 1), unique=True))
    def admit(self, layer, ids):
        self.number += 1
        cache, before, lost = self.cache, self.next_valid(), self.cache.lost
        asked, dropped = len(ids), cache.dropped
        written = admit(cache, layer, ids, self.i, self.number)
        assert cache.dropped - dropped == asked - written
        kept = ids[asked - written :] if cache.ring.overflow == "wrap" else ids[:written]
        self.oracle.admit(
            layer, kept, embeddings(kept, cache.h, self.number).astype(np.float32), self.i
        )
        after = self.next_valid()
        assert all((layer, v) in after for v in kept)
        gone = before.keys() - after.keys()
        again = {(layer, v) for v in kept} & before.keys()
        assert cache.lost - lost == len(gone) if self.goes_on else len(gone) <= cache.lost - lost
        assert gone <= before.keys() - again
        if self.goes_on and (gone or written < asked):
            assert len(after) == self.slots  # only a cache full of valid entries loses any

    @rule(layer=st.integers(1, 2), ids=st.lists(st.integers(0, N - 1), unique=True))
    def evict(self, layer, ids):
        there = self.next_valid().keys()
        evicted = self.cache.evict(layer, ids, self.i)
        assert evicted == len(there & {(layer, v) for v in ids})
        assert evicted <= self.oracle.evict(layer, ids, self.i)
        assert (self.cache.lookup(layer, ids, self.i) == -1).all()

    @rule()
    def resume(self):
        state = self.cache.state_dict()
        cache = self.new()
        cache.fill(self.X, self.hotness)
        cache.load_state_dict(state)
        self.cache.entries.back[:] = -1  # of the old one, which nobody may use any more
        self.cache = cache

    @property
    def compared_at(self):
        """The next iteration; where that can read nothing (t_stale = 0), this one."""
        return self.i + (self.oracle.t_stale != 0)

    def next_valid(self):
        return valid(self.cache, self.compared_at)

    @invariant()
    def agrees(self):
        """B1, B2, B8: entries are the dictionary's, all of them unless the cache says otherwise."""
        got, want = self.next_valid(), {}
        for layer in (1, 2):
            slots = self.oracle.lookup(layer, np.arange(N), self.compared_at)
            for v in np.flatnonzero(slots >= 0):
                want[layer, int(v)] = self.oracle.read(slots[v : v + 1])[0].tobytes()
        assert got.items() <= want.items()
        if self.cache.lost == 0:
            assert got == want
        if self.goes_on and self.slots >= 2 * N:
            assert self.cache.lost == self.cache.dropped == 0

    @invariant()
    def bounds(self):
        """Features are those of X; the two regions are apart; marks and bytes are in bounds."""
        cache, itemsize = self.cache, 4
        held = np.flatnonzero(cache.feature_mask(np.arange(N)))
        rows, hit = cache.fetch_features(np.arange(N))
        assert np.array_equal(np.flatnonzero(hit), held)
        assert np.array_equal(rows[held], self.X[held].astype(np.float32))
        assert not rows[~hit].any()
        order = sorted(range(N), key=lambda v: (-self.hotness[v], v))
        assert set(held.tolist()) == set(order[: len(held)])
        assert cache.hwm * cache.h <= self.floats - len(held) * cache.d
        slots = len(cache.entries.back)
        assert 0 <= cache.head <= slots
        if cache.refill:
            self.highest = 0
        assert cache.hwm >= self.highest
        self.highest = cache.hwm
        assert cache.nbytes == itemsize * self.floats + 4 * 2 * N + 12 * slots + 4 * N


class AgainstADictionaryFast(AgainstADictionary):
    gnn = fastimpl


TestReferenceMachine = AgainstADictionary.TestCase
TestFastMachine = AgainstADictionaryFast.TestCase
for case in (TestReferenceMachine, TestFastMachine):
    case.settings = settings(settings(), stateful_step_count=25)


@given(seed=st.integers(0, 2**32), options=CACHES)
@settings(max_examples=25)
def test_both_packages_hold_the_same_bits(seed, options):
    """A random run of both, compared in every array and counter after every call."""
    rng = np.random.default_rng(seed)
    options = dict(options)
    kind = options.pop("kind")
    sizes = (N, options.pop("d"), options.pop("h"), 2, options.pop("floats"))
    if kind == "StaticSplitCache":
        options.pop("refill")
    caches = [find(gnn, kind)(*sizes, **options) for gnn in (refimpl, fastimpl)]
    hotness = rng.integers(0, 4, N)
    for cache in caches:
        cache.fill(features(N, sizes[1]), hotness)
    for i in range(options["start_iter"], options["start_iter"] + 10):
        layer = int(rng.integers(1, 3))
        ids = rng.permutation(N)[: rng.integers(0, N + 1)]
        gone = rng.permutation(N)[: rng.integers(0, 4)]
        for cache in caches:
            cache.begin_update(i)
            cache.evict(layer, gone, i)
            admit(cache, layer, ids, i, i)
        states = [cache.state_dict() for cache in caches]
        for name in states[0]:
            assert states[0][name].tobytes() == states[1][name].tobytes(), name
