"""refimpl/samplers/multiple_walks.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import sample_nodes


@twin
def multiple_walks(graph, main, *, m, n):
    return sample_nodes("multiple_walks", graph, main, m=m, n=n)
