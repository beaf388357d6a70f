"""The conformance runner with programs that break every rule: an orderly verdict in good time."""

import json
import shlex
import signal
import sys

import pytest
from conformance_programs import (
    ANSWERS,
    GREETS,
    PROC,
    answering,
    ends,
    left_behind,
    program,
    vector,
)

from refimpl.lab.apps import worker as asking
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import report
from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.conformance.runner import run

ARRAY = {"dtype": "int32", "shape": [2], "data": [4, 9]}
CASE = {"id": "a", "flags": [], "args": {"x": 1}, "result": ARRAY}
SLOW, QUICK = 60, 2.0


@pytest.mark.skipif(not PROC.is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(
    ("then", "session"),
    [
        ("sys.exit(0)", True),
        ("time.sleep(60)", True),
        ("os.close(0); sys.exit(3)", True),
        ("sys.exit(0)", False),
    ],
)
def test_what_holds_the_pipe_does_not_hold_the_runner(tmp_path, then, session):
    """It is ended, also with a session of its own, which takes it out of the program's group."""
    pid_file = tmp_path / "pid"
    found = run(program(left_behind(then, pid_file, session)), [vector(CASE)], timeout=QUICK)
    assert ends(int(pid_file.read_text()))
    assert found.verdicts[0].verdict == "lost"


@pytest.mark.skipif(not PROC.is_dir(), reason="processes are looked up in /proc")
def test_what_a_good_program_left_is_ended(tmp_path):
    pid_file = tmp_path / "pid"
    source = left_behind("pass", pid_file, session=False).replace(GREETS, "")
    reply = f"import json\ndef reply(question): return {{'result': {ARRAY}}}"
    found = run(program(f"{source}\n{reply}\n{ANSWERS}"), [vector(CASE)], timeout=SLOW)
    assert found.status == 0
    assert ends(int(pid_file.read_text()))


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="no real-time signals")
@pytest.mark.parametrize("after", [0, 1])
def test_a_real_time_signal(after):
    """Those between the first and the last have no names."""
    number = signal.SIGRTMIN + after
    command = answering(f"import os\ndef reply(question): os.kill(os.getpid(), {int(number)})")
    (verdict,) = run(command, [vector(CASE)], timeout=SLOW).verdicts
    name = "SIGRTMIN" if after == 0 else f"signal {int(number)}"
    assert (verdict.verdict, verdict.difference) == ("lost", f"the program ended by {name}")


def hello(line, answer="{}"):
    """Return a program that answers the greeting with `line`, and all else with `answer`."""
    return program(
        f"import sys\nfor i, _ in enumerate(sys.stdin):\n"
        f"    print({answer!r} if i else {line!r}, flush=True)"
    )


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ('{"version": NaN}', "the greeting has no name: {'version': nan}"),
        ('{"version": "\\ud800\\u001b[2J"}', "the greeting has no name: {'version': '"),
        ('{"fault": 1', "the answer is no JSON: "),
        ("[" * 900 + "]" * 900, "the answer is no object: "),
        ("[" * 10**5, "the answer is no JSON: "),
    ],
)
def test_a_greeting_that_is_none(line, lost):
    found = run(hello(line), [vector(CASE)], timeout=SLOW)
    assert found.lost.startswith(f"no answer to the greeting: {lost}")
    assert found.lost.isprintable()


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ('{"name": NaN, "version": Infinity}', "nan", "inf"),
        ('{"name": "a\\ud800b\\u001b[31m", "version": "1\\n2"}', "a?b?[31m", "1?2"),
        (f'{{"name": {nested(900)}}}', None, "None"),
        ('{"name": "' + "n" * 200 + '"}', "n" * 57 + "...", "None"),
    ],
    ids=["NaN", "surrogate", "nested", "long"],
)
def test_a_strange_name(line, name, version, tmp_path, capsys):
    command = shlex.join(hello(line, '{"skip": "\\ud800"}'))
    path = tmp_path / "report.json"
    options = ["--only", "common/mix", "--report", str(path)]
    assert main(["conformance", "--cmd", command, *options]) == 1
    shown = json.loads(path.read_text())["program"]
    if name is not None:
        assert shown["name"].replace("\ufffd", "?") == name
    assert shown["version"].replace("\ufffd", "?") == version
    text = capsys.readouterr().out
    assert all(line.isprintable() for line in text.split("\n"))
    assert text.startswith(f"{shown['name']} {shown['version']} by the vectors")


@pytest.mark.parametrize(
    "answer",
    [
        f'{{"result": {nested(900)}}}',
        f'{{"result": {{"data": {nested(900)}}}}}',
        f'{{"result": [4, {nested(900)}]}}',
        f'{{"error": {nested(900)}}}',
        f'{{"fault": {nested(900)}}}',
        f'{{"else": {nested(900)}}}',
    ],
    ids=["result", "array", "entry", "error", "fault", "no answer"],
)
def test_900_nested_lists(answer):
    """As many as are read, and too many to go into one by one."""
    found = run(hello('{"name": "n"}', answer), [vector(CASE, CASE)], timeout=SLOW)
    assert [v.verdict for v in found.verdicts] == ["differs"] * 2
    assert all(v.difference for v in found.verdicts)


BELL = "\x1b]0;title\x07\u202e\x9b"


@pytest.mark.parametrize(
    "reply",
    [
        {"fault": BELL},
        {"error": BELL},
        {"result": BELL},
        {"result": [BELL, 9]},
        {"result": {"dtype": BELL, "data": [4, 9]}},
        {"result": {"shape": BELL, "data": [4, 9]}},
        {BELL: BELL},
        BELL,
    ],
)
def test_nothing_that_moves_the_cursor_reaches_the_terminal(reply):
    asked = [vector(CASE)]
    found = run(answering(repr(reply)), asked, timeout=SLOW)
    assert found.verdicts[0].verdict in ("differs", "lost")
    assert all(line.isprintable() for line in report.table(found, asked))


def test_states_of_strange_parts(tmp_path):
    case = {**CASE, "states": [{"x": 1}]}
    reply = {"result": ARRAY, "states": [{BELL: 1}]}
    found = run(answering(repr(reply)), [vector(case)], timeout=SLOW)
    assert found.verdicts[0].difference.startswith("states[0].\ufffd]0;title\ufffd\ufffd\ufffd")


def test_short_keeps_what_can_be_printed():
    assert short("ä 漢 \N{SNOWMAN} ~") == "ä 漢 \N{SNOWMAN} ~"
    assert short("a\tb\x00c\x7f\x85") == "a\ufffdb\ufffdc\ufffd\ufffd"


def test_short_of_what_has_no_text():
    value = []
    for _ in range(100_000):
        value = [value]
    assert short(value) == short({"name": value}) == "something nested too deeply"


def test_letters_that_a_terminal_does_not_have(tmp_path, monkeypatch, capfd):
    """A name is no reason to break off, where the output is ASCII alone."""
    command = shlex.join(hello('{"name": "\\u6f22 \\u00e4"}'))
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["conformance", "--cmd", command, "--only", "common/mix"]) == 1
    text = (tmp_path / "out").read_text(encoding="ascii")
    assert text.startswith("\\u6f22 \\xe4 None by the vectors")


# Programs that are started again


def files(count):
    return [vector({**CASE, "id": "a"}, {**CASE, "id": "b"}, name=f"k{i}") for i in range(count)]


@pytest.mark.parametrize("how", ["removed", "does not greet"])
def test_a_program_that_cannot_be_started_again(tmp_path, how):
    """What it said before is kept, and the table says why the rest was not asked."""
    script = tmp_path / "once"
    then = "os.remove(__file__)" if how == "removed" else "open(__file__, 'w').write('#!/bin/true')"
    source = f"""#!{sys.executable}
import json, os, sys
for line in sys.stdin:
    question = json.loads(line)
    if "hello" in question:
        print('{{"name": "once"}}', flush=True)
    elif question["call"] == "k0":
        print({json.dumps({"result": ARRAY})!r}, flush=True)
    else:
        {then}
        os._exit(9)
"""
    script.write_text(source)
    script.chmod(0o755)
    found = run([str(script)], files(4), timeout=SLOW)
    kinds = [v.verdict for v in found.verdicts]
    assert kinds == ["pass"] * 2 + ["lost"] + ["not run"] * 5
    said = [v.difference for v in found.verdicts[3:]]
    why = "[Errno 2]" if how == "removed" else "the program ended with status 0"
    assert said[0].startswith(f"not started again: {why}")
    assert said == [said[0], said[0], "", said[0], ""]
    table = "\n".join(report.table(found, files(4)))
    assert f"k2    0/2  not run, not started again: {why}" in table
    assert "the program ended with status 9" in table


def test_a_program_that_was_lost_too_often(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "MOST_STARTS", 3)
    command = answering("import os\ndef reply(question): os._exit(1)")
    found = run(command, files(3), timeout=SLOW)
    kinds = [v.verdict for v in found.verdicts]
    assert kinds == ["lost"] * 4 + ["not run"] * 2
    assert found.verdicts[4].difference == "not started again: it was lost 4 times"
    table = report.table(found, files(3))
    assert any(one.endswith("not run, not started again: it was lost 4 times") for one in table)
