"""refimpl/samplers/forest_fire.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import sample_nodes


@twin
def forest_fire(graph, main, *, n, p_f=0.7):
    return sample_nodes("forest_fire", graph, main, n=n, p_f=p_f)
