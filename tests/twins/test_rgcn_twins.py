"""Fast against reference for R-GCN."""

import numpy as np
import pytest
from comparison import assert_twins
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    FLOATS,
    block_from_rows,
    block_of,
    distinct,
    distinct_arrays,
    even_graph,
    graph_from_edges,
    graphs,
    power_law_graph,
)
from test_layer_twins import absolute, adjacency, common_options, frozen, opened

import fastimpl
import refimpl

WIDTH = st.integers(0, 9)


def assert_rgcn_twins(A, X, W, W_self, G, options, need_dx=True, count=2):
    """Compare both passes; the backward pass on one and the same output, and so one mask.

    The bound is what the layer gives for absolute values: no term cancels, no ReLU is shut.
    """
    sizes = [absolute(list(A)), np.abs(X), absolute(list(W)), np.abs(W_self)]
    large = {name: absolute(value) for name, value in options.items() if name != "relu"}
    bound = refimpl.rgcn_forward(*sizes, **large, relu=False)
    common = A, X, W, W_self
    out = assert_twins("rgcn_forward", *common, **options, near=bound, count=count)
    back = {"need_dx": need_dx}
    bound = refimpl.rgcn_backward(*sizes, opened(bound), np.abs(G), **large, **back)
    common = *common, frozen(out), G
    for mean in out.means:
        mean.flags.writeable = False
    return assert_twins("rgcn_backward", *common, **options, **back, near=bound, count=count)


@st.composite
def alike(draw, R):
    """Draw R patterns of one shape: Graphs, Blocks, or some of both."""
    first = draw(graphs(max_nodes=7), label="graph")
    n = first.n
    kind = draw(st.sampled_from(["graphs", "blocks", "both"]), label="kind")
    if kind == "blocks":
        n_dst = draw(st.integers(0, n), label="n_dst")
        return [draw(block_of(n_dst, n)) for _ in range(R)]
    others = block_of(n, n) if kind == "both" else graphs(n, n)
    return [first, *(draw(others) for _ in range(R - 1))]


@given(
    R=st.integers(1, 4),
    B=st.integers(0, 3),
    f=WIDTH,
    h=WIDTH,
    dtype=FLOATS,
    bias=st.booleans(),
    relu=st.booleans(),
    count=st.sampled_from([1, 2, 5]),
    data=st.data(),
)
def test_rgcn(R, B, f, h, dtype, bias, relu, count, data):
    patterns = data.draw(alike(R))
    n_dst, n_src = patterns[0].n_dst, patterns[0].n_src
    A = [adjacency(pattern, dtype, 20 + r) for r, pattern in enumerate(patterns)]
    shapes = [(n_src, f), (n_dst, h), (R, B), (f, h), *[(f, h)] * (B or R)]
    X, G, C, W_self, *W = distinct_arrays(shapes, dtype)
    options = common_options(h, dtype, bias, relu) | {"coefficients": C if B else None}
    assert_rgcn_twins(A, X, W, W_self, G, options, data.draw(st.booleans()), count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("B", [0, 2])
def test_rgcn_on_several_blocks_of_rows(dtype, B):
    """More rows than dense products take at a time; relations of all, some and no rows."""
    patterns = even_graph(1300, 12), power_law_graph(1300), refimpl.as_graph([], n=1300)
    A = [adjacency(pattern, dtype, 20 + r) for r, pattern in enumerate(patterns)]
    shapes = [(1300, 17), (1300, 33), (3, 2), (17, 33), *[(17, 33)] * (B or 3)]
    X, G, C, W_self, *W = distinct_arrays(shapes, dtype)
    options = common_options(33, dtype, True, True) | {"coefficients": C if B else None}
    assert_rgcn_twins(A, X, W, W_self, G, options)


TWINS = {"rgcn_backward": test_rgcn, "rgcn_forward": test_rgcn}

PATH = graph_from_edges(3, {(0, 1), (1, 2)})
A = adjacency(PATH, float)
X, V, G, C = np.ones((3, 2)), np.ones((2, 4)), np.ones((3, 4)), np.ones((2, 1))
GOOD = {"A": (A, A), "X": X, "W": [V], "W_self": V, "coefficients": C}
OUT = refimpl.rgcn_forward(**GOOD)
BACK = {**GOOD, "out": OUT, "G_out": G, "need_dx": True}
WIDE = adjacency(block_from_rows([[3], [1], []], 4), float)
CHANGES = [
    {"A": ()},
    {"A": A},
    {"A": (A, None)},
    {"A": (A, WIDE)},
    {"A": (A, adjacency(PATH, np.float32))},
    {"A": (A, refimpl.Adjacency(PATH, np.ones(3), np.ones(3)))},
    {"X": X[1:]},
    {"X": X.astype(np.float32)},
    {"W": [V, V]},
    {"W": []},
    {"W": V},
    {"W": [V[:, 1:]]},
    {"W_self": V[1:]},
    {"coefficients": None},
    {"coefficients": C.T},
    {"b": np.ones(3)},
    {"relu": 1},
]
ERRORS = [
    *(("rgcn_forward", {**GOOD, **change}) for change in CHANGES),
    *(("rgcn_backward", {**BACK, **change}) for change in CHANGES),
    ("rgcn_backward", {**BACK, "A": (A, refimpl.adjacency.row_norm(PATH))}),
    ("rgcn_backward", {**BACK, "G_out": G[1:]}),
    ("rgcn_backward", {**BACK, "need_dx": 1}),
    ("rgcn_backward", {**BACK, "out": OUT._replace(means=OUT.means[1:])}),
    ("rgcn_backward", {**BACK, "out": OUT._replace(means=(X, X[1:]))}),
]

BIG = [adjacency(even_graph(3000, 20), float)]
BIG += [adjacency(power_law_graph(3000, seed), float, seed) for seed in (1, 2)]
BIG_X, BIG_G = distinct((3000, 40), float, 1), distinct((3000, 36), float, 2)
BIG_W = distinct_arrays([(40, 36)] * 4, float)
BIG_C = distinct((3, 2), float, 5)


RGCN_WAYS = ((BIG_W[:3], {}), (BIG_W[:2], {"coefficients": BIG_C}))


def rgcn(ways=RGCN_WAYS):
    """Return both passes, with matrices and with bases."""
    outs, grads = [], []
    for W, basis in ways:
        common, options = (BIG, BIG_X, W, BIG_W[3]), {**basis, "b": BIG_G[0]}
        outs.append(fastimpl.rgcn_forward(*common, **options))
        grads.append(fastimpl.rgcn_backward(*common, outs[-1], BIG_G, **options, need_dx=True))
    return outs, grads


LARGE = {"rgcn_backward": lambda: rgcn()[1], "rgcn_forward": lambda: rgcn()[0]}
