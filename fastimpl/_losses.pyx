"""Kernels for the losses. Arguments were checked by fastimpl/losses.py.

Each row is one thread's; the rows' losses are added afterwards, in order.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport exp, expf, fabs, fabsf, log, log1p

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at
from fastimpl._types cimport COSTLY_TEAM

cdef extern from "fastimpl/_exp.h":
    void begin "gnn_exp_begin"()
    void exp_f32 "gnn_exp_f32"(const float* x, float top, float* y, Py_ssize_t n) noexcept nogil

begin()


cdef inline double softmax_row(
    const floating* x, const floating* y, floating w, floating* grad, Py_ssize_t C
) noexcept nogil:
    cdef Py_ssize_t c
    cdef floating top = x[0]
    cdef double total = 0, y_sum = 0, dot = 0
    for c in range(1, C):
        top = max(top, x[c])
    if floating is float:
        exp_f32(x, top, grad, C)
    for c in range(C):
        if floating is double:
            grad[c] = exp(x[c] - top)
        total += grad[c]
        y_sum += y[c]
        dot += <double>(x[c] - top) * y[c]
    for c in range(C):
        grad[c] = <floating>(w * (y_sum * (grad[c] / total) - y[c]))
    return w * (y_sum * log(total) - dot)


cdef inline double sigmoid_row(
    const floating* x, const floating* y, floating w, floating* grad, Py_ssize_t C
) noexcept nogil:
    """In float32 one logarithm of a product stands for many: each factor is from 1 to 2."""
    cdef Py_ssize_t c
    cdef double loss = 0, product = 1
    cdef floating e
    for c in range(C):
        if floating is double:
            e = exp(-fabs(x[c]))
            loss += log1p(e)
        else:
            e = expf(-fabsf(x[c]))
            product *= 1 + <double>e
            if product > 1e300:
                loss += log(product)
                product = 1
        loss += max(x[c], <floating>0) - x[c] * y[c]
        grad[c] = w * ((1 if x[c] >= 0 else e) / (1 + e) - y[c])
    return w * (loss + log(product))


def cross_entropy(
    const floating[:, ::1] logits, const floating[:, ::1] labels, const floating[::1] weights,
    floating[:, ::1] grad, double[::1] losses, bint softmax
):
    cdef Py_ssize_t v
    cdef Py_ssize_t C = logits.shape[1]
    cdef bint shared = logits.shape[0] * C > COSTLY_TEAM
    cdef Watch watch = new_watch()
    for v in prange(logits.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        if softmax:
            losses[v] = softmax_row(&logits[v, 0], &labels[v, 0], weights[v], &grad[v, 0], C)
        else:
            losses[v] = sigmoid_row(&logits[v, 0], &labels[v, 0], weights[v], &grad[v, 0], C)
    raise_if_stopped(&watch)
