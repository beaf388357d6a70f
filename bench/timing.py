"""How calls are timed: medians of rounds, contestants in turns.

Nothing of this project is imported, so that a peer's interpreter can load it.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

MIN_ROUNDS = 7


class Times(NamedTuple):
    """Median, least and width of the middle half of some seconds."""

    median: float
    least: float
    iqr: float


def summary(seconds):
    """Return the `Times` of some seconds."""
    low, middle, high = (float(x) for x in np.percentile(seconds, (25, 50, 75)))
    return Times(middle, min(seconds), high - low)


def elapsed(call, *arguments):
    """Return the seconds that a call takes."""
    begin = perf_counter()
    call(*arguments)
    return perf_counter() - begin


def in_turns(tasks, rounds, warm_up=0):
    """Measure tasks one after another, again and again; each round begins with another one.

    Parameters
    ----------
    tasks : dict
        {name: function}; a function takes the number of the round and returns a measurement.
    rounds, warm_up : int
        Rounds that count, and rounds before them that do not.

    Returns
    -------
    dict
        {name: list of its measurements}
    """
    found, names = {name: [] for name in tasks}, list(tasks)
    for number in range(warm_up + rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            measured = tasks[name](number)
            if number >= warm_up:
                found[name].append(measured)
    return found
