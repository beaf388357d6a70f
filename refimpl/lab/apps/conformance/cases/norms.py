"""Norms of rows of gradients: how far an embedding is from stable."""

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("norms")

FLAGS = {
    "ORDER": "Squares are added from left to right, so that the last bits depend on the order.",
    "OVERFLOW": "A square above the largest float64: the norm is infinite.",
}
ROW_NORMS = (
    *HAND["gradient_norms"],
    Case("no_rows", {"G": np.zeros((0, 3))}, ("EMPTY",)),
    Case("no_columns", {"G": np.zeros((2, 0))}, ("EMPTY",)),
    Case("two_rounds", {"G": np.arange(34.0).reshape(2, 17) / 3}, ("ORDER",)),
    Case("single", {"G": (np.arange(20, dtype=np.float32) / 3).reshape(2, 10)}, ("FLOAT32",)),
    Case("overflow", {"G": np.array([[1e200, 1], [1e-200, 0]])}, ("OVERFLOW",)),
    Case("special", {"G": np.array([[np.inf, 1], [np.nan, 0], [-0.0, -0.0]])}, ("SPECIAL",)),
    Case("flat", {"G": np.ones(3)}, error="value"),
    Case("integers", {"G": np.ones((2, 2), np.int64)}, error="type"),
)

KERNELS = (Kernel("gradient_norms", "vldb24", "section 4.1", ROW_NORMS, flags=FLAGS),)
