"""Normalisation by how often a sampler picks each node and edge, estimated before training."""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.adjacency import Adjacency
from refimpl.graph import Subgraph
from refimpl.graph.csr import Graph, checked, undirected
from refimpl.hints import Float, FloatDtype, Floats, Int, Integers, Positions, Rng, bound
from refimpl.samplers.sampling import Sampler
from refimpl.streams import SAINT, as_seed

MOST_COVERAGE = 1e6  # the error of an estimate is then a thousandth
LARGEST = 1e4  # most that an edge's value is raised


class SamplingCounts(NamedTuple):
    """In how many of a sampler's subgraphs each node and each edge was.

    What `estimate_counts` returns, for `aggregator` and `loss_weights`.

    Attributes
    ----------
    nodes : (n,) int64
    edges : (e,) int64
        By position in the graph's ``indices``.
    subgraphs : int
        How many were drawn.
    """

    nodes: Positions
    edges: Positions
    subgraphs: int


def counting_arguments(gnn, graph, sampler, rng, coverage, pool):
    """Check the arguments of `estimate_counts`; return them, a seed instead of `rng`."""
    graph = undirected(graph)
    coverage = require.real("coverage", coverage, 0, strict=True, high=MOST_COVERAGE)
    pool = require.integer("pool", pool, 1, 2**31 - 1)
    return gnn, graph, sampler, as_seed(rng), coverage, pool


@bound
@checked_by(counting_arguments)
def estimate_counts(
    gnn, graph: Graph, sampler: Sampler, rng: Rng, *, coverage: Float = 50, pool: Int = 4
) -> SamplingCounts:
    """Draw subgraphs until they hold ``coverage * n`` nodes in all; count nodes and edges.

    The pre-processing of JPDC'21 section 4.4, after GraphSAINT (Zeng et al. 2020). The subgraphs
    are number 0, 1, .. of the domain SAINT, so they are none of those that training uses.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    graph : Graph
        The training graph, with n nodes.
    sampler : Sampler
    rng : int, numpy.random.Generator or None
        See `as_seed`.
    coverage : float above 0, at most 10^6
        How often a node is met on average; the error of a node's estimate falls as its root.
    pool : int
        Subgraphs sampled at a time, in parallel; it never changes the result.

    Returns
    -------
    SamplingCounts

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, an option of the sampler does not
        fit the graph, or a subgraph has no nodes.
    """
    wanted, seed = coverage * graph.n, as_seed(rng)
    nodes, edges = np.zeros(graph.n, np.int64), np.zeros(graph.e, np.int64)
    waiting: deque[Subgraph] = deque()
    seen = subgraphs = 0
    while subgraphs == 0 or seen < wanted:
        if not waiting:
            count = min(pool, max(1, ceil(wanted - seen)))  # each has a node at least
            waiting.extend(gnn.sample_many(graph, sampler, seed, subgraphs, count, domain=SAINT))
        sub = waiting.popleft()
        if not sub.nodes.size:
            raise ValueError(f"sampler must draw at least one node, but {sampler} drew none")
        nodes[sub.nodes] += 1
        edges[sub.edge_ids] += 1
        seen += sub.nodes.size
        subgraphs += 1
    return SamplingCounts(nodes, edges, subgraphs)


def _counts(counts, floor, dtype):
    if not isinstance(counts, SamplingCounts):
        raise TypeError(f"counts must be SamplingCounts, got {type(counts).__name__}")
    counts = require.record("counts", counts, SamplingCounts)
    for name in ("nodes", "edges"):
        part = getattr(counts, name)  # of a whole graph: its values are not looked at
        plain = require.array(name, part) if isinstance(part, np.ndarray) else None
        if plain is None or plain.ndim != 1 or plain.dtype.kind not in "iu":
            raise TypeError(f"counts.{name} must be a 1-D array of integers: see estimate_counts")
        counts = counts._replace(**{name: plain})
    subgraphs = require.integer("counts.subgraphs", counts.subgraphs, 0, 2**63 - 1)
    floor = require.real("floor", floor, 0, strict=True)
    return counts._replace(subgraphs=subgraphs), floor, require.float_dtype("dtype", dtype)


def _checked_subgraph(counts, graph, sub):
    """Return `sub` with copies of its arrays, if all three are of one graph, or raise."""
    undirected(graph)
    if (counts.nodes.size, counts.edges.size) != (graph.n, graph.e):
        raise ValueError(
            f"counts must be of this graph ({graph.n} nodes and {graph.e} edges), "
            f"got {counts.nodes.size} and {counts.edges.size}"
        )
    if not isinstance(sub, Subgraph):
        raise TypeError(f"sub must be a Subgraph, got {type(sub).__name__}")
    nodes = require.ids("sub.nodes", sub.nodes, 0, graph.n, np.int32)
    edge_ids = require.ids("sub.edge_ids", sub.edge_ids, 0, graph.e, np.int64)
    inner = checked(sub.graph, "sub.graph")
    if (nodes.size, edge_ids.size) != (inner.n, inner.e):
        raise ValueError(
            f"sub.nodes and sub.edge_ids must be of sub.graph, {inner!r}, "
            f"got {nodes.size} and {edge_ids.size}"
        )
    perm = require.positions("sub.transpose_perm", sub.transpose_perm, inner.e)
    return Subgraph(nodes, inner, edge_ids, perm)


def weights_arguments(counts, nodes, floor, dtype):
    """Check the arguments of `loss_weights`; return them."""
    counts, floor, dtype = _counts(counts, floor, dtype)
    return counts, require.ids("nodes", nodes, 0, counts.nodes.size, np.int64), floor, dtype


def aggregator_arguments(counts, graph, sub, floor, dtype):
    """Check the arguments of `aggregator`; return them."""
    counts, floor, dtype = _counts(counts, floor, dtype)
    return counts, graph, _checked_subgraph(counts, graph, sub), floor, dtype


@checked_by(weights_arguments)
def loss_weights(
    counts: SamplingCounts, nodes: Integers, *, floor: Float = 1.0, dtype: FloatDtype = np.float64
) -> Floats:
    """Return the weights that make the loss on a subgraph unbiased: N / (n C_v) for node v.

    With N subgraphs drawn, of which C_v had node v, the weighted sum over a subgraph's nodes
    has the mean over all n nodes as its expectation. The weights take the place of 1 / s.
    JPDC'21 section 4.4, after GraphSAINT (Zeng et al. 2020).

    Parameters
    ----------
    counts : SamplingCounts
    nodes : (s,) integer array
        The subgraph's nodes.
    floor : float above 0
        What a smaller count is raised to; 0.1 gives a node never met the weight that the
        authors' public code gives it.
    dtype : float32 or float64

    Returns
    -------
    (s,) array of `dtype`

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """
    met = np.maximum(counts.nodes[np.asarray(nodes)], floor)
    return (counts.subgraphs / (counts.nodes.size * met)).astype(dtype)


@checked_by(aggregator_arguments)
def aggregator(
    counts: SamplingCounts,
    graph: Graph,
    sub: Subgraph,
    *,
    floor: Float = 1.0,
    dtype: FloatDtype = np.float64,
) -> Adjacency:
    """Return the adjacency that makes aggregation on a subgraph unbiased.

    Entry (v, u) is ``1 / (deg(v) alpha)`` with ``alpha = C_vu / C_v``, the share of the
    subgraphs with v that also had its edge to u. Given that v was sampled, its row then has
    the mean over its neighbours as its expectation: the degree is that in `graph`, because
    with the degree in the subgraph it would not (E-A4). O(s + e) time for s nodes and e edges
    of the subgraph.

    Parameters
    ----------
    counts : SamplingCounts
        Of `graph`.
    graph : Graph
        The training graph.
    sub : Subgraph
        Of `graph`.
    floor : float above 0
        What a smaller count is raised to. 1 / alpha is kept in [1, 10^4]; it cannot be below 1
        in counts of `estimate_counts`, as no edge is met more often than its ends.
    dtype : float32 or float64

    Returns
    -------
    Adjacency
        On the pattern of ``sub.graph``, with `data_t`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or they are not of one graph.
    """
    degrees = graph.indptr[sub.nodes + np.int64(1)] - graph.indptr[sub.nodes]
    inverse_alpha = inverse_shares(counts, sub, floor)
    data = (inverse_alpha / np.repeat(degrees, sub.graph.degrees())).astype(dtype)
    return Adjacency(sub.graph, data, data[sub.transpose_perm])


def inverse_shares(counts, sub, floor):
    """Return 1 / alpha = C_v / C_vu of every entry (v, u) of a subgraph, kept in [1, 10^4]."""
    C_v = np.repeat(np.maximum(counts.nodes[sub.nodes], floor), sub.graph.degrees())
    C_vu = np.maximum(counts.edges[sub.edge_ids], floor)
    return np.clip(C_v / C_vu, 1, LARGEST)
