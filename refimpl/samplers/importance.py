"""Importance sampling of whole layers: FastGCN's independent ones, and LADIES' dependent ones.

A layer is estimated from a few columns of the matrix P that it aggregates with, drawn with
replacement: column u with probability q(u), in proportion to the sum of its squares, over all
rows (FastGCN) or over the rows to be computed (LADIES). Sums run from left to right and every
draw is a number of a keyed stream, so a sample has one right answer to the last bit. The papers
are silent or differ on what is marked "here" below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.block import MFG, Block, entries_of_rows, sources
from refimpl.graph import Graph
from refimpl.hints import F, Floats, Int, Integers
from refimpl.samplers.layer import layer_arguments
from refimpl.streams import Stream


class ImportanceSample(NamedTuple):
    """A message-flow graph, and what its entries are worth.

    What `fastgcn_sample` and `ladies_sample` return.

    Attributes
    ----------
    mfg : MFG
        Its sources are the destinations, then the new nodes, ascending: here, those drawn that a
        destination has an entry for. `edge_ids` says where an entry stands in ``graph.indices``.
    values : tuple of L (entries,) float arrays
        One for each block, of the dtype of P: the value of each of its entries.
    """

    mfg: MFG
    values: tuple[Floats, ...]


class ColumnLaw(NamedTuple):
    """With what probability each column is drawn: what `importance_law` returns.

    Attributes
    ----------
    q : (k,) float64
        The probabilities; all zero where no column can be drawn.
    cumulative : (k,) float64
        Running sums of the masses that they are in proportion to.
    """

    q: Floats[np.float64]
    cumulative: Floats[np.float64]


def law_arguments(graph, data):
    """Check the arguments of `importance_law`; return them."""
    layer_arguments(graph, (), (), 0)
    return graph, _checked_values(require.floats("data", data, (graph.e,)))


@checked_by(law_arguments)
def importance_law(graph: Graph, data: Floats[F]) -> ColumnLaw:
    """Return the law of FastGCN: q(u) in proportion to the sum of P[v, u]^2 over all rows v.

    O(n + e) time.

    Parameters
    ----------
    graph : Graph
        The pattern of P, with n nodes and e entries.
    data : (e,) float array
        Its values, finite and not negative, and so the sum of their squares.

    Returns
    -------
    ColumnLaw
        Over the n nodes.

    Raises
    ------
    TypeError, ValueError
        If `graph` is no Graph, or `data` is not as above.

    References
    ----------
    Chen, Ma and Xiao 2018, "FastGCN", Proposition 4 and Algorithm 2.
    """
    return _law(graph.indices, data, graph.n)


def sample_arguments(graph, data, roots, sizes, key):
    """Check the arguments of `ladies_sample`, except the values of `data`; return all."""
    graph, roots, _, key = layer_arguments(graph, roots, (), key)
    sizes = require.sequence("sizes", sizes)
    sizes = tuple(require.integer("sizes", size, 1, 2**31 - 1) for size in sizes)
    return graph, require.floats("data", data, (graph.e,)), roots, sizes, key


def fastgcn_arguments(graph, data, roots, sizes, key, law):
    """Check the arguments of `fastgcn_sample`, except the values of `data`; return all."""
    arguments = sample_arguments(graph, data, roots, sizes, key)
    return *arguments, None if law is None else _checked_law(law, graph.n)


@checked_by(fastgcn_arguments)
def fastgcn_sample(
    graph: Graph,
    data: Floats[F],
    roots: Integers,
    sizes: Integers,
    key: Int,
    *,
    law: ColumnLaw | None = None,
) -> ImportanceSample:
    """Draw the message-flow graph of one minibatch with FastGCN's layers.

    Every layer draws t nodes from the law of all columns, whatever the rows. Entry (v, u) is
    worth c P[v, u] / (t q(u)) where u was drawn c times, so a row of a block estimates the row of
    P without bias; one with no node drawn is empty, and estimates 0. O(k + n + t log n) time for
    each layer, whose rows of P have k entries, on top of sorting its new nodes.

    Parameters
    ----------
    graph : Graph
        The pattern of P: row v lists whom v aggregates. It need not be undirected.
    data : (e,) float array
        The values of P, finite and not negative.
    roots : (r,) integer array
        Distinct nodes, in any order.
    sizes : sequence of ints, each at least 1
        Draws of each layer, the roots' first. Drawn with replacement: a layer meets fewer nodes.
    key : int in [0, 2**64)
        Key of the stream; the layers take its numbers one after another.
    law : ColumnLaw, optional
        ``importance_law(graph, data)``, where the caller has kept it; else O(n + e) time more.

    Returns
    -------
    ImportanceSample

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or not as above.

    References
    ----------
    Chen, Ma and Xiao 2018, "FastGCN", Equation 10 and Algorithm 2.
    """
    law = importance_law(graph, data) if law is None else law

    def hop(dst, u):
        row, at = _entries(graph, dst)
        weights = _checked_values(data[at]) * _scale(law, u)[graph.indices[at]]
        hit = weights > 0
        return row[hit], at[hit], weights[hit]

    return _top_down(graph, data, roots, sizes, key, hop)


@checked_by(sample_arguments)
def ladies_sample(
    graph: Graph, data: Floats[F], roots: Integers, sizes: Integers, key: Int
) -> ImportanceSample:
    """Draw the message-flow graph of one minibatch with the layers of LADIES.

    From the roots down, s nodes are drawn for the rows S of a layer, with q(u) in proportion to
    the sum of P[v, u]^2 over v in S: only neighbours of S are met. Entry (v, u) is worth
    c P[v, u] / (s q(u)) where u was drawn c times, and each row is then divided by its sum. The
    rows S are among the sources, and here an entry (v, v) of P is not left to chance: it is in
    row v with its own value before the division, so no row of a P with a full diagonal is empty
    (the authors' code adds the batch to every layer for that). Without the division, a row
    estimates the row of P without bias. O(k log k + s log k) time for each layer, whose rows of
    P have k entries.

    Parameters
    ----------
    graph : Graph
        The pattern of P: row v lists whom v aggregates. It need not be undirected.
    data : (e,) float array
        The values of P, finite and not negative.
    roots : (r,) integer array
        Distinct nodes, in any order.
    sizes : sequence of ints, each at least 1
        Draws of each layer, the roots' first; here with replacement, as the weights suppose.
    key : int in [0, 2**64)
        Key of the stream; the layers take its numbers one after another.

    Returns
    -------
    ImportanceSample

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or not as above.

    References
    ----------
    Zou et al. 2019, "Layer-Dependent Importance Sampling for Training Deep and Large Graph
    Convolutional Networks", Algorithm 1.
    """

    def hop(dst, u):
        row, at = _entries(graph, dst)
        near, column = np.unique(graph.indices[at], return_inverse=True)
        values = _checked_values(data[at])
        scale = _scale(_law(column, values, len(near)), u)[column]
        scale[graph.indices[at] == dst[row]] = 1
        weights = values * scale
        hit = weights > 0
        row, weights = row[hit], weights[hit]
        sums = np.bincount(row, weights=weights, minlength=len(dst))
        return row, at[hit], weights / sums[row]

    return _top_down(graph, data, roots, sizes, key, hop)


def _top_down(graph, data, roots, sizes, key, hop):
    """Return the sample whose layers, the roots' first, have the entries that `hop` returns."""
    nodes, stream = [roots], Stream(key)
    blocks: list[Block] = []
    values: list[np.ndarray] = []
    for size in sizes:
        row, at, weights = hop(nodes[0], stream.uniforms(size))
        src, block = _block(graph, nodes[0], row, at)
        nodes.insert(0, src)
        blocks.insert(0, block)
        values.insert(0, weights.astype(data.dtype))
    return ImportanceSample(MFG(tuple(nodes), tuple(blocks)), tuple(values))


@quiet
def _law(columns, values, k):
    """Return the law over k columns, given the column and the value of every entry."""
    mass = np.bincount(columns, weights=values.astype(np.float64) ** 2, minlength=k)
    mass = mass.astype(np.float64, copy=False)  # integers, where there are no entries
    cumulative = np.cumsum(mass)
    total = cumulative[-1] if k else 0
    if not np.isfinite(total):
        raise ValueError("data must have squares with a finite sum")
    return ColumnLaw(mass / total if total > 0 else np.zeros(k), cumulative)


@quiet
def _scale(law, u):
    """Return c / (t q) for every column, c how often the t uniform numbers `u` draw it."""
    scale = np.zeros(len(law.q))
    if law.q.any():
        x = u * law.cumulative[-1]  # below the last sum, as u <= 1 - 2**-53, if it is not too tiny
        last = np.searchsorted(law.cumulative, law.cumulative[-1])
        hit = np.minimum(np.searchsorted(law.cumulative, x, "right"), last)
        drawn, count = np.unique(hit, return_counts=True)
        scale[drawn] = count / (len(u) * law.q[drawn])
    return scale


def _entries(graph, dst):
    """Return (row, position in `graph.indices`) of every entry of the rows `dst` of P."""
    start, end = graph.start[dst], graph.end[dst]
    return np.repeat(np.arange(len(dst)), end - start), entries_of_rows(start, end)


def _block(graph, dst, row, at):
    """Return the sources of the entries `at`, which stand in the given rows, and their Block."""
    src, indices = sources(dst, graph.indices[at])
    lengths = np.bincount(row, minlength=len(dst))
    end = np.cumsum(lengths)
    return src, Block._trusted(end - lengths, end, indices, len(src), at)


def _checked_values(values):
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("data must be finite and not negative")
    return values


def _checked_law(law, n):
    if not isinstance(law, ColumnLaw):
        raise TypeError(f"law must be an ColumnLaw, got {type(law).__name__}")
    law = require.record("law", law, ColumnLaw)
    for name in ("q", "cumulative"):
        part = getattr(law, name)
        plain = require.array(name, part) if isinstance(part, np.ndarray) else None
        if plain is None or plain.dtype != np.float64:
            raise TypeError(f"law.{name} must be a float64 array: see importance_law")
        if plain.shape != (n,):
            raise ValueError(f"law must be over the graph's {n} nodes, got {plain.size}")
        law = law._replace(**{name: plain})
    if not all(0 <= total < np.inf for total in law.cumulative[-1:]):
        raise ValueError("law.cumulative must end in a finite sum that is not negative")
    return law
