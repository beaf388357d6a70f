"""Pruning of a message-flow graph below what is cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import refimpl
from refimpl.history.pruning import PruneResult, prune_mfg
from refimpl.lab.apps.stepper.course import FEATURES
from refimpl.lab.apps.stepper.flow_pictures import (
    ROLES,
    by_layer,
    flow_edges,
    flow_picture,
    flow_state,
    name,
)
from refimpl.lab.apps.stepper.recipe import Panel, Recipe, array_state, cell
from refimpl.lab.apps.stepper.recipes.history import STABLE, MadeUp, new_cache, root_0

if TYPE_CHECKING:
    from refimpl.block import MFG
    from refimpl.history.iteration import FreshStep
    from refimpl.lab.apps.stepper.recorder import Stack

CACHED, MORE = (3,), (1, 3)  # nodes of layer 1 that the cache has, in the iteration and after it


def prune_thrice(seed: object) -> tuple[FreshStep, PruneResult, PruneResult]:
    """Return an iteration with node 3 in the cache, and what two more prunings leave.

    These have node 1 in the cache, too, and are in CSR2 and, to compare, in CSR. Nothing is
    random: `seed` is there as in the other recipes.
    """
    mfg, cache = root_0(), new_cache()
    cache.admit(1, np.array(CACHED), np.full((len(CACHED), cache.h), 3.0), 0)
    step = refimpl.fresh_iteration(
        iter([mfg]),
        cache,
        MadeUp(mfg, 1),
        FEATURES.__getitem__,
        1,
        cached_layers=(1,),
        p=STABLE,
    )
    hit = [np.isin(mfg.nodes[1], MORE), np.array([False])]
    csr2 = prune_mfg(mfg, hit)
    csr = prune_mfg(mfg, hit, layout="csr")
    return step, csr2, csr


def view_pruning(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `PRUNING`."""
    iteration, run = stack.within("fresh_iteration"), stack.within("prune_mfg")
    if not run:
        return {"graph": lambda: iteration_on_graph(iteration)}
    removal = stack.within("Csr.empty")
    return {
        "graph": lambda: pruning_on_graph(run),
        "counters": lambda: _work(stack.within("prune_thrice"), run),
        "bounds": lambda: _removal(run, removal)[0],
        "entries": lambda: _removal(run, removal)[1],
    }


def iteration_on_graph(iteration: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state of the graph in an iteration, with these variables, before and after."""
    if "mfg" not in iteration:
        return None
    mfg = iteration["mfg"]
    hits = (
        [(1, v) for v in mfg.nodes[1][iteration["slots"][1] >= 0]] if "slots" in iteration else ()
    )
    if "live" not in iteration:
        return flow_state(mfg, {}, {}, hits=hits)
    live, comp = {}, {}
    for layer, (nodes, rows) in enumerate(zip(mfg.nodes, iteration["live"].order, strict=True)):
        live[layer] = np.isin(np.arange(len(nodes)), rows)
        if layer:
            comp[layer] = live[layer].copy()
            comp[layer][rows] = iteration["live"].computed[layer - 1]
    return flow_state(mfg, live, comp, loaded="H" in iteration)


def pruning_on_graph(run: dict[str, Any]) -> dict[str, Any]:
    """Return the state of the graph while `prune_mfg` runs, with the variables `run`."""
    mfg, top = run["mfg"], len(run["mfg"].blocks)
    live, comp = by_layer(run.get("live", []), top), by_layer(run.get("comp", []), top)
    edges = []
    if "block" in run:
        done = run["blocks"]
        layer = top - len(done) + (bool(done) and done[0] is run.get("pruned"))
        if len(run.get("computed", ())) == len(mfg.nodes[layer]) and layer in live:
            comp.setdefault(layer, run["computed"])  # otherwise it is the layer's above
        needed = run.get("needed", ())
        if len(needed) == len(mfg.nodes[layer - 1]) and layer - 1 not in live:
            live[layer - 1] = needed
            edges = flow_edges(mfg, layer)
    hits = [
        (layer, v)
        for layer, mask in enumerate(run["hit"], 1)
        for v in mfg.nodes[layer][np.asarray(mask, bool)]
    ]
    computed = {name(l, v) for l, rows in comp.items() for v in mfg.nodes[l][rows]}
    edges = [(u, v) for u, v in edges if v in computed]
    return flow_state(mfg, live, comp, hits=hits, edges=edges)


def _work(driver: dict[str, Any], run: dict[str, Any]) -> dict[str, int]:
    """Return what removing entries has cost so far, in the layouts that were used."""
    counts = {}
    for layout in dict.fromkeys(("csr2", "csr", run["layout"])):
        work = driver[layout]._asdict() if layout in driver else {}
        if run["layout"] == layout:
            work = run
        if work:
            counts[f"{layout.upper()}: numbers"] = work.get("ops", 0)
            counts[f"{layout.upper()}: bytes"] = work.get("touched_bytes", 0)
    return counts


def _removal(
    run: Any, removal: dict[str, Any]
) -> tuple[list[list[Any]] | None, list[list[Any]] | None]:
    """Return the states of a block's row bounds and entries; row i of `removal` goes now."""
    if "block" not in run:
        return None, None
    block, edges, emptied = run["block"], run.get("edges"), removal.get("i")
    if run["layout"] == "csr2":
        own = edges is not None and edges.source is block  # otherwise it is the layer's above
        end, indices = edges.end if own else block.end, block.indices
        bounds = {"start": block.start, "end": end}
        row = np.repeat(np.arange(block.n_dst), block.degrees())  # no entry ever moves
        dead = np.arange(block.e) >= end[row]
    else:
        own = len(getattr(edges, "indptr", ())) == block.n_dst + 1  # pairs have no pointers
        indptr, indices = np.append(block.start, block.e), block.indices
        if own:
            indptr, indices = edges.indptr, edges.indices
        bounds = {"indptr": indptr}
        row = np.searchsorted(indptr[1:], np.arange(len(indices)), side="right")
        dead = row == block.n_dst
    rows = {key: [cell(k) for k in array] for key, array in bounds.items()}
    if len(run.get("computed", ())) == block.n_dst:
        marks = {emptied: "row"}
        rows["computed"] = [
            cell(bool(c), None, marks.get(i, "")) for i, c in enumerate(run["computed"])
        ]
    entries = [
        cell(u, None if gone else i, "dead" if gone else f"row {i}")
        for u, i, gone in zip(indices, row, dead, strict=True)
    ]
    return array_state(**rows), array_state(source=entries)


WORK = Panel("counters", "counters", "Removing entries", "How many numbers are written; bytes.")
BOUNDS = Panel(
    "array",
    "bounds",
    "Where the rows of this layer's block begin and end",
    "CSR2 has a start and an end for each row: a row is emptied by setting its end to its start. "
    "CSR has one pointer for both: all behind an emptied row are corrected.",
    wide=True,
)
ENTRIES = Panel(
    "array",
    "entries",
    "The entries of this layer's block",
    "A colour is a row. In CSR2 nothing moves, and dead entries stay where they are; in CSR all "
    "entries behind an emptied row move up.",
    wide=True,
)


def flow_panel(mfg: MFG) -> Panel:
    """Return the panel of a message-flow graph."""
    edges = [edge for layer in range(1, len(mfg.nodes)) for edge in flow_edges(mfg, layer)]
    return Panel(
        "graph",
        "graph",
        "The message-flow graph, root on top",
        "4 with a raised 1 is node 4 in layer 1; each node is its own source as well. From the "
        "root down: what is needed and not cached (hit) is computed, and needs its sources.",
        flow_picture([nodes.tolist() for nodes in mfg.nodes], edges, ROLES),
    )


PRUNING = Recipe(
    name="pruning",
    seed=None,
    title="Pruning below cached embeddings",
    algorithms=("vldb24:1",),
    functions={
        "refimpl.lab.apps.stepper.recipes.pruning:prune_thrice": None,
        "refimpl.history.iteration:fresh_iteration": "vldb24:1",
        "refimpl.history.pruning:prune_mfg": None,
        "refimpl.history.pruning:Csr2": None,
        "refimpl.history.layouts:Csr.empty": None,
    },
    call=prune_thrice,
    view=view_pruning,
    panels=(flow_panel(root_0()), WORK, BOUNDS, ENTRIES),
    about="An iteration on root 0 of the six nodes, when the embedding of node 3 in layer 1 is in "
    "the cache: its row is emptied by one number, and node 4 is needed by nobody. Then two more "
    "prunings of the same graph with node 1 cached as well, in CSR2 and, to compare, in CSR, where "
    "what stands behind an emptied row moves.",
)

RECIPES = (PRUNING,)
