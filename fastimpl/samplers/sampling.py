"""refimpl/samplers/sampling.py on kernels."""

from contextlib import contextmanager
from math import ceil
from weakref import WeakKeyDictionary

import numpy as np

from fastimpl._twin import twin
from fastimpl.graph import as_subgraph
from fastimpl.samplers import _sampling
from fastimpl.samplers._sampling import Workspace
from fastimpl.streams import key
from refimpl.graph import Counters
from refimpl.samplers.nodes import NodeSample, frontier_options
from refimpl.samplers.pin_tile import dashboard_options
from refimpl.samplers.sampling import sampling_arguments
from refimpl.streams import SAMPLE

_idle: WeakKeyDictionary = WeakKeyDictionary()  # Graph -> workspaces that nobody is using


@twin
def sample_many(graph, sampler, rng, first, count, *, domain=SAMPLE):
    seed, first, count = sampling_arguments(sampler, rng, first, count, domain)
    options = kernel_options(graph, **sampler.options)
    keys = np.array(
        [[key(seed, domain, q, s) for s in (0, 1)] for q in range(first, first + count)],
        np.uint64,
    ).reshape(count, 2)
    with _workspace(graph) as workspace:
        results = _sampling.sample_subgraphs(
            workspace, sampler.name, graph.indptr, graph.indices, options, keys
        )
    return [as_subgraph(arrays, Counters(**counts)) for arrays, counts in results]


def sample_nodes(name, graph, main, probe, options):
    """Run one sampler alone; return its NodeSample."""
    with _workspace(graph) as workspace:
        nodes, popped, pushed, counts = _sampling.sample_nodes(
            workspace, name, graph.indptr, graph.indices, options, main, probe
        )
    return NodeSample(nodes, popped, pushed, Counters(**counts))


def kernel_options(graph, *, m, n, deg_cap, include, **dashboard):
    """Check a sampler's options; return them as the kernels take them."""
    m, n, deg_cap = frontier_options(graph, m, n, deg_cap, include)
    options = {
        "m": m,
        "n": n,
        "deg_cap": 2**62 if deg_cap is None else deg_cap,
        "include_popped": include == "popped",
        "capacity": 0,
        "lanes": 1,
        "probe_used": False,
        "grow": False,
    }
    if dashboard:
        eta, options["lanes"] = dashboard_options(**dashboard)
        options["capacity"] = ceil(eta * m * (graph.weight_sum(deg_cap) / graph.n))
        options["probe_used"] = dashboard["probe_range"] == "used"
        options["grow"] = dashboard["overflow"] == "grow"
    return options


@contextmanager
def _workspace(graph):
    """Lend a workspace that no other Python thread is using."""
    idle = _idle.setdefault(graph, [])
    try:
        workspace = idle.pop()
    except IndexError:
        workspace = Workspace(graph.n)
    try:
        yield workspace
    finally:
        idle.append(workspace)
