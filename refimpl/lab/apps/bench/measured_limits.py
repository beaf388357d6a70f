"""What this machine can do: the yardstick of the report, measured in the same run.

A cache is many times faster than memory, so bandwidth and random reads are measured at several
sizes; a kernel is held against the largest size that is not larger than its own.
"""

import numpy as np
import pytest

from bench import inputs, probes

KIB = 1024
FOOTPRINTS = [KIB << shift for shift in (4, 6, 8, 10, 11, 12, 14, 16, 18, 20)]  # to 1 GiB
QUICK = 256 * KIB


@pytest.fixture(params=FOOTPRINTS, ids=lambda size: f"{size // KIB}KiB")
def footprint(request, quick):
    """Return the size in bytes of the memory that is measured."""
    if quick and request.param > QUICK:
        return QUICK
    return request.param


@pytest.fixture
def record(benchmark, threads):
    """Return a function that says what is measured, and how much of it a call does."""
    assert probes.library().threads() == threads

    def describe(limit, unit, amount, footprint=0):
        benchmark.group = f"limit | {limit}"
        benchmark.extra_info.update(
            limit=limit, unit=unit, amount=amount, footprint=footprint, threads=threads
        )

    return describe


def test_triad(benchmark, record, footprint):
    """a = b + r c in float64; 24 bytes an element, as STREAM counts (no write-allocate)."""
    n = footprint // 24
    a, b, c = np.zeros(n), np.linspace(1, 2, n), np.linspace(3, 4, n)
    repeats = max(1, (64 << 20) // footprint)
    record("triad", "GB/s", 24e-9 * n * repeats, footprint)
    benchmark(probes.triad, a, b, c, repeats)
    some = slice(None, None, n // 64)
    # the compiler may fuse the multiplication and the addition: one rounding less
    np.testing.assert_allclose(a[some], (b + (repeats - 1) * c)[some], rtol=1e-15)


def test_random_reads(benchmark, record, footprint):
    """Independent 4-byte reads at uniform random places of an int32 table."""
    rng = np.random.default_rng(inputs.SEED)
    table = np.arange(footprint // 4, dtype=np.int32)
    reads = 1 << 20 if footprint <= 16 << 20 else 1 << 24  # or the places read fit in a cache
    at = rng.integers(0, table.size, reads, dtype=np.int32)
    record("random reads", "M/s", 1e-6 * reads, footprint)
    assert benchmark(probes.gather, table, at) == at.sum(dtype=np.int64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (8192, 256, 256)], ids=str)
def test_gemm(benchmark, record, shape, dtype, quick):
    """NumPy's BLAS on (rows x inner) (inner x cols): a square product, and a layer's."""
    rows, inner, cols = (32, 32, 32) if quick else shape
    A, B = inputs.normal((rows, inner), 1, dtype), inputs.normal((inner, cols), 2, dtype)
    C = np.empty((rows, cols), dtype)
    record(f"GEMM {dtype}", "GFLOP/s", 2e-9 * rows * inner * cols)
    benchmark.extra_info["shape"] = [rows, inner, cols]
    benchmark(np.matmul, A, B, out=C)
    some = slice(0, 8)
    expected = np.einsum("ik,kj->ij", A[some].astype(np.float64), B.astype(np.float64))
    np.testing.assert_allclose(C[some], expected, atol=1e-3 if dtype == "float32" else 1e-10)
