"""What a kernel must do at least, however it is written: the report divides it by the time."""

from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Work:
    """Work of one call, and how much memory it plays in.

    bytes, footprint : read or written at known places; size of the arrays
    random, table : reads or writes at places known only when they happen; size of what they go to
    flops, dtype : of dense products, a multiply-add being 2
    """

    bytes: float = 0
    footprint: int = 0
    random: float = 0
    table: int = 0
    flops: float = 0
    dtype: str = "float32"

    def __add__(self, other):
        """Of two calls together; the smaller memory, which is the faster one, bounds both."""
        return Work(
            self.bytes + other.bytes,
            _smaller(self.footprint, other.footprint),
            self.random + other.random,
            _smaller(self.table, other.table),
            self.flops + other.flops,
            self.dtype if self.flops else other.dtype,
        )

    def as_dict(self):
        """Return what goes to the JSON file."""
        return asdict(self)


def _smaller(a, b):
    return min(a, b) if a and b else a or b


def stream(nbytes):
    """Work that reads or writes each of `nbytes` once."""
    return Work(bytes=nbytes, footprint=nbytes)


def dense(rows, inner, cols, dtype):
    """Work of a dense product."""
    dtype = np.dtype(dtype)
    nbytes = (rows * inner + inner * cols + rows * cols) * dtype.itemsize
    return Work(nbytes, nbytes, flops=2 * rows * inner * cols, dtype=dtype.name)


def spmm(graph, f, dtype):
    """Work of a sparse x dense product: a row of X is read once for every entry that needs it."""
    item = np.dtype(dtype).itemsize
    pattern = graph.e * (4 + item) + 8 * graph.n
    rows = graph.n * f * item
    return Work(
        bytes=pattern + graph.e * f * item + rows,
        footprint=pattern + 2 * rows,
        random=graph.e,
        table=rows,
        dtype=np.dtype(dtype).name,
    )


def induced(graph, subgraph):
    """Work of an induced subgraph: ask for every neighbour whether it is in, then transpose."""
    degrees = int(graph.degrees()[subgraph.nodes].sum())
    nbytes = 4 * degrees + 20 * len(subgraph.nodes) + 12 * subgraph.graph.e
    return Work(nbytes, nbytes, degrees, 4 * graph.n) + transpose(subgraph.graph)


def transpose(graph):
    """Work of Algorithm 6: an entry advances one pointer and goes to one place."""
    nbytes = 12 * graph.e + 16 * graph.n
    return Work(nbytes, nbytes, random=2 * graph.e, table=8 * graph.n)


def sampling(graph, counters):
    """Work of a frontier sampler: a probe each, and 3 reads of the graph for every step.

    On a dashboard also its pins, written once when a node enters and once when it leaves.
    """
    pins = 4 * (counters.popped_degree_sum + counters.added_degree_sum)
    pins = pins if counters.capacity else 0
    size = graph.indptr.nbytes + graph.indices.nbytes
    return Work(
        bytes=pins,
        footprint=4 * counters.capacity,
        random=3 * counters.pops + counters.probes,
        table=min(size, 4 * counters.capacity or size),
    )


def mean(works):
    """Return the mean work of a list of calls."""
    total = sum(works[1:], works[0])
    count = len(works)
    return Work(
        total.bytes / count,
        total.footprint,
        total.random / count,
        total.table,
        total.flops / count,
        total.dtype,
    )
