"""Fast against reference for normalised patterns, sparse products, and operations on rows."""

import numpy as np
from bad_layer_input import CASES, GOOD
from comparison import assert_bits, assert_twins, read_only
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    FLOATS,
    KEYS,
    blocks,
    directed_graphs,
    distinct,
    even_graph,
    graphs,
    power_law_graph,
)

import fastimpl
import refimpl

THREADS = st.sampled_from([1, 2, 5])
WIDTH = st.integers(0, 9)


@given(graph=graphs(), dtype=FLOATS, count=THREADS)
def test_norms(graph, dtype, count):
    assert_twins("sym_norm", graph, dtype=dtype, count=count)
    assert_twins("loop_norm", graph, dtype=dtype, count=count)


@given(graph=graphs(), count=THREADS)
def test_add_self_loops(graph, count):
    assert_twins("add_self_loops", graph, count=count)


@given(block=blocks(), dtype=FLOATS, count=THREADS)
def test_block_norm(block, dtype, count):
    degrees = read_only(np.arange(block.n_src) + block.e)
    for kind in ("row", "sym", "loop"):
        d = degrees if kind == "sym" else None
        assert_twins("block_norm", kind, block, d, dtype=dtype, count=count)


@given(pattern=blocks(), width=WIDTH, dtype=FLOATS, count=THREADS)
def test_spmm_on_a_block(pattern, width, dtype, count):
    data, X = distinct(pattern.e, dtype), distinct((pattern.n_src, width), dtype, 1)
    assert_twins("spmm", pattern, data, X, count=count)


@given(graph=graphs(), width=WIDTH, dtype=FLOATS, count=THREADS)
def test_spmm_t(graph, width, dtype, count):
    perm = read_only(refimpl.transpose_perm(graph))
    data, G = distinct(graph.e, dtype), distinct((graph.n, width), dtype, 1)
    assert_twins("spmm_t", graph, data, perm, G, count=count)


@given(
    pattern=graphs() | directed_graphs() | blocks(),
    width=st.integers(0, 40),
    p=st.integers(1, 9),
    cache=st.sampled_from([1, 100, 1000, 2**20]),
    mode=st.sampled_from(["columns", "paper"]),
    version=st.sampled_from(["jpdc", "ipdps"]),
    layout=st.sampled_from(["C", "F"]),
    dtype=FLOATS,
    count=THREADS,
)
def test_feature_propagate(pattern, width, p, cache, mode, version, layout, dtype, count):
    data, X = distinct(pattern.e, dtype), distinct((pattern.n_src, width), dtype, 1)
    plan = refimpl.partition.partition_plan(
        pattern.n_src, width, p, cache, word=X.itemsize, mode=mode
    )
    options = {"version": version, "layout": layout, "count": count}
    got = assert_twins("feature_propagate", pattern, data, X, plan, p, **options)
    assert_bits(got, refimpl.spmm(pattern, data, X))


ROW_SHAPE = st.tuples(st.integers(0, 8) | st.just(700), st.integers(1, 20))
EPS = st.sampled_from([1e-9, 1e-6, 0.3])


@given(shape=ROW_SHAPE, dtype=FLOATS, eps=EPS, floor=st.booleans(), count=THREADS)
def test_row_l2(shape, dtype, eps, floor, count):
    X, G = distinct(shape, dtype), distinct(shape, dtype, 1)
    X = read_only(X * dtype(0)) if floor else X
    bound = refimpl.layers.row_l2_forward(X, eps=eps)
    out = assert_twins("row_l2_forward", X, eps=eps, near=bound, count=count)
    out = out._make(map(read_only, out))
    largest = np.abs(G).sum(axis=1, initial=0) / out.norms
    assert_twins("row_l2_backward", out, G, eps=eps, near=largest, count=count)


@given(
    shape=st.tuples(st.integers(0, 9) | st.just(600), st.integers(0, 20)),
    rate=st.sampled_from([0, 0.2, 0.5]) | st.floats(0, 0.99),
    key=KEYS,
    dtype=FLOATS,
    count=THREADS,
)
def test_dropout(shape, rate, key, dtype, count):
    assert_twins("dropout", distinct(shape, dtype), rate, key, count=count)
    keys = refimpl.streams.mix(np.arange(shape[0], dtype=np.uint64) + np.uint64(key))
    assert_twins("dropout", distinct(shape, dtype), rate, keys, count=count)


TWINS = {
    "add_self_loops": test_add_self_loops,
    "dropout": test_dropout,
    "feature_propagate": test_feature_propagate,
    "loop_norm": test_norms,
    "row_l2_backward": test_row_l2,
    "row_l2_forward": test_row_l2,
    "spmm_t": test_spmm_t,
    "sym_norm": test_norms,
}

ERRORS = [(name, {**GOOD[name], argument: bad}) for name, argument, bad in CASES if name in TWINS]

BIG, HUBS = even_graph(3000, 20), power_law_graph(3000)
PERM = refimpl.transpose_perm(BIG)
BIG_DATA, BIG_X = distinct(BIG.e, float), distinct((3000, 40), float, 1)
PLAN = refimpl.partition.partition_plan(3000, 40, 3, 2**18)


LARGE = {
    "add_self_loops": lambda: fastimpl.adjacency.add_self_loops(HUBS),
    "dropout": lambda: [
        fastimpl.dropout(BIG_X, 0.3, key) for key in (5, np.arange(len(BIG_X), dtype=np.uint64))
    ],
    "feature_propagate": lambda: [
        fastimpl.feature_propagate(BIG, BIG_DATA, BIG_X, PLAN, 3, layout=layout)
        for layout in ("C", "F")
    ],
    "loop_norm": lambda: fastimpl.adjacency.loop_norm(HUBS),
    "row_l2_backward": lambda: fastimpl.layers.row_l2_backward(
        fastimpl.layers.row_l2_forward(BIG_X), BIG_X[::-1]
    ),
    "row_l2_forward": lambda: fastimpl.layers.row_l2_forward(BIG_X),
    "spmm_t": lambda: fastimpl.propagation.spmm_t(BIG, BIG_DATA, PERM, BIG_X),
    "sym_norm": lambda: fastimpl.adjacency.sym_norm(HUBS),
}
