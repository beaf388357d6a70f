"""Kernels of graph attention. Arguments were checked by the callers.

A row of a pattern is one thread's. Arrays by head are (heads, entries) or (heads, nodes).
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport exp, expf
from libc.stdint cimport int32_t, int64_t, uint64_t

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._propagation cimport block_rows
from fastimpl._types cimport COSTLY_TEAM, TEAM, position
from fastimpl.layers._dropout cimport kept

cdef extern from "fastimpl/_dots.h":
    float dot_f32 "gnn_dot_f32"(const float* x, const float* y, Py_ssize_t f) noexcept nogil
    double dot_f64 "gnn_dot_f64"(const double* x, const double* y, Py_ssize_t f) noexcept nogil

cpdef enum:
    SOFTMAX = 0
    ROW = 1
    NONE = 2


cdef inline floating dot(const floating* x, const floating* y, Py_ssize_t f) noexcept nogil:
    if floating is double:
        return dot_f64(x, y, f)
    else:
        return dot_f32(x, y, f)


cdef inline floating leaky(floating x, floating slope) noexcept nogil:
    return x if x > 0 else x * slope


cdef inline floating leaky_slope(floating x, floating slope) noexcept nogil:
    return 1 if x > 0 else slope


cdef inline floating score(
    floating sigma, floating tau, bint joint, floating slope
) noexcept nogil:
    if joint:
        return leaky(<floating>(sigma + tau), slope)
    return leaky(sigma, slope) + leaky(tau, slope)


def scores(
    const floating[:, ::1] H, const floating[:, ::1] a_recv, const floating[:, ::1] a_send,
    floating[:, ::1] sigma, floating[:, ::1] tau
):
    """sigma = H a_recv for the receivers, tau = H a_send for all: one pass over H."""
    cdef Py_ssize_t v, k, width = a_recv.shape[1], n_dst = sigma.shape[1]
    cdef bint shared = 2 * H.shape[0] * H.shape[1] > TEAM
    cdef Watch watch = new_watch()
    if H.shape[0] == 0 or H.shape[1] == 0:
        sigma[:, :] = 0
        tau[:, :] = 0
        return
    for v in prange(H.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, v):
            continue
        for k in range(a_recv.shape[0]):
            tau[k, v] = dot[floating](&H[v, k * width], &a_send[k, 0], width)
            if v < n_dst:
                sigma[k, v] = dot[floating](&H[v, k * width], &a_recv[k, 0], width)
    raise_if_stopped(&watch)


def attention(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const floating[::1] data, const floating[:, ::1] sigma, const floating[:, ::1] tau,  # IN
    int norm, bint joint, floating slope,  # IN
    floating[:, ::1] P  # OUT
):
    """P from the scores: their softmax in each row, times A's values, or as they are."""
    cdef Py_ssize_t u, k
    cdef int64_t j
    cdef floating top, total
    cdef bint shared = P.shape[0] * P.shape[1] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    for u in prange(
        start.shape[0], nogil=True, schedule="dynamic", chunksize=32, use_threads_if=shared
    ):
        if stopped_at(&watch, u):
            continue
        for k in range(P.shape[0]):
            for j in range(start[u], end[u]):
                P[k, j] = score(sigma[k, u], tau[k, indices[j]], joint, slope)
                if norm == ROW:
                    P[k, j] = P[k, j] * data[j]
            if norm != SOFTMAX or start[u] == end[u]:
                continue
            top = P[k, start[u]]
            for j in range(start[u] + 1, end[u]):
                top = max(top, P[k, j])
            total = 0
            for j in range(start[u], end[u]):
                if floating is double:
                    P[k, j] = exp(P[k, j] - top)
                else:
                    P[k, j] = expf(P[k, j] - top)
                total = total + P[k, j]
            for j in range(start[u], end[u]):
                P[k, j] = P[k, j] / total
    raise_if_stopped(&watch)


def dropped(
    const int64_t[:] start, const int64_t[:] end, const floating[:, ::1] P,  # IN
    const uint64_t[::1] keys, uint64_t least, floating scale,  # IN
    floating[:, ::1] Q  # OUT
):
    """Q = scale P where draw i heads + k of row u keeps entry i of the row, else 0."""
    cdef Py_ssize_t u, k, heads = P.shape[0]
    cdef int64_t j
    cdef bint shared = P.shape[0] * P.shape[1] > COSTLY_TEAM
    cdef Watch watch = new_watch()
    for u in prange(
        start.shape[0], nogil=True, schedule="dynamic", chunksize=32, use_threads_if=shared
    ):
        if stopped_at(&watch, u):
            continue
        for k in range(heads):
            for j in range(start[u], end[u]):
                if kept(keys[u], <uint64_t>((j - start[u]) * heads + k), least):
                    Q[k, j] = P[k, j] * scale  # GAT.3
                else:
                    Q[k, j] = 0
    raise_if_stopped(&watch)


def edge_gradients(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const floating[::1] data, const floating[:, :] G, const floating[:, ::1] H,  # IN
    const floating[:, ::1] sigma, const floating[:, ::1] tau, const floating[:, ::1] P,  # IN
    int norm, bint joint, floating slope, const uint64_t[::1] keys, uint64_t least,  # IN
    floating scale,  # IN
    floating[:, ::1] epsilon, floating[:, ::1] d_sigma  # OUT
):
    """epsilon = the gradient of each entry's score before phi ("split": after), and its row sums.

    A row at a time: the inner products Pi of G[u] and H[v], what dropout leaves of them (all,
    where there are no keys), then what the norm makes of that.
    """
    cdef Py_ssize_t u, k, heads = P.shape[0], width = H.shape[1] // P.shape[0]
    cdef int64_t j
    cdef bint drops = keys is not None
    cdef floating along, total
    cdef bint shared = P.shape[1] * H.shape[1] > TEAM
    cdef Watch watch = new_watch()
    for u in prange(
        start.shape[0], nogil=True, schedule="dynamic", chunksize=32, use_threads_if=shared
    ):
        if stopped_at(&watch, u):
            continue
        for k in range(P.shape[0]):
            along = 0
            for j in range(start[u], end[u]):
                epsilon[k, j] = dot[floating](  # GAT.2
                    &G[u, 0] + k * width, &H[indices[j], 0] + k * width, width
                )
                if drops:
                    if kept(keys[u], <uint64_t>((j - start[u]) * heads + k), least):
                        epsilon[k, j] = epsilon[k, j] * scale  # GAT.4
                    else:
                        epsilon[k, j] = 0
                along = along + P[k, j] * epsilon[k, j]
            total = 0
            for j in range(start[u], end[u]):
                if norm == SOFTMAX:
                    epsilon[k, j] = P[k, j] * (epsilon[k, j] - along)  # GAT.5
                elif norm == ROW:
                    epsilon[k, j] = epsilon[k, j] * data[j]
                if joint:
                    epsilon[k, j] = epsilon[k, j] * leaky_slope(  # GAT.7
                        <floating>(sigma[k, u] + tau[k, indices[j]]), slope  # GAT.6
                    )
                total = total + epsilon[k, j]  # GAT.8 10
            if not joint:
                total = total * leaky_slope(sigma[k, u], slope)  # GAT.11
            d_sigma[k, u] = total
    raise_if_stopped(&watch)


def transposed(
    const int64_t[:] start, const int64_t[:] end, const position[::1] perm,  # IN
    const floating[:, ::1] Q, const floating[:, ::1] epsilon, const floating[:, ::1] tau,  # IN
    bint joint, floating slope,  # IN
    floating[:, ::1] Q_t, floating[:, ::1] d_tau  # OUT
):
    """Q_t = Q on the transposed pattern, d_tau = the column sums of epsilon: no scatter."""
    cdef Py_ssize_t v, k
    cdef int64_t j
    cdef floating total
    cdef bint shared = Q.shape[0] * Q.shape[1] > TEAM
    cdef Watch watch = new_watch()
    for v in prange(
        start.shape[0], nogil=True, schedule="dynamic", chunksize=32, use_threads_if=shared
    ):
        if stopped_at(&watch, v):
            continue
        for k in range(Q.shape[0]):
            total = 0
            for j in range(start[v], end[v]):
                Q_t[k, j] = Q[k, perm[j]]
                total = total + epsilon[k, perm[j]]  # GAT.9 12
            if not joint:
                total = total * leaky_slope(tau[k, v], slope)  # GAT.13
            d_tau[k, v] = total
    raise_if_stopped(&watch)


def score_gradients(
    const floating[:, ::1] H, const floating[:, ::1] a_recv, const floating[:, ::1] a_send,  # IN
    const floating[:, ::1] d_sigma, const floating[:, ::1] d_tau,  # IN
    floating[:, ::1] dH,  # INOUT
    floating[:, :, ::1] sums  # OUT
):
    """dH += d_sigma a_recv^T + d_tau a_send^T, and for each block of rows H^T d_sigma, H^T d_tau.

    One pass over H and dH; `sums` is (blocks, 2, columns), and its blocks are added by the caller.
    """
    cdef Py_ssize_t rows = block_rows(H.shape[0]), f = H.shape[1], n_dst = d_sigma.shape[1]
    cdef Py_ssize_t heads = a_recv.shape[0], width = f // heads, i, k, q, v
    cdef floating s, t
    cdef const floating* h
    cdef floating* d
    cdef floating* to_recv
    cdef floating* to_send
    cdef bint shared = 4 * H.shape[0] * H.shape[1] > TEAM
    cdef Watch watch = new_watch()
    if f == 0:
        return
    for i in prange(sums.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped(&watch):
            continue
        for q in range(f):
            sums[i, 0, q] = 0
            sums[i, 1, q] = 0
        for v in range(i * rows, min((i + 1) * rows, H.shape[0])):
            for k in range(heads):
                s = d_sigma[k, v] if v < n_dst else 0
                t = d_tau[k, v]
                h, d = &H[v, k * width], &dH[v, k * width]
                to_recv, to_send = &sums[i, 0, k * width], &sums[i, 1, k * width]
                for q in range(width):
                    d[q] = d[q] + s * a_recv[k, q] + t * a_send[k, q]  # GAT.15-16
                    to_recv[q] = to_recv[q] + h[q] * s  # GAT.17
                    to_send[q] = to_send[q] + h[q] * t  # GAT.18
    raise_if_stopped(&watch)
