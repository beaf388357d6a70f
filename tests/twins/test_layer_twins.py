"""Fast against reference for the layers on graphs and blocks, and for operations on rows."""

from itertools import product

import numpy as np
import pytest
from bad_layer_input import CASES, GOOD
from comparison import assert_twins, read_only
from hypothesis import given
from hypothesis import strategies as st
from layer_cases import ORDERS as WITH_DX
from layer_cases import row_keys
from oracles import matrix
from strategies import (
    FLOATS,
    block_chains,
    blocks,
    distinct,
    distinct_arrays,
    even_graph,
    graphs,
    power_law_graph,
    with_values,
)

import fastimpl
import refimpl
from refimpl import Adjacency
from refimpl.lab.backend import find
from refimpl.layers import GatGradients, GatOutput
from refimpl.layers.sage import CONCAT

THREADS = st.sampled_from([1, 2, 5])
WIDTH = st.integers(0, 9)
ORDERS = [*WITH_DX, *(order._replace(dx=0) for order in WITH_DX[::2])]


def adjacency(pattern, dtype, seed=0):
    """Return the pattern with distinct values, which say which way an edge points."""
    A = with_values(pattern, distinct(pattern.e, dtype, seed))
    for array in (A.data_t, A.perm):
        read_only(array)
    return A


def absolute(value):
    """Return arrays, Adjacencies, or sequences of either, with every sign taken away."""
    if isinstance(value, Adjacency):
        return Adjacency(value.graph, *map(np.abs, (value.data, value.data_t)), value.graph_t)
    if isinstance(value, list | tuple):
        return type(value)(map(absolute, value))
    return None if value is None else np.abs(value)


def opened(out):
    """Return the output of a layer whose ReLU lets all through."""
    if isinstance(out, np.ndarray):
        return np.ones_like(out)
    return out._replace(X_out=np.ones_like(out.X_out))


def frozen(out):
    for array in out if isinstance(out, tuple) else [out]:
        if isinstance(array, np.ndarray):
            read_only(array)
    return out


def assert_layer_twins(name, first, X, weights, G, way, options, count=2, back=None):
    """Compare both passes; the backward pass on one and the same output, and so one mask.

    The bound is what the layer gives for absolute values: no term cancels, no ReLU is shut.
    """
    forward, backward = f"{name}_forward", f"{name}_backward"
    options, back = {"b": None, **options}, back or {}
    large = {**options, "b": absolute(options["b"]), "relu": False}
    sizes = *absolute(list(first)), np.abs(X), *absolute(list(weights))
    bound = find(refimpl, forward)(*sizes, *way, **large)
    out = assert_twins(forward, *first, X, *weights, *way, **options, near=bound, count=count)
    large |= {"relu": True}
    bound = find(refimpl, backward)(*sizes, opened(bound), np.abs(G), *way, **large, **back)
    common = *first, X, *weights, frozen(out), G, *way
    return assert_twins(backward, *common, **options, **back, near=bound, count=count)


OPTIONS = {
    "f": WIDTH,
    "dtype": FLOATS,
    "bias": st.booleans(),
    "relu": st.booleans(),
    "count": THREADS,
    "data": st.data(),
}


def common_options(width, dtype, bias, relu):
    return {"b": distinct(width, dtype, 9) if bias else None, "relu": relu}


@given(pattern=graphs() | blocks(), neigh=WIDTH, own=WIDTH, **OPTIONS)
def test_sage_options(pattern, neigh, own, f, dtype, bias, relu, count, data):
    order = data.draw(st.sampled_from(ORDERS))
    concat = data.draw(st.sampled_from(CONCAT))
    own = neigh if concat == "sum" else own
    width = neigh if concat == "sum" else neigh + own
    shapes = (pattern.n_src, f), (f, neigh), (f, own), (pattern.n_dst, width)
    X, *weights, G = distinct_arrays(shapes, dtype)
    options = common_options(width, dtype, bias, relu) | {"concat": concat}
    A = adjacency(pattern, dtype)
    assert_layer_twins("sage", [A], X, weights, G, [order], options, count)


@given(pattern=graphs() | blocks(), width=WIDTH, **OPTIONS)
def test_gcn(pattern, width, f, dtype, bias, relu, count, data):
    order = data.draw(st.sampled_from(ORDERS))
    X, W, G = distinct_arrays([(pattern.n_src, f), (f, width), (pattern.n_dst, width)], dtype)
    options = common_options(width, dtype, bias, relu)
    assert_layer_twins("gcn", [adjacency(pattern, dtype)], X, [W], G, [order], options, count)


@given(widths=st.lists(st.integers(0, 5), min_size=1, max_size=4), **OPTIONS)
def test_mixhop(widths, f, dtype, bias, relu, count, data):
    K = len(widths) - 1
    patterns = data.draw(graphs().map(lambda graph: [graph] * K) | block_chains(K))
    depth, need_dx = data.draw(st.integers(0, K)), data.draw(st.booleans())
    n_src, n_dst = (patterns[0].n_src, patterns[-1].n_dst) if K else (5, 5)
    hops = tuple(adjacency(pattern, dtype, 20 + i) for i, pattern in enumerate(patterns))
    shapes = [(n_src, f), (n_dst, sum(widths)), *((f, width) for width in widths)]
    X, G, *W = distinct_arrays(shapes, dtype)
    options = common_options(sum(widths), dtype, bias, relu)
    back = {"need_dx": need_dx}
    assert_layer_twins("mixhop", [hops], X, [W], G, [depth], options, count, back)


@given(s=st.integers(0, 8), width=WIDTH, **OPTIONS)
def test_dense_with_a_bias(s, width, f, dtype, bias, relu, count, data):
    X, W, G = distinct_arrays([(s, f), (f, width), (s, width)], dtype)
    options = common_options(width, dtype, bias, relu)
    back = {"need_dx": data.draw(st.booleans())}
    assert_layer_twins("dense", [], X, [W], G, [], options, count, back)


def gat_bounds(A, X, W, a_recv, a_send, G, norm, b, dropout):
    """Return what no sum of sizes of terms exceeds, as a GatOutput and as GatGradients.

    Every weight is a softmax's (1 at most, with the relative error of a score of size `score`),
    or a score times a value. Bounds are matrices, added up where the layer adds up. What dropout
    leaves is `raised` so many times.
    """
    raised = 1 / (1 - dropout)
    X, W, a_recv, a_send, G = (np.abs(a).astype(float) for a in (X, W, a_recv, a_send, G))
    on = matrix(A.graph, np.abs(A.data).astype(float) if norm == "row" else None)
    heads, H = len(a_recv), X @ W
    blocks_of_H = np.split(H, heads, axis=1)
    sigma = np.array([part[: len(on)] @ a for part, a in zip(blocks_of_H, a_recv, strict=True)])
    tau = np.array([part @ a for part, a in zip(blocks_of_H, a_send, strict=True)])
    score = sigma[:, :, None] + tau[:, None, :]
    slope = (1 + 2 * score) if norm == "softmax" else np.ones_like(score)
    P = on * (slope if norm == "softmax" else score)
    Pi = [g @ h.T for g, h in zip(np.split(G, heads, axis=1), blocks_of_H, strict=True)]
    epsilon = 2 * raised * on * slope * np.array(Pi).reshape(P.shape)
    to_sigma, to_tau = epsilon.sum(axis=2), epsilon.sum(axis=1)
    G_H = np.zeros_like(H)
    for k, part in enumerate(np.split(G_H, heads, axis=1)):
        part += raised * P[k].T @ np.split(G, heads, axis=1)[k] + np.outer(to_tau[k], a_send[k])
        part[: len(on)] += np.outer(to_sigma[k], a_recv[k])
    X_out = raised * np.hstack([P[k] @ part for k, part in enumerate(blocks_of_H)])
    to_recv = [to_sigma[k] @ part[: len(on)] for k, part in enumerate(blocks_of_H)]
    to_send = [to_tau[k] @ part for k, part in enumerate(blocks_of_H)]
    out = GatOutput(X_out + (0 if b is None else np.abs(b)), H, sigma, tau, P)
    to_b = None if b is None else G.sum(axis=0)
    return out, GatGradients(X.T @ G_H, np.array(to_recv), np.array(to_send), G_H @ W.T, to_b)


def assert_gat_twins(A, arrays, options, need_dx, count=2):
    """Compare both passes; the backward pass on one and the same output."""
    *common, G = arrays
    limits = options["norm"], options["b"], options.get("dropout", 0)
    bound, bound_back = gat_bounds(A, *arrays, *limits)
    out = assert_twins("gat_forward", A, *common, **options, near=bound, count=count)
    for package in (refimpl, fastimpl):
        X, W, *vectors = common
        whole = package.gat_forward(A, X, W, *vectors, **options)
        part = package.gat_forward(A, whole.H, None, *vectors, **options)
        assert [array.tobytes() for array in part] == [array.tobytes() for array in whole]
    back = {**options, "need_dx": need_dx}
    common = A, *common, frozen(out), G
    return assert_twins("gat_backward", *common, **back, near=bound_back, count=count)


def gat_arrays(A, f, heads, size, dtype):
    """Return X, W, a_recv, a_send and G_out."""
    width, vectors = heads * size, (heads, size)
    shapes = (A.graph.n_src, f), (f, width), vectors, vectors, (A.graph.n_dst, width)
    return distinct_arrays(shapes, dtype)


@given(
    pattern=graphs().map(refimpl.adjacency.add_self_loops) | blocks(loops=True) | blocks(),
    heads=st.integers(1, 3),
    size=st.integers(1, 4),
    norm=st.sampled_from(["softmax", "row", "none"]),
    form=st.sampled_from(["joint", "split"]),
    slope=st.sampled_from([0, 0.2, 1.5]),
    dropout=st.sampled_from([0.0, 0.3, 0.75]),
    **OPTIONS,
)
def test_gat(pattern, heads, size, norm, form, slope, dropout, f, dtype, bias, relu, count, data):
    A = adjacency(pattern, dtype)
    options = common_options(heads * size, dtype, bias, relu)
    options |= {"norm": norm, "form": form, "slope": slope}
    if dropout:
        options |= {"dropout": dropout, "keys": read_only(row_keys(pattern.n_dst))}
    arrays = gat_arrays(A, f, heads, size, dtype)
    assert_gat_twins(A, arrays, options, data.draw(st.booleans()), count)


@pytest.mark.runs
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layers_on_several_blocks_of_rows(dtype):
    """More rows than dense products take at a time, and widths past a vector's length."""
    A = adjacency(even_graph(600, 4), dtype)
    options = common_options(33, dtype, True, True)
    X, W, W_neigh, W_self, G = distinct_arrays(
        [(600, 17), (17, 33), (17, 16), (17, 17), (600, 33)], dtype
    )
    for order in ORDERS[::3]:
        assert_layer_twins("gcn", [A], X, [W], G, [order], options)
        weights, swapped = [W_neigh, W_self], options | {"concat": "self_first"}
        assert_layer_twins("sage", [A], X, weights, G, [order], swapped)
    for depth in range(3):
        W = distinct_arrays([(17, 9), (17, 13), (17, 11)], dtype)
        back = {"need_dx": True}
        assert_layer_twins("mixhop", [(A, A)], X, [W], G, [depth], options, back=back)
    for norm, form in product(("softmax", "row", "none"), ("joint", "split")):
        looped = adjacency(refimpl.adjacency.add_self_loops(A.graph), dtype)
        arrays = gat_arrays(looped, 17, 3, 11, dtype)
        assert_gat_twins(looped, arrays, options | {"norm": norm, "form": form}, True)


def test_softmax_of_large_scores():
    """Exponentials that would overflow, and rows in which one entry has all the weight."""
    A = adjacency(refimpl.adjacency.add_self_loops(power_law_graph(60)), np.float32)
    X, W, *rest = gat_arrays(A, 4, 2, 3, np.float32)
    options = common_options(6, np.float32, False, False) | {"norm": "softmax"}
    assert_gat_twins(A, [read_only(X * np.float32(1e4)), W, *rest], options, True)


TWINS = {
    "gat_backward": test_gat,
    "gat_forward": test_gat,
    "gcn_backward": test_gcn,
    "gcn_forward": test_gcn,
    "mixhop_backward": test_mixhop,
    "mixhop_forward": test_mixhop,
}

ERRORS = [
    (name, {**GOOD[name], argument: value})
    for name, argument, value in CASES
    if name in GOOD and name.partition("_")[0] in ("sage", "gcn", "mixhop", "gat", "dense")
]

BIG = even_graph(3000, 20)
BIG_A = adjacency(BIG, float)
LOOPED = adjacency(refimpl.adjacency.add_self_loops(BIG), float)
BIG_X, BIG_G = distinct((3000, 40), float, 1), distinct((3000, 36), float, 2)
BIG_W, BIG_B = distinct((40, 36), float, 3), distinct(36, float, 4)
BRANCHES = [np.ascontiguousarray(part) for part in np.split(BIG_W, [10, 17], axis=1)]
VECTORS = distinct((3, 12), float, 5), distinct((3, 12), float, 6)
BIASED = {"b": BIG_B}
BIG_KEYS = row_keys(3000)
DEPTHS, GAT_WAYS = (0, 1, 2), tuple(product(("softmax", "row", "none"), (0, 0.5)))


def gcn(orders=ORDERS):
    """Return both passes in each order."""
    common = BIG_A, BIG_X, BIG_W
    outs = [fastimpl.gcn_forward(*common, order, **BIASED) for order in orders]
    passes = zip(outs, orders, strict=True)
    return outs, [fastimpl.gcn_backward(*common, o, BIG_G, way, **BIASED) for o, way in passes]


def mixhop(depths=DEPTHS):
    """Return both passes at each depth."""
    common = (BIG_A, BIG_A), BIG_X, BRANCHES
    outs = [fastimpl.mixhop_forward(*common, depth, **BIASED) for depth in depths]
    options = {**BIASED, "need_dx": True}
    return outs, [
        fastimpl.mixhop_backward(*common, out, BIG_G, depth, **options)
        for out, depth in zip(outs, depths, strict=True)
    ]


def gat(ways=GAT_WAYS):
    """Return both passes with each norm and dropout."""
    common, outs, grads = (LOOPED, BIG_X, BIG_W, *VECTORS), [], []
    for norm, dropout in ways:
        options = {"norm": norm, "dropout": dropout, "keys": BIG_KEYS, **BIASED}
        outs.append(fastimpl.gat_forward(*common, **options))
        grads.append(fastimpl.gat_backward(*common, outs[-1], BIG_G, **options, need_dx=True))
    return outs, grads


LARGE = {
    "gat_backward": lambda: gat()[1],
    "gat_forward": lambda: gat()[0],
    "gcn_backward": lambda: gcn()[1],
    "gcn_forward": lambda: gcn()[0],
    "mixhop_backward": lambda: mixhop()[1],
    "mixhop_forward": lambda: mixhop()[0],
}
