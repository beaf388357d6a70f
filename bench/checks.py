"""Answers of samplers against SciPy's slices and the reference."""

import numpy as np
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import refimpl
from bench.answers import same
from refimpl.streams import SAMPLE

SLOW = 20_000  # nodes above which the reference would take minutes


def check_subgraph(graph, sampler, subgraph, seed=0, q=0):
    """Check subgraph q: what SciPy cuts out, and on small graphs the reference's nodes."""
    check_induced(graph, subgraph)
    if graph.n < SLOW:
        sample = getattr(refimpl, sampler.name)(
            graph, *keys(seed, q, sampler.streams), **sampler.options
        )
        assert_array_equal(subgraph.nodes, sample.nodes)
        assert subgraph.counters == sample.counters


def keys(seed, q, streams=2):
    """Return the keys of a sampler's streams for subgraph q."""
    return [refimpl.streams.key(seed, SAMPLE, q, which) for which in range(streams)]


def check_induced(graph, subgraph):
    """Compare a subgraph with what SciPy cuts out of the graph."""
    numbered = graph.to_scipy(np.arange(1, graph.e + 1))[subgraph.nodes]
    expected = csr_array(numbered[:, subgraph.nodes])
    expected.sort_indices()
    same("graph.indptr", subgraph.graph.indptr, expected.indptr.astype(np.int64))
    same("graph.indices", subgraph.graph.indices, expected.indices.astype(np.int32))
    same("edge_ids", subgraph.edge_ids, expected.data - 1)
    order = np.argsort(expected.indices, kind="stable").astype(np.int32)
    same("transpose_perm", subgraph.transpose_perm, order)
