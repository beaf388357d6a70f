"""refimpl/samplers/sampling.py on kernels."""

from fastimpl._lending import lent, once
from fastimpl._twin import twin
from fastimpl.graph.subgraph import as_subgraph, diagonal, induced_subgraph
from fastimpl.samplers import _sampling
from fastimpl.samplers._sampling import Workspace
from fastimpl.samplers.options import kernel_options
from fastimpl.streams import key
from refimpl.graph import Counters
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.sampling import PARTS, sample_with, sampling_arguments
from refimpl.streams import SAMPLE


@twin
def sample_many(graph, sampler, rng, first, count, *, domain=SAMPLE):
    arguments = sampling_arguments(graph, sampler, rng, first, count, domain)
    graph, sampler, seed, first, count, domain = arguments
    if sampler.function is not None:  # a user's own, in Python
        parts = {**PARTS, "induced_subgraph": induced_subgraph}
        return sample_with(parts, *arguments)
    if count == 0:
        return []
    _, options, tables = kernel_options(sampler.name, graph, sampler.options, sampler.clip)
    with lent(Workspace, graph, 1) as (workspace,):
        results = _sampling.sample_subgraphs(
            workspace,
            sampler.name,
            graph.indptr,
            graph.indices,
            once(diagonal, graph),
            options,
            tables,
            key(seed, domain),
            first,
            count,
        )
    return [as_subgraph(graph, arrays, Counters(**counts)) for arrays, counts in results]


def sample_nodes(name, graph, main, probe=0, **options):
    """Run one sampler alone; return its NodeSample."""
    keys, options, tables = kernel_options(name, graph, options, main=main, probe=probe)
    with lent(Workspace, graph, 1) as (workspace,):
        nodes, popped, pushed, counts = _sampling.sample_nodes(
            workspace, name, graph.indptr, graph.indices, options, tables, *keys
        )
    return NodeSample(nodes, popped, pushed, Counters(**counts))
