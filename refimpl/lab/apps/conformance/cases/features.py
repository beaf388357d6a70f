"""Features of nodes: gathering rows, and fetching them from parts (FreshGNN, section 6)."""

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import changed, numbers
from refimpl.loader.features import Fetched, FetchPlan, Message, Trace, plan_fetch
from refimpl.loader.store import FeatureStore
from refimpl.streams import permutation

SCALED = {"SCALED": "Rows are scaled in float64, and rounded once."}
HALF = {"FLOAT16": "Numbers of 16 bits become float32, exactly."}
FLAGS = {
    **HALF,
    "ALL_AT_HAND": "Every row is in the part at hand: no message, no wait.",
    "EMPTY_PART": "A part without rows.",
    "MODULO": "Node v is row v // P of part v % P.",
}

GATHER = {
    "X": np.array([[1.5, -2], [0.25, 65504], [5, 2.0**-24]], np.float16),
    "rows": np.array([2, 0, 2, 1]),
}
GATHERED = np.array([[5, 2.0**-24], [1.5, -2], [5, 2.0**-24], [0.25, 65504]], np.float32)
GATHER_WORKING = """\
Rows 2, 0, 2, 1, in that order. Halves have 11 bits, float32 has 24, and exponents enough: 65504 is
the largest half, 2^-24 the smallest, a subnormal one; both stay what they are."""
BITS = np.array([[1, 0x03FF, 0x7C00], [0x8000, 0xFC00, 0x8001]], np.uint16).view(np.float16)

X5 = np.array([[10.0], [11], [12], [13], [14]], np.float32)
PLAN = FetchPlan(
    FeatureStore((X5[:2], X5[2:])),
    0,
    4,
    (np.array([0]), np.array([0, 2])),
    (np.array([1]), np.array([2, 0])),
    np.array([[3], [0]]),
)
ROWS = np.array([[14], [10], [12], [14]], np.float32)
DATA = Message(1, 0, 8, "data")
ONE_SIDED = Fetched(ROWS, Trace((DATA,), 0, 1))
TWO_SIDED = Fetched(ROWS, Trace((Message(0, 1, 16, "idx"), Message(1, 0, 0, "sync"), DATA), 8, 2))
PLAN_WORKING = """\
Nodes 4, 0, 2, 4; part 0, at hand, holds nodes 0 and 1, part 1 holds 2, 3, 4. Part 0: its row 0 goes
to row 1 of the result. Part 1: its rows 0 and 2 (nodes 2 and 4) go to rows 2 and 0. Row 3 is a copy
of row 0. So the result is (14, 10, 12, 14)."""
ONE_WORKING = f"""{PLAN_WORKING}
Part 1 is remote: 2 rows of one float32, 8 bytes, in one wait; nothing is packed."""
TWO_WORKING = f"""{PLAN_WORKING}
Part 1 is asked with 2 row numbers of 8 bytes each, says when it has packed 2 rows of one float32,
8 bytes, and sends them: two waits."""


def plan(X, parts, ids, me=0, owners="contiguous"):
    """Return the arguments of a fetch."""
    store = FeatureStore.of(X, parts, owners)
    return {"plan": plan_fetch(store, np.array(ids, np.int64), me)}


SINGLE = numbers((7, 3), 1, dtype=np.float32)
MEAN_STD = (np.array([0.5, -1.0, 2.0]), np.array([2.0, 0.25, 3.0]))
HALVES = numbers((6, 2), 2, dtype=np.float16)
UNEVEN = FeatureStore((SINGLE[:4], SINGLE[4:4], SINGLE[4:]))
FETCHES = (
    Case("three_parts", plan(SINGLE, 3, [6, 0, 3, 5, 1], me=1)),
    Case(
        "every_node_twice",
        plan(SINGLE, 2, [*permutation(1, 7), *permutation(2, 7)]),
        ("DUPLICATE",),
    ),
    Case("modulo", plan(SINGLE, 3, [5, 4, 0, 2], 2, "modulo"), ("MODULO",)),
    Case("halves", plan(HALVES, 2, [5, 0, 3, 0], 1), ("FLOAT16", "DUPLICATE")),
    Case(
        "empty_part",
        {"plan": plan_fetch(UNEVEN, np.array([4, 3, 6]), 1)},
        ("EMPTY_PART",),
    ),
    Case("one_part", plan(SINGLE, 1, [2, 6, 1]), ("ALL_AT_HAND",)),
    Case("no_remote_rows", plan(SINGLE, 2, [1, 0], 0), ("ALL_AT_HAND",)),
    Case("no_nodes", plan(SINGLE, 2, []), ("EMPTY", "ALL_AT_HAND")),
)
BAD_PLANS = {
    "row_missing": {"plan": PLAN._replace(n=5)},
    "no_such_row": {"plan": PLAN._replace(rows=(np.array([2]), np.array([0, 2])))},
    "copy_of_nothing": {"plan": PLAN._replace(copies=np.array([[3], [3]]))},
    "written_twice": {"plan": PLAN._replace(positions=(np.array([2]), np.array([2, 0])))},
    "a_part_too_few": {"plan": PLAN._replace(rows=PLAN.rows[:1])},
}
FETCH_ERRORS = (
    *changed(BAD_PLANS, {}, "value"),
    *changed({"no_plan": {"plan": None}}, {}, "type"),
)

KERNELS = (
    Kernel(
        "gather_rows",
        "vldb24",
        "section 6",
        (
            Case("by_hand", GATHER, ("WORKED", "FLOAT16", "DUPLICATE"), GATHERED, GATHER_WORKING),
            Case("float32", {"X": SINGLE, "rows": permutation(3, 7)}, ("FLOAT32",)),
            Case(
                "float64", {"X": numbers((4, 9), 4), "rows": np.array([3, 3, 0, 1])}, ("DUPLICATE",)
            ),
            Case("special_halves", {"X": BITS, "rows": np.array([1, 0])}, ("FLOAT16", "SPECIAL")),
            Case(
                "special_floats",
                {
                    "X": np.array([[np.nan, np.inf], [-0.0, 1e-45]], np.float32),
                    "rows": np.array([1, 0, 1], np.uint8),
                },
                ("FLOAT32", "SPECIAL", "DUPLICATE"),
            ),
            Case(
                "one_column",
                {"X": SINGLE[:, :1].copy(), "rows": np.arange(6, -1, -2)},
                ("FLOAT32",),
            ),
            Case(
                "scaled",
                {"X": SINGLE, "rows": np.array([2, 0, 2]), "scaling": MEAN_STD},
                ("FLOAT32", "DUPLICATE", "SCALED"),
            ),
            Case(
                "scaled_halves",
                {**GATHER, "scaling": "rows", "dtype": "float64"},
                ("FLOAT16", "DUPLICATE", "SCALED"),
            ),
            Case("no_rows", {"X": SINGLE, "rows": np.zeros(0, np.int64)}, ("EMPTY", "FLOAT32")),
            Case(
                "no_features",
                {"X": np.zeros((0, 4), np.float16), "rows": np.zeros(0, np.int64)},
                ("EMPTY", "FLOAT16"),
            ),
            *changed(
                {
                    "row_3_of_3": {"rows": np.array([3])},
                    "row_below_0": {"rows": np.array([-1])},
                    "vector": {"X": np.ones(3, np.float32)},
                    "width_0": {"X": np.ones((3, 0), np.float32)},
                },
                GATHER,
                "value",
            ),
            *changed(
                {
                    "integers": {"X": np.ones((3, 2), np.int64)},
                    "rows_no_integers": {"rows": np.array([0.5])},
                },
                GATHER,
                "type",
            ),
        ),
        flags=HALF | SCALED,
    ),
    Kernel(
        "fetch_one_sided",
        "vldb24",
        "section 6",
        (
            Case("by_hand", {"plan": PLAN}, ("WORKED", "DUPLICATE"), ONE_SIDED, ONE_WORKING),
            *FETCHES,
            *FETCH_ERRORS,
        ),
        flags=FLAGS,
    ),
    Kernel(
        "fetch_two_sided",
        "vldb24",
        "section 6",
        (
            Case("by_hand", {"plan": PLAN}, ("WORKED", "DUPLICATE"), TWO_SIDED, TWO_WORKING),
            *FETCHES,
            *FETCH_ERRORS,
        ),
        flags=FLAGS,
    ),
)
