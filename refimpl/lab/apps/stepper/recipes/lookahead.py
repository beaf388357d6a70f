"""The cache of feature rows that looks ahead: which row makes room for which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl.lab.apps.stepper.recipe import Panel, Recipe, array_state, cell, table_state
from refimpl.loader.lookahead import FREE, Reads, RowCache, window_of

if TYPE_CHECKING:
    from refimpl.hints import Positions
    from refimpl.lab.apps.stepper.recorder import Stack
    from refimpl.loader.lookahead import Window

MINIBATCHES = [[0, 1], [2, 3], [4, 5], [4], [1, 6], [7], [0, 8], [3], [4, 0], [5, 2]]
WINDOW, ROWS, SLOTS = 2, 9, 7  # minibatches of a window; rows of the file; slots of the cache


def read_windows(seed: object) -> tuple[Positions, list[Reads]]:
    """Return the row in each slot after five windows, and what each window reads.

    One window behind the present one is known. Nothing is random: `seed` is there as in the other
    recipes.
    """
    cache, reads = RowCache(ROWS, SLOTS), []
    begins = range(0, len(MINIBATCHES), WINDOW)
    windows = [window_of([*map(np.array, MINIBATCHES[b : b + WINDOW])], b) for b in begins]
    for k, window in enumerate(windows):
        pinned = windows[k - 1] if k else None
        reads.append(cache.plan(window, pinned, windows[k + 1 : k + 2]))
    return cache.row_in, reads


def view_lookahead(stack: Stack) -> dict[str, Any]:
    """Return the states of the panels of `LOOKAHEAD`."""
    run = stack.within("read_windows")
    if "windows" not in run or "reads" not in run:
        return {}
    plan, room = stack.within("RowCache.plan"), stack.within("RowCache._room")
    return {
        "windows": lambda: table_state(windows_rows(run)),
        "slots": lambda: array_state(**slots_rows(run["cache"], plan, room, run["windows"])),
        "counters": lambda: {
            "rows asked for": sum(len(one.rows) for one in run["windows"][: len(run["reads"])]),
            "rows read": sum(len(one.rows) for one in run["reads"]),
        },
    }


def windows_rows(run: dict[str, Any]) -> list[list[list[Any]]]:
    """Return a row for each window: its minibatches, its rows, and what it is now."""
    now = run.get("k", -1)
    what = {now - 1: "pinned", now: "present", now + 1: "known"} if "k" in run else {}
    return [
        [
            cell(f"{k * WINDOW} and {k * WINDOW + 1}", mark=what.get(k, "")),
            cell(" ".join(map(str, window.rows))),
            cell(" ".join(map(str, run["reads"][k].rows)) if k < len(run["reads"]) else None),
        ]
        for k, window in enumerate(run["windows"])
    ]


def slots_rows(
    cache: RowCache, plan: dict[str, Any], room: dict[str, Any], windows: list[Window]
) -> dict[str, list[list[Any]]]:
    """Return what is in each slot, and its next use while room is made."""
    new = plan["slots"].tolist() if "slots" in plan else []
    rows = {
        "row in slot": [
            cell(row, row, "gets a row" if s in new else "")
            for s, row in enumerate(None if row == FREE else row for row in cache.row_in.tolist())
        ]
    }
    if "held" in room:
        uses: list[Any] = [
            "free" if used == FREE else f"unknown ({windows[used].end})"
            for used in cache.used.tolist()
        ]
        for window, slots in zip(room["windows"], room["held"], strict=True):
            for slot, first in zip(slots.tolist(), window.first.tolist(), strict=True):
                if slot != FREE:
                    uses[slot] = first
        rows["next use"] = [cell(use) for use in uses]
    return rows


LOOKAHEAD = Recipe(
    name="lookahead",
    seed=None,
    title="Look-ahead and Belady's rule",
    algorithms=(),
    functions={
        "refimpl.lab.apps.stepper.recipes.lookahead:read_windows": None,
        "refimpl.loader.lookahead:RowCache.plan": None,
        "refimpl.loader.lookahead:RowCache._room": None,
    },
    call=read_windows,
    view=view_lookahead,
    panels=(
        Panel(
            "table",
            "windows",
            "The windows of two minibatches",
            "Rows of the present window and of the pinned one, which training still reads, stay. "
            "The known window tells when its rows are used next.",
            {"columns": ["minibatches", "rows", "read"]},
        ),
        Panel(
            "array",
            "slots",
            "The slots of the cache",
            "A next use is a minibatch; unknown (2): the row was last used before minibatch 2. The "
            "farthest next use makes room: a free slot first, then the unknown use that is longest "
            "ago, then the largest number.",
            wide=True,
        ),
        Panel(
            "counters",
            "counters",
            "Rows",
            "A row that a window asks for and the cache holds is not read.",
        ),
    ),
    about="Not in the papers: Belady (1966). Five windows of two minibatches ask for rows of a "
    "file; the cache has seven slots. The third window evicts row 2, because the next window "
    "needs rows 0 and 3. The fourth evicts row 5, which is used later than row 4.",
)

RECIPES = (LOOKAHEAD,)
