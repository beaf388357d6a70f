"""refimpl/propagation.py on kernels, and the products that the layers are made of."""

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 -- the BLAS of the kernels

from fastimpl import _propagation
from fastimpl._twin import twin
from refimpl._threads import blas_was_loaded, one_blas_thread
from refimpl.profiling import timed
from refimpl.propagation import product_arguments

blas_was_loaded()


@twin
def spmm(graph, data, X):
    data, X = product_arguments(graph, data, X)
    return spmm_into(graph, data, X, np.empty_like(X))


@timed("aggregation")
def spmm_into(graph, data, X, Y):
    """Write A X to Y and return it; both may be some columns of a wider array."""
    _propagation.spmm(graph.indptr, graph.indices, data, X, Y)
    return Y


@timed("weights")
def matmul_into(A, B, C, *, transpose_a=False, transpose_b=False, add=False):
    """Write op(A) op(B) to C (or add it) and return C; each may be columns of a wider array."""
    with one_blas_thread():
        _propagation.matmul(A, transpose_a, B, transpose_b, C, add)
    return C
