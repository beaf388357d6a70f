"""Argument checks shared by both packages, so that both raise the same errors."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import GetSetDescriptorType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse as issparse  # for others too: require.issparse

from refimpl.hints import Ids, Mask, Words

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
UNSIGNED = {np.dtype(f"int{n}"): (np.dtype(f"uint{n}"), 2 ** (n - 1)) for n in (32, 64)}
WORD = 2**64  # keys and counters live modulo this


KEPT = ("__class__", "__dict__", "__getattribute__", "__post_init__")
LONGEST = 200  # characters of a value in a message

V = TypeVar("V")
Integer = TypeVar("Integer", bound=np.integer[Any])
Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[Integer]]


def shown(value: object) -> str:
    """Return what a message says of a value: its `repr`, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # of a strange object, or of an int of thousands of digits
        return type(value).__name__
    if " at 0x" in text:  # no two objects have one address
        return type(value).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}.."


def instance(name: str, value: V, kinds: tuple[Any, ...], wanted: str) -> V:
    """Return `value` if it is of one of `kinds` and keeps their members, or raise.

    Kernels index memory by what a class checked when an object was built. A member that a subclass
    defines anew may return anything.
    """
    kind = type(value)
    if kind in kinds:
        return value
    base = next((base for base in kinds if base in kind.__mro__), None)
    if base is None:
        raise TypeError(f"{name} must be {wanted}, got {kind.__name__}")
    kept = {word for word in vars(base) if not word.startswith("_")}
    kept |= {*base.__dataclass_fields__, *KEPT}
    for above in kind.__mro__[: kind.__mro__.index(base)]:
        for word in sorted(vars(above).keys() & kept):
            if isinstance(vars(above)[word], GetSetDescriptorType):  # Python's own __dict__
                continue
            raise TypeError(
                f"{name} must keep the members of {base.__name__}, "
                f"but {kind.__name__} defines {word} anew"
            )
    return value


def integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high], or raise."""
    if type(value) is not int:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
            raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
        value = int(value)
    if value < low or (high is not None and value > high):
        bound = f"at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be {bound}, got {shown(value)}")
    return value


def word(name: str, value: Any) -> int:
    """Return `value` as an int in [0, 2**64), or raise."""
    return integer(name, value, 0, WORD - 1)


def word_or_words(name: str, value: Any) -> int | Words:
    """Return `value` as an int in [0, 2**64), or as an array if it is a uint64 array, or raise."""
    if not isinstance(value, np.ndarray):
        return word(name, value)
    value = array(name, value)
    if value.dtype != np.uint64:
        raise TypeError(f"{name} must be an int or a uint64 array, got {value.dtype}")
    return value if value.ndim else int(value)


def real(
    name: str, value: Any, low: float, *, strict: bool = False, high: float = math.inf
) -> float:
    """Return `value` as a finite float, at least (or above, if strict) `low`, at most `high`."""
    if type(value) is not float:
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


def rate(name: str, value: Any) -> float:
    """Return `value` as a float in [0, 1), or raise."""
    value = real(name, value, 0)
    if value >= 1:
        raise ValueError(f"{name} must be below 1, got {value}")
    return value


def choice(name: str, value: V, allowed: Collection[str]) -> V:
    """Return `value` if it is one of `allowed`, or raise."""
    if type(value) is str and value in allowed:
        return value
    plain = isinstance(value, np.str_) or type(value).__eq__ is str.__eq__  # compares as a str does
    if not isinstance(value, str) or not plain or value not in allowed:
        known = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {known}, got {shown(value)}")
    return value


def switch(name: str, value: V) -> V:
    """Return `value` if it is True or False, or raise."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return value


def path(name: str, value: Any) -> Path:
    """Return `value` as a Path, or raise."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a str or a Path, got {type(value).__name__}")
    if value == "":  # which would be the current folder
        raise ValueError(f"{name} must name a file or folder, got ''")
    if "\0" in os.fspath(value):
        raise ValueError(f"{name} must not hold a null character")
    return Path(value)


def sequence(
    name: str, value: Any, of: str = "integers", count: int | None = None
) -> tuple[Any, ...]:
    """Return `value` as a tuple, of `count` parts if that is given, or raise.

    No matrix of scipy.sparse: to take rows of a damaged one ends the process.
    """
    if not np.iterable(value) or issparse(value):
        raise TypeError(f"{name} must be a sequence of {of}, got {type(value).__name__}")
    try:
        parts = tuple(value)
    except MemoryError:
        raise
    except Exception as error:  # whatever an object that is iterated over raises
        got = type(value).__name__
        raise ValueError(f"{name} must be a sequence of {of}, got {got}: {error}") from None
    if count is not None and len(parts) != count:
        raise ValueError(f"{name} must have {count} parts, got {len(parts)}")
    return parts


def listed(name: str, value: object, of: str) -> tuple[Any, ...]:
    """Return a tuple or a list as a tuple, or raise: a subclass may change from read to read."""
    if not isinstance(value, tuple | list):
        raise TypeError(f"{name} must be a tuple or list of {of}, got {type(value).__name__}")
    return tuple(value)


def record(name: str, value: object, kind: Any) -> Any:
    """Return the fields of the NamedTuple `kind` that `value` has, each read once, or raise."""
    if type(value) is kind:
        return value
    try:
        return kind(*(getattr(value, field) for field in kind._fields))
    except AttributeError:
        raise TypeError(
            f"{name} must be like {kind.__name__}, got {type(value).__name__}"
        ) from None


def array(name: str, value: Any) -> NDArray[Any]:
    """Return `value` as an array, or raise."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):  # the mask would be lost
        raise ValueError(f"{name} must have no masked entries: give {name}.filled(VALUE)")
    try:
        return np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:  # whatever an object that is asked for an array raises
        raise ValueError(f"{name} must be an array, got {type(value).__name__}: {error}") from None


def floats(name: str, value: Any, shape: Sequence[int | None], dtype: Any = None) -> NDArray[Any]:
    """Return `value` as a C-contiguous float array; None in `shape` accepts any length.

    With `dtype` given, the array must have just that dtype: no value is ever cast silently.
    """
    values = array(name, value)
    own = values.dtype
    if own not in FLOATS:
        raise TypeError(f"{name} must be float32 or float64, got {own}")
    if dtype is not None and own is not dtype and own != dtype:
        raise TypeError(f"{name} must be {np.dtype(dtype)} like the other arrays, got {own}")
    if not fits(values.shape, shape):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {values.shape}")
    return plain(values)


def fits(got: tuple[int, ...], shape: Sequence[int | None]) -> bool:
    """Whether an array's shape is `shape`, in which None is any length."""
    if len(got) != len(shape):
        return False
    for want, length in zip(shape, got, strict=True):  # noqa: SIM110 -- a generator is slower
        if want is not None and want != length:
            return False
    return True


def positive(name: str, value: Any, count: int) -> NDArray[np.float64]:
    """Return `value` as a float64 copy of `count` positive finite numbers, or raise."""
    values = array(name, value)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be real numbers, got {values.dtype}")
    if values.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), got {values.shape}")
    values = values.astype(np.float64)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name} must be positive and finite")
    return values


def replaceable(arrays: dict[str, NDArray[Any]], *others: NDArray[Any]) -> None:
    """Raise unless some arrays, by name, can be written over and have memory of their own."""
    for name, values in arrays.items():
        if not values.flags.writeable:
            raise ValueError(f"{name} must be writeable where overwrite is True: it is read-only")
        rest = [arrays[other] for other in arrays if other != name]
        if any(np.may_share_memory(values, other) for other in [*rest, *others]):
            raise ValueError(
                f"{name} must share no memory with the other arrays where overwrite is True"
            )


def plain(values: Any, dtype: Any = None) -> NDArray[Any]:
    """Return an array as memory that kernels may read: C-contiguous, and aligned to its dtype."""
    values = np.ascontiguousarray(values, dtype)
    return values if values.flags.aligned else values.copy()


def is_plain(array: NDArray[Any]) -> bool:
    """Say whether kernels may read an array where it is."""
    return array.flags.c_contiguous and array.flags.aligned


def float_dtype(name: str, value: Any) -> np.dtype[Any]:
    """Return `value` as float32 or float64, or raise."""
    try:
        dtype = np.dtype(value)
    except Exception:  # NumPy raises one of many kinds
        dtype = np.dtype(object)
    if dtype not in FLOATS:
        raise TypeError(f"{name} must be float32 or float64, got {shown(value)}")
    return dtype


def ids(name: str, value: Any, low: int, high: int, dtype: type[Integer]) -> Vector[Integer]:
    """Return a copy of `value`, 1-D, C-contiguous integers in [low, high), or raise.

    Memory is indexed by them, and another thread may write to `value` meanwhile: it is the copy
    that is checked.
    """
    values = np.array(array(name, value))
    if values.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {values.shape}")
    if not values.size:
        return np.empty(0, dtype)  # whatever nothing is of
    if values.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {values.dtype}")
    unsigned, beyond = UNSIGNED.get(values.dtype, (values.dtype, -1))
    if low == 0 and high <= beyond:  # a number below 0 is read as one from `beyond` on
        fit = np.maximum.reduce(values.view(unsigned)) < high
    else:
        fit = np.minimum.reduce(values) >= low and np.maximum.reduce(values) < high
    if not fit:
        raise ValueError(f"{name} must be in [{low}, {high})")
    return np.ascontiguousarray(values, dtype=dtype)


def mask(name: str, value: Any, count: int) -> Mask:
    """Return a copy of `value`, a C-contiguous array of `count` bools, or raise.

    A copy as those of `ids`: arrays are made as long as there are true entries.
    """
    values = array(name, value)
    if values.dtype != np.bool_:
        raise TypeError(f"{name} must hold bools, got dtype {values.dtype}")
    if values.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), got {values.shape}")
    return values.view(np.uint8) != 0  # whatever byte stands for true, it is now 1


def positions(name: str, value: Any, count: int, e: int | None = None) -> NDArray[Any]:
    """Return a copy of `value`, `count` positions in [0, e) (default: `count`), or raise."""
    e = count if e is None else e
    array = ids(name, value, 0, e, position_dtype(e))
    if array.size != count:
        raise ValueError(f"{name} must have shape ({count},), got {array.shape}")
    return array


def position_dtype(e: int) -> type[Any]:
    """Return the smaller of the two types of positions that holds any of e."""
    return np.int32 if e < 2**31 else np.int64


def node_set(name: str, value: Any, n: int) -> Ids:
    """Return a copy of `value`, int32 node ids in [0, n), strictly ascending, or raise."""
    nodes = ids(name, value, 0, n, np.int32)
    if np.any(nodes[1:] <= nodes[:-1]):
        raise ValueError(f"{name} must be strictly ascending (sorted, each node once)")
    return nodes
