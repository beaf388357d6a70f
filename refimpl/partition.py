"""Feature propagation in parts: each lane takes some columns of the features, all of the graph.

IPDPS'19 Algorithm 6 is `partition_plan`, `partition_order` and `feature_propagate`; so is
JPDC'21 Algorithm 7, which differs in the order of the parts. A mark ``# J7:n`` is line n of the
latter, ``# I6:n`` of the former.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.block import Block
from refimpl.graph import Graph
from refimpl.hints import F, Floats, Int, Matrix, Positions
from refimpl.profiling import count, timed
from refimpl.propagation import product_arguments

__all__ = ["Partition", "feature_propagate", "partition_order", "partition_plan"]

MOST, MOST_LANES = 2**31 - 1, 2**16  # rows and columns; no machine has more lanes
MOST_PARTS = 2**20  # nobody has as many columns
MODES = ("columns", "paper")
VERSIONS = ("jpdc", "ipdps")
LAYOUTS = ("C", "F")


class Partition(NamedTuple):
    """How the columns of a feature matrix are cut into Q parts: `partition_plan` makes it.

    Attributes
    ----------
    starts : (Q + 1,) int64 array
        Part i is columns ``starts[i]`` to ``starts[i + 1]``, the end exclusive.
    rounds : int
        Rounds in which p lanes work off the parts: Q / p, rounded up.
    fits : bool
        Whether the n rows of the widest part fit in the cache.
    """

    starts: Positions
    rounds: int
    fits: bool


def plan_arguments(n, f, p, s_cache, word, line, mode):
    """Check the arguments of `partition_plan`; return them."""
    n, f = require.integer("n", n, 0, MOST), require.integer("f", f, 0, MOST)
    p, s_cache = require.integer("p", p, 1, MOST_LANES), require.integer("s_cache", s_cache, 1)
    word, line = require.integer("word", word, 1), require.integer("line", line, 1)
    if line % word:
        word, line = require.shown(word), require.shown(line)
        raise ValueError(f"line must be a multiple of word, {word}, got {line}")
    return n, f, p, s_cache, word, line, require.choice("mode", mode, MODES)


@checked_by(plan_arguments)
def partition_plan(
    n: Int,
    f: Int,
    p: Int,
    s_cache: Int,
    *,
    word: Int = 8,
    line: Int = 64,
    mode: Literal["columns", "paper"] = "columns",
) -> Partition:
    """Cut f columns into parts of whole columns, at least one for each of p lanes if f >= p.

    The papers' Q_f, f / Q_f and Q_f / p need not be whole (E-D1). "paper" takes Q_f rounded up,
    at most f, and widths that differ by one column; the wider may be a column too wide for the
    cache. "columns" takes the widest parts that fit, all but the last alike: f / p or
    s_cache / (word n) columns, rounded down, but at least one; from a cache line up, whole lines,
    so that parts of a row-major matrix share none. O(Q) time.

    Parameters
    ----------
    n, f : int
        Rows and columns of the features.
    p : int
        Lanes, from 1.
    s_cache : int
        Bytes of a lane's own cache.
    word : int
        Bytes of a feature.
    line : int
        Bytes of a cache line, a multiple of `word`. The papers' 128 is not that of x86 (E-D5).
    mode : {"columns", "paper"}

    Returns
    -------
    Partition
        With one empty part if f is 0.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, or `mode` is no mode.

    Examples
    --------
    >>> partition_plan(n=8000, f=512, p=4, s_cache=2**18).starts[:4]
    array([ 0,  4,  8, 12])
    """
    if mode == "paper":
        Q = max(1, min(f, max(p, -(-word * n * f // s_cache))))  # J7:2 I6:2 E-D1: rounded up
        widths = f // Q + (np.arange(Q) < f % Q)  # J7:2-3 I6:3
        starts = np.concatenate(([0], np.cumsum(widths)))
    else:
        width = min(f // p, s_cache // (word * n)) if n else f // p
        values = line // word
        if width > values:
            width -= width % values
        width = max(1, width)
        Q = max(1, -(-f // width))  # J7:2 I6:2 E-D1: rounded up
        starts = np.minimum(width * np.arange(Q + 1), f)  # J7:3 I6:3
    fits = word * n * int(np.diff(starts).max()) <= s_cache
    return Partition(starts.astype(np.int64), int(-(-Q // p)), bool(fits))


def order_arguments(Q, p, version):
    """Check the arguments of `partition_order`; return them."""
    Q, p = require.integer("Q", Q, 1, MOST_PARTS), require.integer("p", p, 1, MOST_LANES)
    return Q, p, require.choice("version", version, VERSIONS)


@checked_by(order_arguments)
def partition_order(
    Q: Int, p: Int, *, version: Literal["jpdc", "ipdps"] = "jpdc"
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return which part each lane works on in each round.

    In IPDPS'19 lanes take neighbouring parts at the same time, so a cache line that holds the
    end of one and the start of the next is written by two lanes at once. In JPDC'21 each lane
    takes a run of parts, and two parts of a round are `rounds` apart (E-D2). Lanes without a
    part idle: the loads are equal only where p divides Q and all parts are as wide (E-D6).
    O(Q + p) time.

    Parameters
    ----------
    Q : int
        Number of parts, from 1.
    p : int
        Lanes, from 1.
    version : {"jpdc", "ipdps"}

    Returns
    -------
    (rounds, p) int64 array
        -1 where a lane idles.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, or `version` is no version.

    Examples
    --------
    >>> partition_order(4, 2)
    array([[0, 2],
           [1, 3]])
    >>> partition_order(4, 2, version="ipdps")
    array([[0, 1],
           [2, 3]])
    """
    rounds = -(-Q // p)
    order = np.full((rounds, p), -1, np.int64)
    for r in range(rounds):  # J7:4 I6:4 E-D1: rounded up
        for j in range(p):  # J7:5 I6:5
            # E-D2: runs of parts in one paper, neighbours in the other
            i = r + j * rounds if version == "jpdc" else j + r * p  # J7:6 I6:6
            if i < Q:
                order[r, j] = i
    return order


def partition_arguments(graph, data, X, plan, p, version, layout):
    """Check the arguments of `feature_propagate`; return them."""
    graph, data, X = product_arguments(graph, data, X)
    if not isinstance(plan, Partition):
        raise TypeError(f"plan must be a Partition (see partition_plan), got {type(plan).__name__}")
    f = X.shape[1]
    starts = require.ids("plan.starts", plan.starts, 0, f + 1, np.int64)
    if starts.size < 2 or starts[0] or starts[-1] != f or np.any(np.diff(starts) < 0):
        raise ValueError(f"plan.starts must rise from 0 to the {f} columns of X, got {starts}")
    version = require.choice("version", version, VERSIONS)
    layout = require.choice("layout", layout, LAYOUTS)
    p = require.integer("p", p, 1, MOST_LANES)
    return graph, data, X, Partition(starts, plan.rounds, plan.fits), p, version, layout


@timed("aggregation")
@quiet
@checked_by(partition_arguments)
def feature_propagate(
    graph: Graph | Block,
    data: Floats[F],
    X: Matrix[F],
    plan: Partition,
    p: Int,
    *,
    version: Literal["jpdc", "ipdps"] = "jpdc",
    layout: Literal["C", "F"] = "C",
) -> Matrix[F]:
    """Return A X like `spmm`, to the last bit, one part of the columns after another.

    IPDPS'19 Algorithm 6 and JPDC'21 Algorithm 7. The lanes of a round would run at the same
    time; here they run in turn. No round waits for another: parts have no column in common.
    The order and the widths change neither the values nor the order in which they are added.
    O(e f) time.

    Parameters
    ----------
    graph : Graph or Block
        n_dst rows, n_src columns and e entries.
    data : (e,) float32 or float64 array
    X : (n_src, f) array of the same dtype
    plan : Partition
        From `partition_plan`, for f columns.
    p : int
        Lanes, from 1.
    version : {"jpdc", "ipdps"}
        Whose order of the parts.
    layout : {"C", "F"}
        "C" takes the parts out of X where they stand, pieces of a row. "F" takes them from a
        column-major copy, where a part is one run of memory; its ends meet cache lines if n_src
        values fill whole lines, or a part's do (E-D4).

    Returns
    -------
    (n_dst, f) array of the same dtype
        A new one: a row of X is read after that row of the result is written (E-D3).

    Raises
    ------
    TypeError, ValueError
        If a dtype or shape does not fit, `plan` is no Partition for f columns, or an option is
        another one.
    """
    starts = plan.starts
    f = X.shape[1]  # J7:1 I6:1
    count(sparse=graph.e * f)
    X = np.asarray(X, order=layout)
    Y = np.zeros((graph.n_dst, f), X.dtype, order=layout)
    for lanes in partition_order(len(starts) - 1, p, version=version):  # J7:4 I6:4
        for i in lanes[lanes >= 0]:  # J7:5 I6:5
            part = slice(starts[i], starts[i + 1])  # J7:3 I6:3
            for v in range(graph.n_dst):  # J7:7 I6:6
                for j in range(graph.start[v], graph.end[v]):
                    Y[v, part] += data[j] * X[graph.indices[j], part]
    return np.ascontiguousarray(Y)  # J7:10 I6:7 E-D3: a new array, not in place
