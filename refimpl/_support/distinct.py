"""Each of some numbers once, by sorting: `numpy.unique` of NumPy 2.3 hashes, which takes longer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return each of some numbers once, ascending. O(k log k) time."""
    values = np.sort(values)
    new = np.ones(len(values), bool)
    new[1:] = values[1:] != values[:-1]
    return values[new]
