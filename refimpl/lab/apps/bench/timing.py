"""How calls are timed: medians of rounds, contestants in turns."""

import math
from time import perf_counter
from typing import NamedTuple

import numpy as np

MIN_ROUNDS = 7
MAX_ROUNDS = 30 * MIN_ROUNDS
SECONDS = 0.5  # a contestant goes on until then, but not under MIN_ROUNDS
PATIENCE = 3.0  # seconds of a call that is not repeated
LEAST = 1e-4  # seconds of a round: shorter calls are repeated in it


class Times(NamedTuple):
    """Median, least and width of the middle half of some seconds, and how many there were."""

    median: float
    least: float
    iqr: float
    rounds: int


def summary(seconds):
    """Return the `Times` of some seconds."""
    low, middle, high = (float(x) for x in np.percentile(seconds, (25, 50, 75)))
    return Times(middle, float(min(seconds)), high - low, len(seconds))


class Stopwatch:
    """Times of one contestant at one task.

    Parameters
    ----------
    call : callable
    arguments : callable
        ``arguments(turn)`` returns those of a call by name; turns go from 0 to MIN_ROUNDS - 1.
    fresh : bool
        Whether each call needs arguments of its own.
    """

    def __init__(self, call, arguments, fresh):
        self.call, self.arguments, self.fresh = call, arguments, fresh
        self.seconds, self.calls, self.together = [], 1, 1

    def estimate(self, seconds):
        """Decide from the seconds of a call how many go into a round, and how many follow."""
        if not self.fresh:
            self.calls = max(1, math.ceil(LEAST / max(seconds, 1e-7)))
        a_round = max(seconds * self.calls, 1e-7)
        self.together = max(1, min(MAX_ROUNDS, int(SECONDS / a_round)) // MIN_ROUNDS)

    def once(self, turn):
        """Return the seconds of a call, and its result and its arguments."""
        arguments = self.arguments(turn)
        begin = perf_counter()
        result = self.call(**arguments)
        return perf_counter() - begin, result, arguments

    def round(self, number):
        """Do the rounds of one turn."""
        for i in range(self.together):
            arguments = self.arguments((number + i) % MIN_ROUNDS)
            call, calls = self.call, range(self.calls)
            begin = perf_counter()
            for _ in calls:
                call(**arguments)
            self.seconds.append((perf_counter() - begin) / self.calls)


def in_turns(watches):
    """Do MIN_ROUNDS turns of all Stopwatches by name; each begins with another of them.

    ``watches`` is {name: (stopwatch, limit)}; a round runs within the context ``limit()``. Returns
    {name: exception} of those that failed, which are left out from then on.
    """
    failed: dict = {}
    for number in range(MIN_ROUNDS):
        names = [name for name in watches if name not in failed]
        first = number % max(1, len(names))
        for name in names[first:] + names[:first]:
            watch, limit = watches[name]
            try:
                with limit():
                    watch.round(number)
            except Exception as error:  # whatever an implementation raises
                failed[name] = error
    return failed
