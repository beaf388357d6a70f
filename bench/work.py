"""What a kernel must do at least, however it is written: the report divides it by the time.

The work of a call is a list of parts, each in the memory that it plays in; lists add up.
"""

from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """Some of the work of a call.

    bytes, footprint : read or written at known places; size of the arrays
    random, table : reads or writes at places known only when they happen; size of what they go to
    flops, dtype : of dense products, a multiply-add being 2
    """

    bytes: float = 0
    footprint: float = 0
    random: float = 0
    table: float = 0
    flops: float = 0
    dtype: str = "float32"


def stream(nbytes):
    """Return work that reads or writes each of `nbytes` once."""
    return [Part(bytes=nbytes, footprint=nbytes)]


def dense(rows, inner, cols, dtype):
    """Return the work of a dense product."""
    dtype = np.dtype(dtype)
    nbytes = (rows * inner + inner * cols + rows * cols) * dtype.itemsize
    return [Part(nbytes, nbytes, flops=2 * rows * inner * cols, dtype=dtype.name)]


def spmm(graph, f, dtype):
    """Return the work of a sparse x dense product: for each entry, a row of X is read.

    The rows come from X, so its size is the footprint; the pattern only passes by.
    """
    item = np.dtype(dtype).itemsize
    rows = graph.n * f * item
    pattern = graph.e * (4 + item) + 8 * graph.n
    return [Part(bytes=pattern + graph.e * f * item + rows, footprint=rows)]


def induced(graph, nodes, entries):
    """Return the work of an induced subgraph: is each neighbour in? Then the transpose.

    That question needs one bit a node of the parent at least.
    """
    degrees = int(graph.degrees()[nodes].sum())
    nbytes = 4 * degrees + 20 * len(nodes) + 12 * entries
    return [Part(nbytes, nbytes, degrees, graph.n / 8), *transpose(len(nodes), entries)]


def transpose(n, e):
    """Return the work of Algorithm 6: an entry advances one pointer and goes to one place."""
    nbytes = 4 * e + 16 * n
    return [Part(nbytes, nbytes, random=e, table=8 * n), Part(random=e, table=8 * e)]


def sampling(graph, counters):
    """Return the work of a frontier sampler: per step 3 reads of the graph, and its probes.

    On a dashboard also its pins, written once when a node enters and once when it leaves.
    """
    pins, board = 0, 4 * counters.capacity
    if board:
        pins = 4 * (counters.popped_degree_sum + counters.added_degree_sum)
    size = graph.indptr.nbytes + graph.indices.nbytes
    return [
        Part(random=3 * counters.pops, table=size),
        Part(pins, board, counters.probes, board),
    ]


def times(count, work):
    """Return the work of `count` such calls."""
    return [
        p._replace(bytes=count * p.bytes, random=count * p.random, flops=count * p.flops)
        for p in work
    ]


def mean(works):
    """Return the mean of the works of several calls, which have the same parts."""
    return [
        Part(*(sum(field) / len(works) for field in list(zip(*parts, strict=True))[:-1]))._replace(
            dtype=parts[0].dtype
        )
        for parts in zip(*works, strict=True)
    ]
