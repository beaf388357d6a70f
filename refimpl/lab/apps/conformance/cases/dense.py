"""A layer without a graph, forward and backward: the classifier (JPDC'21 Equations 2 and 11)."""

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    LINEAR,
    changed,
    numbers,
    single,
)
from refimpl.layers.dense import DenseGradients, dense_forward

FLAGS = {name: LAYER_FLAGS[name] for name in ("BIAS", "LINEAR", "THIRDS")}

BY_HAND = {
    "X": np.array([[1.0, 2], [3, -1]]),
    "W": np.array([[1.0, -1], [2, 0]]),
    "relu": True,
    "b": np.array([0.0, 2]),
}
OUTPUT = np.array([[5.0, 1], [1, 0]])
WORKING = """\
X W has the rows (1 + 4, -1 + 0) and (3 - 2, -3 + 0). Plus b = (0, 2): (5, 1) and (1, -1); below 0
becomes 0."""
BACK = {**BY_HAND, "Y": OUTPUT, "G_out": np.array([[1.0, 2], [3, 4]]), "need_dx": True}
GRADIENTS = DenseGradients(
    np.array([[10.0, 2], [-1, 4]]), np.array([[-1.0, 2], [3, 6]]), np.array([4.0, 2])
)
BACK_WORKING = """\
The result is 0 at row 1, column 1, so G has the rows (1, 2) and (3, 0).
dW = X^T G: row 0 is 1 (1, 2) + 3 (3, 0) = (10, 2), row 1 is 2 (1, 2) - 1 (3, 0) = (-1, 4).
dX = G W^T: row 0 is (1 - 2, 2 + 0) = (-1, 2), row 1 is (3, 6). Masked before the product (E-E2).
db is the sum of the rows of G: (4, 2)."""


def dense(s, f, width, *, seed, relu=True, bias=False):
    """Return the arguments of `dense_forward`, in float64."""
    arguments = {"X": numbers((s, f), seed), "W": numbers((f, width), seed + 1), "relu": relu}
    return {**arguments, "b": numbers(width, seed + 2)} if bias else arguments


def backward(arguments, seed, need_dx=True):
    """Return the arguments of `dense_backward` for those of `dense_forward`."""
    Y = dense_forward(**arguments)
    G_out = numbers(Y.shape, seed, dtype=Y.dtype)
    return {**arguments, "Y": Y, "G_out": G_out, "need_dx": need_dx}


# id: the arguments of the forward pass, and the flags of both passes.
CASES = {
    "relu": (dense(5, 3, 4, seed=10), ()),
    "relu_and_bias": (dense(3, 4, 2, seed=20, bias=True), ("BIAS",)),
    "no_relu": (dense(4, 2, 3, seed=30, relu=False, bias=True), ("LINEAR", "BIAS")),
    "float32": (single(dense(3, 3, 2, seed=40, bias=True)), ("FLOAT32", "BIAS")),
    "thirds": ({**dense(4, 3, 2, seed=45), "W": numbers((3, 2), 46) / 3}, ("THIRDS",)),
    "one_row": (dense(1, 5, 3, seed=50, relu=False), ("LINEAR",)),
    "no_rows": (dense(0, 2, 3, seed=60, bias=True), ("EMPTY", "BIAS")),
    "no_columns": (dense(3, 0, 2, seed=70, bias=True), ("EMPTY", "BIAS")),
    "no_width": (dense(3, 2, 0, seed=80), ("EMPTY",)),
}
KINK = {
    "X": np.array([[1.0, -2], [4, 1]]),
    "W": np.array([[2.0, 1], [1, 0.5]]),
    "relu": True,
    "Y": np.array([[0.0, 0], [9, 4.5]]),
    "G_out": np.array([[1.0, 2], [4, 8]]),
    "need_dx": True,
}
KINK_GRADIENTS = DenseGradients(np.array([[16.0, 32], [4, 8]]), np.array([[0.0, 0], [16, 8]]), None)
KINK_WORKING = """\
Row 0 of X W is (2 - 2, 1 - 1) = (0, 0): at 0 the gradient of the ReLU is 0, so row 0 passes
nothing. G has the rows (0, 0) and (4, 8). dW = (4, 1)^T (4, 8) = ((16, 32), (4, 8)).
Row 1 of dX is (4 2 + 8 1, 4 1 + 8 0.5) = (16, 8). There is no bias: None."""
BAD_VALUE = {
    "widths_do_not_fit": {"W": np.ones((3, 2))},
    "bias_too_long": {"b": np.ones(3)},
    "vector": {"X": np.ones(2)},
}
BAD_TYPE = {
    "two_dtypes": {"W": np.ones((2, 2), np.float32)},
    "integers": {"X": np.ones((2, 2), np.int64)},
    "relu_no_bool": {"relu": 1},
}

KERNELS = (
    Kernel(
        "dense_forward",
        "jpdc21",
        "Equation 2",
        (
            Case("by_hand", BY_HAND, ("WORKED", "BIAS"), OUTPUT, WORKING),
            *(Case(id, arguments, flags) for id, (arguments, flags) in CASES.items()),
            *changed(BAD_VALUE, BY_HAND, "value"),
            *changed(BAD_TYPE, BY_HAND, "type"),
        ),
        compare=LINEAR,
        flags=FLAGS,
    ),
    Kernel(
        "dense_backward",
        "jpdc21",
        "Equation 11",
        (
            Case("by_hand", BACK, ("WORKED", "BIAS"), GRADIENTS, BACK_WORKING),
            Case("kink", KINK, ("WORKED", "KINK"), KINK_GRADIENTS, KINK_WORKING),
            *(
                Case(id, backward(arguments, 100 + i), flags)
                for i, (id, (arguments, flags)) in enumerate(CASES.items())
            ),
            Case("no_dx", backward(dense(3, 2, 2, seed=90), 120, need_dx=False), ("NO_DX",)),
            *changed({"gradient_of_other_shape": {"G_out": np.ones((2, 3))}}, BACK, "value"),
            *changed({"two_dtypes": {"G_out": np.ones((2, 2), np.float32)}}, BACK, "type"),
        ),
        compare=LINEAR,
        flags={**FLAGS, **BACK_FLAGS},
    ),
)
