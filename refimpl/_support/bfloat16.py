"""Dense products of factors that are rounded to bfloat16, with weights and sums in float32.

A bfloat16 is the upper half of a float32: the same range, 8 bits of precision instead of 24.
Processors with instructions for it multiply several times as fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from refimpl.hints import Values

_on: ContextVar[bool] = ContextVar("products in bfloat16", default=False)


@contextmanager
def bfloat16_products(on: bool = True) -> Iterator[None]:
    """A block in which the factors of dense products of float32 are rounded, or with False not."""
    token = _on.set(on)
    try:
        yield
    finally:
        _on.reset(token)


def rounds(X: Values[Any]) -> bool:
    """Whether a factor of a dense product is to be rounded."""
    return _on.get() and X.dtype == np.float32


def rounded(X: Values[np.float32]) -> Values[np.float32]:
    """Return the nearest bfloat16 numbers, as float32; of two as near, that with an even last bit.

    A NaN stays a NaN.
    """
    bits = np.ascontiguousarray(X).view(np.uint32)
    nearest = bits + (0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000  # JAX, torch and MKL round alike
    return np.where(np.isnan(X), X, nearest.view(np.float32))
