"""Frontier sampling on a Dashboard: with three slots an entry, and with pins and tiles.

Both forms give the same sample and the same counters, so they share their cases; what differs is
the states: the first is the Dashboard of the roots, the others are those after each step. The
working of a case writes the Dashboard as the node that owns each entry, and a point where nobody
does.
"""

import numpy as np

from refimpl.graph import Counters
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.cases import samplers
from refimpl.lab.apps.conformance.cases.samplers import options
from refimpl.lab.apps.conformance.graphs import (
    LOOP,
    LOOPS,
    MIXED,
    PAIR,
    PATH6,
    PAW,
    STAR,
    ids,
)
from refimpl.lab.apps.conformance.inputs import changed
from refimpl.lab.apps.stepper.recorder import record
from refimpl.samplers.dashboard import dashboard
from refimpl.samplers.nodes import NodeSample
from refimpl.samplers.pin_tile import pin_tile

FLAGS = {
    **samplers.FLAGS,
    "CLEANUP": "What is pushed does not fit behind the last column: the live ones move up first.",
    "GROW": "It does not fit after a clean-up either: the Dashboard is doubled until it does.",
    "LEFT_TO_RIGHT": "eta m d is above 9 from left to right, and 9 in any other order.",
    "MISS": "A probe hits an entry that nobody owns, and another is drawn.",
    "ROUNDS": "Probes are counted in rounds of `lanes`, each step from a new round.",
    "TRUNCATE": "It does not fit after a clean-up either: the node gets what is left (E-B22).",
    "USED": "Probes fall on the entries in front of the end of the last column only.",
    "WIDE_ROOTS": "The roots have more entries than eta m d: the Dashboard is as long (E-B9).",
}
WORKED = (
    Case(
        "second_column_moves",
        options(PAW, 3, 5, 2, 6, eta=1.25),
        ("WORKED", "CLEANUP"),
        NodeSample(
            ids(0, 1, 2, 3),
            ids(0, 2, 0, 3),
            ids(2, 0, 1, 2),
            Counters(4, 4, 4, 3, 4, 0, 8, 10, capacity=5, draws=6),
        ),
        "Degrees 2 2 3 1, mean 2: 1.25 x 2 x 2 = 5 entries. Draws of main: .1135 .7003 .6130 "
        ".0729 .2164 .6362; of probe: .3868 .7523 .2327 .0993. Roots: floor(.1135 x 4) = 0 takes "
        "0, 1 + floor(.7003 x 3) = 3 takes 3: entries 0 0 3 . . in columns from 0 and 2. Step 1: "
        "entry floor(.3868 x 5) = 1 is of 0, its neighbour floor(.6130 x 2) = 1 is 2, of degree "
        "3, and 2 entries are free: clean-up, 1 entry moves; 3 2 2 2 . Step 2: entry "
        "floor(.7523 x 5) = 3 is of 2, neighbour floor(.0729 x 3) = 0 is 0, of degree 2, and 1 "
        "entry is free: clean-up, 1 entry moves (to where it was); 3 0 0 . . Step 3: entry "
        "floor(.2327 x 5) = 1 is of 0, neighbour floor(.2164 x 2) = 0 is 1, of degree 2, and 2 "
        "entries are free; 3 . . 1 1 with a dead column from 1 to 3. Step 4: entry floor(.0993 x "
        "5) = 0 is of 3, its neighbour is 2, and nothing is free: clean-up, 2 entries move; "
        "1 1 2 2 2. Each probe hits: 4. Degrees left: 2 + 3 + 2 + 1; reached: 3 + 2 + 2 + 3.",
    ),
    Case(
        "miss",
        options(PAW, 3, 1, 2, 5, eta=1.25),
        ("WORKED", "CLEANUP", "MISS"),
        NodeSample(
            ids(0, 1, 2, 3),
            ids(3, 2, 0),
            ids(2, 0, 1),
            Counters(3, 4, 3, 3, 6, 0, 6, 7, capacity=5, draws=5),
        ),
        "As above, 0 0 3 . . at first; draws of probe: .5666 .7458 .9710 .4444. Step 1: entry "
        "floor(.5666 x 5) = 2 is of 3, its neighbour is 2, of degree 3, and 2 entries are free: "
        "clean-up, 2 entries move; 0 0 2 2 2. Step 2: entry floor(.7458 x 5) = 3 is of 2, "
        "neighbour floor(.0729 x 3) = 0 is 0, nothing is free: 2 entries move; 0 0 0 0 . in "
        "columns from 0 and 2. Step 3: entry floor(.9710 x 5) = 4 is nobody's; floor(.4444 x 5) "
        "= 2 is of the second 0. Neighbour floor(.2164 x 2) = 0 is 1, of degree 2, and 1 entry "
        "is free: 2 entries move; 0 0 1 1 . Probes 1 + 1 + 2, in one round of 8 each.",
    ),
    Case(
        "truncate",
        options(STAR, 1, 3, 1, 3, eta=1.5),
        ("WORKED", "HUB", "CLEANUP", "TRUNCATE"),
        NodeSample(
            ids(0, 4, 7),
            ids(4, 0),
            ids(0, 7),
            Counters(2, 2, 2, 2, 0, 1, 8, 8, capacity=3, draws=3),
        ),
        "Node 0 has degree 7, the others 1, mean 14 / 8: 1.5 x 1.75 = 2.625, 3 entries. Draws of "
        "main: .5666 .7458 .9710; of probe: .1135 .7003. The root is floor(.5666 x 8) = 4: 4 . . "
        "Step 1: entry floor(.1135 x 3) = 0 is of 4, its neighbour is 0, of degree 7, and 2 "
        "entries are free: clean-up, nothing is live. 3 are free now, too few still: 0 gets 3 "
        "entries; 0 0 0. Step 2: entry floor(.7003 x 3) = 2, neighbour floor(.9710 x 7) = 6 of "
        "0 is node 7, nothing is free: clean-up, nothing is live; 7 . .",
    ),
    Case(
        "grow",
        options(STAR, 1, 3, 1, 3, eta=1.5, overflow="grow", lanes=2),
        ("WORKED", "HUB", "CLEANUP", "GROW", "MISS", "ROUNDS"),
        NodeSample(
            ids(0, 4, 7),
            ids(4, 0),
            ids(0, 7),
            Counters(2, 4, 3, 1, 0, 0, 8, 8, capacity=12, draws=3),
        ),
        "As above up to the 3 entries that are free after the clean-up: the Dashboard is doubled "
        "to 6, and to 12; 0 0 0 0 0 0 0 and 5 points. Step 2, draws of probe from the second "
        "on: .7003 .6130 .0729. Entries floor(.7003 x 12) = 8 and floor(.6130 x 12) = 7 are "
        "nobody's, floor(.0729 x 12) = 0 is of 0. 5 entries are free, so 7 gets entry 7. Probes "
        "1 + 3, in rounds of two: 1 + 2.",
    ),
    Case(
        "used",
        options(LOOP, 9, 3, 1, 4, probe_range="used"),
        ("WORKED", "ONE_NODE", "USED", "CLEANUP"),
        NodeSample(
            ids(0),
            ids(0, 0, 0),
            ids(0, 0, 0),
            Counters(3, 3, 3, 1, 0, 0, 3, 3, capacity=2, draws=4),
        ),
        "One node of degree 1: 2 x 1 x 1 = 2 entries. Draws of probe: .1135 .7003 .6130. Step 1: "
        "one entry is used, so it is hit; the new one stands behind it: . 0. Step 2: two are "
        "used, floor(.7003 x 2) = 1 is hit; nothing is free: clean-up, nothing is live; 0 . "
        "Step 3: one is used and hit; . 0.",
    ),
    Case(
        "left_to_right",
        options(PATH6, 3, 1, 3, 3, eta=1.8),
        ("WORKED", "LEFT_TO_RIGHT"),
        NodeSample(ids(0, 1, 4), ids(), ids(), Counters(capacity=10, draws=3)),
        "Degrees 1 2 2 2 2 1, mean 10 / 6. In float64, 1.8 x 3 is a little above 5.4, and that "
        "times 10 / 6 a little above 9: 10 entries. 3 x 10 / 6 is 5, and 1.8 x 5 is 9. Draws of "
        "main: .1135 .7003 .6130. Of 0 to 5, floor(.1135 x 6) = 0 takes 0; 1 + floor(.7003 x 5) "
        "= 4 takes 4, and 1 moves to its place; 2 + floor(.6130 x 4) = 4 takes that 1.",
    ),
    samplers.ISOLATED_ROOTS._replace(
        result=NodeSample(ids(0, 1, 2), ids(), ids(), Counters(draws=3)),
        working=samplers.ISOLATED_ROOTS.working + " The mean degree is 0, and so is the capacity.",
    ),
)
OPTIONS = (
    Case("pair_narrow", options(PAIR, 1, 2, 2, 9, eta=1.01), ("CLEANUP",)),
    Case("wide_roots", options(STAR, 3, 4, 2, 9, eta=1.1), ("HUB", "WIDE_ROOTS", "CLEANUP")),
    Case("used_mixed", options(MIXED, 7, 4, 3, 12, probe_range="used"), ("USED", "ISOLATED")),
    Case(
        "truncate_loops",
        options(LOOPS, 3, 4, 1, 9, eta=1.01),
        ("ISOLATED", "TRUNCATE"),
    ),
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
CASES = (*WORKED, *samplers.generated(), *OPTIONS, *samplers.ERRORS)


def states_of(kernel, place, ready, state):
    """Return a function of the arguments that lists ``state(variables)`` before and after steps.

    `ready` is the local variable of the kernel that is the last to be set before the first step.
    """

    def states(**arguments):
        found: list[dict] = []

        def view(stack):
            seen = stack[0].variables
            if ready in seen and len(seen["pushed"]) == len(found):
                found.append({**state(seen), "sample": sorted(seen["Vs"])})
            return {}

        record(lambda: kernel(**arguments), [place], view)
        return found

    return states


def slots(seen):
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


def tiles(seen):
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
