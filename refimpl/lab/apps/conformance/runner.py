"""Asking a program every question of the vectors."""

import time
from typing import Any, NamedTuple

from refimpl.lab.apps.conformance.case import EXACT, Close, Rule
from refimpl.lab.apps.conformance.compare import first_difference, short
from refimpl.lab.apps.conformance.encode import JsonObject, dumps
from refimpl.lab.apps.conformance.program import Program
from refimpl.lab.apps.worker import UNASKED, Clock, Lost, NotAsked, Unable

PASS, DIFFERS, SKIP, LOST, NOT_RUN = "pass", "differs", "skip", "lost", "not run"
XFAIL = "xfail"  # a failure that `xfails` expects
MOST_LOST = 3  # cases of a kernel that may lose the program, before the rest is not asked
SPARE, TIMES = 2**20, 16  # bytes of an answer: so many, and so many times those of the right one


class Verdict(NamedTuple):
    """What became of one case.

    Attributes
    ----------
    paper, kernel, place, case : str
    verdict : {"pass", "differs", "skip", "lost", "not run", "xfail"}
        "lost": the program died, hung or did not speak the protocol; what would have come after
        that, and cannot, is "not run".
    seconds : float
        From the question to the answer.
    difference : str
        The first one, or what the program said, or why there was none to ask.
    states : bool
        Whether states of the answer, or parts of them, were compared.
    """

    paper: str
    kernel: str
    place: str
    case: str
    verdict: str
    seconds: float = 0.0
    difference: str = ""
    states: bool = False


class Report(NamedTuple):
    """All verdicts, and the name and the version that the program gives itself.

    `lost` says why there is neither: the program did not answer the greeting. `levels` has the
    `levels.Standing` of each level, by name, and `required` those that must be reached.
    `unexpected` names the expected failures that pass.
    """

    name: str | None
    version: str | None
    verdicts: list[Verdict]
    lost: str | None = None
    levels: dict[str, Any] = {}
    required: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """0 if nothing differs, something passed and the required levels are reached, else 1."""
        kinds = {verdict.verdict for verdict in self.verdicts}
        reached = all(self.levels[level].reached for level in self.required)
        return 0 if PASS in kinds and kinds <= {PASS, SKIP, XFAIL} and reached else 1


def run(
    command: list[str], files: list[JsonObject], *, timeout: float = 60.0, total: float = 3600.0
) -> Report:
    """Ask the program all cases of `files`; return a Report.

    A program that is lost is started again for the next case; a kernel that loses it `MOST_LOST`
    times is asked no more.

    Parameters
    ----------
    command : list of str
    files : list of dict
        From `vectors.load`.
    timeout : float
        Seconds for an answer.
    total : float
        Seconds for all of them. What is not asked by then is not run.

    Raises
    ------
    OSError
        If the program cannot be started the first time.
    Unable
        If it answers the greeting with a fault the first time.
    """
    try:
        program = Program(command, Clock(timeout, total))
    except Unable:
        raise
    except Lost as loss:
        why = f"no answer to the greeting: {loss}"
        return Report(None, None, [v for file in files for v in ask_all(None, file)], why)
    verdicts: list[Verdict] = []
    unasked = None
    try:
        for file in files:
            verdicts += ask_all(program, file)
    finally:
        unasked = program.close()
    if unasked is not None:
        said = f"{UNASKED}: {unasked!r}"
        verdicts[-1] = verdicts[-1]._replace(verdict=LOST, difference=said)
    return Report(program.name, program.version, verdicts)


def ask_one(
    command: list[str],
    file: JsonObject,
    case: JsonObject,
    *,
    timeout: float = 60.0,
    total: float = 3600.0,
) -> JsonObject:
    """Ask the program one case; return its answer.

    Raises
    ------
    OSError, Unable
        As `run`.
    Lost
        If there is no answer.
    """
    program = Program(command, Clock(timeout, total))
    try:
        answer = program.ask(question(file, case), longest(case))
    finally:
        unasked = program.close()
    if unasked is not None:
        raise Lost(f"{UNASKED}: {unasked!r}")
    return answer


def ask_all(program: Program | None, file: JsonObject) -> list[Verdict]:
    """Return the Verdicts on one file's cases, in order; without a program all are "not run"."""
    about = file["source"]["paper"], file["function"], file["source"]["place"]
    verdicts: list[Verdict] = []
    lost = 0
    for case in file["cases"]:
        begin = time.perf_counter()
        try:
            if program is None or lost == MOST_LOST:
                raise NotAsked("")
            answer = program.ask(question(file, case), longest(case))
            verdict, difference, states = judge(file, case, answer)
        except Lost as loss:
            verdict, difference, states = LOST, str(loss), False
            lost += 1
        except NotAsked as reason:
            before = verdicts and verdicts[-1].verdict == NOT_RUN
            verdict, difference, states = NOT_RUN, "" if before else str(reason), False
        except RecursionError:
            verdict, difference, states = DIFFERS, "the answer is nested too deeply", False
        seconds = 0.0 if verdict == NOT_RUN else time.perf_counter() - begin
        verdicts.append(Verdict(*about, case["id"], verdict, seconds, difference, states))
    return verdicts


def question(file: JsonObject, case: JsonObject) -> JsonObject:
    """Return what the program is asked."""
    asked = {"call": file["function"], "args": case["args"]}
    return {**asked, "writes": file["writes"]} if file["writes"] else asked


def longest(case: JsonObject) -> int:
    """Return how many bytes an answer may have: it may say what is right at greater length."""
    right = {name: case[name] for name in ("result", "changed", "states") if name in case}
    return SPARE + TIMES * len(dumps(right))


def judge(file: JsonObject, case: JsonObject, answer: JsonObject) -> tuple[str, str, bool]:
    """Return the verdict on one answer, the first difference or what the program said, and
    whether states were compared.
    """
    if "skip" in answer:
        return SKIP, short(answer["skip"]), False
    wanted = f"want error {case['error']!r}" if "error" in case else "want a result"
    if "fault" in answer:
        return DIFFERS, f"{wanted}, got a fault: {short(answer['fault'])}", False
    if "error" in case or "error" in answer:
        if answer.get("error") == case.get("error"):
            return PASS, "", False
        got = f"error {short(answer['error'])!r}" if "error" in answer else "a result"
        return DIFFERS, f"{wanted}, got {got}", False
    if "result" not in answer:
        return DIFFERS, f"{wanted}, got {short(answer)}", False
    found = _difference(case, answer, rule_of(file))
    return DIFFERS if found else PASS, found or "", _has_states(case, answer)


def _has_states(case: JsonObject, answer: JsonObject) -> bool:
    """Say whether an answer has a part of a state, where the case has states to compare it with."""
    states = answer.get("states")
    return "states" in case and isinstance(states, list) and any(states)


def rule_of(file: JsonObject) -> Rule:
    """Return the rule of comparison of a file of vectors."""
    compare = file["compare"]
    return EXACT if compare["rule"] == "exact" else Close(**compare)


def _difference(case: JsonObject, answer: JsonObject, rule: Rule) -> str | None:
    """Return the first difference: in the states, where the program answers with them, first."""
    if "states" in case and answer.get("states") is not None:
        found = _state_difference(case["states"], answer["states"], rule)
        if found:
            return found
    found = first_difference(case["result"], answer["result"], rule)
    if found is None and "changed" in case:
        changed = {"fields": answer.get("changed")}
        found = first_difference({"fields": case["changed"]}, changed, rule, "changed")
    return found


def _state_difference(want: list[JsonObject], got: Any, rule: Rule) -> str | None:
    """Return the first step after which the states differ, and how.

    A port may leave parts out. One of another name is a difference: it is misspelt, or the state
    has another form, and nothing would be compared.
    """
    if not isinstance(got, list):
        return f"states: want a list of {len(want)}, got {short(got)}"
    for i, (a, b) in enumerate(zip(want, got, strict=False)):
        if not isinstance(b, dict):
            return f"states[{i}]: want an object, got {short(b)}"
        for name in b:
            if name not in a:
                return f"states[{i}].{short(name)}: no such part, want {', '.join(a)}"
        for name in (name for name in a if name in b):
            found = first_difference(a[name], b[name], rule, f"states[{i}].{name}")
            if found:
                return found
    if len(want) != len(got):
        return f"states: want {len(want)} steps, got {len(got)}"
    return None
