"""Steppers of the frontier sampler: as a list, and on both Dashboards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from refimpl.hints import Ids
from refimpl.lab.apps.stepper.course import EDGES, PLACES, SEED, M, N, six_nodes
from refimpl.lab.apps.stepper.recipe import (
    Panel,
    Recipe,
    array_state,
    cell,
    graph_picture,
    graph_state,
    table_state,
)
from refimpl.samplers.sampling import Sampler, sample_many
from refimpl.streams import Stream, uniform

if TYPE_CHECKING:
    from refimpl.graph import Subgraph
    from refimpl.lab.apps.stepper.recorder import Stack

ROLES = {
    "frontier": ("F", "frontier"),
    "popped": ("P", "popped"),
    "pushed": ("N", "pushed"),
    "sampled": ("S", "sampled"),
}
SAMPLE = "refimpl.samplers.sampling:sample_one"


def drawn_by(sampler: str, **options: Any) -> Callable[[int], Subgraph]:
    """Return the call of a recipe: subgraph 0 of a run, as `sample_many` draws it."""

    def call(seed: int) -> Subgraph:
        graph = six_nodes()
        return sample_many(graph, Sampler(sampler, m=M, n=N, **options), seed, 0, 1)[0]

    return call


def graph_panel() -> Panel:
    """Return the panel "graph": the nodes and what they are to the sampler."""
    return Panel(
        "graph",
        "graph",
        "Graph",
        "Nodes in the frontier will move. One popped leaves the frontier, and its neighbour, "
        "pushed, takes its place. At the end, edges of the subgraph are thick.",
        graph_picture(PLACES, EDGES, ROLES),
    )


DRAWS = Panel(
    "table",
    "draws",
    "Random draws",
    "Each stream has a key; draw number c of it is a function of the key and c alone.",
    {"columns": ["stream", "next c", "last draw"]},
)


def counters_panel(names: str) -> Panel:
    """Return the panel "counters"; `names` says what is counted."""
    return Panel("counters", "counters", "Counted so far", f"What the sampler counts: {names}.")


def draws_state(stack: Stack) -> list[list[list[Any]]] | None:
    """Return the state of `DRAWS`, or None before there are streams."""
    streams = {"main": stack.local("main"), "probe": stack.local("probe")}
    if not all(isinstance(stream, Stream) for stream in streams.values()):
        return None
    return table_state(
        [cell(name), cell(s.c), cell(f"{uniform(s.k, s.c - 1):.4f}" if s.c else None)]
        for name, s in streams.items()
    )


def nodes_state(
    frontier: Iterable[int],
    sampled: Iterable[int],
    now: tuple[Any, Any] = (None, None),
    notes: Mapping[int, str] | tuple[()] = (),
) -> dict[str, Any]:
    """Return the state of `graph_panel`; `now` is the node popped and the node pushed, or None."""
    popped, pushed = now
    roles = dict.fromkeys(map(int, sampled), "sampled")
    roles |= dict.fromkeys(map(int, frontier), "frontier")
    edge = []
    if popped is not None:
        roles[int(popped)] = "popped"
    if pushed is not None:
        roles[int(pushed)] = "pushed"
        edge = [(int(popped), int(pushed))]
    return graph_state(roles, notes=notes, edges=edge)


def subgraph_state(nodes: Ids) -> dict[str, Any]:
    """Return the state of `graph_panel` when the sample is complete."""
    inside = set(nodes.tolist())
    edges = [(u, v) for u, v in EDGES if u in inside and v in inside]
    return graph_state(dict.fromkeys(inside, "sampled"), edges=edges)


def known(variables: dict[str, Any], name: str) -> Any:
    """Return a variable; None if it is not set yet, or the function has none of this name."""
    return dict.get(variables, name)


def view_frontier(stack: Stack) -> dict[str, Any]:
    """Return the panel states of the recipe "frontier"."""
    run = stack.within("frontier")
    if not run:
        return after_sampling(stack)
    if known(run, "FS") is None:
        return {"draws": draws_state(stack)}
    return {
        "graph": lambda: walk_on_graph(run),
        "frontier": lambda: frontier_state(run),
        "draws": draws_state(stack),
        "counters": lambda: {"pops": len(run["popped"]), "sampled": len(run.get("Vs", ()))},
    }


def slot_of(run: dict[str, Any]) -> int | None:
    """Return the slot that was drawn last, or None."""
    return int(run["slot"]) if "slot" in run else None


def walk_on_graph(run: dict[str, Any]) -> dict[str, Any]:
    """Return the state of `graph_panel` in a step of the list of the frontier."""
    now = moving(run, len(run["popped"]), run["probe"].c, slot_of(run))
    repeated = {v: f"×{k}" for v, k in Counter(run["FS"].tolist()).items() if k > 1}
    return nodes_state(run["FS"], run.get("Vs", ()), now, repeated)


def frontier_state(run: dict[str, Any]) -> list[list[Any]]:
    """Return the state of the panel "frontier"."""
    FS, slot = run["FS"], slot_of(run)
    cumulative = run.get("cumulative", [None] * len(FS))
    return array_state(
        FS=[cell(v, mark="slot" if i == slot else "") for i, v in enumerate(FS.tolist())],
        degree=[cell(w) for w in run["weight"][FS].tolist()],
        cumulative=[cell(None if c is None else int(c)) for c in cumulative],
    )


def moving(run: dict[str, Any], done: int, drawn: int, slot: int | None) -> tuple[Any, Any]:
    """Return the node popped now and the node pushed now, each None if there is none.

    A variable keeps its value into the next step of the sampler; how many draws the streams
    have given tells whether it is of this one.
    """
    if drawn == done:  # between two steps: the last one is shown
        return run.get("u"), run.get("u_new")
    if run["main"].c - run["m"] == drawn:  # the neighbour is drawn
        return run["u"], run["u_new"]
    return run["FS"][slot], None


def roots_state(run: dict[str, Any]) -> dict[str, Any]:
    """Return the state of `graph_panel` while the roots are drawn."""
    return nodes_state(run.get("FS", ()), run.get("Vs", ()))


def after_sampling(stack: Stack) -> dict[str, Any]:
    """Return the panel states once the sampler has returned: the subgraph."""
    sample = stack.local("sample")
    return {} if sample is None else {"graph": subgraph_state(sample.nodes)}


SETTING = (
    "One subgraph of six nodes, a triangle 0, 1, 2 with a tail 3, 4, 5: a frontier of "
    f"m = {M} nodes and n = {N}, so {N - M} steps."
)
RECIPES = (
    Recipe(
        "frontier",
        "Frontier sampling",
        ("jpdc21:2",),
        {"refimpl.samplers.frontier:frontier": "jpdc21:2", SAMPLE: None},
        drawn_by("frontier"),
        view_frontier,
        (
            graph_panel(),
            counters_panel("steps made, and different nodes in the sample"),
            DRAWS,
            Panel(
                "array",
                "frontier",
                "Frontier",
                "The nodes of the frontier, their degrees, and the running sum that the draw is "
                "looked up in: a node is popped in proportion to its degree.",
                wide=True,
            ),
        ),
        f"{SETTING} Each step adds up the degrees of the whole frontier: that is what the "
        "Dashboards avoid.",
        SEED,
    ),
)
