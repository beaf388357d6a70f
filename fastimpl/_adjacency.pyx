"""Kernels for normalised adjacencies. Arguments were checked by fastimpl/adjacency.py."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t


def row_norm(const int64_t[::1] indptr, floating[::1] data):
    cdef int64_t v, j
    cdef floating inverse
    for v in prange(indptr.shape[0] - 1, nogil=True, schedule="static"):
        if indptr[v + 1] > indptr[v]:
            inverse = <floating>1 / <floating>(indptr[v + 1] - indptr[v])
            for j in range(indptr[v], indptr[v + 1]):
                data[j] = inverse


def permute(const floating[::1] data, const int64_t[::1] perm, floating[::1] out):
    cdef int64_t j
    for j in prange(out.shape[0], nogil=True, schedule="static"):
        out[j] = data[perm[j]]
