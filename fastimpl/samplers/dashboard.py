"""refimpl/samplers/dashboard.py on a kernel."""

from fastimpl.samplers._dashboard import KERNEL
from fastimpl.samplers.pin_tile import pin_tile_call
from fastimpl.samplers.sampling import sampler_twin


@sampler_twin(KERNEL)
def dashboard(
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
