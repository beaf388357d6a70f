"""Aggregation: the product of a sparse matrix and a dense one."""

from arrays import (
    all_within,
    column_count,
    entries,
    entry_count,
    has_shape,
    is_floats,
    is_integers,
    is_like,
    is_pattern,
    row_count,
    zeros,
)
from forms import Array, as_dtype, has_one_way_edge, is_graph, is_integer, is_named


def spmm(graph, data, X):
    Y = zeros(X.dtype, row_count(graph), X.shape[1])
    for v in range(row_count(graph)):
        add_row(Y, graph, data, X, v, 0, X.shape[1])
    return Y


def add_row(Y, graph, data, X, v, first, last):
    """Add to row v of Y, in the columns from first to last, what its entries say."""
    for j in entries(graph, v):  # in their order
        u = graph.indices[j]
        for c in range(first, last):
            product = as_dtype(X.dtype, data[j] * X[u][c])  # rounded before it is added
            Y[v][c] = as_dtype(X.dtype, Y[v][c] + product)


def spmm_t(graph, data, transpose_perm, G):
    moved = [data[j] for j in transpose_perm]  # the pattern is its own transpose
    return spmm(graph, Array(moved, data.dtype, data.shape), G)


def feature_propagate(graph, data, X, plan, p, version, layout):
    starts = plan.starts  # part i is columns starts[i] to starts[i + 1]
    Q = len(starts) - 1
    rounds = (Q + p - 1) // p  # Q / p, rounded up
    Y = zeros(X.dtype, row_count(graph), X.shape[1])
    for r in range(rounds):  # 4
        for lane in range(p):  # 5, the lanes of a round at the same time
            i = r + lane * rounds  # 6: a lane works off a run of parts
            if version == "ipdps":
                i = lane + r * p  # lanes work on neighbouring parts
            if i < Q:
                for v in range(row_count(graph)):  # 7
                    add_row(Y, graph, data, X, v, starts[i], starts[i + 1])
    return Y


def check_spmm(graph, data, X):
    yield "type", "`graph` is neither a graph nor a block", not is_pattern(graph)
    yield "type", "`data` is no array of float32 or float64", not is_floats(data)
    yield "type", "`X` is no array of the dtype of `data`", not is_like(X, data)
    yield (
        "value",
        "`data` has not one number for each entry of `graph`",
        not has_shape(data, entry_count(graph)),
    )
    yield (
        "value",
        "`X` is no matrix with one row for each column of `graph`",
        not has_shape(X, column_count(graph), None),
    )


def check_spmm_t(graph, data, transpose_perm, G):
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "type", "`data` is no array of float32 or float64", not is_floats(data)
    yield "type", "`transpose_perm` is no array of integers", not is_integers(transpose_perm)
    yield "type", "`G` is no array of the dtype of `data`", not is_like(G, data)
    e = entry_count(graph)
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`data` has not one number for each entry", not has_shape(data, e)
    yield (
        "value",
        "`transpose_perm` has not one position for each entry",
        not has_shape(transpose_perm, e),
    )
    yield (
        "value",
        "a position of `transpose_perm` is no entry",
        not all_within(transpose_perm, 0, e),
    )
    yield (
        "value",
        "`G` is no matrix with one row for each node",
        not has_shape(G, column_count(graph), None),
    )


def check_feature_propagate(graph, data, X, plan, p, version, layout):
    yield from check_spmm(graph, data, X)
    yield "type", "`plan` is no `Partition`", not is_named(plan, "Partition")
    yield "type", "`plan.starts` is no array of integers", not is_integers(plan.starts)
    yield "type", "`p` is no integer", not is_integer(p)
    yield (
        "value",
        "`plan.starts` does not rise from 0 to the columns of `X`",
        not rises(plan.starts, X.shape[1]),
    )
    yield "value", "`p` is not in [1, 2**16]", not 1 <= p <= 2**16
    yield "value", "`version` is not `jpdc` or `ipdps`", version not in ("jpdc", "ipdps")
    yield "value", "`layout` is not `C` or `F`", layout not in ("C", "F")


def rises(starts, f):
    if len(starts) < 2 or starts[0] != 0 or starts[-1] != f:
        return False
    return all(starts[i] <= starts[i + 1] for i in range(len(starts) - 1))
