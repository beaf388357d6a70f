"""What `exercise check` says of a student's file."""

import json
import re

from refimpl.lab.apps.conformance.encode import number
from refimpl.lab.apps.course.checking import (
    EMPTY,
    FAULT,
    LATE,
    LOST,
    PASSED,
    RAISED,
    TOUCHED,
    WRONG,
    first_state,
    has_other_answer,
    is_walk,
)
from refimpl.lab.apps.course.differences import MISSING, Difference, in_words, locate
from refimpl.lab.apps.course.reasons import OMITTED, shared
from refimpl.lab.apps.course.showing import beside, plain, question, wrapped

COMMAND = "minibatch-gnn exercise"
MOST_PRINTED, MOST_ACCEPTED = 12, 8  # lines of what was printed, and bad calls, that are shown
MOST_ALIKE, MOST_FLAGS = 3, 2  # mistakes and flags of a case that are named
APART = 0.1  # by so much a flag must be more frequent among failing cases than among others
ERRORS = {"value": "ValueError", "type": "TypeError"}
AGAIN = re.compile(r"unexpected keyword|positional argument|missing \d+ required")


def cannot_be_used(exercise, file, trouble):
    """Return the lines for a file of which no function can be called."""
    name = exercise.function
    if "late" in trouble:
        where = f": line {trouble['late']} was running" if trouble["late"] else ""
        text = f"{file} does not come to its end when it is loaded{where}."
    elif "lost" in trouble:
        text = f"{file} ends Python when it is loaded: {trouble['lost']}."
    elif trouble.get("missing"):
        text = f"{file} has no function called {name}: keep the name that `start` gave it."
    elif trouble.get("no_python"):
        where = f", in line {trouble['line']}" if trouble["line"] else ""
        text = f"{file} is not Python yet: {trouble['text']}{where}."
    elif trouble["raised"] == "SystemExit":
        text = f"{file} ends Python when it is loaded, in line {trouble['line']}: leave that out."
    else:
        text = f"{file} cannot be loaded: {_raised(trouble)}."
    return wrapped(text)


def told(exercise, file, checked, alike):
    """Return the lines that say how a file did.

    Parameters
    ----------
    exercise : Exercise
    file : str
        As the student named it.
    checked : Checked
    alike : list of (int, int)
        From `same_as_mistakes`.
    """
    if checked.trouble is not None:
        return cannot_be_used(exercise, file, checked.trouble)
    failed = checked.failed
    if failed and all(one.kind == EMPTY for one in failed):
        return nothing_yet(exercise, file, failed[0].answer)
    if failed:
        return [
            _score(file, checked),
            "",
            *_failure(exercise, file, checked, alike),
            *_next(exercise),
        ]
    return (
        [_score(file, checked), *_refusals(checked)] if checked.ordinary else _alone(file, checked)
    )


def is_passed(checked):
    """Whether all that was asked is right."""
    if checked.trouble is not None or checked.failed or checked.unasked or checked.accepted:
        return False
    return bool(checked.ordinary or checked.refusals)


def nothing_yet(exercise, file, answer):
    """Return the lines for a function that is still as `start` wrote it."""
    where = f", in line {answer['line']}" if answer.get("line") else ""
    untouched = answer["text"] == f"{answer['function']} is not written yet"
    text = (
        f"{'Nothing' if untouched else 'Not all'} is written yet: replace "
        f"`raise NotImplementedError(..)`{where} of {file} by your code. The text above it says "
        f"what {answer['function']} takes and returns."
    )
    return [*wrapped(text), *_next(exercise)]


def _score(file, checked):
    passed, asked = len(checked.ordinary) - len(checked.failed), len(checked.ordinary)
    left = f" {checked.unasked} more were not asked." if checked.unasked else ""
    every = "all " if passed == asked and not left else ""
    return f"{file}: {every}{passed} of {asked} cases pass.{left}"


def _next(exercise):
    return ["", f"A hint: {COMMAND} hint {exercise.name}"]


def _failure(exercise, file, checked, alike):
    """Return the lines on the first failing case."""
    outcome = checked.shown
    case = outcome.case
    lines = wrapped(f"Case {case['id']}: {_what_happened(outcome)}")
    reasons = [*_of_mistakes(exercise, checked, alike), *_of_answer(outcome)]
    reasons += _of_cases(checked, case)
    if reasons:
        lines += ["", "Why"]
        for reason in reasons:
            lines += wrapped(reason, "- ", "  ")
    lines += ["", "The question", *question(case["args"])]
    if has_other_answer(outcome) and not outcome.difference.startswith("states"):
        lines += ["", "The answer", *beside(locate(case, outcome.answer, outcome.difference))]
    lines += steps(outcome)
    if "working" in case:
        lines += ["", "By hand", *wrapped(case["working"], "  ")]
    if outcome.answer.get("printed"):
        printed = outcome.answer["printed"].splitlines()
        more = [".."] if len(printed) > MOST_PRINTED else []
        shown = [f"  {line[:200]}" for line in [*printed[:MOST_PRINTED], *more]]
        lines += ["", "What your code printed", *shown]
    return lines


def _what_happened(outcome):
    """Return what came in the place of the right answer, in a sentence."""
    answer, case = outcome.answer, outcome.case
    if outcome.kind == EMPTY:
        return f"nothing is written for it yet ({answer['text']})."
    if outcome.kind == TOUCHED:
        return "the answer is right."
    if outcome.kind == LATE:
        where = f" It was in line {answer['late']}." if answer["late"] else ""
        return f"your code still ran when its time was over.{where}"
    if outcome.kind == LOST:
        return f"your code ended the process: {answer['lost']}."
    if answer.get("raised"):
        return f"an answer is wanted, and your code raised {_raised(answer)}."
    if "error" in case:
        return f"a {ERRORS[case['error']]} is wanted, and your code returned an answer."
    if answer.get("returned"):
        return f"your code returned {answer['returned']}: return {_wanted(case['result'])}."
    at, _, rest = outcome.difference.partition(": ")
    state = re.fullmatch(r"states\[(\d+)\]\.(\w+).*", at)
    if state:
        when = f"after step {state[1]}" if int(state[1]) else "before the first step"
        return f"{when}, {state[2]} is another."
    step = re.fullmatch(r"result\.(popped|pushed)\[(\d+)\]", at)
    if step:
        which = "leaves" if step[1] == "popped" else "comes"
        return f"in step {int(step[2]) + 1} another node {which}: {rest}."
    name = at.removeprefix("result.")
    if "{'dtype'" in rest:  # an array where a number is wanted: it is shown below
        return f"{name} is of another kind."
    size = re.fullmatch(r"want shape \[(\d+)\], got \[(\d+)\]", rest)
    if size:
        return f"{name} has {size[2]} numbers, and {size[1]} are wanted."
    return f"{name} differs: {rest.replace(', got ', ', yours is ', 1)}."


def _wanted(result):
    if isinstance(result, dict):
        named = f"a {result['type']}" if "type" in result else "named values"
        return f"an array of {result['dtype']}" if "dtype" in result else named
    return "a list" if isinstance(result, list) else "a number"


def _raised(answer):
    where = f" in line {answer['line']}" if answer.get("line") else ""
    text = f": {answer['text']}" if answer.get("text") else ""
    return f"{answer['raised']}{where}{text}"


def _of_answer(outcome):
    """Yield what is peculiar about an answer."""
    answer = outcome.answer
    if answer.get("touched"):
        names = ", ".join(answer["touched"])
        yield f"Your code changed its arguments ({names}): work on a copy."
    if outcome.kind == RAISED and AGAIN.search(answer.get("text", "")):
        yield "Keep the arguments as they were: same names, same order."
    if answer.get("raised") == "RecursionError":
        yield "The function calls itself without an end."
    missing = [name for name, value in outcome.case["args"].items() if value is None]
    if "NoneType" in answer.get("text", "") and missing:
        yield f"In this case some arguments are None: {', '.join(missing)}."
    if answer.get("raised") == "MemoryError":
        yield "It asks for more memory than there is: is something as long as an argument is large?"
    if outcome.kind == LATE:
        yield "A loop that does not end, or far more steps than the question needs."
    if has_other_answer(outcome):
        found = locate(outcome.case, answer, outcome.difference)
        if not (found.place and found.at.endswith(("popped", "pushed"))):  # a walk that went astray
            yield from in_words(found)


def _of_cases(checked, case):
    """Yield what the flags of a case and the others that fail say."""
    failing = [one.case for one in checked.failed]
    passing = [one.case for one in checked.ordinary if one.kind == PASSED]
    common = shared(checked.file, failing, passing)
    yield from common
    shares = {flag: _share(flag, failing) - _share(flag, passing) for flag in case["flags"]}
    apart = sorted((f for f in shares if shares[f] > APART), key=lambda flag: -shares[flag])
    for flag in [flag for flag in apart if flag not in OMITTED][:MOST_FLAGS]:
        words = f"{flag}: {checked.file['flags'][flag]}"
        if not any(words in line for line in common):
            yield f"This case has {words}"


def _share(flag, cases):
    """Return how many of some cases have a flag, as a fraction."""
    return sum(flag in case["flags"] for case in cases) / max(len(cases), 1)


def _of_mistakes(exercise, checked, alike):
    """Yield whose answers these are, where they are those of a typical mistake."""
    counted = [one for one in checked.failed if one.kind in (WRONG, RAISED, FAULT)]
    for number_, cases in alike[:MOST_ALIKE]:
        mistake = exercise.mistakes[number_]
        every = "In each failing case" if len(counted) > 1 else "Here"
        some = f"Here, and in {cases} of {len(counted)} failing cases in all,"
        where = every if cases == len(counted) else some if cases > 1 else "Here"
        if cases == alike[0][1]:
            yield f"{where} the same comes out of a solution that {mistake.did}."


def steps(outcome):
    """Return the lines on the step in which an answer went another way, where steps are known."""
    case, answer = outcome.case, outcome.answer
    states, number = case.get("states", ()), first_state(outcome)
    sample = is_walk(outcome)
    if number is not None:
        step = number if sample else number + 1
        lines = ["", f"After step {step}" if step else "Before the first step"]
        for name, want in states[number].items():
            got = answer["states"][number].get(name, MISSING)
            if got is not MISSING and got != want:
                lines += beside(Difference(name, (), want, got))
        return lines
    if not has_other_answer(outcome) or not states:
        return []
    found = locate(case, answer, outcome.difference)
    if not sample or not found.at.endswith(("popped", "pushed")) or not found.place:
        return []
    step = found.place[0]
    return [
        *("", f"Before step {step + 1}, where it differs", *question(states[step])),
        *("After it, in the reference", *question(states[step + 1])),
    ]


def _refusals(checked):
    """Return the lines on bad arguments, once all else is right."""
    asked, accepted = len(checked.refusals), checked.accepted
    if not asked:
        left = any("error" in case for case in checked.file["cases"])
        said = "(Bad arguments are not asked in this exercise; --errors asks them, too.)"
        return [said] if left else []
    if not accepted:
        return [f"Bad arguments: all {asked} are refused as they should be."]
    lines = wrapped(
        f"What is right is right. {len(accepted)} of {asked} calls with bad arguments are not "
        "refused as they should be:"
    )
    usual = _usual([one.case["args"] for one in checked.refusals])
    for one in accepted[:MOST_ACCEPTED]:
        lines += wrapped(f"{_bad(one, usual)}", "  ", "      ")
    if len(accepted) > MOST_ACCEPTED:
        lines.append(f"  .. and {len(accepted) - MOST_ACCEPTED} more")
    return lines


def _alone(file, checked):
    """Return the lines on a bad argument that was asked alone."""
    (one,) = checked.refusals
    if not checked.accepted:
        return wrapped(f"{file}: the bad argument of case {one.case['id']} is refused.")
    said = f"{file}: the bad argument of case {one.case['id']} is not refused as it should be:"
    return [*wrapped(said), *wrapped(_bad(one, {}), "  ", "      ")]


def _usual(calls):
    """Return the most frequent value of each argument."""
    names = list(dict.fromkeys(name for args in calls for name in args))
    usual = {}
    for name in names:
        values = [json.dumps(args[name]) for args in calls if name in args]
        usual[name] = max(values, key=values.count)
    return usual


def _bad(outcome, usual):
    """Return a call with a bad argument in words: those arguments that are not as usual."""
    args = outcome.case["args"]
    odd = [n for n in args if json.dumps(args[n]) != usual.get(n)] or list(args)
    shown = ", ".join(f"{name} = {_brief(args[name])}" for name in odd)
    answer = outcome.answer
    came = f"{_raised(answer) if answer.get('raised') else 'an answer'} came"
    if outcome.kind in (LATE, LOST):
        came = answer.get("lost") or "your code still ran when its time was over"
    return f"{shown}: {ERRORS[outcome.case['error']]} wanted, {came}"


def _brief(value):
    value = number(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "None"}[value]
    if not isinstance(value, dict | list):
        return plain(value)
    first = question({"": value}, "")[0].strip()
    return first if len(first) <= 60 else first[:57] + "..."
