"""refimpl/samplers/pin_tile.py on a kernel."""

from fastimpl._twin import twin
from fastimpl.samplers.sampling import sample_nodes


@twin
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
    return sample_nodes(
        "pin_tile",
        graph,
        main,
        probe,
        m=m,
        n=n,
        eta=eta,
        deg_cap=deg_cap,
        include=include,
        lanes=lanes,
        probing=probing,
        probe_range=probe_range,
        overflow=overflow,
    )
