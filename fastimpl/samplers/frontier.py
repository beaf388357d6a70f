"""refimpl/samplers/frontier.py on a kernel."""

from fastimpl.samplers._frontier import KERNEL
from fastimpl.samplers.sampling import Call, sampler_twin
from refimpl.samplers.frontier import frontier_arguments


@sampler_twin(KERNEL)
def frontier(graph, main, probe, *, m, n, deg_cap=None, include="pushed"):
    return frontier_call(*frontier_arguments(graph, main, probe, m, n, deg_cap, include))


def frontier_call(graph, main, probe, m, n, deg_cap, include):
    """Return the `Call` of a frontier sampler."""
    fields = {"m": m, "n": n, "include_popped": include == "popped"}
    if deg_cap is not None:
        fields["deg_cap"] = deg_cap
    return Call(graph, (main, probe), fields)
