"""Adam (Kingma and Ba 2015, Algorithm 1), which IPDPS'19 Algorithm 1 uses."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.hints import F, Float, Int, Values

__all__ = ["adam_step"]


def adam_arguments(theta, grad, m, v, t, lr, beta1, beta2, eps):
    """Check the arguments of `adam_step`; return them."""
    written = {"theta": theta, "m": m, "v": v}
    for name, array in written.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} must be a float32 or float64 array")
        written[name] = require.array(name, array)  # the same memory, without masks or matrices
    theta, m, v = written.values()
    for name, array in written.items():
        if array.dtype not in require.FLOATS:
            raise TypeError(f"{name} must be a float32 or float64 array")
        if array.dtype != theta.dtype:
            raise TypeError(f"{name} must be {theta.dtype} like theta, got {array.dtype}")
        if array.shape != theta.shape:
            raise ValueError(f"{name} must have shape {theta.shape} like theta, got {array.shape}")
        if not (require.is_plain(array) and array.flags.writeable):
            raise ValueError(
                f"{name} must be C-contiguous, aligned and writeable: it is updated in place"
            )
    t = require.integer("t", t, 1, 2**53)
    lr, eps = require.real("lr", lr, 0, strict=True), require.real("eps", eps, 0, strict=True)
    beta1, beta2 = require.real("beta1", beta1, 0), require.real("beta2", beta2, 0)
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if beta >= 1:
            raise ValueError(f"{name} must be below 1, got {beta}")
    grad = require.array("grad", grad)
    arrays = {"theta": theta, "grad": grad, "m": m, "v": v}  # `grad` itself: what follows may copy
    grad = require.floats("grad", grad, theta.shape, theta.dtype)
    for one, other in combinations(arrays, 2):
        if np.may_share_memory(arrays[one], arrays[other]):  # exact where both are contiguous
            raise ValueError(
                f"{one} and {other} must not share memory: theta, m and v are updated in place"
            )
    return theta, grad, m, v, t, lr, beta1, beta2, eps


@quiet
@checked_by(adam_arguments)
def adam_step(
    theta: Values[F],
    grad: Values[F],
    m: Values[F],
    v: Values[F],
    t: Int,
    *,
    lr: Float = 0.01,
    beta1: Float = 0.9,
    beta2: Float = 0.999,
    eps: Float = 1e-8,
) -> None:
    """Update `theta`, `m` and `v` in place by step number `t`.

    Every result has one right answer to the last bit: each operation is rounded on its own.
    Kingma and Ba 2015, Algorithm 1. O(size of theta) time.

    Parameters
    ----------
    theta : float32 or float64 array of any shape, C-contiguous, writeable
        The weights.
    grad : array of the same shape and dtype
        Shares no memory with the others, nor do these with each other.
    m, v : arrays of the same shape and dtype, C-contiguous, writeable
        Running means of the gradient and of its square; zeros before step 1.
    t : int
        Number of this step, from 1.
    lr, beta1, beta2, eps : float
        lr > 0, 0 <= beta < 1, eps > 0.

    Raises
    ------
    TypeError, ValueError
        If a dtype, shape or number does not fit, an array cannot be updated in place, or two of
        them share memory.
    """
    m[...] = beta1 * m + (1 - beta1) * grad
    v[...] = beta2 * v + (1 - beta2) * (grad * grad)
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    theta -= lr * m_hat / (np.sqrt(v_hat) + eps)
