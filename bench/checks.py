"""Answers of samplers against SciPy's slices and the reference."""

from numpy.testing import assert_array_equal

import refimpl
from refimpl.lab.apps.bench.cases.samplers import check_subgraph as check_induced
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
