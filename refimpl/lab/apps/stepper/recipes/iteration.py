"""One whole iteration of FreshGNN in a training run on the six nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import refimpl
from refimpl.lab.apps.stepper.cache_pictures import LOOKUP, POLICY, SLOTS, cache_states
from refimpl.lab.apps.stepper.course import six_nodes, tail_dataset
from refimpl.lab.apps.stepper.flow_pictures import flow_picture, name
from refimpl.lab.apps.stepper.recipe import Panel, Recipe
from refimpl.lab.apps.stepper.recipes.pruning import view_pruning
from refimpl.lab.backend import find

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.recorder import Stack
    from refimpl.lab.training.methods.base import Step
    from refimpl.lab.training.trainer import Trainer

BEFORE = 6  # iterations that are not shown: an epoch, one for each node
BUFFER = 80  # bytes: five rows of two doubles, embeddings or features
LAYERS = 2


def seventh_iteration(seed: int) -> tuple[Any, ...]:
    """Return loss, counts and gradients of an iteration whose cache six others have filled."""
    method = refimpl.methods.Fresh(
        batch_size=1,
        fanouts=(-1,) * LAYERS,
        p_grad=0.5,
        t_stale=2,
        buffer=BUFFER,
        draw_all=True,  # as printed
    )
    config = refimpl.TrainConfig(method=method, layers=LAYERS, hidden=2, lr=0.1, rng=seed)
    with find(refimpl, "make_trainer")(tail_dataset(), config) as trainer:
        for _ in range(BEFORE):
            trainer.step()
        step = one_iteration(trainer)
    return step.loss, step.counts, list(step.gradients.items())


def one_iteration(trainer: Trainer) -> Step:
    """Return what one more iteration of a trainer returns: this one is shown."""
    return trainer.step()


def view_iteration(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `ITERATION`."""
    now, opened = stack.within("fresh_iteration"), stack.within("FreshIterations.open_iteration")
    if not now:
        return {}
    states = {**cache_states(stack, most=4), **view_pruning(stack)}
    states["counters"] = lambda: counters_state(now, opened)
    return {panel.id: states[panel.id] for panel in PANELS if panel.id in states}


def counters_state(now: dict[str, Any], opened: dict[str, Any]) -> dict[str, int]:
    """Return the state of the panel "counters"."""
    cache = now["cache"]
    counters = {"inputs sampled": 0, "needed": 0, "held": 0, "loaded": 0}
    if "mfg" in now:
        counters["inputs sampled"] = len(now["mfg"].nodes[0])
    if "V" in now:
        counters["needed"] = len(now["V"][0])
    if "H" in now:
        counters["held"] = sum(opened["held"])
        counters["loaded"] = len(now["V"][0]) - sum(opened["held"])
    counters |= {"rows read": 0, "rows computed": 0}
    if "normal" in now:
        normal = now["normal"][1:]
        counters["rows read"] = sum(int((~rows).sum()) for rows in normal)
        counters["rows computed"] = sum(int(rows.sum()) for rows in normal)
    return counters | {"admitted": cache.admitted, "evicted": cache.evicted}


def every_flow() -> dict[str, Any]:
    """Return the picture of all nodes in all layers, and of all that may be sources of others."""
    graph = six_nodes()
    edges = []
    for layer in range(1, LAYERS + 1):
        for v in range(graph.n):
            near = graph.indices[graph.start[v] : graph.end[v]].tolist()
            edges += [(name(layer - 1, u), name(layer, v)) for u in (v, *near)]
    return flow_picture([range(graph.n)] * (LAYERS + 1), edges, faint=True)


PANELS = (
    Panel(
        "graph",
        "graph",
        "The message-flow graph, root on top",
        "Each row is a layer; 4 with a raised 1 is node 4 in layer 1. Features are loaded for "
        "the lowest layer. What is faint was not sampled.",
        every_flow(),
    ),
    Panel(
        "counters",
        "counters",
        "This iteration, and the cache so far",
        "Inputs that are not needed, or are held in the buffer, are not loaded. Admitted and "
        "evicted: entries of all iterations so far.",
    ),
    POLICY,
    Panel(
        "array",
        "buffer",
        "The buffer: embeddings, then features",
        "Two floats each; x of 0 are the features of node 0.",
        wide=True,
    ),
    SLOTS,
    LOOKUP,
)
ITERATION = Recipe(
    name="iteration",
    title="One iteration of FreshGNN",
    algorithms=("vldb24:1",),
    functions={
        "refimpl.lab.apps.stepper.recipes.iteration:one_iteration": None,
        "refimpl.lab.training.fresh_iterations:FreshIterations.open_iteration": None,
        "refimpl.history.iteration:fresh_iteration": "vldb24:1",
        "refimpl.lab.training.prefetch:message_flow_graphs": None,
        "refimpl.history.entries:cache_lookup": None,
        "refimpl.history.pruning:prune_mfg": None,
        "refimpl.history.policy:update_with": None,
        "refimpl.history.entries:cache_admit": None,
        "refimpl.lab.training.trainer:Trainer.update": None,
        "refimpl.training.graph_iteration:move_weights": "jpdc21:1",
    },
    call=seventh_iteration,
    view=view_iteration,
    panels=PANELS,
    about="The seventh iteration of a training run on the six nodes, the first of its second "
    "epoch: GraphSAGE with two layers, one root in a minibatch, all neighbours, p_grad 0.5, "
    "t_stale 2, and a buffer for five embeddings or features. Six iterations filled the cache.",
    seed=338,
    callers={
        "FreshIterations.open_iteration": "one_iteration",
        "fresh_iteration": "FreshIterations.open_iteration",
        "message_flow_graphs": "fresh_iteration",
        "cache_lookup": "fresh_iteration",
        "prune_mfg": "fresh_iteration",
        "update_with": "fresh_iteration",
        "cache_admit": "update_with",
        "Trainer.update": "one_iteration",
        "move_weights": "Trainer.update",
    },
    begin="3",  # the generator of minibatches goes on behind the end of the epoch before
)

RECIPES = (ITERATION,)
