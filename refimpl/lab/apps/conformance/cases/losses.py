"""Cross-entropy losses and their gradients (JPDC'21 Equations 3 and 10), and Adam."""

from typing import Any

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Close, Kernel
from refimpl.lab.apps.conformance.inputs import FloatKind, changed, numbers
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("losses")

LOSS = Close(
    1e-12,
    1e-12,
    "Exponentials, logarithms and sums of fewer than 20 terms in float64, in any order; the terms "
    "add up to the loss itself, or are below 10 in size. In the float32 cases every exponential is "
    "0 or 1 to single precision, and nothing else rounds: they are exact.",
)
FLAGS = {
    "MEAN": "No weights: each node has 1 / s, whatever the number of classes (E-E9).",
    "OVERFLOW": "Logits whose exponential overflows: the loss must be computed without it.",
    "SOFT": "Labels that are not 0 or 1, or rows of them that do not add up to 1.",
    "WEIGHTS": "A weight for each node.",
}

SOFTMAX = HAND["softmax_cross_entropy"][0].args

SIGMOID = HAND["sigmoid_cross_entropy"][0].args


def loss(
    s: int, classes: int, *, seed: int, weights: bool = False, step: float = 0.25
) -> dict[str, Any]:
    """Return logits that all differ, labels with one class a row, and perhaps weights."""
    arguments = {
        "logits": numbers((s, classes), seed, step),
        "labels": np.eye(classes)[np.arange(s) * 2 % classes],
    }
    return {**arguments, "weights": numbers(s, seed + 1, 0.125)} if weights else arguments


MANY_LABELS = np.array([[1.0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]])
SOFT_LABELS = np.array([[0.25, 0.5, 0.25], [0, 0.125, 0], [1, 0.75, 0.5]])
FAR = {
    "logits": np.array([[1000.0, -1000], [-1000, 1000], [800, 801]]),
    "labels": np.array([[0.0, 1], [0, 1], [1, 0]]),
}
CASES = (
    Case("mean", loss(5, 4, seed=10), ("MEAN",)),
    Case("weights", loss(4, 3, seed=20, weights=True), ("WEIGHTS",)),
    Case("many_labels", {**loss(4, 3, seed=30), "labels": MANY_LABELS}, ("MEAN", "SOFT")),
    Case("soft_labels", {**loss(3, 3, seed=40, step=0.5), "labels": SOFT_LABELS}, ("MEAN", "SOFT")),
    Case("far_from_0", FAR, ("MEAN", "OVERFLOW")),
    Case("one_node", loss(1, 5, seed=50), ("MEAN", "ONE_NODE")),
    Case("one_class", loss(4, 1, seed=60), ("MEAN",)),
    Case("no_nodes", loss(0, 3, seed=70), ("MEAN", "EMPTY")),
    Case("no_nodes_but_weights", loss(0, 2, seed=80, weights=True), ("WEIGHTS", "EMPTY")),
)
BAD_VALUE = {
    "no_classes": {"logits": np.ones((2, 0)), "labels": np.ones((2, 0))},
    "labels_of_other_shape": {"labels": np.ones((2, 3))},
    "a_weight_too_few": {"weights": np.ones(1)},
}
BAD_TYPE = {
    "integer_labels": {"labels": np.array([[1, 0], [0, 1]])},
    "two_dtypes": {"labels": np.ones((2, 2), np.float32)},
}
FAR_SINGLE = {
    "logits": np.array([[200, -200], [-300, 200]], np.float32),
    "labels": np.array([[0, 1], [0, 1]], np.float32),
}

FIRST = HAND["adam_step"][0].args


def adam(
    shape: int | tuple[int, ...],
    t: int,
    *,
    seed: int,
    dtype: FloatKind = np.float64,
    **options: Any,
) -> dict[str, Any]:
    """Return arguments of `adam_step` for weights of some shape, with means of any size."""
    theta, grad, m = (numbers(shape, seed + i, dtype=dtype) / (3 + 4 * i) for i in range(3))
    v = np.abs(numbers(shape, seed + 3, dtype=dtype)) / 13
    return {"theta": theta, "grad": grad, "m": m, "v": v, "t": t, **options}


# Weights of 0 show the step itself, to the last bit.
START = {**adam(16, 1, seed=10), "theta": np.zeros(16), "m": np.zeros(16), "v": np.zeros(16)}
AT_0 = {**adam((3, 4), 5, seed=25, dtype=np.float32), "theta": np.zeros((3, 4), np.float32)}
TINY = {
    "theta": np.array([1, 1, 1], np.float32),
    "grad": np.array([1e-30, -1e-20, 1e19], np.float32),
    "m": np.zeros(3, np.float32),
    "v": np.zeros(3, np.float32),
    "t": 1,
}
ADAM_VALUE = {
    "step_0": {"t": 0},
    "rate_0": {"lr": 0.0},
    "beta_1": {"beta2": 1.0},
    "gradient_of_other_shape": {"grad": np.ones(2)},
    "mean_of_other_shape": {"m": np.zeros((3, 1))},
}
ADAM_TYPE = {
    "integer_weights": {"theta": np.array([1, 2, 3])},
    "two_dtypes": {"grad": np.ones(3, np.float32)},
    "step_no_integer": {"t": 1.0},
}

KERNELS = (
    Kernel(
        "softmax_cross_entropy",
        "jpdc21",
        "Equations 3 and 10",
        (
            *HAND["softmax_cross_entropy"],
            *CASES,
            Case(
                "float32",
                {**FAR_SINGLE, "weights": np.array([0.5, 2], np.float32)},
                ("FLOAT32", "OVERFLOW", "WEIGHTS"),
            ),
            *changed(BAD_VALUE, SOFTMAX, "value"),
            *changed(BAD_TYPE, SOFTMAX, "type"),
        ),
        compare=LOSS,
        flags=FLAGS,
    ),
    Kernel(
        "sigmoid_cross_entropy",
        "jpdc21",
        "Equations 3 and 10",
        (
            *HAND["sigmoid_cross_entropy"],
            *CASES,
            Case("float32", FAR_SINGLE, ("FLOAT32", "OVERFLOW", "MEAN")),
            *changed(BAD_VALUE, SIGMOID, "value"),
            *changed(BAD_TYPE, SIGMOID, "type"),
        ),
        compare=LOSS,
        flags=FLAGS,
    ),
    Kernel(
        "adam_step",
        "common",
        "Algorithm 1 of Kingma and Ba 2015",
        (
            *HAND["adam_step"],
            Case("defaults", START, ("ROUNDING",)),
            Case("matrix", adam((2, 3), 2, seed=20), ("ROUNDING",)),
            Case("float32", adam(5, 3, seed=30, dtype=np.float32), ("FLOAT32", "ROUNDING")),
            Case("float32_at_0", AT_0, ("FLOAT32", "ROUNDING")),
            Case("float32_extremes", TINY, ("FLOAT32", "SPECIAL", "ROUNDING")),
            Case("no_memory", adam(3, 4, seed=40, beta1=0.0, beta2=0.0), ("ROUNDING",)),
            Case("last_step", adam(3, 2**53, seed=50, lr=0.125), ("ROUNDING",)),
            Case("no_weights", adam((0, 2), 1, seed=60), ("EMPTY",)),
            *changed(ADAM_VALUE, FIRST, "value"),
            *changed(ADAM_TYPE, FIRST, "type"),
        ),
        flags={
            "ROUNDING": "Each operation is rounded on its own, in the dtype of the arrays: "
            "m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) (g g), then theta minus "
            "(lr (m / (1 - beta1^t))) / (sqrt(v / (1 - beta2^t)) + eps). 1 - beta and 1 - beta^t "
            "are computed in float64 and then cast."
        },
        writes=("theta", "m", "v"),
    ),
)
