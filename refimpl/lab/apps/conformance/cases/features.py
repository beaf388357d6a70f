"""Features of nodes: gathering rows, and fetching them from parts (FreshGNN, section 6)."""

from typing import Any

import numpy as np

from refimpl.hints import Features, Integers
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import changed, numbers
from refimpl.lab.apps.conformance.worked import worked
from refimpl.loader.features import plan_fetch
from refimpl.loader.store import FeatureStore
from refimpl.streams import permutation

HAND = worked("features")

SCALED = {"SCALED": "Rows are scaled in float64, and rounded once."}
HALF = {"FLOAT16": "Numbers of 16 bits become float32, exactly."}
FLAGS = {
    **HALF,
    "ALL_AT_HAND": "Every row is in the part at hand: no message, no wait.",
    "EMPTY_PART": "A part without rows.",
    "MODULO": "Node v is row v // P of part v % P.",
}

GATHER = HAND["gather_rows"][0].args
BITS = np.array([[1, 0x03FF, 0x7C00], [0x8000, 0xFC00, 0x8001]], np.uint16).view(np.float16)

PLAN = HAND["fetch_one_sided"][0].args["plan"]


def plan(
    X: Features, parts: int, ids: Integers, me: int = 0, owners: Any = "contiguous"
) -> dict[str, Any]:
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
    Case("empty_part", {"plan": plan_fetch(UNEVEN, np.array([4, 3, 6]), 1)}, ("EMPTY_PART",)),
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
FETCH_ERRORS = (*changed(BAD_PLANS, {}, "value"), *changed({"no_plan": {"plan": None}}, {}, "type"))

KERNELS = (
    Kernel(
        "gather_rows",
        "vldb24",
        "section 6",
        (
            *HAND["gather_rows"],
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
        (*HAND["fetch_one_sided"], *FETCHES, *FETCH_ERRORS),
        flags=FLAGS,
    ),
    Kernel(
        "fetch_two_sided",
        "vldb24",
        "section 6",
        (*HAND["fetch_two_sided"], *FETCHES, *FETCH_ERRORS),
        flags=FLAGS,
    ),
)
