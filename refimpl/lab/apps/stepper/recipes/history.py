"""FreshGNN's cache of embeddings and features, in five iterations with made-up gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import refimpl
from refimpl.hints import Ids
from refimpl.lab.apps.stepper.cache_pictures import LOOKUP, MAP, POLICY, SLOTS, cache_states
from refimpl.lab.apps.stepper.course import FEATURES, six_nodes
from refimpl.lab.apps.stepper.recipe import Panel, Recipe

if TYPE_CHECKING:
    from refimpl.block import MFG, Block
    from refimpl.history.iteration import FreshStep
    from refimpl.lab.apps.stepper.recorder import Stack

T_STALE, STABLE, WIDTH, FLOATS = 2, 0.5, 2, 10
NORMS = (  # of the gradients of nodes 0 to 3 in layer 1, iteration by iteration
    (0.9, 0.5, 0.2, 0.1),
    (0.9, 0.1, 0.2, 0.5),
    (0.9, 0.1, 0.2, 0.5),
    (0.9, 0.1, 0.2, 0.5),
    (0.9, 0.1, 0.2, 0.5),
)


class MadeUp:
    """A model whose rows tell node and iteration, 3.1 for node 3 in iteration 1."""

    def __init__(self, mfg: MFG, i: int) -> None:
        self.mfg, self.i = mfg, i

    def forward(self, l: int, block: Block, nodes: Ids, H: NDArray[Any]) -> NDArray[Any]:
        rows = nodes[: block.n_dst]  # what is computed stands first below
        return np.repeat(rows + self.i / 10, WIDTH).reshape(-1, WIDTH)

    def loss(self, H: NDArray[Any], nodes: Ids) -> tuple[float, NDArray[Any]]:
        return 1.0, np.zeros_like(H)

    def backward(self, l: int, G: NDArray[Any]) -> NDArray[Any] | None:
        norms = np.array(NORMS[self.i])[self.mfg.nodes[1]]
        return np.stack([norms, np.zeros(len(norms))], 1) if l == 2 else None


def new_cache() -> refimpl.BidirectionalCache:
    """Return the cache of the worked example, with the features of all six nodes but one."""
    cache = refimpl.BidirectionalCache(
        n=6, d=WIDTH, h=WIDTH, layers=1, floats=FLOATS, t_stale=T_STALE, dtype="float64"
    )
    cache.fill(FEATURES, refimpl.history.degree_hotness(six_nodes()))
    return cache


def root_0() -> MFG:
    """Return the message-flow graph of node 0: two layers, all neighbours."""
    return refimpl.sample_mfg(six_nodes(), np.array([0]), (-1, -1), seed=7, epoch=0, batch=0)


def five_iterations(seed: object) -> tuple[refimpl.BidirectionalCache, list[FreshStep]]:
    """Return the cache after five iterations on node 0, and what each of them returned.

    Nothing is random: `seed` is there as in the other recipes.
    """
    mfg, cache = root_0(), new_cache()
    steps = [
        refimpl.fresh_iteration(
            iter([mfg]),
            cache,
            MadeUp(mfg, i),
            FEATURES.__getitem__,
            i,
            cached_layers=(1,),
            p=STABLE,
        )
        for i in range(len(NORMS))
    ]
    return cache, steps


def view_cache(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `CACHE`."""
    now = stack.within("fresh_iteration")
    if not now:
        return {}
    cache = now["cache"]
    counters = {
        "iteration": now["i"],
        "header": cache.head,
        "admitted": cache.admitted,
        "evicted": cache.evicted,
        "lost": cache.lost,
        "features held": cache.feature_rows,
    }
    return {**cache_states(stack, most=4), "counters": counters}


CACHE = Recipe(
    name="cache",
    seed=None,
    title="A cache of embeddings and features",
    algorithms=("vldb24:1",),
    functions={
        "refimpl.history.iteration:fresh_iteration": "vldb24:1",
        "refimpl.history.entries:cache_lookup": None,
        "refimpl.history.policy:update_with": None,
        "refimpl.history.entries:cache_admit": None,
    },
    call=five_iterations,
    view=view_cache,
    panels=(
        Panel(
            "array",
            "buffer",
            "The buffer: embeddings, then features",
            "Two floats each. 3.1 is the embedding of node 3 written in iteration 1; x of 0 are "
            "the features of node 0. Embeddings grow over the features used least.",
            wide=True,
        ),
        MAP,
        SLOTS,
        LOOKUP,
        POLICY,
        Panel(
            "counters",
            "counters",
            "So far",
            "Lost: entries overwritten that could still be read.",
        ),
    ),
    about="Five iterations of FreshGNN on root 0 of the six nodes, with room for five embeddings "
    "or features. The rows and their gradients' norms are made up, so that something happens: in "
    "iteration 1 node 3 is evicted and node 1 gets its slot, in iteration 3 node 2 is too old to "
    f"be read. An entry is read for {T_STALE} iterations after the one that wrote it.",
    callers={"cache_lookup": "fresh_iteration"},
)

RECIPES = (CACHE,)
