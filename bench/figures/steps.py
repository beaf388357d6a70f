"""Seconds of training steps by part, of trainers that take turns."""

import statistics
from contextlib import ExitStack
from functools import partial

from bench.figures.turns import seconds_in_turns
from refimpl.lab.apps.preparing import limited_threads
from refimpl.lab.apps.report import TRAINING

PARTS = ("sampling", "aggregation", "weights", "other")


def steps_in_turns(trainers, rounds, *, steps=1, threads=None):
    """Return what a step of each trainer takes in each round; then close the trainers.

    A round that does not count comes first.

    Parameters
    ----------
    trainers : dict
        {name: Trainer}
    rounds : int
    steps : int or dict
        Of a round; where it differs, {name: int}. With sampled subgraphs the size of the pool, so
        that each round draws as many as it uses.
    threads : dict, optional
        {name: the most threads}

    Returns
    -------
    dict
        {name: list of {part: seconds of a step}}, parts being `PARTS` and their sum, "whole"
    """
    counts = steps if isinstance(steps, dict) else dict.fromkeys(trainers, steps)
    limits, found = threads or {}, dict[str, list]((name, []) for name in trainers)
    tasks = {
        name: partial(_round, trainer, counts[name], limits.get(name), found[name])
        for name, trainer in trainers.items()
    }
    with ExitStack() as until_measured:
        for trainer in trainers.values():
            until_measured.enter_context(trainer)
        seconds_in_turns(tasks, rounds)
    return {name: spent[-rounds:] for name, spent in found.items()}


def _round(trainer, steps, threads, found, _number):
    """Take some steps; append to `found` what one of them took."""
    before = dict(trainer.meter.seconds)
    with limited_threads(threads):
        for _ in range(steps):
            trainer.step()
    spent = {part: (trainer.meter.seconds[part] - before[part]) / steps for part in TRAINING}
    named = {part: spent.pop(part) for part in PARTS}
    named["other"] += sum(spent.values())
    found.append(named | {"whole": sum(named.values())})


def median_of(rows, part):
    """Return the median of a column."""
    return statistics.median(row[part] for row in rows)


def middle_of(rows, part):
    """Return the median of a column, and the ends of the middle half of it."""
    values = [row[part] for row in rows]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def in_words(threads):
    """Return a number of threads in words."""
    return "one thread" if threads == 1 else f"{threads} threads"
