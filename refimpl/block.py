"""Blocks: the rectangular patterns of layer sampling, and message-flow graphs made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.notebook_cards import mfg_html
from refimpl.hints import Absent, Ids, Int, Integers, Positions, Reals, Values

__all__ = ["Block", "MFG", "transpose_block"]

MOST_NODES = 2**31 - 1  # of a block, on either side: ids are int32


@dataclass(frozen=True, eq=False)
class Block:
    """Which sources each destination aggregates, checked, copied and frozen once, when built.

    The sources of destination i are ``indices[start[i]:end[i]]``, each once, in any order (CSR2
    row bounds): setting ``end[i] = start[i]`` in a copy empties row i and moves nothing. Rows
    stand one behind the other in `indices`; entries between them belong to no row, and are dead.
    In a block that a sampler made, destination i is source i: its sources begin with its
    destinations. Nothing checks that, and the transpose of a block does not have it. CSR2 is
    FreshGNN's (section 5). O(n_dst + e log e) time to check.

    Parameters
    ----------
    start, end : (n_dst,) integer arrays
        Stored as int64, read-only; ``start[i] <= end[i] <= start[i + 1]``.
    indices : (e,) integer array
        Local ids of sources in [0, n_src). Stored as int32, read-only.
    n_src : int
        Number of sources.
    edge_ids : (e,) integer array, optional
        Where each entry stands in the parent graph's `indices`. Stored as int64, read-only.
    weights : (e,) array of real numbers, optional
        How much each entry counts in the mean of its row, above 0: 1 over its chance to be
        sampled, where the chances in a row differ. Stored as float64, read-only. Default: all
        entries of a row count alike.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not integers, or not rows as above.
    """

    start: Positions
    end: Positions
    indices: Ids
    n_src: int
    edge_ids: Positions | Absent = None
    weights: Values | Absent = None

    if TYPE_CHECKING:  # more is taken than is kept

        def __init__(
            self,
            start: Integers,
            end: Integers,
            indices: Integers,
            n_src: Int,
            edge_ids: Integers | None = None,
            weights: Reals | None = None,
        ) -> None: ...

    def __post_init__(self):
        n_src = require.integer("n_src", self.n_src, 0, MOST_NODES)
        indices = require.ids("indices", self.indices, 0, n_src, np.int32)
        start = require.ids("start", self.start, 0, indices.size + 1, np.int64)
        end = require.ids("end", self.end, 0, indices.size + 1, np.int64)
        if start.size > MOST_NODES or start.shape != end.shape:
            raise ValueError(
                f"end must be as long as start, below 2**31: got {end.size} and {start.size}"
            )
        if np.any(start > end) or np.any(end[:-1] > start[1:]):
            raise ValueError("end must be in [start[i], start[i + 1]] for every row i")
        row, at = np.repeat(np.arange(start.size), end - start), entries_of_rows(start, end)
        order = np.lexsort((indices[at], row))
        row, source = row[order], indices[at][order]
        if np.any((source[1:] == source[:-1]) & (row[1:] == row[:-1])):
            raise ValueError("indices must not hold a source twice in a row")
        edge_ids = self.edge_ids
        if edge_ids is not None:
            edge_ids = require.ids("edge_ids", edge_ids, 0, 2**63 - 1, np.int64)
            if edge_ids.size != indices.size:
                raise ValueError(
                    f"edge_ids must have shape ({indices.size},), got {edge_ids.shape}"
                )
        weights = self.weights
        if weights is not None:
            weights = require.positive("weights", weights, indices.size)
        self._freeze(start, end, indices, n_src, edge_ids, weights)

    def _freeze(self, start, end, indices, n_src, edge_ids, weights):
        arrays = {"start": start, "end": end, "indices": indices, "edge_ids": edge_ids}
        arrays["weights"] = weights
        for array in arrays.values():
            if array is not None:
                array.flags.writeable = False
        for name, value in {**arrays, "n_src": n_src}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _trusted(cls, start, end, indices, n_src, edge_ids=None, weights=None):
        """Wrap arrays that a kernel has just made: no copy, no check."""
        block = object.__new__(cls)
        block._freeze(start, end, indices, n_src, edge_ids, weights)
        return block

    def _of_entries(self, at):
        """Return `edge_ids` and `weights` of the entries `at`; None stays None."""
        return [None if of is None else of[at] for of in (self.edge_ids, self.weights)]

    def __reduce__(self):  # copies, unpickled ones too, are read-only as well
        rows = self.start, self.end, self.indices
        return Block._trusted, (*rows, self.n_src, self.edge_ids, self.weights)

    @property
    def n_dst(self) -> int:
        """Number of destinations: the rows."""
        return len(self.start)

    @property
    def e(self) -> int:
        """Number of entries, dead ones included: the length of an array of values."""
        return len(self.indices)

    def degrees(self) -> Positions:
        """Return the number of sources of every destination, shape (n_dst,), int64."""
        return self.end - self.start

    def to_scipy(self, data: Values | None = None) -> sp.csr_array:
        """Return a scipy.sparse.csr_array of the live entries of `data` (default: ones)."""
        live = entries_of_rows(self.start, self.end)
        data = np.ones(live.size) if data is None else np.asarray(data)[live]
        indptr = np.concatenate(([0], np.cumsum(self.degrees())))
        return sp.csr_array((data, self.indices[live], indptr), shape=(self.n_dst, self.n_src))

    def __repr__(self):
        return f"Block(n_dst={self.n_dst}, n_src={self.n_src}, e={self.e})"


def entries_of_rows(start, end):
    """Return the positions of all entries of all rows, in order."""
    length = end - start
    before = np.cumsum(length) - length  # entries of the rows above
    return np.arange(length.sum()) + np.repeat(start - before, length)


def sources(dst, picked):
    """Return the sources of a block, and which of them each of its entries is.

    Parameters
    ----------
    dst : (n_dst,) integer array
        The destinations, distinct nodes.
    picked : (e,) int32 array
        The node of every entry.

    Returns
    -------
    src : (n_src,) int32 array
        The destinations, then the new nodes, ascending.
    indices : (e,) int32 array
        Where each of `picked` stands in `src`.
    """
    src = np.concatenate([dst, np.setdiff1d(picked, dst)]).astype(np.int32)  # setdiff1d sorts
    by_id = np.argsort(src)
    return src, by_id[np.searchsorted(src, picked, sorter=by_id)].astype(np.int32)


class MFG(NamedTuple):
    """A message-flow graph: what L layers compute for some roots, from the inputs up.

    What `sample_mfg` and `layer_sample` draw, and `prune_mfg` prunes.

    Attributes
    ----------
    nodes : tuple of L + 1 (n_l,) int32 arrays
        ``nodes[0]`` are the nodes whose features are read, ``nodes[L]`` the roots. ``nodes[l]``
        is the beginning of ``nodes[l - 1]``.
    blocks : tuple of L Blocks
        ``blocks[l - 1]`` is layer l: destinations ``nodes[l]``, sources ``nodes[l - 1]``.
    """

    nodes: tuple[Ids, ...]
    blocks: tuple[Block, ...]

    def _repr_html_(self):
        return mfg_html(self)


def as_mfg(nodes, hops):
    """Return the MFG of `nodes`, inputs first, and hops, roots first.

    A hop is (row bounds, local ids, positions), and the weights of its entries if they have some.
    """
    blocks = [
        Block._trusted(bounds[:-1], bounds[1:], indices, len(src), *of_entries)
        for (bounds, indices, *of_entries), src in zip(hops[::-1], nodes[:-1], strict=True)
    ]
    return MFG(tuple(nodes), tuple(blocks))


def block_arguments(block):
    """Check the argument of `transpose_block`; return it."""
    return (checked(block),)


@checked_by(block_arguments)
def transpose_block(block: Block) -> tuple[Block, Positions]:
    """Return the transpose of `block` and the permutation of its values.

    A counting sort: a block is rectangular, so JPDC'21 Algorithm 6 does not apply.
    The values of the transpose are ``data[perm]``. O(n_dst + n_src + e) time.

    Parameters
    ----------
    block : Block

    Returns
    -------
    transpose : Block
        Rows are the block's sources, entries its destinations, ascending in each row. Only live
        entries are there. Without `edge_ids` and `weights`: they are ``block.edge_ids[perm]`` and
        ``block.weights[perm]``.
    perm : (live entries,) int64 array
        ``perm[k]`` is where entry k of the transpose stands in ``block.indices``.

    Raises
    ------
    TypeError
        If `block` is no Block.
    """
    live = int(block.degrees().sum())
    ptr = np.zeros(block.n_src + 1, np.int64)
    for i in range(block.n_dst):
        for j in range(block.start[i], block.end[i]):
            ptr[block.indices[j] + 1] += 1
    ptr = np.cumsum(ptr)
    start, end = ptr[:-1].copy(), ptr[1:].copy()
    destinations, perm = np.empty(live, np.int32), np.empty(live, np.int64)
    for i in range(block.n_dst):
        for j in range(block.start[i], block.end[i]):
            k = ptr[block.indices[j]]
            destinations[k], perm[k] = i, j
            ptr[block.indices[j]] += 1
    return Block._trusted(start, end, destinations, block.n_dst), perm


def checked(block, name="block", wanted="a Block"):
    """Return `block` if it is a Block that kernels may read, or raise."""
    return require.instance(name, block, (Block,), wanted)
