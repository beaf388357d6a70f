"""The limits of this machine for memory and products, and the limit that binds a kernel.

A cache is many times faster than memory, so bandwidth and random reads are measured at several
sizes. A kernel is compared with the largest size that is not larger than its own data. A limit is
measured when the first kernel needs it, in the same run as the kernel.
"""

from functools import cache
from time import perf_counter
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bench import inputs, probes

KIB = 1024
FOOTPRINTS = [KIB << shift for shift in (4, 6, 8, 10, 11, 12, 14, 16, 18, 20)]  # to 1 GiB
PRODUCTS = (1024, 1024, 1024), (8192, 256, 256)  # a square product, and a layer's
ROUNDS = 7
# limit, what of a Part it limits, where that happens, scale, unit
MEMORY = (
    ("triad", "bytes", "footprint", 1e9, "GB/s"),
    ("random reads", "random", "table", 1e6, "M/s"),
)
GEMM = ("flops", None, 1e9, "GFLOP/s")


class Bound(NamedTuple):
    """The limit that takes longest for some work: its name and unit, its rate, its seconds."""

    name: str
    unit: str
    rate: float
    seconds: float


def bound(work, threads):
    """Return the Bound of a list of Parts, or None if no limit is known for it."""
    dtype = next((part.dtype for part in work if part.flops), "float32")
    found = []
    for name, amount, size, scale, unit in (*MEMORY, (f"GEMM {dtype}", *GEMM)):
        parts = [
            (getattr(part, amount) / scale, getattr(part, size) if size else 0)
            for part in work
            if getattr(part, amount)
        ]
        rates = [rate(name, threads, where) for _, where in parts]
        if parts and None not in rates:
            least = sum(todo / rate for (todo, _), rate in zip(parts, rates, strict=True))
            found.append(Bound(name, unit, sum(todo for todo, _ in parts) / least, least))
    return max(found, key=lambda one: one.seconds, default=None)


def rate(name, threads, footprint):
    """Return the rate at the largest measured size not above `footprint`, or None."""
    if name.startswith("GEMM"):
        return measured(name, threads, 0)
    fitting = [size for size in FOOTPRINTS if size <= footprint]
    return measured(name, threads, max(fitting, default=FOOTPRINTS[0]))


@cache
def measured(name, threads, footprint):
    """Return a rate that the machine reached in its best round; None without a C compiler."""
    missing = bool(why_no_probes())  # this loads their OpenMP, before it is limited
    with threadpool_limits(limits=threads):
        if name.startswith("GEMM"):
            return max(product(shape, name.split()[1]) for shape in PRODUCTS)
        if missing or probes.library().threads() != threads:
            return None
        return triad(footprint) if name == "triad" else random_reads(footprint)


@cache
def why_no_probes():
    """Return why memory cannot be measured, or ""."""
    try:
        probes.library()
    except RuntimeError as error:
        return str(error)
    return ""


def triad(footprint):
    """Return GB/s of a = b + r c in float64; 24 bytes an element, as STREAM counts."""
    n = footprint // 24
    a, b, c = np.zeros(n), np.linspace(1, 2, n), np.linspace(3, 4, n)
    repeats = max(1, (64 << 20) // footprint)
    least = best(probes.triad, a, b, c, repeats)
    some = slice(None, None, n // 64)
    # the compiler may fuse the multiplication and the addition: one rounding less
    np.testing.assert_allclose(a[some], (b + (repeats - 1) * c)[some], rtol=1e-15)
    return 24e-9 * n * repeats / least


def random_reads(footprint):
    """Return millions of independent 4-byte reads a second at random places of an int32 table."""
    rng = np.random.default_rng(inputs.SEED)
    table = np.arange(footprint // 4, dtype=np.int32)
    reads = 1 << 20 if footprint <= 16 << 20 else 1 << 24  # or the places read fit in a cache
    at = rng.integers(0, table.size, reads, dtype=np.int32)
    least = best(probes.gather, table, at)
    if probes.gather(table, at) != at.sum(dtype=np.int64):
        raise RuntimeError("the probe of random reads adds up wrongly")
    return 1e-6 * at.size / least


def product(shape, dtype):
    """Return GFLOP/s of NumPy's BLAS on (rows x inner) (inner x cols)."""
    rows, inner, cols = shape
    A, B = inputs.normal((rows, inner), 1, dtype), inputs.normal((inner, cols), 2, dtype)
    C = np.empty((rows, cols), dtype)
    least = best(np.matmul, A, B, C)
    want = np.einsum("ik,kj->ij", A[:8].astype(np.float64), B.astype(np.float64))
    np.testing.assert_allclose(C[:8], want, atol=1e-3 if dtype == "float32" else 1e-10)
    return 2e-9 * rows * inner * cols / least


def best(call, *arguments):
    """Return the seconds of the best round, after one that does not count."""
    call(*arguments)
    found = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        call(*arguments)
        found.append(perf_counter() - begin)
    return max(min(found), 1e-9)
