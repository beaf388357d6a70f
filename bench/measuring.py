"""Rounds of several implementations of one kernel on one input: checked first, timed in turns."""

import copy
import itertools
import math
from statistics import median
from time import perf_counter
from typing import NamedTuple

import refimpl
from bench.answers import Differs, restored
from bench.inputs import fastest
from refimpl.lab.apps.conformance import vectors

ROUNDS = 7  # at least, of each implementation
SECONDS = 0.2  # at least, in all rounds of an implementation
MOST = 100  # rounds in a question to a program
ROUND = 1e-3  # seconds of a round: shorter calls are repeated in it
SLOW = 1.0  # seconds of a call above which refimpl is not timed on large inputs
COMPILING = 30.0  # seconds of a first call above which no second call estimates the time
REFERENCE = "refimpl"


class Missing(Exception):
    """An implementation does not have the kernel, or not on this input."""


class LeftOut(Exception):
    """An implementation is not timed on this input: why."""


class Outcome(NamedTuple):
    """The seconds of each round, for a call; without rounds, the exception that says why."""

    seconds: list[float]
    error: Exception | None = None


class Calls:
    """The calls of one package: the first is checked, the others are rounds.

    Parameters
    ----------
    package : Package
    bench : Bench
    task : Task
    large : bool
        Whether refimpl is left out if one call takes over a second.

    Raises
    ------
    Missing
        If the package does not have the kernel.
    """

    def __init__(self, package, bench, task, large=False):
        self.name, self.bench, self.task = package.name, bench, task
        self.most = SLOW if large and self.name == REFERENCE else math.inf
        self.call = package.callable(bench, task)
        if self.call is None:
            raise Missing(f"{package.name} has no {bench.kernel}")
        # a call that changes its arguments needs new ones; keys and counters advance in a round
        changing = {} if task.turn is None else task.turn(0)
        self.fresh = not all(isinstance(value, int) for value in changing.values())
        given = [] if self.fresh else [task.arguments(turn) for turn in range(ROUNDS)]
        self._kept, self._turns, self.calls = given, itertools.count(), 1

    def check(self):
        """Refuse a wrong first answer; return the seconds of a call.

        All implementations have the same arguments: an argument that the call may not change is
        restored.
        """
        given = self.task.arguments(0)
        before = copy.deepcopy(given)
        try:
            begin = perf_counter()
            result = self.call(**given)
            seconds = perf_counter() - begin
        finally:
            mine = [name for name in given if name not in written(self.bench, self.task)]
            changed = [name for name in mine if restored(given[name], before[name])]
        if changed:
            raise Differs(f"it changed its argument {changed[0]}")
        self.task.check(result, given, other_than(self.name))
        return seconds

    def prepare(self, seconds=0.0):
        """Choose the number of calls in a round; `seconds` is what the first call took."""
        if seconds > self.most:
            raise LeftOut(f"one call of {self.name} takes {seconds:.1f} seconds")
        if seconds < COMPILING and not self.fresh:  # what is compiled when it is called has been
            (again,) = self.round()
            self.calls = max(1, math.ceil(ROUND / max(again, 1e-7)))

    def round(self):
        """Return a list of the seconds of one round, for a call, after an untimed call."""
        call, warm, *given = self.call, *(self._next() for _ in range(self.calls + 1))
        call(**warm)
        begin = perf_counter()
        for arguments in given:
            call(**arguments)
        return [(perf_counter() - begin) / self.calls]

    def enough(self, seconds):
        """Whether these rounds are enough in number and in time."""
        return len(seconds) >= ROUNDS and sum(seconds) * self.calls >= SECONDS

    def _next(self):
        turn = next(self._turns) % ROUNDS
        return self.task.arguments(turn) if self.fresh else self._kept[turn]


class Answers:
    """The answers of one program, which is asked line by line and takes its own times.

    Parameters
    ----------
    program : Command
    bench : Bench
    task : Task
    """

    def __init__(self, program, bench, task):
        self.name, self.program, self.bench, self.task = program.name, program, bench, task
        self._turns, self._given, self.together = itertools.count(), {}, 1

    def check(self):
        """Refuse a wrong answer, to the vectors or to this input."""
        self._refuse(self.program.check(self.bench, self.task, self._input(0)))
        return 0.0

    def prepare(self, seconds):
        """Choose the number of rounds in a question."""
        (first,) = self.round()
        self.together = max(1, min(MOST, int(SECONDS / ROUNDS / max(first, 1e-7))))

    def round(self):
        """Return the seconds of each round of one question; each has an untimed call before it."""
        turn = next(self._turns) % ROUNDS if self.task.turn is not None else 0
        seconds, said = self.program.rounds(self.bench, self.task, self._input(turn), self.together)
        self._refuse(said)
        return seconds

    def enough(self, seconds):
        """Whether these rounds are those of enough questions."""
        return len(seconds) >= ROUNDS * self.together

    def _input(self, turn):
        if turn not in self._given:
            self._given[turn] = self.program.input(self.bench, self.task, turn)
        return self._given[turn]

    def _refuse(self, said):
        if said:
            verdict, _, why = said.partition(": ")
            raise Differs(why) if verdict in ("differs", "lost") else Missing(why or verdict)


def written(bench, task):
    """Return the names of the arguments that a call may change."""
    if bench.parts:
        return set() if task.turn is None else set(task.turn(0))
    return {name for file in vectors.load(patterns=[bench.kernel]) for name in file["writes"]}


def other_than(name):
    """Return an implementation to compare answers with, or None if there is no other."""
    if name != REFERENCE:
        return refimpl
    return None if fastest() is refimpl else fastest()


def measured(names, make, timed=True):
    """Return {name: Outcome}: check each implementation, then time the correct ones in turns.

    Parameters
    ----------
    names : list of str
    make : callable
        ``make(name)`` returns the `Calls` or `Answers` of an implementation.
    timed : bool
        Whether to time them, or only to check their answers.
    """
    found, ready = {}, {}
    for name in names:
        try:
            runner = make(name)
            seconds = runner.check()
            if timed:
                runner.prepare(seconds)
                ready[name] = runner
            found[name] = Outcome([])
        except NotImplementedError as error:
            found[name] = Outcome([], Missing(str(error)))
        except Exception as error:  # whatever an implementation raises
            found[name] = Outcome([], error)
    return {**found, **in_turns(ready)}


def in_turns(runners):
    """Return {name: Outcome} after a round of each in turn, until each has enough of them.

    Each turn begins with another implementation: a disturbance of the machine meets all of them.
    """
    found = {name: Outcome([]) for name in runners}
    waiting = list(runners)
    while waiting:
        for name in waiting:
            try:
                found[name].seconds.extend(runners[name].round())
            except Exception as error:  # whatever an implementation raises
                found[name] = Outcome([], error)
        turned = waiting[1:] + waiting[:1]
        running = [name for name in turned if found[name].error is None]
        waiting = [name for name in running if not runners[name].enough(found[name].seconds)]
    return {name: _refused_if_coarse(outcome) for name, outcome in found.items()}


def _refused_if_coarse(outcome):
    """Return an outcome; without rounds if most of them took no time at all."""
    if outcome.seconds and not median(outcome.seconds) > 0:
        return Outcome([], Missing("its clock is too coarse: most rounds took 0 ns"))
    return outcome
