"""Sums of rows, for the kernels that aggregate."""

from cython cimport floating
from libc.stdint cimport int32_t, int64_t

cdef extern from "fastimpl/_aggregate.h":
    cdef enum:
        PART_BYTES "GNN_PART_BYTES"
    ctypedef struct Sum "gnn_sum":
        const int32_t* indices
        const void* data
        const void* bias
        bint relu
    void row_f32 "gnn_row_f32"(
        const Sum*, int64_t begin, int64_t end, const float* X, Py_ssize_t step, float* y,
        Py_ssize_t f
    ) noexcept nogil
    void row_f64 "gnn_row_f64"(
        const Sum*, int64_t begin, int64_t end, const double* X, Py_ssize_t step, double* y,
        Py_ssize_t f
    ) noexcept nogil
    void part_f32 "gnn_part_rows_f32"(
        const Sum*, const int64_t* start, const int64_t* end, int64_t rows, const float* packed,
        Py_ssize_t part, float* Y, Py_ssize_t step
    ) noexcept nogil
    void part_f64 "gnn_part_rows_f64"(
        const Sum*, const int64_t* start, const int64_t* end, int64_t rows, const double* packed,
        Py_ssize_t part, double* Y, Py_ssize_t step
    ) noexcept nogil
    void pack_f32 "gnn_pack_f32"(
        const float* X, Py_ssize_t step, int64_t rows, Py_ssize_t part, float* packed
    ) noexcept nogil
    void pack_f64 "gnn_pack_f64"(
        const double* X, Py_ssize_t step, int64_t rows, Py_ssize_t part, double* packed
    ) noexcept nogil


cdef inline void sum_row(
    const Sum* sums, int64_t begin, int64_t end, const floating* X, Py_ssize_t step,  # IN
    floating* y,  # OUT
    Py_ssize_t f  # IN
) noexcept nogil:
    if floating is double:
        row_f64(sums, begin, end, X, step, y, f)
    else:
        row_f32(sums, begin, end, X, step, y, f)


cdef inline Py_ssize_t step_of(const floating[:, :] X) noexcept nogil:
    return X.strides[0] // <Py_ssize_t>sizeof(floating)
