"""A layer without a graph, forward and backward: the classifier (JPDC'21 Equations 2 and 11)."""

from typing import Any

from refimpl.lab.apps.conformance.case import Kernel
from refimpl.lab.apps.conformance.inputs import (
    BACK_FLAGS,
    LAYER_FLAGS,
    LINEAR,
    among,
    backward,
    backwards,
    numbers,
    single,
)
from refimpl.lab.apps.conformance.worked import worked
from refimpl.layers.dense import dense_forward

HAND = worked("dense")

FLAGS = {name: LAYER_FLAGS[name] for name in ("BIAS", "LINEAR", "THIRDS")}


def dense(
    s: int, f: int, width: int, *, seed: int, relu: bool = True, bias: bool = False
) -> dict[str, Any]:
    """Return the arguments of `dense_forward`, in float64."""
    arguments = {"X": numbers((s, f), seed), "W": numbers((f, width), seed + 1), "relu": relu}
    return {**arguments, "b": numbers(width, seed + 2)} if bias else arguments


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
BACK_CASES = {
    **backwards(dense_forward, CASES, 100, need_dx=True),
    "no_dx": (backward(dense_forward, dense(3, 2, 2, seed=90), 120, need_dx=False), ("NO_DX",)),
}

KERNELS = (
    Kernel(
        "dense_forward",
        "jpdc21",
        "Equation 2",
        among(HAND["dense_forward"], CASES),
        compare=LINEAR,
        flags=FLAGS,
    ),
    Kernel(
        "dense_backward",
        "jpdc21",
        "Equation 11",
        among(HAND["dense_backward"], BACK_CASES),
        compare=LINEAR,
        flags={**FLAGS, **BACK_FLAGS},
    ),
)
