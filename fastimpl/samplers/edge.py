"""refimpl/samplers/edge.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import sample_nodes


@twin
def edge(graph, main, *, b, method="direct"):
    return sample_nodes("edge", graph, main, b=b, method=method)
