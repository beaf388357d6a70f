"""No compiled function goes without its comparison, its errors, and its thread counts."""

import numpy as np
import pytest
import test_block_twins
import test_dense_twins
import test_features_twins
import test_graph_twins
import test_history_twins
import test_layer_twins
import test_neighbor_twins
import test_operation_twins
import test_pruning_twins
import test_rgcn_twins
import test_row_twins
import test_sampler_twins
import test_structure_twins
import test_update_twins
from comparison import assert_bits, assert_same_error, threads
from strategies import distinct, even_graph, graph_from_edges, power_law_graph

import fastimpl
import refimpl
from refimpl import Adjacency, Sampler
from refimpl.scheduling import ProductOrders

TWINS = {
    "adam_step": test_dense_twins.test_adam_step,
    "below": test_structure_twins.test_below,
    "dense_backward": test_dense_twins.test_dense_backward,
    "dense_forward": test_dense_twins.test_dense_forward,
    "induced_subgraph": test_structure_twins.test_induced_subgraph,
    "key": test_structure_twins.test_key,
    "mix": test_structure_twins.test_mix,
    "pick_without_replacement": test_structure_twins.test_pick_without_replacement,
    "row_norm": test_structure_twins.test_row_norm,
    "sage_backward": test_dense_twins.test_sage,
    "sage_forward": test_dense_twins.test_sage,
    "sample_many": test_structure_twins.test_sample_many,
    "sigmoid_cross_entropy": test_dense_twins.test_losses,
    "softmax_cross_entropy": test_dense_twins.test_losses,
    "spmm": test_dense_twins.test_spmm,
    "transpose_perm": test_structure_twins.test_transpose_perm,
    "uniform": test_structure_twins.test_uniform,
    **test_block_twins.TWINS,
    **test_layer_twins.TWINS,
    **test_operation_twins.TWINS,
    **test_features_twins.TWINS,
    **test_graph_twins.TWINS,
    **test_neighbor_twins.TWINS,
    **test_history_twins.TWINS,
    **test_pruning_twins.TWINS,
    **test_rgcn_twins.TWINS,
    **test_row_twins.TWINS,
    **test_sampler_twins.TWINS,
    **test_update_twins.TWINS,
}

PATH = graph_from_edges(3, {(0, 1), (1, 2)})
ARROW = refimpl.as_graph([(0, 1)], n=3)
A = refimpl.adjacency.row_norm(PATH, refimpl.transpose_perm(PATH))
SHORT = refimpl.Adjacency(PATH, np.ones(2), np.ones(2))
X, W, SINGLE = np.ones((3, 2)), np.ones((2, 2)), np.ones((3, 2), np.float32)
ORDER = ProductOrders(1, 1, 1)
OUT = refimpl.sage_forward(A, X, W, W, ORDER)
G, Z = np.ones((3, 4)), np.zeros(3)
FRONTIER = Sampler("frontier", m=4, n=5)

ERRORS = [
    ("mix", -1),
    ("mix", 0.5),
    ("mix", np.zeros(2)),
    ("key", 2**64),
    ("key", "a"),
    ("uniform", -1, 0),
    ("uniform", 0, 2**64),
    ("uniform", 0, np.zeros(2, np.int64) - 1),
    ("below", 0, 0, 0),
    ("below", 0, 0, 2**53),
    ("below", 0, 1.0, 3),
    ("pick_without_replacement", 0, 0, 2, 3),
    ("pick_without_replacement", 0, 0, 2**31, 3),
    ("transpose_perm", ARROW),
    ("transpose_perm", "graph"),
    ("induced_subgraph", ARROW, np.array([0])),
    ("induced_subgraph", PATH, np.array([1, 0])),
    ("induced_subgraph", PATH, np.array([1, 1])),
    ("induced_subgraph", PATH, np.array([3])),
    ("induced_subgraph", PATH, np.array([-1])),
    ("induced_subgraph", PATH, np.array([0.5])),
    ("induced_subgraph", PATH, np.array([[0]])),
    ("row_norm", ARROW),
    ("row_norm", PATH, np.arange(3)),
    ("row_norm", PATH, np.array([0, 1, 2, 9])),
    ("row_norm", PATH, np.zeros(4)),
    ("sample_many", PATH, FRONTIER, 0, 0, 1),
    ("sample_many", PATH, FRONTIER, 0, -1, 1),
    ("sample_many", PATH, FRONTIER, "seed", 0, 1),
    ("sample_many", ARROW, FRONTIER, 0, 0, 1),
    ("sample_many", PATH, "frontier", 0, 0, 1),
    ("spmm", PATH, np.ones(3), X),
    ("spmm", PATH, np.ones(4), SINGLE),
    ("spmm", PATH, np.ones(4), np.ones((2, 2))),
    ("spmm", PATH, np.ones(4, int), X),
    ("sage_forward", A, np.ones((2, 2)), W, W, ORDER),
    ("sage_forward", A, SINGLE, W, W, ORDER),
    ("sage_forward", A, X, np.ones((3, 2)), W, ORDER),
    ("sage_forward", A, X, W, None, ORDER),
    ("sage_forward", SHORT, X, W, W, ORDER),
    ("sage_forward", A, X, W, W, ProductOrders(3, 1, 1)),
    ("sage_backward", SHORT, X, W, W, OUT, G, ORDER),
    ("sage_backward", A, X, W, W, OUT, G, ProductOrders(1, 0, 1)),
    ("sage_backward", A, X, W, W, OUT, np.ones((3, 3)), ORDER),
    ("sage_backward", A, X, W, W, OUT._replace(AX=X[:1]), G, ORDER),
    ("sage_backward", A, X, W, W, OUT._replace(X_out=G[:1]), G, ORDER),
    ("sage_backward", refimpl.adjacency.row_norm(PATH), X, W, W, OUT, G, ORDER),
    ("dense_forward", X, np.ones((3, 2)), {"relu": True}),
    ("dense_forward", SINGLE, W, {"relu": True}),
    ("dense_backward", X, W, X, np.ones((2, 2)), {"relu": True, "need_dx": True}),
    ("dense_backward", X, W, SINGLE, X, {"relu": True, "need_dx": True}),
    ("softmax_cross_entropy", X, X[:2]),
    ("softmax_cross_entropy", X, SINGLE),
    ("softmax_cross_entropy", X, X, np.ones(2)),
    ("sigmoid_cross_entropy", X, X[:2]),
    ("sigmoid_cross_entropy", X[:, :0], X[:, :0]),
    ("sigmoid_cross_entropy", X.astype(int), X),
    ("adam_step", Z.copy(), Z, Z.copy(), Z.copy(), 0),
    ("adam_step", Z.copy(), Z[:2], Z.copy(), Z.copy(), 1),
    ("adam_step", Z.copy(), Z, Z.copy(), Z.copy(), 1, {"lr": 0}),
    ("adam_step", Z.copy(), Z, Z.copy(), Z.copy(), 1, {"beta1": 1}),
    ("adam_step", np.zeros(6)[::2], Z, Z.copy(), Z.copy(), 1),
    *test_block_twins.ERRORS,
    *test_layer_twins.ERRORS,
    *test_operation_twins.ERRORS,
    *test_features_twins.ERRORS,
    *test_graph_twins.ERRORS,
    *test_neighbor_twins.ERRORS,
    *test_history_twins.ERRORS,
    *test_pruning_twins.ERRORS,
    *test_rgcn_twins.ERRORS,
    *test_row_twins.ERRORS,
    *test_sampler_twins.ERRORS,
    *test_update_twins.ERRORS,
]


def split(arguments):
    """Return the arguments and the keyword arguments, which may stand last as a dictionary."""
    *args, last = arguments
    return (args, last) if isinstance(last, dict) else ([*args, last], {})


def test_every_compiled_function_has_a_twin_test():
    assert sorted(TWINS) == sorted(fastimpl.compiled)
    assert {name for name, *_ in ERRORS} == set(fastimpl.compiled)
    assert set(LARGE) == set(fastimpl.compiled)


@pytest.mark.parametrize("case", range(len(ERRORS)), ids=lambda i: f"{ERRORS[i][0]}-{i}")
def test_same_error(case):
    name, *arguments = ERRORS[case]
    args, kwargs = split(arguments)
    assert_same_error(name, *args, **kwargs)


def test_same_error_for_a_dtype_that_is_no_float():
    for dtype in (np.float16, int, complex, "numbers"):
        assert_same_error("row_norm", PATH, dtype=dtype)


HUBS, GRAPH = power_law_graph(3000), even_graph(3000, 20)
NODES = np.arange(0, 3000, 3, dtype=np.int32)
BIG_A = Adjacency(GRAPH, distinct(GRAPH.e, float), distinct(GRAPH.e, float, 9))
BIG_X, BIG_G = distinct((3000, 40), float, 1), distinct((3000, 37), float, 2)
BIG_W, BIG_V = distinct((40, 30), float), distinct((40, 7), float)
LABELS = np.abs(distinct((3000, 37), float, 3))
COUNTERS = np.arange(50_000, dtype=np.uint64)


def sage(order):
    """Return both passes of a layer in one order."""
    out = fastimpl.sage_forward(BIG_A, BIG_X, BIG_W, BIG_V, order)
    return out, fastimpl.sage_backward(BIG_A, BIG_X, BIG_W, BIG_V, out, BIG_G, order)


def adam():
    state = [BIG_G.copy(), np.zeros_like(BIG_G), np.zeros_like(BIG_G)]
    for t in (1, 2, 3):
        fastimpl.adam_step(state[0], LABELS, *state[1:], t)
    return state


def samples():
    """Return many subgraphs of both samplers."""
    pin_tile = Sampler("pin_tile", m=50, n=400, eta=1.2)
    return [
        fastimpl.sample_many(HUBS, sampler, 4, 0, 23)
        for sampler in (pin_tile, Sampler("frontier", m=20, n=100))
    ]


LARGE = {
    "adam_step": adam,
    "below": lambda: fastimpl.streams.below(3, COUNTERS, 1000),
    "dense_backward": lambda: [
        fastimpl.dense_backward(BIG_X, BIG_W, BIG_G[:, :30], BIG_G[:, 7:], relu=r, need_dx=True)
        for r in (True, False)
    ],
    "dense_forward": lambda: fastimpl.dense_forward(BIG_X, BIG_W, relu=True),
    "induced_subgraph": lambda: fastimpl.induced_subgraph(HUBS, NODES),
    "key": lambda: fastimpl.streams.key(1, 2, COUNTERS),
    "mix": lambda: fastimpl.streams.mix(COUNTERS),
    "pick_without_replacement": lambda: fastimpl.streams.pick_without_replacement(1, 2, 5000, 4000),
    "row_norm": lambda: fastimpl.adjacency.row_norm(HUBS, fastimpl.transpose_perm(HUBS)),
    "sage_backward": lambda: [sage(order)[1] for order in test_dense_twins.ORDERS],
    "sage_forward": lambda: [sage(order)[0] for order in test_dense_twins.ORDERS],
    "sample_many": samples,
    "sigmoid_cross_entropy": lambda: fastimpl.sigmoid_cross_entropy(BIG_G, LABELS),
    "softmax_cross_entropy": lambda: fastimpl.softmax_cross_entropy(BIG_G, LABELS),
    "spmm": lambda: fastimpl.spmm(GRAPH, BIG_A.data, BIG_X),
    "transpose_perm": lambda: fastimpl.transpose_perm(HUBS),
    "uniform": lambda: fastimpl.streams.uniform(3, COUNTERS),
    **test_block_twins.LARGE,
    **test_layer_twins.LARGE,
    **test_operation_twins.LARGE,
    **test_features_twins.LARGE,
    **test_graph_twins.LARGE,
    **test_neighbor_twins.LARGE,
    **test_history_twins.LARGE,
    **test_pruning_twins.LARGE,
    **test_rgcn_twins.LARGE,
    **test_row_twins.LARGE,
    **test_sampler_twins.LARGE,
    **test_update_twins.LARGE,
}


@pytest.mark.parametrize("name", LARGE)
def test_the_number_of_threads_changes_no_bit(name):
    with threads(1):
        want = LARGE[name]()
    for count in (2, 5, 2):
        with threads(count):
            assert_bits(LARGE[name](), want)
