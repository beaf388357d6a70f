"""The options of each sampler, checked as the reference checks them and put as kernels take them.

A function here has the parameters of its sampler. It returns (keys, values, tables): the keys of
the streams, the fields of the kernels' `Options` that its sampler reads, and the arrays of their
`Tables`.
"""

from collections.abc import Callable

import numpy as np

from fastimpl._lending import once
from fastimpl.samplers.alias import alias_build
from refimpl.samplers.bucket import bucket_arguments
from refimpl.samplers.edge import edge_arguments, edge_weights
from refimpl.samplers.forest_fire import fire_arguments
from refimpl.samplers.frontier import frontier_arguments
from refimpl.samplers.multiple_walks import walks_arguments
from refimpl.samplers.pin_tile import pin_tile_arguments, planned_capacity
from refimpl.samplers.random_walk import walk_arguments

MOST_AT_ONCE = 16  # two vectors of places: GNN_MOST_LANES of samplers/_probes.h

NOTHING = {
    "m": 0,
    "n": 0,
    "deg_cap": 2**62,
    "capacity": 0,
    "lanes": 1,
    "at_once": 1,
    "include_popped": False,
    "probe_used": False,
    "grow": False,
    "b": 0,
    "by_alias": False,
    "outcomes": 0,
    "roots": 0,
    "steps": 0,
    "extra": 0,
    "p_f": 0.0,
    "clip": 0,
}
NO_TABLES = (
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0, np.float64),
    np.empty(0, np.int64),
)


def frontier(graph, main, probe, **options):
    return _frontier(*frontier_arguments(graph, main, probe, **options))


def bucket(graph, main, probe, **options):
    return _frontier(*bucket_arguments(graph, main, probe, **options))


def _frontier(graph, main, probe, m, n, deg_cap, include):
    values = {"m": m, "n": n, "include_popped": include == "popped"}
    if deg_cap is not None:
        values["deg_cap"] = deg_cap
    return (main, probe), values, NO_TABLES


def pin_tile(graph, main, probe, **options):
    found = pin_tile_arguments(graph, main, probe, **options)
    graph, main, probe, m, n, eta, deg_cap, include, lanes, probing, probe_range, overflow = found
    keys, values, tables = _frontier(graph, main, probe, m, n, deg_cap, include)
    values["lanes"] = lanes
    if probing == "lanes":  # a single lane does without vectors
        values["at_once"] = min(lanes, MOST_AT_ONCE) if lanes > 1 else 0
    values["capacity"] = planned_capacity(eta, m, graph.weight_sum(deg_cap) / graph.n)
    values["probe_used"] = probe_range == "used"
    values["grow"] = overflow == "grow"
    return keys, values, tables


def edge(graph, main, probe, **options):
    graph, main, b, method = edge_arguments(graph, main, **options)
    tables, outcomes = once(_nodes_with_edges if method == "direct" else _alias_table, graph)
    return (main, 0), {"b": b, "by_alias": method == "alias", "outcomes": outcomes}, tables


def random_walk(graph, main, probe, **options):
    graph, main, r, h = walk_arguments(graph, main, **options)
    return (main, 0), {"roots": r, "steps": h}, NO_TABLES


def multiple_walks(graph, main, probe, **options):
    graph, main, m, n = walks_arguments(graph, main, **options)
    steps, extra = divmod(n - m, m)
    return (main, 0), {"roots": m, "steps": steps, "extra": extra}, NO_TABLES


def forest_fire(graph, main, probe, **options):
    graph, main, n, p_f = fire_arguments(graph, main, **options)
    return (main, 0), {"n": min(n, graph.n), "p_f": p_f}, NO_TABLES


OPTIONS: dict[str, Callable] = {
    "frontier": frontier,
    "dashboard": pin_tile,
    "pin_tile": pin_tile,
    "bucket": bucket,
    "edge": edge,
    "random_walk": random_walk,
    "multiple_walks": multiple_walks,
    "forest_fire": forest_fire,
}


def kernel_options(name, graph, options, clip=None, main=0, probe=0):
    """Check a sampler's arguments; return (keys, options, tables), the last two the kernels'."""
    keys, values, tables = OPTIONS[name](graph, main, probe, **options)
    return keys, {**NOTHING, **values, "clip": clip or 0}, tables


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
