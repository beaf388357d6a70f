"""What several layers check alike."""

from refimpl._support import require
from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.graph import Graph
from refimpl.scheduling import SPARSE_ORDER, checked_order


def transposes_itself(A):
    """Return whether the transpose is made of A: then the two fit, and none is missing."""
    return "_transpose" in A.__dict__


def pattern(name, A):
    """Check that A is an Adjacency on patterns that kernels may read."""
    require.instance(name, A, (Adjacency,), "an Adjacency (see row_norm)")
    for graph in [A.graph] if transposes_itself(A) else [A.graph, A.graph_t]:
        require.instance(name, graph, (Graph, Block), "on a Graph or a Block")


def adjacency(name, A, X, backward, sparse=False):
    """Check A and X together, which may be an Adjacency where `sparse`; return X."""
    dtype = matrix(name, A, backward)
    shape = A.graph.n_src, None
    if sparse:
        return floats_or_sparse("X", X, shape, dtype, backward)
    return require.floats("X", X, shape, dtype)


def matrix(name, A, backward):
    """Check an Adjacency; return the dtype of its values."""
    pattern(name, A)
    data = require.floats(f"{name}.data", A.data, (A.graph.e,))
    if transposes_itself(A):
        return data.dtype
    itself = A.graph_t is A.graph and type(A.graph) is Graph  # as many rows as columns
    if not itself and (A.graph_t.n_dst, A.graph_t.n_src) != (A.graph.n_src, A.graph.n_dst):
        raise ValueError(
            f"{name}.graph_t must have {A.graph.n_src} rows and {A.graph.n_dst} columns, "
            f"got {A.graph_t!r}"
        )
    if A.data_t is not None:
        require.floats(f"{name}.data_t", A.data_t, (A.graph_t.e,), data.dtype)
    elif backward:
        raise ValueError(f"{name} must have data_t: give row_norm a transpose_perm")
    return data.dtype


def floats_or_sparse(name, X, shape, dtype=None, backward=False):
    """Check the input of a layer, an array or an Adjacency of this shape; return it."""
    if not isinstance(X, Adjacency):
        return require.floats(name, X, shape, dtype)
    found = matrix(name, X, backward)
    if dtype is not None and found != dtype:
        raise TypeError(f"{name} must be {dtype} like the other arrays, got {found}")
    wanted = tuple(got if want is None else want for got, want in zip(X.shape, shape, strict=True))
    if X.shape != wanted:
        raise ValueError(f"{name} must have shape {wanted}, got {X.shape}")
    return X


def order_for(X, order):
    """Check an order of products; a sparse X is first multiplied by W, and has no gradient."""
    order = checked_order(order)
    if isinstance(X, Adjacency) and order != SPARSE_ORDER:
        raise ValueError(f"order must be {SPARSE_ORDER} where X is an Adjacency, got {order}")
    return order


def bias(b, width, dtype):
    """Check a bias, which may be None; return it."""
    return None if b is None else require.floats("b", b, (width,), dtype)


def output(X_out, G_out, shape, X, overwrite, name="out.X_out"):
    """Check a layer's output and the gradient of the loss with respect to it; return both."""
    X_out = require.floats(name, X_out, shape, X.dtype)
    G_out = require.floats("G_out", G_out, shape, X.dtype)
    if require.switch("overwrite", overwrite):
        given = X.data if isinstance(X, Adjacency) else X
        require.replaceable({name: X_out, "G_out": G_out}, given)
    return X_out, G_out
