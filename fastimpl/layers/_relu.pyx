"""ReLU and its mask, in place."""

from cython cimport floating
from cython.parallel cimport prange


def relu(floating[:, ::1] Z):
    """Z = max(Z, 0); a NaN stays one, as in NumPy."""
    cdef Py_ssize_t i, k
    for i in prange(Z.shape[0], nogil=True, schedule="static"):
        for k in range(Z.shape[1]):
            Z[i, k] = 0 if Z[i, k] <= 0 else Z[i, k]


def masked(const floating[:, ::1] G_out, const floating[:, ::1] Y, floating[:, ::1] G):
    """G = G_out where Y is above 0, else 0."""
    cdef Py_ssize_t i, k
    for i in prange(G.shape[0], nogil=True, schedule="static"):
        for k in range(G.shape[1]):
            G[i, k] = G_out[i, k] if Y[i, k] > 0 else 0
