"""Argument checks shared by both packages, so that both raise the same errors."""

import math
from numbers import Integral, Real

import numpy as np

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
WORD = 2**64  # keys and counters live modulo this


def integer(name, value, low, high=None):
    """Return `value` as an int in [low, high], or raise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    value = int(value)
    if value < low or (high is not None and value > high):
        bound = f"at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be {bound}, got {value}")
    return value


def word(name, value):
    """Return `value` as an int in [0, 2**64), or raise."""
    return integer(name, value, 0, WORD - 1)


def word_or_words(name, value):
    """Return `value` as an int in [0, 2**64), or unchanged if it is a uint64 array, or raise."""
    if not isinstance(value, np.ndarray):
        return word(name, value)
    if value.dtype != np.uint64:
        raise TypeError(f"{name} must be an int or a uint64 array, got {value.dtype}")
    return value if value.ndim else int(value)


def real(name, value, low, *, strict=False, high=math.inf):
    """Return `value` as a finite float, at least (or above, if strict) `low`, at most `high`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value) or value < low or (strict and value == low) or value > high:
        bound = f"above {low}" if strict else f"at least {low}"
        bound += "" if high == math.inf else f" and at most {high}"
        raise ValueError(f"{name} must be finite and {bound}, got {value}")
    return value


def choice(name, value, allowed):
    """Return `value` if it is one of `allowed`, or raise."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def floats(name, value, shape, dtype=None):
    """Return `value` as a C-contiguous float array; None in `shape` accepts any length.

    With `dtype` given, the array must have just that dtype: no value is ever cast silently.
    """
    array = np.asarray(value)
    if array.dtype not in FLOATS:
        raise TypeError(f"{name} must be float32 or float64, got {array.dtype}")
    if dtype is not None and array.dtype != dtype:
        raise TypeError(
            f"{name} must be {np.dtype(dtype)} like the other arrays, got {array.dtype}"
        )
    if array.ndim != len(shape) or any(
        want is not None and want != got for want, got in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {array.shape}")
    return np.ascontiguousarray(array)


def float_dtype(name, value):
    """Return `value` as float32 or float64, or raise."""
    try:
        dtype = np.dtype(value)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in FLOATS:
        raise TypeError(f"{name} must be float32 or float64, got {value!r}")
    return dtype


def ids(name, value, low, high, dtype):
    """Return a copy of `value`, 1-D, C-contiguous integers in [low, high), or raise.

    Memory is indexed by them, and another thread may write to `value` meanwhile: it is the copy
    that is checked.
    """
    array = np.array(value)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.size and (array.min() < low or array.max() >= high):
        raise ValueError(f"{name} must be in [{low}, {high})")
    return np.ascontiguousarray(array, dtype=dtype)


def mask(name, value, count):
    """Return a copy of `value`, a C-contiguous array of `count` bools, or raise.

    A copy as those of `ids`: arrays are made as long as there are true entries.
    """
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must hold bools, got dtype {array.dtype}")
    if array.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), got {array.shape}")
    return array.view(np.uint8) != 0  # whatever byte stands for true, it is now 1


def positions(name, value, count, e=None):
    """Return a copy of `value`, `count` int64 positions in [0, e) (default: `count`), or raise."""
    array = ids(name, value, 0, count if e is None else e, np.int64)
    if array.size != count:
        raise ValueError(f"{name} must have shape ({count},), got {array.shape}")
    return array


def node_set(name, value, n):
    """Return a copy of `value`, int32 node ids in [0, n), strictly ascending, or raise."""
    nodes = ids(name, value, 0, n, np.int32)
    if np.any(nodes[1:] <= nodes[:-1]):
        raise ValueError(f"{name} must be strictly ascending (sorted, each node once)")
    return nodes
