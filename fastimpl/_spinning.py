"""Whether OpenMP's threads stay awake between two kernels.

A thread that spins starts the next kernel at once; to wake a thread that sleeps takes tens of
microseconds. But where other programs need the cores, a thread that spins delays them, and each
kernel waits for a thread that they have pushed from its core. So threads spin on an idle machine,
and soon sleep on a busy one.

GCC's runtime reads GOMP_SPINCOUNT only once. But while it has more threads than the process has
cores, threads spin for at most 1000 turns. So on a busy machine there is one more team, asleep.
"""

import os
import threading
from contextlib import suppress
from time import monotonic

from fastimpl import _openmp
from fastimpl._build import max_threads
from fastimpl._forks import has_gcc_runtime, outnumber_cores

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows, which has no GCC runtime for our kernels either
    has_gcc_runtime = False

EVERY = 0.1  # seconds from one look at the machine to the next
BUSY = 400  # times a second that threads are pushed from a core; 30 to 120 on an idle machine
CALM = 10  # looks in a row at an idle machine until threads spin again


class Team:
    """One more team of OpenMP threads, which sleeps until `end`.

    Raises
    ------
    RuntimeError
        If the system gives the process no more threads.
    """

    def __init__(self):
        self._others, self._over = max_threads(), threading.Event()
        self._thread = threading.Thread(target=self._sleep, name="OpenMP team", daemon=True)
        self._thread.start()

    def _sleep(self):
        outnumber_cores(self._others)  # the runtime ends these threads when this one ends
        self._over.wait()

    def end(self):
        self._over.set()
        self._thread.join()


class Spinning:
    """Lets threads spin or sleep, by how often they were pushed from a core since the last look.

    Parameters
    ----------
    clock, pushed : callables
        The seconds, and how often threads of this process were pushed from a core.
    team : callable
        Makes a `Team`.
    """

    def __init__(self, clock, pushed, team):
        self._clock, self._pushed, self._make = clock, pushed, team
        self._team, self._calm, self._lock = None, 0, threading.Lock()
        self._time, self._count = clock(), pushed()

    def look(self):
        """Count again, if the last look is long enough ago, and act on it."""
        seconds = self._clock() - self._time
        if seconds < EVERY or not self._lock.acquire(blocking=False):
            return
        try:
            count = self._pushed()
            busy = count - self._count > BUSY * seconds
            self._time, self._count = self._time + seconds, count
            self._calm = 0 if busy else self._calm + 1
            if busy and self._team is None:
                with suppress(RuntimeError):
                    self._team = self._make()
            elif self._calm >= CALM:
                self.spin()
        finally:
            self._lock.release()

    def spin(self):
        """End the team, if there is one."""
        team, self._team = self._team, None
        if team is not None:
            team.end()


def _pushed():
    return getrusage(RUSAGE_SELF).ru_nivcsw


def look():
    """Do nothing: the user or another runtime decides how long threads spin."""


if _openmp.left_to_us and has_gcc_runtime:
    _spinning = Spinning(monotonic, _pushed, Team)
    look = _spinning.look
    os.register_at_fork(before=_spinning.spin)  # a child has no such team
