"""`minibatch-gnn conformance`: both packages conform, and its options."""

import json
import shlex
import subprocess
import sys
from importlib.metadata import version

import pytest
from conformance_programs import CONSTRUCTORS, answering, program

import fastimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import command, vectors
from refimpl.lab.apps.conformance.protocol import server_command
from refimpl.lab.apps.conformance.version import VERSION

pytestmark = pytest.mark.runs

MIX = "{'result': 0, 'error': 'value'} if question['call'] == 'mix' else {'skip': 'no'}"


def run(capsys, *options):
    """Return (status, lines of the output, lines of the errors)."""
    status = main(["conformance", *map(str, options)])
    text = capsys.readouterr()
    return status, text.out.splitlines(), text.err.splitlines()


def test_every_kernel_conforms(gnn, capsys, tmp_path):
    path = tmp_path / "report.json"
    status, out, err = run(capsys, "--impl", gnn.__name__, "--report", path)
    own = version("minibatch-gnn")
    assert (status, err) == (0, [])
    kit = f"{VERSION} of minibatch-gnn {own}"
    assert out[0] == f"{gnn.__name__} {own} by the vectors {kit}"
    rows = [line.split() for line in out if line.startswith("  ")]
    files = vectors.load()
    assert sorted(row[-3] for row in rows) == sorted(file["function"] for file in files)
    of_this_process = {"read_rows"}  # it takes the descriptor of an open file
    assert {row[-3] for row in rows} >= set(fastimpl.compiled) - {*CONSTRUCTORS, *of_this_process}
    assert {row[-1] for row in rows} == {"conforms"}
    assert out[-2:] == [
        f"{len(files)} conforms",
        "levels reached: core, samplers, layers, freshgnn, loaders",
    ]
    report = json.loads(path.read_text())
    cases = [(f["source"]["paper"], f["function"], c["id"]) for f in files for c in f["cases"]]
    assert [(c["paper"], c["kernel"], c["case"]) for c in report["cases"]] == cases
    assert {c["verdict"] for c in report["cases"]} == {"pass"}
    assert all(c["seconds"] > 0 for c in report["cases"])
    assert report["format"] == "minibatch-gnn-conformance-report/3"
    assert report["vectors"] == {"format": "minibatch-gnn-vectors/1", "version": VERSION}
    assert report["kit"] == {"name": "minibatch-gnn", "version": own}
    assert report["program"] == {"name": gnn.__name__, "version": own}
    assert report["status"] == 0


@pytest.mark.parametrize(
    ("pattern", "kernels", "cases"),
    [
        ("pin_tile", {"pin_tile"}, None),
        ("jpdc21/pin_tile", {"pin_tile"}, None),
        ("vldb24/cache_*", {"cache_admit", "cache_fetch", "cache_lookup", "cache_read"}, None),
        ("common/mix/zero", {"mix"}, 1),
        ("*/mix/*o*", {"mix"}, 4),
    ],
)
def test_only(capsys, tmp_path, pattern, kernels, cases):
    path = tmp_path / "report.json"
    status, _, _ = run(capsys, "--impl", "refimpl", "--only", pattern, "--report", path)
    found = json.loads(path.read_text())["cases"]
    assert status == 0
    assert {case["kernel"] for case in found} == kernels
    if cases is not None:
        assert len(found) == cases


def test_only_several_times(capsys, tmp_path):
    """What fits any of the patterns, once each."""
    path = tmp_path / "report.json"
    patterns = ["common/mix/zero", "key", "*/mix/*o*"]
    only = [option for pattern in patterns for option in ("--only", pattern)]
    status, _, _ = run(capsys, "--impl", "refimpl", *only, "--report", path)
    found = [(case["kernel"], case["case"]) for case in json.loads(path.read_text())["cases"]]
    key, mix = (
        [(file["function"], case["id"]) for case in file["cases"]]
        for file in vectors.load(patterns=["key", "mix"])
    )
    assert status == 0
    assert found == [*key, *(case for case in mix if "o" in case[1])]
    assert ("mix", "zero") in found and len(found) > len(key) + 1


def test_copy(capsys, tmp_path):
    status, out, _ = run(capsys, "--copy", tmp_path / "new" / "vectors")
    names = sorted(vectors.stored())
    assert (status, out) == (0, [f"{len(names) + 5} files in {tmp_path / 'new' / 'vectors'}"])
    assert names == sorted(vectors.stored(tmp_path / "new" / "vectors"))
    for name in [*names, "index.json", "requirements.json", "schemas/report.schema.json"]:
        copied = (tmp_path / "new" / "vectors" / name).read_bytes()
        assert copied == (vectors.FOLDER / name).read_bytes()
    status, _, err = run(capsys, "--copy", tmp_path / "new")
    assert status == 2
    assert "there is something already" in err[0]


def test_a_difference_is_shown_and_reported(capsys, tmp_path):
    path = tmp_path / "report.json"
    words = shlex.join(answering(MIX))
    status, out, _ = run(capsys, "--cmd", words, "--only", "common/mix", "--report", path)
    assert status == 1
    assert out[0].startswith(f"mine 7 by the vectors {VERSION} of")
    assert out[4].strip() == "zero: want a result, got error 'value'"
    assert out[-2:] == ["1 differs", "requirements missed: mix-1, mix-2, mix-3, mix-4"]
    report = json.loads(path.read_text())
    assert report["status"] == 1
    first, *_, last = report["cases"]
    assert (first["verdict"], first["difference"]) == (
        "differs",
        "want a result, got error 'value'",
    )
    assert last["verdict"] == "differs"  # an error of the wrong class


def test_missing_kernels_are_no_fault(capsys):
    reply = "{'result': '0'} if question['args'] == {'x': 0} else {'skip': 'no'}"
    status, out, _ = run(capsys, "--cmd", shlex.join(answering(reply)), "--only", "common/*")
    kernels = len(vectors.load(patterns=["common/*"]))
    assert status == 0
    assert "conforms, 9 skipped" in next(line for line in out if " mix " in line)
    assert f"1 conforms, {kernels - 1} missing" in out
    assert f"  missing: {kernels - 1} kernels (--missing lists them)" in out
    assert not any(" floyd " in line for line in out)
    options = "--only", "common/*", "--missing"
    status, out, _ = run(capsys, "--cmd", shlex.join(answering(reply)), *options)
    assert sum(line.endswith("  missing") for line in out) == kernels - 1
    assert any(" floyd " in line for line in out) and not any("missing:" in line for line in out)


def test_few_missing_kernels_are_named(capsys):
    reply = "{'result': '0'} if question['args'] == {'x': 0} else {'skip': 'no'}"
    only = [option for name in ("mix", "key", "floyd") for option in ("--only", name)]
    _, out, _ = run(capsys, "--cmd", shlex.join(answering(reply)), *only)
    assert "  missing: floyd, key" in out


def test_nothing_passed(capsys):
    status, out, _ = run(capsys, "--impl", "json", "--only", "common/*")
    assert status == 1
    assert out[-2].endswith(" missing") and "," not in out[-2]
    assert out[-1] == "levels reached: none; not reached: loaders (0 of 3 kernels)"


def test_no_greeting(capsys):
    words = shlex.join(program("import sys; sys.exit(5)"))
    status, out, err = run(capsys, "--cmd", words)
    assert (status, err) == (1, [])
    assert out == ["no answer to the greeting: the program ended with status 5"]


def test_a_lost_greeting_is_reported(capsys, tmp_path):
    """An old report must not be taken for the one of this run."""
    path = tmp_path / "report.json"
    options = "--only", "common/mix", "--report", path
    assert run(capsys, "--impl", "refimpl", *options)[0] == 0
    assert json.loads(path.read_text())["lost"] is None
    words = shlex.join(program("import sys; sys.exit(5)"))
    status, out, _ = run(capsys, "--cmd", words, *options, "--overwrite")
    content = json.loads(path.read_text())
    assert (status, out) == (1, [content["lost"]])
    assert out == ["no answer to the greeting: the program ended with status 5"]
    assert content["program"] == {"name": None, "version": None}
    assert content["status"] == 1
    assert {case["verdict"] for case in content["cases"]} == {"not run"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--impl", "no_such_package"], "no such package"),
        (["--impl", "no such"], "no such package"),
        (["--impl", ""], "no such package"),
        (["--cmd", "/no/such/program"], "cannot be started"),
        (["--cmd", "'"], "No closing quotation"),
        (["--cmd", ""], "must name a program"),
        (["--only", "nothing"], "fits no kernel and no case"),
        (["--only", "mix", "--only", "nothing"], "--only 'nothing' fits no kernel and no case"),
        (["--only", ""], "fits no kernel and no case"),
        (["--timeout", "0"], "--timeout must be above 0"),
        (["--timeout", "nan"], "--timeout must be above 0"),
        (["--timeout", "inf"], "--timeout must be above 0"),
        (["--timeout", "1e10"], "--timeout must be above 0 and at most"),
        (["--report", ""], "--report: must name a file or folder, got ''"),
        (["--report", "/"], "--report must name a file, got '/'"),
        (["--report", "/dev/null"], "--report /dev/null: is no ordinary file"),
        (["--copy", ""], "--copy"),
        (["--copy", "new", "--only", "mix"], "--only goes with --copy only where"),
        (["--copy", "new", "--report", "x.json"], "--report goes with --copy only where"),
        (["--copy", "new", "--impl", "no_such_package"], "no such package"),
        (["--copy", "new", "--cmd", "'"], "No closing quotation"),
        (["--copy", "new", "--impl", "refimpl", "--only", "nothing"], "fits no kernel"),
        (["--copy", "new", "--impl", "refimpl", "--report", "no/x"], "there is no such folder"),
        (["--report", "/no/such/folder/x.json"], "there is no such folder"),
        (["--copy", "new", "--missing"], "--missing goes with --copy only where"),
        (["--level", "sampler"], "argument --level: invalid choice: 'sampler'"),
        (["--level", "core", "--only", "mix"], "not allowed with argument --level"),
        (["--copy", "new", "--level", "core"], "--level goes with --copy only where"),
        (["--show", "pin_tile/used", "--level", "core"], "one case: leave out --level"),
        (["--show", "pin_tile/used", "--only", "mix"], "one case: leave out --only"),
        (["--show", "pin_tile/used", "--report", "x.json"], "one case: leave out --report"),
        (["--show", "pin_tile/used", "--copy", "new"], "one case: leave out --copy"),
        (["--show", "pin_tile/used", "--missing"], "one case: leave out --missing"),
        (["--show", "pin_tile/usd"], "is no case; do you mean jpdc21/pin_tile/used?"),
        (["--show", "jpdc21/pin_tile"], "is no case; do you mean jpdc21/pin_tile/"),
        (["--show", ""], "'' is no case, such as jpdc21/pin_tile/used"),
        (["--show", "pin_tile/used", "--impl", "no_such_package"], "no such package"),
        (["--show", "pin_tile/used", "--cmd", "/no/such/program"], "cannot be started"),
        (["--impl", "refimpl", "--cmd", "x"], "not allowed with argument"),
        (["--unknown"], "unrecognized arguments"),
    ],
)
def test_bad_usage(capsys, tmp_path, monkeypatch, options, said):
    """Told in one line, before anything is asked or copied."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command.runner, "run", None)
    if "/no/such/program" in options:
        monkeypatch.undo()
    status, out, err = run(capsys, *options)
    assert (status, out, len(err)) == (2, [], 1)
    assert said in err[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "--impl broken: SyntaxError: "),
        ("broken.inside", "no such package"),
        ("leaves", "--impl leaves: SystemExit: 3"),
    ],
)
def test_a_package_that_cannot_be_imported(capfd, tmp_path, monkeypatch, name, said):
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    status, out, err = run(capfd, "--impl", name)
    assert (status, out, len(err)) == (2, [], 1)
    assert said in err[0]


def talk(package, *lines, folder=None):
    """Return the answers of the server for a package to some lines, and its errors."""
    done = subprocess.run(
        server_command(package) if folder is None else folder,
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_server(gnn):
    """What a program may be asked, and how it answers: the transcript of the documentation."""
    graph = {"graph": {"indptr": [0, 1, 3, 4], "indices": [1, 0, 2, 1]}}
    theta, grad = ({"dtype": "float64", "shape": [1], "data": [x]} for x in (1.0, 2.0))
    m, v = ({"dtype": "float64", "shape": [1], "data": [0.0]} for _ in "mv")
    adam = {"theta": theta, "grad": grad, "m": m, "v": v, "t": 1, "lr": 0.5}
    answers, err = talk(
        gnn.__name__,
        '{"hello": "minibatch-gnn-conformance/1"}',
        '{"call": "key", "args": {"parts": [7, "1", 2, 3]}}',
        json.dumps({"call": "transpose_perm", "args": {"graph": graph}}),
        json.dumps({"call": "adam_step", "args": adam, "writes": ["theta", "m"]}),
        '{"call": "floyd", "args": {"key": 1, "n": 2, "f": 3}}',
        '{"call": "floyd", "args": {"key": 1, "n": 2.0, "f": 1}}',
        '{"call": "no_such_kernel", "args": {}}',
    )
    assert err == ""
    assert answers[:3] == [
        {"name": gnn.__name__, "version": version("minibatch-gnn")},
        {"result": "16860246889822268962"},
        {"result": {"dtype": "int32", "shape": [4], "data": [1, 0, 3, 2]}},
    ]
    assert answers[3]["result"] is None
    assert sorted(answers[3]["changed"]) == ["m", "theta"]
    assert answers[3]["changed"]["theta"]["data"] == pytest.approx([0.5])
    assert answers[4:] == [{"error": "value"}, {"error": "type"}, {"skip": "not implemented"}]


def test_server_survives_what_is_no_question():
    lines = ["", "{", "[]", "3", '{"args": {}}', '{"call": "mix"}', '{"call": "mix", "args": []}']
    strange = '{"call": "mix", "args": {"x": {"type": "Nothing", "fields": {}}}}'
    answers, _ = talk("refimpl", *lines, strange, '{"call": "mix", "args": {"x": 0}}')
    assert [list(answer) for answer in answers[:-1]] == [["fault"]] * 8
    assert answers[-1] == {"result": 0}


def test_server_as_a_module_and_a_package_that_prints_raises_and_skips(tmp_path, monkeypatch):
    (tmp_path / "chatty.py").write_text(
        "print('on import')\n"
        "__version__ = 2\n"
        "def mix(x):\n"
        "    print('while it runs')\n"
        "    if x == 3: raise NotImplementedError('not three')\n"
        "    if x == 4: raise ZeroDivisionError('four')\n"
        "    return object() if x == 5 else x\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    module = [sys.executable, "-m", "refimpl.lab.apps.conformance.protocol", "chatty"]
    questions = [f'{{"call": "mix", "args": {{"x": {x}}}}}' for x in (2, 3, 4, 5)]
    answers, err = talk("", '{"hello": 1}', *questions, folder=module)
    assert answers == [
        {"name": "chatty", "version": "2"},
        {"result": 2},
        {"skip": "not three"},
        {"fault": "ZeroDivisionError: four"},
        {"fault": "TypeError: there is no JSON form of object"},
    ]
    assert err.split("\n")[0] == "on import"
    assert err.count("while it runs") == 4
