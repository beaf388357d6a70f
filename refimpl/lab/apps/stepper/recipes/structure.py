"""Transposing by permutation, and feature propagation in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refimpl.adjacency import row_norm
from refimpl.graph import Graph, transpose_perm
from refimpl.hints import Absent, Ids, Int, Positions
from refimpl.lab.apps.stepper.course import EDGES, PLACES, six_nodes
from refimpl.lab.apps.stepper.recipe import (
    Panel,
    Recipe,
    array_state,
    cell,
    graph_picture,
    graph_state,
    table_state,
)
from refimpl.partition import MODES, Partition, feature_propagate, partition_order, partition_plan

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.recorder import Stack

Variables: TypeAlias = Any  # those of a call, by name
Rows: TypeAlias = dict[str, list[list[Any]]]  # of cells

FIRST_VALUE = 10  # of the matrix whose transpose is shown: no value can be taken for a position


def transpose_and_back(seed: object) -> tuple[Ids, NDArray[Any], NDArray[Any]]:
    """Return the permutation of the six nodes' graph, and values transposed once and twice.

    Nothing is random: `seed` is there as in the other recipes.
    """
    graph = six_nodes()
    data = np.arange(FIRST_VALUE, FIRST_VALUE + graph.e)
    perm = transpose_perm(graph)
    data_t = data[perm]
    return perm, data_t, data_t[perm]


def view_transpose(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `TRANSPOSE`."""
    graph = stack.local("graph")
    if graph is None or ("data" not in stack[0].variables and stack[0].name != "transpose_perm"):
        return {}
    run = stack.within("transpose_perm")
    perm = stack.local("perm", np.full(graph.e, -1))
    return {
        "entries": lambda: matrix_state(graph, run, perm),
        "counters": {"entries placed": int((perm >= 0).sum())},
        "pointers": lambda: pointers_state(graph, run.get("ptr")),
        "graph": lambda: entry_on_graph(run, under_way(graph, run)),
    }


def under_way(graph: Graph, run: Variables) -> int | None:
    """Return the entry that is read now, None between two rows; see `view_transpose`."""
    v, j = run.get("v"), run.get("j")
    return j if j is not None and graph.indptr[v] <= j < graph.indptr[v + 1] else None


def matrix_state(graph: Graph, run: Variables, perm: NDArray[Any]) -> list[list[Any]]:
    """Return the state of the panel "entries"."""
    moved = perm >= 0
    row = np.repeat(np.arange(graph.n), graph.degrees())
    j, ptr, fill = under_way(graph, run), run.get("ptr"), {}
    if ptr is not None:
        fill = {int(k): f"ptr {w}" for w, k in enumerate(ptr) if k < graph.indptr[w + 1]}
    entries = range(graph.e)
    value = [FIRST_VALUE + k for k in entries]
    return array_state(
        **{
            "row v": [cell(row[k], row[k]) for k in entries],
            "column u": [cell(w, w, "j" if k == j else "") for k, w in enumerate(graph.indices)],
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
    )


def pointers_state(graph: Graph, ptr: Positions | None) -> list[list[Any]]:
    """Return the state of the panel "pointers"."""
    rows = {"indptr": [cell(k) for k in graph.indptr]}
    if ptr is not None:
        full = ptr == graph.indptr[1:]
        rows["ptr"] = [cell(k, w, "full" if full[w] else "") for w, k in enumerate(ptr)]
    return array_state(**rows)


def entry_on_graph(run: Variables, j: int | None) -> dict[str, Any]:
    """Return the state of the panel "graph": the row that is read, and the column of entry j."""
    v, u = run.get("v"), run.get("u")
    moving = j is not None and u == run["graph"].indices[j]
    roles = {} if v is None else {v: "row"}
    if moving:
        roles[int(u)] = "column"
    return graph_state(roles, edges=[(v, u)] if moving else [])


TRANSPOSE = Recipe(
    name="transpose",
    seed=None,
    title="Transpose by permuting values",
    algorithms=("jpdc21:6",),
    functions={
        "refimpl.lab.apps.stepper.recipes.structure:transpose_and_back": None,
        "refimpl.graph.transpose:transpose_perm": "jpdc21:6",
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
            "Rows are read in ascending order, so each row of A^T is filled in ascending order "
            "too: nothing is sorted.",
            graph_picture(
                PLACES,
                EDGES,
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
    about="A has the pattern of the six nodes and the values 10 to 21. The graph is undirected, so "
    "A^T has the same rows and columns, and only the values move. Follow the three values of row "
    "0: they lie together in A, and one in each neighbour's row in A^T. The permutation is its "
    "own inverse: applied twice, it gives A back.",
)

COLUMNS, LANES, CACHE, WORD = 6, 3, 48, 8
ORDERS = "ipdps", "jpdc", "five"  # columns of the table of orders


def propagate_in_parts(
    seed: object,
) -> tuple[Partition, Partition, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the plans, the orders and A X of the worked example: 6 nodes, 6 columns, 3 lanes.

    Nothing is random: `seed` is there as in the other recipes.
    """
    graph, p = six_nodes(), LANES
    n, f = graph.n, COLUMNS
    paper = partition_plan(n, f, p, CACHE, mode="paper")
    plan = partition_plan(n, f, p, CACHE)
    neighbours = partition_order(6, p, version="ipdps")
    five = partition_order(5, p)
    A = row_norm(graph)
    X = np.arange(36.0).reshape(6, 6)
    Y = feature_propagate(graph, A.data, X, plan, p)
    return paper, plan, neighbours, five, Y


def part_of(starts: Positions) -> Positions:
    """Return which part each column is in."""
    return np.searchsorted(starts, np.arange(COLUMNS), side="right") - 1


def view_partition(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `PARTITION`."""
    outer = stack.within("propagate_in_parts")
    planning = stack.within("partition_plan")
    run = stack.within("feature_propagate")
    return {
        "order": lambda: _order(outer, stack.within("partition_order"), run),
        "plans": lambda: table_state([*_plans(outer, planning)]),
        "columns": lambda: array_state(**_parts(outer, planning), **_values(outer, run)),
        "graph": lambda: _part_on_graph(run) if "graph" in outer else None,
        "counters": lambda: (
            {"entries read": entries_read(outer, run)} if "graph" in outer else None
        ),
    }


def _part_on_graph(run: Variables) -> dict[str, Any]:
    """Return the state of the panel "graph": the row that is added to, and its source."""
    _, v, u = _place(run)
    roles = {node: role for node, role in ((v, "row"), (u, "source")) if node is not None}
    return graph_state(roles, edges=() if u is None else ((v, u),))


def entries_read(outer: Variables, run: Variables) -> Int | Any:
    """Return how many entries of the graph have been read, over all parts so far."""
    graph = outer["graph"]
    if "lanes" not in run:
        return graph.e * (len(outer["plan"].starts) - 1) if "Y" in outer else 0
    order = partition_order(len(run["starts"]) - 1, LANES)
    before = order[order >= 0].tolist().index(run["i"]) if "i" in run else 0
    part, v, u = _place(run)
    if part is None or v is None:
        return graph.e * before
    return graph.e * before + (graph.start[v] if u is None else run["j"] + 1)


def _starts(
    outer: Variables, planning: Variables, mode: str
) -> tuple[Partition | None, Positions | Absent]:
    """Return the plan of a mode, if it is made, and where its parts start, as far as known."""
    plan = outer.get({"paper": "paper", "columns": "plan"}[mode])
    if plan is not None:
        return plan, plan.starts
    return None, planning.get("starts") if planning.get("mode") == mode else None


def _parts(outer: Variables, planning: Variables) -> Rows:
    """Return the rows that show where the parts begin."""
    rows = {}
    for mode in MODES[::-1]:
        _, starts = _starts(outer, planning, mode)
        rows[f"part, {mode}"] = [cell(None)] * COLUMNS
        if starts is not None:
            rows[f"part, {mode}"] = [cell(i, i) for i in part_of(starts)]
    return rows


def _plans(outer: Variables, planning: Variables) -> Iterator[list[list[Any]]]:
    """Yield a row for each plan."""
    for mode in MODES[::-1]:
        plan, starts = _starts(outer, planning, mode)
        known = planning if plan is None and planning.get("mode") == mode else {}
        widths = None if starts is None else " ".join(map(str, np.diff(starts)))
        parts = known.get("Q") if plan is None else len(starts) - 1
        rounds, fits = (None, known.get("fits")) if plan is None else plan[1:]
        yield [cell(value) for value in (mode, parts, widths, rounds, fits)]


def _order(outer: Variables, ordering: Variables, run: Variables) -> list[list[list[Any]]]:
    """Return the state of the orders; "now" stands at the part that is worked on."""
    shown = {
        name: outer.get(variable) for name, variable in (("ipdps", "neighbours"), ("five", "five"))
    }
    shown["jpdc"] = None
    if "lanes" in run or "Y" in outer:
        shown["jpdc"] = partition_order(len(outer["plan"].starts) - 1, LANES)
    if ordering:
        shown["five" if ordering["Q"] == 5 else ordering["version"]] = ordering.get("order")
    rows = []
    for r in range(2):
        cells = [cell(r)]
        for name in ORDERS:
            for lane in range(LANES):
                i = None if shown[name] is None else int(shown[name][r, lane])
                now = name == "jpdc" and i in run.get("lanes", ()) and i == run.get("i")
                mark = "idle" if i == -1 else "now" if now else ""
                cells.append(cell(i, None if i == -1 else i, mark))
        rows.append(cells)
    return table_state(rows)


def _place(run: Variables) -> tuple[Any, Any, Any]:
    """Return (part, v, u) as far as they are those of the work under way, not left over."""
    part, i, Y = run.get("part"), run.get("i"), run.get("Y")
    if part is None or part.start != run["starts"][i]:
        return None, None, None
    v, j, graph = run.get("v"), run.get("j"), run["graph"]
    if v is None or not Y[:v, part].all():
        return part, None, None
    begun = j is not None and graph.start[v] <= j < graph.end[v]
    return part, v, int(graph.indices[j]) if begun else None


def _values(outer: Variables, run: Variables) -> Rows:
    """Return the rows that show what is read of X, and Y = A X so far."""
    part, _, u = _place(run)
    X, Y = outer.get("X"), run.get("Y", outer.get("Y"))
    parts = part_of(outer["plan"].starts) if "plan" in outer else np.zeros(COLUMNS, np.int64)
    read = [cell(None)] * COLUMNS
    if u is not None:
        here = range(part.start, part.stop)
        read = [
            cell(f"{X[u, c]:g}", parts[c], f"X[{u}]") if c in here else cell(None)
            for c in range(COLUMNS)
        ]
    rows = {"X[u]": read}
    for w in range(outer.get("n", 0)):
        rows[f"Y[{w}]"] = [cell(None)] * COLUMNS
        if Y is not None:
            rows[f"Y[{w}]"] = [
                cell(f"{y:.4g}", i if y else None) for y, i in zip(Y[w], parts, strict=True)
            ]
    return rows


PARTITION = Recipe(
    name="partition",
    seed=None,
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
            "The columns: their parts, what is read of X, and Y so far",
            "A colour is a part. X[u, c] is 6 u + c, and A takes the mean: Y[v] is the mean of the "
            "rows of v's neighbours.",
            wide=True,
        ),
        Panel(
            "graph",
            "graph",
            "The graph",
            "Every part goes over the whole graph.",
            graph_picture(
                PLACES,
                EDGES,
                {
                    "row": ("v", "its row of Y is added to"),
                    "source": ("u", "its row of X is read"),
                },
            ),
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
            "The graph has 12 entries, and each part reads all of them: 6 parts make 72.",
        ),
        Panel(
            "table",
            "order",
            "The part of each lane by round",
            "In IPDPS'19 (I) the lanes of a round take neighbouring parts, in JPDC'21 (J) parts "
            "as far apart as there are rounds. With five parts (J5) one lane is idle.",
            {
                "columns": [
                    "round",
                    *(f"{name} lane {lane}" for name in ("I", "J", "J5") for lane in range(LANES)),
                ]
            },
            wide=True,
        ),
    ),
    about=f"The six nodes, with {COLUMNS} columns of {WORD} bytes; {LANES} lanes have a cache of "
    f"{CACHE} bytes each: room for one column. First both plans, the order of IPDPS'19 and one of "
    "five parts, then the product itself in the order of JPDC'21, the lanes one after another: no "
    "part depends on another.",
)

RECIPES = (TRANSPOSE, PARTITION)
