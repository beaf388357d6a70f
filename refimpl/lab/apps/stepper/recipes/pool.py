"""The subgraph pool between the samplers and the training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import refimpl
from refimpl.lab.apps.stepper.course import EDGES, PLACES, SEED, tail_dataset
from refimpl.lab.apps.stepper.recipe import (
    Panel,
    Recipe,
    array_state,
    cell,
    graph_picture,
    graph_state,
    table_state,
)
from refimpl.lab.backend import find
from refimpl.lab.training.methods.graph import SampledGraph

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.recorder import Stack

SIZE = 3


def train_from_pool(seed: int) -> Any:
    """Return four epochs of training on subgraphs of the six nodes, three drawn at a time."""
    method = SampledGraph(sampler=refimpl.Sampler("pin_tile", m=2, n=4), pool=SIZE)
    config = refimpl.TrainConfig(method=method, layers=1, hidden=2, epochs=4, rng=seed)
    return find(refimpl, "train")(tail_dataset(), config)


def numbered(stack: Stack) -> tuple[int, list[Any], list[Any]]:
    """Return the first subgraph's number, those in the pool, and those sampled but not yet in it.

    What left the pool was used, but for those dropped when it was closed.
    """
    trainer = stack.local("trainer")
    pool, first = trainer.iterations.pool, trainer.state.iterations  # one subgraph each
    if not pool.closed:  # `next_q` counts those that were put in, once all are in
        first = max(first, pool.next_q - len(pool.waiting))
    new = stack.within("sample_many").get(
        "subgraphs", stack.within("Pool.__next__").get("drawn", [])
    )
    return first, list(pool.waiting), [] if pool.waiting else new


def view_pool(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `POOL`."""
    trainer = stack.local("trainer")
    if trainer is None:
        return {}
    first, waiting, new = numbered(stack)
    minibatch = stack.within("graph_iteration")
    return {
        **pool_states(trainer, first, waiting, new, bool(minibatch)),
        "loss": lambda: loss_state(minibatch["loss"]) if "loss" in minibatch else None,
        "graph": lambda: nodes_on_graph(stack.within("sample_one"), minibatch),
    }


def loss_state(loss: float) -> dict[str, float]:
    """Return the state of the panel "loss"."""
    return {"loss": round(float(loss), 4)}


def pool_states(
    trainer: Any, first: int, waiting: list[Any], new: list[Any], training: bool
) -> dict[str, Any]:
    """Return the states of the panels that show the subgraphs by number."""
    marks = ["used"] * first + ["waits"] * len(waiting) + ["new"] * len(new)
    marks += ["dropped"] * (trainer.iterations.pool.next_q - len(marks))
    if training and first > trainer.state.iterations:
        marks[first - 1] = "trains"
    groups = {mark: k for k, mark in enumerate(("new", "trains", "waits", "used", "dropped"))}
    rows = [
        [
            cell(q, groups[marks[q]], marks[q]),
            cell(" ".join(map(str, sub.nodes))),
            cell(sub.graph.e // 2),
        ]
        for q, sub in enumerate([*waiting, *new], first)
    ]
    return {
        "numbers": array_state(subgraph=[cell(mark, groups[mark]) for mark in marks]),
        "waiting": table_state((rows + [[cell(None)] * 3] * SIZE)[:SIZE]),
        "counters": {"sampled": len(marks), "used": first, "in the pool": len(waiting)},
    }


def nodes_on_graph(sampling: dict[str, Any], minibatch: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state of the panel "graph": the subgraph just sampled, or trained on."""
    nodes, role = sampling.get("nodes"), "sampled"
    if "sub" in minibatch:
        nodes, role = minibatch["sub"].nodes, "trains"
    return None if nodes is None else graph_state(dict.fromkeys(nodes.tolist(), role))


POOL = Recipe(
    name="pool",
    title="Training with a pool of subgraphs",
    algorithms=("jpdc21:8", "ipdps19:5"),
    functions={
        "refimpl.lab.apps.stepper.recipes.pool:train_from_pool": None,
        "refimpl.lab.training.trainer:train": None,
        "refimpl.lab.training.models.sage:SageLayer.__init__": None,
        "refimpl.training.subgraph_pool:SubgraphPool.__init__": "jpdc21:8",
        "refimpl.training.subgraph_pool:Pool.__init__": None,
        "refimpl.training.graph_iteration:graph_iteration": "jpdc21:1",
        "refimpl.training.subgraph_pool:Pool.__next__": None,
        "refimpl.samplers.sampling:sample_many": "jpdc21:8",
        "refimpl.samplers.sampling:sample_one": None,
    },
    call=train_from_pool,
    view=view_pool,
    panels=(
        Panel(
            "array",
            "numbers",
            "The subgraphs of the run, by number",
            "A subgraph depends on the seed and its number alone. It is new when sampled, waits "
            "in the pool, trains the model once, and is used.",
            wide=True,
        ),
        Panel(
            "table",
            "waiting",
            "In the pool",
            f"{SIZE} are sampled when the pool is empty: on {SIZE} threads at once, were there as "
            "many. They leave in the order of their numbers.",
            {"columns": ["subgraph", "nodes", "edges"]},
        ),
        Panel(
            "graph",
            "graph",
            "The training graph",
            "The nodes of the subgraph that was sampled or is trained on last.",
            graph_picture(
                PLACES,
                EDGES,
                {
                    "sampled": ("s", "node of the subgraph just sampled"),
                    "trains": ("t", "node of the subgraph trained on"),
                },
            ),
        ),
        Panel(
            "counters",
            "counters",
            "Work",
            "Sampled rises by three at a time, used by one.",
        ),
        Panel("counters", "loss", "Loss", "Of the subgraph that the model was trained on."),
    ),
    about="Four epochs of GraphSAGE on the six nodes, on subgraphs of at most 4 nodes. The pool is "
    "filled and then refilled when it is empty. Its size changes when a subgraph is sampled, never "
    "which: the weights are the same for every size. Line 12, in which order a layer multiplies, "
    "ran when the layer was made: every line shows it.",
    seed=SEED,
    begin="1",
)

RECIPES = (POOL,)
