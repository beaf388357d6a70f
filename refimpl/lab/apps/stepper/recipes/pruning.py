"""Pruning of a message-flow graph below what is cached."""

import numpy as np

from refimpl.block import MFG, Block
from refimpl.history.pruning import prune_mfg
from refimpl.lab.apps.stepper.recipe import (
    Panel,
    Recipe,
    array_state,
    cell,
    graph_picture,
    graph_state,
)

ROWS = (  # sources of each node, for layers 1, 2 and 3
    ((1,), (2,), (6,), (5,), (3, 5), (4, 6)),
    ((1,), (4,), (4, 5), (5,)),
    ((1, 2, 3),),
)
HITS = (4, 5), (2, 3), ()  # nodes of the same layers whose embeddings are cached
SIZES = 7, 6, 4, 1
DEPTH = len(ROWS)
RAISED = "\u2070\u00b9\u00b2\u00b3"  # layers 0 to 3 as superscripts


def prune_twice(seed):
    """Return what pruning leaves of a message-flow graph, in CSR2 and, to compare, in CSR.

    Nothing is random: `seed` is there as in the other recipes.
    """
    mfg = message_flow_graph()
    hit = [np.isin(ids, cached) for ids, cached in zip(mfg.nodes[1:], HITS, strict=True)]
    csr2 = prune_mfg(mfg, hit)
    csr = prune_mfg(mfg, hit, layout="csr")
    return csr2, csr


def message_flow_graph():
    """Return the graph that `ROWS` says; a node has the same id in every layer."""
    blocks = []
    for rows, n_src in zip(ROWS, SIZES, strict=False):
        bounds = np.cumsum([0, *map(len, rows)])
        blocks.append(Block(bounds[:-1], bounds[1:], np.concatenate(rows), n_src))
    return MFG(tuple(np.arange(size, dtype=np.int32) for size in SIZES), tuple(blocks))


def name(layer, node):
    """Return the name of a node in a layer: 4 with a raised 1 is node 4 in layer 1."""
    return f"{node}{RAISED[layer]}"


def edges_of(layer):
    """Return the (source, node) pairs of a layer; each node is its own source as well."""
    pairs = [(u, v) for v, row in enumerate(ROWS[layer - 1]) for u in (v, *row)]
    return [(name(layer - 1, u), name(layer, v)) for u, v in pairs]


def view_pruning(stack):
    """Return the states of the panels of `PRUNING`."""
    driver, run = stack.within("prune_twice"), stack.within("prune_mfg")
    if "hit" not in driver:
        return {}
    states = {"graph": _flow(driver, run), "counters": _work(driver, run)}
    if "block" in run:
        states["bounds"], states["entries"] = _removal(run, stack.within("Csr.empty").get("i"))
    return states


def _known(driver, run):
    """Return layer -> which nodes are live, and layer -> which are computed, so far."""
    if not run and "csr2" in driver:
        result = driver.get("csr", driver["csr2"])
        live, comp = result.live, result.comp
    else:
        live, comp = run.get("live", []), run.get("comp", [])
    by_layer = ({DEPTH - k: found for k, found in enumerate(reversed(p))} for p in (live, comp))
    return tuple(by_layer)


def _flow(driver, run):
    """Return the state of the message-flow graph."""
    roles: dict[str, str] = {}
    edges: list[tuple[str, str]] = []
    live, comp = _known(driver, run)
    if "block" in run:
        layer = SIZES.index(run["block"].n_dst)
        if len(run.get("computed", ())) == SIZES[layer]:  # otherwise it is the layer's above
            comp.setdefault(layer, run["computed"])
        if len(run.get("needed", ())) == SIZES[layer - 1] and layer - 1 not in live:
            roles |= {name(layer - 1, v): "needed" for v in np.flatnonzero(run["needed"])}
            edges = edges_of(layer)
    for layer, needed in live.items():
        for v in range(SIZES[layer]):
            role = "needed" if needed[v] else "dead"
            if needed[v] and layer in comp:
                role = "computed" if comp[layer][v] else "cached"
            roles[name(layer, v)] = role
    hits = {name(layer, v): "hit" for layer, nodes in enumerate(HITS, 1) for v in nodes}
    used = [(u, v) for u, v in edges if roles[v] == "computed"]
    return graph_state(roles, notes=hits, edges=used)


def _work(driver, run):
    """Return what removing entries has cost so far, in both layouts."""
    counts: dict[str, int] = {}
    for layout in ("csr2", "csr"):
        ops = touched_bytes = 0
        if layout in driver:
            ops, touched_bytes = driver[layout].ops, driver[layout].touched_bytes
        elif run.get("layout") == layout:
            ops, touched_bytes = run.get("ops", 0), run.get("touched_bytes", 0)
        counts |= {f"{layout.upper()}: numbers": ops, f"{layout.upper()}: bytes": touched_bytes}
    return counts


def _removal(run, emptied):
    """Return the states of a block's row bounds and entries; row `emptied` is removed now."""
    block, edges = run["block"], run.get("edges")
    if run["layout"] == "csr2":
        own = edges is not None and edges.source is block  # otherwise it is the layer's above
        end, indices = edges.end if own else block.end, block.indices
        bounds = {"start": block.start, "end": end}
        row = np.repeat(np.arange(block.n_dst), block.degrees())  # no entry ever moves
        dead = np.arange(block.e) >= end[row]
    else:
        own = edges is not None and len(edges.indptr) == block.n_dst + 1
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


PRUNING = Recipe(
    name="pruning",
    title="Pruning below cached embeddings",
    algorithms=("vldb24:1",),
    functions={
        "refimpl.lab.apps.stepper.recipes.pruning:prune_twice": None,
        "refimpl.history.pruning:prune_mfg": None,
        "refimpl.history.pruning:Csr2": None,
        "refimpl.history.pruning:Csr.empty": None,
    },
    call=prune_twice,
    view=view_pruning,
    panels=(
        Panel(
            "graph",
            "graph",
            "The message-flow graph, root on top",
            "4 with a raised 1 is node 4 in layer 1; each node is its own source as well. From the "
            "root down: what is needed and not cached (hit) is computed, and needs its sources.",
            graph_picture(
                {
                    name(layer, v): (v, 1.6 * (DEPTH - layer))
                    for layer, size in enumerate(SIZES)
                    for v in range(size)
                },
                [edge for layer in range(1, DEPTH + 1) for edge in edges_of(layer)],
                {
                    "computed": ("c", "needed and not cached: computed"),
                    "cached": ("h", "needed and cached: read"),
                    "needed": ("n", "needed"),
                    "dead": ("x", "not needed"),
                },
            ),
        ),
        Panel(
            "counters",
            "counters",
            "Removing entries",
            "How many numbers are written, and their bytes.",
        ),
        Panel(
            "array",
            "bounds",
            "Where the rows of this layer's block begin and end",
            "CSR2 has a start and an end for each row: a row is emptied by setting its end to its "
            "start. CSR has one pointer for both: all behind an emptied row are corrected.",
            wide=True,
        ),
        Panel(
            "array",
            "entries",
            "The entries of this layer's block",
            "A colour is a row. In CSR2 nothing moves, and dead entries stay where they are; in "
            "CSR all entries behind an emptied row move up.",
            wide=True,
        ),
    ),
    about="One root, three layers. Nodes 2 and 3 are cached in layer 2, nodes 4 and 5 in layer 1. "
    "In layer 1, node 5 is a source of 2 and 3 alone, so it is dead, and that it is cached does "
    "not matter; node 4 is a source of 1 as well, and stays. Of seven inputs three are left. First "
    "in CSR2, then again in CSR to compare the work.",
)

RECIPES = (PRUNING,)
