"""Times of things that are compared, in turns: a slow minute is shared by all."""

from contextlib import ExitStack
from functools import partial

from bench.timing import elapsed, in_turns
from refimpl.lab.apps.preparing import limited_threads
from refimpl.lab.apps.report import TRAINING

PARTS = ("sampling", "aggregation", "weights", "other")


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
    limits = threads or {}
    tasks = {
        name: partial(_step_of_a_round, trainer, counts[name], limits.get(name))
        for name, trainer in trainers.items()
    }
    with ExitStack() as until_measured:
        for trainer in trainers.values():
            until_measured.enter_context(trainer)
        return in_turns(tasks, rounds, warm_up=1)


def _step_of_a_round(trainer, steps, threads, _number):
    """Take some steps; return the seconds of one by part."""
    before = dict(trainer.meter.seconds)
    with limited_threads(threads):
        for _ in range(steps):
            trainer.step()
    spent = {part: (trainer.meter.seconds[part] - before[part]) / steps for part in TRAINING}
    named = {part: spent.pop(part) for part in PARTS}
    named["other"] += sum(spent.values())
    return named | {"whole": sum(named.values())}


def epochs_in_turns(trainers, count):
    """Train several models on by turns, epoch by epoch; return the seconds of each epoch.

    Evaluation takes its turn too, but is not counted.

    Parameters
    ----------
    trainers : dict
        {name: trainer}
    count : int

    Returns
    -------
    dict
        {name: list of `count` floats}
    """

    def epoch(trainer, _number):
        before = trainer.meter.seconds["evaluation"]
        seconds = elapsed(trainer.epoch)
        return seconds - (trainer.meter.seconds["evaluation"] - before)

    return in_turns({name: partial(epoch, one) for name, one in trainers.items()}, count)


def rows_of_rounds(found, *names, key=None):
    """Return a row for each round of each thing that was measured in turns.

    Parameters
    ----------
    found : dict
        {name: list of measurements}; a name may be a tuple.
    *names : str
        The columns of the parts of a name.
    key : str, optional
        The column of the measurement; without it, measurements are dicts of columns.
    """
    return [
        {
            **dict(zip(names, name if isinstance(name, tuple) else (name,), strict=True)),
            "round": number,
            **(measured if key is None else {key: measured}),
        }
        for name, rounds in found.items()
        for number, measured in enumerate(rounds)
    ]


def in_words(threads):
    """Return a number of threads in words."""
    return "one thread" if threads == 1 else f"{threads} threads"
