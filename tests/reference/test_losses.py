"""Both losses against SciPy and against finite differences, and where exponentials overflow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

from refimpl.lab.backend import find

LOSSES = ["softmax_cross_entropy", "sigmoid_cross_entropy"]


def expected(name, x, y, w):
    """Return the loss and its gradient by SciPy's functions."""
    if name == "softmax_cross_entropy":
        each = -(y * special.log_softmax(x, axis=1)).sum(axis=1)
        slope = y.sum(axis=1, keepdims=True) * special.softmax(x, axis=1) - y
    else:
        each = -(y * special.log_expit(x) + (1 - y) * special.log_expit(-x)).sum(axis=1)
        slope = special.expit(x) - y
    w = np.full(len(x), 1 / len(x)) if w is None else w
    return (w * each).sum(), w[:, None] * slope


def problem(s, C, size, seed, name, weighted):
    """Return logits up to about `size`, soft labels, and weights or None."""
    rng = np.random.default_rng(seed)
    x, y = size * rng.normal(size=(s, C)), rng.random(size=(s, C))
    if name == "softmax_cross_entropy":
        y *= 3
    return x, y, rng.random(s) if weighted else None


@pytest.mark.parametrize("name", LOSSES)
@given(
    s=st.integers(1, 6),
    C=st.integers(1, 5),
    size=st.sampled_from([0.1, 1, 30, 1e4]),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
)
def test_loss_against_scipy(gnn, name, s, C, size, seed, weighted):
    x, y, w = problem(s, C, size, seed, name, weighted)
    for array in (x, y):
        array.flags.writeable = False
    value, gradient = expected(name, x, y, w)
    loss = find(gnn, name)(x, y, w)
    assert isinstance(loss.value, float)
    assert_allclose(loss.value, value, rtol=1e-12, atol=1e-13)
    # softmax - y of one class is 0, but for rounding: the atol is a few units at size 3
    assert_allclose(loss.gradient, gradient, rtol=1e-11, atol=1e-14)
    single = find(gnn, name)(*(None if a is None else a.astype(np.float32) for a in (x, y, w)))
    assert single.gradient.dtype == np.float32
    assert_allclose(single.value, value, rtol=2e-5, atol=1e-5 + 1e-6 * size)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_the_slope(gnn, name, weighted):
    x, y, w = problem(4, 3, 1.0, 5, name, weighted)
    loss, h = find(gnn, name), 1e-5
    gradient = loss(x, y, w).gradient
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        slope = (loss(x + step, y, w).value - loss(x - step, y, w).value) / (2 * h)
        assert slope == pytest.approx(gradient[index], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loss_is_stable_up_to_ten_thousand(gnn, name, dtype):
    """For logits of any size, with warnings as errors: an overflow inside would fail here."""
    x = np.array([[1e4, -1e4, 0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4], [700, -745, 90]], dtype)
    y = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]], dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        loss = find(gnn, name)(x, y)
    value, gradient = expected(name, x.astype(float), y.astype(float), None)
    assert_allclose(loss.value, value, rtol=1e-6)
    assert_allclose(loss.gradient, gradient, rtol=1e-6, atol=1e-12)


@given(x=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=5), y=st.sampled_from([0.0, 1.0]))
def test_sigmoid_loss_is_never_negative(gnn, x, y):
    logits = np.array([x])
    assert gnn.sigmoid_cross_entropy(logits, np.full_like(logits, y)).value >= 0


def test_values_by_hand(gnn):
    half = gnn.sigmoid_cross_entropy(np.zeros((2, 3)), np.zeros((2, 3)))
    assert half.value == pytest.approx(3 * np.log(2))  # mean over nodes, sum over classes
    assert_array_equal(half.gradient, np.full((2, 3), 0.25))
    third = gnn.softmax_cross_entropy(np.zeros((2, 4)), np.eye(4)[:2], np.array([1.0, 0.0]))
    assert third.value == pytest.approx(np.log(4))
    assert_allclose(third.gradient, [[-0.75, 0.25, 0.25, 0.25], [0, 0, 0, 0]], rtol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_nodes(gnn, name, dtype):
    loss = find(gnn, name)(np.zeros((0, 3), dtype), np.zeros((0, 3), dtype))
    assert loss.value == 0
    assert loss.gradient.shape == (0, 3)
    assert loss.gradient.dtype == dtype


@pytest.mark.parametrize(
    ("logits", "labels", "weights", "error"),
    [
        (np.ones((2, 3)), np.ones((2, 2)), None, ValueError),
        (np.ones((2, 3)), np.ones((3, 3)), None, ValueError),
        (np.ones(2), np.ones(2), None, ValueError),
        (np.ones((2, 0)), np.ones((2, 0)), None, ValueError),
        (np.ones((2, 3)), np.ones((2, 3)), np.ones(3), ValueError),
        (np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 1)), ValueError),
        (np.ones((2, 3)), np.ones((2, 3), int), None, TypeError),
        (np.ones((2, 3)), np.ones((2, 3), np.float32), None, TypeError),
        (np.ones((2, 3)), np.ones((2, 3)), np.ones(2, np.float32), TypeError),
        (np.ones((2, 3), int), np.ones((2, 3), int), None, TypeError),
        (None, np.ones((2, 3)), None, TypeError),
    ],
)
@pytest.mark.parametrize("name", LOSSES)
def test_loss_rejects(gnn, name, logits, labels, weights, error):
    with pytest.raises(error):
        find(gnn, name)(logits, labels, weights)
