"""Pruning: a message-flow graph without what only cached embeddings would have needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.block import MFG, Block, checked
from refimpl.hints import Integers, Mask
from refimpl.history.layouts import OTHERS, Work


class PruneResult(NamedTuple):
    """A pruned message-flow graph, and which of its nodes are still needed: `prune_mfg` returns it.

    Attributes
    ----------
    mfg : MFG
        The nodes as before; in each block, rows that need not be computed are empty.
    live : tuple of L + 1 (n_l,) bool arrays
        ``live[l][i]``: something computed, or a root, needs ``mfg.nodes[l][i]`` at layer l.
    comp : tuple of L (n_l,) bool arrays
        ``comp[l - 1]``: nodes of layer l that are live and not cached, so are computed.
    ops : int
        Element operations of removing the entries, in the layout chosen: numbers compared or
        stored. Finding out what is live takes the same time in every layout, and is not in it.
    touched_bytes : int
        Size of those numbers.
    """

    mfg: MFG
    live: tuple[Mask, ...]
    comp: tuple[Mask, ...]
    ops: int
    touched_bytes: int


def prune_arguments(mfg, hit, uses_self, layout):
    """Check the arguments of `prune_mfg`; return them, `hit` as copies of its arrays."""
    mfg = checked_mfg(mfg)
    require.choice("layout", layout, tuple(LAYOUTS))
    if layout != "csr2" and any(block.weights is not None for block in mfg.blocks):
        raise ValueError(f'layout must be "csr2" where blocks have weights, got "{layout}"')
    require.switch("uses_self", uses_self)
    hit = require.sequence("hit", hit, "bool arrays")
    if len(hit) != len(mfg.blocks):
        raise ValueError(
            f"hit must have an array for each of the {len(mfg.blocks)} layers, got {len(hit)}"
        )
    layers = enumerate(zip(hit, mfg.nodes[1:], strict=True), 1)
    hit = [require.mask(f"hit of layer {l}", array, len(nodes)) for l, (array, nodes) in layers]
    if hit and hit[-1].any():
        raise ValueError("hit must be all False for the last layer: roots are never cached")
    return mfg, hit, uses_self, layout


@checked_by(prune_arguments)
def prune_mfg(
    mfg: MFG,
    hit: Sequence[Mask],
    *,
    uses_self: bool = True,
    layout: Literal["csr2", "csr", "csr_batched", "coo", "coo_compact"] = "csr2",
) -> PruneResult:
    """Drop whatever is needed only to compute embeddings that are cached.

    FreshGNN, Algorithm 1 lines 6-9, and section 5. From the roots down: a node that is live and
    not cached is computed, and needs its sources. So a node stays as long as one computed node
    needs it, even below a cached one. O(nodes + live entries) time to find out; removing the
    entries of m rows out of n, with k entries out of e, takes O(m) in "csr2", O(m (n + e)) in
    "csr", O(n + e) in "csr_batched", O(m log e + k) in "coo" and O(m log e + e) in
    "coo_compact".

    Parameters
    ----------
    mfg : MFG
        With L blocks; it is not changed.
    hit : sequence of L (n_l,) bool arrays
        ``hit[l - 1]``, as long as ``mfg.nodes[l]``: which embeddings of layer l are cached.
        Those of dead nodes are ignored. Roots are never cached: the last array is all False.
    uses_self : bool
        Whether a node needs its own embedding of the layer below.
    layout : "csr2", "csr", "csr_batched", "coo" or "coo_compact"
        How the entries of a row are removed: by one new row end; by deleting them and correcting
        the row pointers, row after row or for all rows at once; by marking them in a sorted list
        of pairs, which may then be compacted. The answer is the same. All but "csr2" are for
        comparison, and spend more time on changing to their layout and back.

    Returns
    -------
    PruneResult
        With layout "csr2", its blocks share `start`, `indices` and `edge_ids` with the blocks of
        `mfg`; only `end` is new. Otherwise, they have no dead entries.

    Raises
    ------
    TypeError, ValueError
        If `mfg` is no message-flow graph, `hit` does not fit it or caches a root, or `layout`
        is none of these.
    """
    live = [np.ones(len(mfg.nodes[-1]), np.bool_)]
    comp: list[np.ndarray] = []
    blocks: list[Block] = []
    ops = touched_bytes = 0
    for block, cached in zip(mfg.blocks[::-1], hit[::-1], strict=True):
        computed = live[0] & ~cached
        edges = LAYOUTS[layout](block)
        work = edges.empty(np.flatnonzero(~computed & (block.start < block.end)))
        pruned = edges.block()
        needed = np.zeros(block.n_src, np.bool_)
        if uses_self:
            needed[: block.n_dst] = computed
        for start, end in zip(pruned.start, pruned.end, strict=True):
            needed[pruned.indices[start:end]] = True
        live.insert(0, needed)
        comp.insert(0, computed)
        blocks.insert(0, pruned)
        ops, touched_bytes = ops + work.ops, touched_bytes + work.touched_bytes
    mfg = MFG(mfg.nodes, tuple(blocks))
    return PruneResult(mfg, tuple(live), tuple(comp), ops, touched_bytes)


class Csr2:
    """Row bounds in two arrays: an empty row ends where it starts, and nothing moves."""

    def __init__(self, block):
        self.source = block
        self.end = block.end.copy()

    def empty(self, rows):
        """Remove the entries of the ascending `rows`; return the Work."""
        self.end[rows] = self.source.start[rows]
        return Work(len(rows), 8 * len(rows))

    def block(self):
        """Return what is left as a Block."""
        old = self.source
        of_entries = old.edge_ids, old.weights
        return Block._trusted(old.start, self.end, old.indices, old.n_src, *of_entries)


LAYOUTS: dict[str, Any] = {"csr2": Csr2, **OTHERS}


def checked_mfg(mfg, name="mfg"):
    """Return an MFG whose blocks fit its nodes, both in tuples of their own, or raise."""
    if not isinstance(mfg, MFG):
        raise TypeError(f"{name} must be an MFG, got {type(mfg).__name__}")
    nodes, blocks = require.record(name, mfg, MFG)
    nodes = tuple(_ids(name, part) for part in require.listed(f"{name}.nodes", nodes, "arrays"))
    blocks = require.listed(f"{name}.blocks", blocks, "Blocks")
    sizes = [len(part) for part in nodes]
    if len(sizes) != len(blocks) + 1:
        raise ValueError(
            f"{name} must have one array of nodes more than blocks, "
            f"got {len(sizes)} and {len(blocks)}"
        )
    for layer, block in enumerate(blocks, 1):
        n_src, n_dst = sizes[layer - 1 : layer + 1]
        checked(block, f"{name}.blocks", "Blocks")
        if (block.n_dst, block.n_src) != (n_dst, n_src) or n_dst > n_src:
            raise ValueError(
                f"{name} must have {n_dst} destinations and {n_src} sources, no fewer, in the "
                f"block of layer {layer}, got {block}"
            )
    return MFG(nodes, blocks)


def _ids(name, nodes):
    """Return the nodes of a layer as a plain array, or raise."""
    ids = require.array(name, nodes) if isinstance(nodes, np.ndarray) else None
    if ids is None or ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(f"{name}.nodes must be 1-D integer arrays, got {type(nodes).__name__}")
    return ids


def saving_arguments(loaded, needed):
    """Check the arguments of `io_saving`; return them."""
    loaded = require.ids("loaded", loaded, 0, 2**63 - 1, np.int64)
    needed = require.ids("needed", needed, 0, 2**63 - 1, np.int64)
    if loaded.shape != needed.shape:
        raise ValueError(
            f"loaded must be as long as needed, got {loaded.size} and {needed.size} iterations"
        )
    if np.any(loaded > needed):
        raise ValueError("loaded must not be above needed in any iteration")
    return loaded, needed


@checked_by(saving_arguments)
def io_saving(loaded: Integers, needed: Integers) -> float:
    """Return the share of feature rows that need not be loaded, over some iterations.

    A ratio of sums, not a mean of ratios: 1 - sum(loaded) / sum(needed). In FreshGNN's Figures
    13, 14, 16 and 17 it is against neighbour sampling on the same message-flow graphs.

    Parameters
    ----------
    loaded : (iterations,) integer array
        Rows loaded in each iteration.
    needed : (iterations,) integer array
        Rows that would have been loaded without any cache: ``len(mfg.nodes[0])``.

    Returns
    -------
    float in [0, 1]
        NaN where nothing was needed.

    Raises
    ------
    TypeError, ValueError
        If these are no integers, differ in length, or more was loaded than needed.

    Examples
    --------
    >>> io_saving([60, 20], [100, 100])
    0.6
    """
    total = sum(map(int, needed))  # Python's integers do not wrap
    return 1 - sum(map(int, loaded)) / total if total else float("nan")
