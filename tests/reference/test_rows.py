"""Operations on rows: length 1, dropout."""

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
    """At the larger eps some rows are at the floor, where the length is a constant."""
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
    """u(K, 0..2) = 0.1615, 0.4620, 0.9754; a draw equal to the rate is kept."""
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
    results = []
    for copy in (np.asarray, np.ascontiguousarray):
        x, g = copy(X), copy(G)
        out = gnn.layers.row_l2_forward(x)
        results.append([*out, gnn.layers.row_l2_backward(out, g), gnn.dropout(x, 0.5, 1)])
    for got, want in zip(*results, strict=True):
        assert got.flags.c_contiguous
        assert_array_equal(got, want)
