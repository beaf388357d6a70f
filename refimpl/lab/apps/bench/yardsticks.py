"""What this machine can do, measured in the same run as the kernels.

A cache is many times faster than memory, so bandwidth and random reads are measured at several
sizes; a kernel is held against the largest size that is not larger than its own.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from refimpl.lab.apps.bench import inputs, probes
from refimpl.lab.apps.bench.timing import MIN_ROUNDS

KIB = 1024
FOOTPRINTS = [KIB << shift for shift in (4, 6, 8, 10, 11, 12, 14, 16, 18, 20)]  # to 1 GiB
QUICK = [16 * KIB, 256 * KIB]
PRODUCTS = (1024, 1024, 1024), (8192, 256, 256)  # a square product, and a layer's
DTYPES = "float32", "float64"


class Limit(NamedTuple):
    """A rate that the machine reached in its best round.

    Attributes
    ----------
    name, unit : str
    threads : int
    rate : float
        In `unit`.
    footprint : int
        Bytes of the memory; 0 of a dense product.
    shape : str
        Of a dense product.
    """

    name: str
    unit: str
    threads: int
    rate: float
    footprint: int = 0
    shape: str = ""


def measure(threads, limit_to, quick=False):
    """Yield the Limits for each number of threads, and words where some cannot be measured.

    ``limit_to(t)`` gives the context of t threads.
    """
    sizes, rounds = (QUICK, 1) if quick else (FOOTPRINTS, MIN_ROUNDS)
    try:
        probes.library()
    except RuntimeError as error:
        yield f"Bandwidth and random reads were not measured: {error}."
        sizes = []
    for count in threads:
        with limit_to(count):
            used = probes.library().threads() if sizes else count
            if used != count:
                yield f"Bandwidth and random reads were not measured on {count} threads."
            for size in sizes if used == count else []:
                yield Limit("triad", "GB/s", count, triad(size, rounds), size)
            for size in sizes if used == count else []:
                yield Limit("random reads", "M/s", count, random_reads(size, rounds, quick), size)
            for dtype in DTYPES:
                for shape in [(32, 32, 32)] if quick else PRODUCTS:
                    rate, text = product(shape, dtype, rounds), "x".join(map(str, shape))
                    yield Limit(f"GEMM {dtype}", "GFLOP/s", count, rate, 0, text)


def triad(footprint, rounds):
    """Return GB/s of a = b + r c in float64; 24 bytes an element, as STREAM counts."""
    n = footprint // 24
    a, b, c = np.zeros(n), np.linspace(1, 2, n), np.linspace(3, 4, n)
    repeats = max(1, (64 << 20) // footprint) if rounds > 1 else 1
    least = best(probes.triad, rounds, a, b, c, repeats)
    some = slice(None, None, n // 64)
    # the compiler may fuse the multiplication and the addition: one rounding less
    np.testing.assert_allclose(a[some], (b + (repeats - 1) * c)[some], rtol=1e-15)
    return 24e-9 * n * repeats / least


def random_reads(footprint, rounds, quick):
    """Return millions of independent 4-byte reads a second at random places of an int32 table."""
    rng = np.random.default_rng(inputs.SEED)
    table = np.arange(footprint // 4, dtype=np.int32)
    reads = 1 << 20 if footprint <= 16 << 20 else 1 << 24  # or the places read fit in a cache
    at = rng.integers(0, table.size, reads >> (8 if quick else 0), dtype=np.int32)
    least = best(probes.gather, rounds, table, at)
    if probes.gather(table, at) != at.sum(dtype=np.int64):
        raise RuntimeError("the probe of random reads adds up wrongly")
    return 1e-6 * at.size / least


def product(shape, dtype, rounds):
    """Return GFLOP/s of NumPy's BLAS on (rows x inner) (inner x cols)."""
    rows, inner, cols = shape
    A, B = inputs.normal((rows, inner), 1, dtype), inputs.normal((inner, cols), 2, dtype)
    C = np.empty((rows, cols), dtype)
    least = best(np.matmul, rounds, A, B, C)
    want = np.einsum("ik,kj->ij", A[:8].astype(np.float64), B.astype(np.float64))
    np.testing.assert_allclose(C[:8], want, atol=1e-3 if dtype == "float32" else 1e-10)
    return 2e-9 * rows * inner * cols / least


def best(call, rounds, *arguments):
    """Return the seconds of the best round, after one that does not count."""
    call(*arguments)
    found = []
    for _ in range(rounds):
        begin = perf_counter()
        call(*arguments)
        found.append(perf_counter() - begin)
    return max(min(found), 1e-9)
