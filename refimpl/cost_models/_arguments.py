"""Arguments of the cost models: numbers or arrays, checked, as float64."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from refimpl._support import require
from refimpl._support.numpy_warnings import quiet
from refimpl.graph.csr import undirected

P = ParamSpec("P")
R = TypeVar("R")


def model(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a cost model of numbers or arrays: their shapes must broadcast; no warnings."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    @quiet
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs)
        given.arguments.update(broadcasting(**given.arguments))
        return function(*given.args, **given.kwargs)

    return checked


def broadcasting(**given):
    """Return those arguments that are arrays, by their names; raise unless they broadcast."""
    arrays = {name: require.array(name, value) for name, value in given.items()}
    arrays = {name: array for name, array in arrays.items() if array.shape}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(shapes) > 1:
        try:
            np.broadcast_shapes(*shapes.values())
        except ValueError:
            raise ValueError(
                f"{', '.join(shapes)} must have shapes that broadcast, "
                f"got {', '.join(map(str, shapes.values()))}"
            ) from None
    return arrays


def pops(n, m) -> np.ndarray:
    """Return n - m for a budget n and a frontier m, or raise."""
    n, m = whole("n", n), whole("m", m)
    if np.any(n < m):
        raise ValueError("n must be at least m")
    return n - m


def numbers(name, value) -> np.ndarray:
    """Return `value` as finite float64, or raise."""
    array = require.array(name, value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers, got {array.dtype}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


def at_least(name, value, low) -> np.ndarray:
    """Return `value` as float64, none below `low`, or raise."""
    array = numbers(name, value)
    if np.any(array < low):
        raise ValueError(f"{name} must be at least {low}, got {array.min()}")
    return array


def above(name, value, low) -> np.ndarray:
    """Return `value` as float64, all above `low`, or raise."""
    array = numbers(name, value)
    if np.any(array <= low):
        raise ValueError(f"{name} must be above {low}, got {array.min()}")
    return array


def whole(name, value) -> np.ndarray:
    """Return `value` as float64 whole numbers from 1, or raise."""
    array = at_least(name, value, 1)
    if np.any(array != np.floor(array)):
        raise ValueError(f"{name} must be whole numbers")
    return array


def weights(graph, deg_cap):
    """Check the graph; return the pop weight and the degree of every node."""
    degrees = undirected(graph).degrees()
    if not graph.e:
        raise ValueError("graph must have at least one edge")
    if deg_cap is None:
        return degrees, degrees
    return np.minimum(degrees, require.integer("deg_cap", deg_cap, 1, 2**31 - 1)), degrees
