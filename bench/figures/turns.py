"""Times of things that are compared: measured in turns, so that a slow minute is shared by all."""

import statistics
from functools import partial

from bench.timing import elapsed, in_turns


def seconds_in_turns(tasks, rounds, *, warm_up=1):
    """Return the seconds that each task takes in each round: {name: list of `rounds` floats}.

    Parameters
    ----------
    tasks : dict
        {name: function}; a function takes the number of the round, from 0, warm-up included.
    rounds, warm_up : int
        Rounds that count, and rounds before them that do not. Each begins with another task.
    """
    timed = {name: partial(elapsed, task) for name, task in tasks.items()}
    return in_turns(timed, rounds, warm_up)


def ratio_in_turns(found, name, over):
    """Return the median, least and largest of `name` over `over`, round by round."""
    ratios = [a / b for a, b in zip(found[name], found[over], strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)
