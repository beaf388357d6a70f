"""refimpl/history/policy.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.history import _entries, _policy, _update
from fastimpl.history.entries import as_bytes, cache_admit, cache_lookup, cache_read
from refimpl._support import require
from refimpl.history.cache import BidirectionalCache
from refimpl.history.entries import checked
from refimpl.history.iteration import TOGETHER
from refimpl.history.policy import (
    MOST,
    PolicyCounts,
    low_rows,
    norms_arguments,
    stable_arguments,
    stable_count,
    update_arguments,
    update_with,
)
from refimpl.history.ring import Ring

# Methods of a cache that the kernel replaces, and attributes of an instance that it reads.
USED = ("evict", "admit", "__getattribute__")
HELD = ("n", "h", "layers", "arena", "entries", "ring")


@twin
def gradient_norms(G):
    (G,) = norms_arguments(G)
    norms = empty((len(G),), np.float64)
    _policy.gradient_norms(G, None, norms, None)
    return norms


def norms_and_rows(G, taken):
    """Return `gradient_norms` of G, and copies of the rows `taken`, ascending, in one pass."""
    (G,) = norms_arguments(G)
    norms, rows = empty((len(G),), np.float64), empty((len(taken), G.shape[1]), G.dtype)
    _policy.gradient_norms(G, taken, norms, rows)
    return norms, rows


TOGETHER.append((gradient_norms, cache_read, norms_and_rows))


@twin
def select_stable(score, ids, p):
    return _select(*stable_arguments(score, ids, p))


@twin
def cache_update(
    cache,
    layer,
    ids,
    score,
    comp,
    values,
    i,
    *,
    p,
    rank_base="all",
    gradient_evict=True,
    allow=None,
):
    options = rank_base, gradient_evict, allow
    given = cache, layer, ids, score, comp, values, i, p, *options
    entries = _ours(cache)
    found = entries and _plain_rows(*given)
    if not found:
        found = update_arguments(*given)
    if not entries:
        return update_with(select_stable, *found)
    _, layer, ids, score, comp, values, i, p, *_, allow = found
    low = low_rows(_select, score, ids, comp, p, rank_base)
    (rows, slot_of, back, stamp), ring = entries, cache.ring
    take, slots = empty((len(ids),), np.int64), empty((len(ids),), np.int32)
    evicted, asked, first, last, lost, top = _update.replace(
        slot_of[layer - 1],
        back,
        stamp,
        (layer - 1) * slot_of.shape[1],
        cache.oldest_kept(i),
        i,
        ring.head,
        ring.used,
        ring.header == "cycle",
        ring.overflow == "drop",
        ids,
        low.view(np.uint8),
        comp.view(np.uint8),
        None if allow is None else allow.view(np.uint8),
        bool(gradient_evict),
        take,
        slots,
    )
    count = last - first
    if count:
        slots = slots[:count]
        _entries.scatter(as_bytes(values), take[first:last], as_bytes(rows), slots)
        ring.move(int(slots[-1]) + 1, top)
    cache.evicted += evicted
    cache.admitted += count
    cache.dropped += asked - count
    cache.lost += lost
    return PolicyCounts(int(np.count_nonzero(low)), count, evicted)


def _plain_rows(cache, layer, ids, score, comp, values, i, p, rank_base, gradient_evict, allow):
    """Return what `update_arguments` does if all is as an iteration has it; else None.

    After a product of matrices each small step of NumPy's has to be fetched from memory before it
    can check anything; one small kernel is there at once.
    """
    m = len(ids) if type(ids) is np.ndarray and ids.ndim == 1 else -1
    if not (
        type(layer) is type(i) is int
        and type(p) is float
        and type(gradient_evict) is bool
        and type(values) is np.ndarray
        and 1 <= layer <= cache.layers
        and 0 <= i <= MOST
        and 0 <= p <= 1
        and type(rank_base) is str
        and rank_base == "all"
        and allow is None
        and values.shape == (m, cache.h)
        and values.dtype == cache.arena.dtype
        and require.is_plain(values)
    ):
        return None
    nodes, scores, computed = empty((m,), np.int64), empty((m,), np.float64), empty((m,), np.bool_)
    if not _update.copied(ids, score, comp, cache.n, nodes, scores, computed.view(np.uint8)):
        return None
    return cache, layer, nodes, scores, computed, values, i, p, rank_base, gradient_evict, None


def _select(score, ids, p):
    """Return what `select_stable` does, of checked arguments."""
    low, k = np.empty(len(score), np.bool_), stable_count(p, len(score))
    _policy.select_stable(score, ids, k, empty((len(score),), np.uint64), low.view(np.uint8))
    return low


def _ours(cache):
    """Return the Entries of a cache if the kernel may do what its `evict` and `admit` do."""
    kind = type(cache)
    if BidirectionalCache not in kind.__mro__:
        return None
    if any(getattr(kind, name) is not getattr(BidirectionalCache, name) for name in USED):
        return None
    if any(hasattr(kind, name) for name in HELD):  # a subclass computes them
        return None
    kernels = cache.gnn.history
    if kernels.cache_lookup is not cache_lookup or kernels.cache_admit is not cache_admit:
        return None
    entries, ring = checked(cache.entries), cache.ring
    slots = len(entries.back)
    fits = (
        type(ring) is Ring
        and entries.rows.shape[1] == cache.h
        and entries.slot_of.shape == (cache.layers, cache.n)
        and all(array.flags.writeable for array in entries)
        and ring.slots == slots
        and 0 <= ring.head <= slots
        and 0 <= ring.used <= slots
    )
    return entries if fits else None
