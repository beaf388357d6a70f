"""The third implementations: a kernel with a line wrong, and an adapter in C."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.apps.conformance.runner import judge, question
from refimpl.lab.apps.conformance.timing import Input, Timer
from refimpl.lab.apps.conformance.vectors import apply
from refimpl.lab.backend import find

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
EXAMPLES, DOCS = ROOT / "examples" / "conformance", ROOT / "docs"
PAGE = DOCS / "conformance.md"
STREAMS = {"mix", "key", "uniform", "below", "pick_without_replacement", "permutation", "floyd"}
GRAPH = refimpl.lab.data.power_law(2000, 6.0, 3)
LISTS = """
import refimpl

def floyd(key, n, f):
    return refimpl.streams.floyd(key, n, f).tolist()

def alias_build(weights):
    table = refimpl.samplers.alias_build(weights)
    return {"prob": table.prob.tolist(), "alias": tuple(table.alias)}
"""


@pytest.fixture
def conformance(tmp_path, capsys, monkeypatch):
    """Run the command on an example; return (status, verdicts by kernel, output)."""
    monkeypatch.syspath_prepend(tmp_path)

    def conformance(*options):
        path = tmp_path / "report.json"
        status = main(["conformance", *options, "--report", str(path)])
        verdicts = {}
        for case in json.loads(path.read_text())["cases"]:
            verdicts.setdefault(case["kernel"], []).append(case["verdict"])
        return status, verdicts, capsys.readouterr().out.splitlines()

    return conformance


def split(verdicts):
    """Return (kernels that do not differ, kernels that are missing)."""
    missing = {name for name, found in verdicts.items() if set(found) == {"skip"}}
    return {
        name for name, found in verdicts.items() if set(found) <= {"pass", "skip"}
    } - missing, missing


def test_a_package_may_answer_with_lists_and_dicts(conformance, tmp_path):
    (tmp_path / "lists.py").write_text(LISTS)
    status, verdicts, _ = conformance("--impl", "lists")
    assert status == 0
    assert split(verdicts) == (
        {"floyd", "alias_build"},
        kernels().keys() - {"floyd", "alias_build"},
    )


def test_a_wrong_line_is_found(conformance, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    status, verdicts, out = conformance("--impl", "wrong")
    assert status == 1
    assert {name for name, found in verdicts.items() if "differs" in found} == {"transpose_perm"}
    row = next(i for i, line in enumerate(out) if " transpose_perm " in line)
    assert out[row + 1].strip() == "path3: result[1]: want 0, got 3"
    page = PAGE.read_text().splitlines()
    first = page.index(out[row + 1]) - 1
    assert [line.split() for line in out[row : row + 3]] == [
        line.split() for line in page[first : first + 3]
    ]


def test_the_page_shows_a_wrong_answer_beside_the_right_one(capsys, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    assert main(["conformance", "--impl", "wrong", "--show", "transpose_perm/path3"]) == 1
    shown = PAGE.read_text().partition("ends with the answer:\n\n```text\n")[2].partition("```")[0]
    assert capsys.readouterr().out.endswith(f"\n{shown}")


def compiled(source, folder):
    """Return the command of the C adapter made from `source`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc)")
    (folder / "adapter.c").write_text(source)
    strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{EXAMPLES}"]
    command = [compiler, *strict, "-o", folder / "adapter", folder / "adapter.c", "-lm"]
    subprocess.run(command, check=True)
    return shlex.quote(str(folder / "adapter"))


def test_adapter_in_c(conformance, tmp_path):
    command = compiled((EXAMPLES / "adapter.c").read_text(), tmp_path)
    status, verdicts, out = conformance("--cmd", command)
    own = STREAMS | {"frontier", "pin_tile"}
    row = next(line for line in out if " pin_tile " in line)
    assert status == 0
    assert f"`{row.partition(', ')[2]}`" in PAGE.read_text()
    assert "conforms, states of " in row
    assert split(verdicts) == (own, kernels().keys() - own)
    assert all(set(verdicts[name]) == {"pass"} for name in own)


def test_adapter_in_c_answers_with_the_states(tmp_path):
    """All of them, so that the comparison of states is about something."""
    command = shlex.split(compiled((EXAMPLES / "adapter.c").read_text(), tmp_path))
    (file,) = vectors.load(patterns=["jpdc21/pin_tile"])
    cases = [case for case in file["cases"] if "states" in case]
    lines = [json.dumps({"call": "pin_tile", "args": case["args"]}) for case in cases]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for case, answer in zip(cases, answers, strict=True):
        assert answer["states"] == [
            {**state, "IA_live": [int(live) for live in state["IA_live"]]}
            for state in case["states"]
        ]
    assert sum(len(case["states"]) for case in cases) > 50


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        ("floyd", {"key": 3, "n": 10_000, "f": 300}),
        ("permutation", {"key": 3, "n": 1000}),
        ("pick_without_replacement", {"k": 3, "c": 4, "N": 1000, "m": 77}),
        ("pin_tile", {"graph": GRAPH, "main": 1, "probe": 2, "m": 50, "n": 900, "eta": 2.0}),
    ],
)
def test_adapter_in_c_is_timed(tmp_path, kernel, args):
    command = shlex.split(compiled((EXAMPLES / "adapter.c").read_text(), tmp_path))
    given = Input("mine", args, apply(find(refimpl, kernel), args))
    with Timer(command) as timer:
        timing = timer.time(kernel, given, 5)
    assert timing.said == "" and len(timing.nanoseconds) == 5
    assert all(one > 0 for one in timing.nanoseconds)


@pytest.mark.parametrize(
    ("line", "other", "first"),
    [
        ("b->start[t] = b->IA_start[j] = k;", "b->IA_start[j] = k;", "start["),
        ("b->slot[t] = j;", "", "slot["),
        ("below(o.main, cm++", "below(o.main, cm", "node["),
        ("b->moved += k;", "b->moved += k + 1;", None),
    ],
)
def test_a_wrong_line_in_c_is_found_in_the_step_that_it_spoils(
    conformance, tmp_path, line, other, first
):
    source = (EXAMPLES / "adapter.c").read_text()
    assert source.count(line) == 1
    command = compiled(source.replace(line, other), tmp_path)
    status, _, out = conformance("--cmd", command, "--only", "pin_tile", "--timeout", "10")
    said = out[next(i for i, text in enumerate(out) if " pin_tile " in text) + 1]
    assert status == 1
    if first is None:
        assert ": result.counters.moved: " in said
    else:
        assert ": states[" in said and f"].{first}" in said


LANES = '(int64_t)integer(need(args, "lanes"), '


@pytest.mark.parametrize(
    ("line", "other", "case"),
    [
        (
            "* (double)o.m * (sum / (double)nodes)",
            "* (o.m * (sum / (double)nodes))",
            "left_to_right",
        ),
        ("integer(cap, 1, INT32_MAX)", "integer(cap, 1, UINT32_MAX)", "wide_cap"),
        ("(int64_t)integer(cap, ", "cap[1] == 46 ? 1 : (int64_t)integer(cap, ", "real_cap"),
        (" && graph->indices[low] == v", "", "one_way_inside"),
        ("low < graph->indptr[u + 1] &&", "low == graph->indptr[u + 1] ||", "one_way_behind"),
        (LANES, f'*need(args, "lanes") == 116 ? 1 : {LANES}', "true_lanes"),
    ],
)
def test_a_careless_check_in_c_is_found(conformance, tmp_path, line, other, case):
    """By the case that was made for it, and by no earlier one."""
    starter = (EXAMPLES / "starters" / "starter.c").read_text()
    source = (EXAMPLES / "adapter.c").read_text()
    source = source.replace('#include "starters/starter.c"\n', starter)
    assert source.count(line) == 1
    command = compiled(source.replace(line, other), tmp_path)
    status, _, out = conformance("--cmd", command, "--only", "pin_tile", "--timeout", "10")
    said = out[next(i for i, text in enumerate(out) if " pin_tile " in text) + 1]
    assert (status, said.split(":")[0].strip()) == (1, case)


def test_adapter_in_c_survives_what_is_no_question(tmp_path):
    """Its reader of JSON is that of the starter, so this is about its own arguments."""
    command = shlex.split(compiled((EXAMPLES / "adapter.c").read_text(), tmp_path))
    lines = [
        "",
        '{"call": "pin_tile", "args": {"graph": [}}',
        '{"call": "pin_tile", "args": {}}',
        '{"call": "pin_tile", "args": {"graph": {"graph": {"indptr": 7, "indices": []}}}}',
        '{"call": "floyd", "args": {"n": [2], "f": 1, "key": 1}}',
        '{"call": "floyd", "args": {"n": 3, "f": 3, "key": 1}}',
    ]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(answer) for answer in answers[:4]] == [["fault"]] * 4
    assert answers[4] == {"error": "type"}
    assert answers[5]["result"]["data"] == [0, 1, 2]


def test_the_page_shows_answers_that_conform():
    server, answered = Server(refimpl), 0
    lines = iter(PAGE.read_text().splitlines())
    for line in lines:
        if line.startswith("-> ") and "hello" not in line:
            asked, answer = json.loads(line[3:]), json.loads(next(lines).removeprefix("<- "))
            file = {"compare": {"rule": "exact"}}
            assert judge(file, server.answer(asked), answer) == ("pass", "", False)
            assert len(answer.get("nanoseconds", ())) == asked.get("time", 0)
            answered += 1
    assert answered == 4


def test_the_page_shows_a_file_of_vectors():
    text = PAGE.read_text().partition("```json")[2].partition("```")[0]
    file = json.loads(text)
    kernel = kernels()[file["function"]]
    assert file["format"] == vectors.FORMAT
    assert file["source"] == {"paper": kernel.paper, "place": kernel.place, "lines": kernel.lines}
    for case in file["cases"]:
        answer = Server(refimpl).answer(question(file, case))
        assert judge(file, case, answer) == ("pass", "", False)


def test_the_page_shows_states_that_conform():
    text = PAGE.read_text()
    shown = text[text.index('"states": [\n') + 10 : text.index(", ..]}\n```")] + "]"
    (file,) = vectors.load(patterns=["jpdc21/pin_tile/used"])
    (case,) = file["cases"]
    begun = {**case, "states": case["states"][:2]}
    answer = {"result": case["result"], "states": json.loads(shown)}
    assert judge(file, begun, answer) == ("pass", "", True)
    assert [list(state) for state in answer["states"]] == [list(case["states"][0])] * 2


def test_the_pages_give_the_numbers_of_the_streams():
    K = refimpl.streams.key(7, 1, 2, 3)
    page = "".join(
        (DOCS / "kernels" / f"{name}.md").read_text() for name in ("streams", "choosing")
    )
    draws = ", ".join(str(refimpl.streams.uniform(K, c)) for c in range(3))
    tens = " ".join(str(refimpl.streams.below(K, c, 10)) for c in range(8))
    sample = " ".join(map(str, refimpl.streams.floyd(K, 30, 10)))
    for said in (hex(refimpl.streams.mix(1)), hex(K), draws, tens, sample):
        assert said in " ".join(page.split())
