"""FreshGNN's iteration with draws for computed rows only: nothing is drawn that pruning removes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from refimpl._support.argument_checks import checked_by
from refimpl.hints import Absent, Float, Ids, Int, Integers, bound
from refimpl.history.cache import BidirectionalCache
from refimpl.history.iteration import (
    FreshStep,
    beside_cached,
    densest_first,
    fresh_arguments,
    layers_below,
    norms_and_rows,
)
from refimpl.history.performance import PerformancePolicy
from refimpl.profiling import timed
from refimpl.samplers.neighbor import Minibatch, checked_minibatch
from refimpl.streams import CONTROL, key


def lazy_arguments(gnn, minibatches, *others, **options):
    """Check the arguments of `lazy_fresh_iteration` that no kernel checks; return all."""
    if not isinstance(minibatches, Iterator):
        kind = type(minibatches).__name__
        raise TypeError(f"minibatches must be an iterator of Minibatches, got {kind}")
    return fresh_arguments(gnn, minibatches, *others, **options)


@bound
@checked_by(lazy_arguments)
def lazy_fresh_iteration(
    gnn,
    minibatches: Iterator[Minibatch],
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
    """Do what `fresh_iteration` does, to the bit, but draw for computed rows only.

    Not in the papers: FreshGNN samples all neighbours first and prunes then (E-V27). From the roots
    down, a layer's nodes are looked up, and the nodes without an embedding draw neighbours. These
    nodes and their neighbours are the live nodes of the layer below. Nothing is left to prune, and
    the cost follows the live rows. A draw depends on its node and layer alone, so both functions
    draw the same. From the loading of features on, the lines are those of `fresh_iteration`, which
    has their marks.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    minibatches : iterator of Minibatch
        One minibatch after the other, sampled in the mode "layered".
    cache, model, load_feature, i
        As in `fresh_iteration`.
    cached_layers, p, rank_base, gradient_evict, control, seed, lookup_roots, performance
        As in `fresh_iteration`.

    Returns
    -------
    FreshStep
        Its `inputs` is None, because not all neighbours were drawn.

    Raises
    ------
    TypeError, ValueError
        As the kernels that it calls.
    FloatingPointError
        If a gradient of a row of a cached layer is NaN.
    """
    minibatch = checked_minibatch(next(minibatches, None))
    L = len(minibatch.fanouts)
    cached_layers = layers_below(cached_layers, L, cache)
    V: list = [None] * L + [minibatch.roots]
    slots: list = [None] * (L + 1)
    normal, blocks = slots.copy(), slots.copy()
    computed = slots.copy()  # which rows have no slot
    for l in range(L, 0, -1):
        with timed("cache"):
            if l in cached_layers:
                slots[l] = cache.lookup(l, V[l], i)
            else:
                slots[l] = np.full(len(V[l]), -1, np.int32)
            if not lookup_roots:
                slots[l][: len(V[L])] = -1  # computed in every layer, so first in the next
            normal[l] = slots[l] < 0
            computed[l] = np.flatnonzero(normal[l])
            rows = V[l] if len(computed[l]) == len(V[l]) else V[l].take(computed[l])
        with timed("sampling"):
            V[l - 1], blocks[l] = minibatch.drawn_hop(gnn, l, rows)

    H = [load_feature(V[0])]  # E-V4: of all live nodes
    for l in range(1, L + 1):
        h = beside_cached(
            cache,
            slots[l],
            computed[l],
            model.forward(l, blocks[l], V[l - 1], H[l - 1]),
        )
        H.append(h)

    loss, G_L = model.loss(H[L], V[L])
    G, norms = [None] * L + [G_L], [None] * (L + 1)
    for l in range(L, 0, -1):
        G_normal = G[l]
        if l in cached_layers:  # in the others all rows were computed, and none is ranked
            norms[l], G_normal = norms_and_rows(gnn, computed[l], G[l])
        G[l - 1] = model.backward(l, G_normal)  # E-V5: Adam comes later

    updates = {}
    with timed("cache"):
        if cached_layers:
            cache.begin_update(i)  # E-V6: still i, which goes up when the update is done
        for l in cached_layers:  # E-V1: below the last layer; E-V24: the highest first
            ranks = key(seed, CONTROL, i, l) if control == "random" else None
            # E-V7: gradients of cached rows too; E-V9: the norm of each
            rows = V[l], norms[l], normal[l], H[l]
            rows, allow = densest_first(performance, l, rows)
            updates[l] = gnn.policy_update(
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
    cached = tuple(~rows for rows in normal[1:])
    return FreshStep(loss, None, tuple(V), cached, H, G, updates)
