"""Whether OpenMP's threads stay awake between two kernels.

A thread that spins starts the next kernel at once; to wake a thread that sleeps takes tens of
microseconds. But where other programs need the cores, a thread that spins delays them, and each
kernel waits for a thread that they have pushed from its core. So threads spin on an idle machine,
and soon sleep on a busy one.

GCC's runtime reads GOMP_SPINCOUNT only once. But while it has more threads than the process has
cores, threads spin for 100 turns. So on a busy machine there is one more team, asleep.
"""

import atexit
import os
import threading
from contextlib import suppress
from math import inf
from time import monotonic

from fastimpl import _openmp
from fastimpl._build import max_threads
from fastimpl._forks import has_gcc_runtime, outnumber_cores, team_beside

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows, which has no GCC runtime for our kernels either
    has_gcc_runtime = False

EVERY = 0.1  # seconds from one look at the machine to the next
# Times a second that threads are pushed from a core, and more for each thread: on an idle machine a
# thread was pushed 15 to 60 times, on a core that another program wanted too, 750 times or more.
BUSY, MORE = 300, 50
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
        ask_for(2 * team_beside(self._others))  # twice: ended threads may count for a moment
        self._thread = threading.Thread(target=self._sleep, name="OpenMP team", daemon=True)
        self._thread.start()

    def _sleep(self):
        outnumber_cores(self._others)  # the runtime ends these threads when this one ends
        self._over.wait()

    def end(self):
        self._over.set()
        self._thread.join()


def ask_for(threads):
    """Have this many threads for a moment, or raise: GCC's runtime would end the process."""
    over, begun = threading.Event(), []
    try:
        for _ in range(threads):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            begun.append(thread)
    finally:
        over.set()
        for thread in begun:
            thread.join()


class Spinning:
    """Let threads spin or sleep, by how often they were pushed from a core since the last look.

    Parameters
    ----------
    clock, pushed : callables
        The seconds, and how often threads of this process were pushed from a core.
    team : callable
        Makes a `Team`, or returns None where none is needed.
    """

    def __init__(self, clock, pushed, team):
        self._clock, self._pushed, self._make = clock, pushed, team
        self.begin()

    def begin(self):
        """Begin without a team; another thread may have held the lock when a child was made."""
        self._team, self._calm, self._lock = None, 0, threading.Lock()
        self._time, self._count = self._clock(), self._pushed()

    def look(self):
        """Count again, if the last look is long enough ago, and act on it."""
        now, lock = self._clock(), self._lock
        if now - self._time < EVERY or not lock.acquire(blocking=False):
            return
        try:
            if now - self._time >= EVERY:  # no other thread has looked since
                self._act(now, self._pushed())
        finally:
            lock.release()

    def _act(self, now, count):
        busy = count - self._count > (BUSY + MORE * max_threads()) * (now - self._time)
        self._time, self._count = now, count
        self._calm = 0 if busy else self._calm + 1
        if busy and self._team is None:
            with suppress(RuntimeError):
                self._team = self._make()
        elif self._calm >= CALM:
            self.spin()

    def spin(self):
        """End the team, if there is one."""
        team, self._team = self._team, None
        if team is not None:
            team.end()

    def stop(self):
        """Look no more: an interpreter that ends starts no threads and ends none."""
        with self._lock:
            self.spin()
            self._time = inf


def _team():
    """Return a Team, unless no thread waits for another, or few threads have many cores."""
    threads = max_threads()
    return Team() if threads > 1 and team_beside(threads) <= 2 * threads else None


def _pushed():
    return getrusage(RUSAGE_SELF).ru_nivcsw


def look():
    """Do nothing: the user or another runtime decides how long threads spin."""


if _openmp.left_to_us and has_gcc_runtime:
    _spinning = Spinning(monotonic, _pushed, _team)
    look = _spinning.look
    os.register_at_fork(before=_spinning.spin, after_in_child=_spinning.begin)
    atexit.register(_spinning.stop)
