"""A layer without a graph, forward and backward: the classifier (JPDC'21 Equations 2 and 11)."""

from typing import Any

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
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.dense import dense_forward

HAND = worked("dense")

FLAGS = {name: LAYER_FLAGS[name] for name in ("BIAS", "LINEAR", "THIRDS")}

BY_HAND = HAND["dense_forward"][0].args
BACK = HAND["dense_backward"][0].args


def dense(
    s: int, f: int, width: int, *, seed: int, relu: bool = True, bias: bool = False
) -> dict[str, Any]:
    """Return the arguments of `dense_forward`, in float64."""
    arguments = {"X": numbers((s, f), seed), "W": numbers((f, width), seed + 1), "relu": relu}
    return {**arguments, "b": numbers(width, seed + 2)} if bias else arguments


def backward(arguments: dict[str, Any], seed: int, need_dx: bool = True) -> dict[str, Any]:
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
            *HAND["dense_forward"],
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
            *HAND["dense_backward"],
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
