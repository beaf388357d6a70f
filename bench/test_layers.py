"""GraphSAGE layers in both orders of their products, and dense layers."""

from functools import cache

import numpy as np
import scipy.sparse as sp

import refimpl
from bench import inputs, work
from bench.answers import near, within
from bench.case import Bench, Task, timed
from refimpl.lab.data.sparse_features import checked_sparse
from refimpl.lab.training.sparse_inputs import sparse_rows

ORDERS = {
    "(A X) W": refimpl.scheduling.ProductOrders(1, 1, 2),
    "A (X W)": refimpl.scheduling.ProductOrders(2, 2, 1),
}
FORMS = "aggregate_first", "product_first"  # of ORDERS
DTYPES = "float32", "float64"
CLOSE = {"float32": 1e-4, "float64": 1e-12}


def sage_inputs(size):
    """Return A, X, W_neigh, W_self by name, float32, and their scale."""
    scale = inputs.SIZES[size]
    f, half = scale.f, scale.hidden // 2
    X, W_neigh = inputs.normal((scale.s, f), 1), inputs.weights(f, half, 2)
    named = {"A": inputs.adjacency(size), "X": X, "W_neigh": W_neigh}
    return {**named, "W_self": inputs.weights(f, half, 3)}, scale


def sage_text(A, scale, name):
    """Return how the report names a layer."""
    return f"{inputs.graph_text(A.graph)} f={scale.f} h={scale.hidden} {name} float32"


def as_doubles(*arrays):
    """Return arrays in float64."""
    return [array.astype(np.float64) for array in arrays]


def singles(*arrays):
    """Return arrays in float32, to be compared with results of that kind."""
    return [np.asarray(array, np.float32) for array in arrays]


def sage_forward_tasks(size):
    """Yield the forward pass."""
    args, scale = sage_inputs(size)
    A, f, half = args["A"], scale.f, scale.hidden // 2
    for name, order in ORDERS.items():

        def check(got, args, other):
            data, X, W_neigh, W_self = as_doubles(
                args["A"].data, args["X"], args["W_neigh"], args["W_self"]
            )
            halves = [args["A"].graph.to_scipy(data) @ X @ W_neigh, X @ W_self]
            (want,) = singles(np.maximum(np.hstack(halves), 0))
            near("result.X_out", got.X_out, want, atol=1e-4)

        done = work.spmm(A.graph, f if order.forward == 1 else half, "float32")
        done += work.times(2, work.dense(scale.s, f, half, "float32"))
        yield Task(sage_text(A, scale, name), {**args, "order": order}, check, done)


def sage_backward_tasks(size):
    """Yield the backward pass: A X is kept, or A^T G serves both gradients."""
    args, scale = sage_inputs(size)
    A, f, half = args["A"], scale.f, scale.hidden // 2
    G_out = inputs.normal((scale.s, 2 * half), 4)
    for name, order in ORDERS.items():
        out = kept(size, name)
        done = work.spmm(A.graph, f if order.dx == 2 else half, "float32")
        done += work.times(4, work.dense(scale.s, f, half, "float32"))
        given = {**args, "out": out, "G_out": G_out, "order": order}
        yield Task(sage_text(A, scale, name), given, check_sage_gradients, done)


@cache
def kept(size, name):
    """Return what the forward pass keeps: the output and, where it is made first, A X."""
    args, _ = sage_inputs(size)
    data, X, W_neigh, W_self = as_doubles(
        args["A"].data, args["X"], args["W_neigh"], args["W_self"]
    )
    aggregated = args["A"].graph.to_scipy(data) @ X
    out, AX = singles(np.maximum(np.hstack([aggregated @ W_neigh, X @ W_self]), 0), aggregated)
    return refimpl.layers.SageOutput(out, AX if ORDERS[name].forward == 1 else None)


def check_sage_gradients(got, args, other):
    """Compare gradients with products of SciPy and NumPy in float64."""
    A, half = args["A"], args["W_neigh"].shape[1]
    masked = np.where(args["out"].X_out > 0, args["G_out"], 0)
    data, X, W_neigh, W_self, G = as_doubles(
        A.data, args["X"], args["W_neigh"], args["W_self"], masked
    )
    G_neigh = A.graph.to_scipy(data).T @ G[:, :half]
    wide = 1e-4 * np.sqrt(len(X))  # sums over so many nodes
    for part, want, atol in (
        ("W_neigh", X.T @ G_neigh, wide),
        ("W_self", X.T @ G[:, half:], wide),
        ("X", G_neigh @ W_neigh.T + G[:, half:] @ W_self.T, 1e-4),
    ):
        near(f"result.{part}", getattr(got, part), *singles(want), atol=atol)


def dense_forward_tasks(size):
    """Yield a dense layer, in both precisions."""
    scale = inputs.SIZES[size]
    s, f, h = scale.s, scale.f, scale.hidden
    for dtype in DTYPES:
        X, W = inputs.normal((s, f), 1, dtype), inputs.weights(f, h, 2, dtype)

        def check(got, args, other, X=X, W=W):
            check_rows("result", got, X, W, relu=True)

        text = f"s={s:,} f={f} h={h} relu {dtype}"
        yield Task(text, {"X": X, "W": W, "relu": True}, check, work.dense(s, f, h, dtype))
    yield sparse_task(scale)


def sparse_task(scale, dtype="float32"):
    """Return a dense layer on bags of words: 1% of X are not 0."""
    s, f, h, nonzeros = scale.s, 25 * scale.f, scale.hidden, max(scale.f // 4, 1)
    places = np.random.default_rng(1).integers(0, f, (s, nonzeros))
    rows = np.repeat(np.arange(s), nonzeros)
    matrix = checked_sparse(
        sp.coo_array((np.ones(places.size, dtype), (rows, places.ravel())), (s, f))
    )
    X, W = sparse_rows(refimpl, matrix, np.arange(s), "rows", dtype), inputs.weights(f, h, 2)
    X = refimpl.Adjacency(X.graph, X.data, X.data_t, X.graph_t)
    want = np.maximum(X.graph.to_scipy(X.data.astype(float)) @ W, 0)
    size = f * h * W.itemsize
    done = [work.Part(bytes=X.graph.e * (8 + h * W.itemsize) + s * h * W.itemsize, footprint=size)]
    text = f"s={s:,} f={f:,} h={h} relu {dtype}, 1% of X"
    return Task(text, {"X": X, "W": W, "relu": True}, within(want, atol=CLOSE[dtype]), done)


def check_rows(at, got, X, W, relu):
    """Compare some rows with sums that no BLAS computed."""
    near(f"{at}: shape", np.array(np.shape(got)), np.array([len(X), W.shape[1]]))
    some = slice(None, None, max(1, len(X) // 16))
    want = np.einsum("sf,fh->sh", *as_doubles(X[some], W), optimize=False)
    want = (np.maximum(want, 0) if relu else want).astype(X.dtype)
    near(f"{at}, rows ::{some.step}", got[some], want, atol=CLOSE[X.dtype.name])


def dense_backward_tasks(size):
    """Yield the gradients of a dense layer."""
    scale = inputs.SIZES[size]
    s, f, h = scale.s, scale.f, scale.hidden
    X, W, G_out = inputs.normal((s, f), 1), inputs.weights(f, h, 2), inputs.normal((s, h), 3)
    Y = np.maximum(X @ W, 0)

    def check(got, args, other):
        G = np.where(Y > 0, G_out, 0)
        check_rows("result.X", got.X, G, W.T, relu=False)
        some = slice(None, None, max(1, f // 8))
        want = np.einsum("sf,sh->fh", *as_doubles(X[:, some], G), optimize=False)
        at = f"result.W, rows ::{some.step}"
        near(at, got.W[some], *singles(want), atol=1e-4 * np.sqrt(s))

    args = {"X": X, "W": W, "Y": Y, "G_out": G_out, "relu": True, "need_dx": True}
    done = work.times(2, work.dense(s, f, h, "float32"))
    yield Task(f"s={s:,} f={f} h={h} relu float32", args, check, done)


test_layers = timed(
    Bench("sage_forward", sage_forward_tasks, forms=FORMS),
    Bench("sage_backward", sage_backward_tasks, forms=FORMS),
    Bench("dense_forward", dense_forward_tasks, forms=(*DTYPES, "sparse")),
    Bench("dense_backward", dense_backward_tasks),
)
