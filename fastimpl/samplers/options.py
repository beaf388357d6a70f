"""The options of each sampler, checked as the reference checks them and put as kernels take them.

A function here returns (values, tables): the fields of the kernels' `Options` that its sampler
reads, and the arrays of their `Tables`.
"""

from collections.abc import Callable

import numpy as np

from fastimpl._lending import once
from fastimpl.samplers.alias import alias_build
from refimpl.graph.csr import undirected
from refimpl.samplers.bucket import class_count, heaviest_weight
from refimpl.samplers.edge import edge_options, edge_weights
from refimpl.samplers.forest_fire import fire_options
from refimpl.samplers.nodes import frontier_options, walk_budget
from refimpl.samplers.pin_tile import dashboard_options, planned_capacity
from refimpl.samplers.random_walk import walk_options

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


def frontier(graph, *, m, n, deg_cap, include):
    m, n, deg_cap = frontier_options(graph, m, n, deg_cap, include)
    values = {"m": m, "n": n, "include_popped": include == "popped"}
    if deg_cap is not None:
        values["deg_cap"] = deg_cap
    return values, NO_TABLES


def pin_tile(graph, *, m, n, deg_cap, include, eta, lanes, probing, probe_range, overflow):
    values, tables = frontier(graph, m=m, n=n, deg_cap=deg_cap, include=include)
    eta, lanes = dashboard_options(eta, lanes, probing, probe_range, overflow)
    values["lanes"] = lanes
    values["at_once"] = min(lanes, MOST_AT_ONCE) if probing == "lanes" else 1
    mean_weight = graph.weight_sum(values.get("deg_cap")) / graph.n
    values["capacity"] = planned_capacity(eta, values["m"], mean_weight)
    values["probe_used"] = probe_range == "used"
    values["grow"] = overflow == "grow"
    return values, tables


def bucket(graph, *, m, n, deg_cap, include):
    values, tables = frontier(graph, m=m, n=n, deg_cap=deg_cap, include=include)
    class_count(values["m"], heaviest_weight(graph, values.get("deg_cap")))
    return values, tables


def edge(graph, *, b, method):
    b = edge_options(graph, b, method)
    tables, outcomes = once(_nodes_with_edges if method == "direct" else _alias_table, graph)
    return {"b": b, "by_alias": method == "alias", "outcomes": outcomes}, tables


def random_walk(graph, *, r, h):
    r, h = walk_options(graph, r, h)
    return {"roots": r, "steps": h}, NO_TABLES


def multiple_walks(graph, *, m, n):
    undirected(graph)
    m, n = walk_budget(graph, m, n)
    steps, extra = divmod(n - m, m)
    return {"roots": m, "steps": steps, "extra": extra}, NO_TABLES


def forest_fire(graph, *, n, p_f):
    n, p_f = fire_options(graph, n, p_f)
    return {"n": n, "p_f": p_f}, NO_TABLES


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


def kernel_options(name, graph, options, clip=None):
    """Check a sampler's options; return the kernels' (options, tables)."""
    values, tables = OPTIONS[name](graph, **options)
    return {**NOTHING, **values, "clip": clip or 0}, tables


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
