"""What the annotations of both packages are made of: arrays by shape and dtype, and numbers.

For your own annotations, ``from refimpl.hints import Matrix``. A type checker (mypy, pyright) finds
arrays of the wrong number of dimensions, of integers where floats are due, or of float32 beside
float64. It knows the length of no array: that is checked at run time.

Shapes are those of NumPy's own annotations, ``np.ndarray[tuple[int, int], np.dtype[..]]``: an array
whose shape a checker does not know, such as any ``NDArray``, fits all of them.

Arrays of floats
----------------
`Floats` and `Matrix` have 1 and 2 dimensions, `Values` any number. Where they stand with `F`, as in
``Matrix[F]``, they are float32 or float64, and all of one call are of one dtype. Without it the
dtype is not known to the checker: so are they in what layers return. `Features` may be of float16
as well.

Arrays of integers and bools
----------------------------
`Ids`: (k,) int32, nodes. `Positions`: (k,) int64, places in an array. `Types`: (k,) int16. `Words`:
uint64 of any shape, keys and counters. `Mask`: (k,) bool.

What a function takes, and copies, may be more: `Integers`, a 1-D array of any integers, or a
sequence such as a list; `Reals`, likewise of numbers; `Table`, a 2-D array of numbers or bools, or
lists of numbers; `Fanouts`, an int a layer, or in a `TypedGraph` a sequence of them.

Numbers
-------
`Int` and `Float`: Python's, or NumPy's. `Rng`: what `as_seed` makes a seed of. `FloatDtype`: what
stands for float32 or float64. `Numbers`: a number or an array of them, as cost models take them;
they return `FloatOrArray`, an array where an argument is one. `Absent`: None, in results that may
lack a part; a checker does not ask you to look for it.

Others
------
`Sparse`: an `Adjacency` instead of an array, as the input of a first layer. A checker takes it for
any array.

`FilePath`: a str or a path object. `SampleMode`: a mode of `sample_mfg`. `SamplerOptions`: the
options of the samplers, by name. `bound`: the decorator of functions that take an implementation.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "F",
    "Fanouts",
    "Features",
    "Float",
    "FloatDtype",
    "FloatOrArray",
    "Floats",
    "Ids",
    "Int",
    "Integers",
    "Mask",
    "Matrix",
    "Numbers",
    "Absent",
    "FilePath",
    "Positions",
    "Reals",
    "Rng",
    "SamplerOptions",
    "SampleMode",
    "Sparse",
    "Table",
    "Types",
    "Values",
    "Words",
    "bound",
]

F = TypeVar("F", np.float32, np.float64)

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[F]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[F]]
Values: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[F]]
Features: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float16 | np.float32 | np.float64]]

Ids: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int32]]
Positions: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.uint64]]
Types: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int16]]
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

Int: TypeAlias = int | np.integer[Any]
Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
Integers: TypeAlias = Sequence[Int] | np.ndarray[tuple[int], np.dtype[np.integer[Any]]]
Reals: TypeAlias = (
    Sequence[Float] | np.ndarray[tuple[int], np.dtype[np.floating[Any] | np.integer[Any]]]
)
Numbers: TypeAlias = (
    Float
    | Sequence[Float]
    | Sequence[Sequence[Float]]
    | NDArray[np.floating[Any] | np.integer[Any]]
)
FloatOrArray: TypeAlias = Any
Absent: TypeAlias = Any
Sparse: TypeAlias = Any
Fanouts: TypeAlias = Integers | Sequence[Int | Sequence[Int]]
Table: TypeAlias = (
    Sequence[Sequence[Float]] | np.ndarray[tuple[int, int], np.dtype[np.number[Any] | np.bool_]]
)
Rng: TypeAlias = Int | np.random.Generator | None
FloatDtype: TypeAlias = (
    type[np.float32]
    | type[np.float64]
    | type[float]
    | np.dtype[np.float32 | np.float64]
    | Literal["float32", "float64"]
)
FilePath: TypeAlias = str | os.PathLike[str]
SampleMode: TypeAlias = Literal[
    "layered", "shared", "labor", "labor_exact", "labor_1", "labor_2", "labor_3"
]


class SamplerOptions(TypedDict, total=False):
    """The options of all samplers of the packages; `Sampler` checks which ones a sampler has."""

    m: Int
    n: Int
    eta: Float
    deg_cap: Int | None
    include: Literal["pushed", "popped"]
    lanes: Int
    probing: Literal["one", "lanes"]
    probe_range: Literal["capacity", "used"]
    overflow: Literal["truncate", "grow"]
    b: Int
    method: Literal["direct", "alias"]
    r: Int
    h: Int
    p_f: Float


P = ParamSpec("P")
R = TypeVar("R")


def bound(function: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Return `function`, whose first argument `gnn` is filled in by each package.

    So says `refimpl.lab.backend` when the program runs. A type checker, which does not run it,
    reads here that the public name is called without `gnn`.
    """
    return function  # type: ignore[return-value]
