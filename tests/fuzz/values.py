"""Values of arguments as Python expressions: a finding can be read, and evaluated again.

An expression may use `old`, the value that it replaces, `args`, the other arguments of the call,
`gnn`, the package that is called, and what this module defines.
"""

import decimal  # noqa: F401
import fractions  # noqa: F401
import functools
import math
import types  # noqa: F401

import numpy as np

import refimpl
from fuzz import by_hand, fickle, matrices, written
from refimpl import Adjacency, Block, TypedGraph, as_graph  # noqa: F401
from refimpl.graph import WeightedGraph  # noqa: F401


class OwnArray(np.ndarray):
    """A subclass of NumPy's array that does nothing more."""


class OwnInt(int):
    """A subclass of int that does nothing more."""


class Index:
    """What Python takes for an index, and is no number."""

    def __index__(self):
        return 1


class Broken:
    """What cannot be made an array, nor compared, nor measured."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("no array")

    def __eq__(self, other):
        raise RuntimeError("not comparable")

    __hash__ = None

    def __len__(self):
        raise RuntimeError("no length")


def looped():
    """Return a list that holds itself."""
    made: list = []
    made.append(made)
    return made


def filled(shape, dtype, way):
    """Return an array: of steps from 0 (of floats, from 0.1 to 1), of one value, or of draws."""
    size, kind = math.prod(shape), np.dtype(dtype).kind
    flat = np.linspace(0.1, 1, size) if kind == "f" else np.arange(size)
    flat = {"steps": flat, "mixed": np.random.RandomState(size).permutation(flat)}.get(
        way, flat * 0
    )
    return (flat % 2 if kind == "b" else flat).astype(dtype).reshape(shape)


def misaligned(array):
    """Return a copy that begins at an odd address."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    made = raw[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def with_element(array, place, value):
    """Return a copy with one element changed; the dtype stays, a number may wrap."""
    made = array.copy()
    if made.size:
        with np.errstate(all="ignore"):
            made.reshape(-1)[place] = np.asarray(value).astype(made.dtype)
    return made


def of_type(array, dtype):
    """Return an array of another dtype; a number may wrap."""
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def read_only(array):
    """Return a read-only copy."""
    made = array.copy()
    made.flags.writeable = False
    return made


def split(text):
    """Return the expressions of a text, with a semicolon or the end of a line behind each."""
    return [part.strip() for part in text.replace("\n", ";").split(";")]


STAR = as_graph([(0, v) for v in range(1, 40)], symmetrize=True)
WEIGHTED = Block([0, 2], [2, 3], [0, 1, 2], 3, [4, 5, 6], [1, 2.5, 2])
WIDE = Block(np.array([0, 2, 2]), np.array([2, 2, 3]), np.array([0, 3, 1]), 4)
nan, inf = math.nan, math.inf

WRITTEN = written("values")
EXAMPLES, WILD = WRITTEN["examples"], split(WRITTEN["wild"])  # by class; instead of anything
MATRICES = [f"matrices.whole({f!r}, {k!r})" for f in matrices.FORMATS for k in matrices.KINDS]
MATRICES += [
    f"matrices.damaged({f!r}, {d!r})" for f in matrices.DAMAGES for d in matrices.DAMAGES[f]
]
LIARS = [f"fickle.lying_graph(STAR, {member!r})" for member in fickle.LIES]
CHANGES = {kind: split(text) for kind, text in WRITTEN["changes"].items()}
DTYPES, ELEMENTS = map(split, WRITTEN["of_arrays"].values())
CHANGES["array"] += [f"of_type(old, {dtype!r})" for dtype in DTYPES]
CHANGES["array"] += [f"with_element(old, {at}, {value})" for at in (0, -1) for value in ELEMENTS]


def changes_of(value):
    """Return expressions of `old` that fit a value."""
    if isinstance(value, np.ndarray):
        return CHANGES["array"]
    if isinstance(value, bool | np.bool_) or value is None:
        return []
    if isinstance(value, int | float | np.number):
        return CHANGES["number"]
    if isinstance(value, str):
        return CHANGES["text"]
    if isinstance(value, dict):
        return CHANGES["mapping"]
    return CHANGES["sequence"] if isinstance(value, tuple | list) else []


@functools.cache
def compiled(expression):
    """Return the code of an expression."""
    return compile(expression.strip(), "<fuzz>", "eval")


def value_of(expression, old=None, args=None, gnn=refimpl):
    """Return the value of an expression."""
    names = {**vars(by_hand), **globals(), "old": old, "args": args, "gnn": gnn}
    return eval(compiled(expression), names)
