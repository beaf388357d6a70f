"""Frontier sampling on a Dashboard: with three slots an entry, and with pins and tiles.

Both forms give the same sample and the same counters, so they share their cases; what differs is
the states: the first is the Dashboard of the roots, the others are those after each step.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Kernel, flagged
from refimpl.lab.apps.conformance.cases import samplers
from refimpl.lab.apps.conformance.cases.samplers import options
from refimpl.lab.apps.conformance.graphs import LOOPS, MIXED, PAIR, STAR
from refimpl.lab.apps.conformance.inputs import changed
from refimpl.lab.apps.conformance.worked import worked
from refimpl.lab.apps.stepper.recorder import Stack, record
from refimpl.samplers.dashboard import dashboard
from refimpl.samplers.pin_tile import pin_tile

HAND = worked("dashboards")

FLAGS = {
    **samplers.FLAGS,
    "CLEANUP": "What is pushed does not fit behind the last column: the live ones move up first.",
    "FITS": "A weight equal to the number of free entries: the node fits, so there is no clean-up. "
    "Only a weight above that number needs one (weight > free, not weight >= free).",
    "GROW": "It does not fit after a clean-up either: the Dashboard is doubled until it does.",
    "LEFT_TO_RIGHT": "eta m d is above 9 from left to right, and 9 in any other order.",
    "MISS": "A probe hits an entry that nobody owns, and another is drawn.",
    "ONE_SHORT": "A weight of one more than the free entries: a clean-up comes first. The printed "
    "test, with its + 1, makes none (E-B8).",
    "ROUNDS": "Probes are counted in rounds of `lanes`, each step from a new round.",
    "TRUNCATE": "It does not fit after a clean-up either: the node gets what is left (E-B22).",
    "USED": "Probes fall on the entries in front of the end of the last column only.",
    "WIDE_ROOTS": "The roots have more entries than eta m d: the Dashboard is as long (E-B9).",
}
OPTIONS = (
    Case("pair_narrow", options(PAIR, 1, 2, 2, 9, eta=1.01), ("CLEANUP",)),
    Case("wide_roots", options(STAR, 3, 4, 2, 9, eta=1.1), ("HUB", "WIDE_ROOTS", "CLEANUP")),
    Case("used_mixed", options(MIXED, 7, 4, 3, 12, probe_range="used"), ("USED", "ISOLATED")),
    Case("truncate_loops", options(LOOPS, 3, 4, 1, 9, eta=1.01), ("ISOLATED", "TRUNCATE")),
    Case(
        "grow_mixed",
        options(MIXED, 3, 4, 1, 10, eta=1.2, overflow="grow", lanes=1),
        ("GROW", "ROUNDS", "ISOLATED"),
    ),
    Case(
        "cap_and_popped",
        options(STAR, 6, 5, 2, 8, eta=1.3, deg_cap=3, include="popped", lanes=3),
        ("HUB", "DEG_CAP", "POPPED", "ROUNDS"),
    ),
    *changed(
        {
            "eta_1": {"eta": 1.0},
            "eta_infinite": {"eta": float("inf")},
            "eta_nan": {"eta": float("nan")},
            "eta_too_long": {"eta": 1e12},
            "eta_just_too_long": {"graph": PAIR, "eta": 2.0**32},
            "no_lanes": {"lanes": 0},
            "wide_lanes": {"lanes": 2**31},
            "unknown_range": {"probe_range": "all"},
            "range_null": {"probe_range": None},
            "unknown_overflow": {"overflow": "drop"},
            "overflow_true": {"overflow": True},
        },
        samplers.SMALL,
        "value",
    ),
    *changed(
        {
            "eta_null": {"eta": None},
            "eta_true": {"eta": True},
            "real_lanes": {"lanes": 8.0},
            "true_lanes": {"lanes": True},
        },
        samplers.SMALL,
        "type",
    ),
)
CASES = flagged(
    (*HAND["dashboard"], *samplers.generated(), *OPTIONS, *samplers.ERRORS),
    FITS="second_column_moves used loops_and_isolated hub_capped mixed_capped keys_at_the_end "
    "pair_narrow",
    ONE_SHORT="second_column_moves miss truncate used loops_and_isolated hub hub_capped "
    "mixed_capped popped keys_at_the_end pair_narrow wide_roots truncate_loops grow_mixed "
    "cap_and_popped",
)

Variables: TypeAlias = dict[str, Any]  # of a call of the kernel


def states_of(
    kernel: Callable[..., object],
    place: str,
    ready: str,
    state: Callable[[Variables], dict[str, Any]],
) -> Callable[..., list[dict[str, Any]]]:
    """Return a function of the arguments that lists ``state(variables)`` before and after steps.

    `ready` is the local variable of the kernel that is the last to be set before the first step.
    """

    def states(**arguments: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def view(stack: Stack) -> dict[str, Any]:
            seen = stack[0].variables
            if ready in seen and len(seen["pushed"]) == len(found):
                found.append({**state(seen), "sample": sorted(seen["Vs"])})
            return {}

        record(lambda: kernel(**arguments), [place], view)
        return found

    return states


def slots(seen: Variables) -> dict[str, Any]:
    """Return a Dashboard of three slots an entry; those of free entries as -1, 0 and -1."""
    board, s = seen["board"], seen["s"]
    node, offset, column = board.DB
    return {
        "node": node.tolist(),
        "offset": np.where(node >= 0, offset, 0).tolist(),
        "column": np.where(node >= 0, column, -1).tolist(),
        "IA_start": board.IA_start[: s + 1].tolist(),
        "IA_live": board.IA_live[:s].tolist(),
    }


def tiles(seen: Variables) -> dict[str, Any]:
    """Return a Dashboard of pins, its columns (the tile of a dead one as -1) and its tiles."""
    board = seen["board"]
    live = board.IA_live[: board.cnt]
    return {
        "DB": board.DB.tolist(),
        "IA_start": board.IA_start[: board.cnt + 1].tolist(),
        "IA_live": live.tolist(),
        "IA_tile": np.where(live, board.IA_tile[: board.cnt], -1).tolist(),
        **{name: getattr(board, name).tolist() for name in ("node", "start", "end", "slot")},
    }


KERNELS = (
    Kernel(
        "dashboard",
        "ipdps19",
        "Algorithms 3 and 4",
        CASES,
        flags=FLAGS,
        states=states_of(dashboard, "refimpl.samplers.dashboard:dashboard", "s", slots),
    ),
    Kernel(
        "pin_tile",
        "jpdc21",
        "Algorithms 3 and 4",
        CASES,
        flags=FLAGS,
        states=states_of(pin_tile, "refimpl.samplers.pin_tile:pin_tile", "board", tiles),
    ),
)
