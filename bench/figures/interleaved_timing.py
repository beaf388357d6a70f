"""Times of things that are compared, in turns: a slow minute is shared by all."""

from contextlib import ExitStack
from functools import partial

from bench.timing import elapsed, in_turns
from refimpl.lab.apps.preparing import limited_threads
from refimpl.lab.apps.report import TRAINING

PARTS = ("sampling", "aggregation", "weights", "other")


def seconds_in_turns(tasks, rounds, *, meet=int):
    """Return the seconds that each task takes in each round: {name: list of `rounds` floats}.

    A task is a function of the number of the round, from 0, the warm-up's; see `in_turns`. Before
    each task, `meet` waits for the other processes.
    """

    def timed(task, number):
        meet()
        return elapsed(task, number)

    return in_turns({name: partial(timed, task) for name, task in tasks.items()}, rounds, 1)


def steps_in_turns(trainers, rounds, *, steps=1, threads=None, warm_up=1):
    """Return what a step of each trainer takes in each round; then close the trainers.

    `trainers` is {name: Trainer}. A round has `steps` steps of each trainer; `steps` may be {name:
    int}. With sampled subgraphs give the size of the pool: a round then draws the subgraphs that
    it uses. The first `warm_up` rounds do not count. `threads` limits all, or is {name: limit}. The
    result is {name: list of {part: seconds of a step}}, for `PARTS` and their sum, "whole".
    """
    counts = steps if isinstance(steps, dict) else dict.fromkeys(trainers, steps)
    limits = threads if isinstance(threads, dict) else dict.fromkeys(trainers, threads)

    def step(name, _number):
        meter, count = trainers[name].meter, counts[name]
        before = dict(meter.seconds)
        with limited_threads(limits[name]):
            for _ in range(count):
                trainers[name].step()
        spent = {part: (meter.seconds[part] - before[part]) / count for part in TRAINING}
        named = {part: spent.pop(part) for part in PARTS}
        named["other"] += sum(spent.values())
        return named | {"whole": sum(named.values())}

    with ExitStack() as until_measured:
        for trainer in trainers.values():
            until_measured.enter_context(trainer)
        return in_turns({name: partial(step, name) for name in trainers}, rounds, warm_up)


def rows_of_rounds(found, *names, key=None):
    """Return a row for each round of each thing that was measured in turns.

    `found` is {name: list of measurements}. If a name is a tuple, `names` are the columns of its
    parts. Measurements go into the column `key`; without `key` they are dicts of columns.
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
