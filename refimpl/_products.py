"""Dense products whose rows have the same bits wherever they stand, for passes in blocks of rows.

BLAS rounds a row otherwise when other rows stand beside it: by how many there are it chooses
another way to compute, and by its place a row comes to another kernel. OpenBLAS for Haswell, and
so for AMD's processors, has two of them for float32, which take turns every six rows. Nothing
documented forbids that. So within `rows_alike` a dense product is made of products of exactly R
rows, the last one filled up with zeros. R is the largest of a few for which a trial, once for each
shape, gives equal rows equal results; a product of one row has one place only.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import numpy as np

SIZES = (192, 8, 1)  # 192 divides by the heights of all tiles that kernels are known to have
RESULTS = 256  # numbers of a row that a trial compares, at least

_alike: ContextVar[bool] = ContextVar("alike", default=False)


@contextmanager
def rows_alike():
    """A block in which a row of a dense product depends on nothing but its own factors."""
    token = _alike.set(True)
    try:
        yield
    finally:
        _alike.reset(token)


def are_alike():
    """Whether such a block is in force."""
    return _alike.get()


def product_of_parts(product, A, B, C, **options):
    """Write A B to C by products of R rows each.

    ``product(A, B, C, R, **options)`` writes A B to C for a multiple of R rows, by products of R.
    """
    rows = size_of_parts(product, A.dtype, *B.shape)
    whole = len(A) - len(A) % rows
    if whole:
        product(A[:whole], B, C[:whole], rows, **options)
    if whole < len(A):
        last, out = np.zeros((rows, A.shape[1]), A.dtype), np.empty((rows, C.shape[1]), C.dtype)
        last[: len(A) - whole] = A[whole:]
        product(last, B, out, rows, **options)
        C[whole:] = out[: len(A) - whole]


@cache
def size_of_parts(product, dtype, inner, cols):
    """Return R for products with (inner, cols) matrices: equal rows have had equal results."""
    rng = np.random.default_rng(0)
    for rows in SIZES[:-1]:
        for _ in range(-(-RESULTS // max(cols, 1))):
            A = np.tile(rng.standard_normal(inner).astype(dtype), (rows, 1))
            B, C = rng.standard_normal((inner, cols)).astype(dtype), np.empty((rows, cols), dtype)
            product(A, B, C, rows)
            if not np.array_equal(C, np.broadcast_to(C[0], C.shape)):
                break
        else:
            return rows
    return SIZES[-1]
