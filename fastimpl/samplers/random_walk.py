"""refimpl/samplers/random_walk.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import sample_nodes


@twin
def random_walk(graph, main, *, r, h):
    return sample_nodes("random_walk", graph, main, r=r, h=h)
