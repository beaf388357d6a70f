"""`minibatch-gnn exercise` as it is typed, and whatever a student's file may do."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.course.done import FILE
from refimpl.lab.apps.course.exercises import find, names

pytestmark = pytest.mark.runs

UNIFORM = find("uniform").code
BODY = "    if not isinstance(c, int):\n"


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
    text = text if isinstance(text, bytes) else text.encode()
    Path(f"{name}.py").write_bytes(text)
    return typed(capsys, "check", f"{name}.py", *more)


def with_body(code):
    """Return the solution of `uniform` with some code in front."""
    return UNIFORM.replace(BODY, f"    {code}\n{BODY}")


def test_an_exercise_from_start_to_end(capsys, folder):
    status, out, _ = typed(capsys, "start", "uniform")
    assert status == 0 and "minibatch-gnn exercise check uniform.py" in out
    status, out, _ = typed(capsys, "check", "uniform.py")
    assert status == 1 and out.startswith("Nothing is written yet")
    assert "(started)" in typed(capsys, "list")[1]
    numbers = []
    more = "hint uniform"
    while more.startswith("hint uniform"):
        _, out, _ = typed(capsys, *more.split())
        numbers.append(re.match(r"Hint (\d) of 3", out)[1])
        more = out.partition("minibatch-gnn exercise ")[2]
    assert numbers == ["1", "2", "3"] and more == "solution uniform"
    assert main(["exercise", "solution", "uniform"]) == 0
    Path("uniform.py").write_text(capsys.readouterr().out)
    status, out, _ = typed(capsys, "check", "uniform.py")
    assert status == 0 and "all 6 of 6 cases pass" in out and "start below" in out
    listed = typed(capsys, "list")[1]
    assert (
        listed.count("(passed)") == 1 and "Begin with: minibatch-gnn exercise start mix" in listed
    )
    with Path("uniform.py").open("a") as file:
        file.write("# mine\n")
    assert "(changed since it passed)" in typed(capsys, "list")[1]
    checks(capsys, UNIFORM.replace(">> 11", ">> 10"))
    assert "(started)" in typed(capsys, "list")[1]
    assert {path.name for path in folder.iterdir()} == {"uniform.py", FILE}


def test_the_list_has_all_with_their_places(capsys):
    status, out, err = typed(capsys, "list")
    assert (status, err) == (0, "")
    for name in names():
        assert f" {name} {find(name).title}" in out
    assert "JPDC'21 Algorithm 2; page learn/frontier" in out


def test_a_file_is_not_replaced_unasked(capsys):
    Path("uniform.py").write_text("mine")
    status, _, err = typed(capsys, "start", "uniform")
    assert status == 2 and "uniform.py is there already: give --overwrite" in err
    assert Path("uniform.py").read_text() == "mine"
    assert typed(capsys, "start", "uniform", "--overwrite")[0] == 0
    assert Path("uniform.py").read_text() == find("uniform").template


@pytest.mark.parametrize("name", names())
def test_solutions_are_printed_as_python(name, capsys):
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
        (["hint", "uniform", "0"], "NUMBER must be in [1, 3], got 0"),
        (["check", "uniform.py"], "there is no file uniform.py: begin with"),
        (["check", "mine.py"], "there is no exercise 'mine'"),
        (["check", "."], "there is no exercise ''"),
        (["check", "uniform.py", "--exercise", "x"], "there is no exercise 'x'"),
        (["check", "uniform.py", "--timeout", "0"], "--timeout must be above 0 and at most 60"),
        (["check", "uniform.py", "--timeout", "nan"], "--timeout must be above 0 and at most 60"),
        (["do"], "invalid choice: 'do'"),
        ([], "the following arguments are required: ACTION"),
    ],
)
def test_bad_usage(words, said, capsys):
    status, out, err = typed(capsys, *words)
    assert (status, out) == (2, "") and said in err


def test_a_case_that_there_is_not(capsys):
    status, out, err = checks(capsys, UNIFORM, "uniform", "--case", "nine")
    assert (status, out) == (2, "") and "--case must be one of wraps_to_zero, published" in err


def test_one_case_and_another_name(capsys):
    Path("mine.py").write_text(UNIFORM)
    words = "check", "mine.py", "--exercise", "uniform", "--case", "array"
    status, out, _ = typed(capsys, *words)
    assert status == 0 and "mine.py: all 1 of 1 cases pass." in out and "Passed" not in out


def test_a_bad_argument_that_is_asked_alone(capsys):
    status, out, _ = checks(capsys, find("below").code, "below", "--case", "zero")
    assert (status, out) == (0, "below.py: the bad argument of case zero is refused.")


def test_what_has_passed_is_kept_in_mind(capsys):
    """Whatever else is asked of the file, or of another."""
    assert checks(capsys, find("below").code, "below")[0] == 0
    Path("below2.py").write_text(find("below").code.replace("draw * n", "draw * n + 1"))
    assert typed(capsys, "check", "below2.py", "--exercise", "below")[0] == 1
    assert typed(capsys, "check", "below.py", "--case", "ten")[0] == 0
    assert "(passed)" in typed(capsys, "list")[1]
    Path("below.py").unlink()
    assert checks(capsys, find("floyd").code, "floyd")[0] == 0
    assert typed(capsys, "check", "floyd.py", "--errors")[0] == 1
    assert "(passed)" in typed(capsys, "list")[1]
    Path("mine.py").write_text(find("mix").code)
    Path("mix.py").write_text(find("mix").template)
    assert typed(capsys, "check", "mine.py", "--exercise", "mix")[0] == 0
    assert typed(capsys, "list")[1].count("passed") == 1


def test_a_folder_in_the_place_of_a_file(capsys, folder):
    (folder / "uniform.py").mkdir()
    status, _, err = typed(capsys, "check", "uniform.py")
    assert status == 2 and "there is no file uniform.py" in err
    assert typed(capsys, "start", "uniform")[0] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no function called uniform: keep the name that `start` gave it"),
        ("def unifrom(k, c):\n    return 0\n", "has no function called uniform"),
        ("uniform = 3\n", "has no function called uniform"),
        ("def uniform(k, c)\n    return 0\n", "is not Python yet: expected ':'"),
        ("def uniform(k, c):\nreturn 0\n", "is not Python yet: expected an indented block"),
        ("import nonsuch\n", "cannot be loaded: ModuleNotFoundError in line 1: No module named"),
        ("raise SystemExit\n", "ends Python when it is loaded, in line 1: leave that out"),
        ("import os\nos._exit(7)\n", "ends Python when it is loaded: the program ended with"),
        ("while True:\n    pass\n", "does not come to its end when it is loaded: line"),
        (b"\xff\xfe\x00", "is not Python yet"),
        (b"x = '\xe4'\n", "is not Python yet"),
        (b"x = 1\n\x00", "is not Python yet"),
        ("x = [" * 300, "is not Python yet"),
        ("input()\n", "cannot be loaded: EOFError in line 1"),
        ("print('hello')\n", "has no function called uniform"),
        ("print('hello')\n1 / 0\n", "cannot be loaded: ZeroDivisionError in line 2"),
        ("class E(BaseException): pass\nraise E\n", "cannot be loaded: E in line 2."),
    ],
)
def test_files_that_cannot_be_used(text, said, capsys):
    status, out, err = checks(capsys, text, "uniform", "--timeout", "2")
    assert (status, err) == (1, "") and said in out, out
    assert out.count(".") <= 6  # a sentence


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True: pass", "your code still ran when its time was over. It was in line 25"),
        ("import os; os._exit(0)", "your code ended the process: the program ended with status 0"),
        ("import os; os.kill(os.getpid(), 9)", "the program ended by SIGKILL"),
        ("raise SystemExit(1)", "your code raised SystemExit in line 25"),
        ("raise KeyboardInterrupt", "your code raised KeyboardInterrupt in line 25"),
        ("1 / 0", "your code raised ZeroDivisionError in line 25: division by zero"),
        ("raise ValueError('no')", "your code raised ValueError in line 25: no"),
        ("raise ValueError('\\x1b[2J')", "your code raised ValueError in line 25"),
        ("return uniform(k, c)", "The function calls itself without an end"),
        ("return", "Yours is None: is a `return` missing"),
        ("return {1, 2}", "your code returned a set, which cannot be compared"),
        ("return object()", "your code returned an object, which cannot be compared"),
        ("return 'a'", "differs: want 0.3500795420214081, yours is a"),
        ("return [0.5]", "Yours is a list, and a single number is wanted"),
        ("return 1j", "your code returned a complex, which cannot be compared"),
        ("yield 1", "your code returned a generator, which cannot be compared"),
        ("import numpy; return numpy.array(1.5)", "want 0.35008 yours 1.5 (float64)"),
        ("import numpy; return numpy.array(True)", "want 0.35008 yours True (bool)"),
        ("x = [0] * 10**13", "It asks for more memory than there is"),
        ("nothing", "your code raised NameError in line 25"),
        ("class E(Exception): __str__ = None\n    raise E", "your code raised E in line 26"),
        ("class E(BaseException): pass\n    raise E", "your code raised E in line 26"),
        ("import sys; sys.stdout.close(); sys.stdin.close(); 1 / 0", "raised ZeroDivisionError"),
        ("import os; os.close(1); os.close(0); 1 / 0", "raised ZeroDivisionError"),
    ],
)
def test_functions_that_misbehave(code, said, capsys):
    status, out, err = checks(capsys, with_body(code), "uniform", "--timeout", "2")
    assert (status, err) == (1, "") and said in out, out
    assert "\x1b" not in out


@pytest.mark.parametrize("name", ["cache_lookup", "pick_without_replacement"])
@pytest.mark.parametrize("value", ["1.5", "1", "True", "0, 'uint8'"])
def test_an_array_without_an_axis_is_told_as_one_number(name, value, capsys):
    text = f"import numpy as np\n{find(name).code}"
    text = re.sub(r"^    return ", f"    return np.array({value})\n    return ", text, flags=re.M)
    status, out, err = checks(capsys, text, name)
    assert (status, err) == (1, "")
    assert "Yours is a single number, and an array is wanted." in out, out


def test_functions_that_catch_all_arguments(capsys):
    text = UNIFORM.replace("def uniform(k, c):", "def uniform(*a, **k):\n    c, k = k['c'], k['k']")
    assert checks(capsys, text)[0] == 0
    text = UNIFORM.replace("def uniform(k, c):", "def uniform(*a):")
    out = checks(capsys, text)[1]
    assert "TypeError" in out and "Keep the arguments as they were" in out


def test_arguments_with_other_names(capsys):
    text = UNIFORM.replace("def uniform(k, c)", "def uniform(key, c)").replace("(k +", "(key +")
    status, out, _ = checks(capsys, text)
    assert status == 1 and "Keep the arguments as they were: same names, same order" in out


def test_what_is_printed_is_shown_with_the_case_alone(capfd):
    Path("uniform.py").write_text(with_body('print("c is", c); import os; os.system("echo loud")'))
    assert main(["exercise", "check", "uniform.py"]) == 0  # and it is no answer
    assert "c is" not in capfd.readouterr().out
    text = with_body('print("c is", c)\n    k = k + 1')
    Path("uniform.py").write_text(text)
    assert main(["exercise", "check", "uniform.py"]) == 1
    out, err = capfd.readouterr()
    assert "What your code printed\n  c is 0\n" in out and err == ""


def test_a_file_may_print_while_it_is_loaded(capsys):
    status, out, _ = checks(capsys, f"print('hello')\n{UNIFORM}")
    assert status == 0 and "all 6 of 6 cases pass" in out


def test_tabs_are_printed_as_columns(capsys):
    out = checks(capsys, with_body("print('k\\tc'); return 0"))[1]
    assert "What your code printed k c" in out and "\N{REPLACEMENT CHARACTER}" not in out


def test_much_that_is_printed_is_cut(capsys):
    status, out, _ = checks(capsys, with_body("print('x' * 10**7); return 0"))
    assert status == 1 and len(out) < 5000
    status, out, _ = checks(capsys, with_body("print('x\\n' * 10**6); return 0"))
    assert status == 1 and len(out) < 5000


def test_arguments_that_are_changed(capsys):
    text = find("spmm").code.replace("    return Y", "    X[:] = 0\n    return Y + 1")
    status, out, _ = checks(capsys, text, "spmm")
    assert status == 1 and "Your code changed its arguments (X): work on a copy." in out


def test_arguments_that_are_changed_though_the_answer_is_right(capsys):
    text = find("spmm").code.replace("    return Y", "    X[:] = 0\n    return Y")
    status, out, _ = checks(capsys, text, "spmm")
    said = "the answer is right. Why - Your code changed its arguments (X): work on a copy."
    assert status == 1 and said in out


def test_a_file_that_cannot_be_read(capsys, folder):
    path = folder / "uniform.py"
    path.write_text(UNIFORM)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("nothing is closed to this user")
    status, _, err = typed(capsys, "check", "uniform.py")
    assert status == 2 and "uniform.py" in err


def test_a_folder_that_cannot_be_written_to(capsys, folder, monkeypatch):
    """What is passed is not remembered then; the check itself says so as ever."""
    (folder / FILE).mkdir()
    status, out, err = checks(capsys, UNIFORM)
    assert (status, err) == (0, "") and "Passed" in out
    assert "(started)" in typed(capsys, "list")[1]


def test_what_is_remembered_may_be_damaged(capsys, folder):
    (folder / FILE).write_text("[[[")
    assert checks(capsys, UNIFORM)[0] == 0
    (folder / FILE).write_text('{"uniform": 3}')
    assert "(changed since it passed)" in typed(capsys, "list")[1]


def test_a_file_that_never_ends_does_not_hold_up_its_student(capsys):
    begin = time.monotonic()
    status, out, _ = checks(capsys, with_body("while True: pass"), "uniform", "--timeout", "1")
    assert status == 1 and "4 more were not asked" in out
    assert time.monotonic() - begin < 60


def test_nothing_that_is_started_outlives_the_check(capsys, folder):
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
    code += "'import time; time.sleep(600)  # of_a_student'])"
    assert checks(capsys, with_body(code))[0] == 0
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("no list of processes")
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _has(path, b"of_a_student")]
    assert not left


def test_a_check_that_is_ended_takes_its_process_along(folder):
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("no list of processes")
    Path("uniform.py").write_text(
        f"import os\nopen('pid', 'w').write(str(os.getpid()))\n{with_body('while True: pass')}"
    )
    words = "-m", "refimpl", "exercise", "check", "uniform.py", "--timeout", "60"
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL) as run:
        end = time.monotonic() + 60
        while not (Path("pid").is_file() and Path("pid").read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
    assert not _has(Path("/proc") / Path("pid").read_text() / "cmdline", b"uniform.py")


def _has(path, word):
    try:
        return word in path.read_bytes()
    except OSError:
        return False


def test_the_stepper_of_the_case_is_written_at_its_step(capsys, monkeypatch, folder):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    text = find("frontier").code.replace('side="right"', 'side="left"')
    status, out, _ = checks(capsys, text, "frontier", "--open")
    step = re.search(r"in the reference: frontier_stepper.html, step (\d+)", out)[1]
    assert status == 1 and int(step) > 1
    assert opened == [(folder / "frontier_stepper.html").as_uri() + f"#{step}"]
    assert "<!DOCTYPE html>" in (folder / "frontier_stepper.html").read_text()[:20]
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    assert (
        "no browser could be opened; the address is file://"
        in checks(capsys, text, "frontier", "--open")[2]
    )


def test_a_stepper_that_cannot_be_written_is_noted(capsys, folder):
    text = find("frontier").code.replace('side="right"', 'side="left"')
    page = folder / "frontier_stepper.html"
    page.write_text("a user's notes")
    status, out, err = checks(capsys, text, "frontier")
    assert status == 1 and "in step 3 another node leaves" in out
    assert err.startswith("note: the stepper of this case could not be written: frontier_stepper")
    assert page.read_text() == "a user's notes"
    page.unlink()
    for _ in range(2):  # a stepper of before is replaced
        assert checks(capsys, text, "frontier")[2] == ""


def test_a_path_does_not_steer_the_terminal(capsys, folder):
    (folder / "\x1b[2J").mkdir()
    path = folder / "\x1b[2J" / "frontier.py"
    path.write_text(find("frontier").code.replace('side="right"', 'side="left"'))
    status, out, err = typed(capsys, "check", str(path))
    assert status == 1 and "Step through this case" in out and "\x1b" not in out + err


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


def test_completion_knows_the_actions(capsys):
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    text = capsys.readouterr().out
    assert "exercise" in text and "solution" in text and "--timeout" in text
