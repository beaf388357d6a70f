"""Draws and inner products in C, compiled for each level of x86-64 that this processor runs, and
with code for several of which the loader takes one, as in wheels."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from refimpl.streams import GOLD, below, mix, uniform

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
CC = shutil.which("cc") or shutil.which("gcc")
PROGRAM = """
#include "fastimpl/_draws.h"
#include "fastimpl/_dots.h"
void mix(uint64_t plus, const uint64_t* x, int64_t n, uint64_t* y) { gnn_mix_many(plus, x, n, y); }
void uniform(uint64_t k, const uint64_t* c, int64_t n, double* y) { gnn_uniform_many(k, c, n, y); }
void below(uint64_t k, const uint64_t* c, int64_t most, int64_t n, int64_t* y)
{ gnn_below_many(k, c, most, n, y); }
void keep_f32(const float* x, uint64_t k, uint64_t c, int64_t n, uint64_t least, float s, float* y)
{ gnn_keep_f32(x, k, c, n, least, s, y); }
void keep_f64(
    const double* x, uint64_t k, uint64_t c, int64_t n, uint64_t least, double s, double* y)
{ gnn_keep_f64(x, k, c, n, least, s, y); }
float dot_f32(const float* x, const float* y, int64_t n) { return gnn_dot_f32(x, y, n); }
double dot_f64(const double* x, const double* y, int64_t n) { return gnn_dot_f64(x, y, n); }
"""
COUNTS = [*range(41), 1000]
KEY = 2**64 - 3
X = mix(np.arange(1000, dtype=np.uint64))
X[:4] = 0, 2**64 - 1, 2**63, 2**63 - 1


BUILDS = {  # flags, and what the processor has to have
    "x86-64-v2": (["-march=x86-64-v2"], {"sse4_2"}),
    "clones": (["-march=x86-64-v2", "-DGNN_CLONED"], {"sse4_2"}),
    "x86-64-v3": (["-march=x86-64-v3"], {"avx2", "bmi2", "fma"}),
    "x86-64-v4": (["-march=x86-64-v4"], {"avx512dq", "avx512vl", "avx512bw"}),
}
CPUINFO = Path("/proc/cpuinfo")
HAS = set(CPUINFO.read_text().split() if CPUINFO.exists() else [])


@pytest.fixture(scope="module", params=BUILDS)
def compiled(request, tmp_path_factory):
    """The functions for one level, as a library."""
    chosen, needed = BUILDS[request.param]
    if not needed <= HAS:
        pytest.skip(f"this processor does not run {request.param}")
    if CC is None or not (ROOT / "fastimpl" / "_draws.h").exists():
        pytest.skip("no C compiler, or no source")
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "program.c").write_text(PROGRAM)
    flags = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", f"-I{ROOT}"]
    command = [CC, *flags, *chosen, "program.c", "-o", "program.so"]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        pytest.skip(f"{CC} does not compile {request.param}")
    return ctypes.CDLL(str(folder / "program.so"))


def call(function, *arguments):
    """Call a C function with arrays, integers as 64-bit words, and floats as ctypes has them."""
    function(
        *[
            ctypes.c_void_p(one.ctypes.data)
            if isinstance(one, np.ndarray)
            else ctypes.c_uint64(one)
            if isinstance(one, int)
            else one
            for one in arguments
        ]
    )


@pytest.mark.parametrize("count", COUNTS)
def test_mix_and_uniform(compiled, count):
    words, numbers = np.empty(count, np.uint64), np.empty(count)
    call(compiled.mix, KEY, X, count, words)
    np.testing.assert_array_equal(words, mix(X[:count] + np.uint64(KEY)))
    call(compiled.uniform, KEY, X, count, numbers)
    np.testing.assert_array_equal(numbers, uniform(KEY, X[:count]))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**31, 2**52 - 1, 2**52, 2**52 + 1, 2**53 - 1])
@pytest.mark.parametrize("count", [3, 7, 1000])
def test_below(compiled, n, count):
    found = np.empty(count, np.int64)
    call(compiled.below, KEY, X, n, count, found)
    np.testing.assert_array_equal(found, below(KEY, X[:count], n))


@pytest.mark.parametrize("least", [0, 1, 2**51 + 1, 2**53 - 1, 2**53])
@pytest.mark.parametrize(("name", "dtype"), [("keep_f32", np.float32), ("keep_f64", np.float64)])
def test_what_is_kept(compiled, least, name, dtype):
    scalar = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    values = (uniform(1, X) - 0.5).astype(dtype)
    values[:3] = np.nan, -np.inf, -0.0
    for count in COUNTS:
        found = np.empty(count, dtype)
        call(getattr(compiled, name), values, KEY, 5, count, least, scalar(1.25), found)
        draws = mix(np.uint64(KEY) + np.uint64(GOLD) * np.arange(6, count + 6, dtype=np.uint64))
        kept = (draws >> np.uint64(11)) >= np.uint64(least)
        wanted = np.where(kept, values[:count] * dtype(1.25), dtype(0))
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("name", "dtype"), [("dot_f32", np.float32), ("dot_f64", np.float64)])
def test_inner_products_are_summed_in_one_order(compiled, name, dtype):
    """In groups of 64 bytes, four of them apart, then lane after lane, then what is left."""
    function = getattr(compiled, name)
    function.restype = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    lanes = 64 // dtype().itemsize
    x, y = (uniform(k, X).astype(dtype) for k in (1, 2))
    for count in range(300):
        products, totals = x[:count] * y[:count], np.zeros((4, lanes), dtype)
        fours, groups = count // (4 * lanes), count // lanes
        for group in range(groups):
            totals[group % 4 if group < 4 * fours else 0] += products[group * lanes :][:lanes]
        total = dtype(0)
        for lane in (totals[0] + totals[1]) + (totals[2] + totals[3]):
            total += lane
        for product in products[groups * lanes :]:
            total += product
        arrays = [ctypes.c_void_p(one.ctypes.data) for one in (x, y)]
        assert function(*arrays, ctypes.c_int64(count)) == total
