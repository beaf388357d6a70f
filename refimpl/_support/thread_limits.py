"""What threads share, kept in order when one is interrupted or the process forks.

BLAS runs on one thread: parallelism is OpenMP's, and results never depend on the core count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, ContextVar
from functools import cache
from threading import RLock, get_ident
from typing import Any, NamedTuple, TypeVar

from threadpoolctl import ThreadpoolController

from refimpl._support import adversarial

R = TypeVar("R")

Threads = adversarial.WorstThreads if adversarial.ON else ThreadPoolExecutor

# One byte, of a call in the background: not 0 once nobody waits for its result. Kernels that run
# without Python's lock look at it, and end.
unwanted: ContextVar[bytearray | None] = ContextVar("unwanted", default=None)

_lock = RLock()  # a signal's handler may fork while its thread has it
_users: dict[int, int] = {}  # Python thread -> its blocks in which BLAS has one thread
_limited: list[tuple[Switch, int]] = []  # the libraries that had more threads, and how many


def in_background(flag: bytearray, function: Callable[..., R], *args: Any) -> R:
    """Call a function that ends early once ``flag[0]`` is not 0; no profile is in force in it."""
    context = Context()
    context.run(unwanted.set, flag)
    return context.run(function, *args)


class Worker:
    """One thread, started when it is first needed, that calls functions one after another.

    OpenMP's limit on threads belongs to the thread that set it: each call runs under the limit
    that its caller has at the time. No profile is in force in the calls.
    """

    def __init__(self) -> None:
        self._libraries: Any = None
        self._begin()

    def _begin(self) -> None:
        self._process, self._unwanted = os.getpid(), bytearray(1)
        self._executor = Threads(1, thread_name_prefix="minibatch-gnn-pool")

    def forked(self) -> bool:
        """Whether this is a child of the process whose thread it was: no call of it ends here."""
        return self._process != os.getpid()

    def start(self, function: Callable[..., R], *args: Any) -> Future[R]:
        """Call ``function(*args)`` in the thread; return the Future of its result."""
        if self.forked():
            self._begin()
        if self._libraries is None:  # now, when the kernels are loaded
            self._libraries = ThreadpoolController().select(user_api="openmp").lib_controllers
        limits = [(library, library.num_threads) for library in self._libraries]
        return self._executor.submit(_call_under, limits, self._unwanted, function, args)

    def close(self) -> None:
        """End the call under way where it can be, forget those that wait, and end the thread."""
        self._unwanted[0] = 1
        if not self.forked():
            self._executor.shutdown(cancel_futures=True)


def _call_under(
    limits: Iterable[tuple[Any, int]],
    flag: bytearray,
    function: Callable[..., R],
    args: tuple[Any, ...],
) -> R:
    for library, threads in limits:
        library.set_num_threads(threads)
    return in_background(flag, function, *args)


class Switch(NamedTuple):
    """How the threads of one BLAS library are read and set."""

    read: Callable[[], int]
    set: Callable[[int], object]


@cache
def _switches() -> list[Switch]:
    """Return the Switch of each BLAS library, and of no OpenMP library: that has other limits."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [_switch(library) for library in found]


def _switch(library: Any) -> Switch:
    """Return the Switch of a library.

    threadpoolctl 3.8 lets only the thread that set the first limit of OpenBLAS set others. So the
    functions of OpenBLAS itself are called, which is also 10 times as fast.
    """
    if library.internal_api == "openblas" and library.threading_layer != "openmp":
        for name in library.check_symbols:
            read = getattr(library.dynlib, name, None)
            write = getattr(library.dynlib, name.replace("_get_num", "_set_num"), None)
            if read is not None and write is not None:
                return Switch(read, write)
    return Switch(library.get_num_threads, library.set_num_threads)


def blas_was_loaded() -> None:
    """Look for BLAS libraries anew: to be called after an import that loads one."""
    _switches.cache_clear()


class one_blas_thread:  # noqa: N801 -- used like a function: with one_blas_thread():
    """A block in which BLAS uses one thread; it costs about a microsecond.

    The limit holds for the whole process, so the first block sets it and the last one lifts it.
    """

    __slots__ = ("_thread",)

    def __enter__(self) -> None:
        self._thread = me = get_ident()
        with _lock:
            if not _users:
                _limit()
            _users[me] = _users.get(me, 0) + 1

    def __exit__(self, *exc_info: object) -> None:
        me = self._thread
        with _lock:
            _users[me] -= 1
            if not _users[me]:
                _leave([me])


def _limit() -> None:
    """Let BLAS use one thread; keep what to set again."""
    for switch in _switches():
        threads = switch.read()
        if threads != 1:
            switch.set(1)
            _limited.append((switch, threads))


def _leave(threads: list[int]) -> None:
    """Forget threads that have no block any more; lift the limit where none is left."""
    for thread in threads:
        del _users[thread]
    if threads and not _users:
        while _limited:
            switch, before = _limited.pop()
            switch.set(before)


def _before_fork() -> None:
    """Let no other thread have the lock, and no limit be half set, in the moment of the fork."""
    _lock.acquire()


def _in_parent() -> None:
    _lock.release()


def _in_child() -> None:
    """Go on with the one thread that is left, its blocks, and a new lock."""
    global _lock
    _lock = RLock()
    _leave([thread for thread in _users if thread != get_ident()])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
