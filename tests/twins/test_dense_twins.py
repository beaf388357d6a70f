"""Fast against reference on numbers: to the bit for sparse products, Adam and norms, and up to
rounding where BLAS or an exponential is free to round its own way."""

from itertools import product

import numpy as np
import pytest
from comparison import assert_bits, assert_near, assert_twins, read_only, threads
from hypothesis import given
from hypothesis import strategies as st
from strategies import FLOATS, directed_graphs, distinct, even_graph, graphs

import fastimpl
import refimpl
from refimpl import Adjacency
from refimpl.lab.backend import find
from refimpl.layers import SageOutput
from refimpl.scheduling import ProductOrders

THREADS = st.sampled_from([1, 2, 5])
WIDTH = st.integers(0, 9)
# Around the block of 512 rows on which dense products run.
ROWS = [0, 1, 2, 511, 512, 513, 1100]
ORDERS = [ProductOrders(*order) for order in product((1, 2), (1, 2), (0, 1, 2))]
LOSSES = ["softmax_cross_entropy", "sigmoid_cross_entropy"]


@given(graph=graphs() | directed_graphs(), width=WIDTH, dtype=FLOATS, count=THREADS)
def test_spmm(graph, width, dtype, count):
    data, X = distinct(graph.e, dtype), distinct((graph.n, width), dtype, seed=1)
    assert_twins("spmm", graph, data, X, count=count)


@pytest.mark.parametrize("width", [1, 15, 16, 17, 100, 256])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spmm_wide(width, dtype):
    graph = even_graph(150, 12)
    data, X = distinct(graph.e, dtype), distinct((graph.n, width), dtype, seed=1)
    assert_twins("spmm", graph, data, X, count=2)


def absolute(*arrays):
    return [np.abs(array) for array in arrays]


def dense_case(s, f, h, dtype):
    """Return X, W and G_out, all values distinct in each."""
    shapes = (s, f), (f, h), (s, h)
    return [distinct(shape, dtype, seed) for seed, shape in enumerate(shapes)]


@given(
    s=st.sampled_from(ROWS) | st.integers(0, 20),
    f=WIDTH,
    h=WIDTH,
    dtype=FLOATS,
    relu=st.booleans(),
    count=THREADS,
)
def test_dense_forward(s, f, h, dtype, relu, count):
    X, W, _ = dense_case(s, f, h, dtype)
    bound = refimpl.dense_forward(*absolute(X, W), relu=False)
    assert_twins("dense_forward", X, W, relu=relu, near=bound, count=count)


@given(
    s=st.sampled_from(ROWS) | st.integers(0, 20),
    f=WIDTH,
    h=WIDTH,
    dtype=FLOATS,
    relu=st.booleans(),
    need_dx=st.booleans(),
    count=THREADS,
)
def test_dense_backward(s, f, h, dtype, relu, need_dx, count):
    X, W, G_out = dense_case(s, f, h, dtype)
    Y = read_only(refimpl.dense_forward(X, W, relu=relu))
    options = {"relu": relu, "need_dx": need_dx}
    bound = refimpl.dense_backward(
        *absolute(X, W), np.ones_like(Y), np.abs(G_out), relu=False, need_dx=need_dx
    )
    assert_twins("dense_backward", X, W, Y, G_out, **options, near=bound, count=count)


def sage_case(graph, f, h_neigh, h_self, dtype):
    """Return A with asymmetric values, X, W_neigh, W_self and G_out."""
    data = distinct(graph.e, dtype)
    A = Adjacency(graph, data, read_only(data[refimpl.transpose_perm(graph)]))
    shapes = (graph.n, f), (f, h_neigh), (f, h_self), (graph.n, h_neigh + h_self)
    return A, *(distinct(shape, dtype, seed) for seed, shape in enumerate(shapes, start=1))


def sage_bounds(A, X, W_neigh, W_self, G_out, order):
    """Return what the layer gives for absolute values: no term cancels, no ReLU is shut."""
    A = Adjacency(A.graph, *absolute(A.data, A.data_t))
    X, W_neigh, W_self, G_out = absolute(X, W_neigh, W_self, G_out)
    out = refimpl.sage_forward(A, X, W_neigh, W_self, order)
    opened = SageOutput(np.ones_like(out.X_out), out.AX)
    return out, refimpl.sage_backward(A, X, W_neigh, W_self, opened, G_out, order)


def assert_sage_twins(graph, widths, dtype, order, count):
    """Compare both passes; the backward pass on one and the same output, and so one mask."""
    A, X, W_neigh, W_self, G_out = sage_case(graph, *widths, dtype)
    bound, bound_back = sage_bounds(A, X, W_neigh, W_self, G_out, order)
    common = A, X, W_neigh, W_self
    out = assert_twins("sage_forward", *common, order, near=bound, count=count)
    for array in out:
        if array is not None:
            read_only(array)
    assert_twins("sage_backward", *common, out, G_out, order, near=bound_back, count=count)


@given(
    graph=graphs(),
    widths=st.tuples(WIDTH, WIDTH, WIDTH),
    dtype=FLOATS,
    order=st.sampled_from(ORDERS),
    count=THREADS,
)
def test_sage(graph, widths, dtype, order, count):
    assert_sage_twins(graph, widths, dtype, order, count)


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sage_on_several_blocks_of_rows(dtype, order):
    assert_sage_twins(even_graph(1100, 6), (33, 16, 17), dtype, order, 2)


@pytest.mark.parametrize("name", LOSSES)
@given(
    s=st.sampled_from(ROWS) | st.integers(0, 20),
    C=st.integers(1, 9),
    size=st.sampled_from([1, 40, 1e4]),
    dtype=FLOATS,
    weighted=st.booleans(),
    count=THREADS,
)
def test_losses(name, s, C, size, dtype, weighted, count):
    logits = read_only(distinct((s, C), dtype) * dtype(size))
    labels = read_only(np.abs(distinct((s, C), dtype, seed=1)))
    weights = read_only(distinct(s, dtype, seed=2) + dtype(1)) if weighted else None
    want = find(refimpl, name)(logits, labels, weights)
    with threads(count):
        got = find(fastimpl, name)(logits, labels, weights)
    assert type(got.value) is type(want.value) is float
    per_node = np.full(s, 1 / max(s, 1)) if weights is None else weights.astype(float)
    entry = 2 * C * (np.abs(logits).max(initial=0) + 2)  # no term of a node's loss is larger
    bound = refimpl.losses.Loss(dtype(per_node.sum() * entry), C * per_node)
    assert_near(got._replace(value=dtype(got.value)), want._replace(value=dtype(want.value)), bound)


@given(
    shape=st.sampled_from([(0,), (1,), (7,), (3, 5), (33, 17)]),
    dtype=FLOATS,
    t=st.integers(1, 2000),
    lr=st.sampled_from([0.001, 0.01, 1]),
    beta1=st.sampled_from([0, 0.5, 0.9]),
    beta2=st.sampled_from([0.0, 0.9, 0.999]),
    eps=st.sampled_from([1e-8, 1e-3]),
    count=THREADS,
)
def test_adam_step(shape, dtype, t, lr, beta1, beta2, eps, count):
    options = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps}
    theta, grad, m, v = (distinct(shape, dtype, seed) for seed in range(4))
    ours, theirs = ([theta.copy(), m.copy(), np.abs(v)] for _ in range(2))
    for step in (t, t + 1):
        with threads(count):
            fastimpl.adam_step(ours[0], grad, *ours[1:], step, **options)
        refimpl.adam_step(theirs[0], grad, *theirs[1:], step, **options)
    assert_bits(ours, theirs)
