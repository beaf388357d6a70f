"""Kernels for the losses. Arguments were checked by fastimpl/losses.py.

Each row is one thread's; the rows' losses are added afterwards, in order.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport exp, fabs, log, log1p


cdef inline double softmax_row(
    const floating* x, const floating* y, floating w, floating* grad, Py_ssize_t C
) noexcept nogil:
    cdef Py_ssize_t c
    cdef floating top = x[0]
    cdef double total = 0, y_sum = 0, dot = 0, value
    for c in range(1, C):
        top = max(top, x[c])
    for c in range(C):
        value = exp(<double>(x[c] - top))
        grad[c] = <floating>value
        total += value
        y_sum += y[c]
        dot += <double>(x[c] - top) * y[c]
    for c in range(C):
        grad[c] = <floating>(w * (y_sum * (grad[c] / total) - y[c]))
    return w * (y_sum * log(total) - dot)


cdef inline double sigmoid_row(
    const floating* x, const floating* y, floating w, floating* grad, Py_ssize_t C
) noexcept nogil:
    cdef Py_ssize_t c
    cdef double value, e, loss = 0
    for c in range(C):
        value = x[c]
        e = exp(-fabs(value))
        loss += max(value, 0.0) - value * y[c] + log1p(e)
        grad[c] = <floating>(w * ((1.0 if value >= 0 else e) / (1.0 + e) - y[c]))
    return w * loss


def cross_entropy(
    const floating[:, ::1] logits, const floating[:, ::1] labels, const floating[::1] weights,
    floating[:, ::1] grad, double[::1] losses, bint softmax
):
    cdef Py_ssize_t v
    cdef Py_ssize_t C = logits.shape[1]
    for v in prange(logits.shape[0], nogil=True, schedule="static"):
        if softmax:
            losses[v] = softmax_row(&logits[v, 0], &labels[v, 0], weights[v], &grad[v, 0], C)
        else:
            losses[v] = sigmoid_row(&logits[v, 0], &labels[v, 0], weights[v], &grad[v, 0], C)
