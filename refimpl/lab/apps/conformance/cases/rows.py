"""Operations on the rows of a layer's output: length 1, and dropout."""

from typing import Any

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Close, Kernel
from refimpl.lab.apps.conformance.inputs import changed, numbers, single
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.rows import row_l2_forward
from refimpl.streams import uniform

HAND = worked("rows")

ROWS = Close(
    1e-12,
    1e-12,
    "A root, divisions, and float64 sums of fewer than 10 terms, in any order, each of size 100 at "
    "most. Float32 cases have lengths that are powers of two: they are exact.",
)
FLOOR = {
    "FLOOR": "A row of length eps or less: it is divided by eps, which passes no gradient along it."
}
DROPOUT_FLAGS = {
    "RATE_0": "Nothing is dropped, and nothing is scaled.",
    "TIE": "A draw equal to the rate: the value stays. Only a draw below the rate drops it.",
    "ROW_KEYS": "A key for each row: a row's mask does not depend on the others.",
}

L2 = HAND["row_l2_forward"][0].args
L2_BACK = HAND["row_l2_backward"][0].args

DROPOUT = HAND["dropout"][0].args
# The lengths of these rows are 8 and 16.
SQUARES = np.array([[7, 3, 2, 1, -1], [-1, 13, -2, 9, 1]], np.float32)


def with_length_1(id: str, arguments: dict[str, Any], flags: tuple[str, ...]) -> Case:
    """Return a case of `row_l2_backward` for arguments of `row_l2_forward`."""
    out = row_l2_forward(**arguments)
    G = numbers(out.Y.shape, 90, dtype=out.Y.dtype)
    options = {name: value for name, value in arguments.items() if name == "eps"}
    return Case(id, {"out": out, "G": G, **options}, flags)


L2_CASES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "rows": ({"X": numbers((5, 4), 10)}, ()),
    "zeros": ({"X": np.vstack([np.zeros((1, 3)), numbers((2, 3), 20)])}, ("FLOOR",)),
    "float32": ({"X": SQUARES}, ("FLOAT32",)),
    "float32_floor": ({"X": SQUARES / 4, "eps": 2.0}, ("FLOAT32", "FLOOR")),
    "one_column": ({"X": numbers((4, 1), 30)}, ()),
    "no_columns": ({"X": np.zeros((2, 0))}, ("EMPTY", "FLOOR")),
    "no_rows": ({"X": np.zeros((0, 3))}, ("EMPTY",)),
}
BAD_L2 = {"eps_0": {"eps": 0.0}, "vector": {"X": np.ones(3)}}
BAD_DROPOUT = {
    "rate_1": {"rate": 1.0},
    "rate_below_0": {"rate": -0.5},
    "key_below_0": {"key": -1},
    "a_key_too_few": {"key": np.zeros(1, np.uint64)},
}

KERNELS = (
    Kernel(
        "row_l2_forward",
        "common",
        "the authors' code, not in print",
        (
            *HAND["row_l2_forward"],
            *(Case(id, arguments, flags) for id, (arguments, flags) in L2_CASES.items()),
            *changed(BAD_L2, L2, "value"),
            *changed({"integers": {"X": np.ones((2, 2), np.int64)}}, L2, "type"),
        ),
        compare=ROWS,
        flags=FLOOR,
    ),
    Kernel(
        "row_l2_backward",
        "common",
        "the authors' code, not in print",
        (
            *HAND["row_l2_backward"],
            *(with_length_1(id, *case) for id, case in L2_CASES.items()),
            *changed({"gradient_of_other_shape": {"G": np.ones((2, 2))}}, L2_BACK, "value"),
            *changed({"two_dtypes": {"G": np.ones((3, 2), np.float32)}}, L2_BACK, "type"),
        ),
        compare=ROWS,
        flags=FLOOR,
    ),
    Kernel(
        "dropout",
        "common",
        "the authors' code, not in print",
        (
            *HAND["dropout"],
            Case("rate_of_a_fifth", {"X": numbers((4, 5), 10), "rate": 0.2, "key": 7}),
            Case(
                "float32", {"X": single(numbers((3, 4), 20)), "rate": 0.3, "key": 8}, ("FLOAT32",)
            ),
            Case(
                "a_draw_equal_to_the_rate",
                {"X": numbers((2, 2), 25), "rate": uniform(0, 1), "key": 0},
                ("TIE",),
            ),
            Case("rate_0", {"X": numbers((2, 3), 30), "rate": 0.0, "key": 9}, ("RATE_0",)),
            Case(
                "highest_key",
                {"X": numbers((2, 4), 40), "rate": 0.75, "key": 2**64 - 1},
                ("LARGE_WORD",),
            ),
            Case(
                "row_keys",
                {
                    "X": numbers((3, 6), 50),
                    "rate": 0.5,
                    "key": np.array([0, 2**63 + 5, 0], np.uint64),
                },
                ("ROW_KEYS", "DUPLICATE", "LARGE_WORD"),
            ),
            Case(
                "no_rows",
                {"X": np.zeros((0, 3)), "rate": 0.5, "key": np.zeros(0, np.uint64)},
                ("EMPTY", "ROW_KEYS"),
            ),
            *changed(BAD_DROPOUT, DROPOUT, "value"),
            *changed({"signed_keys": {"key": np.zeros(2, np.int64)}}, DROPOUT, "type"),
        ),
        flags=DROPOUT_FLAGS,
    ),
)
