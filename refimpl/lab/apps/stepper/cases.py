"""Steppers of one call of a kernel, with any arguments: those of a conformance case, say."""

import math

import numpy as np

import refimpl
from refimpl.graph import Graph
from refimpl.lab.apps.stepper.recipe import graph_picture
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.backend import find

KERNELS = {  # kernel -> the recipe with the pictures that show it
    "frontier": "frontier",
    "dashboard": "dashboard",
    "pin_tile": "pin_tile",
    "transpose_perm": "transpose",
}
MOST_NODES = 40  # of a graph that is drawn
MOST_ENTRIES = 1000  # of a graph: a picture of more could not be read


def recipe_for(kernel, /, **arguments):
    """Return the stepper of one call of a kernel.

    Parameters
    ----------
    kernel : str
        One of `KERNELS`, which are named as in the conformance checks.
    **arguments
        What the kernel takes, by name.

    Returns
    -------
    Recipe
        Its ``record`` raises what the kernel raises; the seed is not used. A graph of more than
        `MOST_NODES` nodes is not drawn.

    Raises
    ------
    ValueError
        If there is no stepper of this kernel, or the graph has more than `MOST_ENTRIES` entries.
    """
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")
    graph = arguments.get("graph")
    if isinstance(graph, Graph) and graph.e > MOST_ENTRIES:
        raise ValueError(f"graph must have at most {MOST_ENTRIES} entries, got {graph.e}")
    like = recipes()[KERNELS[kernel]]
    function = find(refimpl, kernel)
    return like._replace(
        title=f"{like.title}: one call",
        functions={p: id for p, id in like.functions.items() if id is not None},
        call=lambda seed: function(**arguments),
        view=like.view if isinstance(graph, Graph) else lambda stack: {},  # it will be refused
        panels=tuple(pictured(like.panels, graph)),
        about=f"One call of {kernel}.",
    )


def pictured(panels, graph):
    """Yield the panels, of which that called "graph" shows this one; without it if it is large."""
    for panel in panels:
        if panel.id != "graph":
            yield panel
        elif isinstance(graph, Graph) and graph.n <= MOST_NODES:
            roles = {role: tuple(pair) for role, pair in panel.fixed["roles"].items()}
            yield panel._replace(fixed=graph_picture(around(graph.n), edges_of(graph), roles))


def around(n):
    """Return places for n nodes, on an ellipse from its top on."""
    angles = (2 * math.pi * v / max(n, 1) for v in range(n))
    return {v: (2 * math.sin(angle), -math.cos(angle)) for v, angle in enumerate(angles)}


def edges_of(graph):
    """Return the edges of an undirected graph, each once."""
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    pairs = zip(rows.tolist(), graph.indices.tolist(), strict=True)
    return [(u, v) for u, v in pairs if u <= v]
