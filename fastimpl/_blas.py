"""BLAS on one thread: parallelism is OpenMP's, and results never depend on the core count."""

from functools import cache

import scipy.linalg.cython_blas  # noqa: F401 -- loads the BLAS that is to be limited
from threadpoolctl import ThreadpoolController


@cache
def _controller():
    return ThreadpoolController()


def single_threaded_blas():
    """Return a context manager, about 10 microseconds dear, in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
