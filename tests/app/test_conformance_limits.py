"""The conformance runner keeps to its limits: lines, bytes, seconds, and processes that end."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
from conformance_programs import (
    GREETS,
    PROC,
    answering,
    ends,
    left_behind,
    numbered,
    program,
    vector,
    writing,
)

from refimpl.lab.apps import worker as asking
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import command, runner
from refimpl.lab.apps.conformance.runner import run

pytestmark = pytest.mark.runs

CASE = {"id": "a", "flags": [], "args": {"x": 1}, "result": 7}
TWO = vector(CASE, {**CASE, "id": "b"})
RIGHT = json.dumps({"result": 7}) + "\n"
SLOW = 600


def said(command, *files):
    """Return (verdict, difference) of every case."""
    found = run(command, files or [TWO], timeout=SLOW, total=SLOW)
    return [(v.verdict, v.difference) for v in found.verdicts]


def test_a_program_may_give_the_ids_of_questions():
    assert said(numbered('{"id": question["id"], "result": 7}')) == [("pass", "")] * 2
    assert said(answering("{'result': question['id'] + 6}")) == [
        ("pass", ""),
        ("differs", "result: want 7, got 8"),
    ]


@pytest.mark.parametrize(
    ("answer", "id"),
    [
        ('{"id": question["id"] - 1, "result": 7}', "0"),
        ('{"id": str(question["id"]), "result": 7}', "1"),
        ('{"result": 7}', "None"),
    ],
)
def test_an_answer_of_another_id_is_one_that_nobody_asked_for(answer, id):
    """It may be to an earlier question: whatever is in it says nothing about this one."""
    first, second = said(numbered(answer))
    assert first[0] == second[0] == "lost"  # both are asked: each of a program of its own
    assert first[1].startswith(f"a line that nobody asked for, of id {id} and not 1: '{{")


@pytest.mark.parametrize("text", ["debug\n", "debug", RIGHT])
def test_a_line_that_nobody_asked_for(text):
    """It stands before the next answer, which would else be taken for that to the next question."""
    line = f"a line that nobody asked for: {text.strip()!r}"
    assert said(writing(repr(RIGHT + text))) == [("pass", ""), ("lost", line)]
    assert said(writing(repr(RIGHT + text)), vector(CASE)) == [("lost", line)]


def test_an_answer_has_a_longest_length():
    """Of an answer without an end no more is kept, and none of one too long is parsed."""
    most = runner.longest(CASE)
    begins = f"the answer is longer than {most} bytes: "
    endless = f"import sys\n{GREETS}\nsys.stdin.readline(); sys.stdin.readline()"
    endless += "\nwhile True: sys.stdout.write('[],' * 1000)"
    assert said(program(endless))[0][1].startswith(begins + "'[],[]")
    long = f"'{{\"result\": [' + '[],' * {most // 3} + '0]}}\\n'"
    assert said(writing(long))[0][1].startswith(begins)
    padded = f"{RIGHT.strip()!r}.ljust({most - 1}) + '\\n'"
    assert said(writing(padded)) == [("pass", "")] * 2


def test_the_longest_length_goes_by_the_right_answer():
    array = {"dtype": "float64", "shape": [10**5], "data": [0.1] * 10**5}
    spaced = json.dumps({"result": [f"{0.1:.25f}"] * 10**5}, indent=4)
    assert len(spaced) < runner.longest({**CASE, "result": array}) < 10**8


class Over(asking.Clock):
    """The time is over after two questions."""

    looks = 0

    def left(self):
        self.looks += 1
        return SLOW if self.looks <= 2 else 0


def test_a_run_ends_when_its_time_is_over(monkeypatch):
    monkeypatch.setattr(runner, "Clock", Over)
    reply = "import time\ndef reply(question):\n    time.sleep(99 * (question['id'] > 1))\n"
    command = answering(f"{reply}    return {{'result': 7}}")
    over = f"the {SLOW} seconds of the run were over"
    assert said(command, TWO, vector(CASE)) == [("pass", ""), ("lost", over), ("not run", over)]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_the_time_of_a_run_is_an_option(monkeypatch, capsys, seconds):
    asked = []

    def stand_in(command, files, **limits):
        asked.append(limits)
        return runner.Report("mine", "7", [])

    monkeypatch.setattr(command.runner, "run", stand_in)
    monkeypatch.setattr(command.report, "table", lambda *found, **options: [])
    assert main(["conformance", "--total", "7.5", "--timeout", "2"]) == 1
    assert asked == [{"timeout": 2, "total": 7.5}]
    capsys.readouterr()
    assert main(["conformance", "--total", seconds]) == 2
    assert "--total must be above 0" in capsys.readouterr().err


def test_standard_error_is_passed_on_as_far_as_it_is_shown(capfd):
    """A program that writes without end neither waits for the runner nor fills its memory."""
    note = "x" * 99
    reply = f"""
import sys
def reply(question):
    for _ in range({3 * asking.ERRORS} // 100):
        print("{note}", file=sys.stderr)
    return {{"result": 7}}
"""
    assert said(answering(reply)) == [("pass", "")] * 2
    shown = capfd.readouterr().err
    end = "\n[no more of the program's standard error is shown]\n"
    assert shown.startswith(note + "\n" + note) and shown.endswith(end)
    assert len(shown) == asking.ERRORS + len(end)


@pytest.mark.skipif(not PROC.is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_a_program_started_ends_with_an_interrupted_run(tmp_path, number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as under nohup")
    pid_file = tmp_path / "pid"
    asked = left_behind("time.sleep(60)", pid_file, session=True)
    words = shlex.join(program(asked))
    line = [sys.executable, "-m", "refimpl", "conformance", "--cmd", words, "--only", "mix"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        while not pid_file.exists() or not pid_file.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, number)
        status = process.wait()
    assert ends(int(pid_file.read_text()))
    assert status == (130 if number == signal.SIGINT else 128 + number)
