"""Kernels of a layer one right after another, once everything that Python does for them is done.

OpenMP's threads sleep some tens of microseconds after a kernel, and waking one takes as long. What
Python does between two kernels takes longer still: kernels leave little of it in the caches.
"""

from contextvars import ContextVar

from fastimpl._spinning import look
from refimpl._support.thread_limits import one_blas_thread
from refimpl.profiling import metered, timed

_waiting: ContextVar[list | None] = ContextVar("kernels that wait", default=None)


class chained:
    """A block whose kernels wait for its end; what they write is not to be read in it."""

    def __enter__(self):
        self._calls: list = []
        self._token = _waiting.set(self._calls)

    def __exit__(self, kind, *_):
        _waiting.reset(self._token)
        look()
        if kind is None:
            with one_blas_thread():
                for call in self._calls:
                    _at_once(*call)


def run(part, kernel, *arguments):
    """Call a kernel now, or at the end of the `chained` block; its time is that of `part`.

    Parameters
    ----------
    part : str or None
        One of `refimpl.profiling.PARTS`: "weights" where the BLAS may be called. None where the
        call sees to its time, and to the threads of the BLAS, by itself.
    kernel : callable
        What it returns is lost.
    """
    calls = _waiting.get()
    if calls is not None:
        calls.append((part, kernel, arguments))
        return
    if part == "weights":
        with one_blas_thread():
            _at_once(part, kernel, arguments)
    else:
        _at_once(part, kernel, arguments)


def _at_once(part, kernel, arguments):
    if part is None or not metered():
        kernel(*arguments)
        return
    with timed(part):
        kernel(*arguments)
