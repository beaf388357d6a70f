"""Asking a student's file the cases of an exercise, as the pytest plugin asks a package."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from refimpl.lab.apps.conformance.case import EXACT
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.runner import PASS, judge, longest
from refimpl.lab.apps.conformance.showing import CaseCheck, check_case
from refimpl.lab.apps.course.student import PLACE
from refimpl.lab.apps.worker import Clock, Lost, NotAsked, Worker, this_python

if TYPE_CHECKING:
    from typing_extensions import Self

    from refimpl.hints import Absent, FilePath
    from refimpl.lab.apps.course.exercise import Exercise

SECONDS, SPARE, TOTAL = 5.0, 25.0, 300.0
MOST_STOPS = 2  # times that a file may hang or die before the rest is not asked
RUNNING = re.compile(f'File "{PLACE}", line ([0-9]+)')
WALK = re.compile(r"result\.(popped|pushed)\[(\d+)\]")
STATE = re.compile(r"states\[(\d+)\]")


class Checked(NamedTuple):
    """All that was asked.

    Attributes
    ----------
    results, refusals : list of CaseCheck
        Of the cases that have an answer, and of those that must be refused.
    trouble : dict or None
        Why the file cannot be used at all, as `Student` says it.
    unasked : int
        Cases that were not asked any more.
    alike : list of (str, int)
        What known mistakes do that answer the case `shown` as the file did, and in how many of the
        failing cases they do so; the most first.
    twin : list of str
        Functions of the packages that the file's function calls instead of doing their work.
    refuses : bool
        Whether bad arguments that are not refused count.
    """

    results: list[CaseCheck]
    refusals: list[CaseCheck]
    trouble: dict[str, Any] | None = None
    unasked: int = 0
    alike: list[tuple[str, int]] = []
    twin: list[str] = []
    refuses: bool = True

    @property
    def failed(self) -> list[CaseCheck]:
        """The results that are not right."""
        return [one for one in self.results if one.verdict != PASS]

    @property
    def accepted(self) -> list[CaseCheck]:
        """The results of bad arguments that were not refused."""
        return [one for one in self.refusals if one.verdict != PASS]

    @property
    def shown(self) -> CaseCheck:
        """The failure to begin with: one worked by hand before others, then the smallest."""

        def rank(one: CaseCheck) -> tuple[bool, bool, int]:
            return stopped(one), "working" not in one.case, len(json.dumps(one.case["args"]))

        return min(self.failed, key=rank)

    @property
    def is_passed(self) -> bool:
        """Whether all that was asked is right, and the file's own work."""
        wrong = self.trouble or self.failed or self.unasked or self.twin
        if wrong or (self.refuses and self.accepted):
            return False
        return bool(self.results or self.refusals)


def stopped(one: CaseCheck) -> bool:
    """Whether a case made the process hang or end."""
    return "lost" in one.answer


def is_empty(one: CaseCheck) -> bool | Any:
    """Whether nothing is written yet for a case."""
    return one.answer.get("raised", {}).get("type") == "NotImplementedError"


class Asker:
    """A student's file in a supervised process."""

    def __init__(self, exercise: Exercise, path: FilePath, seconds: float = SECONDS) -> None:
        place = os.fspath(Path(path).absolute())
        code = f"serve({exercise.name!r}, {place!r}, {seconds!r})"
        command = this_python(f"from refimpl.lab.apps.course.student import serve; {code}")
        clock = Clock(seconds + SPARE, TOTAL)
        self.exercise, self.stops = exercise, 0
        self._worker: Worker | Absent = None
        try:
            hello = {"hello": exercise.name}
            self._worker = Worker(command, clock, hello=hello, show_errors=False)
            self.trouble = self._worker.greeting.get("trouble")
        except Lost as loss:
            self.trouble = _of_loss(loss)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._worker is not None:
            self._worker.close()

    def check(self, file: dict[str, Any], case: dict[str, Any], **more: Any) -> CaseCheck:
        """Return the CaseCheck of a case; one that ends the process has the answer {"lost": ..}."""
        names = sorted({*case["args"], *file["writes"]})
        size = longest(case) + len(json.dumps(case["args"])) * 16

        def ask(question: dict[str, Any]) -> dict[str, Any] | Any:
            try:
                return self._worker.ask({**question, "writes": names, **more}, size)
            except Lost as loss:
                self.stops += 1
                return _of_loss(loss)
            except NotAsked as reason:
                return {"lost": str(reason), "line": None, "fault": str(reason)}

        return _judged(self.exercise, check_case(ask, file, case))


def _of_loss(loss: Lost) -> dict[str, Any]:
    """Return the answer of a process that hung or ended: the line that ran is in its last words."""
    hung = "Timeout (" in loss.last_words
    line = RUNNING.search(loss.last_words) if hung else None
    said = "it hung" if hung else str(loss)
    return {"lost": said, "line": int(line[1]) if line else None, "fault": said}


def _judged(exercise: Exercise, found: CaseCheck) -> CaseCheck:
    """Return a CaseCheck in which arguments that were changed, and states, count as they should."""
    case, answer = found.case, dict(found.answer)
    changed = answer.get("changed") or {}
    touched = [
        name
        for name, value in case["args"].items()
        if name not in found.file["writes"]
        and name in changed
        and first_difference(value, changed[name], EXACT)
    ]
    if "states" in answer:  # what is called otherwise is not compared
        known = {name for state in case.get("states", ()) for name in state}
        states = [{k: v for k, v in state.items() if k in known} for state in answer["states"]]
        answer["states"] = states
    plain = answer if exercise.is_framed else {k: v for k, v in answer.items() if k != "states"}
    verdict, said, _ = judge(found.file, case, plain)
    if verdict != PASS and not said.startswith("states"):
        said = _first_step(case, answer) or said
    if verdict == PASS and touched:
        names = ", ".join(touched)
        verdict, said = "differs", f"the answer is right, but the arguments {names} were changed"
    return CaseCheck(found.file, case, answer, verdict, said)


def _first_step(case: dict[str, Any], answer: dict[str, Any]) -> str | None:
    """Return the difference in the first step of a sample that differs, as `judge` says it."""
    want, got = (_log(one.get("result")) for one in (case, answer))
    for step, (theirs, ours) in enumerate(zip(want, got, strict=False)):
        for name, a, b in zip(("popped", "pushed"), theirs, ours, strict=True):
            if a != b:
                return f"result.{name}[{step}]: want {a}, got {b}"
    return None


def _log(result: object) -> list[tuple[Any, ...]]:
    """Return the pairs of nodes that left and came in the steps of a sample; [] of all else."""
    fields = result.get("fields", {}) if isinstance(result, dict) else {}
    parts = [fields.get(name) for name in ("popped", "pushed")]
    data = [part.get("data", []) if isinstance(part, dict) else [] for part in parts]
    return list(zip(*data, strict=False))


def check(
    exercise: Exercise, asker: Asker, *, only: str | None = None, errors: bool = False
) -> Checked:
    """Ask a student's file the cases of an exercise; return a `Checked`.

    Bad arguments are asked last, once all other cases pass.

    Parameters
    ----------
    exercise : Exercise
    asker : Asker
    only : str, optional
        The id of the only case.
    errors : bool
        Whether bad arguments that are not refused count. They do where they are asked alone, and
        in an exercise on them.
    """
    file = exercise.vectors(only)
    if asker.trouble is not None:
        return Checked([], [], asker.trouble)
    cases = [case for case in file["cases"] if "error" not in case]
    refuses = errors or exercise.refuses or not cases
    found = Checked(_ask_all(asker, file, cases), [], refuses=refuses)
    found = found._replace(unasked=len(cases) - len(found.results))
    if found.failed:
        return found._replace(alike=known_mistakes(exercise, asker, found))
    if found.results:
        small = min(found.results, key=lambda one: len(json.dumps(one.case["args"])))
        twin = asker.check(file, small.case, watch=True).answer.get("twin", [])
        found = found._replace(twin=twin)
    bad = [case for case in file["cases"] if "error" in case]
    return found._replace(refusals=_ask_all(asker, file, bad))


def _ask_all(asker: Asker, file: dict[str, Any], cases: list[dict[str, Any]]) -> list[CaseCheck]:
    """Return the CaseChecks of cases, up to one that is empty, or too many that stop it."""
    found, before = [], asker.stops
    for case in cases:
        found.append(asker.check(file, case))
        if is_empty(found[-1]) or asker.stops - before >= MOST_STOPS:
            break
    return found


def known_mistakes(exercise: Exercise, asker: Asker, checked: Checked) -> list[tuple[str, int]]:
    """Return which known mistakes answer as the file did; see `Checked.alike`."""
    failed = [one for one in checked.failed if not stopped(one) and not is_empty(one)]
    if checked.shown not in failed:
        return []
    found = []
    for number, mistake in enumerate(exercise.mistakes):
        if not _answers_so(exercise, asker, checked.shown, number):
            continue
        count = sum(_answers_so(exercise, asker, one, number) for one in failed)
        found.append((mistake.did, count))
    return sorted(found, key=lambda pair: -pair[1])


def _answers_so(exercise: Exercise, asker: Asker, ours: CaseCheck, number: int) -> bool:
    """Whether the solution with a known mistake answers a case as the student's file did."""
    theirs = asker.check(ours.file, ours.case, mistake=number).answer
    if "result" not in ours.answer or "result" not in theirs:
        return _refusal(ours.answer) == _refusal(theirs) != ("", "")
    parts = "result", "changed", *(["states"] if exercise.is_framed else [])
    wanted = {name: theirs[name] for name in parts if name in theirs}
    got = {name: ours.answer[name] for name in wanted if name in ours.answer}
    return judge(ours.file, {"id": "", **wanted}, got)[0] == PASS


def _refusal(answer: dict[str, Any]) -> tuple[str, str]:
    """Return the type and the text of what was raised instead of an answer."""
    about = answer.get("raised", {})
    kind = about.get("type", "")
    return kind, "" if kind == "MemoryError" else about.get("text", "")
