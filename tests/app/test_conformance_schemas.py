"""The JSON schemas of vectors, of the protocol's messages and of reports fit what there is."""

import json
import re
import shlex
from pathlib import Path

import pytest
from conformance_programs import answering, program
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import requirements, runner, vectors
from refimpl.lab.apps.conformance.protocol import PROTOCOL, Server
from refimpl.lab.apps.conformance.version import INDEX

pytestmark = pytest.mark.runs

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = {
    name: json.loads((vectors.FOLDER / "schemas" / f"{name}.schema.json").read_text())
    for name in ("vectors", "protocol", "report")
}
REGISTRY = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
)
FILES = vectors.load()
files = pytest.mark.parametrize("file", FILES, ids=lambda file: file["function"])


def faults(reference, value):
    """Return the messages of what is wrong with a value by a schema, such as "report"."""
    name, _, part = reference.partition("/")
    where = f"{name}.schema.json" + (f"#/$defs/{part}" if part else "")
    validator = Draft202012Validator({"$ref": where}, registry=REGISTRY)
    return [error.message for error in validator.iter_errors(value)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", sorted(vectors.stored()))
def test_a_stored_file_fits(name):
    if name.endswith(".json"):
        assert faults("vectors", json.loads((vectors.FOLDER / name).read_bytes())) == []


def test_the_index_fits():
    index = json.loads((vectors.FOLDER / INDEX).read_bytes())
    assert faults("vectors/index", index) == []
    assert faults("vectors/index", {**index, "version": "1.0"})


def test_the_requirements_fit():
    content = json.loads((vectors.FOLDER / requirements.FILE).read_bytes())
    assert faults("vectors/specification", content) == []
    for place, new in [
        (["format"], "minibatch-gnn-requirements/2"),
        (["kernels", "mix", "refusals"], ...),
        (["kernels", "mix", "requirements", 0, "name"], "mix"),
        (["kernels", "mix", "requirements", 0, "says"], ""),
        (["kernels", "mix", "refusals", 0, "error"], "overflow"),
    ]:
        assert faults("vectors/specification", changed(content, place, new)), place


def changed(value, place, new):
    """Return a copy of a JSON value with the entry at `place` replaced; ... removes it."""
    copied = json.loads(json.dumps(value))
    *path, last = place
    inside = copied
    for name in path:
        inside = inside[name]
    if new is ...:
        del inside[last]
    else:
        inside[last] = new
    return copied


(FLOYD,) = (file for file in FILES if file["function"] == "floyd")
(ADAM,) = (file for file in FILES if file["function"] == "adam_step")
ERROR = next(i for i, case in enumerate(FLOYD["cases"]) if "error" in case)


@pytest.mark.parametrize(
    ("file", "place", "new"),
    [
        (FLOYD, ["format"], "minibatch-gnn-vectors/2"),
        (FLOYD, ["writes"], ...),
        (FLOYD, ["more"], 1),
        (FLOYD, ["source", "paper"], "icml20"),
        (FLOYD, ["compare"], {"rule": "exact", "rtol": 0.1}),
        (ADAM, ["compare", "rule"], "close"),
        (FLOYD, ["cases"], []),
        (FLOYD, ["cases", 0, "id"], "a b"),
        (FLOYD, ["cases", 0, "result"], ...),
        (FLOYD, ["cases", 0, "error"], "value"),
        (FLOYD, ["cases", ERROR, "error"], "overflow"),
        (FLOYD, ["cases", ERROR, "states"], []),
        (FLOYD, ["cases", 0, "result", "dtype"], "complex64"),
        (FLOYD, ["cases", 0, "result", "data"], ["x"]),
        (FLOYD, ["cases", 0, "result", "shape"], [-1]),
        (FLOYD, ["cases", 0, "args", "key"], {"value": 1}),
        (ADAM, ["cases", 0, "changed"], [1]),
    ],
)
def test_a_damaged_file_does_not_fit(file, place, new):
    assert faults("vectors", file) == []
    assert faults("vectors", changed(file, place, new))


@files
def test_the_messages_of_a_kernel_fit(file, gnn):
    server = Server(gnn)
    hello = {"id": 0, "hello": PROTOCOL}
    assert faults("protocol/hello", hello) == []
    assert faults("protocol/greeting", {"id": 0, **server.answer(hello)}) == []
    for number, case in enumerate(file["cases"], start=1):
        question = {"id": number, **runner.question(file, case)}
        assert faults("protocol/question", question) == []
        answer = {"id": number, **server.answer(question)}
        assert faults("protocol/answer", answer) == []
        right = {name: case[name] for name in ("result", "changed", "states") if name in case}
        assert "error" in case or faults("protocol/answer", right) == []


def test_the_messages_of_the_pages_fit():
    text = (DOCS / "conformance.md").read_text()
    kinds = {"->": ["protocol/hello", "protocol/question"], "<-": ["protocol/greeting"]}
    kinds["<-"].append("protocol/answer")
    lines = re.findall(r"^(->|<-) (\{.*\})$", text, re.M)
    assert len(lines) == 10
    for side, line in lines:
        message = json.loads(line)
        assert [kind for kind in kinds[side] if not faults(kind, message)], line
        assert faults("protocol", message) == []


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("hello", {"id": 0, "hello": "minibatch-gnn-conformance/2"}),
        ("question", {"id": 1, "call": "floyd"}),
        ("question", {"id": 1, "call": "floyd", "args": {}, "time": 0}),
        ("question", {"id": -1, "call": "floyd", "args": {}}),
        ("greeting", {"id": 0, "version": "1"}),
        ("answer", {"id": 1}),
        ("answer", {"id": 1, "result": 3, "error": "value"}),
        ("answer", {"id": 1, "error": "overflow"}),
        ("answer", {"id": 1, "result": {"values": [1]}}),
        ("answer", {"id": 1, "result": {"data": "1 2"}}),
        ("answer", {"id": 1, "result": {"data": [1, 2], "shape": "2"}}),
        ("answer", {"id": 1, "result": 3, "nanoseconds": [0.5]}),
        ("answer", {"id": 1, "result": 3, "states": [3]}),
    ],
)
def test_a_damaged_message_does_not_fit(kind, message):
    assert faults(f"protocol/{kind}", message)


REPLIES = {
    "right": "{'result': '0'}",
    "error": "{'error': 'value'}",
    "skipping": "{'skip': 'no'}",
    "dying": "__import__('os')._exit(1)",
}


@pytest.mark.parametrize("reply", [*REPLIES, "no greeting"])
def test_a_report_fits(reply, tmp_path, capsys):
    path = tmp_path / "report.json"
    command = answering(REPLIES[reply]) if reply in REPLIES else program("")
    words = shlex.join(command)
    main(["conformance", "--cmd", words, "--only", "mix", "--report", str(path)])
    report = json.loads(path.read_text())
    assert report["cases"] and faults("report", report) == []
    for place, new in [
        (["format"], "minibatch-gnn-conformance-report/1"),
        (["vectors"], ...),
        (["vectors", "version"], "one"),
        (["cases", 0, "verdict"], "good"),
        (["cases", 0, "difference"], None),
        (["status"], 2),
        (["more"], 1),
        (["requirements", "missed"], ["mix"]),
    ]:
        assert faults("report", changed(report, place, new)), place
