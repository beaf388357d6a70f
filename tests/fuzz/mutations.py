"""Changes of arguments, each with a name: a name and a value say what comes out."""

import decimal
import fractions
import types
from functools import partial

import numpy as np
from scipy.sparse import issparse

import refimpl
from fuzz import fickle, matrices
from refimpl import Adjacency, Block, Graph, as_graph


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


STAR = as_graph([(0, v) for v in range(1, 40)], symmetrize=True)
ARROWS = as_graph([(0, 1), (1, 2), (2, 0)])
WIDE = Block(np.array([0, 2, 2]), np.array([2, 2, 3]), np.array([0, 3, 1]), 4)

# In the place of anything. Functions, so that no call can spoil the value for the next.
WILD = {
    "none": lambda: None,
    "true": lambda: True,
    "text": lambda: "text",
    "empty text": lambda: "",
    "bytes": lambda: b"bytes",
    "long text": lambda: "x" * 10**5,
    "number text": lambda: "1",
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "2": lambda: 2,
    "7": lambda: 7,
    "2**31-1": lambda: 2**31 - 1,
    "2**31": lambda: 2**31,
    "2**53": lambda: 2**53,
    "2**63-1": lambda: 2**63 - 1,
    "2**63": lambda: 2**63,
    "2**64-1": lambda: 2**64 - 1,
    "2**64": lambda: 2**64,
    "-2**63-1": lambda: -(2**63) - 1,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "0.5": lambda: 0.5,
    "3.0": lambda: 3.0,
    "-0.0": lambda: -0.0,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e30": lambda: 1e30,
    "1e300": lambda: 1e300,
    "5e-324": lambda: 5e-324,
    "complex": lambda: 1j,
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(3, 2),
    "own int": lambda: OwnInt(1),
    "index": Index,
    "object": object,
    "broken": Broken,
    "type": lambda: int,
    "function": lambda: len,
    "module": lambda: types,
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set": lambda: {1, 2},
    "ragged": lambda: [[1], [2, 3]],
    "looped": looped,
    "iterator": lambda: iter([1, 2]),
    "[none]": lambda: [None],
    "[1, 2]": lambda: [1, 2],
    "[0.5]": lambda: [0.5],
    "deep": lambda: np.zeros((1,) * 9).tolist(),
    "np.int64": lambda: np.int64(3),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.int8": lambda: np.int8(-128),
    "np.float32": lambda: np.float32(0.5),
    "np.float16": lambda: np.float16(0.5),
    "np.longdouble": lambda: np.longdouble(0.5),
    "np.bool": lambda: np.bool_(True),
    "np.str": lambda: np.str_("text"),
    "np.datetime": lambda: np.datetime64("2026-01-01"),
    "np.dtype": lambda: np.dtype(np.float32),
    "dtype of fields": lambda: np.dtype([("a", "i4"), ("b", "f8")]),
    "no dtype": lambda: {"names": ["a"], "formats": []},
    "0-d": lambda: np.array(3),
    "0-d float": lambda: np.array(0.5),
    "one": lambda: np.array([1]),
    "array []": lambda: np.zeros(0),
    "array [] of ints": lambda: np.zeros(0, np.int64),
    "array 0x0": lambda: np.zeros((0, 0)),
    "array 0x3": lambda: np.zeros((0, 3)),
    "array 3x0": lambda: np.zeros((3, 0)),
    "array of objects": lambda: np.array([None, 1], object),
    "array of texts": lambda: np.array(["a", "b"]),
    "array of dates": lambda: np.array(["2026-01-01"], "M8[D]"),
    "array of fields": lambda: np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "array of words": lambda: np.array([2**64 - 1, 2**63], np.uint64),
    "array of complex": lambda: np.ones(3, complex),
    "array 20-d": lambda: np.zeros((1,) * 20),
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "star": lambda: STAR,
    "arrows": lambda: ARROWS,
    "no nodes": lambda: as_graph([]),
    "no edges": lambda: as_graph([], n=3),
    "typed": lambda: refimpl.TypedGraph(STAR, np.zeros(STAR.e, np.int64), 2),
    "block": lambda: WIDE,
    "scipy": STAR.to_scipy,
    **{
        f"scipy {form} {kind}": partial(matrices.whole, form, kind)
        for form in matrices.FORMATS
        for kind in matrices.KINDS
    },
    **{
        f"scipy {form}, {name}": partial(matrices.damaged, form, name)
        for form, damages in matrices.DAMAGES.items()
        for name in damages
    },
    "graph like all": lambda: fickle.AllAlike(STAR.indptr, STAR.indices),
    "graph without hash": lambda: fickle.NoHash(STAR.indptr, STAR.indices),
    **{f"graph with {member}": partial(fickle.lying_graph, STAR, member) for member in fickle.LIES},
    "adjacency": lambda: refimpl.adjacency.row_norm(STAR),
    "adjacency of nothing": lambda: Adjacency(None, None, None),
    "sampler": lambda: refimpl.Sampler("edge", b=2),
    "topology": lambda: refimpl.loader.Topology.tree((2, 2)),
}


def misaligned(array):
    """Return a copy that begins at an odd address."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    made = raw[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def with_value(array, place, value):
    """Return a copy with one element changed; the dtype stays, a number may wrap."""
    made = array.copy()
    if made.size:
        with np.errstate(all="ignore"):
            made.reshape(-1)[place] = np.asarray(value).astype(made.dtype)
    return made


def read_only(array):
    """Return a read-only copy."""
    made = array.copy()
    made.flags.writeable = False
    return made


def strided(array):
    """Return the same values, every second element of an array twice as long."""
    return np.repeat(array, 2, axis=0)[::2] if array.ndim else array


def as_type(dtype):
    """Return a change of the dtype."""

    def change(array):
        with np.errstate(all="ignore"):
            return array.astype(dtype)

    return change


def element(place, value):
    """Return a change of one element."""
    return lambda array: with_value(array, place, value)


DTYPES = ("f2", "f4", "f8", "g", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "F", "O")
DTYPES += (">f4", ">f8", ">i4", ">i8", ">u8", "M8[s]", "S4", "U8")
ELEMENTS = (-1, 0, 1, 2, 1000, 2**31 - 1, 2**31, 2**62, -(2**63), 0.5, np.nan, np.inf, -np.inf)
ELEMENTS += (1e30, -1e300, 5e-324, 1e308)
ARRAY = {
    **{f"dtype {d}": as_type(d) for d in DTYPES},
    **{f"[0] = {v}": element(0, v) for v in ELEMENTS},
    **{f"[-1] = {v}": element(-1, v) for v in ELEMENTS},
    "without the first": lambda a: a[1:],
    "without the last": lambda a: a[:-1],
    "without the last column": lambda a: a[..., :-1],
    "none left": lambda a: a[:0],
    "one more": lambda a: np.concatenate([a, a[-1:]]),
    "one column more": lambda a: np.concatenate([a, a[..., -1:]], axis=-1),
    "axis in front": lambda a: a[None],
    "axis behind": lambda a: a[..., None],
    "flat": np.ravel,
    "transposed": np.transpose,
    "column order": lambda a: np.array(a, order="F"),
    "reversed": lambda a: a[::-1],
    "sorted": lambda a: np.sort(a, axis=0),
    "every second": strided,
    "one value": lambda a: np.broadcast_to(a.reshape(-1)[:1].reshape((1,) * a.ndim), a.shape),
    "all the same": lambda a: np.full_like(a, a.reshape(-1)[0]) if a.size else a,
    "zeros": np.zeros_like,
    "misaligned": misaligned,
    "read-only": read_only,
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "own class": lambda a: a.view(OwnArray),
    "matrix": lambda a: np.asmatrix(a) if a.ndim <= 2 else a,
    "masked": lambda a: np.ma.masked_array(a),
    "record": lambda a: a.view(np.recarray),
    "list": np.ndarray.tolist,
    "nested tuple": lambda a: tuple(a.tolist()) if a.ndim else a,
    "memory view": lambda a: memoryview(np.ascontiguousarray(a)),
    "tiny": lambda a: a * a.dtype.type(1e-30) if a.dtype.kind == "f" else a,
    "large": lambda a: a * a.dtype.type(1e30) if a.dtype.kind == "f" else a,
    "negative": lambda a: -a if a.dtype.kind in "if" else a,
    "fickle": fickle.FickleArray,
    "lying": lambda a: a.view(fickle.LyingArray),
    "fickle list": lambda a: fickle.FickleList(a.tolist()) if a.ndim else a,
}
NUMBER = {
    "+1": lambda x: x + 1,
    "-1": lambda x: x - 1,
    "negative": lambda x: -x,
    "float": float,
    "text": str,
    "own int": lambda x: OwnInt(x) if isinstance(x, int) else x,
    "fickle": lambda x: fickle.FickleInt(int(x)) if isinstance(x, int) else x,
    "np.int32": lambda x: np.int32(x) if abs(x) < 2**31 else x,
    "np.uint64": lambda x: np.uint64(x) if 0 <= x < 2**64 else x,
    "np.float64": np.float64,
    "np.float32": np.float32,
    "0-d": np.array,
    "list": lambda x: [x],
    "fraction": lambda x: fractions.Fraction(x) if x == x and abs(x) != float("inf") else x,
}
TEXT = {
    "upper": str.upper,
    "bytes": str.encode,
    "longer": lambda s: s + "x",
    "shorter": lambda s: s[:-1],
    "np.str": np.str_,
    "array": lambda s: np.array([s]),
    "hyphens": lambda s: s.replace("_", "-"),
    "nothing in it": lambda s: s + "\0",
}
SEQUENCE = {
    "without the first": lambda s: s[1:],
    "without the last": lambda s: s[:-1],
    "twice": lambda s: s + s,
    "reversed": lambda s: s[::-1],
    "list": list,
    "tuple": tuple,
    "plain tuple": lambda s: tuple(iter(s)),
    "iterator": iter,
    "dict": lambda s: dict(enumerate(s)),
    "fickle": fickle.FickleList,
    "shrinking": fickle.ShrinkingList,
    "and none": lambda s: [*s, None],
    "and text": lambda s: (*s, "text"),
}
MAPPING = {
    "without the first": lambda d: dict(list(d.items())[1:]),
    "and another": lambda d: {**d, "another": 1},
    "list": lambda d: list(d.items()),
    "number as key": lambda d: {**d, 1: 1},
}


def changes_of(value):
    """Return {name: function} of what fits a value, beside what is `WILD`."""
    if isinstance(value, np.ndarray):
        return ARRAY
    if isinstance(value, bool | np.bool_) or value is None:
        return {}
    if isinstance(value, int | float | np.number):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, dict):
        return MAPPING
    return SEQUENCE if isinstance(value, tuple | list) else {}


def changed(kind, value):
    """Return `value` after the change of this name: "wild NAME", or one of `changes_of`."""
    if kind.startswith("wild "):
        return WILD[kind.removeprefix("wild ")]()
    return changes_of(value)[kind](value)


def walk(value, path=(), depth=5):
    """Yield (path, part) for every part of some arguments that can be put back changed."""
    if path:
        yield path, value
    if depth == 0 or isinstance(value, Graph | Block):
        return  # those check themselves when they are made
    for key in parts(value):
        yield from walk(part(value, key), (*path, key), depth - 1)


def parts(value):
    """Return the names, or the places, of the parts of a value that are looked into."""
    if isinstance(value, dict):
        return [key for key in value if isinstance(key, str)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(value._fields)
    if isinstance(value, Adjacency):
        return ["graph", "data", "data_t", "graph_t", "perm"]
    if isinstance(value, tuple | list):
        return sorted({*range(min(2, len(value))), len(value) - 1} - {-1})
    return []


def part(value, key):
    """Return one part."""
    if issparse(value):  # which an earlier change has put there: damaged ones end the process
        raise TypeError("a matrix of scipy.sparse has no parts to change")
    return (
        getattr(value, key) if isinstance(key, str) and not isinstance(value, dict) else value[key]
    )


def replaced(value, path, new):
    """Return `value` with another part; nothing is written into what there was."""
    if not path:
        return new
    if isinstance(value, np.ndarray):  # which an earlier change has put there
        raise TypeError("an array has no parts to change")
    key, rest = path[0], path[1:]
    inner = replaced(part(value, key), rest, new)
    if isinstance(value, dict):
        return {**value, key: inner}
    if isinstance(value, Adjacency):
        fields = {name: getattr(value, name) for name in parts(value)}
        return Adjacency(**{**fields, key: inner})
    if isinstance(key, str):
        return value._replace(**{key: inner})
    return type(value)([*value[:key], inner, *value[key + 1 :]])
