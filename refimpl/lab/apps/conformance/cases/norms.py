"""Norms of rows of gradients: how far an embedding is from stable."""

import numpy as np

from refimpl.lab.apps.conformance.case import Case, Kernel

FLAGS = {
    "ORDER": "Squares are added from left to right, so that the last bits depend on the order.",
    "OVERFLOW": "A square above the largest float64: the norm is infinite.",
}
ORDER = np.array([[2.0**27, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 2.0**27]])
ROW_NORMS = (
    Case(
        "triangles",
        {"G": np.array([[3, 4], [0, 0], [-5, 12]], np.float32)},
        ("WORKED", "FLOAT32"),
        np.array([5.0, 0, 13]),
        "Roots of 9 + 16, 0 and 25 + 144. In float64, though the rows are float32.",
    ),
    Case(
        "order",
        {"G": ORDER},
        ("WORKED", "ORDER"),
        np.array([2.0**27, 2.0**27 + 2.0**-25]),
        "Numbers above 2**54 are 4 apart. Row 0: 2**54 + 1 is 2**54 again, seven times. Row 1: "
        "seven are 7, and 7 + 2**54 is 2**54 + 8. Its root is 2**27 sqrt(1 + 2**-51): 2**27 + "
        "2**-25 less 2**-78, which rounds to the former.",
    ),
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
