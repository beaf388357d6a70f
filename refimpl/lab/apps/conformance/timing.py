"""How long a program of the protocol takes over a kernel, where its answers are right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import refimpl
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.conformance.encode import UNSEEN, JsonObject, encode, number
from refimpl.lab.apps.conformance.program import Program
from refimpl.lab.apps.conformance.runner import (
    DIFFERS,
    LOST,
    NOT_RUN,
    PASS,
    Verdict,
    ask_all,
    judge,
    longest,
    question,
)
from refimpl.lab.apps.worker import Clock, Lost, NotAsked
from refimpl.lab.backend import find

if TYPE_CHECKING:
    from typing_extensions import Self

    from refimpl.lab.apps.conformance.case import Rule

MISSING, NOT_TIMED = "missing", "not timed"


class Input(NamedTuple):
    """A call whose time is asked for.

    Attributes
    ----------
    id : str
        Names it among the kernel's.
    args : dict
        Argument name -> Python value; those with a default may be left out. As in
        `conformance.case.Case`, `*parts` is one list, and an object has `calls`.
    want : object
        What the kernel returns.
    changed : dict, optional
        Argument name -> value after the call, of arguments that the kernel writes into.
    """

    id: str
    args: dict[str, Any]
    want: object
    changed: dict[str, Any] | None = None


class Timing(NamedTuple):
    """The nanoseconds of each round, or, where there are none, why.

    `said` is "" or begins with "missing" (the program does not have the kernel, or does not do
    this case), "differs", "lost" (it died or hung), "not run" (it was lost too often) or "not
    timed" (it answers rightly, but not with times).
    """

    nanoseconds: tuple[int, ...] = ()
    said: str = ""


class Timer:
    """A program that is asked for times; it is started again when it was lost.

    A kernel is timed only if the program conforms in its vectors, which are asked first, once.
    Use it in a ``with`` block: the program ends with it.

    Parameters
    ----------
    command : list of str
    timeout : float
        Seconds for an answer, with all its rounds. Of all answers together there is no limit: they
        take turns with others.
    env : dict, optional
        Variables of the program's environment, beside those that are there.

    Attributes
    ----------
    name, version : str
        As the program says.

    Raises
    ------
    OSError
        If the program cannot be started.
    Lost
        If it does not answer the greeting.
    """

    def __init__(
        self, command: list[str], *, timeout: float = 60.0, env: dict[str, str | None] | None = None
    ) -> None:
        self._program = Program(command, Clock(timeout), env)
        self.name, self.version = self._program.name, self._program.version
        self._files: dict[str, JsonObject] = {}
        self._found: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._program.close()

    def time(
        self, kernel: str, given: Input | str, rounds: int, *, compare: Rule | None = None
    ) -> Timing:
        """Return the Timing of one call, after one call more whose time does not count.

        Parameters
        ----------
        kernel : str
            A kernel that has vectors.
        given : Input or str
            The name of a case of the vectors, or a call of one's own.
        rounds : int
        compare : Exact or Close, optional
            How the answer is compared; default: as the vectors are.

        Raises
        ------
        ValueError
            If there is no such kernel, or case that returns something, or `rounds` is below 1.
        """
        if rounds < 1:
            raise ValueError(f"rounds must be 1 or more, got {rounds}")
        return self._judged(kernel, given, rounds, compare)

    def check(self, kernel: str, given: Input | str, *, compare: Rule | None = None) -> str:
        """Return "" if the program answers a call rightly, else why not, as `Timing.said`.

        It is not asked for times. Arguments and errors as of `time`.
        """
        return self._judged(kernel, given, 0, compare).said

    def _judged(self, kernel: str, given: Input | str, rounds: int, compare: Rule | None) -> Timing:
        file = self._file(kernel)
        try:
            case = _case(file, given)
        except TypeError as error:  # of `encode`: no program could be asked
            return Timing(said=f"{NOT_TIMED}: {error}")
        if kernel not in self._found:
            self._found[kernel] = _first_fault(ask_all(self._program, file))
        if self._found[kernel]:
            return Timing(said=self._found[kernel])
        return self._asked(file if compare is None else _compared(file, compare), case, rounds)

    def _file(self, kernel: str) -> JsonObject:
        if kernel not in self._files:
            found = vectors.load(patterns=[kernel])
            if len(found) != 1:
                raise ValueError(f"there are no vectors of a kernel {kernel!r}")
            self._files[kernel] = found[0]
        return self._files[kernel]

    def _asked(self, file: JsonObject, case: JsonObject, rounds: int) -> Timing:
        try:
            asked = {**question(file, case), **({"time": rounds} if rounds else {})}
            answer = self._program.ask(asked, longest(case))
            verdict, said, _ = judge(file, case, answer)
        except Lost as loss:
            return Timing(said=f"{LOST}: {loss}")
        except NotAsked as reason:
            return Timing(said=f"{NOT_RUN}: {reason}")
        except RecursionError:
            return Timing(said=f"{DIFFERS}: the answer is nested too deeply")
        if verdict != PASS:
            return Timing(said=f"{DIFFERS if verdict == DIFFERS else MISSING}: {said}")
        if not rounds:
            return Timing()
        if "nanoseconds" not in answer:
            return Timing(said=f"{NOT_TIMED}: the program answers without times")
        return _timing(answer["nanoseconds"], rounds)


def _case(file: JsonObject, given: Input | str) -> JsonObject:
    """Return a case as `vectors.load` does."""
    if isinstance(given, str):
        fitting: list[JsonObject] = [
            c for c in file["cases"] if c["id"] == given and "error" not in c
        ]
        if not fitting:
            raise ValueError(f"{file['function']}: no case {given!r} returns something")
        return fitting[0]
    args = vectors.filled(find(refimpl, file["function"]), given.args)
    shown = {name: encode(value) for name, value in args.items() if name not in UNSEEN}
    case = {"id": given.id, "args": shown, "result": encode(given.want)}
    if given.changed is not None:
        case["changed"] = {name: encode(value) for name, value in given.changed.items()}
    return case


def _compared(file: JsonObject, compare: Rule) -> JsonObject:
    """Return a file with another rule of comparison."""
    return {**file, "compare": {"rule": compare.rule, **compare._asdict()}}


def _first_fault(verdicts: list[Verdict]) -> str:
    """Return why a kernel is not timed, in words; "" if the program conforms in its vectors."""
    for verdict in verdicts:
        if verdict.verdict in (DIFFERS, LOST):
            return f"{verdict.verdict}: {verdict.case}: {verdict.difference}"
        if verdict.verdict == NOT_RUN:
            return f"{NOT_RUN}: {verdict.difference}"
    return "" if any(verdict.verdict == PASS for verdict in verdicts) else MISSING


def _timing(answered: Any, rounds: int) -> Timing:
    """Return the Timing of what a program answered."""
    took = [number(one) for one in answered] if isinstance(answered, list) else []
    if len(took) != rounds or not all(type(one) is int and one >= 0 for one in took):
        said = f"nanoseconds: want {rounds} integers from 0 on, got {short(answered)}"
        return Timing(said=f"{DIFFERS}: {said}")
    return Timing(tuple(took))
