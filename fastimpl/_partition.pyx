"""JPDC'21 Algorithm 7 in lanes. Arguments were checked by fastimpl/partition.py."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

from fastimpl._aggregate cimport Sum, sum_row
from fastimpl._interrupts cimport Watch, new_watch, raise_if_stopped, stopped_at
from fastimpl._types cimport TEAM


cdef enum:
    TILE = 8  # columns that are summed at once: one sum waits for its last addition, 8 do not


cdef inline void propagate_columns(
    const int64_t* start, const int64_t* end, int64_t n, const int32_t* indices,  # IN
    const floating* data, const floating* X, Py_ssize_t x_step,  # IN
    floating* Y,  # OUT
    Py_ssize_t y_step, Py_ssize_t columns,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    """Columns that are each one run of memory, row after row; a narrow tile repeats the last."""
    cdef Py_ssize_t first, k
    cdef int64_t v, j, u
    cdef const floating* x[TILE]
    cdef floating total[TILE]
    cdef floating a
    for v in range(n):  # J7:7 I6:6
        if stopped_at(watch, v):
            return
        first = 0
        while first < columns:
            for k in range(TILE):
                x[k] = X + min(first + k, columns - 1) * x_step
                total[k] = 0
            for j in range(start[v], end[v]):
                u, a = indices[j], data[j]
                for k in range(TILE):
                    total[k] = total[k] + a * x[k][u]
            for k in range(min(<Py_ssize_t>TILE, columns - first)):
                Y[(first + k) * y_step + v] = total[k]
            first += TILE


def propagate_rows(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const floating[::1] data, const floating[:, ::1] X,  # IN
    floating[:, ::1] Y,  # OUT
    const int64_t[::1] starts, const int64_t[:, ::1] order  # IN
):
    """Lane j works off column j of `order`; a part is a piece of every row of X."""
    cdef int64_t j, r, i, v, n = start.shape[0]
    cdef Sum sums
    cdef bint shared = indices.shape[0] * X.shape[1] > TEAM
    cdef Watch watch = new_watch()
    if n == 0 or X.shape[1] == 0:
        return
    if data.shape[0] == 0:
        Y[:, :] = 0
        return
    sums.indices = &indices[0]
    sums.data = &data[0]
    sums.bias = NULL
    sums.relu = False
    for j in prange(  # J7:5 I6:5
        order.shape[1], nogil=True, schedule="static", chunksize=1, use_threads_if=shared
    ):
        for r in range(order.shape[0]):  # J7:4 I6:4
            i = order[r, j]  # J7:6 I6:6
            if i < 0 or starts[i] == starts[i + 1]:
                continue
            for v in range(n):  # J7:7 I6:6
                if stopped_at(&watch, v):
                    break
                sum_row[floating](
                    &sums, start[v], end[v], &X[0, 0] + starts[i], X.shape[1],
                    &Y[v, 0] + starts[i], starts[i + 1] - starts[i]
                )
    raise_if_stopped(&watch)


def propagate_runs(
    const int64_t[:] start, const int64_t[:] end, const int32_t[::1] indices,  # IN
    const floating[::1] data, const floating[:, ::1] X_t,  # IN
    floating[:, ::1] Y_t,  # OUT
    const int64_t[::1] starts, const int64_t[:, ::1] order  # IN
):
    """The same on the transposes: a part is some rows of X^T, one run of memory."""
    cdef int64_t j, r, i, n = start.shape[0]
    cdef bint shared = indices.shape[0] * X_t.shape[0] > TEAM
    cdef Watch watch = new_watch()
    if n == 0 or X_t.shape[0] == 0:
        return
    if data.shape[0] == 0:
        Y_t[:, :] = 0
        return
    for j in prange(  # J7:5 I6:5
        order.shape[1], nogil=True, schedule="static", chunksize=1, use_threads_if=shared
    ):
        for r in range(order.shape[0]):  # J7:4 I6:4
            i = order[r, j]  # J7:6 I6:6
            if i >= 0 and starts[i] < starts[i + 1]:
                propagate_columns[floating](
                    &start[0], &end[0], n, &indices[0], &data[0], &X_t[starts[i], 0],
                    X_t.shape[1], &Y_t[starts[i], 0], n, starts[i + 1] - starts[i], &watch
                )
    raise_if_stopped(&watch)
