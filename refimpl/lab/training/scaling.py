"""Sizes of a sampler in proportion to a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl._support import require
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import Int
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.sampling import Sampler, parameters_of, sampler_kernel

MOST_NODES, WALK_LENGTH = 8000, 2  # where nobody says otherwise


def scaled_sampler(
    graph: Graph,
    name: str | Callable[..., NodeSample] = "pin_tile",
    *,
    parts: Int = 1,
    **options: Any,
) -> Sampler:
    """Return the Sampler `name`, its sizes in proportion to a small training graph.

    The budget n is a fifth of the nodes, at most 8000, where `options` has no other. From it
    follow the sizes that the sampler needs and `options` leaves out: m = n / 8, b = n / 2, h = 2,
    r = n / (h + 1). The papers' m = 1000 and n = 8000 (JPDC'21 section 7.6) are for graphs of 10^5
    nodes and more.

    Parameters
    ----------
    graph : Graph
    name : str or callable
        The kernel, as for `Sampler`.
    parts : int
        Sizes are in proportion to one of so many parts of the graph, all of one size.
    **options
        As for `Sampler`; None stands for the default.

    Returns
    -------
    Sampler

    Raises
    ------
    TypeError, ValueError
        As `Sampler` does.
    """
    function = sampler_kernel(name, "name")[1]
    undirected(graph)
    given = {key: value for key, value in options.items() if value is not None}
    nodes = graph.n // require.integer("parts", parts, 1)
    n = require.integer("n", given.get("n", min(max(nodes // 5, 1), MOST_NODES)), 1)
    h = require.integer("h", given.get("h", WALK_LENGTH), 0)
    m, b, r = (max(size, 1) for size in (min(n // 8, nodes), n // 2, min(n // (h + 1), nodes)))
    sizes = {"n": n, "m": m, "b": b, "r": r, "h": h}
    known = parameters_of(name, function, "name")
    if "n" not in known:  # the budget has set the other sizes
        given.pop("n", None)
    return Sampler(name, **{key: sizes[key] for key in sizes if key in known} | given)
