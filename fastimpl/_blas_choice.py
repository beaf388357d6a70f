"""Which BLAS the dense products of the kernels call: SciPy's, or MKL where it is faster.

Another BLAS has other last bits. So the choice is made once, when this package is imported, and
where both were timed it is kept in a file: later processes on this machine choose the same.
"""

import hashlib
import json
import math
import os
import secrets
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import get_clock_info, perf_counter, thread_time
from typing import NamedTuple

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from fastimpl import _blas, _mkl
from refimpl._support.processor import processor
from refimpl._support.row_block_products import parts_of
from refimpl._support.thread_limits import one_blas_thread
from refimpl._support.whole_files import replacing

VARIABLE = "MINIBATCH_GNN_BLAS"
FASTER = 1.05  # times as fast as SciPy's: less is not worth other last bits
SIDE = 512  # of the timed products, like that of a layer's blocks
SECONDS = 0.1  # of rounds, but for the last
# Time that other programs had the core does not count, where the system can tell: ranks of one
# machine that start together measure together.
clock = thread_time if get_clock_info("thread_time").resolution < 1e-6 else perf_counter
PRODUCTS = ((False, False), (True, False), (False, True))  # X W, X^T G, G W^T: what is transposed


class Choice(NamedTuple):
    """A BLAS: "scipy" or "mkl", why it is that one, and its functions; none: SciPy's."""

    name: str
    why: str
    functions: tuple[int, ...] = ()


_choice = Choice("scipy", "by default")


def choose():
    """Choose the BLAS of this process.

    Raises
    ------
    ValueError
        If the environment variable has no such value.
    ImportError
        If it asks for MKL and that cannot be used.
    """
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in ("auto", "scipy", "mkl"):
        raise ValueError(f"{VARIABLE} must be auto, scipy or mkl, got {asked!r}")
    found = None if asked == "scipy" else _mkl.installed()
    if asked == "scipy":
        use(Choice("scipy", f"by {VARIABLE}"))
    elif asked == "mkl":
        if found is None:
            raise ImportError(
                f"{VARIABLE} is mkl, but the package mkl is not installed: "
                "pip install 'minibatch-gnn[mkl]'"
            )
        try:
            use(Choice("mkl", f"by {VARIABLE}", _mkl.opened(found[1])))
        except OSError as error:
            raise ImportError(f"{VARIABLE} is mkl, but it cannot be used: {error}") from error
    elif found is None:
        use(Choice("scipy", "the package mkl is not installed"))
    else:
        try:
            _use_faster(*found)
        except OSError as error:
            use(Choice("scipy", f"MKL cannot be used: {error}"))


def use(choice):
    """Let the kernels call a BLAS; no product may be running."""
    global _choice
    _blas.use(*choice.functions)
    parts_of.cache_clear()  # what was tried with another BLAS
    _choice = choice


def in_use():
    """Return the `Choice` that the kernels call."""
    return _choice


def chosen():
    """Return the BLAS of the kernels: name, version, and why it is that one."""
    name, why, _ = _choice
    found = _mkl.installed() if name == "mkl" else None
    return f"{f'mkl {found[0]}' if found else scipys()} ({why})"


@cache
def scipys():
    """Return name, version and kernels of SciPy's BLAS."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    pools = [pool for pool in pools if pool["internal_api"] != "mkl"] or pools
    own = [pool for pool in pools if _is_scipys(pool["filepath"])]  # NumPy may have another one
    if pools:
        pool = min(own or pools, key=lambda pool: pool["filepath"])
        words = [pool.get(word) for word in ("internal_api", "version", "architecture")]
    else:
        built = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        words = [built.get("name"), built.get("version")]
    return " ".join(word for word in words if word)


def _is_scipys(path):
    """Whether a library came with SciPy: in scipy.libs, or scipy/.dylibs."""
    return any(part.startswith("scipy") for part in Path(path).parts[-3:-1])


def _use_faster(version, path):
    """Use MKL if it is faster by the kept ratio; measure, and keep, where there is none."""
    key = {"processor": processor(), "scipy": scipys(), "mkl": version}
    kept, functions = kept_ratio(key), None
    ratio = kept
    if ratio is None:
        functions = _mkl.opened(path)
        ratio = keep(key, measured_ratio(functions))
    speed = f"MKL is {ratio:.2f} times as fast, {'as kept' if kept else 'measured now'}"
    if ratio < FASTER:
        use(Choice("scipy", speed))
    else:
        use(Choice("mkl", speed, functions or _mkl.opened(path)))


def measured_ratio(functions):
    """Return how many times as fast as SciPy's the products of a step are with these functions."""
    rng = np.random.default_rng(0)
    A, B, C = (rng.standard_normal((SIDE, SIDE), np.float32) for _ in range(3))
    sides = {"scipy": (), "mkl": functions}
    best = {(name, kind): math.inf for name in sides for kind in PRODUCTS}
    try:
        with one_blas_thread():
            for name in sides:  # the first call prepares much
                _blas.use(*sides[name])
                _blas.product(A, B, C)
            end = clock() + SECONDS
            while clock() < end:
                for name, kind in best:
                    _blas.use(*sides[name])
                    begin = clock()
                    _blas.product(A, B, C, *kind)
                    best[name, kind] = min(best[name, kind], clock() - begin)
    finally:
        _blas.use()
    seconds = {name: sum(best[name, kind] for kind in PRODUCTS) for name in sides}
    return seconds["scipy"] / seconds["mkl"]


def file_of(key):
    """Return where the ratio for these versions on this processor is kept."""
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "")
        folder = folder if folder.is_absolute() else Path.home() / ".cache"
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=8).hexdigest()
    return Path(folder, "minibatch-gnn", f"blas-{digest}.json")


def kept_ratio(key):
    """Return the ratio that was kept, or None."""
    try:
        held = json.loads(file_of(key).read_bytes())
        ratio = held["ratio"] if held["key"] == key else None
    except (OSError, RuntimeError, ValueError, TypeError, KeyError):  # none, or damaged; no home
        return None
    return ratio if isinstance(ratio, float) and 0 < ratio < math.inf else None


def keep(key, ratio):
    """Keep a ratio; return the one that is kept, another process's if that was first.

    Where nothing can be written, the ratio is this process's alone.
    """
    with suppress(OSError, RuntimeError):
        path = file_of(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_name(f"{path.stem}.{secrets.token_hex(8)}.json")
        with replacing(own) as file:
            file.write(json.dumps({"key": key, "ratio": ratio}).encode())
        try:
            with suppress(OSError):
                os.link(own, path)  # unlike a rename, not in the place of another
            if kept_ratio(key) is None:  # a damaged file, or no links here
                own.replace(path)
        finally:
            own.unlink(missing_ok=True)
    return kept_ratio(key) or ratio
