"""Operations on the rows of a layer's output: length 1, and dropout."""

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Close, Kernel
from refimpl.lab.apps.conformance.inputs import changed, numbers, single
from refimpl.layers.rows import (
    RowL2Output,
    row_l2_forward,
)
from refimpl.streams import uniform

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
    "ROW_KEYS": "A key for each row: a row's mask does not depend on the others.",
}

L2 = {"X": np.array([[3.0, 4], [0, 0.25], [-0.5, 0]]), "eps": 0.5}
L2_OUTPUT = RowL2Output(np.array([[0.6, 0.8], [0, 0.5], [-1, 0]]), np.array([5, 0.5, 0.5]))
L2_WORKING = """\
Lengths: sqrt(9 + 16) = 5, 0.25 and 0.5. The second is below eps, so 0.5 stands for it.
Rows: (3/5, 4/5), (0, 0.25 / 0.5), (-0.5 / 0.5, 0)."""
L2_BACK = {"out": L2_OUTPUT, "G": np.array([[1.0, 2], [3, 4], [5, 6]]), "eps": 0.5}
L2_GRADIENT = np.array([[-0.064, 0.048], [6, 8], [10, 12]])
L2_BACK_WORKING = """\
Row 0: along the row, 0.6 1 + 0.8 2 = 2.2; (1 - 0.6 2.2, 2 - 0.8 2.2) / 5 = (-0.32, 0.24) / 5.
Rows 1 and 2 have a length of eps, a constant: (3, 4) / 0.5 and (5, 6) / 0.5."""

DROPOUT = {"X": np.array([[1.0, 2], [3, 4]]), "rate": 0.5, "key": 0}
DROPOUT_RESULT = np.array([[2.0, 0], [0, 8]])
DROPOUT_WORKING = """\
SplitMix64 with seed 0 begins with the well-known words e220a8397b1dcdaf, 6e789e6aa1b965f4,
06c45d188009454f, f88bb8a8724c81ec. Draw c is word c over 2^64, so it is 1/2 or more where the first
digit is 8 or more: draws 0 and 3. These elements stay, over 1 - 1/2; the others become 0."""
# The lengths of these rows are 8 and 16.
SQUARES = np.array([[7, 3, 2, 1, -1], [-1, 13, -2, 9, 1]], np.float32)


def with_length_1(id, arguments, flags):
    """Return a case of `row_l2_backward` for arguments of `row_l2_forward`."""
    out = row_l2_forward(**arguments)
    G = numbers(out.Y.shape, 90, dtype=out.Y.dtype)
    options = {name: value for name, value in arguments.items() if name == "eps"}
    return Case(id, {"out": out, "G": G, **options}, flags)


L2_CASES = {
    "rows": ({"X": numbers((5, 4), 10)}, ()),
    "zeros": ({"X": np.vstack([np.zeros((1, 3)), numbers((2, 3), 20)])}, ("FLOOR",)),
    "float32": ({"X": SQUARES}, ("FLOAT32",)),
    "float32_floor": ({"X": SQUARES / 4, "eps": 2.0}, ("FLOAT32", "FLOOR")),
    "one_column": ({"X": numbers((4, 1), 30)}, ()),
    "no_columns": ({"X": np.zeros((2, 0))}, ("EMPTY", "FLOOR")),
    "no_rows": ({"X": np.zeros((0, 3))}, ("EMPTY",)),
}
BAD_L2 = {
    "eps_0": {"eps": 0.0},
    "vector": {"X": np.ones(3)},
}
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
            Case("by_hand", L2, ("WORKED", "FLOOR"), L2_OUTPUT, L2_WORKING),
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
            Case("by_hand", L2_BACK, ("WORKED", "FLOOR"), L2_GRADIENT, L2_BACK_WORKING),
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
            Case("by_hand", DROPOUT, ("WORKED",), DROPOUT_RESULT, DROPOUT_WORKING),
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
