"""refimpl/samplers/sampling.py on kernels, and what turns a sampler's kernel into its function."""

from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fastimpl._lending import lent, once
from fastimpl._twin import twin
from fastimpl.graph.subgraph import as_subgraph, diagonal, induced_subgraph
from fastimpl.samplers import _sampling
from fastimpl.samplers._sampling import Workspace
from fastimpl.streams import key
from refimpl.graph import Counters, Graph
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.sampling import KERNELS, PARTS, sample_with, sampling_arguments
from refimpl.streams import SAMPLE

NOTHING = {  # the fields of the kernels' `Options` that a sampler does not read
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


class Call(NamedTuple):
    """The arguments of a sampler, checked, as its kernel takes them."""

    graph: Graph
    keys: tuple[int, ...]  # of the streams
    fields: dict[str, Any]  # of the kernels' `Options`: those that the sampler reads
    tables: tuple = NO_TABLES


def sampler_twin(kernel):
    """Tie a function to the reference's sampler, as `twin` does, and draw with `kernel`.

    The function has the arguments of the sampler, checks them and returns a `Call`.
    """

    def tied(call):
        @wraps(call)
        def draw(*arguments, **options):
            return sample_nodes(kernel, call(*arguments, **options))

        draw.call, draw.kernel = call, kernel
        return twin(draw)

    return tied


@twin
def sample_many(graph, sampler, rng, first, count, *, domain=SAMPLE):
    arguments = sampling_arguments(graph, sampler, rng, first, count, domain)
    graph, sampler, seed, first, count, domain = arguments
    if sampler.function is not None:  # a user's own, in Python
        parts = {**PARTS, "induced_subgraph": induced_subgraph}
        return sample_with(parts, *arguments)
    if count == 0:
        return []
    fast = fast_sampler(sampler.name)
    call = fast.call(graph, *[0] * sampler.streams, **sampler.options)
    with lent(Workspace, graph, 1) as (workspace,):
        results = _sampling.sample_subgraphs(
            workspace,
            fast.kernel,
            graph.indptr,
            graph.indices,
            once(diagonal, graph),
            {**NOTHING, **call.fields, "clip": sampler.clip or 0},
            call.tables,
            key(seed, domain),
            first,
            count,
        )
    return [as_subgraph(graph, arrays, Counters(**counts)) for arrays, counts in results]


def fast_sampler(name):
    """Return the twin of the reference's sampler `name`."""
    reference = KERNELS[name]
    module = import_module(reference.__module__.replace("refimpl", "fastimpl", 1))
    return getattr(module, reference.__name__)


def sample_nodes(kernel, call):
    """Run one sampler alone; return its NodeSample."""
    graph, keys, fields, tables = call
    with lent(Workspace, graph, 1) as (workspace,):
        nodes, popped, pushed, counts = _sampling.sample_nodes(
            workspace, kernel, graph.indptr, graph.indices, {**NOTHING, **fields}, tables, *keys
        )
    return NodeSample(nodes, popped, pushed, Counters(**counts))
