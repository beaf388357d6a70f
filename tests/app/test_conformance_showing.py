"""A case of the vectors, and an answer beside it, as text: `conformance --show`."""

import copy
import importlib
import inspect
import re
import shlex

import pytest
from conformance_programs import answering, program, vector

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import showing, vectors
from refimpl.lab.apps.conformance.runner import judge

FILES = {file["function"]: file for file in vectors.load()}
ALL = [(file, case) for file in FILES.values() for case in file["cases"]]
CAN_ANSWER = [(file, case) for file, case in ALL if "result" in case]


def case_of(name, kernel):
    file = FILES[kernel]
    return file, next(case for case in file["cases"] if case["id"] == name)


def right(case):
    return copy.deepcopy({k: case[k] for k in ("result", "changed", "states") if k in case})


def arrays(value):
    """Yield the lists of numbers within a value of the vectors."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("data", "indptr", "indices") and isinstance(part, list):
                yield part
            else:
                yield from arrays(part)
    elif isinstance(value, list):
        for part in value:
            yield from arrays(part)


def test_every_case_fits_a_terminal():
    for file, case in ALL:
        lines = [*showing.case_lines(file, case), *showing.answer_lines(file, case)]
        assert lines[0] == showing.case_name(file, case)
        assert all(line.isprintable() and line == line.rstrip() for line in lines), lines[0]
        assert max(map(len, lines)) <= 130, lines[0]


def test_every_argument_and_flag_of_every_case_is_shown():
    for file, case in ALL:
        lines = showing.case_lines(file, case)
        about = {line.split()[0].partition(".")[0].partition("[")[0] for line in lines if line}
        assert case["args"].keys() | set(case["flags"]) <= about, lines[0]


def test_a_right_answer_has_no_mark():
    for file, case in CAN_ANSWER:
        first, *lines = showing.answer_lines(file, case, right(case))
        assert first == "pass"
        assert not any("^" in line for line in lines)


def test_a_wrong_number_stands_beneath_the_right_one_with_a_mark():
    """In whichever array of whichever kernel it is."""
    shown = 0
    for file, case in CAN_ANSWER:
        for i, _ in enumerate(arrays(right(case))):
            answer = right(case)
            numbers = list(arrays(answer))[i]
            if not numbers or len(numbers) > 2000:
                continue
            at = len(numbers) // 2
            numbers[at] = 7777
            if judge(file, case, answer)[0] == "pass":
                continue
            lines = showing.answer_lines(file, case, answer)
            mark = next(k for k, line in enumerate(lines) if "^" in line)
            where = lines[mark].index("^"), lines[mark].rindex("^") + 1
            assert lines[mark - 1][slice(*where)].strip() == "7777"
            assert lines[mark - 2][slice(*where)].strip() not in ("7777", "")
            assert " want " in lines[mark - 2] and " got " in lines[mark - 1]
            shown += 1
    assert shown > 1000


def test_what_is_shown_of_the_case_on_the_page():
    file, case = case_of("used", "pin_tile")
    lines = showing.case_lines(file, case)
    assert lines[:2] == ["jpdc21/pin_tile/used", "  Algorithms 3 and 4"]
    assert "  ONE_NODE   A graph, or a set, of a single node." in lines
    assert lines[lines.index("arguments") + 1 :][:3] == [
        "  graph        1 node, 1 entry",
        "               0: 0",
        "  main         9",
    ]
    assert "  include      pushed" in lines and "  deg_cap      null" in lines
    assert lines[lines.index("worked by hand") + 1].startswith("  One node of degree 1:")
    assert showing.answer_lines(file, case)[:3] == [
        "states[0]",
        "  DB        0 -1",
        "  IA_start  0 1",
    ]


def test_states_are_shown_up_to_the_first_that_differs():
    file, case = case_of("used", "pin_tile")
    answer = right(case)
    answer["states"][2] = {"DB": [0, 5], "node": [0]}
    lines = showing.answer_lines(file, case, answer)
    assert lines[:3] == [
        "differs: states[2].DB[1]: want -1, got 5",
        "",
        "states[0] is as it must be",
    ]
    assert [line for line in lines if line.startswith("states[")][1:] == ["states[1]", "states[2]"]
    at = lines.index("states[2]")
    assert lines[at + 1 :][:4] == [
        "  DB        want  0 -1",
        "            got   0  5",
        "                    ^^",
        "  node      0",
    ]
    assert lines[at + 5] == ""  # what the answer leaves out is not shown


def test_counters_and_graphs_that_differ():
    file, case = case_of("paw", "induced_subgraph")
    answer = right(case)
    answer["result"]["fields"]["counters"]["fields"]["moved"] = 8
    answer["result"]["fields"]["graph"]["graph"]["indices"][2] = 7
    lines = [line.strip() for line in showing.answer_lines(file, case, answer)]
    assert "graph.indices   want 1 0 2 1" in lines and "got  1 0 7 1" in lines
    assert any(line.startswith("got") and "moved 8" in line for line in lines)


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        ({"error": "type"}, "differs: want a result, got error 'type'"),
        ({"skip": "no"}, "skip: no"),
        ({"fault": "no memory"}, "differs: want a result, got a fault: no memory"),
        ({}, "differs: want a result, got {}"),
        ({"result": 7}, "differs: result: want nodes, "),
        ({"result": {"fields": 3}}, "differs: result: want nodes, "),
        ({"result": None, "states": [3, {"odd": [[1], 2]}]}, "differs: states[0]: want an object"),
        ({"result": None, "states": {"fields": {}}}, "differs: states: want a list"),
        ({"result": [[["\x1b[2J"]]], "states": []}, "differs: states: want 4 steps, got 0"),
        (
            {"result": {"fields": {"nodes": {"dtype": [1], "shape": [[]], "data": {}}}}},
            "differs: result.nodes: want an array",
        ),
        (
            {"result": {"fields": {"nodes": {"shape": [3, 0, None], "data": ["\x07"]}}}},
            "differs: result.nodes: want shape",
        ),
    ],
)
def test_strange_answers_are_shown(answer, first):
    file, case = case_of("used", "pin_tile")
    lines = showing.answer_lines(file, case, answer)
    assert lines[0].startswith(first)
    assert all(line.isprintable() for line in lines)
    assert "result" in lines


def test_an_error_that_is_due():
    file, case = case_of("no_roots", "frontier")
    assert showing.answer_lines(file, case) == ["must be refused", "  with error 'value'"]
    lines = showing.answer_lines(file, case, {"result": 4})
    assert lines[0] == "differs: want error 'value', got a result"


def marked(*flags, **args):
    return {"id": "a", "flags": list(flags), "args": args, "result": 0}


def test_what_failing_cases_share():
    failing = [marked("HUB", "B", how="x", n=3), marked("B", "HUB", how="x", n=3)]
    passing = [marked("HUB", how="y", n=3), marked("C", how="y"), marked("C", how="y")]
    assert showing.in_common(failing, passing) == [("B", 0), ("how = x", 0), ("HUB", 1)]
    assert showing.in_common(failing[:1], passing) == []
    assert showing.in_common(failing, []) == []  # all fail: nothing tells them from others
    refused = [{"id": "a", "flags": [], "args": {"n": k}, "error": "value"} for k in (1, 2)]
    assert showing.in_common(refused, passing) == [("refused: value", 0)]


def run(capsys, *options):
    status = main(["conformance", *map(str, options)])
    text = capsys.readouterr()
    return status, text.out.splitlines(), text.err.splitlines()


def test_show_without_a_program(capsys):
    file, case = case_of("used", "pin_tile")
    lines = [*showing.case_lines(file, case), "", *showing.answer_lines(file, case)]
    for name in ("jpdc21/pin_tile/used", "pin_tile/used"):
        assert run(capsys, "--show", name) == (0, lines, [])


@pytest.mark.runs
@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (answering("{'result': '0'}"), 0, "pass"),
        (answering("{'result': '1'}"), 1, "differs: result: want 0, got 1"),
        (answering("{'skip': 'no'}"), 1, "skip: no"),
        (answering("import os\ndef reply(question): os._exit(3)"), 1, "lost: the program ended"),
        (program("pass"), 1, "lost: the program ended with status 0"),
    ],
)
def test_show_with_a_program(capsys, command, status, said):
    found, out, err = run(capsys, "--cmd", shlex.join(command), "--show", "mix/zero")
    assert (found, err) == (status, [])
    assert out[0] == "common/mix/zero"
    assert any(line.startswith(said) for line in out)


@pytest.mark.runs
def test_show_with_a_package(capsys):
    status, out, _ = run(capsys, "--impl", "refimpl", "--show", "frontier/paw")
    assert status == 0 and "pass" in out


def test_a_file_without_meanings_of_flags():
    """Such as a test makes: nothing but the flag is shown."""
    file = vector(marked("ODD", x=1))
    assert showing.case_lines(file, file["cases"][0])[3:5] == ["flags", "  ODD"]


# A kernel, its module, a comparison in its source, the same with `=` at the wrong place, the flag
COMPARISONS = [
    ("frontier", "samplers.frontier", 'side="right"', 'side="left"', "ON_SUM"),
    ("bucket", "samplers.bucket", "t >= self.sums", "t > self.sums", "ON_SUM"),
    ("bucket", "samplers.bucket", "height < ", "height <= ", "ON_WEIGHT"),
    ("pin_tile", "samplers.pin_tile", "> board.free()", ">= board.free()", "FITS"),
    ("pin_tile", "samplers.pin_tile", "> board.free()", "> board.free() + 1", "ONE_SHORT"),
    ("dashboard", "samplers.dashboard", "> board.free(", ">= board.free(", "FITS"),
    ("dashboard", "samplers.dashboard", "> board.free(", "> 1 + board.free(", "ONE_SHORT"),
    ("forest_fire", "samplers.forest_fire", "uniform() < p_f", "uniform() <= p_f", "TIE"),
    ("alias_build", "samplers.alias", "p[i] < 1", "p[i] <= 1", "TIE"),
    ("dropout", "layers.rows", "u >= rate", "u > rate", "TIE"),
    ("select_stable", "history.policy", "(ids), score", "(ids) * -1, score", "TIE"),
]


@pytest.mark.runs
@pytest.mark.parametrize(
    ("kernel", "place", "comparison", "wrong", "flag"),
    COMPARISONS,
    ids=[f"{kernel} {wrong}" for kernel, _, _, wrong, _ in COMPARISONS],
)
def test_a_wrong_comparison_is_explained(
    tmp_path, monkeypatch, capsys, kernel, place, comparison, wrong, flag
):
    source = inspect.getsource(importlib.import_module(f"refimpl.{place}"))
    assert source.count(comparison) == 1
    (tmp_path / "wrong_comparison.py").write_text(source.replace(comparison, wrong))
    monkeypatch.syspath_prepend(tmp_path)
    status, lines, _ = run(capsys, "--impl", "wrong_comparison", "--only", kernel)
    assert status == 1
    told = " ".join(" ".join(lines).split())
    passed, cases = map(int, re.search(r"(\d+)/(\d+) differs", told).groups())
    if cases - passed > 1:
        assert f"all {cases - passed} cases that differ share: {flag} (" in told
    assert " ".join(FILES[kernel]["flags"][flag].split()) in told
