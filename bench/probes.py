"""Compiles probes.c for this machine and calls it.

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

import numpy as np

import fastimpl
from bench.timing import elapsed

SOURCE = Path(__file__).with_name("probes.c")


@cache
def library():
    """Return the compiled probes, with OpenMP where fastimpl has it.

    Raises
    ------
    RuntimeError
        If there is no C compiler, or it refuses.
    """
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    if fastimpl.build_info()["openmp"]:
        flags.append("-fopenmp")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "probes.so")
        command = [compiler[0], *flags, str(SOURCE), "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise RuntimeError(f"the limits need a C compiler (CC): {error}") from error
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stderr}")
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
    return 24 * a.size / min(elapsed(triad, a, b, c, 1) for _ in range(rounds))


def read_rate(rounds):
    """Return random 4-byte reads a second over 1 GiB, the best of some rounds."""
    table = np.arange(2**28, dtype=np.int32)
    at = np.random.default_rng(0).integers(0, table.size, 2**22, dtype=np.int32)
    gather(table, at)
    return at.size / min(elapsed(gather, table, at) for _ in range(rounds))


def _at(array):
    return ctypes.c_void_p(array.ctypes.data)
