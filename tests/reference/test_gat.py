"""GAT: what sets it apart from the laws of every layer (test_layer_laws.py)."""

import numpy as np
import pytest
from layer_cases import GATS, GRAPH, ISOLATED, PATTERNS, WITH_LOOPS, Gat, make_hops, problem
from numpy.testing import assert_allclose, assert_array_equal
from oracles import dense, matrix
from strategies import block_from_rows, graph_from_edges, with_values

FORMS = pytest.mark.parametrize("form", ["joint", "split"])
NORMS = pytest.mark.parametrize("norm", ["softmax", "row", "none"])


@pytest.mark.parametrize("layer", GATS, ids=repr)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_forward_keeps_projections_scores_and_attention(gnn, layer, pattern):
    (A,), P, _ = problem(layer, pattern)
    out = layer.forward(gnn, (A,), P, None)
    heads = list(layer.attention(A, P))
    assert_allclose(out.H, np.hstack([H for H, *_ in heads]), rtol=1e-12, atol=1e-13)
    assert_allclose(out.sigma, [sigma for _, sigma, *_ in heads], rtol=1e-12, atol=1e-13)
    assert_allclose(out.tau, [tau for _, _, tau, *_ in heads], rtol=1e-12, atol=1e-13)
    assert out.P.shape == (layer.heads, A.graph.e)
    for got, (*_, want, _) in zip(out.P, heads, strict=True):
        assert_allclose(matrix(A.graph, got), want, rtol=1e-12, atol=1e-13)
        assert_array_equal(got[np.isnan(A.data)], 0)  # dead entries
        if layer.norm == "softmax":
            nonempty = A.graph.end > A.graph.start
            assert_allclose(matrix(A.graph, got).sum(axis=1), nonempty, rtol=1e-14)


@FORMS
@pytest.mark.parametrize("pattern", PATTERNS)
def test_without_attention_vectors_softmax_is_the_mean(gnn, form, pattern):
    """The mean over each node and its neighbours."""
    (A,), P, _ = problem(Gat(4), pattern)
    no = np.zeros((2, 2))
    out = gnn.gat_forward(A, P["X"], P["W"], no, no, form=form, relu=False)
    pattern = matrix(A.graph)
    mean = pattern / np.maximum(pattern.sum(axis=1, keepdims=True), 1)
    assert_allclose(out.X_out, mean @ P["X"] @ P["W"], rtol=1e-12, atol=1e-13)


@FORMS
def test_row_norm_is_the_printed_equation_over_the_row_length(gnn, form):
    """With the values of `loop_norm`."""
    printed, layer = Gat(4, 2, "none", form), Gat(4, 2, "row", form)
    _, P, _ = problem(layer)
    A = gnn.adjacency.loop_norm(GRAPH)
    size = np.maximum(dense(GRAPH), np.eye(GRAPH.n)).sum(axis=1, keepdims=True)
    out = printed.forward(gnn, (A,), P, None, relu=False)
    mean = layer.forward(gnn, (A,), P, None, relu=False)
    assert_allclose(mean.X_out, out.X_out / size, rtol=1e-12, atol=1e-14)


@FORMS
@pytest.mark.parametrize("norm", ["softmax", "none"])
def test_other_norms_do_not_read_the_values(gnn, norm, form):
    layer = Gat(4, 2, norm, form)
    (A,), P, G = problem(layer)
    nothing = with_values(A.graph, np.full(A.graph.e, np.nan))
    out, want = (layer.forward(gnn, (hop,), P, None) for hop in (nothing, A))
    assert_array_equal(out.X_out, want.X_out)
    got = layer.backward(gnn, (nothing,), P, out, G, None)
    for name, gradient in layer.backward(gnn, (A,), P, want, G, None).items():
        assert_array_equal(got[name], gradient)


def positive():
    """Return parameters of Gat(4, 2), all of them positive and so all scores, and G_out."""
    _, P, G = problem(Gat(4, 2))
    return {name: np.abs(array) + 0.1 for name, array in P.items()}, G


@FORMS
@pytest.mark.parametrize("sign", [1, -1])
def test_softmax_does_not_see_the_receiver_where_no_score_changes_sign(gnn, form, sign):
    """Its share of the scores is then the same along each row, and cancels."""
    P, G = positive()
    (A,) = make_hops(Gat(4), "graph")
    W, send, recv = P["W"], sign * P["a_send"], sign * P["a_recv"]
    out = gnn.gat_forward(A, P["X"], W, recv, send, form=form, relu=False)
    grads = gnn.gat_backward(A, P["X"], W, recv, send, out, G, form=form, relu=False, need_dx=True)
    assert np.abs(grads.a_send).max() > 1e-2
    assert_allclose(grads.a_recv, 0, atol=1e-13 * np.abs(grads.X).max())
    other = gnn.gat_forward(A, P["X"], W, 3 * recv, send, form=form, relu=False)
    assert_allclose(other.X_out, out.X_out, rtol=1e-12)


def test_softmax_sees_the_receiver_where_scores_change_sign(gnn):
    """In the joint form only: in the split form its share cancels always."""
    for form in ("joint", "split"):
        layer = Gat(4, 2, "softmax", form)
        (A,), P, G = problem(layer)
        scores = matrix(A.graph) * all_scores(layer, A, P)
        assert ((scores > 0).any(axis=2) & (scores < 0).any(axis=2)).any()
        out = layer.forward(gnn, (A,), P, None)
        grads = layer.backward(gnn, (A,), P, out, G, None)
        largest = np.abs(grads["a_recv"]).max()
        if form == "joint":
            assert largest > 1e-3
        else:
            assert largest < 1e-13 * np.abs(grads["X"]).max()


def all_scores(layer, A, P):
    """Return sigma_u + tau_v for every head, receiver and sender."""
    heads = layer.attention(A, P)
    return np.array([sigma[:, None] + tau for _, sigma, tau, *_ in heads])


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_is_stable_for_scores_of_any_size(gnn, form, dtype):
    """The largest score of each row is taken away before the exponential."""
    (A,) = make_hops(Gat(2), "graph")
    A = with_values(A.graph, A.data.astype(dtype))
    X = np.array([1e4, -1e4, 8e3, -1e4, -1e4, -9e3, 0], dtype)[:, None]
    W, a, G = np.ones((1, 1), dtype), np.ones((1, 1), dtype), np.ones((7, 1), dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        out = gnn.gat_forward(A, X, W, a, a, form=form, relu=False)
        grads = gnn.gat_backward(A, X, W, a, a, out, G, form=form, relu=False, need_dx=True)
    # Each row takes its largest neighbour; node 3 sees 2 and itself, node 4 sees 5 and itself.
    assert_allclose(out.X_out[:, 0], [1e4, 1e4, 1e4, 8e3, -9e3, -9e3, 0], rtol=1e-6)
    assert_array_equal(np.isfinite(np.hstack([grads.X.ravel(), grads.W.ravel()])), True)
    assert_allclose(grads.X.sum(), 7, rtol=1e-4)


@NORMS
@FORMS
@pytest.mark.parametrize("pattern", PATTERNS)
def test_heads_are_layers_side_by_side(gnn, norm, form, pattern):
    layer = Gat(6, 3, norm, form)
    (A,), P, G = problem(layer, pattern)
    out = layer.forward(gnn, (A,), P, None)
    got = layer.backward(gnn, (A,), P, out, G, None)
    single, from_heads = Gat(2, 1, norm, form), 0
    for k in range(3):
        columns = np.s_[:, 2 * k : 2 * k + 2]
        own = {"X": P["X"], "W": P["W"][columns]}
        own |= {name: P[name][k : k + 1] for name in ("a_recv", "a_send")}
        one = single.forward(gnn, (A,), own, None)
        assert_allclose(one.X_out, out.X_out[columns], rtol=1e-12, atol=1e-13)
        want = single.backward(gnn, (A,), own, one, G[columns], None)
        assert_allclose(got["W"][columns], want["W"], rtol=1e-10, atol=1e-12)
        for name in ("a_recv", "a_send"):
            assert_allclose(got[name][k : k + 1], want[name], rtol=1e-10, atol=1e-12)
        from_heads = from_heads + want["X"]
    assert_allclose(got["X"], from_heads, rtol=1e-10, atol=1e-12)


@NORMS
@FORMS
def test_an_isolated_node_attends_to_itself(gnn, norm, form):
    """Under softmax with weight 1, and so nothing flows into the attention vectors."""
    layer = Gat(4, 2, norm, form)
    (A,), P, G = problem(layer)
    assert matrix(A.graph)[ISOLATED].sum() == 1
    out = layer.forward(gnn, (A,), P, None, relu=False)
    alone = np.zeros_like(G)
    alone[ISOLATED] = G[ISOLATED]
    grads = layer.backward(gnn, (A,), P, out, alone, None, relu=False)
    if norm == "softmax":
        assert_array_equal(out.X_out[ISOLATED], out.H[ISOLATED])
        assert_array_equal(grads["a_recv"], 0)
        assert_array_equal(grads["a_send"], 0)
        want = np.outer(P["X"][ISOLATED], G[ISOLATED])
        assert_allclose(grads["W"], want, rtol=1e-12, atol=1e-14)
    else:
        assert np.abs(grads["a_recv"]).min() > 0


@FORMS
def test_the_slope_at_a_score_of_zero_is_that_below(gnn, form):
    """One node, every number by hand: H = 1, sigma = 1 and tau = -1, or both 0."""
    loop = graph_from_edges(1, {(0, 0)})
    A, one = with_values(loop, np.ones(1)), np.ones((1, 1))
    recv, send = (one, -one) if form == "joint" else (0 * one, 0 * one)
    options = {"norm": "none", "form": form, "slope": 0.25, "relu": False}
    out = gnn.gat_forward(A, one, one, recv, send, **options)
    assert out.X_out.item() == 0
    grads = gnn.gat_backward(A, one, one, recv, send, out, one, **options, need_dx=True)
    assert grads.a_recv.item() == grads.a_send.item() == 0.25
    assert grads.W.item() == grads.X.item() == 0


def test_two_nodes_by_hand(gnn):
    """The receiver 0 sees itself and 1; H = X, scores 1 + 2 and 1 - 6 before the LeakyReLU."""
    block = block_from_rows([[0, 1]], 2)
    A, one = with_values(block, np.array([0.5, 2.0])), np.ones((1, 1))
    X = np.array([[1.0], [-3.0]])
    call = (A, X, one, one, 2 * one)
    assert gnn.gat_forward(*call, norm="none", relu=False).P.tolist() == [[3.0, -1.0]]
    out = gnn.gat_forward(*call, norm="row", relu=False)
    assert out.P.tolist() == [[1.5, -2.0]]
    assert out.X_out.tolist() == [[7.5]]
    out = gnn.gat_forward(*call, norm="none", form="split", relu=False)
    assert_allclose(out.P, [[3.0, -0.2]], rtol=1e-14)
    out = gnn.gat_forward(*call, relu=False)
    low = 1 / (1 + np.exp(4))
    assert_allclose(out.P, [[1 - low, low]], rtol=1e-14)
    assert_allclose(out.X_out, [[1 - 4 * low]], rtol=1e-14)


def test_defaults_are_softmax_of_joint_scores_with_slope_a_fifth(gnn):
    layer = Gat(4)
    (A,), P, G = problem(layer)
    common = A, P["X"], P["W"], P["a_recv"], P["a_send"]
    out = gnn.gat_forward(*common)
    want = layer.forward(gnn, (A,), P, None)
    assert_array_equal(out.X_out, want.X_out)
    got = gnn.gat_backward(*common, out, G, need_dx=True)
    for name, gradient in layer.backward(gnn, (A,), P, want, G, None).items():
        assert_array_equal(getattr(got, name), gradient)


def test_the_backward_pass_needs_the_permutation(gnn):
    """Of values that only the layer knows (E-A3); `loop_norm` gives it."""
    layer = Gat(4)
    (A,), P, G = problem(layer)
    out = layer.forward(gnn, (A,), P, None)
    layer.backward(gnn, (gnn.adjacency.loop_norm(WITH_LOOPS),), P, out, G, None)
    with pytest.raises(ValueError, match="perm"):
        layer.backward(gnn, (gnn.adjacency.sym_norm(WITH_LOOPS),), P, out, G, None)
