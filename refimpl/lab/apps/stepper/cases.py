"""Steppers of one call of a kernel, with any arguments: those of a conformance case, say."""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import refimpl
from refimpl.block import MFG
from refimpl.graph import Graph
from refimpl.history import Entries
from refimpl.history.pruning import checked_mfg
from refimpl.lab.apps.stepper.cache_pictures import (
    LOOKUP,
    MAP,
    SLOTS,
    lookup_rows,
    map_rows,
    slot_rows,
    table_of,
)
from refimpl.lab.apps.stepper.recipe import (
    Panel,
    Recipe,
    array_state,
    cell,
    graph_picture,
    table_state,
)
from refimpl.lab.apps.stepper.recipes import recipes
from refimpl.lab.apps.stepper.recipes.pruning import BOUNDS, ENTRIES, WORK, flow_panel, view_pruning
from refimpl.lab.backend import find

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.recorder import Stack, View

ON_GRAPHS = {  # kernel -> the recipe with the pictures that show it
    "frontier": "frontier",
    "dashboard": "dashboard",
    "pin_tile": "pin_tile",
    "transpose_perm": "transpose",
}
OF_CACHES = ("prune_mfg", "cache_lookup", "cache_admit", "select_stable")
KERNELS = (*ON_GRAPHS, *OF_CACHES)
MOST_NODES = 40  # of a graph that is drawn
MOST_ENTRIES = 1000  # of a graph, and of slots and nodes: a picture of more could not be read

Call: TypeAlias = Callable[[object], Any]


def recipe_for(kernel: str, /, **arguments: Any) -> Recipe:
    """Return the stepper of one call of a kernel.

    Parameters
    ----------
    kernel : str
        One of `KERNELS`, which are named as in the conformance checks.
    **arguments
        What the kernel takes, by name; they are copied for each call.

    Returns
    -------
    Recipe
        Its ``record`` raises what the kernel raises; the seed is not used. A graph of more than
        `MOST_NODES` nodes is not drawn.

    Raises
    ------
    ValueError
        If there is no stepper of this kernel, or something has more than `MOST_ENTRIES` entries.
    """
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")
    for name, value in arguments.items():
        if (size := entries_of(value)) > MOST_ENTRIES:
            raise ValueError(f"{name} must have at most {MOST_ENTRIES} entries, got {size}")
    function = find(refimpl, kernel)
    make = of_graph if kernel in ON_GRAPHS else MAKERS[kernel]

    def call(seed: object) -> Any:
        return function(**copy.deepcopy(arguments))

    return make(kernel, arguments, call)._replace(about=f"One call of {kernel}.", seed=None)


def entries_of(value: object) -> int:
    """Return how many entries an argument has that are drawn."""
    if isinstance(value, Graph):
        return value.e
    if isinstance(value, MFG):
        return sum(block.e for block in value.blocks) + sum(map(len, value.nodes))
    if isinstance(value, Entries):
        return value.slot_of.size + len(value.back)
    return value.size if isinstance(value, np.ndarray) else 0


def of_graph(kernel: str, arguments: dict[str, Any], call: Call) -> Recipe:
    """Return the stepper of a kernel on a graph."""
    like, graph = recipes()[ON_GRAPHS[kernel]], arguments.get("graph")
    followed: dict[str, str | None] = {
        place: id for place, id in like.functions.items() if id is not None
    }
    return like._replace(
        title=f"{like.title}: one call",
        call=call,
        functions=followed,
        view=like.view if isinstance(graph, Graph) else lambda stack: {},  # it will be refused
        panels=tuple(pictured(like.panels, graph)),
    )


def pictured(panels: Iterable[Panel], graph: object) -> Iterator[Panel]:
    """Yield the panels, of which that called "graph" shows this one; without it if it is large."""
    for panel in panels:
        if panel.id != "graph":
            yield panel
        elif isinstance(graph, Graph) and graph.n <= MOST_NODES:
            roles = {role: tuple(pair) for role, pair in panel.fixed["roles"].items()}
            yield panel._replace(fixed=graph_picture(around(graph.n), edges_of(graph), roles))


def around(n: int) -> dict[int, tuple[float, float]]:
    """Return places for n nodes, on an ellipse from its top on."""
    angles = (2 * math.pi * v / max(n, 1) for v in range(n))
    return {v: (2 * math.sin(angle), -math.cos(angle)) for v, angle in enumerate(angles)}


def edges_of(graph: Graph) -> list[tuple[int, int]]:
    """Return the edges of an undirected graph, each once."""
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    pairs = zip(rows.tolist(), graph.indices.tolist(), strict=True)
    return [(u, v) for u, v in pairs if u <= v]


def of_pruning(kernel: str, arguments: dict[str, Any], call: Call) -> Recipe:
    """Return the stepper of `prune_mfg`."""
    flow: tuple[Panel, ...] = ()
    with contextlib.suppress(TypeError, ValueError):  # it will be refused
        flow = (flow_panel(checked_mfg(arguments.get("mfg"))),)
    return Recipe(
        name="prune_mfg",
        title="Pruning of a message-flow graph",
        algorithms=("vldb24:1",),
        functions={
            "refimpl.history.pruning:prune_mfg": None,
            "refimpl.history.pruning:Csr2": None,
            "refimpl.history.layouts:Csr.empty": None,
        },
        call=call,
        view=lambda stack: view_pruning(stack) if checked(stack, "live") else {},
        panels=(*flow, WORK, BOUNDS, ENTRIES),
        about="",
    )


def checked(stack: Stack, name: str) -> bool:
    """Return whether the kernel has set a variable behind its checks."""
    return bool(stack) and name in stack[0].variables


def of_lookup(kernel: str, arguments: dict[str, Any], call: Call) -> Recipe:
    """Return the stepper of `cache_lookup`."""
    most = len(arguments.get("ids", ()))

    def view(stack: Stack) -> dict[str, Any]:
        if not checked(stack, "slots"):
            return {}
        run = stack.within(kernel)
        rows = lookup_rows(run)
        return {**entries_states(run, run["oldest"]), "lookup": table_of(rows, 5, most)}

    return cache_recipe(kernel, call, (MAP, SLOTS, LOOKUP), view)


def of_admission(kernel: str, arguments: dict[str, Any], call: Call) -> Recipe:
    """Return the stepper of `cache_admit`."""
    rows = Panel("array", "rows", "The rows of the slots", "Those of a slot together.", wide=True)

    def view(stack: Stack) -> dict[str, Any]:
        if not checked(stack, "n"):
            return {}
        run = stack.within(kernel)
        values = [cell(f"{x:.4g}", s) for s, row in enumerate(run["entries"].rows) for x in row]
        oldest = np.iinfo(np.int32).min  # no entry is too old here
        return {**entries_states(run, oldest), "rows": array_state(rows=values)}

    return cache_recipe(kernel, call, (rows, MAP, SLOTS), view)


def entries_states(run: dict[str, Any], oldest: int) -> dict[str, Any]:
    """Return the states of the map and of the slots."""
    entries = run["entries"]
    slots = array_state(**slot_rows(entries, oldest, run.get("s")))
    return {"map": array_state(**map_rows(entries, oldest)), "slots": slots}


def of_ranks(kernel: str, arguments: dict[str, Any], call: Call) -> Recipe:
    """Return the stepper of `select_stable`."""
    columns = {"columns": ["id", "score", "stable"]}
    ranks = Panel(
        "table", "ranks", "The rows", "The k smallest by (score, id) are stable.", columns
    )

    def view(stack: Stack) -> dict[str, Any]:
        if not checked(stack, "low"):
            return {}
        run = stack.within(kernel)
        shown = zip(*(run[name].tolist() for name in ("ids", "score", "low")), strict=True)
        return {"ranks": table_state([cell(v), cell(f"{x:.4g}"), cell(b)] for v, x, b in shown)}

    return cache_recipe(kernel, call, (ranks,), view)


def cache_recipe(kernel: str, call: Call, panels: tuple[Panel, ...], view: View) -> Recipe:
    """Return the stepper of a kernel of the cache."""
    function = find(refimpl, kernel)
    return Recipe(
        name=kernel,
        title=f"{kernel}: one call",
        algorithms=("vldb24:1",),
        functions={f"{function.__module__}:{kernel}": None},
        call=call,
        view=view,
        panels=panels,
        about="",
    )


MAKERS = {
    "prune_mfg": of_pruning,
    "cache_lookup": of_lookup,
    "cache_admit": of_admission,
    "select_stable": of_ranks,
}
