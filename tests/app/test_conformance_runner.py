"""The conformance runner, with programs that answer rightly, wrongly or not at all."""

import json
import time

import pytest
from conformance_programs import answering, program, vector

from refimpl.lab.apps.conformance import report
from refimpl.lab.apps.conformance.runner import MOST_LOST, judge, run
from refimpl.lab.apps.worker import MOST_STARTS, UNASKED

pytestmark = pytest.mark.runs

ARRAY = {"dtype": "int32", "shape": [2], "data": [4, 9]}
CASE = {"id": "a", "flags": [], "args": {"x": 1}, "result": ARRAY}
RIGHT = repr({"result": ARRAY})
SLOW, QUICK, CHILD = 60, 1.0, 2.0
STATES = [{"DB": [0, -1], "cnt": 1}, {"DB": [0, 1], "cnt": 2}, {"DB": [-1, 1], "cnt": 2}]
STEPS = vector({**CASE, "states": STATES}, name="steps")


def verdicts(command, *files, timeout=SLOW):
    """Return (verdict, difference) of every case, and the status."""
    found = run(command, files, timeout=timeout)
    assert [v.case for v in found.verdicts] == [c["id"] for f in files for c in f["cases"]]
    return [(v.verdict, v.difference) for v in found.verdicts], found.status


def test_a_program_says_who_it_is_and_every_case_is_timed():
    found = run(answering(RIGHT), [vector(CASE)], timeout=SLOW)
    assert (found.name, found.version, found.status) == ("mine", "7", 0)
    (only,) = found.verdicts
    assert only[:5] == ("common", "mix", "Algorithm 1", "a", "pass")
    assert 0 < only.seconds < SLOW


@pytest.mark.parametrize(("v", "said"), [(1.5, ""), (2.5, "changed.v[0]: want 1.5, got 2.5")])
def test_a_program_is_asked_for_what_the_kernel_writes(v, said):
    reply = f"""
def reply(question):
    assert question["writes"] == ["m", "v"] and set(question["args"]) == {{"m", "v"}}
    return {{"result": None, "changed": {{"m": [1.5], "v": [{v}]}}}}
"""
    array = {"dtype": "float64", "shape": [1], "data": [1.5]}
    changed = {"m": array, "v": array}
    file = vector(
        {"id": "a", "args": changed, "result": None, "changed": changed}, writes=("m", "v")
    )
    wanted = ([("differs", said)], 1) if said else ([("pass", "")], 0)
    assert verdicts(answering(reply), file) == wanted


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"result": [4, 8]}, "result[1]: want 9, got 8"),
        ({"result": [4]}, "result: want shape [2], got [1]"),
        ({"result": None}, "result: want an array of int32, shape [2], got None"),
        (
            {"result": {**ARRAY, "dtype": "int64"}},
            "result: want dtype int32, got int64; the numbers are right",
        ),
        ({"error": "value"}, "want a result, got error 'value'"),
        ({"fault": "no memory"}, "want a result, got a fault: no memory"),
        ({}, "want a result, got {}"),
        ({"answer": 3}, "want a result, got {'answer': 3}"),
    ],
)
def test_wrong_answers(reply, said):
    assert verdicts(answering(repr(reply)), vector(CASE)) == ([("differs", said)], 1)


@pytest.mark.parametrize(
    ("reply", "verdict", "said"),
    [
        ({"error": "value"}, "pass", ""),
        ({"error": "type"}, "differs", "want error 'value', got error 'type'"),
        ({"error": ["value"]}, "differs", "want error 'value', got error \"['value']\""),
        ({"result": [4, 9]}, "differs", "want error 'value', got a result"),
        ({"fault": "KeyError: 'x'"}, "differs", "want error 'value', got a fault: KeyError: 'x'"),
        ({"skip": "not now"}, "skip", "not now"),
    ],
)
def test_errors_are_compared_by_class(reply, verdict, said):
    case = {"id": "a", "args": {}, "error": "value"}
    found, status = verdicts(answering(repr(reply)), vector(case))
    assert found == [(verdict, said)]
    assert status == (0 if verdict == "pass" else 1)


def test_states_are_compared_first_and_the_first_that_differs_is_named():
    states = STATES

    def said(states, result=ARRAY):
        reply = {"result": result, "states": states}
        verdict, said, _ = judge(STEPS, STEPS["cases"][0], reply)
        assert verdict == ("differs" if said else "pass")
        return said

    assert said(states) == said(None) == said([{}, {}, {}]) == ""
    assert said([{"cnt": 1}, {"cnt": 3}, {"cnt": 4}], [4, 8]) == "states[1].cnt: want 2, got 3"
    assert said([*states[:2], {"DB": [0, 1]}]) == "states[2].DB[0]: want -1, got 0"
    assert said(states[:2]) == "states: want 3 steps, got 2"
    assert said([*states, {}]) == "states: want 3 steps, got 4"
    assert said([]) == "states: want 3 steps, got 0"
    assert said([1, 2, 3]) == "states[0]: want an object, got 1"
    assert said({"DB": [0]}) == "states: want a list of 3, got {'DB': [0]}"
    assert said(states, [4, 8]) == "result[1]: want 9, got 8"


@pytest.mark.parametrize("form", ["misspelt", "as named values"])
def test_a_part_of_another_name_is_a_difference(form):
    """It would never be compared: the states of a wrong program would seem to agree."""
    wrong = [dict(state) for state in STATES]
    if form == "misspelt":
        wrong[1]["DBs"] = wrong[1].pop("DB")
        said = "states[1].DBs: no such part, want DB, cnt"
    else:
        wrong = [{"type": "State", "fields": state} for state in STATES]
        said = "states[0].type: no such part, want DB, cnt"
    answer = {"result": ARRAY, "states": wrong}
    assert judge(STEPS, STEPS["cases"][0], answer) == ("differs", said, True)


@pytest.mark.parametrize(
    ("answer", "compared"),
    [
        ({"result": ARRAY, "states": STATES}, True),
        ({"result": ARRAY, "states": [{}, {"cnt": 2}, {}]}, True),
        ({"result": ARRAY, "states": [{}, {"cnt": 3}, {}]}, True),
        ({"result": [4, 8], "states": STATES}, True),
        ({"result": ARRAY, "states": [{}, {}, {}]}, False),
        ({"result": ARRAY, "states": None}, False),
        ({"result": ARRAY}, False),
        ({"error": "value", "states": STATES}, False),
        ({"skip": "no", "states": STATES}, False),
        ({"states": STATES}, False),
    ],
)
def test_it_is_said_whether_states_were_compared(answer, compared, tmp_path):
    plain = vector(CASE, name="plain")
    files = [STEPS, plain] if compared else [STEPS]
    found = run(answering(repr(answer)), files, timeout=SLOW)
    assert [v.states for v in found.verdicts] == [compared, False][: len(files)]
    table = report.table(found, files, missing=True)
    line = next(line for line in table if " steps " in line)
    assert line.endswith(", states of 1 compared") == compared
    assert not any("plain" in line and "states" in line for line in table)
    report.write(found, tmp_path / "report.json")
    content = json.loads((tmp_path / "report.json").read_text())
    assert content["states_compared"] == compared
    assert [case["states"] for case in content["cases"]] == [v.states for v in found.verdicts]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import sys; sys.exit(3)", "the program ended with status 3"),
        ("import os; os.abort()", "the program ended by SIGABRT"),
        ("print('hello')", "the answer is no JSON: 'hello'"),
        ("print('[' * 100_000)", "the answer is no JSON: " + repr("[" * 80)),
        ("print('[1]')", "the answer is no object: '[1]'"),
        ("print('{}')", "the greeting has no name: {}"),
        ("import os, time; os.close(1); time.sleep(60)", "the program closed its output"),
    ],
)
def test_a_program_that_does_not_greet_is_lost(source, said):
    found = run(program(source), [vector(CASE)], timeout=SLOW)
    assert (found.name, found.version, found.status) == (None, None, 1)
    assert found.lost == f"no answer to the greeting: {said}"
    assert [(v.verdict, v.difference) for v in found.verdicts] == [("not run", "")]


def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path):
    """What it started holds the pipe: were it left alive, the runner would wait for it."""
    mark = tmp_path / "done"
    child = f"import time; time.sleep({CHILD}); open({str(mark)!r}, 'w').close()"
    source = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "time.sleep(60)"
    )
    found = run(program(source), [vector(CASE)], timeout=QUICK)
    assert found.lost == "no answer to the greeting: no answer in 1 seconds"
    time.sleep(CHILD + 0.5)
    assert not mark.exists()


DIES = f"""
def reply(question):
    return os._exit(4) if question["args"]["x"] == 2 else {RIGHT}
import os
"""
PRINTS = f"""
def reply(question):
    print("debug")
    return {RIGHT}
"""
SLEEPS = "import time\ndef reply(question): time.sleep(60)"


@pytest.mark.parametrize(
    ("reply", "timeout", "said"),
    [
        (DIES, SLOW, "the program ended with status 4"),
        (PRINTS, SLOW, "the answer is no JSON: 'debug'"),
        (SLEEPS, 5.0, "no answer in 5 seconds"),  # the greeting has to come in time
    ],
)
def test_a_program_that_is_lost_is_started_again_for_the_next_case(reply, timeout, said):
    first = vector({**CASE, "args": {"x": 2}}, {**CASE, "id": "b"})
    found, status = verdicts(
        answering(reply), first, vector({**CASE, "id": "c"}, name="key"), timeout=timeout
    )
    later = ("pass", "") if reply is DIES else ("lost", said)
    assert found == [("lost", said), later, later]
    assert status == 1


def test_a_line_behind_the_last_answer_loses_the_last_case():
    said = f"import atexit\natexit.register(print, 'bye')\ndef reply(question): return {RIGHT}"
    found, status = verdicts(answering(said), vector(CASE, {**CASE, "id": "b"}))
    assert found == [("pass", ""), ("lost", f"{UNASKED}: 'bye'")] and status == 1


FATAL = [{**CASE, "id": name, "args": {"x": 2}} for name in "abcde"]


def test_a_kernel_that_loses_the_program_again_and_again_is_asked_no_more():
    files = [vector(*FATAL), vector(CASE, name="key")]
    found, _ = verdicts(answering(DIES), *files)
    lost = ("lost", "the program ended with status 4")
    assert found == [*[lost] * MOST_LOST, *[("not run", "")] * 2, ("pass", "")]


def test_the_table_says_what_lost_cases_cost():
    files = [vector(*FATAL)]
    lines = report.table(run(answering(DIES), files, timeout=SLOW), files)
    assert "      a: the program ended with status 4 (3 cases lost it, 2 not run)" in lines
    assert "--show common/mix/a shows the case, and the answer beside the right one" in lines
    files = [vector(*FATAL[:1], CASE)]
    lines = report.table(run(answering(DIES), files, timeout=SLOW), files)
    assert "  Algorithm 1  mix    1/2  lost" in lines
    assert "      a: the program ended with status 4" in lines


def test_a_program_is_not_started_for_ever(tmp_path):
    starts = tmp_path / "starts"
    command = answering(
        f"import os\nopen({str(starts)!r}, 'a').write('x')\ndef reply(question): os._exit(1)"
    )
    files = [vector(CASE, name=f"k{i}") for i in range(MOST_STARTS + 4)]
    found, status = verdicts(command, *files)
    kinds = [verdict for verdict, _ in found]
    assert kinds == ["lost"] * (MOST_STARTS + 1) + ["not run"] * 3
    assert starts.read_text() == "x" * (MOST_STARTS + 1)
    assert status == 1


def test_what_a_program_writes_to_its_error_output_does_no_harm(capfd):
    command = answering(
        f"import sys\ndef reply(question):\n    print('note', file=sys.stderr)\n    return {RIGHT}"
    )
    assert verdicts(command, vector(CASE)) == ([("pass", "")], 0)
    assert "note" in capfd.readouterr().err


def test_a_program_that_cannot_be_started():
    with pytest.raises(OSError):
        run(["/no/such/program"], [vector(CASE)], timeout=SLOW)


def test_nothing_passed_is_no_success():
    assert verdicts(answering("{'skip': 'no'}"), vector(CASE)) == ([("skip", "no")], 1)


def test_table():
    one, two = CASE, {**CASE, "id": "b"}
    files = [
        vector(one, two, name="right"),
        vector(one, two, name="wrong", paper="jpdc21"),
        vector(one, two, name="half", paper="jpdc21"),
        vector(one, name="none", paper="vldb24"),
    ]
    reply = """
def reply(question):
    reply.count = getattr(reply, "count", -1) + 1
    call = question["call"]
    if call == "none" or call == "half" and reply.count == 4:
        return {"skip": "no"}
    return {"result": [4, 9 + (reply.count == 3)]}
"""
    found = run(answering(reply), files, timeout=SLOW)
    assert report.table(found, files) == [
        "",
        "shared by the papers",
        "  Algorithm 1  right    2/2  conforms",
        "",
        "JPDC'21",
        "  Algorithm 1  half     1/2  conforms, 1 skipped",
        "  Algorithm 1  wrong    1/2  differs",
        "      b: result[1]: want 9, got 10",
        "",
        "VLDB'24",
        "  missing: none",
        "",
        "--show jpdc21/wrong/b shows the case, and the answer beside the right one",
        "",
        "2 conforms, 1 differs, 1 missing",
    ]
    assert found.status == 1
    assert "  Algorithm 1  none     0/1  missing" in report.table(found, files, missing=True)


def test_the_table_says_what_a_failing_case_is_about_and_what_such_cases_share():
    flagged = [
        {**CASE, "id": name, "flags": flags}
        for name, flags in (("a", ["A"]), ("b", ["A", "B"]), ("c", ["C", "B"]), ("d", ["A", "D"]))
    ]
    file = vector(*flagged)
    file["flags"] = {flag: f"meaning of {flag}." for flag in "ABCD"}
    reply = """
def reply(question):
    reply.count = getattr(reply, "count", -1) + 1
    return {"result": [4, 9 + (reply.count in %s)]}
"""
    lines = report.table(run(answering(reply % "(1, 2)"), [file], timeout=SLOW), [file])
    assert lines[3:7] == [
        "      b: result[1]: want 9, got 10",
        "        A  meaning of A.",
        "        B  meaning of B.",
        "      all 2 cases that differ share: B (none of the 2 that pass)",
    ]
    lines = report.table(run(answering(reply % "(2,)"), [file], timeout=SLOW), [file])
    assert "        C  meaning of C." in lines and not any("differ share" in line for line in lines)
    lines = report.table(run(answering(reply % "(1, 3)"), [file], timeout=SLOW), [file])
    assert not any("differ share" in line for line in lines)  # A: but d has it


def test_kernels_stand_in_the_order_of_the_paper():
    def verdict(place, kernel):
        return report.Row("jpdc21", place, kernel, "conforms", 1, 1, "")

    places = ["Algorithm 2", "Algorithms 3 and 4", "Algorithm 10", "Equation 1", "section 2"]
    rows = [verdict(place, "k") for place in places]
    shuffled = [rows[i] for i in (3, 0, 4, 2, 1)]
    assert sorted(shuffled, key=report._position) == rows
