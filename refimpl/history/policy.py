"""Which embeddings are stable enough to be kept: FreshGNN's policy for accuracy (section 4.1)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import F, Float, Floats, Int, Integers, Mask, Matrix, bound

MOST = 2**31 - 1  # iterations, slots and nodes are counted in int32
CONTROLS = ("gradient", "random", "anti")


class EmbeddingCache(Protocol):
    """What a policy asks of a cache, as `BidirectionalCache` is one."""

    def evict(self, layer: Any, ids: Any, i: Any) -> int:
        """Take out the entries of some nodes; return how many there were."""

    def admit(self, layer: Any, ids: Any, values: Any, i: Any, *, take: Any) -> int:
        """Write the entries of some nodes; return how many were written."""


class PolicyCounts(NamedTuple):
    """What one update of a layer did: `policy_update` returns it.

    Attributes
    ----------
    low : int
        Rows that count as stable.
    admitted : int
        Embeddings that the cache stored.
    evicted : int
        Entries taken out of the cache that the next iteration could have read.
    """

    low: int
    admitted: int
    evicted: int


def norms_arguments(G):
    """Check the argument of `gradient_norms`; return it."""
    return (require.floats("G", G, (None, None)),)


@checked_by(norms_arguments)
def gradient_norms(G: Matrix[F]) -> Floats[np.float64]:
    """Return the Euclidean norm of every row: how far its embedding is from stable.

    Squares and sums are in float64; each row is summed from left to right, in both packages, so
    that they rank rows alike. The scores of FreshGNN section 4.1.1 (E-V9). O(m f) time.

    Parameters
    ----------
    G : (m, f) float32 or float64 array
        Gradients of embeddings.

    Returns
    -------
    (m,) float64 array

    Raises
    ------
    TypeError, ValueError
        If `G` is no such array.
    """
    total = np.zeros(len(G))
    with np.errstate(over="ignore"):
        for column in G.T:
            total += column.astype(np.float64) ** 2
    return np.sqrt(total)


def stable_arguments(score, ids, p, n=2**63 - 1) -> tuple[np.ndarray, np.ndarray, float]:
    """Check the arguments of `select_stable`; return them, a float64 `score`, `ids` below `n`."""
    score = require.floats("score", score, (None,)).astype(np.float64)  # a copy, as ids are
    ids = require.ids("ids", ids, 0, n, np.int64)
    if ids.size != score.size:
        raise ValueError(f"ids must have shape {score.shape} like score, got {ids.shape}")
    if score.size and np.isnan(score.min()):
        raise FloatingPointError("score must not be NaN: the gradient is broken")
    return score, ids, require.real("p", p, 0, high=1)


@checked_by(stable_arguments)
def select_stable(score: Floats[F], ids: Integers, p: Float) -> Mask:
    """Return which rows are among the ``floor(p m + 1e-9)`` smallest by (score, id).

    The fraction p is of the rows that are ranked, and exact whatever the ties. FreshGNN
    (section 4.1.1) leaves open how ties are broken: here by id, then by position (E-V10).
    O(m log m) time; fastimpl O(m).

    Parameters
    ----------
    score : (m,) float32 or float64 array
    ids : (m,) integer array
        Not negative.
    p : float in [0, 1]

    Returns
    -------
    (m,) bool array

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    FloatingPointError
        If a score is NaN: it must never pass for stable.

    Examples
    --------
    >>> select_stable(np.array([0.3, 0.1, 0.2, 0.1]), [0, 1, 2, 3], 0.5)
    array([False,  True, False,  True])
    """
    low = np.zeros(len(score), np.bool_)
    low[np.lexsort((np.asarray(ids), score))[: stable_count(p, len(score))]] = True
    return low


@bound
def policy_update(
    gnn,
    cache: EmbeddingCache,
    layer: Int,
    ids: Integers,
    score: Floats[F],
    comp: Mask,
    values: Matrix,
    i: Int,
    *,
    p: Float,
    rank_base: Literal["all", "new"] = "all",
    gradient_evict: bool = True,
    control: Literal["gradient", "random", "anti"] = "gradient",
    key: Int | None = None,
    allow: Mask | None = None,
) -> PolicyCounts:
    """Admit the stable new embeddings of a layer to the cache, evict the unstable cached ones.

    FreshGNN section 4.1.1. The rows are the live nodes of the layer. A stable row that was
    computed is admitted with stamp `i`; one that came from the cache keeps its value and its stamp.
    An unstable one loses the entry that it has: it came from the cache, or was computed although
    it has one, as a root that was not looked up. Rows are admitted in the
    order given, so a caller that wants the dearest first gives them in that order. O(m log m)
    time in refimpl, O(m) in fastimpl, besides the copying and the slots that the header passes.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    cache : BidirectionalCache or StaticSplitCache
    layer : int
        From 1.
    ids : (m,) integer array
        The nodes, each once.
    score : (m,) float array
        Norms of their gradients; see `gradient_norms`.
    comp : (m,) bool array
        Whether the embedding was computed now; otherwise it was read from the cache.
    values : (m, h) float array
        The embeddings, in the dtype of the cache. Only rows that are admitted are read.
    i : int
        This iteration.
    p : float in [0, 1]
        Fraction of stable rows.
    rank_base : {"all", "new"}
        The rows that `p` is a fraction of. With "new", only computed rows are ranked, and a cached
        row is unstable if it is behind the last one admitted; with p = 1, or where nothing was
        computed and p > 0, no cached row is.
    gradient_evict : bool
        False leaves unstable rows in the cache, as the public code does.
    control : {"gradient", "random", "anti"}
        "random" ranks by draw number id of the stream `key`, "anti" by the largest gradient.
    key : int in [0, 2**64), optional
        Only for "random"; should be new in every iteration and layer.
    allow : (m,) bool array, optional
        Rows that may be admitted: the policy for performance. It never admits more.

    Returns
    -------
    PolicyCounts

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    FloatingPointError
        If a score is NaN.
    """
    score, ids, p = controlled(gnn, control, score, ids, p, key)
    return gnn.history.cache_update(
        cache,
        layer,
        ids,
        score,
        comp,
        values,
        i,
        p=p,
        rank_base=rank_base,
        gradient_evict=gradient_evict,
        allow=allow,
    )


def controlled(gnn, control, score, ids, p, key):
    """Return (score, ids, p): the scores by which `control` ranks rows, or raise."""
    require.choice("control", control, CONTROLS)
    if control == "gradient":
        return score, ids, p
    score, ids, p = stable_arguments(score, ids, p)
    if control == "anti":
        return -score, ids, p
    return gnn.streams.uniform(require.word("key", key), ids.astype(np.uint64)), ids, p


def update_arguments(
    cache, layer, ids, score, comp, values, i, p, rank_base, gradient_evict, allow
):
    """Check the arguments of `cache_update`; return them.

    A cache of another kind than this package's own checks the layer, the values and `i` itself.
    """
    require.choice("rank_base", rank_base, ("all", "new"))
    ours = hasattr(cache, "arena")
    score, ids, p = stable_arguments(score, ids, p, cache.n if ours else 2**63 - 1)
    comp = require.mask("comp", comp, len(ids))
    if not callable(getattr(cache, "admit", None)) or not callable(getattr(cache, "evict", None)):
        raise TypeError(f"cache must be a BidirectionalCache, got {type(cache).__name__}")
    require.switch("gradient_evict", gradient_evict)
    values = require.array("values", values)
    if values.ndim != 2 or len(values) != len(ids):
        raise ValueError(f"values must have {len(ids)} rows like ids, got shape {values.shape}")
    if ours:  # before anything is evicted
        layer = require.integer("layer", layer, 1, cache.layers)
        values, _ = rows_taken(values, (len(ids), cache.h), cache.arena.dtype, None)
        i = require.integer("i", i, 0, MOST)
    allow = None if allow is None else require.mask("allow", allow, len(ids))
    return cache, layer, ids, score, comp, values, i, p, rank_base, gradient_evict, allow


@checked_by(update_arguments)
def cache_update(
    cache: EmbeddingCache,
    layer: Int,
    ids: Integers,
    score: Floats[F],
    comp: Mask,
    values: Matrix[F],
    i: Int,
    *,
    p: Float,
    rank_base: Literal["all", "new"] = "all",
    gradient_evict: bool = True,
    allow: Mask | None = None,
) -> PolicyCounts:
    """Rank the live rows of a layer by `score`; evict the unstable ones, admit the stable new ones.

    FreshGNN section 4.1.1: what `policy_update` does with any `control`, whose scores these are.
    `select_stable`, ``cache.evict``, then ``cache.admit``; in fastimpl one kernel evicts, finds
    slots and enters. O(m log m) time in refimpl, O(m) in fastimpl, besides the copying and the
    slots that the header passes.

    Parameters
    ----------
    cache, layer, ids, comp, values, i, p, rank_base, gradient_evict, allow
        As in `policy_update`.
    score : (m,) float array
        The lowest are the most stable.

    Returns
    -------
    PolicyCounts

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    FloatingPointError
        If a score is NaN.
    """
    options = rank_base, gradient_evict, allow
    return update_with(select_stable, cache, layer, ids, score, comp, values, i, p, *options)


def update_with(
    select_stable, cache, layer, ids, score, comp, values, i, p, rank_base, gradient_evict, allow
):
    """Return what `cache_update` does, with any `select_stable`, of checked arguments."""
    low = low_rows(select_stable, score, ids, comp, p, rank_base)
    admit = low & comp if allow is None else low & comp & allow
    evicted = cache.evict(layer, ids[~low], i) if gradient_evict else 0
    take = np.flatnonzero(admit)
    admitted = cache.admit(layer, ids[take], values, i, take=take)
    return PolicyCounts(int(np.count_nonzero(low)), admitted, evicted)


def low_rows(select_stable, score, ids, comp, p, rank_base):
    """Return which rows are stable."""
    if rank_base == "all":
        return select_stable(score, ids, p)
    low = np.zeros(len(ids), np.bool_)
    low[comp] = select_stable(score[comp], ids[comp], p)
    if p == 1 or not comp.any():
        low[~comp] = p > 0
    elif low.any():
        highest = score[low].max()
        last = ids[low & (score == highest)].max()
        low |= ~comp & ((score < highest) | ((score == highest) & (ids < last)))
    return low


def stable_count(p, m):
    """Return how many of m rows are stable."""
    return int(p * m + 1e-9)


def staleness_bound(t_stale):
    """Return `t_stale` as an int or None, or raise."""
    return None if t_stale is None else require.integer("t_stale", t_stale, 0, MOST)


def layer_ids(layers, n, layer, ids) -> tuple[int, np.ndarray]:
    """Check a layer and nodes of it; return (int, int32 array)."""
    return require.integer("layer", layer, 1, layers), require.ids("ids", ids, 0, n, np.int32)


def rows_taken(values, shape, dtype, take) -> tuple[np.ndarray, np.ndarray | None]:
    """Check `values` (m, h) and `take`, the row for each of `count` ids; return both."""
    count, h = shape
    values = require.floats("values", values, (count if take is None else None, h), dtype)
    if take is not None:
        take = require.ids("take", take, 0, len(values), np.int64)
        if take.size != count:
            raise ValueError(f"take must have shape ({count},) like ids, got {take.shape}")
    return values, take
