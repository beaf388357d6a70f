"""What the annotations of both packages are made of: arrays by shape and dtype, and numbers.

For your own annotations, ``from refimpl.hints import Matrix``. A type checker (mypy, pyright) finds
arrays of the wrong number of dimensions, of integers where floats are due, or of float32 beside
float64. It knows the length of no array: that is checked at run time.

Shapes are those of NumPy's own annotations, ``np.ndarray[tuple[int, int], np.dtype[..]]``: an array
whose shape a checker does not know, such as any ``NDArray``, fits all of them.

Arrays of floats
----------------
`Floats`, `Matrix` and `Cube` have 1, 2 and 3 dimensions. ``Matrix[F]`` stands more than once in a
signature where all such arrays must be of one dtype, `F`: float32 or float64. ``Matrix`` alone is
one of either.

Arrays of integers and bools
----------------------------
`Ids`: (k,) int32, nodes. `Positions`: (k,) int64, places in an array. `Words`: uint64 of any shape,
keys and counters. `Mask`: (k,) bool. What a function takes, and copies, may be any of these:
`Integers`: a 1-D array of any integers, or a sequence of ints such as a list; `Reals` likewise.

Numbers
-------
`Int` and `Float`: Python's, or NumPy's. `Rng`: what `as_seed` makes a seed of. `FloatDtype`: what
stands for float32 or float64.

Others
------
`Path`: a str or a path object. `bound`: the decorator of functions that take an implementation.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np

__all__ = [
    "Cube",
    "F",
    "Float",
    "FloatDtype",
    "Floats",
    "Ids",
    "Int",
    "Integers",
    "Mask",
    "Matrix",
    "Path",
    "Positions",
    "Reals",
    "Rng",
    "Words",
    "bound",
]

F = TypeVar("F", np.float32, np.float64)

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[F]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[F]]
Cube: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[F]]

Ids: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int32]]
Positions: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.uint64]]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

Int: TypeAlias = int | np.integer[Any]
Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
Integers: TypeAlias = Sequence[Int] | np.ndarray[tuple[int], np.dtype[np.integer[Any]]]
Reals: TypeAlias = (
    Sequence[Float] | np.ndarray[tuple[int], np.dtype[np.floating[Any] | np.integer[Any]]]
)
Rng: TypeAlias = Int | np.random.Generator | None
FloatDtype: TypeAlias = (
    type[np.float32]
    | type[np.float64]
    | type[float]
    | np.dtype[np.float32]
    | np.dtype[np.float64]
    | Literal["float32", "float64"]
)
Path: TypeAlias = str | os.PathLike[str]

P = ParamSpec("P")
R = TypeVar("R")


def bound(function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Return `function`, whose first argument `gnn` is filled in by each package.

    So says `refimpl.lab.backend` when the program runs. A type checker, which does not run it,
    reads here that the public name is called without `gnn`.
    """
    return function  # type: ignore[return-value]
