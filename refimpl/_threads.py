"""BLAS on one thread: parallelism is OpenMP's, and results never depend on the core count."""

from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0  # blocks, of any Python thread, in which BLAS has to use one thread
_limits: Any = None


@cache
def _controller():
    return ThreadpoolController()


def blas_was_loaded():
    """Look for BLAS libraries anew: to be called after an import that loads one."""
    _controller.cache_clear()


@contextmanager
def one_blas_thread():
    """A block in which BLAS uses one thread, about 10 microseconds dear.

    The limit holds for the whole process, so the first block sets it and the last one lifts it.
    """
    global _users, _limits
    with _lock:
        if _users == 0:
            _limits = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()
