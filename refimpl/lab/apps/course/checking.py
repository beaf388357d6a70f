"""Asking a student's file the questions of an exercise, and judging what it answers."""

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.case import EXACT
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.program import Program
from refimpl.lab.apps.conformance.runner import PASS, judge, longest, question
from refimpl.lab.apps.course.differences import inside, items
from refimpl.lab.apps.course.own_cases import OWN
from refimpl.lab.apps.papers import TITLES
from refimpl.lab.apps.worker import LONGEST, Clock, Lost

SECONDS, SPARE, TOTAL = 5.0, 5.0, 300.0
MOST_STOPS = 2  # times that a file may hang or die before the rest is not asked
PASSED, WRONG, RAISED, FAULT, EMPTY, LATE, LOST, TOUCHED = range(8)


class Outcome(NamedTuple):
    """What became of one case.

    Attributes
    ----------
    case : dict
        Of a file of vectors.
    kind : int
        PASSED; WRONG: another answer; RAISED: a ValueError or TypeError where an answer was due,
        or the other way round; FAULT: some other exception; EMPTY: nothing is written yet; LATE:
        it runs on; LOST: the process ended; TOUCHED: right, but an argument was changed.
    difference : str
        As `judge` says it.
    answer : dict
    """

    case: dict
    kind: int
    difference: str
    answer: dict


class Checked(NamedTuple):
    """All that was asked.

    Attributes
    ----------
    file : dict
        Of vectors, with the cases that the exercise asks.
    ordinary, refusals : list of Outcome
        Of the cases that have an answer, and of those that must be refused.
    trouble : dict or None
        Why the file cannot be used at all.
    unasked : int
        Cases that were not asked any more.
    """

    file: dict
    ordinary: list
    refusals: list
    trouble: dict | None = None
    unasked: int = 0

    @property
    def failed(self):
        """The outcomes of ordinary cases that did not pass."""
        return [one for one in self.ordinary if one.kind != PASSED]

    @property
    def shown(self):
        """The failure to begin with: one worked by hand before others, then the smallest."""

        def rank(outcome):
            worked, size = "working" in outcome.case, len(json.dumps(outcome.case["args"]))
            return outcome.kind in (LATE, LOST), not worked, size

        return min(self.failed, key=rank)

    @property
    def accepted(self):
        """The outcomes of bad arguments that were not refused."""
        return [one for one in self.refusals if one.kind != PASSED]


def questions_of(exercise, only=None):
    """Return the file of vectors of an exercise, with the cases that it asks.

    `only` is the id of a case.
    """
    if exercise.function in OWN:
        file = OWN[exercise.function]()
    else:
        (file,) = vectors.load(patterns=[exercise.function])
    left = [case for case in file["cases"] if not set(case["flags"]) & set(exercise.without)]
    return {**file, "cases": [case for case in left if only in (None, case["id"])]}


def place_in_papers(exercise):
    """Return where an exercise comes from, such as "JPDC'21 Algorithm 2"."""
    source = questions_of(exercise)["source"]
    paper = TITLES.get(source["paper"])
    return f"{paper} {source['place']}" if paper else source["place"]


class Subprocess:
    """A student's file in a process of its own, which is started again when it is lost."""

    def __init__(self, exercise, path, seconds=SECONDS):
        path = Path(os.path.realpath(path))
        code = (
            f"import sys; sys.path[:] = {sys.path!r}\n"
            "from refimpl.lab.apps.course.answering import serve\n"
            f"serve({exercise.name!r}, {os.fspath(path)!r}, {seconds!r})"
        )
        self._command = [sys.executable, "-c", code]
        self._clock = Clock(seconds + SPARE, TOTAL)
        self._program: Program | None = None
        self.stops = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._end()

    def ask(self, asked, longest):
        """Return the answer; one that does not come is "late" or "lost"."""
        try:
            if self._program is None:
                self._program = Program(self._command, self._clock)
            answer = self._program.ask(asked, max(longest, LONGEST))
            answer.pop("id", None)
        except Lost as loss:
            answer = {"fault": str(loss), "lost": str(loss)}
        if "late" in answer or "lost" in answer:
            self.stops += 1
            self._end()
        return answer

    def _end(self):
        if self._program is not None:
            self._program.close()
        self._program = None


def check(exercise, asker, *, only=None, errors=False):
    """Ask `asker` the cases of an exercise; return a `Checked`.

    Bad arguments are asked last, where refusing them is part of the exercise, and only once all
    other cases pass.

    Parameters
    ----------
    exercise : Exercise
    asker : object
        With a method ``ask(question, longest)``: a `Subprocess`, or an `Answering`.
    only : str, optional
        The id of the only case.
    errors : bool
        Whether to ask bad arguments in any case.
    """
    file = questions_of(exercise, only)
    found = Checked(file, [], [])
    trouble = asker.ask({"load": True}, 0)
    trouble.pop("printed", None)  # a file may print while it is loaded
    if trouble:
        return found._replace(trouble=trouble)
    for case in (case for case in file["cases"] if "error" not in case):
        outcome = _ask(asker, file, case, exercise.is_framed)
        found.ordinary.append(outcome)
        if outcome.kind == EMPTY or _gives_up(asker):
            break
    asked = len(found.ordinary)
    bad = [case for case in file["cases"] if "error" in case]
    if not found.failed and (errors or exercise.refuses):
        for case in bad:
            found.refusals.append(_ask(asker, file, case))
            if _gives_up(asker):
                break
    return found._replace(unasked=len(file["cases"]) - len(bad) - asked)


def _gives_up(asker):
    return getattr(asker, "stops", 0) >= MOST_STOPS


def _ask(asker, file, case, in_frame=False, **more):
    answer = asker.ask({**question(file, case), **more}, longest(case))
    plain = {name: value for name, value in answer.items() if name != "states"}
    verdict, difference, _ = judge(file, case, answer if in_frame else plain)
    kind = _kind(verdict, case, answer)
    if kind == WRONG and not difference.startswith("states"):
        difference = _in_first_step(case, answer) or difference
    return Outcome(case, kind, difference, answer)


def _in_first_step(case, answer):
    """Return the difference in the first step of a sample that differs, as `judge` says it."""
    want, got = ({"fields": {"result": one.get("result")}} for one in (case, answer))
    logs = [
        [items(inside(inside(one, "result"), name)) for name in ("popped", "pushed")]
        for one in (want, got)
    ]
    for step in range(max(map(len, logs[0]))):
        for name, theirs, ours in zip(("popped", "pushed"), *logs, strict=True):
            if step < len(ours) and ours[step] != theirs[step]:
                return f"result.{name}[{step}]: want {theirs[step]}, got {ours[step]}"
    return None


def _kind(verdict, case, answer):
    if verdict == PASS:
        return TOUCHED if answer.get("touched") else PASSED
    for name, kind in (("empty", EMPTY), ("late", LATE), ("lost", LOST)):
        if name in answer:
            return kind
    if "error" in answer or "error" in case:
        return RAISED
    return FAULT if "raised" in answer else WRONG


def has_other_answer(outcome):
    """Whether there is an answer that can be compared, and another is wanted."""
    return outcome.kind == WRONG and "result" in outcome.answer


def is_walk(outcome):
    """Whether the right answer is a sample, made step by step."""
    result = outcome.case.get("result")
    return isinstance(result, dict) and result.get("type") == "NodeSample"


def first_state(outcome):
    """Return which state that the student's code showed differs first, from 0; None: there is none.

    Parts that it left out, or called by other names, are not compared.
    """
    pairs = zip(outcome.case.get("states", ()), outcome.answer.get("states", ()), strict=False)
    for number, (want, got) in enumerate(pairs):
        for name in want.keys() & got.keys():
            if first_difference(want[name], got[name], EXACT):
                return number
    return None


def same_as_mistakes(exercise, asker, checked):
    """Return which mistakes of the exercise would have answered as the student's file did.

    Returns
    -------
    list of (int, int)
        The number of a mistake, and in how many of the failing cases its answers are the same, that
        case among them which is shown; the most first.
    """
    found: list[Any] = []
    failed = [one for one in checked.failed if one.kind in (WRONG, RAISED, FAULT)]
    if not failed:
        return []
    for number in range(len(exercise.mistakes)):
        alike = [_answers_so(exercise, asker, checked, number, outcome) for outcome in failed]
        if checked.shown in failed and alike[failed.index(checked.shown)]:
            found.append((number, sum(alike)))
    return sorted(found, key=lambda pair: -pair[1])


def _answers_so(exercise, asker, checked, number, ours):
    """Whether a mistake answers a case as the student's file did."""
    framed = exercise.is_framed
    theirs = _ask(asker, checked.file, ours.case, framed, mistake=number)
    if theirs.kind != ours.kind:
        return False
    if "result" not in ours.answer or "result" not in theirs.answer:
        if ours.answer.get("raised") == "MemoryError":
            return theirs.answer.get("raised") == "MemoryError"
        said = "result", "raised", "text", "returned", "fault"
        return all(ours.answer.get(part) == theirs.answer.get(part) for part in said)
    parts = "result", "changed", *(["states"] if framed else [])
    case = {name: theirs.answer[name] for name in parts if name in theirs.answer}
    plain = {name: ours.answer[name] for name in case if name in ours.answer}
    return judge(checked.file, {"id": "", **case}, plain)[0] == PASS
