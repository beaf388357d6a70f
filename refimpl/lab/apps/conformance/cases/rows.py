"""Operations on the rows of a layer's output: length 1, mean 0 and variance 1, and dropout."""

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Close, Kernel
from refimpl.lab.apps.conformance.inputs import changed, numbers, single
from refimpl.layers.rows import (
    RowL2Output,
    RowStandardizeGradients,
    RowStandardizeOutput,
    row_l2_forward,
    row_standardize_forward,
)
from refimpl.streams import uniform

ROWS = Close(
    1e-12,
    1e-12,
    "A root, divisions, and float64 sums of fewer than 10 terms, in any order, each of size 100 at "
    "most. Float32 cases have lengths and deviations that are powers of two: they are exact.",
)
FLOOR = {
    "FLOOR": "A row of length eps or less: it is divided by eps, which passes no gradient along it."
}
STANDARD_FLAGS = {
    "CONSTANT": "A row of equal numbers: its variance is 0, and eps alone is left.",
    "ONE_COLUMN": "Rows of one number: each is its own mean.",
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

STANDARD = {
    "X": np.array([[1.0, 3], [10, 8]]),
    "gain": np.array([2.0, -1]),
    "offset": np.array([1.0, 10]),
    "eps": 3.0,
}
STANDARD_OUTPUT = RowStandardizeOutput(
    np.array([[0.0, 9.5], [2, 10.5]]), np.array([[-0.5, 0.5], [0.5, -0.5]]), np.array([0.5, 0.5])
)
STANDARD_WORKING = """\
Means 2 and 9, so the rows are (-1, 1) and (1, -1); variance 1 of both, plus eps = 4; over its root:
(-0.5, 0.5) and (0.5, -0.5). Times (2, -1): (-1, -0.5) and (1, 0.5). Plus (1, 10)."""
STANDARD_BACK = {
    "out": STANDARD_OUTPUT,
    "gain": STANDARD["gain"],
    "G": np.array([[1.0, 2], [4, 0]]),
}
STANDARD_GRADIENTS = RowStandardizeGradients(
    np.array([[0.75, -0.75], [1.5, -1.5]]), np.array([1.5, 1]), np.array([5.0, 2])
)
STANDARD_BACK_WORKING = """\
D = G gain: (2, -2) and (8, 0). With the rows x' = (-0.5, 0.5), (0.5, -0.5): the mean of D is 0 and
4, that of D x' is (-1 - 1) / 2 = -1 and (4 + 0) / 2 = 2. dX = 0.5 (D - mean - x' that):
0.5 (2 - 0.5, -2 + 0.5) and 0.5 (8 - 4 - 1, 0 - 4 + 1).
Gain: columns of G x': -0.5 + 2 and 1 + 0. Offset: columns of G: 1 + 4 and 2 + 0."""

DROPOUT = {"X": np.array([[1.0, 2], [3, 4]]), "rate": 0.5, "key": 0}
DROPOUT_RESULT = np.array([[2.0, 0], [0, 8]])
DROPOUT_WORKING = """\
SplitMix64 with seed 0 begins with the well-known words e220a8397b1dcdaf, 6e789e6aa1b965f4,
06c45d188009454f, f88bb8a8724c81ec. Draw c is word c over 2^64, so it is 1/2 or more where the first
digit is 8 or more: draws 0 and 3. These elements stay, over 1 - 1/2; the others become 0."""
# The lengths of these rows are 8 and 16; below, the variances of both rows are 4.
SQUARES = np.array([[7, 3, 2, 1, -1], [-1, 13, -2, 9, 1]], np.float32)
POWERS = np.array([[15, 8, 9, 9, 9, 10, 10, 10], [1, 5, 5, 1, 1, 5, 1, 5]], np.float32)


def standard(s, f, seed, **options):
    """Return the arguments of `row_standardize_forward`, in float64."""
    return {
        "X": numbers((s, f), seed),
        "gain": numbers(f, seed + 1),
        "offset": numbers(f, seed + 2),
        **options,
    }


def with_length_1(id, arguments, flags):
    """Return a case of `row_l2_backward` for arguments of `row_l2_forward`."""
    out = row_l2_forward(**arguments)
    G = numbers(out.Y.shape, 90, dtype=out.Y.dtype)
    options = {name: value for name, value in arguments.items() if name == "eps"}
    return Case(id, {"out": out, "G": G, **options}, flags)


def standardized(id, arguments, flags):
    """Return a case of `row_standardize_backward` for arguments of `row_standardize_forward`."""
    out = row_standardize_forward(**arguments)
    G = numbers(out.Y.shape, 90, dtype=out.Y.dtype)
    return Case(id, {"out": out, "gain": arguments["gain"], "G": G}, flags)


L2_CASES = {
    "rows": ({"X": numbers((5, 4), 10)}, ()),
    "zeros": ({"X": np.vstack([np.zeros((1, 3)), numbers((2, 3), 20)])}, ("FLOOR",)),
    "float32": ({"X": SQUARES}, ("FLOAT32",)),
    "float32_floor": ({"X": SQUARES / 4, "eps": 2.0}, ("FLOAT32", "FLOOR")),
    "one_column": ({"X": numbers((4, 1), 30)}, ()),
    "no_columns": ({"X": np.zeros((2, 0))}, ("EMPTY", "FLOOR")),
    "no_rows": ({"X": np.zeros((0, 3))}, ("EMPTY",)),
}
STANDARD_CASES = {
    "rows": (standard(4, 6, 10), ()),
    "eps_of_a_quarter": (standard(3, 4, 20, eps=0.25), ()),
    "constant_row": (
        {**standard(2, 4, 30, eps=0.0625), "X": np.array([[1.5] * 4, [1, 2, 4, 9]])},
        ("CONSTANT",),
    ),
    "float32": ({**single(standard(2, 8, 40, eps=12.0)), "X": POWERS}, ("FLOAT32",)),
    "one_column": (standard(3, 1, 50, eps=0.25), ("ONE_COLUMN", "CONSTANT")),
    "no_rows": (standard(0, 3, 60), ("EMPTY",)),
}
BAD_L2 = {
    "eps_0": {"eps": 0.0},
    "vector": {"X": np.ones(3)},
}
BAD_STANDARD = {
    "eps_below_0": {"eps": -1.0},
    "no_columns": {"X": np.ones((2, 0)), "gain": np.ones(0), "offset": np.ones(0)},
    "gain_too_long": {"gain": np.ones(3)},
}
BAD_DROPOUT = {
    "rate_1": {"rate": 1.0},
    "rate_below_0": {"rate": -0.5},
    "key_below_0": {"key": -1},
    "a_key_too_few": {"key": np.zeros(1, np.uint64)},
}
ONES = np.ones((2, 2), np.float32)

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
        "row_standardize_forward",
        "common",
        "the authors' code, not in print",
        (
            Case("by_hand", STANDARD, ("WORKED",), STANDARD_OUTPUT, STANDARD_WORKING),
            *(Case(id, arguments, flags) for id, (arguments, flags) in STANDARD_CASES.items()),
            *changed(BAD_STANDARD, STANDARD, "value"),
            *changed({"two_dtypes": {"X": ONES}}, STANDARD, "type"),
        ),
        compare=ROWS,
        flags=STANDARD_FLAGS,
    ),
    Kernel(
        "row_standardize_backward",
        "common",
        "the authors' code, not in print",
        (
            Case("by_hand", STANDARD_BACK, ("WORKED",), STANDARD_GRADIENTS, STANDARD_BACK_WORKING),
            *(standardized(id, *case) for id, case in STANDARD_CASES.items()),
            *changed({"gain_too_long": {"gain": np.ones(3)}}, STANDARD_BACK, "value"),
            *changed({"two_dtypes": {"G": ONES}}, STANDARD_BACK, "type"),
        ),
        compare=ROWS,
        flags=STANDARD_FLAGS,
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
