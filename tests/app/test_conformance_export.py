"""The fixtures without Python, and their runners in JavaScript and Rust."""

import json
import random
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from conformance_programs import skip_without

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import levels, requirements, runner, vectors
from refimpl.lab.apps.conformance.protocol import server_command

pytestmark = pytest.mark.runs

FILES = vectors.load()
COMMAND = shlex.join(server_command("refimpl"))


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """The folder that `--export` makes."""
    folder = tmp_path_factory.mktemp("export") / "kit"
    assert main(["conformance", "--export", str(folder)]) == 0
    return folder


def test_the_vectors_are_whole_and_plain(kit):
    names = json.loads((kit / "files.json").read_text())
    assert [json.loads((kit / name).read_text()) for name in names] == FILES
    assert not list(kit.rglob("*.npz"))
    assert json.loads((kit / "levels.json").read_text()) == {
        level: list(kernels) for level, kernels in levels.LEVELS.items()
    }
    for name in ("index.json", requirements.FILE, "schemas/vectors.schema.json"):
        assert (kit / name).read_bytes() == (vectors.FOLDER / name).read_bytes()


def test_numbers_are_written_as_in_the_vectors(kit):
    """2.0 stays 2.0: an integer argument must refuse it."""
    for file in FILES:
        name = f"vectors/{file['source']['paper']}/{file['function']}.json"
        if not (vectors.FOLDER / name.removeprefix("vectors/")).with_suffix(".npz").exists():
            stored = vectors.FOLDER / name.removeprefix("vectors/")
            assert (kit / name).read_bytes() == stored.read_bytes()


@pytest.mark.parametrize("name", ["kit.tgz", "kit.zip"])
def test_another_archive_is_refused(tmp_path, name, capsys):
    assert main(["conformance", "--export", str(tmp_path / name)]) == 2
    assert "--export must name a folder or a .tar.gz file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--export", "--copy"])
def test_a_folder_that_cannot_be_written_is_not_left_behind(tmp_path, option, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(shutil, "copyfile", full)
    assert main(["conformance", option, str(tmp_path / "kit")]) == 2
    assert not list(tmp_path.iterdir())


def test_an_archive_has_the_same_files_and_always_the_same_bytes(kit, tmp_path, capsys):
    one, two = tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"
    for path in (one, two):
        assert main(["conformance", "--export", str(path)]) == 0
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as archive:
        made = {
            member.name.partition("/")[2]: archive.extractfile(member).read()
            for member in archive.getmembers()
        }
    there = {p.relative_to(kit).as_posix(): p.read_bytes() for p in kit.rglob("*") if p.is_file()}
    assert made.keys() <= there.keys()
    assert all(there[name] == content for name, content in made.items())
    assert "README.md" in made and f"{len(made)} files in {one}" in capsys.readouterr().out
    assert main(["conformance", "--export", str(one)]) == 2
    assert "there is something already" in capsys.readouterr().err
    assert main(["conformance", "--export", str(tmp_path / "new"), "--missing"]) == 2
    assert "--missing goes with --export only where" in capsys.readouterr().err


def node(kit, *words):
    """Return (exit status, output) of the runner in JavaScript."""
    skip_without("node")
    asked = ["node", "runner.mjs", *words]
    done = subprocess.run(asked, cwd=kit / "npm", capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def changed(path, old, new):
    """Return the path of a copy of a file beside it, with a change."""
    text = path.read_text()
    assert text.count(old) == 1
    copy = path.with_name(f"changed{path.suffix}")
    copy.write_text(text.replace(old, new))
    return copy


def test_a_right_module_passes(kit, tmp_path):
    report = tmp_path / "report.json"
    status, said = node(kit, "mine.mjs", "--report", str(report))
    assert status == 0, said
    assert {"mix 10/10 conforms", "key 8/9 conforms"} <= {*said.splitlines()}
    assert "floyd 7/8 conforms" in said  # one case of each has 2.0 for an integer
    assert main(["conformance", "matrix", str(report)]) == 0
    assert json.loads(report.read_text())["requirements"]["missed"] == []


def test_a_wrong_module_fails_with_its_requirement(kit):
    wrong = changed(kit / "npm" / "mine.mjs", "chosen.has(t) ? last : t", "t")
    status, said = node(kit, wrong.name)
    assert status == 1
    assert "  ten_of_thirty: result: want shape [10], got [9]\n    floyd-3: If this integer" in said
    assert "requirements missed: floyd-1, floyd-2, floyd-3" in said


def test_a_refusal_that_is_forgotten_is_found(kit):
    path = kit / "npm" / "mine.mjs"
    wrong = changed(path, "if (whole < low || whole > high)", "if (whole < low)")
    status, said = node(kit, wrong.name, "--only", "floyd")
    assert status == 1 and "floyd-6: A value out of range" in said
    assert "Here not 0 <= `f` <= `n`." in said


def test_the_reference_reaches_every_level_by_the_runner_in_javascript(kit):
    status, said = node(kit, "--cmd", COMMAND)
    assert status == 0, said
    assert f"levels reached: {', '.join(levels.LEVELS)}" in said
    assert said.count(" conforms") == len(FILES)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one module, or --cmd COMMAND"),
        (["mine.mjs", "--level", "all"], "--level must be one of core, samplers"),
        (["mine.mjs", "--only", "flyod"], "there is no such kernel"),
        (["none.mjs"], "Cannot find module"),
        (["--cmd", "./no-such-program"], "cannot be started"),
    ],
)
def test_bad_usage_of_the_runner_in_javascript(kit, words, said):
    status, output = node(kit, *words)
    assert status == 2 and said in output


def test_a_level_must_be_reached(kit):
    status, said = node(kit, "mine.mjs", "--level", "core")
    assert status == 1 and "levels reached: none" in said


DYING = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    if question.get("call") == "mix" and question["id"] > 1: sys.exit(3)
    answer = {"name": "dying", "version": "1"} if "hello" in question else {"skip": "no"}
    print(json.dumps({"id": question["id"], **answer}), flush=True)
"""


def test_a_program_that_ends_is_lost_and_started_again(kit, tmp_path):
    path = tmp_path / "dying.py"
    path.write_text(DYING)
    status, said = node(kit, "--cmd", f"{sys.executable} {path}", "--only", "mix")
    assert status == 1 and "mix 0/10 lost" in said and "the program ended with 3" in said
    status, said = cargo(kit, "run", "-q", "--", "--only", "mix", sys.executable, str(path))
    assert status == 1 and "mix 0/10 lost" in said


def altered(value, pick):
    """Return a JSON value with one change somewhere inside, or another form of it."""
    if isinstance(value, dict) and value:
        name = pick.choice(sorted(value))
        kind = pick.random()
        if "shape" in value and kind < 0.3:
            return value["data"] if len(value["shape"]) == 1 else [value["data"]]
        if kind < 0.1:
            return {key: part for key, part in value.items() if key != name}
        return {**value, name: altered(value[name], pick)}
    if isinstance(value, list) and value and pick.random() < 0.8:
        i = pick.randrange(len(value))
        return [*value[:i], altered(value[i], pick), *value[i + 1 :]]
    if isinstance(value, bool) or value is None:
        return pick.choice([True, False, None, 1, 0])
    if isinstance(value, int):
        return pick.choice([value + 1, float(value), str(value), value])
    if isinstance(value, float):
        return pick.choice([value * (1 + 1e-13), value * (1 + 1e-3), -value, "nan", value])
    return pick.choice([value, 7, None, [value], {"fields": {}}])


JUDGE = """
import { readFileSync } from "node:fs";
import { judge } from "./runner.mjs";
import { parse } from "./values.mjs";
const pairs = parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(pairs.map(({ file, test, answer }) => judge(file, test, answer)[0])));
"""


JUDGE_RS = """
use conformance::compare::Rule;
use conformance::json::Json;

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let pairs = Json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    for pair in pairs.list().unwrap() {
        let rule = Rule::of(pair.get("file").unwrap().get("compare").unwrap());
        let (test, answer) = (pair.get("test").unwrap(), pair.get("answer").unwrap());
        println!("{:?}", conformance::judge(test, answer, &rule).0);
    }
}
"""


@pytest.fixture(scope="module")
def pairs(kit):
    """A file of altered answers to every case, and the verdicts on them."""
    pick, pairs, wanted = random.Random(7), [], []
    for file in FILES:
        for case in file["cases"]:
            right = {k: case[k] for k in ("result", "changed", "states", "error") if k in case}
            answer = right if pick.random() < 0.1 else altered(right, pick)
            head = {"writes": file["writes"], "compare": file["compare"]}
            pairs.append({"file": head, "test": case, "answer": answer})
            wanted.append(runner.judge(file, case, answer)[0])
    assert wanted.count("pass") > 100 and wanted.count("differs") > 300
    path = kit / "pairs.json"
    path.write_text(json.dumps(pairs))
    return path, wanted


def test_the_runner_in_javascript_judges_altered_answers_alike(kit, pairs):
    path, wanted = pairs
    (kit / "npm" / "judge.mjs").write_text(JUDGE)
    skip_without("node")
    asked = ["node", "judge.mjs", str(path)]
    done = subprocess.run(asked, cwd=kit / "npm", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == wanted


def test_the_runner_in_rust_judges_altered_answers_alike(kit, pairs):
    path, wanted = pairs
    (kit / "cargo" / "examples").mkdir(exist_ok=True)
    (kit / "cargo" / "examples" / "judge.rs").write_text(JUDGE_RS)
    status, said = cargo(kit, "run", "-q", "--example", "judge", "--", str(path))
    assert status == 0, said
    assert [line.lower() for line in said.splitlines()] == wanted


def cargo(kit, *words):
    """Return (exit status, output) of cargo in the crate."""
    skip_without("cargo")
    asked = ["cargo", words[0], "--offline", *words[1:]]
    done = subprocess.run(asked, cwd=kit / "cargo", capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_crate_passes_and_a_wrong_kernel_fails_with_its_requirement(kit):
    status, said = cargo(kit, "test", "-q")
    assert status == 0, said
    assert "warning" not in said
    path = kit / "cargo" / "src" / "mine.rs"
    right = path.read_text()
    wrong = "if chosen.contains(&t) { last } else { t }"
    assert wrong in right
    path.write_text(right.replace(wrong, "t"))
    try:
        status, said = cargo(kit, "test", "-q")
    finally:
        path.write_text(right)
    assert status != 0
    assert "  ten_of_thirty: result: want shape [10], got [9]\n    floyd-3: If this integer" in said


def test_the_reference_reaches_every_level_by_the_runner_in_rust(kit):
    status, said = cargo(kit, "run", "-q", "--", *server_command("refimpl"))
    assert status == 0, said
    assert f"levels reached: {', '.join(levels.LEVELS)}" in said
    assert said.count(" conforms") == len(FILES)
    status, said = cargo(kit, "run", "-q", "--", "--level", "all", "true")
    assert status == 2 and "there is no such level" in said
