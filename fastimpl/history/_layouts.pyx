"""Removing rows of a block in the layouts that are compared with CSR2."""

import numpy as np
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove, memset

from fastimpl._interrupts cimport (
    NUMBERS, Watch, has_stopped, new_watch, raise_if_stopped, stopped, stopped_at
)
from fastimpl._types cimport bytes_of, gnn_max_threads, ids_of, numbers_of, offsets_of

cdef enum:
    ROWS = 512  # that a thread takes at a time
    FEW = 16384  # entries at most that are not worth a second thread


def empty_csr(
    int64_t[::1] indptr, int32_t[::1] indices, int64_t[::1] edge_ids, const int64_t[::1] rows
):
    """Delete the rows' entries, one row after another; return (pointers, entries moved, left).

    Without `edge_ids`, that array is empty. Each row changes what the next one has to move, so
    there is nothing for a second thread.
    """
    cdef int64_t n = indptr.shape[0] - 1, e = indices.shape[0], pointers = 0, moved = 0
    cdef int64_t k, i, j, start, length, behind
    cdef bint with_ids = edge_ids.shape[0] > 0
    cdef int64_t* offsets = &indptr[0]
    cdef int32_t* columns = &indices[0] if e else NULL
    cdef int64_t* ids = numbers_of(edge_ids)
    cdef Watch watch = new_watch()
    with nogil:
        for k in range(rows.shape[0]):
            if stopped(&watch):
                break
            i = rows[k]
            start = offsets[i]
            length = offsets[i + 1] - start
            behind = e - start - length
            memmove(
                columns + start, columns + start + length, <size_t>behind * sizeof(int32_t)
            )
            if with_ids:
                memmove(ids + start, ids + start + length, <size_t>behind * sizeof(int64_t))
            for j in range(i + 1, n + 1):
                offsets[j] -= length
            e -= length
            moved += behind
            pointers += n - i
    raise_if_stopped(&watch)
    return pointers, moved, e


def rebuild_csr(
    const int64_t[::1] indptr, const int32_t[::1] indices, const int64_t[::1] edge_ids,
    const int64_t[::1] rows
):
    """Return (pointers, columns, ids) without the entries of the rows, which ascend."""
    cdef int64_t n = indptr.shape[0] - 1, k = 0, m = rows.shape[0], i, left, batch
    cdef int64_t batches = (n + ROWS - 1) // ROWS
    cdef bint with_ids = edge_ids.shape[0] > 0
    cdef int64_t[::1] new_indptr = np.empty(n + 1, np.int64)
    cdef int32_t[::1] new_indices
    cdef int64_t[::1] new_ids
    cdef const int64_t* before = offsets_of(indptr)
    cdef int64_t* after = &new_indptr[0]
    cdef const int32_t* columns = ids_of(indices)
    cdef const int64_t* ids = offsets_of(edge_ids)
    cdef int32_t* new_columns
    cdef int64_t* new_numbers
    cdef Watch watch = new_watch()
    with nogil:
        after[0] = 0
        for i in range(n):
            if stopped_at(&watch, i):
                break
            if k < m and rows[k] == i:
                after[i + 1] = after[i]
                k += 1
            else:
                after[i + 1] = after[i] + before[i + 1] - before[i]
        left = after[n] if not has_stopped(&watch) else 0
    raise_if_stopped(&watch)
    new_indices = np.empty(left, np.int32)
    new_ids = np.empty(left if with_ids else 0, np.int64)
    new_columns = &new_indices[0] if left else NULL
    new_numbers = numbers_of(new_ids)
    for batch in prange(batches, schedule="static", nogil=True, use_threads_if=left > FEW):
        if stopped(&watch):
            continue
        copy_rows(
            before, after, columns, ids, new_columns, new_numbers, batch * ROWS,
            min((batch + 1) * ROWS, n),
        )
    raise_if_stopped(&watch)
    return np.asarray(new_indptr), np.asarray(new_indices), np.asarray(new_ids)


cdef void copy_rows(
    const int64_t* before, const int64_t* after, const int32_t* columns, const int64_t* ids,  # IN
    int32_t* new_columns, int64_t* new_ids,  # OUT
    int64_t first, int64_t last  # IN
) noexcept nogil:
    """Copy the entries of the rows that still have any; those of neighbouring rows together."""
    cdef int64_t i = first, run, size
    while i < last:
        if after[i] == after[i + 1]:
            i += 1
            continue
        run = i
        while i < last and after[i + 1] - after[i] == before[i + 1] - before[i]:
            i += 1
        size = after[i] - after[run]
        memcpy(
            new_columns + after[run], columns + before[run], <size_t>size * sizeof(int32_t)
        )
        if ids != NULL:
            memcpy(new_ids + after[run], ids + before[run], <size_t>size * sizeof(int64_t))


def mark_coo(const int32_t[::1] coo_rows, uint8_t[::1] stays, const int64_t[::1] rows):
    """Clear `stays` for the entries of the rows; return (comparisons, entries)."""
    cdef int64_t m = rows.shape[0], e = coo_rows.shape[0]
    cdef int64_t batch, batches = (m + ROWS - 1) // ROWS
    cdef int64_t[:, ::1] counts = np.zeros((batches + 1, 2), np.int64)
    cdef int64_t* done = &counts[0, 0]
    cdef const int32_t* sorted_rows = ids_of(coo_rows)
    cdef const int64_t* chosen = offsets_of(rows)
    cdef uint8_t* flags = bytes_of(stays)
    cdef Watch watch = new_watch()
    for batch in prange(batches, schedule="static", nogil=True, use_threads_if=batches > 1):
        if stopped(&watch):
            continue
        clear_rows(
            sorted_rows, e, chosen + batch * ROWS, min(<int64_t>ROWS, m - batch * ROWS), flags,
            done + 2 * batch,
        )
    raise_if_stopped(&watch)
    compared, marked = np.asarray(counts).sum(axis=0).tolist()
    return compared, marked


cdef void clear_rows(
    const int32_t* sorted_rows, int64_t e, const int64_t* rows, int64_t m, uint8_t* stays,
    int64_t* done
) noexcept nogil:
    cdef int64_t k, first, last, compared = 0, marked = 0
    for k in range(m):
        first = search(sorted_rows, e, rows[k], &compared)
        last = search(sorted_rows, e, rows[k] + 1, &compared)
        memset(stays + first, 0, <size_t>(last - first))
        marked += last - first
    done[0] = compared
    done[1] = marked


cdef int64_t search(
    const int32_t* sorted_rows, int64_t e, int64_t row, int64_t* compared
) noexcept nogil:
    """Return where the rows from `row` on begin."""
    cdef int64_t low = 0, high = e, middle
    while low < high:
        middle = (low + high) // 2
        compared[0] += 1
        if sorted_rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


def compact_coo(
    const int32_t[::1] coo_rows, const int32_t[::1] columns, const int64_t[::1] edge_ids,
    const uint8_t[::1] stays
):
    """Return (rows, columns, ids) of the entries that stay: count them in parts, then copy."""
    cdef int64_t e = coo_rows.shape[0], t, left = 0, here
    cdef int64_t parts = max(
        <int64_t>1, min(<int64_t>gnn_max_threads(), e // <int64_t>FEW)
    )
    cdef bint with_ids = edge_ids.shape[0] > 0
    cdef int64_t[::1] begin = np.zeros(parts, np.int64)
    cdef int32_t[::1] new_rows, new_columns
    cdef int64_t[::1] new_ids
    cdef int64_t* at = &begin[0]
    cdef const uint8_t* flags = &stays[0] if e else NULL
    cdef const int32_t* old_rows = ids_of(coo_rows)
    cdef const int32_t* old_columns = ids_of(columns)
    cdef const int64_t* old_ids = offsets_of(edge_ids)
    cdef Watch watch = new_watch()
    for t in prange(parts, schedule="static", nogil=True, use_threads_if=parts > 1):
        at[t] = count_part(flags, e * t // parts, e * (t + 1) // parts, &watch)
    raise_if_stopped(&watch)
    for t in range(parts):
        here, at[t] = at[t], left
        left += here
    new_rows, new_columns = np.empty(left, np.int32), np.empty(left, np.int32)
    new_ids = np.empty(left if with_ids else 0, np.int64)
    if left:
        for t in prange(parts, schedule="static", nogil=True, use_threads_if=parts > 1):
            copy_part(
                flags, old_rows, old_columns, old_ids, &new_rows[0], &new_columns[0],
                numbers_of(new_ids), at[t], e * t // parts, e * (t + 1) // parts, &watch,
            )
    raise_if_stopped(&watch)
    return np.asarray(new_rows), np.asarray(new_columns), np.asarray(new_ids)


cdef int64_t count_part(
    const uint8_t* stays, int64_t first, int64_t last, Watch* watch
) noexcept nogil:
    cdef int64_t begin, k, count = 0
    begin = first
    while begin < last:
        if stopped(watch):
            break
        for k in range(begin, min(begin + NUMBERS, last)):
            count += stays[k]
        begin += NUMBERS
    return count


cdef void copy_part(
    const uint8_t* stays, const int32_t* rows, const int32_t* columns, const int64_t* ids,  # IN
    int32_t* new_rows, int32_t* new_columns, int64_t* new_ids,  # OUT
    int64_t at, int64_t first, int64_t last,  # IN
    Watch* watch  # INOUT
) noexcept nogil:
    """Copy the entries that stay, neighbours together."""
    cdef int64_t k = first, run, step = 0
    cdef size_t size
    while k < last:
        if stopped_at(watch, step):
            return
        step += 1
        run = k
        while k < last and k - run < NUMBERS and not stays[k]:
            k += 1
        run = k
        while k < last and k - run < NUMBERS and stays[k]:
            k += 1
        size = <size_t>(k - run)
        memcpy(new_rows + at, rows + run, size * sizeof(int32_t))
        memcpy(new_columns + at, columns + run, size * sizeof(int32_t))
        if ids != NULL:
            memcpy(new_ids + at, ids + run, size * sizeof(int64_t))
        at += <int64_t>size
