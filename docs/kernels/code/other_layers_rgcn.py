"""R-GCN: a weight matrix for each relation."""

from arrays import (
    column_count,
    entries,
    has_shape,
    is_like,
    is_switch,
    row_count,
    zeros,
)
from dense_products import (
    activate,
    chosen_rows,
    column_sums,
    dot,
    first_rows,
    masked,
    matmul,
    plus,
    transpose,
)
from forms import as_dtype, is_named
from layers import (
    aggregate,
    aggregate_t,
    check_bias,
    check_gradient,
    check_rows_of_X,
    check_sparse_matrix,
)


def rgcn_forward(A, X, W, W_self, coefficients, b, relu):
    Z = matmul(first_rows(X, row_count(A[0].graph)), W_self)
    W_of = mixed(W, coefficients)
    means = []
    for r in range(len(A)):
        rows = rows_with_entries(A[r])
        means.append(chosen_rows(aggregate(A[r], X), rows))
        term = matmul(means[r], W_of[r])
        for i in range(len(rows)):
            for c in range(Z.shape[1]):
                Z[rows[i]][c] = as_dtype(X.dtype, Z[rows[i]][c] + term[i][c])
    return {"X_out": activate(Z, b, relu), "means": means}


def rows_with_entries(A):
    return [v for v in range(row_count(A.graph)) if len(entries(A.graph, v)) > 0]


def mixed(W, coefficients):
    """The sums of the matrices W by each row of coefficients; W itself without any."""
    if coefficients is None:
        return W
    sums = []
    for row in coefficients:
        W_r = zeros(W[0].dtype, W[0].shape[0], W[0].shape[1])
        for i in range(W_r.shape[0]):
            for j in range(W_r.shape[1]):
                total = 0.0
                for k in range(len(W)):
                    total += row[k] * W[k][i][j]
                W_r[i][j] = as_dtype(W_r.dtype, total)
        sums.append(W_r)
    return sums


def rgcn_backward(A, X, W, W_self, out, G_out, coefficients, b, relu, need_dx):
    G = masked(G_out, out.X_out, relu)
    dW = []
    for r in range(len(A)):
        G_r = chosen_rows(G, rows_with_entries(A[r]))
        dW.append(matmul(transpose(out.means[r]), G_r))
    dX = None
    if need_dx:
        dX = zeros(X.dtype, X.shape[0], X.shape[1])
        dX = plus(dX, matmul(G, transpose(W_self)))  # the destinations' own
        W_of = mixed(W, coefficients)
        for r in range(len(A)):
            dX = plus(dX, aggregate_t(A[r], matmul(G, transpose(W_of[r]))))
    dC = None
    if coefficients is not None:
        dC = [[entry_sum(dW_r, V) for V in W] for dW_r in dW]
        dW = mixed(dW, transpose(coefficients))  # of the bases
    return {
        "W": dW,
        "W_self": matmul(transpose(first_rows(X, G.shape[0])), G),
        "coefficients": dC,
        "X": dX,
        "b": None if b is None else column_sums(G),
    }


def entry_sum(D, V):
    """The sum of all D[i][j] V[i][j]: the gradient of the coefficient of V."""
    total = 0.0
    for i in range(V.shape[0]):
        total += dot(D[i], V[i])
    return as_dtype(V.dtype, total)


def check_rgcn_forward(A, X, W, W_self, coefficients, b, relu):
    yield from check_rgcn(A, X, W, W_self, coefficients, b, relu, False)


def check_rgcn(A, X, W, W_self, coefficients, b, relu, backward):
    given = coefficients is not None
    lists = isinstance(A, list) and isinstance(W, list)
    yield "type", "`A` or `W` is no list", not lists
    yield "type", "`relu` is neither true nor false", not is_switch(relu)
    for A_r in A:
        yield from check_sparse_matrix(A_r, X, backward)
    yield (
        "type",
        "`W_self` or a matrix of `W` is no array of the dtype of `X`",
        not all(is_like(M, X) for M in [W_self] + W),
    )
    yield (
        "type",
        "`coefficients` is neither null nor an array of the dtype of `X`",
        given and not is_like(coefficients, X),
    )
    yield "value", "`A` or `W` is empty", not (A and W)
    yield "value", "two matrices of `A` differ in shape", not all(alike(A_r, A[0]) for A_r in A)
    yield (
        "value",
        "`A` has more rows than columns",
        row_count(A[0].graph) > column_count(A[0].graph),
    )
    yield from check_rows_of_X(A[0], X)
    yield (
        "value",
        "`W_self` has not one row for each column of `X`",
        not has_shape(W_self, X.shape[1], None),
    )
    yield (
        "value",
        "a matrix of `W` has not the shape of `W_self`",
        not all(has_shape(W_r, *W_self.shape) for W_r in W),
    )
    yield (
        "value",
        "`coefficients` is null, and `W` not as long as `A`",
        not given and len(W) != len(A),
    )
    yield (
        "value",
        "`coefficients` has not one row for each of `A` and one column for each of `W`",
        given and not has_shape(coefficients, len(A), len(W)),
    )
    yield from check_bias(b, X, W_self.shape[1])


def alike(A, B):
    same_rows = row_count(A.graph) == row_count(B.graph)
    return same_rows and column_count(A.graph) == column_count(B.graph)


def check_rgcn_backward(A, X, W, W_self, out, G_out, coefficients, b, relu, need_dx):
    yield "type", "`need_dx` is neither true nor false", not is_switch(need_dx)
    yield from check_rgcn(A, X, W, W_self, coefficients, b, relu, True)
    yield "type", "`out` is no `RgcnOutput`", not is_named(out, "RgcnOutput")
    yield (
        "type",
        "`out.means` is no list of arrays of the dtype of `X`",
        not (isinstance(out.means, list) and all(is_like(M, X) for M in out.means)),
    )
    yield "value", "`out.means` is not as long as `A`", len(out.means) != len(A)
    yield (
        "value",
        "a matrix of `out.means` has not the shape that `A` gives it",
        not means_fit(A, X, out.means),
    )
    rows, width = row_count(A[0].graph), W_self.shape[1]
    yield from check_gradient(out.X_out, G_out, X, rows, width)


def means_fit(A, X, means):
    lengths = [len(rows_with_entries(A_r)) for A_r in A]
    return all(has_shape(means[r], lengths[r], X.shape[1]) for r in range(len(A)))
