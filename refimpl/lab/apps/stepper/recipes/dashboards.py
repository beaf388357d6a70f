"""Steppers of the frontier sampler on the Dashboards of both papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from refimpl.lab.apps.stepper.course import ETA, SEED
from refimpl.lab.apps.stepper.recipe import Panel, Recipe, array_state, cell, table_state
from refimpl.lab.apps.stepper.recipes.samplers import (
    DRAWS,
    SAMPLE,
    SETTING,
    after_sampling,
    counters_panel,
    drawn_by,
    draws_state,
    graph_panel,
    known,
    nodes_state,
    roots_state,
)

if TYPE_CHECKING:
    from refimpl.lab.apps.stepper.recorder import Stack
    from refimpl.samplers.dashboard import SlotDashboard
    from refimpl.samplers.pin_tile import Dashboard


def moving_on_board(
    stack: Stack, run: dict[str, Any], board: SlotDashboard | Dashboard
) -> tuple[Any, Any]:
    """Return the node popped now and the node pushed now, each None if there is none."""
    pop = stack.within(f"{type(board).__name__}.pop_frontier")
    if pop:
        return pop.get("v_pop"), None
    between = stack[-1].variables is run and np.count_nonzero(board.IA_live) < run["m"]
    if between and run["main"].c - run["m"] == len(run["popped"]):  # no neighbour drawn yet
        return run["v_pop"], None
    return run.get("v_pop"), run.get("v_new")


def board_counters(board: object) -> dict[str, int]:
    """Return the state of the panel "counters" of a Dashboard."""
    names = {
        "probes": "probes",
        "cleanups": "clean-ups",
        "moved": "moved",
        "truncated": "truncated",
    }
    counts = getattr(board, "counts", dict.fromkeys(names, 0))
    return {"valid": getattr(board, "valid", 0)} | {names[name]: counts[name] for name in names}


def probed(pop: dict[str, Any], idx: str) -> dict[int, str]:
    """Return entry -> mark: where the pop under way, of these variables, probes now."""
    return {pop[idx]: "probe"} if pop and idx in pop else {}


def plain(value: Any) -> int | None:
    """Return a number of an array as it is drawn: None for the -1 where nobody owns the place."""
    return None if value == -1 else int(value)


def view_pin_tile(stack: Stack) -> dict[str, Any]:
    """Return the panel states of the recipe "pin_tile"."""
    run = stack.within("pin_tile")
    if not run:
        return after_sampling(stack)
    building = stack.within("Dashboard.__init__")
    board = building.get("self") if building else known(run, "board")
    draws = draws_state(stack)
    if board is None:
        return {"draws": draws, "graph": lambda: roots_state(run)}
    tiles = range(len(board.node)) if hasattr(board, "end") else ()
    columns = [getattr(board, name) for name in ("node", "start", "end", "slot") if tiles]
    return {
        "graph": lambda: tiles_on_graph(stack, run, board, tiles),
        "DB": lambda: array_state(**boards_of_pins(stack, board)),
        "IA": index_array(board, getattr(board, "cnt", None)),
        "tiles": table_state([cell(t, t), *(cell(int(a[t])) for a in columns)] for t in tiles),
        "draws": draws,
        "counters": board_counters(board),
    }


def tiles_on_graph(
    stack: Stack, run: dict[str, Any], board: Dashboard, tiles: Sequence[int]
) -> dict[str, Any]:
    """Return the state of the panel "graph": each node of the frontier with its tiles."""
    whole = hasattr(board, "counts")  # the constructor is through
    live = [t for t in tiles if not whole or t in board.DB]
    frontier = [int(board.node[t]) for t in live]
    notes: dict[int, str] = {}
    for t, v in zip(live, frontier, strict=True):
        notes[v] = f"{notes[v]}, {t}" if v in notes else f"tile {t}"
    now = moving_on_board(stack, run, board) if whole else (None, None)
    return nodes_state(frontier or run["FS"], run["Vs"], now, notes)


def boards_of_pins(stack: Stack, board: Dashboard) -> dict[str, list[list[Any]]]:
    """Return the rows of the Dashboard and, while it is cleaned up, of the new one."""
    pop, cleanup = stack.within("Dashboard.pop_frontier"), stack.within("Dashboard.cleanup")
    rows = {"DB": pins(getattr(board, "DB", ()), probed(pop, "idx"))}
    if cleanup and "DB_new" in cleanup:
        rows["DB_new"] = pins(cleanup["DB_new"], {})
    return rows


def pins(DB: Iterable[Any], marks: Mapping[int, str]) -> list[list[Any]]:
    """Return the cells of a Dashboard whose entries are tiles."""
    return [cell(plain(t), plain(t), marks.get(k, "")) for k, t in enumerate(DB)]


def index_array(board: Any, columns: int | None) -> list[list[Any]]:
    """Return the state of the panel "IA"; `columns` are in use, and the entry behind is marked."""
    rows = {}
    if hasattr(board, "IA_start"):
        starts = enumerate(board.IA_start)
        rows["start"] = [cell(int(k), mark="end" if i == columns else "") for i, k in starts]
    if hasattr(board, "IA_live"):
        rows["live"] = [cell("yes" if live else "no") for live in board.IA_live]
    if hasattr(board, "IA_tile"):
        rows["tile"] = [cell(plain(t), plain(t)) for t in board.IA_tile]
    return array_state(**rows)


class Unfinished:
    """The Dashboard of three slots while `first_dashboard` still fills its arrays."""

    DB: NDArray[Any]

    def __init__(self, variables: dict[str, Any]) -> None:
        for name in ("DB", "IA_start", "IA_live"):
            if (array := known(variables, name)) is not None:
                setattr(self, name, array)


def view_dashboard(stack: Stack) -> dict[str, Any]:
    """Return the panel states of the recipe "dashboard"."""
    run = stack.within("dashboard")
    if not run:
        return after_sampling(stack)
    first = stack.within("first_dashboard")
    board = Unfinished(first) if first else known(run, "board")
    draws = draws_state(stack)
    if board is None:
        return {"draws": draws, "graph": lambda: roots_state(run)}
    return {
        "graph": lambda: columns_on_graph(stack, run, board),
        "DB": lambda: array_state(**boards_of_slots(stack, board)),
        "IA": lambda: index_array(board, None if first else run.get("s", run["m"])),
        "draws": draws,
        "counters": board_counters(board),
    }


def columns_on_graph(
    stack: Stack, run: dict[str, Any], board: SlotDashboard | Unfinished
) -> dict[str, Any]:
    """Return the state of the panel "graph" of the Dashboard of three slots."""
    if isinstance(board, Unfinished):
        return nodes_state(run["FS"].tolist(), run["Vs"])
    frontier = np.unique(board.DB[0, board.DB[0] >= 0])
    return nodes_state(frontier, run["Vs"], moving_on_board(stack, run, board))


def boards_of_slots(stack: Stack, board: object) -> dict[str, list[list[Any]]]:
    """Return the rows of the Dashboard and, while it is cleaned up, of the new one."""
    pop, cleanup = stack.within("SlotDashboard.pop_frontier"), stack.within("SlotDashboard.cleanup")
    rows = slots(getattr(board, "DB", None), probed(pop, "idx_p"))
    return rows | slots(cleanup.get("DB_new"), {}, "new ")


def slots(
    DB: NDArray[Any] | None, marks: Mapping[int, str], prefix: str = ""
) -> dict[str, list[list[Any]]]:
    """Return the rows of a Dashboard of three slots; the cells of one column have one colour."""
    if DB is None:
        return {}
    owned = [int(i) if min(v, i) >= 0 else None for v, i in zip(DB[0], DB[2], strict=True)]
    rows = {}
    for name, row in zip(("node", "offset", "column"), DB, strict=True):
        shown = [int(x) if i is not None else plain(x) for x, i in zip(row, owned, strict=True)]
        rows[prefix + name] = [
            cell(x, i, marks.get(k, "") if name == "node" else "")
            for k, (x, i) in enumerate(zip(shown, owned, strict=True))
        ]
    return rows


RECIPES = (
    Recipe(
        "dashboard",
        "Frontier sampling on the Dashboard with three slots an entry",
        ("ipdps19:3", "ipdps19:4"),
        {
            "refimpl.samplers.dashboard:dashboard": "ipdps19:3",
            "refimpl.samplers.dashboard:first_dashboard": "ipdps19:3",
            "refimpl.samplers.dashboard:SlotDashboard": "ipdps19:4",
            SAMPLE: None,
        },
        drawn_by("dashboard", eta=ETA),
        view_dashboard,
        (
            graph_panel(),
            counters_panel("entries in use, probes, clean-ups, entries moved, nodes truncated"),
            DRAWS,
            Panel(
                "array",
                "DB",
                "Dashboard DB",
                "Each entry has a node, an offset to the first entry of the node (there, minus "
                "how many entries it has) and a column of the index array. A dot: nobody's. "
                "Cells of one column of the index array have one colour.",
                wide=True,
            ),
            Panel(
                "array",
                "IA",
                "Index array IA",
                "Where the entries of each column begin, and whether its node is still in the "
                "frontier. Columns up to the mark end are in use.",
                wide=True,
            ),
        ),
        f"{SETTING} A node of degree k owns k entries, so a probe that hits an entry hits each "
        f"node in proportion to its degree. With eta = {ETA:g} the Dashboard has 8 entries: "
        "in step 2 it is full and has to be cleaned up.",
        SEED,
    ),
    Recipe(
        "pin_tile",
        "Frontier sampling on the pin-and-tile Dashboard",
        ("jpdc21:3", "jpdc21:4"),
        {
            "refimpl.samplers.pin_tile:pin_tile": "jpdc21:3",
            "refimpl.samplers.pin_tile:Dashboard": "jpdc21:4",
            SAMPLE: None,
        },
        drawn_by("pin_tile", eta=ETA),
        view_pin_tile,
        (
            graph_panel(),
            counters_panel("pins in use, probes, clean-ups, pins moved, nodes truncated"),
            Panel(
                "table",
                "tiles",
                "Tiles",
                "A tile is what the pins of one frontier node share: the node, where its pins "
                "start and end, and its column of the index array.",
                {"columns": ["tile", "node", "start", "end", "slot"]},
            ),
            Panel(
                "array",
                "DB",
                "Dashboard DB",
                "Each entry is a pin: the number of a tile, or a dot where nobody owns it. Pins "
                "of one tile have one colour.",
                wide=True,
            ),
            Panel(
                "array",
                "IA",
                "Index array IA",
                "Where the pins of each column begin, whether its node is still in the frontier, "
                "and its tile. Columns up to the mark end are in use.",
                wide=True,
            ),
            DRAWS,
        ),
        f"{SETTING} A node of degree k owns k pins, so a probe that hits a pin hits each node in "
        "proportion to its degree. Moving a node rewrites one tile, not every entry. With "
        f"eta = {ETA:g} the Dashboard has 8 entries: in step 2 it is full and has to be cleaned "
        "up.",
        SEED,
    ),
)
