"""What the pseudo-code of all pages uses: forms of arguments, and the words of its checks.

A number, a text, a truth and nothing are Python's own. An array is a list, one of two dimensions a
list of rows, that knows its `dtype` and its `shape`; a result may be any list.
"""

import math
import struct

WORD = 2**64  # keys and counters are below


class Array(list):
    """A list that says what its numbers are: the dtype and the shape of an array."""

    def __init__(self, items, dtype, shape):
        super().__init__(items)
        self.dtype = dtype
        self.shape = shape


class Graph:
    """Compressed rows: `indices[indptr[v] : indptr[v + 1]]` are the neighbours of v, ascending."""

    def __init__(self, indptr, indices):
        self.indptr = indptr
        self.indices = indices


class Named:
    """A value with named parts, such as `mfg.nodes`, of a type such as "MFG"."""

    def __init__(self, type_name, fields):
        self.type_name = type_name
        for name, value in fields.items():
            setattr(self, name, value)


def node_count(graph):
    return len(graph.indptr) - 1


def degree(graph, v):
    return graph.indptr[v + 1] - graph.indptr[v]


def neighbours(graph, v):
    return graph.indices[graph.indptr[v] : graph.indptr[v + 1]]


def is_graph(value):
    return isinstance(value, Graph)


def is_array(value):
    return isinstance(value, Array)


def is_named(value, type_name):
    return isinstance(value, Named) and value.type_name == type_name


def is_integer(value):
    """true is none, nor is 2.0."""
    return type(value) is int


def is_real(value):
    """An integer is one, and so are the infinities and NaN."""
    return type(value) is int or type(value) is float


def is_word(value):
    return 0 <= value < WORD


def has_one_way_edge(graph):
    """Whether an edge (u, v) stands without (v, u): whether the graph is directed."""
    edges = set()
    for u in range(node_count(graph)):
        for v in neighbours(graph, u):
            edges.add((u, v))
    return any((v, u) not in edges for u, v in edges)


def as_dtype(dtype, x):
    """Round a float64 to the dtype "float32"; leave it as it is for "float64".

    One sum, product, quotient or root of two float32 values, computed in float64 and rounded so,
    is the float32 result.
    """
    if dtype == "float64" or math.isnan(x) or math.isinf(x):
        return x
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def node_sample(graph, sample, popped, pushed, **counted):
    counts = counters()  # `counted` are those that the sampler gives, by their names
    counts["pops"] = len(popped)
    for v in popped:
        counts["popped_degree_sum"] += degree(graph, v)
    for v in pushed:
        counts["added_degree_sum"] += degree(graph, v)
    counts.update(counted)
    return {"nodes": sorted(sample), "popped": popped, "pushed": pushed, "counters": counts}


def counters():
    return {
        "pops": 0,
        "probes": 0,
        "rounds": 0,
        "cleanups": 0,
        "moved": 0,
        "truncated": 0,
        "popped_degree_sum": 0,
        "added_degree_sum": 0,
        "capacity": 0,
        "draws": 0,
    }
