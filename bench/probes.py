"""What the memory of this machine can do at most: two loops in C, compiled for it and called.

NumPy would understate the limits: its `take` does 1,000 million reads a second from a table in
the L1 cache, where the loop that a compiler makes of ``sum += table[at[i]]`` does 3,800 million.
"""

import ctypes
import os
import shlex
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

# A thread keeps its part of the arrays, so there is no barrier between the repeats of triad. The
# reads of gather do not wait for each other, and are at places that nobody can guess.
SOURCE = """
#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
int threads(void) { return omp_get_max_threads(); }
#else
int threads(void) { return 1; }
#endif

/* a = b + r c for r = 0, .., repeats - 1 */
void triad(double *a, const double *b, const double *c, int64_t n, int64_t repeats)
{
#pragma omp parallel
    for (int64_t r = 0; r < repeats; r++) {
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++)
            a[i] = b[i] + (double)r * c[i];
    }
}

/* the sum of table[at[i]] */
int64_t gather(const int32_t *table, const int32_t *at, int64_t n)
{
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += table[at[i]];
    return sum;
}
"""
FLAGS = "-O3", "-march=native", "-shared", "-fPIC"


@cache
def library():
    """Return the compiled probes, with OpenMP where the compiler has it.

    Raises
    ------
    RuntimeError
        If there is no C compiler, or it refuses.
    """
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "probes.so")
        for openmp in (["-fopenmp"], []):
            command = [compiler[0], *FLAGS, *openmp, "-x", "c", "-", "-o", str(target)]
            try:
                done = subprocess.run(command, input=SOURCE, capture_output=True, text=True)
            except OSError as error:
                raise RuntimeError(f"no C compiler ({error.filename}, see CC)") from error
            if done.returncode == 0:
                break
        else:
            raise RuntimeError(f"{shlex.join(command)} failed: {' '.join(done.stderr.split())}")
        probes = ctypes.CDLL(str(target))
    probes.gather.restype = ctypes.c_int64
    return probes


def triad(a, b, c, repeats):
    """Set ``a = b + r * c`` for r = 0, 1, .., repeats - 1; float64 arrays of one length."""
    library().triad(_at(a), _at(b), _at(c), ctypes.c_int64(a.size), ctypes.c_int64(repeats))


def gather(table, at):
    """Return the sum of ``table[at]``; both int32."""
    return library().gather(_at(table), _at(at), ctypes.c_int64(at.size))


def triad_rate(rounds):
    """Return bytes a second of the best of some rounds of ``a = b + r c``, in memory."""
    a, b, c = (np.ones(2**24) for _ in range(3))
    triad(a, b, c, 1)
    return 24 * a.size / min(_elapsed(triad, a, b, c, 1) for _ in range(rounds))


def _elapsed(call, *arguments):
    begin = perf_counter()
    call(*arguments)
    return perf_counter() - begin


def _at(array):
    return ctypes.c_void_p(array.ctypes.data)
