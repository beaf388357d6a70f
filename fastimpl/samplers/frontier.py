"""refimpl/samplers/frontier.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import sample_nodes


@twin
def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    return sample_nodes("frontier", graph, main, probe, m=m, n=n, deg_cap=deg_cap, include=include)
