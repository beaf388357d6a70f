"""refimpl/samplers/edge.py on a kernel."""

import numpy as np

from fastimpl._lending import once
from fastimpl.samplers._edge import KERNEL
from fastimpl.samplers.alias import alias_build
from fastimpl.samplers.sampling import NO_TABLES, Call, sampler_twin
from refimpl.samplers.edge import edge_arguments, edge_weights


@sampler_twin(KERNEL)
def edge(graph, main, *, b, method="direct"):
    graph, main, b, method = edge_arguments(graph, main, b, method)
    tables, outcomes = once(_nodes_with_edges if method == "direct" else _alias_table, graph)
    fields = {"b": b, "by_alias": method == "alias", "outcomes": outcomes}
    return Call(graph, (main, 0), fields, tables)


def _nodes_with_edges(graph):
    """Return the tables of "direct", and how many nodes have edges; where all have, no table."""
    found = graph.end > graph.start
    count = np.count_nonzero(found)
    if count == graph.n:
        return NO_TABLES, count
    return (np.flatnonzero(found).astype(np.int32), *NO_TABLES[1:]), count


def _alias_table(graph):
    u, v, weights = edge_weights(graph)
    if not len(weights):
        return NO_TABLES, 0
    ends = (np.ascontiguousarray(end, dtype=np.int32) for end in (u, v))
    return (*ends, *alias_build(weights)), len(weights)
