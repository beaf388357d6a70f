"""refimpl/samplers/forest_fire.py on a kernel."""

from fastimpl.samplers._forest_fire import KERNEL
from fastimpl.samplers.sampling import Call, sampler_twin
from refimpl.samplers.forest_fire import fire_arguments


@sampler_twin(KERNEL)
def forest_fire(graph, main, *, n, p_f=0.7):
    graph, main, n, p_f = fire_arguments(graph, main, n, p_f)
    return Call(graph, (main, 0), {"n": min(n, graph.n), "p_f": p_f})
