"""What `exercise check` says of a student's file."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.conformance.runner import PASS
from refimpl.lab.apps.conformance.showing import value_lines
from refimpl.lab.apps.course.checking import STATE, WALK, is_empty, stopped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refimpl.lab.apps.conformance.showing import CaseCheck
    from refimpl.lab.apps.course.checking import Checked
    from refimpl.lab.apps.course.exercise import Exercise

COMMAND = "minibatch-gnn exercise"
WIDTH = 96
MOST_PRINTED, MOST_BAD, MOST_NAMED = 12, 8, 6  # lines, bad calls and cases that are shown
ERRORS = {"value": "ValueError", "type": "TypeError"}


def wrapped(text: str, first: str = "", then: str = "") -> list[str]:
    """Return a text in lines."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def lines_on(exercise: Exercise, file: str, checked: Checked) -> list[str]:
    """Return the lines that say how a file did.

    Parameters
    ----------
    exercise : Exercise
    file : str
        As the student named it.
    checked : Checked
    """
    hint = ["", f"A hint: {COMMAND} hint {exercise.name}"]
    if checked.trouble is not None:
        return wrapped(_trouble(exercise, file, checked.trouble))
    failed = checked.failed
    if failed and all(is_empty(one) for one in failed):
        return [*_nothing_yet(exercise, file, checked), *hint]
    if failed:
        return [*_score(file, checked), "", *_failure(checked), *hint]
    if not checked.results:
        return _alone(file, checked)
    return [*_score(file, checked), *_own_work(exercise, checked), *_next(checked)]


def _trouble(exercise: Exercise, file: str, trouble: dict[str, Any]) -> str:
    """Return why no function of a file can be called, in a sentence."""
    name = exercise.function
    if "lost" in trouble:
        how = "hangs" if trouble["lost"] == "it hung" else f"ends Python ({trouble['lost']})"
        return f"{file} {how} when it is loaded{_in_line(trouble)}."
    if "twin" in trouble:
        return f"{name} of {file} is {trouble['twin'][0]} itself: write the steps of {name}."
    if trouble.get("missing"):
        return f"{file} has no function called {name}: keep the name that `start` gave it."
    if trouble.get("no_python"):
        return f"{file} is not Python yet: {trouble['text']}{_in_line(trouble)}."
    if trouble["type"] == "SystemExit":
        return f"{file} ends Python when it is loaded{_in_line(trouble)}: leave that out."
    return f"{file} cannot be loaded: {_raised(trouble)}."


def _in_line(about: dict[str, Any]) -> str:
    return f", in line {about['line']}" if about.get("line") else ""


def _raised(about: dict[str, Any]) -> str:
    """Return an exception in words: its type, its line and its text."""
    where = f" in line {about['line']}" if about.get("line") else ""
    return f"{about['type']}{where}{': ' if about['text'] else ''}{about['text']}"


def _nothing_yet(exercise: Exercise, file: str, checked: Checked) -> list[str]:
    about = checked.failed[0].answer["raised"]
    most = "Nothing" if len(checked.results) == len(checked.failed) else "Not all"
    return wrapped(
        f"{most} is written yet: replace `raise NotImplementedError(..)`{_in_line(about)} of "
        f"{file} by your code. The docstring says what the function takes and returns."
    )


def _score(file: str, checked: Checked) -> list[str]:
    """Return how many cases pass, and which of them hung or ended the process."""
    passed, asked = len(checked.results) - len(checked.failed), len(checked.results)
    every = "all " if passed == asked and not checked.unasked else ""
    text = f"{file}: {every}{passed} of {asked} cases pass."
    for what, hung in (("hung", True), ("ended the process", False)):
        names = [
            one.case["id"]
            for one in checked.failed
            if stopped(one) and (one.answer["lost"] == "it hung") == hung
        ]
        if names:
            text += f" {len(names)} {what}: {', '.join(names[:MOST_NAMED])}."
    if checked.unasked:
        text += f" {checked.unasked} more were not asked."
    return wrapped(text)


def _failure(checked: Checked) -> list[str]:
    """Return the lines on the failing case to begin with."""
    one = checked.shown
    lines = wrapped(f"Case {one.case['id']}: {_what_happened(one)}")
    for text in [*_known_mistakes(checked), *_advice(one)]:
        lines += wrapped(text, "- ", "  ")
    lines += ["", *one.lines()]
    lines += _before_step(one)
    if one.answer.get("printed"):
        printed = one.answer["printed"].splitlines()
        more = [".."] if len(printed) > MOST_PRINTED else []
        shown = [f"  {line[:200]}" for line in [*printed[:MOST_PRINTED], *more]]
        lines += ["", "What your code printed", *shown]
    return lines


def _what_happened(one: CaseCheck) -> str:
    """Return what came instead of the right answer, in a sentence."""
    answer = one.answer
    if stopped(one):
        where = f" It was in line {answer['line']}." if answer["line"] else ""
        if answer["lost"] == "it hung":
            return f"your code still ran when its time was over.{where}"
        return f"your code ended the process: {answer['lost']}."
    if answer.get("raised"):
        return f"an answer is wanted, and your code raised {_raised(answer['raised'])}."
    if "fault" in answer:
        return f"{answer['fault']}."
    if step := WALK.match(one.said):
        which = "leaves" if step[1] == "popped" else "comes"
        said = one.said.partition(": ")[2]
        return f"in step {int(step[2]) + 1} another node {which}: {said}."
    if step := STATE.match(one.said):
        when = f"after step {step[1]}" if int(step[1]) else "before the first step"
        return f"{when}: {one.said}."
    return f"{one.said}."


def _known_mistakes(checked: Checked) -> Iterator[str]:
    """Yield which known mistakes give the same answers."""
    failed = [one for one in checked.failed if not stopped(one) and not is_empty(one)]
    for did, count in checked.alike:
        if count < checked.alike[0][1]:
            return
        where = "In this case"
        if count == len(failed):
            where = "In each failing case"
        elif count > 1:
            where = f"In this case, and in {count} of {len(failed)} failing cases in all,"
        yield f"{where} the answer is that of a solution that {did}."


def _advice(one: CaseCheck) -> Iterator[str]:
    """Yield what to do about some exceptions."""
    about = one.answer.get("raised", {})
    if about.get("type") == "TypeError" and about["line"] is None:
        yield "Keep the arguments as they were: same names, same order."
    if about.get("type") == "MemoryError":
        yield "The code asks for more memory than there is."


def _before_step(one: CaseCheck) -> list[str]:
    """Return the reference's state before the step of a walk that differs, where it is known."""
    step, states = WALK.match(one.said), one.case.get("states", ())
    if step is None or int(step[2]) >= len(states) or one.answer.get("states"):
        return []
    number = int(step[2])
    lines = value_lines({"fields": states[number]})
    return ["", f"before step {number + 1}, in the reference", *(f"  {line}" for line in lines)]


def _own_work(exercise: Exercise, checked: Checked) -> list[str]:
    """Return the line on a function that only calls the one of the package."""
    if not checked.twin:
        return []
    names = " and ".join(checked.twin)
    return wrapped(
        f"The answers are those of {names}, which your code calls. Write the steps of "
        f"{exercise.function} instead."
    )


def _next(checked: Checked) -> list[str]:
    """Return what to write next, once all answers are right: checks of arguments."""
    asked, bad = len(checked.refusals), checked.accepted
    if checked.twin or not asked:
        return []
    if not bad:
        return [f"Bad arguments: all {asked} are refused as they should be."]
    counts = "" if checked.refuses else " These checks are not part of this exercise."
    lines = wrapped(
        f"Write next: checks of the arguments. {len(bad)} of {asked} calls with bad arguments "
        f"are not refused as they should be.{counts}"
    )
    usual = _usual([one.case["args"] for one in checked.refusals])
    for one in bad[:MOST_BAD]:
        lines += wrapped(_bad(one, usual), "  ", "      ")
    return [*lines, f"  .. and {len(bad) - MOST_BAD} more"] if len(bad) > MOST_BAD else lines


def _alone(file: str, checked: Checked) -> list[str]:
    """Return the lines on a bad argument that was asked alone."""
    (one,) = checked.refusals
    said = f"{file}: the bad argument of case {one.case['id']} is"
    if one.verdict == PASS:
        return wrapped(f"{said} refused.")
    return [*wrapped(f"{said} not refused as it should be:"), *wrapped(_bad(one, {}), "  ", "  ")]


def _usual(calls: list[dict[str, Any]]) -> dict[str, str]:
    """Return the most frequent value of each argument."""
    usual = {}
    for name in dict.fromkeys(name for args in calls for name in args):
        values = [str(args[name]) for args in calls if name in args]
        usual[name] = max(values, key=values.count)
    return usual


def _bad(one: CaseCheck, usual: dict[str, str]) -> str:
    """Return a call with a bad argument in words: the arguments that are not as usual."""
    args = one.case["args"]
    odd = [n for n in args if str(args[n]) != usual.get(n)] or list(args)
    shown = ", ".join(f"{name} = {_brief(args[name])}" for name in odd)
    about = one.answer.get("raised")
    came = f"{_raised(about)} came" if about else one.answer.get("lost") or "an answer came"
    return f"{shown}: raise {ERRORS[one.case['error']]} ({came})"


def _brief(value: Any) -> str:
    return "; ".join(" ".join(line.split()) for line in value_lines(value)[:2])[:60]
