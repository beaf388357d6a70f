"""The starters of `examples/conformance/starters`: built, run, and asked what is no question."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conformance_programs import skip_without

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.timing import Input, Timer
from refimpl.lab.apps.conformance.vectors import apply, load

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
STARTERS = ROOT / "examples" / "conformance" / "starters"
HOWTO = (ROOT / "docs" / "howto" / "port_a_backend.md").read_text()
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
# the program that is needed, and the commands that make and run it
BUILDS = {
    "c": ("cc", ["cc", "-std=c99", "-O1", *WARNINGS, "-o", "{out}", "{source}"], ["{out}"]),
    "rs": ("rustc", ["rustc", "-O", "-D", "warnings", "-o", "{out}", "{source}"], ["{out}"]),
    "go": ("go", ["go", "build", "-o", "{out}", "{source}"], ["{out}"]),
    "js": ("node", None, ["node", "{source}"]),
}
(FRONTIER,) = [file for file in load() if file["function"] == "frontier"]
WORDS = np.arange(10_000, dtype=np.uint64) * np.uint64(2**50 + 1)
OWN = {"mix", "key", "uniform", "below", "pick_without_replacement", "frontier"}
languages = pytest.mark.parametrize("language", BUILDS)


def starter(language, folder, shift=("", "")):
    """Return the command of a starter, made from its source with one shift changed."""
    needed, build, run = BUILDS[language]
    skip_without(needed)
    source = (STARTERS / f"starter.{language}").read_text()
    path = folder / f"starter.{language}"
    changed, found = re.subn(rf"(>> ?){shift[0]}", rf"\g<1>{shift[1]}", source)
    assert found or not any(shift)
    path.write_text(changed if any(shift) else source)
    places = {"out": str(folder / "starter"), "source": str(path)}
    if build:
        cache = {"GOCACHE": str(folder.parent / "go"), "GO111MODULE": "off"}
        command = [word.format(**places) for word in build]
        subprocess.run(command, check=True, env={**os.environ, **cache})
    return [word.format(**places) for word in run]


@languages
def test_a_starter_conforms_in_its_kernels_and_skips_the_rest(language, tmp_path, capsys):
    """It is asked every case, so that it has met all forms of values, errors and long lines."""
    report = tmp_path / "report.json"
    command = shlex.join(starter(language, tmp_path))
    assert main(["conformance", "--cmd", command, "--report", str(report)]) == 0
    content = json.loads(report.read_text())
    assert content["program"] == {"name": f"starter.{language}", "version": "1"}
    verdicts = {}
    for case in content["cases"]:
        verdicts.setdefault(case["kernel"], set()).add(case["verdict"])
    assert verdicts == {name: {"pass"} if name in OWN else {"skip"} for name in kernels()}
    assert content["states_compared"] == sum("states" in case for case in FRONTIER["cases"])


@languages
@pytest.mark.parametrize(
    ("shift", "kernel"), [(("11", "12"), "uniform"), (("27", "28"), "mix"), (("30", "29"), "mix")]
)
def test_a_wrong_number_in_a_starter_is_found(language, shift, kernel, tmp_path, capsys):
    command = shlex.join(starter(language, tmp_path, shift))
    assert main(["conformance", "--cmd", command, "--only", kernel]) == 1
    assert "differs" in capsys.readouterr().out


@languages
@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        ("mix", {"x": WORDS}),
        ("key", {"parts": [7, 1, 2**64 - 1]}),
        ("uniform", {"k": 5, "c": WORDS.reshape(2, -1)}),
        ("below", {"k": 5, "c": WORDS, "n": 2**53 - 1}),
    ],
)
def test_a_starter_is_timed(language, kernel, args, tmp_path):
    want = apply(getattr(refimpl.streams, kernel), args)
    with Timer(starter(language, tmp_path)) as timer:
        timing = timer.time(kernel, Input("words", args, want), 4)
        one = timer.time(
            "uniform", Input("one", {"k": 5, "c": 3}, refimpl.streams.uniform(5, 3)), 9
        )
    assert timing.said == one.said == ""
    assert len(timing.nanoseconds) == 4 and len(one.nanoseconds) == 9
    if kernel == "uniform":  # of 10,000 numbers, beside one
        assert sum(sorted(timing.nanoseconds)[:2]) > sum(sorted(one.nanoseconds)[:2])


@languages
def test_a_starter_survives_what_is_no_question(language, tmp_path):
    lines = [
        "",
        "{",
        '{"id": 1',
        '{"id": [}, "call": "mix"}',
        '{"call": "mix", "args": {"x": [}}',
        "[" * 200_000,
        '"' + 200_000 * "x",
        '{"id": 7, "call": "mix", "args": {"x": "18446744073709551616"}}',
        '{"id": 8, "call": "mix", "args": {"x": -1}}',
        '{"id": 9, "call": "mix", "args": {"x": 1.5}}',
        '{"id": 10, "call": "mix", "args": {"x": true}}',
        '{"id": 11, "call": "mix", "args": {"x": null}}',
        '{"id": 12, "call": "no\\"such", "args": {"a": "\\\\", "x": [[{}], "]}"]}}',
        '{"id": 13, "call": "mix", "args": {"x": {"dtype": "uint64", "shape": [0], "data": []}}}',
        f'{{"id": 14, "call": "key", "args": {{"parts": [{"0, " * 50_000}0]}}}}',
        ' { "id" : 15 , "args" : { "n" : 10 , "c" : 0 , "k" : 1 } , "call" : "below" } ',
    ]
    done = subprocess.run(
        starter(language, tmp_path), input="\n".join(lines), capture_output=True, text=True
    )
    assert done.returncode == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines)
    assert all("fault" in answer for answer in answers[:7])
    empty = answers[13].pop("result")
    assert (empty["shape"], empty["data"]) == ([0], [])
    assert answers[7:] == [
        {"id": 7, "error": "value"},
        {"id": 8, "error": "value"},
        {"id": 9, "error": "type"},
        {"id": 10, "error": "type"},
        {"id": 11, "error": "type"},
        {"id": 12, "skip": "not implemented"},
        {"id": 13},
        {"id": 14, "result": answers[14]["result"]},
        {"id": 15, "result": answers[15]["result"]},
    ]
    assert 0 <= answers[15]["result"] < 10 and str(answers[14]["result"]).isdecimal()


@languages
def test_the_page_builds_a_starter_as_it_says_itself(language):
    commands = re.findall(r"^\| \{download\}.*? \| `(.*?)` \|$", HOWTO, re.M)
    head = "\n".join((STARTERS / f"starter.{language}").read_text().splitlines()[:6])
    assert sum(f"starter.{language}" in command for command in commands) == 1
    assert any(command in head for command in commands if f"starter.{language}" in command)


def test_the_first_kernel_of_the_page_conforms_and_its_mistake_is_explained(
    tmp_path, monkeypatch, capsys
):
    skip_without("node")
    monkeypatch.chdir(tmp_path)
    added, expected = (
        re.search(rf":caption: {name}\n\n(.*?)```", HOWTO, re.S)[1]
        for name in ("starter.js", "expected.txt")
    )
    asked = re.findall(r"^    minibatch-gnn (.*'node starter.js'.*)$", HOWTO, re.M)
    source = (STARTERS / "starter.js").read_text()
    source = source.replace("const KERNELS", f"{added}\nconst KERNELS")
    source = source.replace("frontier }),", "frontier, floyd }),")
    Path("starter.js").write_text(source)
    Path("expected.txt").write_text(expected)
    assert len(asked) == 3
    for command in asked:
        assert main(shlex.split(command)) == 0
    assert "floyd    8/8  conforms" in capsys.readouterr().out
    assert "chosen.has(t) ? last : t" in added
    Path("starter.js").write_text(source.replace("chosen.has(t) ? last : t", "t"))
    assert main(shlex.split(asked[0])) == 1
    shown = re.search(r"The kit then reports\n\n```text\n(.*?)```", HOWTO, re.S)[1]
    assert shown in capsys.readouterr().out
    assert main(shlex.split(asked[1])) == 1
    assert "differs: result: want shape [10], got [9]" in capsys.readouterr().out


def test_a_wrong_comparison_in_the_starter_is_explained_as_on_the_page(tmp_path, capsys):
    skip_without("node")
    wrong = re.search(r"`while \((left > .*?)\)`, which is wrong", HOWTO)[1]
    source = (STARTERS / "starter.js").read_text()
    assert wrong.replace(">", ">=") in source
    changed = tmp_path / "starter.js"
    changed.write_text(source.replace(wrong.replace(">", ">="), wrong))
    assert main(["conformance", "--cmd", f"node {changed}", "--only", "frontier"]) == 1
    assert (
        re.search(r"wrong, the kit reports\n\n```text\n(.*?)```", HOWTO, re.S)[1]
        in capsys.readouterr().out
    )
