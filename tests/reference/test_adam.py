"""Adam against a textbook loop over single numbers."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import FLOATS


def textbook(theta, grads, lr, beta1, beta2, eps):
    """Return theta, m and v after one step per gradient, for a list of numbers."""
    theta, m, v = list(theta), [0.0] * len(theta), [0.0] * len(theta)
    for t, grad in enumerate(grads, start=1):
        for i, g in enumerate(grad):
            m[i] = beta1 * m[i] + (1 - beta1) * g
            v[i] = beta2 * v[i] + (1 - beta2) * g * g
            corrected = m[i] / (1 - beta1**t), v[i] / (1 - beta2**t)
            theta[i] -= lr * corrected[0] / (math.sqrt(corrected[1]) + eps)
    return theta, m, v


@given(
    size=st.integers(0, 6),
    steps=st.integers(1, 8),
    dtype=FLOATS,
    seed=st.integers(0, 999),
    options=st.fixed_dictionaries(
        {},
        optional={
            "lr": st.sampled_from([0.001, 0.5, 1]),
            "beta1": st.sampled_from([0.0, 0.5, 0.99]),
            "beta2": st.sampled_from([0.0, 0.9, 0.9999]),
            "eps": st.sampled_from([1e-3, 1e-10]),
        },
    ),
)
def test_adam_against_the_textbook(gnn, size, steps, dtype, seed, options):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=size).astype(dtype)
    grads = rng.normal(size=(steps, size)).astype(dtype)
    grads.flags.writeable = False
    rule = {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, **options}
    want = textbook(theta.tolist(), grads.tolist(), **rule)
    state = theta, np.zeros(size, dtype), np.zeros(size, dtype)
    for t, grad in enumerate(grads, start=1):
        assert gnn.adam_step(theta, grad, *state[1:], t, **options) is None
    tolerance = 1e-12 if dtype == np.float64 else 2e-4
    for got, right in zip(state, want, strict=True):
        assert got.dtype == dtype
        assert_allclose(got, right, rtol=tolerance, atol=tolerance)


def test_first_step_has_the_size_of_the_rate(gnn):
    """The first step is -lr g / (|g| + eps), whatever the scale of the loss."""
    grad = np.array([[3.0, -1e-4], [0.0, 70.0]])
    for scale in (1, 2):
        theta, m, v = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
        gnn.adam_step(theta, scale * grad, m, v, 1, lr=0.1)
        g = scale * grad
        assert_allclose(theta, -0.1 * g / (np.abs(g) + 1e-8), rtol=1e-12)
        assert_allclose(m, 0.1 * g, rtol=1e-12)
        assert_allclose(v, 0.001 * g * g, rtol=1e-12)
        assert_allclose(theta, -0.1 * np.sign(grad), rtol=2e-4)


def test_adam_updates_in_place_and_leaves_the_gradient(gnn):
    arrays = [np.ones(3) for _ in range(4)]
    theta, grad, m, v = arrays
    gnn.adam_step(*arrays, 1)
    assert_array_equal(grad, 1)
    for array in (theta, m):
        assert (array != 1).any() or array is m
    assert (theta < 1).all()
    assert_allclose(m, 1.0)
    assert_allclose(v, 1.0)


def slices(*names):
    """Return (theta, grad, m, v) as slices of one buffer; those of `names` are one slice."""
    parts = {name: slice(4 * k, 4 * k + 4) for k, name in enumerate(("theta", "grad", "m", "v"))}
    if names:
        parts[names[1]] = parts[names[0]]
    buffer = np.linspace(0.1, 1.6, 16)
    return buffer, [buffer[part] for part in parts.values()]


@pytest.mark.parametrize("names", list(combinations(("theta", "grad", "m", "v"), 2)), ids="-".join)
def test_adam_refuses_arrays_that_share_memory(gnn, names):
    """In place on one and the same array, both packages would give other bits."""
    buffer, arrays = slices(*names)
    before = buffer.copy()
    with pytest.raises(ValueError, match=f"^{names[0]} and {names[1]} must not share memory"):
        gnn.adam_step(*arrays, 1)
    assert_array_equal(buffer, before)


def test_adam_refuses_arrays_that_overlap_by_one_number(gnn):
    buffer = np.ones(16)
    with pytest.raises(ValueError, match="^theta and grad must not share memory"):
        gnn.adam_step(buffer[:4], buffer[3:7], buffer[8:12], buffer[12:], 1)
    with pytest.raises(ValueError, match="^theta and grad must not share memory"):
        gnn.adam_step(buffer[:4], buffer[3::-1], buffer[8:12], buffer[12:], 1)


def test_adam_takes_neighbouring_slices_of_one_buffer(gnn):
    buffer, arrays = slices()
    copies = [array.copy() for array in arrays]
    gnn.adam_step(*arrays, 1)
    gnn.adam_step(*copies, 1)
    assert_array_equal(buffer, np.concatenate(copies))
    gnn.adam_step(*(buffer[:0] for _ in range(4)), 1)  # nothing is shared


def read_only():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"t": 0}, ValueError),
        ({"t": 1.0}, TypeError),
        ({"lr": 0}, ValueError),
        ({"lr": -1.0}, ValueError),
        ({"lr": float("nan")}, ValueError),
        ({"lr": "fast"}, TypeError),
        ({"beta1": 1}, ValueError),
        ({"beta2": -0.1}, ValueError),
        ({"eps": 0}, ValueError),
        ({"grad": np.zeros(2)}, ValueError),
        ({"grad": np.zeros((3, 1))}, ValueError),
        ({"grad": np.zeros(3, np.float32)}, TypeError),
        ({"m": np.zeros(4)}, ValueError),
        ({"v": np.zeros(3, np.float32)}, TypeError),
        ({"theta": np.zeros(3, int)}, TypeError),
        ({"theta": [0.0, 0.0, 0.0]}, TypeError),
        ({"theta": read_only()}, (TypeError, ValueError)),
        ({"m": read_only()}, (TypeError, ValueError)),
        ({"v": np.zeros(6)[::2]}, (TypeError, ValueError)),
        ({"theta": np.zeros(6)[::2]}, (TypeError, ValueError)),
    ],
)
def test_adam_rejects_before_it_changes_anything(gnn, change, error):
    good = {"theta": np.ones(3), "grad": np.ones(3), "m": np.zeros(3), "v": np.zeros(3), "t": 1}
    with pytest.raises(error):
        gnn.adam_step(**{**good, **change})
    assert_array_equal(good["theta"], 1)
    assert_array_equal(good["m"], 0)
    assert_array_equal(good["v"], 0)
