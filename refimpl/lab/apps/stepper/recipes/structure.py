"""Transposing by permutation, and feature propagation in parts."""

import numpy as np

from refimpl.adjacency import row_norm
from refimpl.graph import as_graph, transpose_perm
from refimpl.lab.apps.stepper.recipe import (
    Panel,
    Recipe,
    array_state,
    cell,
    graph_picture,
    graph_state,
    table_state,
)
from refimpl.partition import MODES, feature_propagate, partition_order, partition_plan

ENTRIES = ((0, 2), (1, 2), (2, 3), (2, 4), (2, 5), (3, 4), (5, 6))  # node 2 is the hub
PLACES = {0: (0, 0), 1: (0, 2), 2: (1.4, 1), 3: (2.4, 2.2), 4: (1, 2.4), 5: (2.8, 0.6), 6: (4, 1)}


def transpose_and_back(seed):
    """Return the permutation of a graph with a hub, and D^-1 A transposed once and twice.

    Nothing is random: `seed` is there as in the other recipes.
    """
    graph = as_graph(ENTRIES, symmetrize=True)
    data = row_norm(graph).data
    perm = transpose_perm(graph)
    data_t = data[perm]
    return perm, data_t, data_t[perm]


def view_transpose(stack):
    """Return the states of the panels of `TRANSPOSE`."""
    graph = stack.local("graph")
    if graph is None or ("data" not in stack[0].variables and stack[0].name != "transpose_perm"):
        return {}
    run = stack.within("transpose_perm")
    perm = stack.local("perm", np.full(graph.e, -1))
    moved = perm >= 0
    row = np.repeat(np.arange(graph.n), graph.degrees())
    v, j, u = (run.get(name) for name in "vju")
    in_row = j is not None and graph.indptr[v] <= j < graph.indptr[v + 1]  # not the last row's
    ptr, fill = run.get("ptr"), {}
    if ptr is not None:
        fill = {int(k): f"ptr {w}" for w, k in enumerate(ptr) if k < graph.indptr[w + 1]}
    value = [f"1/{graph.degrees()[w]}" for w in row]
    entries = range(graph.e)
    states = {
        "entries": array_state(
            **{
                "row v": [cell(row[k], row[k]) for k in entries],
                "column u": [
                    cell(w, w, "j" if in_row and k == j else "")
                    for k, w in enumerate(graph.indices)
                ],
                "A[v, u]": [cell(value[k], row[k]) for k in entries],
                "perm": [
                    cell(perm[k], row[perm[k]], fill.get(k, ""))
                    if moved[k]
                    else cell(None, mark=fill.get(k, ""))
                    for k in entries
                ],
                "A^T[v, u]": [
                    cell(value[perm[k]], row[perm[k]]) if moved[k] else cell(None) for k in entries
                ],
            }
        ),
        "counters": {"entries placed": int(moved.sum())},
    }
    rows = {"indptr": [cell(k) for k in graph.indptr]}
    if ptr is not None:
        full = ptr == graph.indptr[1:]
        rows["ptr"] = [cell(k, w, "full" if full[w] else "") for w, k in enumerate(ptr)]
    states["pointers"] = array_state(**rows)
    roles = {} if v is None else {v: "row"}
    moving = in_row and u == graph.indices[j]
    if moving:
        roles[int(u)] = "column"
    states["graph"] = graph_state(roles, edges=[(v, u)] if moving else [])
    return states


TRANSPOSE = Recipe(
    name="transpose",
    title="Transpose by permuting values",
    algorithms=("jpdc21:6",),
    functions={
        "refimpl.lab.apps.stepper.recipes.structure:transpose_and_back": None,
        "refimpl.graph:transpose_perm": "jpdc21:6",
    },
    call=transpose_and_back,
    view=view_transpose,
    panels=(
        Panel(
            "array",
            "entries",
            "The matrix, entry by entry",
            "Column k is entry k of both matrices: they have one pattern. A colour is the row of A "
            "that a value comes from; A^T takes it from entry perm[k] of A. Where the next value "
            "of row w goes is marked ptr w.",
            wide=True,
        ),
        Panel(
            "array",
            "pointers",
            "Where rows begin, and where the next value goes",
            "ptr starts as a copy of indptr. Row u of A^T is full when ptr[u] is indptr[u + 1].",
            wide=True,
        ),
        Panel(
            "graph",
            "graph",
            "The graph",
            "Node 2 is the hub. Rows are read in ascending order, so each row of A^T is filled in "
            "ascending order too: nothing is sorted.",
            graph_picture(
                PLACES,
                ENTRIES,
                {
                    "row": ("v", "row of A that is read"),
                    "column": ("u", "row of A^T that gets the value"),
                },
            ),
        ),
        Panel(
            "counters",
            "counters",
            "Work",
            "One entry is placed in each turn of the inner loop: time is O(nodes + entries).",
        ),
    ),
    about="A is D^-1 A of a graph with a hub: row v holds 1 / degree of v. The graph is "
    "undirected, so A^T has the same rows and columns, and only the values move. Follow the five "
    "values of node 2: they lie together in A and one in each neighbour's row in A^T. The "
    "permutation is its own inverse: applied twice, it gives A back.",
)

NODES, COLUMNS, LANES, CACHE, LINE, WORD = 4, 9, 2, 80, 16, 8
FRIENDS = ((0, 1), (0, 2), (0, 3), (2, 3))
CORNERS = {0: (1, 0), 1: (0, 1), 2: (1, 2), 3: (2, 1)}


def propagate_in_parts(seed):
    """Return A X for 4 nodes and 9 columns, worked off in parts by 2 lanes.

    Nothing is random: `seed` is there as in the other recipes.
    """
    graph = as_graph(FRIENDS, symmetrize=True)
    X = 10.0 * np.arange(1, NODES + 1)[:, None] + np.arange(COLUMNS)
    paper = partition_plan(NODES, COLUMNS, LANES, CACHE, line=LINE, mode="paper")
    plan = partition_plan(NODES, COLUMNS, LANES, CACHE, line=LINE)
    neighbours = partition_order(len(plan.starts) - 1, LANES, version="ipdps")
    Y = feature_propagate(graph, np.ones(graph.e), X, plan, LANES)
    return paper, plan, neighbours, Y


def part_of(starts):
    """Return which part each column is in."""
    return np.searchsorted(starts, np.arange(COLUMNS), side="right") - 1


def view_partition(stack):
    """Return the states of the panels of `PARTITION`."""
    outer = stack.within("propagate_in_parts")
    planning = stack.within("partition_plan")
    run = stack.within("feature_propagate")
    states = _order(outer, stack.within("partition_order"), run)
    states["plans"] = table_state([*_plans(outer, planning)])
    part, v, u = _place(run)
    X, Y = outer.get("X"), run.get("Y", outer.get("Y"))
    states["columns"] = array_state(**_parts(outer, planning), **_values(X, Y, outer, part, u))
    if "graph" in outer:
        roles = {node: role for node, role in ((v, "row"), (u, "source")) if node is not None}
        states["graph"] = graph_state(roles, edges=() if u is None else ((v, u),))
        added = 0 if Y is None else products_added(outer["graph"], X, Y)
        states["counters"] = {"products added": added}
    return states


def _starts(outer, planning, mode):
    """Return the plan of a mode, if it is made, and where its parts start, as far as known."""
    plan = outer.get({"paper": "paper", "columns": "plan"}[mode])
    if plan is not None:
        return plan, plan.starts
    return None, planning.get("starts") if planning.get("mode") == mode else None


def _parts(outer, planning):
    """Return the rows that show where the parts begin."""
    rows = {"cache line": [cell(c * WORD // LINE) for c in range(COLUMNS)]}
    for mode in MODES[::-1]:
        _, starts = _starts(outer, planning, mode)
        rows[f"part, {mode}"] = [cell(None)] * COLUMNS
        if starts is not None:
            rows[f"part, {mode}"] = [cell(i, i) for i in part_of(starts)]
    return rows


def _plans(outer, planning):
    """Yield a row for each plan."""
    for mode in MODES[::-1]:
        plan, starts = _starts(outer, planning, mode)
        known = planning if plan is None and planning.get("mode") == mode else {}
        widths = None if starts is None else " ".join(map(str, np.diff(starts)))
        parts = known.get("Q") if plan is None else len(starts) - 1
        rounds, fits = (None, known.get("fits")) if plan is None else plan[1:]
        yield [cell(value) for value in (mode, parts, widths, rounds, fits)]


def _order(outer, ordering, run):
    """Return the state of both orders; "now" stands at the part that is worked on."""
    shown = {"ipdps": outer.get("neighbours"), "jpdc": None}
    if "lanes" in run or "Y" in outer:
        shown["jpdc"] = partition_order(len(outer["plan"].starts) - 1, LANES)
    if ordering:
        shown[ordering["version"]] = ordering.get("order")
    if all(order is None for order in shown.values()):
        return {}
    rounds = max(len(order) for order in shown.values() if order is not None)
    rows = []
    for r in range(rounds):
        cells = [cell(r)]
        for version, order in shown.items():
            for lane in range(LANES):
                i = None if order is None else int(order[r, lane])
                now = version == "jpdc" and i in run.get("lanes", ()) and i == run.get("i")
                mark = "idle" if i == -1 else "now" if now else ""
                cells.append(cell(i, None if i == -1 else i, mark))
        rows.append(cells)
    return {"order": table_state(rows)}


def _place(run):
    """Return (part, v, u) as far as they are those of the work under way, not left over."""
    part, i, Y = run.get("part"), run.get("i"), run.get("Y")
    if part is None or part.start != run["starts"][i]:
        return None, None, None
    v, j, graph = run.get("v"), run.get("j"), run["graph"]
    if v is None or not Y[:v, part].all():
        return part, None, None
    begun = j is not None and graph.start[v] <= j < graph.end[v]
    return part, v, int(graph.indices[j]) if begun else None


def _values(X, Y, outer, part, u):
    """Return the rows that show what is read of X, and Y = A X so far."""
    parts = part_of(outer["plan"].starts) if "plan" in outer else np.zeros(COLUMNS, np.int64)
    read = [cell(None)] * COLUMNS
    if u is not None:
        here = range(part.start, part.stop)
        read = [
            cell(int(X[u, c]), parts[c], f"X[{u}]") if c in here else cell(None)
            for c in range(COLUMNS)
        ]
    rows = {"X[u]": read}
    for w in range(NODES):
        rows[f"Y[{w}]"] = [cell(None)] * COLUMNS
        if Y is not None:
            rows[f"Y[{w}]"] = [
                cell(int(y), i if y else None) for y, i in zip(Y[w], parts, strict=True)
            ]
    return rows


def products_added(graph, X, Y):
    """Return how many products are in Y so far: X is positive, so each makes a value larger."""
    total = 0
    for v in range(graph.n):
        sums = np.cumsum(X[graph.indices[graph.start[v] : graph.end[v]]], axis=0)
        total += int((sums <= Y[v]).sum())
    return total


PARTITION = Recipe(
    name="partition",
    title="Feature propagation in parts",
    algorithms=("jpdc21:7", "ipdps19:6"),
    functions={
        "refimpl.lab.apps.stepper.recipes.structure:propagate_in_parts": None,
        "refimpl.partition:partition_plan": None,
        "refimpl.partition:partition_order": None,
        "refimpl.partition:feature_propagate": None,
    },
    call=propagate_in_parts,
    view=view_partition,
    panels=(
        Panel(
            "array",
            "columns",
            "The columns in parts, what is read of X, and Y = A X so far",
            "A colour is a part. Those of mode paper differ by one column, may be one too wide for "
            "the cache, and end inside cache lines; those of mode columns do neither. X[u, c] is "
            "10 (u + 1) + c and all values of A are 1: Y[v] adds up the rows of v's neighbours.",
            wide=True,
        ),
        Panel(
            "table",
            "plans",
            "Two plans",
            "Q parts; fits says whether all rows of the widest part fit in a lane's cache.",
            {"columns": ["mode", "Q", "widths", "rounds", "fits"]},
        ),
        Panel(
            "counters",
            "counters",
            "Work",
            "8 entries times 9 columns make 72 products, however the columns are cut.",
        ),
        Panel(
            "table",
            "order",
            "The part of each lane by round",
            "In IPDPS'19 (I) the lanes of a round take neighbouring parts, in JPDC'21 (J) parts "
            "as far apart as there are rounds. A lane without a part is idle.",
            {"columns": ["round", "I lane 0", "I lane 1", "J lane 0", "J lane 1"]},
        ),
        Panel(
            "graph",
            "graph",
            "The graph",
            "Every part goes over the whole graph.",
            graph_picture(
                CORNERS,
                FRIENDS,
                {
                    "row": ("v", "its row of Y is added to"),
                    "source": ("u", "its row of X is read"),
                },
            ),
        ),
    ),
    about=f"X has {NODES} rows and {COLUMNS} columns of {WORD} bytes; {LANES} lanes have a cache "
    f"of {CACHE} bytes each, in lines of {LINE} bytes: room for two columns. First both plans and "
    "the order of IPDPS'19, then the product itself in the order of JPDC'21, the lanes one after "
    "another: no part depends on another.",
)

RECIPES = (TRANSPOSE, PARTITION)
