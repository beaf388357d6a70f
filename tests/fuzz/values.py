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
from fuzz import by_hand, fickle, matrices
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

# Examples of the classes that annotations name.
EXAMPLES = {
    "Graph": ["PAW", "RING", "STAR", "ARROWS", "as_graph([])", "as_graph([], n=3)"],
    "WeightedGraph": ["WeightedGraph(PAW, np.ones(PAW.e))"],
    "TypedGraph": ["TypedGraph(PAW, np.arange(PAW.e) % 2, 2)"],
    "Block": ["WIDE", "WEIGHTED", "mfg(gnn).blocks[0]"],
    "MFG": ["mfg(gnn)"],
    "Adjacency": ["gnn.adjacency.row_norm(PAW)", "gnn.adjacency.sym_norm(RING)"],
    "Subgraph": ["gnn.induced_subgraph(PAW, [0, 2, 3])"],
    "Sampler": ["EDGE", "gnn.Sampler('frontier', m=2, n=4)"],
    "SamplingCounts": ["counts(gnn)['counts']"],
    "AliasTable": ["gnn.samplers.alias_build(np.array([1.0, 2.0, 3.0]))"],
    "Topology": ["gnn.loader.Topology.tree((2, 2))", "gnn.loader.Topology.crossbar(4)"],
    "FeatureStore": ["gnn.loader.FeatureStore((filled((4, 2), 'f4', 'steps'),))"],
    "ProductOrders": ["gnn.scheduling.ProductOrders(1, 1, 2)"],
    "dtype": ["np.dtype('f4')", "np.dtype('f8')"],
}

# Instead of anything.
WILD = split(
    r"""None; True; 'text'; ''; b'bytes'; 'x' * 10**5; '1'; -1; 0; 1; 2; 7; 2**31-1; 2**31; 2**53
    2**63-1; 2**63; 2**64-1; 2**64; -2**63-1; 10**30; 10**400; 10**5000; 0.5; 3.0; -0.0; nan; inf
    -inf; 1e30; 1e300; 5e-324; 1j; decimal.Decimal('1.5'); fractions.Fraction(3, 2); OwnInt(1)
    Index(); object(); Broken(); int; len; types; []; (); {}; {1, 2}; [[1], [2, 3]]; looped()
    iter([1, 2]); [None]; [1, 2]; [0.5]; np.zeros((1,) * 9).tolist(); np.int64(3)
    np.uint64(2**64-1); np.int8(-128); np.float32(0.5); np.float16(0.5); np.longdouble(0.5)
    np.bool_(True); np.str_('text'); np.datetime64('2026-01-01'); np.dtype('f4')
    np.dtype([('a', 'i4'), ('b', 'f8')]); {'names': ['a'], 'formats': []}; np.array(3)
    np.array(0.5); np.array([1]); np.zeros(0); np.zeros(0, np.int64); np.zeros((0, 0))
    np.zeros((0, 3)); np.zeros((3, 0)); np.array([None, 1], object); np.array(['a', 'b'])
    np.array(['2026-01-01'], 'M8[D]'); np.zeros(2, [('a', 'i4'), ('b', 'f8')])
    np.array([2**64-1, 2**63], np.uint64); np.ones(3, complex); np.zeros((1,) * 20)
    np.ma.masked_array([1.0, 2.0], [True, False]); STAR; ARROWS; as_graph([]); as_graph([], n=3)
    TypedGraph(STAR, np.zeros(STAR.e, np.int64), 2); WIDE; STAR.to_scipy()
    fickle.AllAlike(STAR.indptr, STAR.indices); fickle.NoHash(STAR.indptr, STAR.indices)
    refimpl.adjacency.row_norm(STAR); Adjacency(None, None, None); refimpl.Sampler('edge', b=2)
    refimpl.loader.Topology.tree((2, 2))"""
)
MATRICES = [f"matrices.whole({f!r}, {k!r})" for f in matrices.FORMATS for k in matrices.KINDS]
MATRICES += [
    f"matrices.damaged({f!r}, {d!r})" for f in matrices.DAMAGES for d in matrices.DAMAGES[f]
]
LIARS = [f"fickle.lying_graph(STAR, {member!r})" for member in fickle.LIES]

DTYPES = split(
    r"""f2; f4; f8; g; i1; i2; i4; i8; u1; u2; u4; u8; ?; F; O; >f4; >f8; >i4; >i8; >u8; M8[s]; S4
    U8"""
)
ELEMENTS = split(
    r"""-1; 0; 1; 2; 1000; 2**31-1; 2**31; 2**62; -2**63; 0.5; nan; inf; -inf; 1e30; -1e300; 5e-324
    1e308"""
)
ARRAY = split(
    r"""old[1:]; old[:-1]; old[..., :-1]; old[:0]; np.concatenate([old, old[-1:]])
    np.concatenate([old, old[..., -1:]], axis=-1); old[None]; old[..., None]; old.ravel(); old.T
    np.array(old, order='F'); old[::-1]; np.sort(old, axis=0); np.repeat(old, 2, axis=0)[::2]
    np.broadcast_to(old.ravel()[:1].reshape((1,) * old.ndim), old.shape)
    np.full_like(old, old.flat[0]); np.zeros_like(old); misaligned(old); read_only(old)
    old.astype(old.dtype.newbyteorder()); old.view(OwnArray); np.asmatrix(old)
    np.ma.masked_array(old); old.view(np.recarray); old.tolist(); tuple(old.tolist())
    memoryview(np.ascontiguousarray(old)); old * old.dtype.type(1e-30); old * old.dtype.type(1e30)
    -old; fickle.FickleArray(old); old.view(fickle.LyingArray); fickle.FickleList(old.tolist())"""
)
ARRAY += [f"of_type(old, {dtype!r})" for dtype in DTYPES]
ARRAY += [f"with_element(old, {place}, {value})" for place in (0, -1) for value in ELEMENTS]
NUMBER = split(
    r"""old + 1; old - 1; -old; float(old); str(old); OwnInt(old); fickle.FickleInt(old)
    np.int32(old); np.uint64(old); np.float64(old); np.float32(old); np.array(old); [old]
    fractions.Fraction(old)"""
)
TEXT = split(
    r"""old.upper(); old.encode(); old + 'x'; old[:-1]; np.str_(old); np.array([old])
    old.replace('_', '-'); old + '\0'"""
)
SEQUENCE = split(
    r"""old[1:]; old[:-1]; old + old; old[::-1]; list(old); tuple(old); tuple(iter(old)); iter(old)
    dict(enumerate(old)); fickle.FickleList(old); fickle.ShrinkingList(old); [*old, None]
    (*old, 'text')"""
)
MAPPING = split(
    r"""dict(list(old.items())[1:]); {**old, 'another': 1}; list(old.items()); {**old, 1: 1}"""
)


def changes_of(value):
    """Return expressions of `old` that fit a value."""
    if isinstance(value, np.ndarray):
        return ARRAY
    if isinstance(value, bool | np.bool_) or value is None:
        return []
    if isinstance(value, int | float | np.number):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, dict):
        return MAPPING
    return SEQUENCE if isinstance(value, tuple | list) else []


@functools.cache
def compiled(expression):
    """Return the code of an expression."""
    return compile(expression.strip(), "<fuzz>", "eval")


def value_of(expression, old=None, args=None, gnn=refimpl):
    """Return the value of an expression."""
    names = {**vars(by_hand), **globals(), "old": old, "args": args, "gnn": gnn}
    return eval(compiled(expression), names)
