"""R-GCN: its equation on dense matrices, its gradients, and the layers that it contains."""

from itertools import product

import numpy as np
import pytest
from layer_cases import GRAPH, ISOLATED
from numpy.testing import assert_allclose, assert_array_equal
from oracles import differences, matrix, rows
from strategies import asymmetric, graph_from_edges, random_block, with_values

from refimpl import Adjacency, as_graph
from refimpl.scheduling import ProductOrders

F, H = 3, 4
PATTERNS = ["graph", "block", "pruned"]
ON_EACH_PATTERN = pytest.mark.parametrize("pattern", PATTERNS)
# Relations, bases (0: a matrix for each relation), bias, ReLU.
KINDS = [(1, 0, False, True), (3, 0, True, True), (3, 2, True, True), (2, 3, False, False)]
EACH_KIND = pytest.mark.parametrize(("R", "B", "bias", "relu"), KINDS)
OTHER = graph_from_edges(7, {(0, 3), (1, 4), (2, 2)})
NOTHING = graph_from_edges(7, set())


def make_relations(pattern, R, seed):
    """Return R matrices of one shape, with other patterns and values each; the second is empty."""
    rng = np.random.default_rng(seed)
    if pattern == "graph":
        patterns = [GRAPH, NOTHING, OTHER][:R]
    else:
        patterns = [random_block(rng, 6, 9, pruned=pattern == "pruned") for _ in range(R)]
    return [asymmetric(p, seed=seed + r) for r, p in enumerate(patterns)]


def make_parameters(n_src, R, B, bias, seed):
    """Return X, W_self, W1 .., and perhaps coefficients and b, drawn from the normal law."""
    rng = np.random.default_rng(seed)
    shapes = {"X": (n_src, F), "W_self": (F, H)}
    shapes |= {f"W{i}": (F, H) for i in range(1, (B or R) + 1)}
    shapes |= {"coefficients": (R, B)} if B else {}
    shapes |= {"b": (H,)} if bias else {}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def weights(P):
    """Return the positional and the keyword arguments that P holds, after A and X."""
    W = [P[name] for name in sorted(P) if name[0] == "W" and name != "W_self"]
    return (W, P["W_self"]), {name: P[name] for name in ("coefficients", "b") if name in P}


def definition(A, P):
    """Return the output before the ReLU, by dense matrices, a relation at a time."""
    (W, W_self), options = weights(P)
    if "coefficients" in P:
        W = np.einsum("rb,bfh->rfh", P["coefficients"], np.array(W))
    dense = [matrix(A_r.graph, A_r.data) for A_r in A]
    Z = P["X"][: len(dense[0])] @ W_self + options.get("b", 0)
    return Z + sum(M @ P["X"] @ W_r for M, W_r in zip(dense, W, strict=True))


def problem(pattern="graph", R=3, B=0, bias=False, relu=True):
    """Return A, parameters and G_out, no ReLU close to where it bends."""
    for seed in range(1000):
        A = make_relations(pattern, R, seed)
        P = make_parameters(A[0].graph.n_src, R, B, bias, seed)
        Z = definition(A, P)
        if not relu or np.abs(Z).min() > 2e-3:
            return A, P, np.random.default_rng(seed + 1).normal(size=Z.shape)
    raise AssertionError("no seed keeps its distance")


def forward(gnn, A, P, relu=True):
    args, options = weights(P)
    return gnn.rgcn_forward(A, P["X"], *args, **options, relu=relu)


def both(gnn, A, P, G, relu=True, need_dx=True):
    """Return the output, and the gradients by the names of P."""
    args, options = weights(P)
    out = forward(gnn, A, P, relu)
    grads = gnn.rgcn_backward(A, P["X"], *args, out, G, **options, relu=relu, need_dx=need_dx)
    assert isinstance(grads.W, tuple) and len(grads.W) == len(args[0])
    named = {f"W{i}": dW for i, dW in enumerate(grads.W, start=1)}
    named |= {name: value for name, value in grads._asdict().items() if name != "W"}
    return out.X_out, {name: value for name, value in named.items() if value is not None}


def frozen(A, P, G):
    """Make every array read-only: no pass may write to what it is given."""
    for array in (*(x for A_r in A for x in (A_r.data, A_r.data_t)), *P.values(), G):
        array.flags.writeable = False


@EACH_KIND
@ON_EACH_PATTERN
def test_forward_is_the_equation(gnn, pattern, R, B, bias, relu):
    A, P, G = problem(pattern, R, B, bias, relu)
    frozen(A, P, G)
    want = definition(A, P)
    assert (want < 0).any()
    got = forward(gnn, A, P, relu).X_out
    assert got.flags.c_contiguous
    assert_allclose(got, np.maximum(want, 0) if relu else want, rtol=1e-12, atol=1e-13)


@ON_EACH_PATTERN
def test_means_are_kept_where_there_are_sources(gnn, pattern):
    A, P, _ = problem(pattern)
    for A_r, got in zip(A, forward(gnn, A, P).means, strict=True):
        dense = matrix(A_r.graph, A_r.data)
        want = (dense @ P["X"])[matrix(A_r.graph).any(axis=1)]
        assert got.shape == want.shape
        assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@EACH_KIND
@ON_EACH_PATTERN
def test_gradients_are_the_finite_differences(gnn, pattern, R, B, bias, relu):
    """Of sum(G_out * X_out), in every weight, coefficient, the bias and the input."""
    A, P, G = problem(pattern, R, B, bias, relu)

    def total():
        return np.sum(G * forward(gnn, A, P, relu).X_out)

    want = {name: differences(total, array) for name, array in P.items()}
    scale = max(np.abs(gradient).max(initial=0) for gradient in want.values())
    frozen(A, P, G)
    _, got = both(gnn, A, P, G, relu)
    assert set(got) == set(P)
    for name in P:
        assert got[name].flags.c_contiguous
        assert_allclose(got[name], want[name], rtol=0, atol=1e-6 * scale, err_msg=name)
    _, fewer = both(gnn, A, P, G, relu, need_dx=False)
    assert set(got) - set(fewer) == {"X"}
    for name in fewer:
        assert_array_equal(fewer[name], got[name])


@pytest.mark.parametrize("relu", [True, False])
@ON_EACH_PATTERN
def test_one_relation_is_graphsage_with_its_halves_added(gnn, pattern, relu):
    """Of a linear GraphSAGE layer; the ReLU comes after the sum."""
    (A,), P, G = problem(pattern, R=1)
    order = ProductOrders(1, 1, 2)
    common = A, P["X"], P["W1"], P["W_self"]
    sage = gnn.sage_forward(*common, order, relu=False)
    Z = sage.X_out[:, :H] + sage.X_out[:, H:]
    out, got = both(gnn, [A], P, G, relu)
    assert_allclose(out, np.maximum(Z, 0) if relu else Z, rtol=1e-11, atol=1e-12)
    both_halves = np.tile(np.where(Z > 0, G, 0) if relu else G, 2)
    want = gnn.sage_backward(*common, sage, both_halves, order, relu=False)
    for name, gradient in {"W1": want.W_neigh, "W_self": want.W_self, "X": want.X}.items():
        assert_allclose(got[name], gradient, rtol=1e-10, atol=1e-12, err_msg=name)


def test_bases_with_unit_coefficients_are_the_matrices(gnn):
    A, P, G = problem(R=3, B=3)
    P["coefficients"] = np.eye(3)
    out, got = both(gnn, A, P, G)
    plain = {name: value for name, value in P.items() if name != "coefficients"}
    want_out, want = both(gnn, A, plain, G)
    assert_array_equal(out, want_out)
    for name in want:
        assert_allclose(got[name], want[name], rtol=1e-13, atol=1e-15, err_msg=name)


def test_relations_may_come_in_any_order(gnn):
    A, P, G = problem(R=3, bias=True)
    out, want = both(gnn, A, P, G)
    moved = {**P, "W1": P["W3"], "W2": P["W1"], "W3": P["W2"]}
    out_2, got = both(gnn, [A[2], A[0], A[1]], moved, G)
    assert_allclose(out_2, out, rtol=1e-12, atol=1e-13)
    got["W1"], got["W2"], got["W3"] = got["W2"], got["W3"], got["W1"]
    for name in want:
        assert_allclose(got[name], want[name], rtol=1e-11, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("B", [0, 2])
def test_relabelling_the_nodes_permutes_the_rows(gnn, B):
    A, P, G = problem(R=3, B=B, bias=True)
    old = np.random.default_rng(2).permutation(GRAPH.n)  # new node i was old[i]
    renamed = []
    for A_r in A:
        M = matrix(A_r.graph, A_r.data)[old][:, old]
        graph = as_graph(A_r.graph.to_scipy()[old][:, old])
        renamed.append(with_values(graph, M[rows(graph), graph.indices]))
    out, want = both(gnn, A, P, G)
    out_2, got = both(gnn, renamed, {**P, "X": P["X"][old]}, G[old])
    assert_allclose(out_2, out[old], rtol=1e-12, atol=1e-12)
    assert_allclose(got.pop("X"), want.pop("X")[old], rtol=1e-10, atol=1e-12)
    for name in want:
        assert_allclose(got[name], want[name], rtol=1e-10, atol=1e-12, err_msg=name)


def test_nothing_flows_between_an_isolated_node_and_the_others(gnn):
    A, P, G = problem(R=3)
    alone = np.zeros_like(G)
    alone[ISOLATED] = G[ISOLATED]
    _, got = both(gnn, A, P, alone)
    assert_array_equal(np.delete(got["X"], ISOLATED, axis=0), 0)
    assert got["X"][ISOLATED].any()
    for name in ("W1", "W2", "W3"):
        assert_array_equal(got[name], 0)
    _, got = both(gnn, A, P, G - alone)
    assert_array_equal(got["X"][ISOLATED], 0)


def test_a_relation_without_edges_has_no_gradient(gnn):
    A, P, G = problem(R=3)
    assert A[1].graph.e == 0
    out, got = both(gnn, A, P, G)
    assert_array_equal(got["W2"], 0)
    assert got["W1"].any() and got["W3"].any()
    assert_array_equal(forward(gnn, A, {**P, "W2": 100 * P["W2"]}).X_out, out)


def test_emptied_rows_are_as_if_they_had_no_sources(gnn):
    """A pruned Block, against one that never had those entries."""
    A, P, G = problem("block", R=2)
    pruned, without = [], []
    for A_r in A:
        block, end = A_r.graph, A_r.graph.end.copy()
        end[:3] = block.start[:3]
        cut = type(block)(block.start, end, block.indices, block.n_src)
        pruned.append(with_values(cut, A_r.data))
        first = block.start[3]
        later = np.where(np.arange(block.n_dst) < 3, 0, block.start - first)
        ends = np.where(np.arange(block.n_dst) < 3, 0, block.end - first)
        small = type(block)(later, ends, block.indices[first:], block.n_src)
        without.append(with_values(small, A_r.data[first:]))
    out, got = both(gnn, pruned, P, G)
    want_out, want = both(gnn, without, P, G)
    assert_array_equal(out, want_out)
    for name in want:
        assert_array_equal(got[name], want[name], err_msg=name)


@ON_EACH_PATTERN
def test_float32_is_float64_rounded(gnn, pattern):
    A, P, G = problem(pattern, R=2, B=3, bias=True)
    single = [with_values(A_r.graph, A_r.data.astype(np.float32)) for A_r in A]
    narrow = {name: array.astype(np.float32) for name, array in P.items()}
    out, want = both(gnn, A, P, G)
    out_2, got = both(gnn, single, narrow, G.astype(np.float32))
    assert out_2.dtype == np.float32
    assert_allclose(out_2, out, rtol=1e-5, atol=1e-5 * np.abs(out).max())
    scale = max(np.abs(gradient).max() for gradient in want.values())
    for name in want:
        assert got[name].dtype == np.float32
        assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-5 * scale, err_msg=name)


def good():
    """Return the arguments of both passes."""
    A, P, G = problem(R=2, B=3, bias=True)
    (W, W_self), options = weights(P)
    return {"A": tuple(A), "X": P["X"], "W": W, "W_self": W_self, **options}, G


ARGUMENTS, G_OUT = good()
RELATIONS, X, W = (ARGUMENTS[name] for name in ("A", "X", "W"))
FORWARD_ONLY = Adjacency(OTHER, np.ones(OTHER.e), None)
SMALL = asymmetric(graph_from_edges(6, {(0, 1)}))
NARROW = asymmetric(random_block(np.random.default_rng(0), 6, 7))
TALL = asymmetric(random_block(np.random.default_rng(0), 8, 7))
SINGLE = with_values(OTHER, np.ones(OTHER.e, np.float32))
BAD = [
    *(("A", bad, TypeError) for bad in (RELATIONS[0], None, (RELATIONS[0], "A"))),
    ("A", (), ValueError),
    ("A", (RELATIONS[0], SINGLE), TypeError),
    *(("A", (RELATIONS[0], bad), ValueError) for bad in (SMALL, NARROW, TALL)),
    ("A", (TALL, TALL), ValueError),
    ("X", X[1:], ValueError),
    ("X", X.astype(np.float32), TypeError),
    ("W", W[0], TypeError),
    ("W", [], ValueError),
    ("W", [*W[:2], W[2][:, :1]], ValueError),
    ("W", [*W[:2], W[2].astype(np.float32)], TypeError),
    ("W_self", W[0][1:], ValueError),
    ("W_self", None, TypeError),
    ("coefficients", np.ones((3, 2)), ValueError),
    ("coefficients", np.ones((2, 3), int), TypeError),
    ("b", np.ones(5), ValueError),
    ("relu", 1, TypeError),
]


@pytest.mark.parametrize(("name", "value", "error"), BAD)
def test_bad_input_is_refused_by_name(gnn, name, value, error):
    with pytest.raises(error, match=rf"^{name}\b"):
        gnn.rgcn_forward(**{**ARGUMENTS, name: value})
    out = gnn.rgcn_forward(**ARGUMENTS)
    with pytest.raises(error, match=rf"^{name}\b"):
        gnn.rgcn_backward(**{**ARGUMENTS, name: value}, out=out, G_out=G_OUT, need_dx=True)


def test_as_many_matrices_as_relations_or_as_coefficients(gnn):
    with pytest.raises(ValueError, match="W must have 2 matrices .* got 3"):
        gnn.rgcn_forward(**{**ARGUMENTS, "coefficients": None})
    for changed in ({"W": W[:2]}, {"A": (*RELATIONS, RELATIONS[0])}):
        with pytest.raises(ValueError, match="coefficients must have shape"):
            gnn.rgcn_forward(**{**ARGUMENTS, **changed})


def test_a_backward_pass_refuses_what_does_not_fit_its_forward_pass(gnn):
    out = gnn.rgcn_forward(**ARGUMENTS)
    common = {**ARGUMENTS, "out": out, "G_out": G_OUT, "need_dx": True}
    for changed, words in (
        ({"out": out._replace(means=out.means[:1])}, r"out\.means must have 2"),
        ({"out": out._replace(means=(out.means[0][1:], out.means[1]))}, r"out\.means\[0\]"),
        ({"out": out._replace(X_out=out.X_out[1:])}, r"out\.X_out"),
        ({"G_out": G_OUT[:, 1:]}, "G_out"),
        ({"A": (RELATIONS[0], FORWARD_ONLY)}, r"A\[1\] must have data_t"),
    ):
        with pytest.raises(ValueError, match=words):
            gnn.rgcn_backward(**{**common, **changed})
    with pytest.raises(TypeError, match="need_dx"):
        gnn.rgcn_backward(**{**common, "need_dx": 1})


@pytest.mark.parametrize(("n", "f", "h"), list(product((0, 3), (0, 2), (0, 2))))
def test_empty_sizes(gnn, n, f, h):
    A = [asymmetric(graph_from_edges(n, {(0, 1)} if n else set()))] * 2
    W = np.ones((f, h))
    X, C = np.ones((n, f)), np.ones((2, 1))
    out = gnn.rgcn_forward(A, X, [W], W, coefficients=C)
    G = np.ones((n, h))
    grads = gnn.rgcn_backward(A, X, [W], W, out, G, coefficients=C, need_dx=True)
    assert (out.X_out.shape, grads.X.shape, grads.W[0].shape) == ((n, h), (n, f), (f, h))
    if not f:
        assert_array_equal(out.X_out, 0)
    if not h or not n:
        assert_array_equal(grads.coefficients, 0)
        assert_array_equal(grads.X, 0)
