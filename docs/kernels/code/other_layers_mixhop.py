"""MixHop: several powers of the matrix side by side."""

from arrays import (
    column_count,
    has_shape,
    is_floats,
    is_like,
    is_switch,
    row_count,
    zeros,
)
from dense_products import (
    activate,
    beside,
    column_sums,
    columns,
    first_rows,
    masked,
    matmul,
    plus,
    transpose,
)
from forms import is_integer, is_named
from layers import aggregate, aggregate_t, check_bias, check_gradient, check_sparse_matrix


def mixhop_forward(hops, X, W, depth, b, relu):
    powers = [X]  # X, A X, A A X, .. up to depth
    for A in hops[:depth]:
        powers.append(aggregate(A, powers[-1]))
    n_dst = rows_after(hops, X)
    Z = zeros(X.dtype, n_dst, 0)
    for k in range(len(W)):
        j = min(k, depth)
        branch = matmul(powers[j], W[k])
        for A in hops[j:k]:
            branch = aggregate(A, branch)
        Z = beside(Z, first_rows(branch, n_dst))
    return {"X_out": activate(Z, b, relu), "powers": powers[1:]}


def rows_after(hops, X):
    return row_count(hops[-1].graph) if hops else X.shape[0]


def mixhop_backward(hops, X, W, out, G_out, depth, b, relu, need_dx):
    G = masked(G_out, out.X_out, relu)
    powers = [X] + out.powers
    T = [zeros(X.dtype, B.shape[0], B.shape[1]) for B in powers]
    dW = []
    first = 0
    for k in range(len(W)):
        j = min(k, depth)
        width = W[k].shape[1]
        R = zeros(X.dtype, rows_after(hops[:k], X), width)
        R = plus(R, columns(G, first, first + width))  # rows behind those of G stay 0
        first += width
        for A in reversed(hops[j:k]):
            R = aggregate_t(A, R)
        dW.append(matmul(transpose(powers[j]), R))
        T[j] = plus(T[j], matmul(R, transpose(W[k])))
    dX = None
    if need_dx:
        dX = T[depth]
        for j in reversed(range(depth)):  # Horner's rule
            dX = plus(T[j], aggregate_t(hops[j], dX))
    return {"W": dW, "X": dX, "b": None if b is None else column_sums(G)}


def output_width(W):
    return sum(W_k.shape[1] for W_k in W)


def check_mixhop_forward(hops, X, W, depth, b, relu):
    yield from check_mixhop(hops, X, W, depth, b, relu, False)


def check_mixhop(hops, X, W, depth, b, relu, backward):
    lists = isinstance(hops, list) and isinstance(W, list)
    yield "type", "`hops` or `W` is no list", not lists
    yield "type", "`relu` is neither true nor false", not is_switch(relu)
    yield "type", "`depth` is no integer", not is_integer(depth)
    yield "type", "`X` is no array of float32 or float64", not is_floats(X)
    for A in hops:
        yield from check_sparse_matrix(A, X, backward)
    yield (
        "type",
        "a matrix of `W` is no array of the dtype of `X`",
        not all(is_like(W_k, X) for W_k in W),
    )
    yield "value", "`X` is no matrix", not has_shape(X, None, None)
    yield "value", "`W` has not one matrix more than `hops`", len(W) != len(hops) + 1
    yield "value", "`depth` is not in 0 .. K", not 0 <= depth <= len(hops)
    rows = X.shape[0]
    for A in hops:
        yield (
            "value",
            "the first hop has not as many columns as `X` has rows, or another as the one before",
            column_count(A.graph) != rows,
        )
        rows = row_count(A.graph)
    yield (
        "value",
        "a matrix of `W` has not one row for each column of `X`",
        not all(has_shape(W_k, X.shape[1], None) for W_k in W),
    )
    yield from check_bias(b, X, output_width(W))


def check_mixhop_backward(hops, X, W, out, G_out, depth, b, relu, need_dx):
    yield "type", "`need_dx` is neither true nor false", not is_switch(need_dx)
    yield from check_mixhop(hops, X, W, depth, b, relu, True)
    yield "type", "`out` is no `MixHopOutput`", not is_named(out, "MixHopOutput")
    yield (
        "type",
        "`out.powers` is no list of arrays of the dtype of `X`",
        not (isinstance(out.powers, list) and all(is_like(B, X) for B in out.powers)),
    )
    yield "value", "`out.powers` has not `depth` matrices", len(out.powers) != depth
    yield (
        "value",
        "a power of `out` has not the shape that `hops` gives it",
        not powers_fit(hops, X, out.powers),
    )
    yield from check_gradient(out.X_out, G_out, X, rows_after(hops, X), output_width(W))


def powers_fit(hops, X, powers):
    for A, B in zip(hops, powers, strict=False):
        if not has_shape(B, row_count(A.graph), X.shape[1]):
            return False
    return True
