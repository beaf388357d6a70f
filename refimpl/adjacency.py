"""Normalised adjacency matrices: values for the entries of a graph's pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.reprs import short_repr
from refimpl.block import Block, checked, entries_of_rows, transpose_block
from refimpl.graph import transpose_perm
from refimpl.graph.csr import Graph, undirected, undirected_arguments
from refimpl.hints import Absent, FloatDtype, Floats, Integers, Positions

__all__ = ["Adjacency", "add_self_loops", "block_norm", "loop_norm", "row_norm", "sym_norm"]

BLOCK_KINDS = ("row", "sym", "loop")
TRANSPOSE = ("graph_t", "data_t", "perm")


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A sparse matrix A, and its transpose.

    Attributes
    ----------
    graph : Graph or Block
        The pattern of A: row v receives from its entries.
    data : (e,) float array
        ``data[j]`` is A[v, u] for entry j = (v, u).
    data_t : (e,) float array or None
        The values of A^T; None where only the forward pass is wanted.
    graph_t : Graph or Block
        The pattern of A^T; by default `graph`, which is then undirected.
    perm : (e,) int64 array or None
        Where each entry of A^T stands in `graph`: for values that only a layer can know, as an
        attention's (E-A3).

    Raises
    ------
    ValueError
        If `data`, `data_t` or `perm` is no array. Layers check the rest, but not that A^T is the
        transpose of A.
    """

    graph: Graph | Block
    data: Floats
    data_t: Floats | Absent
    # Not attributes of the class: `__getattr__` is asked for what is not made yet.
    graph_t: Graph | Block = field(default_factory=lambda: None)  # type: ignore[assignment]
    perm: Positions | Absent = field(default_factory=lambda: None)

    @classmethod
    def _with_late_transpose(cls, graph, data, transpose):
        """Return a matrix whose transpose ``transpose(graph, data)`` makes when it is asked for.

        The first layer needs no gradient of its input, and thus often no transpose at all.
        """
        made = object.__new__(cls)
        made.__dict__.update(graph=graph, data=data, _transpose=transpose)
        return made

    def __getattr__(self, name):
        transpose = self.__dict__.get("_transpose")
        if transpose is None or name not in TRANSPOSE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = transpose(self.graph, self.data)
        self.__dict__.update(zip(TRANSPOSE, found, strict=True))
        return self.__dict__[name]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self.graph.n_dst, self.graph.n_src

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.data.dtype

    @property
    def T(self) -> Adjacency:
        """The transpose. A ValueError is raised where its values were never made."""
        if self.data_t is None:
            raise ValueError("data_t must be there: give row_norm a transpose_perm")
        return Adjacency(self.graph_t, self.data_t, self.data, self.graph)

    __iter__ = None  # a slice is not a row, so `for` finds no rows here

    def __getitem__(self, rows: slice) -> Adjacency:
        """Return some rows, neither copied nor in another order: ``A[:k]``."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise TypeError(f"rows of an Adjacency must be a slice first:last, got {rows!r:.80}")
        first, last, _ = rows.indices(self.graph.n_dst)
        if last - first == self.graph.n_dst:
            return self
        start, end = self.graph.start[first:last], self.graph.end[first:last]
        block = Block._trusted(start, end, self.graph.indices, self.graph.n_src)
        transpose = self.__dict__.get("_transpose", _sorted_by_column)
        return Adjacency._with_late_transpose(block, self.data, transpose)

    def __repr__(self):
        return short_repr(self)

    def __post_init__(self):
        for name in ("data", "data_t"):
            if getattr(self, name) is not None:
                values = require.array(name, getattr(self, name))
                object.__setattr__(self, name, require.plain(values))
        if self.perm is not None:
            perm = require.array("perm", self.perm)
            if perm.dtype.kind in "iu":  # a layer that needs another refuses it
                object.__setattr__(self, "perm", require.plain(perm, np.int64))
        if self.graph_t is None:
            object.__setattr__(self, "graph_t", self.graph)

    def _with_perm(self, perm):
        """Return the same matrix with another `perm`, which a layer has checked."""
        return Adjacency(self.graph, self.data, self.data_t, self.graph_t, perm)


def _transposed(block, data):
    """Return the pattern, the values and the permutation of the transpose."""
    transposed, perm = transpose_block(block)
    return transposed, data[perm], perm


def _sorted_by_column(block, data):
    """Return what `_transposed` does, without a loop in Python: for both packages."""
    live = entries_of_rows(block.start, block.end)
    order = np.argsort(block.indices[live], kind="stable")
    rows = np.repeat(np.arange(block.n_dst, dtype=np.int32), block.degrees())
    ends = np.cumsum(np.bincount(block.indices[live], minlength=block.n_src))
    starts = np.concatenate(([0], ends))[:-1]
    return Block._trusted(starts, ends, rows[order], block.n_dst), data[live[order]], live[order]


def norm_arguments(graph, transpose_perm, dtype):
    """Check the arguments of `row_norm`; return them."""
    undirected(graph)
    dtype = require.float_dtype("dtype", dtype)
    if transpose_perm is not None:
        transpose_perm = require.positions("transpose_perm", transpose_perm, graph.e)
    return graph, transpose_perm, dtype


@checked_by(norm_arguments)
def row_norm(
    graph: Graph, transpose_perm: Integers | None = None, *, dtype: FloatDtype = np.float64
) -> Adjacency:
    """Return D^-1 A, the matrix that takes the mean over each node's neighbours.

    JPDC'21 Equation 1; D holds the degrees in `graph` itself (E-A4), and the mean is taken at
    the receiving node (E-A1). A node without neighbours keeps an empty row. O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes and e edges.
    transpose_perm : (e,) int32 array, optional
        From `transpose_perm`; without it the result has no `data_t`.
    dtype : float32 or float64

    Returns
    -------
    Adjacency

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, `transpose_perm` is not e positions, or `dtype` is another one.
    """
    degrees = graph.degrees()
    inverse = 1 / np.maximum(degrees, 1).astype(dtype)
    data = np.repeat(inverse, degrees)
    data_t = None if transpose_perm is None else data[np.asarray(transpose_perm)]
    return Adjacency(graph, data, data_t)


@checked_by(undirected_arguments)
def add_self_loops(graph: Graph) -> Graph:
    """Return the pattern I + A: every node is its own neighbour, once.

    The pattern of JPDC'21 Equations 4 and 6. O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected, with n nodes; a self-loop that it has is kept as it is.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError, ValueError
        If the graph is no Graph, or directed.
    """
    indptr, indices = [0], []
    for v in range(graph.n):
        row = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        indices.append(np.union1d(row, [v]))
        indptr.append(indptr[-1] + len(indices[-1]))
    merged = np.concatenate([np.empty(0, np.int32), *indices]).astype(np.int32)
    return Graph._trusted(np.array(indptr), merged, symmetric=True)


def looped_arguments(graph, dtype):
    """Check the arguments of `sym_norm` and `loop_norm`; return them."""
    return undirected(graph), require.float_dtype("dtype", dtype)


@checked_by(looped_arguments)
def sym_norm(graph: Graph, *, dtype: FloatDtype = np.float64) -> Adjacency:
    """Return (I + D)^-1/2 (I + A) (I + D)^-1/2, the matrix of GCN and MixHop.

    JPDC'21 Equations 4 and 5, D of `graph` itself (E-A4). Entry (v, u) is 1 over the root of the
    product of both rows' lengths in `add_self_loops`. The matrix is its own transpose, so
    `data_t` is `data`. O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    dtype : float32 or float64

    Returns
    -------
    Adjacency
        On ``add_self_loops(graph)``.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, or `dtype` is another one.
    """
    looped = add_self_loops(graph)
    lengths = looped.degrees()
    products = np.repeat(lengths, lengths) * lengths[looped.indices]
    data = (1 / np.sqrt(products)).astype(dtype)
    return Adjacency(looped, data, data)


@checked_by(looped_arguments)
def loop_norm(graph: Graph, *, dtype: FloatDtype = np.float64) -> Adjacency:
    """Return the mean over each node's neighbours and itself: the pattern of GAT.

    The attention of JPDC'21 Equation 6 spreads over these entries; the values, 1 over the length
    of the row, matter for ``norm="row"`` only. O(n + e) time.

    Parameters
    ----------
    graph : Graph
        Undirected.
    dtype : float32 or float64

    Returns
    -------
    Adjacency
        On ``add_self_loops(graph)``, with `perm`.

    Raises
    ------
    TypeError, ValueError
        If the graph is directed, or `dtype` is another one.
    """
    looped = add_self_loops(graph)
    lengths = looped.degrees()
    data = np.repeat(1 / lengths.astype(dtype), lengths)
    perm = transpose_perm(looped)
    return Adjacency(looped, data, data[perm], perm=perm)


def block_arguments(kind, block, degrees, dtype):
    """Check the arguments of `block_norm`; return them, `degrees` for "sym" only."""
    require.choice("kind", kind, BLOCK_KINDS)
    checked(block)
    dtype = require.float_dtype("dtype", dtype)
    if kind != "row" and block.n_dst > block.n_src:
        raise ValueError(
            f"block must have its {block.n_dst} destinations among its sources, got {block.n_src}"
        )
    if kind != "sym":
        return kind, block, None, dtype
    if degrees is None:
        raise ValueError('degrees must be given where kind is "sym"')
    degrees = require.ids("degrees", degrees, 0, 2**31, np.int64)
    if degrees.size != block.n_src:
        raise ValueError(f"degrees must have shape ({block.n_src},), got {degrees.shape}")
    return kind, block, degrees, dtype


@checked_by(block_arguments)
def block_norm(
    kind: Literal["row", "sym", "loop"],
    block: Block,
    degrees: Integers | None = None,
    *,
    dtype: FloatDtype = np.float64,
) -> Adjacency:
    """Return the matrix of one layer on sampled neighbours, with its transpose.

    "row" is the mean over the sampled neighbours, as `row_norm` is over all. "sym" estimates
    `sym_norm`: its own entry 1 / (d_v + 1) first in row v, then for each sampled u its entry
    times d_v over the number sampled, an unbiased estimate. "loop" is the mean over the node
    itself, first in its row, and the sampled. In both a sampled self-loop is the node itself, as
    in `add_self_loops`. The matrices of JPDC'21 Equations 1, 4 and 6, for the layer sampling of
    section 7.7. O(k + n_src) time for k entries.

    If the block has weights, the entry of a sampled node is multiplied by its weight over the mean
    of the weights in its row, so that "row" is the weighted mean.

    Parameters
    ----------
    kind : {"row", "sym", "loop"}
    block : Block
    degrees : (n_src,) integer array
        For "sym" only: how many neighbours each source has in the whole graph, itself not
        counted.
    dtype : float32 or float64

    Returns
    -------
    Adjacency
        With `graph_t` and `perm`, and `data` that is read-only.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or shape, or `degrees` is missing.
    """
    counts = block.end - block.start
    dst = np.repeat(np.arange(block.n_dst), counts)
    first = np.cumsum(counts) - counts
    live = entries_of_rows(block.start, block.end)
    src = block.indices[live]
    weights = None if block.weights is None else block.weights[live]
    exact = dtype if weights is None else np.float64  # rounded once, at the end
    if kind == "row":
        data = 1 / counts[dst].astype(exact)
        if weights is not None:
            factors = mean_one(weights, dst, counts)
    else:
        other = dst != src
        dst, src = dst[other], src[other]
        counts = np.bincount(dst, minlength=block.n_dst)
        first = np.cumsum(counts) - counts
        if weights is not None:
            factors = np.insert(mean_one(weights[other], dst, counts), first, 1)
        dst = np.insert(dst, first, np.arange(block.n_dst))
        src = np.insert(src, first, np.arange(block.n_dst))
        if kind == "loop":
            data = 1 / (counts[dst] + 1).astype(exact)
        else:
            data = _estimated_sym_norm(dst, src, counts, degrees).astype(exact)
        first, counts = first + np.arange(block.n_dst), counts + 1
    if weights is not None:
        data = (data * factors).astype(dtype)
    pattern = Block(first, first + counts, src, block.n_src)
    data.flags.writeable = False  # as those of the pattern: the transpose has the same
    transposed, perm = transpose_block(pattern)
    return Adjacency(pattern, data, data[perm], transposed, perm)


def mean_one(weights, dst, counts):
    """Return weights of the entries of rows `dst`, times a number that makes a row's mean 1."""
    return weights * counts[dst] / np.bincount(dst, weights, len(counts))[dst]


def _estimated_sym_norm(dst, src, counts, degrees):
    d_dst, d_src = degrees[dst], degrees[src]
    scale = d_dst / np.maximum(counts[dst], 1) / np.sqrt((d_src + 1) * (d_dst + 1))
    return np.where(dst == src, 1 / (d_dst + 1), scale)
