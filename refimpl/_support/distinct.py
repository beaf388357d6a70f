"""Each of some numbers once, by sorting: `numpy.unique` of NumPy 2.3 hashes, which takes longer."""

from __future__ import annotations

import numpy as np

from refimpl.hints import Integers


def distinct(values: Integers) -> np.ndarray:
    """Return each of some numbers once, ascending. O(k log k) time."""
    values = np.sort(values)
    new = np.ones(len(values), bool)
    new[1:] = values[1:] != values[:-1]
    return values[new]
