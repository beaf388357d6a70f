"""Kernels for operations on rows. Arguments were checked by fastimpl/layers/rows.py."""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport sqrt, sqrtf
from libc.stdint cimport uint64_t

from fastimpl._interrupts cimport NUMBERS, Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._types cimport TEAM
from fastimpl.layers._dropout cimport keep

cdef extern from "fastimpl/_dots.h":
    float dot_f32 "gnn_dot_f32"(const float* x, const float* y, Py_ssize_t f) noexcept nogil
    double dot_f64 "gnn_dot_f64"(const double* x, const double* y, Py_ssize_t f) noexcept nogil


cdef inline floating dot(const floating* x, const floating* y, Py_ssize_t f) noexcept nogil:
    if floating is double:
        return dot_f64(x, y, f)
    else:
        return dot_f32(x, y, f)


cdef inline floating root(floating x) noexcept nogil:
    if floating is double:
        return sqrt(x)
    else:
        return sqrtf(x)


def l2_forward(const floating[:, ::1] X, floating eps, floating[:, ::1] Y, floating[::1] norms):
    cdef Py_ssize_t i, k
    cdef floating norm
    cdef bint shared = X.shape[0] * X.shape[1] > TEAM
    cdef Watch watch = new_watch()
    for i in prange(X.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, i):
            continue
        norm = 0
        if X.shape[1]:
            norm = root[floating](dot[floating](&X[i, 0], &X[i, 0], X.shape[1]))
        if norm <= eps:  # and not where it is NaN
            norm = eps
        norms[i] = norm
        for k in range(X.shape[1]):
            Y[i, k] = X[i, k] / norm
    raise_if_stopped(&watch)


def l2_backward(
    const floating[:, ::1] Y, const floating[::1] norms, const floating[:, ::1] G, floating eps,
    floating[:, ::1] dX
):
    cdef Py_ssize_t i, k
    cdef floating along
    cdef bint shared = Y.shape[0] * Y.shape[1] > TEAM
    cdef Watch watch = new_watch()
    if Y.shape[1] == 0:
        return
    for i in prange(Y.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, i):
            continue
        along = dot[floating](&Y[i, 0], &G[i, 0], Y.shape[1]) if norms[i] > eps else 0
        for k in range(Y.shape[1]):
            dX[i, k] = (G[i, k] - Y[i, k] * along) / norms[i]
    raise_if_stopped(&watch)


def dropout(
    const floating[::1] X, uint64_t least, uint64_t key, floating scale, floating[::1] Y
):
    """Y = scale X where the 53 bits of an element's draw are at least `least`, else 0."""
    cdef Py_ssize_t first, count = X.shape[0]
    cdef bint shared = count > TEAM
    cdef Watch watch = new_watch()
    for first in prange(0, count, NUMBERS, nogil=True, schedule="static", use_threads_if=shared):
        if stopped(&watch):
            continue
        keep[floating](
            &X[first], key, <uint64_t>first, min(NUMBERS, count - first), least, scale, &Y[first]
        )
    raise_if_stopped(&watch)


def dropout_rows(
    const floating[:, ::1] X, uint64_t least, const uint64_t[::1] keys, floating scale,
    floating[:, ::1] Y
):
    """The same with a key, and counters from 0, for each row."""
    cdef Py_ssize_t i
    cdef bint shared = X.shape[0] * X.shape[1] > TEAM
    cdef Watch watch = new_watch()
    if X.shape[1] == 0:
        return
    for i in prange(X.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, i):
            continue
        keep[floating](&X[i, 0], keys[i], 0, X.shape[1], least, scale, &Y[i, 0])
    raise_if_stopped(&watch)
