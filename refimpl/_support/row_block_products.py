"""Dense products whose rows have the same bits wherever they stand, for passes in blocks of rows.

BLAS rounds a row otherwise when other rows stand beside it: by how many there are it chooses
another way to compute, and by its place a row comes to another kernel. OpenBLAS for Haswell, and
so for AMD's processors, has two of them for float32, which take turns every six rows. Nothing
documented forbids that. So within `rows_alike` a dense product is made of products of exactly R
rows, the last one filled up with zeros. R is the largest of a few for which a trial, once for each
shape, gives equal rows equal results; a product of one row has one place only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

SIZES = (192, 8, 1)  # 192 divides by the heights of all tiles that kernels are known to have
RESULTS = 256  # numbers of a row that trials compare, at least
TRIALS = 4  # at least: a column that may differ does so in more than half of them
NARROW = 8  # columns that are computed again together: the width of vectors, or of two

Product: TypeAlias = Callable[..., object]

# Whether such a block is in force: `alike.get()`.
alike: ContextVar[bool] = ContextVar("alike", default=False)


@contextmanager
def rows_alike() -> Iterator[None]:
    """A block in which a row of a dense product depends on nothing but its own factors."""
    token = alike.set(True)
    try:
        yield
    finally:
        alike.reset(token)


class Parts(NamedTuple):
    """How a product is cut.

    Attributes
    ----------
    rows : int
    again : tuple of slices
        Columns that are computed a second time, each by itself.
    """

    rows: int
    again: tuple[slice, ...]


def product_of_parts(
    product: Product,
    A: NDArray[Any],
    B: NDArray[Any],
    C: NDArray[Any],
    bias: NDArray[Any] | None = None,
    **options: Any,
) -> None:
    """Write A B + bias to C by products of R rows each; the bias may be None.

    ``product(A, B, C, R, **options)`` writes A B to C for a multiple of R rows, by products of R;
    it is given the bias where there is one.
    """
    parts = parts_of(product, A.dtype, *B.shape)
    _product(product, A, B, C, parts.rows, bias, options)
    for columns in parts.again:
        some, out = np.ascontiguousarray(B[:, columns]), np.empty((len(A), NARROW), C.dtype)
        own = None if bias is None else bias[columns]
        _product(product, A, some, out[:, : some.shape[1]], parts.rows, own, options)
        C[:, columns] = out[:, : some.shape[1]]


def _product(
    product: Product,
    A: NDArray[Any],
    B: NDArray[Any],
    C: NDArray[Any],
    rows: int,
    bias: NDArray[Any] | None,
    options: dict[str, Any],
) -> None:
    """As `product_of_parts`, for R rows and all columns alike."""
    if bias is not None:
        options = {**options, "bias": bias}
    whole = len(A) - len(A) % rows
    if whole:
        product(A[:whole], B, C[:whole], rows, **options)
    if whole < len(A):
        last, out = np.zeros((rows, A.shape[1]), A.dtype), np.empty((rows, C.shape[1]), C.dtype)
        last[: len(A) - whole] = A[whole:]
        product(last, B, out, rows, **options)
        C[whole:] = out[: len(A) - whole]


@cache
def parts_of(product: Product, dtype: np.dtype[Any], inner: int, cols: int) -> Parts:
    """Return the Parts of products with (inner, cols) matrices: equal rows have had equal results.

    Columns are judged in groups of `NARROW`: what a kernel does otherwise, it does for vectors.
    """
    for rows in SIZES[:-1]:
        groups = _unlike(product, dtype, inner, cols, rows)
        again = tuple(slice(first, min(first + NARROW, cols)) for first in groups)
        if not groups:
            return Parts(rows, ())
        widths = {columns.stop - columns.start for columns in again}
        if not any(_unlike(product, dtype, inner, width, rows) for width in widths):
            return Parts(rows, again)
    return Parts(SIZES[-1], ())


def _unlike(product: Product, dtype: np.dtype[Any], inner: int, cols: int, rows: int) -> list[int]:
    """Return where the groups of columns begin in which equal rows have had unequal results."""
    rng, unlike = np.random.default_rng(0), np.zeros(cols, bool)
    for _ in range(max(TRIALS, -(-RESULTS // max(cols, 1)))):
        A = np.tile(rng.standard_normal(inner).astype(dtype), (rows, 1))
        B, C = rng.standard_normal((inner, cols)).astype(dtype), np.empty((rows, cols), dtype)
        product(A, B, C, rows)
        first = C[0]
        unlike |= (first != C).any(axis=0)
    return sorted(set((np.flatnonzero(unlike) // NARROW * NARROW).tolist()))
