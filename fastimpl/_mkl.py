"""Intel's MKL, opened at run time where its package is installed, for the kernels to call."""

import ctypes
import os
import re
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from refimpl._support.thread_limits import blas_was_loaded

LIBRARY = re.compile(r"(lib)?mkl_rt[.0-9]*\.(so|dll|dylib)[.0-9]*")  # it opens the others
SEQUENTIAL, LP64, AUTO = 1, 0, 2  # MKL's numbers: no threads, integers of 32 bits, any processor


class Functions(NamedTuple):
    """Where a library's products are in memory, as Fortran calls them."""

    sgemm: int
    dgemm: int
    gemm_bf16bf16f32: int  # factors in bfloat16, sums in float32


def installed():
    """Return version and path of the MKL that pip installed for this Python, or None."""
    try:
        package = metadata.distribution("mkl")
    except metadata.PackageNotFoundError:
        return None
    found = [file for file in package.files or () if LIBRARY.fullmatch(file.name)]
    return (package.version, str(found[0].locate().resolve())) if found else None


def opened(path):
    """Return the `Functions` of an MKL that computes on the caller's thread.

    Each call of the same function with the same numbers then has the same bits, wherever in memory
    they are: MKL promises it in its mode for reproducible results.

    Raises
    ------
    OSError
        If it is no such library, or another part of this program has set it up otherwise.
    """
    if hasattr(os, "add_dll_directory"):  # on Windows, for the libraries that it opens in turn
        os.add_dll_directory(str(Path(path).parent))
    library = ctypes.CDLL(path)
    try:
        # The first calls of all: any other one settles how it computes.
        threading = library.MKL_Set_Threading_Layer(SEQUENTIAL)
        interface = library.MKL_Set_Interface_Layer(LP64)
        refused = library.MKL_CBWR_Set(AUTO)
        found = Functions(*(address(getattr(library, name)) for name in Functions._fields))
        if not has_bfloat16():
            found = found._replace(gemm_bf16bf16f32=0)
    except AttributeError as error:
        raise OSError(f"{path} is no MKL: {error}") from error
    blas_was_loaded()
    if (threading, interface, refused) != (SEQUENTIAL, LP64, 0):
        raise OSError(f"this program has set up {path} for threads or 64-bit integers before")
    return found


def has_bfloat16():
    """Return whether the processor has instructions for bfloat16, where the system tells."""
    info = Path("/proc/cpuinfo")
    words = set(info.read_text().split()) if info.exists() else set()
    return bool(words & {"avx512_bf16", "amx_bf16"})


def address(function):
    """Return where a function of an opened library is in memory."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
