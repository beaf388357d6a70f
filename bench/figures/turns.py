"""Times of things that are compared: measured in turns, so that a slow minute is shared by all."""

import statistics
from time import perf_counter


def seconds_in_turns(tasks, rounds, *, warm_up=1):
    """Return the seconds that each task takes in each round.

    Parameters
    ----------
    tasks : dict
        {name: function}; a function takes the number of the round, from 0, warm-up included.
    rounds, warm_up : int
        Rounds that count, and rounds before them that do not. Each begins with another task.

    Returns
    -------
    dict
        {name: list of `rounds` floats}
    """
    found: dict = {name: [] for name in tasks}
    names = list(tasks)
    for number in range(warm_up + rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            begin = perf_counter()
            tasks[name](number)
            spent = perf_counter() - begin
            if number >= warm_up:
                found[name].append(spent)
    return found


def ratio_in_turns(found, name, over):
    """Return the median, least and largest of `name` over `over`, round by round."""
    ratios = [a / b for a, b in zip(found[name], found[over], strict=True)]
    return statistics.median(ratios), min(ratios), max(ratios)
