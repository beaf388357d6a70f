"""refimpl/samplers/multiple_walks.py on a kernel."""

from fastimpl.samplers._random_walk import KERNEL
from fastimpl.samplers.sampling import Call, sampler_twin
from refimpl.samplers.multiple_walks import walks_arguments


@sampler_twin(KERNEL)
def multiple_walks(graph, main, *, m, n):
    graph, main, m, n = walks_arguments(graph, main, m, n)
    steps, extra = divmod(n - m, m)
    return Call(graph, (main, 0), {"roots": m, "steps": steps, "extra": extra})
