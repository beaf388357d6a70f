"""Blocks of rows, for other kernels to cimport."""

cdef Py_ssize_t block_rows(Py_ssize_t rows) noexcept nogil
