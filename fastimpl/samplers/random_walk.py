"""refimpl/samplers/random_walk.py on a kernel."""

from fastimpl.samplers._random_walk import KERNEL
from fastimpl.samplers.sampling import Call, sampler_twin
from refimpl.samplers.random_walk import walk_arguments


@sampler_twin(KERNEL)
def random_walk(graph, main, *, r, h):
    graph, main, r, h = walk_arguments(graph, main, r, h)
    return Call(graph, (main, 0), {"roots": r, "steps": h})
