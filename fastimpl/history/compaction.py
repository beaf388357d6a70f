"""refimpl/history/compaction.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.history import _compaction
from refimpl.block import Block
from refimpl.history.compaction import DEAD, LiveRows, by_node, live_arguments
from refimpl.history.pruning import prune_arguments


@twin
def live_layers(pruned):
    (pruned,) = live_arguments(pruned)
    mfg, live, comp = pruned[:3]
    L = len(mfg.blocks)
    order: list = [None] * L + [np.flatnonzero(live[L])]
    computed: list = [None] * L
    blocks: list = [None] * L
    for layer in range(L, 0, -1):
        block, above = mfg.blocks[layer - 1], order[layer]
        place, chosen = empty((block.n_src,), np.int32), np.empty(len(above), np.bool_)
        below = empty((np.count_nonzero(live[layer - 1]),), np.int64)
        masks = (mask.view(np.uint8) for mask in (comp[layer - 1], live[layer - 1], chosen))
        count = _compaction.order_below(above, *masks, place, below)
        if count >= 0:
            below[count:] = by_node(below[count:], mfg.nodes[layer - 1])
            _compaction.number(below, count, place)
        ends = empty((max(count, 0),), np.int64)
        starts = _compaction.bounds(block.start, block.end, below, ends)
        indices = empty((int(ends[-1]) if count > 0 else 0,), np.int32)
        ids = _ids(block)
        edge_ids = None if ids is None else empty((len(indices),), np.int64)
        old = block.start, block.end, block.indices, ids
        if count < 0 or not _compaction.entries(*old, below, place, starts, indices, edge_ids):
            raise ValueError(DEAD)
        order[layer - 1], computed[layer - 1] = below, chosen
        blocks[layer - 1] = _block_of(block, starts, ends, indices, len(below), edge_ids)
    return LiveRows(tuple(order), tuple(computed), tuple(blocks))


@twin
def prune_layers(mfg, hit):
    mfg, hit, *_ = prune_arguments(mfg, hit, True, "csr2")
    L = len(mfg.blocks)
    order: list = [None] * L + [np.arange(len(mfg.nodes[L]))]
    computed: list = [None] * L
    blocks: list = [None] * L
    for layer in range(L, 0, -1):
        block, above = mfg.blocks[layer - 1], order[layer]
        chosen = np.empty(len(above), np.bool_)
        parts = block.start, block.end, block.indices, _ids(block)
        masks = hit[layer - 1].view(np.uint8), chosen.view(np.uint8)
        nodes = mfg.nodes[layer - 1]
        below, *parts = _compaction.prune(*parts, nodes, above, *masks)
        starts, ends, indices, edge_ids = parts
        order[layer - 1], computed[layer - 1] = below, chosen
        blocks[layer - 1] = _block_of(block, starts, ends, indices, len(below), edge_ids)
    return LiveRows(tuple(order), tuple(computed), tuple(blocks))


def _ids(block):
    """Return what a kernel copies for each entry: its position in the block if it has weights."""
    return block.edge_ids if block.weights is None else np.arange(block.e)


def _block_of(block, starts, ends, indices, n_src, ids):
    """Return the Block of some rows of `block`; `ids` are what was copied of `_ids`."""
    of_entries = [ids] if block.weights is None else block._of_entries(ids)
    return Block._trusted(starts, ends, indices, n_src, *of_entries)
