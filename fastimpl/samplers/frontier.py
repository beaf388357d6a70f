"""refimpl/samplers/frontier.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import kernel_options, sample_nodes
from refimpl import _check


@twin
def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    options = kernel_options(graph, m=m, n=n, deg_cap=deg_cap, include=include)
    main, probe = _check.word("main", main), _check.word("probe", probe)
    return sample_nodes("frontier", graph, main, probe, options)
