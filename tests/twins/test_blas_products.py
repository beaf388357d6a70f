"""Dense products on each BLAS that can be had: against NumPy, and the same bits every time."""

import os
import subprocess
import sys

import numpy as np
import pytest
from comparison import RTOL, threads
from oracles import nearest_bfloat16
from strategies import distinct, even_graph
from threadpoolctl import threadpool_info

from fastimpl import _bfloat16, _blas, _mkl
from fastimpl._blas_choice import Choice, in_use, use
from fastimpl.propagation import (
    matmul_apart_into,
    matmul_into,
    matmul_t_into,
    spmm_matmul_into,
)
from refimpl._support.bfloat16 import bfloat16_products
from refimpl._support.row_block_products import rows_alike

DTYPES = [np.float32, np.float64]
SHAPES = [(1, 1, 1), (1, 60, 41), (7, 3, 65), (64, 512, 41), (130, 33, 17), (513, 100, 129)]
OFFSETS = [0, 8, 16, 40]  # bytes from the start of a cache line

needs_mkl = pytest.mark.skipif(_mkl.installed() is None, reason="the package mkl is not installed")


@pytest.fixture(params=["scipy", pytest.param("mkl", marks=needs_mkl)])
def blas(request):
    """Let the kernels use a BLAS while the test runs."""
    before = in_use()
    functions = _mkl.opened(_mkl.installed()[1]) if request.param == "mkl" else ()
    use(Choice(request.param, "in a test", functions))
    yield request.param
    use(before)


def placed(array, offset):
    """Return a copy of an array that begins so many bytes after a cache line does."""
    memory = np.empty(array.nbytes + 128, np.uint8)
    first = -memory.ctypes.data % 64 + offset
    copy = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def wide(array, more=5):
    """Return a copy of an array that is some columns of a wider one."""
    rows, cols = array.shape
    whole = np.full((rows, cols + 2 * more), np.nan, array.dtype)
    whole[:, more : more + cols] = array
    return whole[:, more : more + cols]


def factors(shape, dtype, transpose_a=False, transpose_b=False):
    """Return A and B of a product (rows, inner, cols), and C."""
    rows, inner, cols = shape
    A = distinct((inner, rows) if transpose_a else (rows, inner), dtype)
    B = distinct((cols, inner) if transpose_b else (inner, cols), dtype, 1)
    return A, B, distinct((rows, cols), dtype, 2)


def assert_product(got, A, B, more=0.0):
    """Check a product but for rounding, which is a share of the terms' sizes."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    size = np.abs(A) @ np.abs(B) + np.abs(more)
    assert np.all(np.abs(got - (A @ B + more)) <= RTOL[got.dtype] * size)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("beta", [0, 1, -0.5])
def test_one_call(blas, shape, dtype, beta):
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            A, B, C = map(wide, factors(shape, dtype, transpose_a, transpose_b))
            whole, more = C.base, beta * C.astype(np.float64)
            _blas.product(A, B, C, transpose_a, transpose_b, beta)
            assert_product(C, A.T if transpose_a else A, B.T if transpose_b else B, more)
            assert np.isnan(whole[:, :5]).all() and np.isnan(whole[:, -5:]).all()


@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_product_that_does_not_fit_is_refused(shape):
    A, B, C = map(wide, factors(shape, np.float32))
    with pytest.raises(ValueError, match="product"):
        _blas.product(A, B[:, 1:] if C.size else B, C)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (1500, 70, 33)])
def test_products_of_layers(blas, shape, dtype):
    for transpose_b in (False, True):
        A, B, C = map(wide, factors(shape, dtype, transpose_b=transpose_b))
        right, old, bias = (
            B.T if transpose_b else B,
            C.astype(np.float64),
            distinct(shape[2], dtype),
        )
        assert_product(matmul_into(A, B, C, transpose_b=transpose_b, add=True), A, right, old)
        assert_product(matmul_into(A, B, C, transpose_b=transpose_b, bias=bias), A, right, bias)
    A, B, _ = map(wide, factors((shape[1], shape[0], shape[2]), dtype, transpose_a=True))
    assert_product(matmul_t_into(A, B, np.empty((shape[1], shape[2]), dtype)), A.T, B)


def results(A, B, G, offset=0):
    """Return the products of a layer, forward and backward, of arrays that begin there."""
    A, B, G = (placed(array, offset * k % 64) for k, array in enumerate((A, B, G), 1))
    return [
        matmul_into(A, B, placed(np.zeros_like(G), offset)).tobytes(),
        matmul_into(G, B, placed(np.zeros_like(A), offset), transpose_b=True).tobytes(),
        matmul_t_into(A, G, placed(np.zeros_like(B), offset)).tobytes(),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (1500, 70, 33), (2100, 256, 41)])
def test_bits_depend_on_neither_threads_nor_memory(blas, shape, dtype):
    A, B, G = factors(shape, dtype)
    with threads(1):
        want = results(A, B, G)
    for count, offset in zip((1, 2, 3, 2), OFFSETS, strict=True):
        with threads(count):
            assert results(A, B, G, offset) == want


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner, cols", [(8, 16), (100, 41), (33, 300), (64, 1)])
def test_a_row_has_the_same_bits_anywhere(blas, dtype, inner, cols):
    A, B, _ = factors((401, inner, cols), dtype)
    order = np.random.default_rng(0).permutation(401)

    def product(A):
        return matmul_into(A, B, np.empty((len(A), cols), dtype))

    with rows_alike():
        whole = product(A)
        assert product(A[order]).tobytes() == whole[order].tobytes()
        assert product(A[-7:]).tobytes() == whole[-7:].tobytes()


@pytest.fixture(params=["tiles", "no tiles"])
def tiles(request):
    """Let products of bfloat16 be on AMX's tiles, or not, while the test runs."""
    if _bfloat16.use_tiles(request.param == "tiles") != (request.param == "tiles"):
        pytest.skip("this processor has no AMX")
    yield
    _bfloat16.use_tiles()


def products_of_rounded(A, B, G):
    """Return products of a layer by all kernels that multiply, and NumPy's of rounded factors."""
    n, inner = A.shape
    graph = even_graph(n, min(2, n))
    data, Y, C, D = np.ones(graph.e, A.dtype), *(np.empty_like(one) for one in (A, G, G))
    apart = np.empty_like(G), np.empty_like(G)
    with bfloat16_products():
        spmm_matmul_into(graph, data, A, Y, B, C, relu=True)
        matmul_apart_into(A, B, -B, *apart)
        got = [
            matmul_into(A, B, D),
            matmul_into(G, B, np.empty_like(A), transpose_b=True),
            matmul_t_into(A, G, np.empty_like(B)),
            *apart,
            C,
        ]
    A, B, G, Y = (nearest_bfloat16(array).astype(np.float64) for array in (A, B, G, Y))
    pairs = [(A, B), (G, B.T), (A.T, G), (A, B), (A, -B), (Y, B)]
    sums = [left @ right for left, right in pairs]
    sums[-1] = np.maximum(sums[-1], 0)
    return got, sums, [np.abs(left) @ np.abs(right) for left, right in pairs]


@pytest.mark.parametrize("shape", [*SHAPES, (1500, 70, 33), (2100, 600, 41)])
def test_products_of_factors_in_bfloat16(blas, tiles, shape):
    A, B, G = factors(shape, np.float32)
    with threads(1):
        got, want, sizes = products_of_rounded(A, B, G)
    for one, right, size in zip(got, want, sizes, strict=True):
        assert np.all(np.abs(one - right) <= 1e-5 * size)
    for count in (2, 3):
        with threads(count):
            again, *_ = products_of_rounded(A, B, G)
        assert [one.tobytes() for one in again] == [one.tobytes() for one in got]


@pytest.mark.skipif(not _bfloat16.use_tiles(), reason="this processor has no AMX")
@pytest.mark.parametrize("shape", [(70, 33, 17), (513, 600, 129)])
def test_a_row_on_tiles_has_the_same_bits_anywhere(shape):
    A, B, C = factors(shape, np.float32)
    with bfloat16_products(), rows_alike():
        whole = matmul_into(A, B, np.empty_like(C))
        for i in (0, 7, len(A) - 1):
            row = matmul_into(A[i : i + 1], B, np.empty_like(C[:1]))
            assert row.tobytes() == whole[i].tobytes()


def test_products_of_float64_are_not_rounded(blas):
    A, B, C = map(wide, factors((70, 33, 17), np.float64))
    with bfloat16_products():
        rounded = matmul_into(A, B, C).tobytes()
    assert matmul_into(A, B, C).tobytes() == rounded


@needs_mkl
def test_mkl_has_no_threads_of_its_own():
    _mkl.opened(_mkl.installed()[1])
    (pool,) = (pool for pool in threadpool_info() if pool["internal_api"] == "mkl")
    assert (pool["threading_layer"], pool["num_threads"]) == ("sequential", 1)


@needs_mkl
@pytest.mark.parametrize("setting", ["Threading_Layer(3)", "Interface_Layer(1)"])
def test_mkl_that_was_set_up_otherwise_is_left_alone(setting):
    code = (
        "import ctypes, os\n"
        "from fastimpl import _mkl\n"
        "path = _mkl.installed()[1]\n"
        f"library = ctypes.CDLL(path); library.MKL_Set_{setting}; library.MKL_Get_Max_Threads()\n"
        "try:\n    _mkl.opened(path)\n"
        "except OSError as error:\n    print('refused:', error, flush=True)\n"
        "os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MINIBATCH_GNN_BLAS": "scipy"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "refused: this program has set up" in done.stdout
