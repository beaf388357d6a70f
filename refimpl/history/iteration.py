"""FreshGNN's Algorithm 1: one iteration of training with cached embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG
from refimpl.hints import Absent, Float, Ids, Int, Integers, Mask, Matrix, bound
from refimpl.history.cache import BidirectionalCache
from refimpl.history.performance import PerformancePolicy
from refimpl.history.policy import MOST, PolicyCounts
from refimpl.history.pruning import checked_mfg
from refimpl.profiling import timed
from refimpl.streams import CONTROL, key


class FreshStep(NamedTuple):
    """What one iteration computed, found and kept: `fresh_iteration` returns it.

    Attributes
    ----------
    loss : float
    inputs : int or None
        Input nodes that were sampled: what neighbour sampling alone loads. None where not all were
        drawn.
    nodes : tuple of L + 1 int32 arrays of shape (any,)
        The live nodes of layers 0 .. L; those of layer 0 had their features loaded.
    cached : tuple of L bool arrays of shape (any,)
        For layers 1 .. L: which of these nodes were read from the cache.
    H, G : lists of L + 1 float arrays of shape (any, width of the layer)
        The rows of layers 0 .. L, and the gradients of the loss by them; ``G[0]`` is None.
    updates : dict of int to PolicyCounts
        By layer: what the update of the cache did.
    """

    loss: float
    inputs: int | None
    nodes: tuple[Ids, ...]
    cached: tuple[Mask, ...]
    H: list[Matrix]
    G: list[Matrix | None]
    updates: dict[int, PolicyCounts]


def fresh_arguments(
    gnn,
    mfgs,
    cache,
    model,
    load_feature,
    i,
    cached_layers,
    p,
    rank_base,
    gradient_evict,
    control,
    seed,
    lookup_roots,
    performance,
):
    """Check the arguments of `fresh_iteration` that no kernel checks; return all."""
    if not isinstance(mfgs, Iterator):
        raise TypeError(f"mfgs must be an iterator of MFGs, got {type(mfgs).__name__}")
    for name in ("forward", "loss", "backward"):
        if not callable(getattr(model, name, None)):
            raise TypeError(f"model must have a method {name}, got {type(model).__name__}")
    if not callable(load_feature):
        raise TypeError(f"load_feature must be callable, got {type(load_feature).__name__}")
    if cache is not None and not callable(getattr(cache, "lookup", None)):
        raise TypeError(f"cache must be a BidirectionalCache, got {type(cache).__name__}")
    require.switch("lookup_roots", lookup_roots)
    i = require.integer("i", i, 0, MOST)
    given = gnn, mfgs, cache, model, load_feature, i, cached_layers
    return *given, p, rank_base, gradient_evict, control, seed, lookup_roots, performance


@bound
@checked_by(fresh_arguments)
def fresh_iteration(
    gnn,
    mfgs: Iterator[MFG],
    cache: BidirectionalCache | Absent,
    model: Any,
    load_feature: Callable[[Ids], Any],
    i: Int,
    *,
    cached_layers: Integers,
    p: Float,
    rank_base: Literal["all", "new"] = "all",
    gradient_evict: bool = True,
    control: Literal["gradient", "random", "anti"] = "gradient",
    seed: Int = 0,
    lookup_roots: bool = True,
    performance: PerformancePolicy | None = None,
) -> FreshStep:
    """Train on one minibatch, with embeddings of earlier iterations in the place of rows.

    FreshGNN (VLDB'24) Algorithm 1, lines 5 to 20; ``# n`` marks line n. fastimpl runs
    this function too; docs/learn/fresh_policy.md lists the kernels of each line in both packages:
    line 13 is `cache_read`, in fastimpl ``join`` of ``fastimpl/history/_entries.pyx``. A row that
    is read from the cache is a constant for the weights below it, but has a gradient, which says
    whether it stays in the cache: FreshGNN Equation 2, its set S being what the cache has. Without
    `cached_layers` this is neighbour sampling.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    mfgs : iterator of MFG
        The sampled neighbours of one minibatch after the other (line 5).
    cache : BidirectionalCache or None
    model : object
        The L layers with what stands behind them. ``forward(l, block, nodes, H)`` returns the
        rows of layer l from those of layer l - 1, whose nodes are `nodes`; ``loss(H, nodes)``
        returns the loss and its gradient by the rows of layer L; ``backward(l, G)`` takes the
        gradient of the computed rows of layer l, keeps those of the weights, and returns that of
        the rows of layer l - 1 (None for l = 1). Where `forward` of layer l + 1 got other rows than
        those that `forward` of layer l returned, both these and G are for `backward` to overwrite.
    load_feature : callable
        ``load_feature(nodes)`` returns the features of some nodes.
    i : int
        Number of the iteration, from 0.
    cached_layers : sequence of ints in [1, L - 1]
        Layers whose embeddings are cached, in the order of their updates: the highest first
        (E-V24).
    p, rank_base, gradient_evict, control
        As in `policy_update`.
    seed : int in [0, 2**64)
        Of the ranks, where `control` is "random".
    lookup_roots : bool
        Whether the minibatch's own rows may be read from the cache.
    performance : PerformancePolicy, optional
        Which embeddings may be admitted, and which first.

    Returns
    -------
    FreshStep

    Raises
    ------
    TypeError, ValueError
        As the kernels that it calls.
    FloatingPointError
        If a gradient of a row of a cached layer is NaN.
    """
    mfg = checked_mfg(next(mfgs, None), "the next of mfgs")  # 5
    L = len(mfg.blocks)
    cached_layers = layers_below(cached_layers, L, cache)
    with timed("cache"):
        slots = [np.full(len(nodes), -1, np.int32) for nodes in mfg.nodes]
        for l in cached_layers:  # 6 E-V1: below the last layer
            slots[l] = cache.lookup(l, mfg.nodes[l], i)  # 7
            if not lookup_roots:  # E-V13: left open
                slots[l][: len(mfg.nodes[L])] = -1  # roots stand first in every layer
        # `prune_mfg`, then `live_layers`; E-V2: what a computed row needs stays, wherever it hangs
        live = gnn.history.prune_layers(mfg, [found >= 0 for found in slots[1:]])  # 8-9
        V = tuple(nodes[rows] for nodes, rows in zip(mfg.nodes, live.order, strict=True))
        slots = [found[rows] for found, rows in zip(slots, live.order, strict=True)]
        normal = (None, *live.computed)  # 9 E-V4: of layers 1 .. L, all of the last
        computed = (None, *map(np.flatnonzero, live.computed))

    H = [load_feature(V[0])]  # 11 E-V4: of all live nodes
    for l in range(1, L + 1):  # 12
        h = beside_cached(  # 13
            cache,
            slots[l],
            computed[l],
            model.forward(l, live.blocks[l - 1], V[l - 1], H[l - 1]),  # 14
        )
        H.append(h)

    loss, G_L = model.loss(H[L], V[L])  # 16
    G, norms = [None] * L + [G_L], [None] * (L + 1)
    for l in range(L, 0, -1):
        G_normal = G[l]
        if l in cached_layers:  # in the others all rows were computed, and none is ranked
            norms[l], G_normal = norms_and_rows(gnn, computed[l], G[l])
        G[l - 1] = model.backward(l, G_normal)  # 17 E-V5: Adam comes later

    updates = {}
    with timed("cache"):
        if cached_layers:
            cache.begin_update(i)  # 18 E-V6: still i, which goes up when the update is done
        for l in cached_layers:  # 19 E-V1: below the last layer; E-V24: the highest first
            ranks = key(seed, CONTROL, i, l) if control == "random" else None
            # E-V7: gradients of cached rows too; E-V9: the norm of each
            rows = V[l], norms[l], normal[l], H[l]  # 20
            rows, allow = densest_first(performance, l, rows)
            updates[l] = gnn.policy_update(  # 20
                cache,
                l,
                *rows,
                i,
                p=p,
                rank_base=rank_base,
                gradient_evict=gradient_evict,
                control=control,
                key=ranks,
                allow=allow,
            )
    cached = tuple(~rows for rows in live.computed)
    return FreshStep(loss, len(mfg.nodes[0]), V, cached, H, G, updates)


def layers_below(cached_layers, L, cache):
    """Return the layers whose embeddings are cached as a tuple, or raise."""
    layers = require.sequence("cached_layers", cached_layers)
    if layers and cache is None:
        raise ValueError("cache must be given where cached_layers are")
    return tuple(require.integer("cached_layers", l, 1, L - 1) for l in layers)


def beside_cached(cache, slots, computed, h_normal):
    """Return the rows of a layer, each in its place: computed where there is no slot, else read."""
    return h_normal if len(computed) == len(slots) else cache.read(slots, h_normal)


# (`gradient_norms`, `cache_read`, what does both in one pass) of a package: fastimpl has this
TOGETHER: list[tuple[Any, Any, Any]] = []


@timed("cache")
def norms_and_rows(gnn, computed, G):
    """Return the norm of each gradient, and the gradients of the computed rows.

    They are copies where there are other rows.
    """
    norms, read = gnn.history.gradient_norms, gnn.history.cache_read
    if len(computed) == len(G):
        return norms(G), G
    for one, other, both in TOGETHER:
        if one is norms and other is read:
            return both(G, computed)
    return norms(G), read(G, computed)


def densest_first(performance, l, rows):
    """Return (ids, score, computed, values) in the order of admission, and who may be admitted."""
    if performance is None:
        return rows, None
    ids = rows[0]
    order = np.lexsort((ids, -performance.density[l - 1, ids]))
    rows = tuple(array[order] for array in rows)
    return rows, performance.ok[l - 1, rows[0]]
