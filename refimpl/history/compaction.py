"""What is left of a message-flow graph after pruning: rows to compute, rows that are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG, Block, entries_of_rows
from refimpl.hints import Mask, Positions
from refimpl.history.pruning import PruneResult, checked_mfg, prune_mfg

DEAD = "pruned must be what prune_mfg returns with uses_self=True"


class LiveRows(NamedTuple):
    """The live rows of every layer, and blocks on these rows alone: `live_layers` returns it.

    What Algorithm 1 of FreshGNN computes and reads behind its line 9.

    Attributes
    ----------
    order : tuple of L + 1 arrays of shape (any,), int64
        Live rows of layers 0 .. L, by their place in ``mfg.nodes[l]``: those that the layer above
        computes come first, in its order, so that each block's destinations are its first
        sources. The others follow by their node. Dead rows do not change the order (E-V27).
    computed : tuple of L arrays of shape (any,), bool
        For layers 1 .. L, in the order of `order`: computed, or read from the cache.
    blocks : tuple of L Blocks
        Block l - 1 has one row for each computed row of layer l, one column for each live row of
        layer l - 1.
    """

    order: tuple[Positions, ...]
    computed: tuple[Mask, ...]
    blocks: tuple[Block, ...]


def live_arguments(pruned):
    """Check the argument of `live_layers`; return it."""
    if not isinstance(pruned, PruneResult):
        raise TypeError(f"pruned must be a PruneResult, got {type(pruned).__name__}")
    pruned = require.record("pruned", pruned, PruneResult)
    mfg, live, comp = checked_mfg(pruned.mfg), pruned.live, pruned.comp
    live, comp = require.listed("live", live, "arrays"), require.listed("comp", comp, "arrays")
    if len(live) != len(mfg.nodes) or len(comp) != len(mfg.blocks):
        raise ValueError(f"pruned must have live and comp for {len(mfg.blocks)} layers")
    live, comp = _masks("live", live, mfg.nodes), _masks("comp", comp, mfg.nodes[1:])
    return (pruned._replace(mfg=mfg, live=live, comp=comp),)


def _masks(name, masks, nodes):
    """Return one mask a layer, each for its nodes."""
    pairs = zip(masks, nodes, strict=True)
    return tuple(require.mask(f"pruned.{name}", mask, len(ids)) for mask, ids in pairs)


@checked_by(live_arguments)
def live_layers(pruned: PruneResult) -> LiveRows:
    """Return the live part of a pruned message-flow graph.

    Dead rows take no part in any product, and a cached row has no sources: what remains is what
    an iteration of FreshGNN's Algorithm 1 computes, lines 11 to 17. Without hits, the blocks are
    those that were sampled. O(rows + live entries) time.

    Parameters
    ----------
    pruned : PruneResult
        From `prune_mfg` with `uses_self`.

    Returns
    -------
    LiveRows

    Raises
    ------
    TypeError, ValueError
        If `pruned` is no PruneResult, its masks do not fit, or a computed node or one of its
        sources is not live in the layer below.
    """
    mfg, live, comp = pruned[:3]
    L = len(mfg.blocks)
    order: list = [None] * L + [np.flatnonzero(live[L])]
    computed: list = [None] * L
    blocks: list = [None] * L
    for layer in range(L, 0, -1):
        computed[layer - 1] = comp[layer - 1][order[layer]]
        rows = order[layer][computed[layer - 1]]
        order[layer - 1] = _rows_first(rows, live[layer - 1], mfg.nodes[layer - 1])
        blocks[layer - 1] = _rows_of(mfg.blocks[layer - 1], rows, order[layer - 1])
    return LiveRows(tuple(order), tuple(computed), tuple(blocks))


def prune_layers(mfg: MFG, hit: Sequence[Mask]) -> LiveRows:
    """Return the live part of a message-flow graph of which some embeddings are cached.

    FreshGNN's Algorithm 1 lines 8 and 9: `prune_mfg`, then `live_layers`, of which fastimpl makes
    one pass. O(nodes + live entries) time.

    Parameters
    ----------
    mfg : MFG
        With L blocks; it is not changed.
    hit : sequence of L (n_l,) bool arrays
        As in `prune_mfg`.

    Returns
    -------
    LiveRows

    Raises
    ------
    TypeError, ValueError
        If `mfg` is no message-flow graph, or `hit` does not fit it or caches a root.
    """
    return live_layers(prune_mfg(mfg, hit))


def _rows_first(rows, live, nodes):
    """Return the live rows of a layer: `rows` in front, the others by their node."""
    if not live[rows].all():
        raise ValueError(DEAD)
    rest = live.copy()
    rest[rows] = False
    return np.concatenate([rows, by_node(np.flatnonzero(rest), nodes)])


def by_node(rows, nodes):
    """Return rows of a layer, ascending by their node, then by their place."""
    return rows[np.argsort(nodes[rows], kind="stable")]


def _rows_of(block, rows, sources):
    """Return some rows of `block`, its columns numbered by their place in `sources`."""
    place = np.full(block.n_src, -1, np.int32)
    place[sources] = np.arange(len(sources), dtype=np.int32)
    lengths = (block.end - block.start)[rows]
    ends = np.cumsum(lengths)
    entries = entries_of_rows(block.start[rows], block.end[rows])
    indices = place[block.indices[entries]]
    if np.any(indices < 0):
        raise ValueError(DEAD)
    return Block._trusted(ends - lengths, ends, indices, len(sources), *block._of_entries(entries))
