"""Faces of the small kernels that every layer uses."""

import math

import numpy as np

from fastimpl._buffers import empty
from fastimpl._chain import run
from fastimpl.layers import _elementwise


def masked(G_out, X_out, relu, overwrite, G=None):
    """Return the gradient before the ReLU, written to `G` if given, else wherever is cheapest."""
    if G is None:
        if not relu:
            return G_out
        G = G_out if overwrite else empty(G_out.shape, G_out.dtype)
    run(None, _elementwise.masked, G_out, X_out, relu, G)
    return G


def spare(array, shape, overwrite):
    """Return memory for a result of this shape: that of `array`, where it may serve and fits."""
    return array if overwrite and array.shape == shape else empty(shape, array.dtype)


def bias_gradient(b, G, total=None):
    """Return the sum of G's rows, written to `total` if given, or None where there is no bias."""
    if b is None:
        return None
    total = np.empty_like(b) if total is None else total
    sums = np.empty((_elementwise.blocks_of(len(G)), len(b)), b.dtype)
    run(None, _elementwise.column_sums, G, total, sums)
    return total


def threshold(rate):
    """Return the 53 bits from which on a draw keeps an element, and what that is multiplied by."""
    rate = float(rate)  # it may be an integer of NumPy's
    return math.ceil(rate * 2**53), 1 / (1 - rate)


def part(b, first, last):
    """Return some entries of a bias that may be None."""
    return None if b is None else b[first:last]
