"""Operations on rows: length 1, standardisation, dropout."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import differences
from strategies import FLOATS, KEYS

SHAPE = st.tuples(st.integers(0, 6), st.integers(1, 6))
EPS = st.sampled_from([None, 1e-6, 1e-9, 0.5, 3.0])


def normal(shape, dtype=np.float64, seed=0):
    """Return normal values that no function may write to."""
    array = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    array.flags.writeable = False
    return array


def given_eps(eps):
    return {} if eps is None else {"eps": eps}


@given(shape=SHAPE, dtype=FLOATS, eps=EPS, seed=st.integers(0, 999))
def test_row_l2_forward(gnn, shape, dtype, eps, seed):
    X = normal(shape, dtype, seed)
    out = gnn.layers.row_l2_forward(X, **given_eps(eps))
    norms = np.maximum(np.linalg.norm(X.astype(float), axis=1), 1e-6 if eps is None else eps)
    tolerance = 8 * np.finfo(dtype).eps
    assert_allclose(out.norms, norms, rtol=tolerance)
    assert_allclose(out.Y, X / norms[:, None], rtol=tolerance)
    assert {a.dtype for a in out} == {np.dtype(dtype)}


@pytest.mark.parametrize("eps", [1e-6, 1.2])
def test_row_l2_backward_is_the_slope(gnn, eps):
    """P-E1; at the larger eps some rows are at the floor, where the length is a constant."""
    X, G = normal((7, 3)).copy(), normal((7, 3), seed=1)
    out = gnn.layers.row_l2_forward(X, eps=eps)
    assert (out.norms == eps).any() == (eps > 1)
    assert (out.norms > eps).any()
    got = gnn.layers.row_l2_backward(out, G, eps=eps)
    want = differences(lambda: np.sum(G * gnn.layers.row_l2_forward(X, eps=eps).Y), X)
    assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())
    if eps == 1e-6:
        assert_array_equal(gnn.layers.row_l2_backward(gnn.layers.row_l2_forward(X), G), got)


def test_row_l2_by_hand(gnn):
    """Lengths 5, 0 and 1e-9; a row of length 1 passes on what is at right angles to it."""
    X = np.array([[3.0, 4.0], [0.0, 0.0], [1e-9, 0.0]])
    out = gnn.layers.row_l2_forward(X)
    assert_allclose(out.Y, [[0.6, 0.8], [0, 0], [1e-3, 0]], rtol=1e-14)
    assert_allclose(out.norms, [5, 1e-6, 1e-6], rtol=1e-14)
    got = gnn.layers.row_l2_backward(out, np.array([[4.0, -3.0], [1.0, 2.0], [3.0, 0.0]]))
    assert_allclose(got, [[0.8, -0.6], [1e6, 2e6], [3e6, 0]], rtol=1e-14)
    along = gnn.layers.row_l2_backward(out, out.Y)
    assert_allclose(along[0], 0, atol=1e-16)


@given(shape=SHAPE, dtype=FLOATS, eps=EPS, seed=st.integers(0, 999))
def test_row_standardize_forward(gnn, shape, dtype, eps, seed):
    X, gain, offset = (normal(s, dtype, seed) for s in (shape, shape[1:], shape[1:]))
    out = gnn.layers.row_standardize_forward(X, gain, offset, **given_eps(eps))
    wide = X.astype(float)
    scale = (wide.var(axis=1) + (1e-9 if eps is None else eps)) ** -0.5
    X_hat = (wide - wide.mean(axis=1, keepdims=True)) * scale[:, None]
    # Where the variance is rounding only, scale is 1 / sqrt(eps) and makes that rounding large.
    atol = 8 * np.finfo(dtype).eps * (1 + np.abs(scale).max(initial=0))
    assert_allclose(out.scale, scale, rtol=100 * np.finfo(dtype).eps)
    assert_allclose(out.X_hat, X_hat, rtol=0, atol=atol)
    assert_allclose(out.Y, X_hat * gain + offset, rtol=0, atol=4 * atol)
    assert {a.dtype for a in out} == {np.dtype(dtype)}


@pytest.mark.parametrize("eps", [1e-9, 0.5])
def test_row_standardize_backward_is_the_slope(gnn, eps):
    """P-E1, in the input, the gain and the offset."""
    P = {"X": normal((7, 4)), "gain": normal(4, seed=1), "offset": normal(4, seed=2)}
    P, G = {name: array.copy() for name, array in P.items()}, normal((7, 4), seed=3)

    def total():
        return np.sum(G * gnn.layers.row_standardize_forward(**P, eps=eps).Y)

    want = {name: differences(total, array) for name, array in P.items()}
    scale = max(np.abs(gradient).max() for gradient in want.values())
    out = gnn.layers.row_standardize_forward(**P, eps=eps)
    got = gnn.layers.row_standardize_backward(out, P["gain"], G)
    assert got._fields == ("X", "gain", "offset")
    for name, gradient in got._asdict().items():
        assert_allclose(gradient, want[name], rtol=0, atol=1e-6 * scale, err_msg=name)
        assert np.abs(gradient).max() > 1e-2 * scale


def test_row_standardize_by_hand(gnn):
    """Mean 2 and variance 1; a row of one value has variance 0, and stays finite."""
    X = np.array([[1.0, 3.0], [5.0, 5.0]])
    out = gnn.layers.row_standardize_forward(X, np.array([10.0, 1.0]), np.array([0.0, 7.0]))
    assert_allclose(out.X_hat, [[-1, 1], [0, 0]], rtol=1e-8)
    assert_allclose(out.Y, [[-10, 8], [0, 7]], rtol=1e-8)
    assert_allclose(out.scale, [1, 1e9**0.5], rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standardized_rows_do_not_see_the_mean(gnn, dtype):
    """And so what flows back into a row adds up to 0; float32 agrees with float64."""
    X, gain, offset, G = (normal(s, seed=i) for i, s in enumerate([(6, 5), 5, 5, (6, 5)]))
    arrays = X, gain, offset, G
    X, gain, offset, G = (a.astype(dtype) for a in arrays)
    out = gnn.layers.row_standardize_forward(X, gain, offset)
    got = gnn.layers.row_standardize_backward(out, gain, G)
    tolerance = 100 * np.finfo(dtype).eps
    assert_allclose(got.X.sum(axis=1), 0, atol=tolerance)
    moved = gnn.layers.row_standardize_forward(X + dtype(2), gain, offset)
    assert_allclose(moved.Y, out.Y, rtol=0, atol=tolerance)
    wide = gnn.layers.row_standardize_forward(*arrays[:3])
    want = gnn.layers.row_standardize_backward(wide, arrays[1], arrays[3])
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == dtype
        assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def kept(shape, rate, key):
    """Return which elements stay: draw i f + c of the stream is at least `rate`."""
    draws = oracles.Draws(key)
    return np.array([draws.uniform() >= rate for _ in range(int(np.prod(shape)))]).reshape(shape)


@given(
    shape=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    rate=st.sampled_from([0, 0.0, 0.1, 0.5, 0.97]) | st.floats(0, 0.99),
    key=KEYS,
    dtype=FLOATS,
)
def test_dropout(gnn, shape, rate, key, dtype):
    X = normal(shape, dtype)
    got = gnn.dropout(X, rate, key)
    want = np.where(kept(shape, rate, key), X / (1 - rate), 0)
    assert got.dtype == dtype
    assert got.shape == shape
    assert_array_equal(got == 0, want == 0)
    assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
    assert not np.shares_memory(got, X)


def test_dropout_at_the_published_draws(gnn):
    """u(K, 0..2) = 0.1615, 0.4620, 0.9754 (spec/README.md); a draw equal to the rate is kept."""
    key = gnn.streams.key(7, 1, 2, 3)
    assert (gnn.dropout(np.ones((1, 3)), 0.3, key) > 0).tolist() == [[False, True, True]]
    assert (gnn.dropout(np.ones((3, 1)), 0.5, key) > 0).ravel().tolist() == [False, False, True]
    edge = gnn.streams.uniform(key, 1)
    assert (gnn.dropout(np.ones((1, 3)), edge, key) > 0).tolist() == [[False, True, True]]
    above = float(np.nextafter(edge, 1))
    assert (gnn.dropout(np.ones((1, 3)), above, key) > 0).tolist() == [[False, False, True]]


def test_dropout_with_a_key_for_each_row(gnn):
    """A row's mask depends on its key alone: not on its place, nor on the other rows."""
    X, keys = np.ones((5, 40)), np.array([7, 3, 2**64 - 1, 3, 0], np.uint64)
    got = gnn.dropout(X, 0.4, keys)
    for row, key in zip(got, keys.tolist(), strict=True):
        assert_allclose(row, gnn.dropout(X[:1], 0.4, key)[0], rtol=0, atol=0)
    assert (got[1] == got[3]).all() and not (got[0] == got[1]).all()
    assert (gnn.dropout(X[2:], 0.4, keys[2:]) == got[2:]).all()


def test_dropout_keeps_the_mean(gnn):
    """Of 40000 ones, with a rate of 0.2: four standard deviations are 0.01."""
    got = gnn.dropout(np.ones((200, 200)), 0.2, 5)
    assert set(np.unique(got)) == {0.0, 1.25}
    assert got.mean() == pytest.approx(1, abs=0.01)


def test_dropout_backward_is_itself(gnn):
    X, G = normal((5, 4)).copy(), normal((5, 4), seed=1)
    want = differences(lambda: np.sum(G * gnn.dropout(X, 0.4, 3)), X)
    assert_allclose(gnn.dropout(G, 0.4, 3), want, rtol=0, atol=1e-8)


@pytest.mark.parametrize("columns", [np.s_[:, ::2], np.s_[::-1], np.s_[::3, 1:3]])
def test_rows_of_any_layout(gnn, columns):
    X, G = normal((9, 6))[columns], normal((9, 6), seed=1)[columns]
    gain = np.repeat(normal(6), 2)[::2][: X.shape[1]]
    results = []
    for copy in (np.asarray, np.ascontiguousarray):
        x, g, w = copy(X), copy(G), copy(gain)
        l2, out = gnn.layers.row_l2_forward(x), gnn.layers.row_standardize_forward(x, w, w)
        back = gnn.layers.row_l2_backward(l2, g), *gnn.layers.row_standardize_backward(out, w, g)
        results.append([*l2, *out, *back, gnn.dropout(x, 0.5, 1)])
    for got, want in zip(*results, strict=True):
        assert got.flags.c_contiguous
        assert_array_equal(got, want)
