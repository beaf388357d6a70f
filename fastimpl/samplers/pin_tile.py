"""refimpl/samplers/pin_tile.py on a kernel."""

from fastimpl.samplers._pin_tile import KERNEL
from fastimpl.samplers.frontier import frontier_call
from fastimpl.samplers.sampling import sampler_twin
from refimpl.samplers.pin_tile import pin_tile_arguments, planned_capacity

MOST_AT_ONCE = 16  # two vectors of places: GNN_MOST_LANES of samplers/_probes.h


@sampler_twin(KERNEL)
def pin_tile(
    graph,
    main,
    probe,
    *,
    m,
    n,
    eta=2.0,
    deg_cap=None,
    include="pushed",
    lanes=8,
    probing="one",
    probe_range="capacity",
    overflow="truncate",
):
    return pin_tile_call(
        graph, main, probe, m, n, eta, deg_cap, include, lanes, probing, probe_range, overflow
    )


def pin_tile_call(*arguments):
    """Return the `Call` of a sampler with a Dashboard."""
    found = pin_tile_arguments(*arguments)
    graph, main, probe, m, n, eta, deg_cap, include, lanes, probing, probe_range, overflow = found
    call = frontier_call(graph, main, probe, m, n, deg_cap, include)
    call.fields["lanes"] = lanes
    if probing == "lanes":  # a single lane does without vectors
        call.fields["at_once"] = min(lanes, MOST_AT_ONCE) if lanes > 1 else 0
    call.fields["capacity"] = planned_capacity(eta, m, graph.weight_sum(deg_cap) / graph.n)
    call.fields["probe_used"] = probe_range == "used"
    call.fields["grow"] = overflow == "grow"
    return call
