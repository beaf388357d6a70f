"""Layers without attention, powers or relations; and what all layers refuse."""

from arrays import (
    column_count,
    entry_count,
    has_shape,
    is_floats,
    is_like,
    is_pattern,
    is_switch,
    row_count,
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
from forms import is_named
from products import spmm


def dense_forward(X, W, relu, b):
    return activate(matmul(X, W), b, relu)


def dense_backward(X, W, Y, G_out, relu, need_dx, b):
    G = masked(G_out, Y, relu)
    return {
        "W": matmul(transpose(X), G),
        "X": matmul(G, transpose(W)) if need_dx else None,
        "b": None if b is None else column_sums(G),
    }


def aggregate(A, X):
    """A X."""
    return spmm(A.graph, A.data, X)


def aggregate_t(A, G):
    """The transpose of A, times G."""
    return spmm(A.graph_t, A.data_t, G)


def sage_forward(A, X, W_neigh, W_self, order, b, relu, concat):
    AX = None
    if order.forward == 1:
        AX = aggregate(A, X)
        N = matmul(AX, W_neigh)
    else:
        N = aggregate(A, matmul(X, W_neigh))
    S = matmul(first_rows(X, row_count(A.graph)), W_self)
    if concat == "neigh_first":
        Z = beside(N, S)
    elif concat == "self_first":
        Z = beside(S, N)
    else:
        Z = plus(N, S)
    return {"X_out": activate(Z, b, relu), "AX": AX}


def sage_backward(A, X, W_neigh, W_self, out, G_out, order, b, relu, concat):
    G = masked(G_out, out.X_out, relu)
    n, s = W_neigh.shape[1], W_self.shape[1]
    if concat == "neigh_first":
        G_neigh, G_self = columns(G, 0, n), columns(G, n, n + s)
    elif concat == "self_first":
        G_self, G_neigh = columns(G, 0, s), columns(G, s, s + n)
    else:
        G_neigh = G_self = G
    dW_neigh, dX = chain_gradients(A, X, W_neigh, out.AX, G_neigh, order)
    X_self = first_rows(X, row_count(A.graph))
    if dX is not None:
        dX = plus(dX, matmul(G_self, transpose(W_self)))  # rows of the nodes themselves
    return {
        "W_neigh": dW_neigh,
        "W_self": matmul(transpose(X_self), G_self),
        "X": dX,
        "b": None if b is None else column_sums(G),
    }


def chain_gradients(A, X, W, AX, G, order):
    """The gradients of W and X from G, that of A X W."""
    AtG = None
    if order.dw == 1:
        if AX is None:  # the forward pass took the other order
            AX = aggregate(A, X)
        dW = matmul(transpose(AX), G)
    else:
        AtG = aggregate_t(A, G)
        dW = matmul(transpose(X), AtG)
    if order.dx == 0:
        return dW, None
    if order.dx == 1:
        if AtG is None:
            AtG = aggregate_t(A, G)
        return dW, matmul(AtG, transpose(W))
    return dW, aggregate_t(A, matmul(G, transpose(W)))


def gcn_forward(A, X, W, order, b, relu):
    AX = None
    if order.forward == 1:
        AX = aggregate(A, X)
        Z = matmul(AX, W)
    else:
        Z = aggregate(A, matmul(X, W))
    return {"X_out": activate(Z, b, relu), "AX": AX}


def gcn_backward(A, X, W, out, G_out, order, b, relu):
    G = masked(G_out, out.X_out, relu)
    dW, dX = chain_gradients(A, X, W, out.AX, G, order)
    return {"W": dW, "X": dX, "b": None if b is None else column_sums(G)}


def check_sparse_matrix(A, X, backward):
    yield "type", "a sparse matrix is no `Adjacency`", not is_named(A, "Adjacency")
    yield (
        "type",
        "a sparse matrix is on neither a graph nor a block",
        not (is_pattern(A.graph) and is_pattern(A.graph_t)),
    )
    yield (
        "type",
        "`X`, or `data` of a sparse matrix, is no array of float32 or float64",
        not (is_floats(X) and is_floats(A.data)),
    )
    yield "type", "`X` has not the dtype of `data`", not is_like(X, A.data)
    yield (
        "type",
        "`data_t` is neither null nor an array of the dtype of `data`",
        A.data_t is not None and not is_like(A.data_t, A.data),
    )
    yield (
        "value",
        "`data` has not one number for each entry",
        not has_shape(A.data, entry_count(A.graph)),
    )
    yield (
        "value",
        "`graph_t` has not the shape of the transpose of `graph`",
        row_count(A.graph_t) != column_count(A.graph)
        or column_count(A.graph_t) != row_count(A.graph),
    )
    yield (
        "value",
        "`data_t` has not one number for each entry of `graph_t`",
        A.data_t is not None and not has_shape(A.data_t, entry_count(A.graph_t)),
    )
    yield "value", "in a backward pass `data_t` is null", backward and A.data_t is None


def check_bias(b, X, width):
    given = b is not None
    yield (
        "type",
        "`b` is neither null nor an array of the dtype of `X`",
        given and not is_like(b, X),
    )
    yield "value", "`b` is not as long as the output is wide", given and not has_shape(b, width)


def check_gradient(Y, G_out, X, rows, width):
    yield (
        "type",
        "the output, or `G_out`, is no array of the dtype of `X`",
        not (is_like(Y, X) and is_like(G_out, X)),
    )
    yield (
        "value",
        "the output, or `G_out`, has not the output's shape",
        not (has_shape(Y, rows, width) and has_shape(G_out, rows, width)),
    )


def check_dense_forward(X, W, relu, b):
    yield "type", "`relu` is neither true nor false", not is_switch(relu)
    yield "type", "`X` is no array of float32 or float64", not is_floats(X)
    yield "type", "`W` is no array of the dtype of `X`", not is_like(W, X)
    yield "value", "`X` is no matrix", not has_shape(X, None, None)
    yield (
        "value",
        "`W` has not one row for each column of `X`",
        not has_shape(W, X.shape[1], None),
    )
    yield from check_bias(b, X, W.shape[1])


def check_dense_backward(X, W, Y, G_out, relu, need_dx, b):
    yield "type", "`need_dx` is neither true nor false", not is_switch(need_dx)
    yield from check_dense_forward(X, W, relu, b)
    yield from check_gradient(Y, G_out, X, X.shape[0], W.shape[1])


def check_order(order):
    yield "type", "`order` is no `ProductOrders`", not is_named(order, "ProductOrders")
    yield (
        "value",
        "`order.forward` or `order.dw` is not 1 or 2, or `order.dx` not 0, 1 or 2",
        not (order.forward in (1, 2) and order.dw in (1, 2) and order.dx in (0, 1, 2)),
    )


def sage_width(W_neigh, W_self, concat):
    if concat == "sum":
        return W_neigh.shape[1]
    return W_neigh.shape[1] + W_self.shape[1]


def check_sage_forward(A, X, W_neigh, W_self, order, b, relu, concat):
    yield from check_sage(A, X, W_neigh, W_self, order, b, relu, concat, False)


def check_sage_backward(A, X, W_neigh, W_self, out, G_out, order, b, relu, concat):
    yield from check_sage(A, X, W_neigh, W_self, order, b, relu, concat, True)
    yield "type", "`out` is no `SageOutput`", not is_named(out, "SageOutput")
    yield from check_saved_product(A, X, out)
    width = sage_width(W_neigh, W_self, concat)
    yield from check_gradient(out.X_out, G_out, X, row_count(A.graph), width)


def check_sage(A, X, W_neigh, W_self, order, b, relu, concat, backward):
    yield "type", "`relu` is neither true nor false", not is_switch(relu)
    yield from check_order(order)
    yield from check_sparse_matrix(A, X, backward)
    yield (
        "type",
        "`W_neigh` or `W_self` is no array of the dtype of `X`",
        not (is_like(W_neigh, X) and is_like(W_self, X)),
    )
    yield from check_rows_of_X(A, X)
    yield (
        "value",
        "`W_neigh` or `W_self` has not one row for each column of `X`",
        not (has_shape(W_neigh, X.shape[1], None) and has_shape(W_self, X.shape[1], None)),
    )
    yield (
        "value",
        "`concat` is not `neigh_first`, `self_first` or `sum`",
        concat not in ("neigh_first", "self_first", "sum"),
    )
    yield (
        "value",
        "`concat` is `sum`, and `W_neigh` and `W_self` differ in width",
        concat == "sum" and W_neigh.shape[1] != W_self.shape[1],
    )
    yield from check_bias(b, X, sage_width(W_neigh, W_self, concat))


def check_rows_of_X(A, X):
    yield (
        "value",
        "`X` has not one row for each column of the sparse matrix",
        not has_shape(X, column_count(A.graph), None),
    )


def check_saved_product(A, X, out):
    given = out.AX is not None
    yield (
        "type",
        "`out.AX` is neither null nor an array of the dtype of `X`",
        given and not is_like(out.AX, X),
    )
    yield (
        "value",
        "`out.AX` has not the shape of A X",
        given and not has_shape(out.AX, row_count(A.graph), X.shape[1]),
    )


def check_gcn_forward(A, X, W, order, b, relu):
    yield from check_gcn(A, X, W, order, b, relu, False)


def check_gcn_backward(A, X, W, out, G_out, order, b, relu):
    yield from check_gcn(A, X, W, order, b, relu, True)
    yield "type", "`out` is no `GcnOutput`", not is_named(out, "GcnOutput")
    yield from check_saved_product(A, X, out)
    yield from check_gradient(out.X_out, G_out, X, row_count(A.graph), W.shape[1])


def check_gcn(A, X, W, order, b, relu, backward):
    yield "type", "`relu` is neither true nor false", not is_switch(relu)
    yield from check_order(order)
    yield from check_sparse_matrix(A, X, backward)
    yield "type", "`W` is no array of the dtype of `X`", not is_like(W, X)
    yield from check_rows_of_X(A, X)
    yield (
        "value",
        "`W` has not one row for each column of `X`",
        not has_shape(W, X.shape[1], None),
    )
    yield from check_bias(b, X, W.shape[1])
