"""What stands between the products of a layer's backward pass."""

from cython cimport floating
from cython.parallel cimport prange

from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped, stopped_at
from fastimpl._propagation cimport block_rows
from fastimpl._types cimport TEAM


def masked(
    const floating[:, :] G_out, const floating[:, :] X_out, bint relu, floating[:, :] G
):
    """G = G_out, but 0 where the layer's ReLU gave 0; each may be columns of a wider matrix."""
    cdef Py_ssize_t i, k
    cdef const floating* x
    cdef const floating* g_out
    cdef floating* g
    cdef bint shared = G.shape[0] * G.shape[1] > TEAM
    cdef Watch watch = new_watch()
    if G.shape[0] == 0 or G.shape[1] == 0:
        return
    for i in prange(G.shape[0], nogil=True, schedule="static", use_threads_if=shared):
        if stopped_at(&watch, i):
            continue
        g_out, x, g = &G_out[i, 0], &X_out[i, 0], &G[i, 0]
        if relu:
            for k in range(G.shape[1]):
                g[k] = g_out[k] if x[k] > 0 else 0
        else:
            for k in range(G.shape[1]):
                g[k] = g_out[k]
    raise_if_stopped(&watch)


def column_sums(const floating[:, :] G, floating[::1] total, floating[:, ::1] sums):
    """total = the sum of G's rows: first those of each block, then the blocks, in order."""
    cdef Py_ssize_t rows = block_rows(G.shape[0]), i, k, v, blocks = sums.shape[0]
    cdef bint shared = G.shape[0] * G.shape[1] > TEAM
    cdef Watch watch = new_watch()
    total[:] = 0
    if G.shape[0] == 0 or G.shape[1] == 0:
        return
    for i in prange(blocks, nogil=True, schedule="static", use_threads_if=shared):
        if stopped(&watch):
            continue
        for k in range(G.shape[1]):
            sums[i, k] = 0
        for v in range(i * rows, min((i + 1) * rows, G.shape[0])):
            for k in range(G.shape[1]):
                sums[i, k] += G[v, k]
    raise_if_stopped(&watch)
    for i in range(blocks):
        for k in range(G.shape[1]):
            total[k] += sums[i, k]


def blocks_of(Py_ssize_t rows):
    """Return how many blocks `column_sums` has for so many rows."""
    return (rows + block_rows(rows) - 1) // block_rows(rows)
