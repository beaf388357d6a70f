"""`minibatch-gnn exercise` as it is typed, and whatever a student's file may do."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.course.exercises import find, names

pytestmark = pytest.mark.runs

UNIFORM = find("uniform").code
BODY = "    if not isinstance(c, int):\n"
LINE = UNIFORM[: UNIFORM.index(BODY)].count("\n") + 1  # of what `with_body` puts in front


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(capsys, *words):
    """Return the exit status, and what is printed, in one line each."""
    status = main(["exercise", *words])
    out, err = capsys.readouterr()
    return status, " ".join(out.split()), " ".join(err.split())


def checks(capsys, text, name="uniform", *more):
    """Check a file; return as `typed`."""
    Path(f"{name}.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    return typed(capsys, "check", f"{name}.py", *more)


def with_body(code):
    """Return the solution of `uniform` with some code in front."""
    return UNIFORM.replace(BODY, f"    {code}\n{BODY}")


def test_an_exercise_from_start_to_end(capsys, folder):
    status, out, _ = typed(capsys, "start", "uniform")
    assert status == 0 and "minibatch-gnn exercise check uniform.py" in out
    status, out, _ = typed(capsys, "check", "uniform.py")
    assert status == 1 and out.startswith("Nothing is written yet")
    listed = typed(capsys, "list")[1]
    assert listed.count("(started)") == 1
    assert "Begin with: minibatch-gnn exercise start mix" in listed
    numbers, more = [], "hint uniform"
    while more.startswith("hint uniform"):
        _, out, _ = typed(capsys, *more.split())
        numbers.append(re.match(r"Hint (\d) of 3", out)[1])
        more = out.partition("minibatch-gnn exercise ")[2]
    assert numbers == ["1", "2", "3"] and more == "solution uniform"
    assert main(["exercise", "solution", "uniform"]) == 0
    Path("uniform.py").write_text(capsys.readouterr().out)
    status, out, _ = typed(capsys, "check", "uniform.py")
    assert status == 0 and "all 6 of 6 cases pass" in out and "start below" in out
    assert {path.name for path in folder.iterdir()} == {"uniform.py"}


def test_the_list_has_all_with_their_places(capsys):
    status, out, err = typed(capsys, "list")
    assert (status, err) == (0, "")
    assert [name for name in names() if f" {name} {find(name).title}" not in out] == []
    assert "JPDC'21 Algorithm 2; page learn/frontier" in out


def test_a_file_is_not_replaced_unasked(capsys):
    Path("uniform.py").write_text("mine")
    status, _, err = typed(capsys, "start", "uniform")
    assert status == 2 and "uniform.py already exists: give --overwrite" in err
    assert typed(capsys, "start", "uniform", "--overwrite")[0] == 0
    assert Path("uniform.py").read_text() == find("uniform").template


def test_solutions_are_printed_as_python(capsys):
    for name in names():
        status = main(["exercise", "solution", name])
        text = capsys.readouterr().out
        assert status == 0 and text.startswith(find(name).code)
        compile(text, name, "exec")
        assert "# Beside the reference, refimpl." in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["start", "unifrom"], "there is no exercise 'unifrom'; did you mean uniform?"),
        (["hint", "uniform", "4"], "NUMBER must be in [1, 3], got 4"),
        (["check", "uniform.py"], "there is no file uniform.py: begin with"),
        (["check", "mine.py"], "there is no exercise 'mine'"),
        (["check", "uniform.py", "--timeout", "nan"], "--timeout must be above 0 and at most 60"),
        ([], "the following arguments are required: ACTION"),
    ],
)
def test_bad_usage(words, said, capsys):
    status, out, err = typed(capsys, *words)
    assert (status, out) == (2, "") and said in err


def test_one_case_and_another_name(capsys):
    Path("mine.py").write_text(UNIFORM)
    words = "check", "mine.py", "--exercise", "uniform", "--case"
    status, out, _ = typed(capsys, *words, "array")
    assert status == 0 and "mine.py: all 1 of 1 cases pass." in out and "Passed" not in out
    status, out, err = typed(capsys, *words, "nine")
    assert (status, out) == (2, "") and "--case must be one of wraps_to_zero, published" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("uniform = 3\n", "has no function called uniform: keep the name that `start` gave it"),
        ("def uniform(k, c)\n    return 0\n", "is not Python yet: expected ':', in line 1"),
        ("import nonsuch\n", "cannot be loaded: ModuleNotFoundError in line 1: No module named"),
        ("raise SystemExit\n", "ends Python when it is loaded, in line 1: leave that out"),
        ("import os\nos._exit(7)\n", "ends Python (the program ended with status 7) when it is"),
        ("while True:\n    pass\n", "uniform.py hangs when it is loaded, in line"),
        (b"x = 1\n\x00", "is not Python yet"),
        ("x = [" * 300, "is not Python yet"),
        ("input()\n", "cannot be loaded: EOFError in line 1"),
    ],
)
def test_files_that_cannot_be_used(text, said, capsys):
    status, out, err = checks(capsys, text)
    assert (status, err) == (1, "") and said in out, out


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os._exit(0)", "your code ended the process: the program ended with status 0"),
        ("import os; os.kill(os.getpid(), 9)", "the program ended by SIGKILL"),
        ("raise SystemExit(1)", f"your code raised SystemExit in line {LINE}: 1"),
        ("raise ValueError('\\x1b[2J')", f"your code raised ValueError in line {LINE}"),
        ("return uniform(k, c)", "your code raised RecursionError"),
        ("return", "want 0.3500795420214081, got None"),
        (
            "return object()",
            "what was returned cannot be compared: there is no JSON form of object",
        ),
        ("x = [0] * 10**13", "The code asks for more memory than there is"),
        ("class E(Exception): __str__ = None\n    raise E", f"raised E in line {LINE + 1}"),
        ("import os; os.close(1) if k == 1234567 else 0; 1 / 0", "raised ZeroDivisionError"),
    ],
)
def test_functions_that_misbehave(code, said, capsys):
    status, out, err = checks(capsys, with_body(code))
    assert (status, err) == (1, "") and said in out, out
    assert "\x1b" not in out


def test_cases_that_hang_are_named(capsys):
    begin = time.monotonic()
    status, out, _ = checks(capsys, with_body("while c == 0: pass"))
    assert status == 1 and "2 hung: wraps_to_zero, published. 4 more were not asked." in out
    assert f"your code still ran when its time was over. It was in line {LINE}." in out
    assert time.monotonic() - begin < 180


def test_arguments_with_other_names(capsys):
    text = UNIFORM.replace("def uniform(k, c)", "def uniform(key, c)").replace("(k +", "(key +")
    status, out, _ = checks(capsys, text)
    assert status == 1 and "Keep the arguments as they were: same names, same order" in out


def test_what_is_printed_is_shown_with_the_case_alone(capfd):
    Path("uniform.py").write_text(with_body('print("c is", c); import os; os.system("echo loud")'))
    assert main(["exercise", "check", "uniform.py"]) == 0  # and it is no answer
    assert "c is" not in capfd.readouterr().out
    Path("uniform.py").write_text(with_body("print('c is', c, '\\n' * 10**6)\n    k = k + 1"))
    assert main(["exercise", "check", "uniform.py"]) == 1
    out, err = capfd.readouterr()
    assert "What your code printed\n  c is 0" in out and err == "" and len(out) < 5000


def test_nothing_that_is_started_outlives_the_check(capsys, folder):
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
    code += "'import time; time.sleep(600)  # of_a_student'])"
    assert checks(capsys, with_body(code))[0] == 0
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("no list of processes")
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _has(path, b"of_a_student")]
    assert not left


def _has(path, word):
    try:
        return word in path.read_bytes()
    except OSError:
        return False


def test_a_file_that_cannot_be_read(capsys, folder):
    path = folder / "uniform.py"
    path.write_text(UNIFORM)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("nothing is closed to this user")
    status, _, err = typed(capsys, "check", "uniform.py")
    assert status == 2 and "uniform.py" in err


def test_the_stepper_of_the_case_is_written_at_its_step(capsys, monkeypatch, folder):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address))
    text = find("frontier").code.replace('side="right"', 'side="left"')
    status, out, err = checks(capsys, text, "frontier", "--open")
    page = folder / "frontier_stepper.html"
    step = re.search(r"in the reference: frontier_stepper.html, step (\d+)", out)[1]
    assert status == 1 and int(step) > 1 and "<!DOCTYPE html>" in page.read_text()[:20]
    assert opened == [page.as_uri() + f"#{step}"] and "no browser could be opened" in err
    page.write_text("a user's notes")
    err = checks(capsys, text, "frontier")[2]
    assert err.startswith("note: the stepper of this case could not be written: frontier_stepper")
    assert page.read_text() == "a user's notes"


def test_a_stepper_of_another_run_is_named_where_there_is_none_of_the_case(capsys):
    text = find("policy").code.replace("stable & comp", "stable")
    _, out, _ = checks(capsys, text, "policy")
    assert "Step through a run of it: minibatch-gnn trace cache" in out


def test_help_and_a_closed_pipe():
    command = [sys.executable, "-m", "refimpl", "exercise"]
    shown = subprocess.run([*command, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0
    for action in ("list", "start", "check", "hint", "solution"):
        assert f"  {action} " in shown.stdout
    with subprocess.Popen(
        [*command, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        run.stdout.close()
        assert (run.stderr.read(), run.wait()) == (b"", 141)
