"""What GCN and GraphSAGE aggregate with where edges have weights: in `Adjacency.data`.

With w(v, u) the weight of an edge and W(v) the sum of the weights of a node's edges, entry (v, u)
is w(v, u) / W(v) for "row", the weighted mean of GraphSAGE. For "sym" it is w(v, u) over the root
of (W(v) + 1)(W(u) + 1), and 1 / (W(v) + 1) on the diagonal: GCN's matrix of A with weights, where
a node's own weight is 1. Weights of 1 give `row_norm` and `sym_norm`. Sampled neighbours, k of
deg(v), count deg(v) / k times each, so a row has the full row as its expectation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from refimpl.adjacency import Adjacency, mean_one
from refimpl.block import Block, entries_of_rows
from refimpl.lab.training.full_neighborhoods import forward_only, with_loops

if TYPE_CHECKING:
    from types import ModuleType

    from refimpl.graph import Subgraph
    from refimpl.hints import FloatDtype, Floats, Ids, Positions
    from refimpl.lab.training.full_neighborhoods import CompleteRows

    Weighted: TypeAlias = Any  # a WeightedGraph; a checker takes it for any graph


def edge_values(
    kind: str,
    graph: Weighted,
    weights: Floats[np.float64],
    receiving: Ids | Positions,
    sending: Ids | Positions,
) -> Floats[np.float64]:
    """Return what a model multiplies by along edges that have these weights and ends.

    `receiving` and `sending` are nodes of the WeightedGraph. A node's own row is not among them.
    """
    sums: Floats[np.float64] = graph.weighted_degrees
    if kind == "row":
        return weights / sums[receiving]
    return weights / np.sqrt((sums[receiving] + 1) * (sums[sending] + 1))


def all_values(kind: str, graph: Weighted) -> Floats[np.float64]:
    """Return `edge_values` of all entries of a graph."""
    receiving = np.repeat(np.arange(graph.n), graph.degrees())
    return edge_values(kind, graph, graph.weights, receiving, graph.indices)


def whole_matrix(
    kind: str, gnn: ModuleType, graph: Weighted, transpose_perm: Ids | None, dtype: FloatDtype
) -> Adjacency:
    """Return the Adjacency of a whole graph."""
    values = all_values(kind, graph)
    if kind == "row":
        data = values.astype(dtype)
        return Adjacency(graph, data, None if transpose_perm is None else data[transpose_perm])
    looped = gnn.adjacency.add_self_loops(graph)
    own = np.repeat(np.arange(graph.n), looped.degrees()) == looped.indices
    data = np.empty(looped.e, dtype)
    data[own], data[~own] = 1 / (graph.weighted_degrees + 1), values
    return Adjacency(looped, data, data)


def block_matrix(
    kind: str, gnn: ModuleType, block: Block, sources: Ids, graph: Weighted, dtype: FloatDtype
) -> Adjacency:
    """Return the Adjacency of a Block of sampled neighbours, whose nodes are `sources`."""
    if block.edge_ids is None:
        raise ValueError("block must have edge_ids: they say which weights its entries have")
    counts = block.end - block.start
    live = entries_of_rows(block.start, block.end)
    dst, src, nodes = np.repeat(np.arange(block.n_dst), counts), block.indices[live], sources
    scale = graph.degrees(nodes[: block.n_dst]) / np.maximum(counts, 1)
    weights = graph.weights[block.edge_ids[live]]
    data = scale[dst] * edge_values(kind, graph, weights, nodes[dst], nodes[src])
    if block.weights is not None:
        data *= mean_one(block.weights[live], dst, counts)
    first = np.cumsum(counts) - counts
    if kind == "sym":  # the node itself first, as in `block_norm`
        rows = np.arange(block.n_dst, dtype=np.int32)
        own = 1 / (graph.weighted_degrees[nodes[: block.n_dst]] + 1)
        data, src = np.insert(data, first, own), np.insert(src, first, rows)
        first, counts = first + rows, counts + 1
    pattern = Block._trusted(first, first + counts, src, block.n_src)
    transposed, perm = gnn.block.transpose_block(pattern)
    data = data.astype(dtype)
    return Adjacency(pattern, data, data[perm], transposed, perm)


def complete_matrix(kind: str, rows: CompleteRows, dtype: FloatDtype) -> Adjacency:
    """Return `whole_matrix`, but some rows alone: CompleteRows. It has no transpose."""
    graph, nodes, block = rows.graph, rows.nodes, rows.block
    dst = np.repeat(np.arange(block.n_dst), block.degrees())
    weights = graph.weights[block.edge_ids]
    values = edge_values(kind, graph, weights, nodes[dst], nodes[block.indices])
    if kind == "row":
        return forward_only(block, values.astype(dtype))
    looped = with_loops(rows)
    own = np.repeat(np.arange(looped.n_dst), looped.degrees()) == looped.indices
    data = np.empty(len(own), dtype)
    data[own], data[~own] = 1 / (graph.weighted_degrees[nodes[: block.n_dst]] + 1), values
    return forward_only(looped, data)


def saint_factors(graph: Weighted, sub: Subgraph) -> Floats[np.float64]:
    """Return w(v, u) deg(v) / W(v) of a subgraph's entries: for `aggregator`, a plain mean."""
    receiving = np.repeat(sub.nodes, sub.graph.degrees())
    weights = graph.weights[sub.edge_ids]
    factors: Floats[np.float64]
    factors = weights * graph.degrees(receiving) / graph.weighted_degrees[receiving]
    return factors
