"""Which features a minibatch of FreshGNN would load, before it is trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refimpl.samplers.neighbor import Minibatch

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import ModuleType

    from refimpl.block import MFG
    from refimpl.hints import Ids, Mask
    from refimpl.history.cache import BidirectionalCache


def live_inputs(
    gnn: ModuleType,
    minibatch: MFG | Minibatch,
    cache: BidirectionalCache,
    i: int,
    cached_layers: Collection[int],
    *,
    lookup_roots: bool,
) -> Ids:
    """Return the live nodes of layer 0 of a minibatch, with the embeddings that are cached now.

    Nothing is trained, and the cache stays as it is. If the cache does not change before pass `i`,
    these are the nodes whose features `fresh_iteration` loads in pass `i`.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    minibatch : MFG or Minibatch
        All neighbours drawn, or none.
    cache : BidirectionalCache
    i, cached_layers, lookup_roots
        As in `fresh_iteration`.

    Returns
    -------
    (k,) int32 array
    """

    def is_cached(l: int, nodes: Ids, roots: int) -> Mask:
        if l not in cached_layers:
            return np.zeros(len(nodes), bool)
        found = cache.lookup(l, nodes, i) >= 0
        if not lookup_roots:
            found[:roots] = False
        return found

    if isinstance(minibatch, Minibatch):
        nodes, roots = minibatch.roots, len(minibatch.roots)
        for l in range(len(minibatch.fanouts), 0, -1):
            computed = nodes[~is_cached(l, nodes, roots)]
            nodes, _ = minibatch.drawn_hop(gnn, l, computed)
        return nodes
    layers, roots = list(enumerate(minibatch.nodes)), len(minibatch.nodes[-1])
    live = gnn.history.prune_layers(minibatch, [is_cached(l, V, roots) for l, V in layers[1:]])
    return minibatch.nodes[0][live.order[0]]
