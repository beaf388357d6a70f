"""Kernels that hang, or end the process that measures them: `minibatch-gnn bench` goes on."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refimpl.lab.apps.bench import apart, measuring
from refimpl.lab.apps.cli import main as cli
from refimpl.lab.apps.conformance.program import Lost
from refimpl.lab.apps.errors import UserError

pytestmark = pytest.mark.runs

MODULE = """
import ctypes, os, time
import refimpl

with open({pids!r}, "a") as file:
    print(os.getpid(), file=file)

def floyd(key, n, f):
    time.sleep(1000)

def permutation(key, n):
    ctypes.string_at(0)

def alias_build(weights):
    os._exit(3)

def transpose_perm(graph):
    raise SystemExit(7)

def gather_rows(X, rows, scaling=None, dtype=None):
    print("not for the report")
    return refimpl.loader.gather_rows(X, rows, scaling, dtype)
"""


@pytest.fixture
def bad(tmp_path, monkeypatch):
    """Write the module, or another; return a function that says which of its processes live."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    pids = tmp_path / "pids"

    def alive(source=MODULE):
        if source:
            (tmp_path / "bad.py").write_text(source.format(pids=str(pids)))
        known = pids.read_text().split() if pids.exists() else []
        return [pid for pid in known if Path("/proc", pid).exists()]

    alive()
    return alive


def test_what_hangs_or_crashes_is_said_and_the_rest_is_measured(bad, capfd):
    ending = "permutation", "alias_build", "transpose_perm"
    kernels = "floyd", *ending, "gather_rows"
    only = [word for name in kernels for word in ("--only", name)]
    words = ["--quick", "--impl", "refimpl,bad", "--threads", "1", "--timeout", "5"]
    assert cli(["bench", *words, *only]) == 1
    out, err = capfd.readouterr()
    assert "refimpl, 1 thread: 5 right\n" in out
    assert "bad, 1 thread: 1 right, 4 lost\n" in out
    assert "bad on 1 thread, lost: no answer in 5 seconds" in out
    assert "bad on 1 thread, lost: its process ended by SIGSEGV" in out
    assert "bad on 1 thread, lost: its process ended with status 3" in out
    assert "bad on 1 thread, lost: it raised SystemExit: 7" in out
    assert "--timeout 5" in out.splitlines()[0]
    assert "not for the report" not in out and "not for the report" in err
    assert bad("") == []


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import time; time.sleep(1000)", "--impl bad did not finish importing in 2 seconds\n"),
        ("import os; os._exit(5)", "--impl bad cannot be imported: its process ended with status"),
        ("1 / 0", "--impl bad cannot be imported: its process "),
    ],
)
def test_a_package_that_cannot_be_imported_is_refused(bad, capfd, monkeypatch, source, why):
    if "sleep" in source:
        monkeypatch.setattr(apart, "TIMEOUT", 2.0)
    bad(source)
    assert cli(["bench", "--quick", "--impl", "bad", "--only", "floyd", "--timeout", "0.5"]) == 2
    out, err = capfd.readouterr()
    assert out == "" and why in err


ONCE = """
import os

if os.path.exists({pids!r}):
    os._exit(1)
open({pids!r}, "w").close()

def floyd(key, n, f):
    os._exit(2)
"""


def test_a_package_that_cannot_be_imported_again_ends_the_run(bad, capfd):
    bad(ONCE)
    assert cli(["bench", "--quick", "--impl", "bad", "--only", "floyd", "--threads", "1"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "--impl bad cannot be imported: its process ended with status 1, when it was" in err
    assert "bad was lost in floyd: its process ended with status 2" in err


FAST = """
import os, time
from refimpl.streams import permutation as original

def floyd(key, n, f):
    time.sleep(1000)

def permutation(key, n):
    return original(key, n)[::-1]

def gcn_forward(**arguments):
    {fault}

def gcn_backward(*arguments, **named):
    raise NotImplementedError
"""


@pytest.fixture
def fast(tmp_path, monkeypatch):
    """Let the processes that measure have another fastimpl, with a fault in its gcn_forward."""

    def write(fault):
        (tmp_path / "fastimpl.py").write_text(FAST.format(fault=fault))
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    return write


def test_fastimpl_may_be_lost_where_others_are_compared_with_it(fast, capfd):
    fast("pass")
    words = ["--impl", "refimpl,fastimpl", "--threads", "1", "--timeout", "8"]
    assert cli(["bench", "--quick", *words, "--only", "floyd", "--only", "permutation"]) == 1
    out, err = capfd.readouterr()
    assert "fastimpl on 1 thread, lost: no answer in 8 seconds" in out
    assert "refimpl, 1 thread: 1 right, 1 differ" in out  # is still compared in other kernels
    assert "helps to check" not in out


@pytest.mark.parametrize(("fault", "how"), [("os._exit(4)", "ended with status 4"), ("1 / 0", "")])
def test_fastimpl_may_be_lost_where_it_makes_inputs(fast, capfd, fault, how):
    fast(fault)
    words = ["bench", "--quick", "--threads", "1", "--only", "gcn_backward"]
    why = f"making the input: its process {how}"
    assert cli([*words, "--impl", "refimpl,fastimpl"]) == 1
    out = capfd.readouterr().out
    assert "refimpl, 1 thread: 1 right" in out and f"fastimpl on 1 thread, lost: {why}" in out
    assert cli([*words, "--impl", "refimpl"]) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert (
        f"fastimpl, which helps to check and to make inputs, was lost in gcn_backward: {why}" in out
    )


def test_the_process_ends_with_the_one_that_waits_for_it(bad, tmp_path):
    code = f"""import sys; sys.path[:] = {sys.path!r}
from refimpl.lab.apps.cli import main; sys.exit(main())"""
    words = ["bench", "--quick", "--impl", "bad", "--only", "floyd"]
    with subprocess.Popen([sys.executable, "-c", code, *words]) as run:
        end = time.monotonic() + 60
        while not bad("") and time.monotonic() < end:
            time.sleep(0.05)
        assert bad("")
        run.send_signal(signal.SIGTERM)
    assert run.returncode == 128 + signal.SIGTERM and bad("") == []


REQUEST = apart.Request(["a", "b"], ["one", "two"], [1], True, 7.0, {})


def followed(request, *messages):
    """Let `Findings` read messages, the last of which may be `Lost`."""
    shares: list = []
    found = apart.Findings(request, shares.append, lambda: shares.append("ready"))
    waits, left = [], iter(messages)

    def receive(timeout):
        waits.append(timeout)
        message = next(left)
        if isinstance(message, Lost):
            raise message
        return message

    return found, found.follow(receive), waits, shares


def test_only_calls_are_waited_for_with_a_limit_and_what_is_left_is_known():
    found, whole, waits, shares = followed(
        REQUEST,
        ("calling", "a", 1),
        ("resting",),
        ("opened", ["- A header"]),
        ("limits", []),
        ("row", "row 0"),
        ("complete",),
        ("row", "row 1"),
        ("calling", "b", 1),
        Lost("no answer"),
    )
    assert not whole and found.rows == ["row 0", "row 1"]
    assert waits == [None, 60.0, None, None, None, None, None, None, 7.0]
    assert shares == ["ready", 0.1, pytest.approx(0.55)]
    assert found.request.kernels == ["two"] and found.request.first == 1
    assert found.request.lost == (measuring.Loss("b", 1, "two", 1, "no answer"),)
    again = iter([("opened", []), ("end",)])
    assert found.follow(lambda timeout: next(again))
    assert shares.count("ready") == 1


def test_an_end_that_is_no_kernels_fault_is_an_error():
    with pytest.raises(UserError, match="measuring cannot go on: its process ended"):
        followed(REQUEST, ("opened", []), Lost("its process ended by SIGKILL"))
    with pytest.raises(UserError, match="wrong"):
        followed(REQUEST, ("refused", "wrong"))


def test_making_an_input_has_more_time_and_is_named():
    opened = ("opened", []), ("making", "b", 1)
    found, whole, waits, _ = followed(REQUEST, *opened, Lost("no answer"))
    assert not whole and waits == [None, None, 300.0]
    assert found.request.lost == (measuring.Loss("b", 1, "one", 0, "making the input: no answer"),)
    _, _, waits, _ = followed(REQUEST, *opened, ("calling", "b", 1), ("resting",), ("end",))
    assert waits == [None, None, 300.0, 7.0, None]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_message_that_cannot_be_read_is_an_end(monkeypatch):
    popen = subprocess.Popen

    def instead(words, **named):
        code = "import pickle, time, sys; sys.stdout.buffer.write(pickle.dumps(42)); "
        code += "sys.stdout.buffer.write(b'cno_such_module\\nname\\n.'); sys.stdout.flush(); "
        return popen([*words[:2], code + "time.sleep(1000)"], **named)

    monkeypatch.setattr(apart.subprocess, "Popen", instead)
    with apart.started(REQUEST) as receive:
        assert receive(60) == 42
        with pytest.raises(Lost, match="closed its output"):
            receive(60)


def test_what_was_lost_is_not_called_again():
    losses = [measuring.Loss("a", 2, f"kernel {at}", 1, "no answer") for at in range(4)]
    setting = measuring.Setting([], [1, 2], False, None, lost=tuple(losses))
    assert setting.left_out("kernel 0", 1, "a", 2) == ("lost", "no answer")
    assert setting.left_out("kernel 0", 2, "a", 2) == ("not run", "lost before")
    assert setting.left_out("kernel 0", 1, "a", 1) is None
    assert setting.left_out("kernel 0", 1, "b", 2) is None
    assert setting.left_out("kernel 9", 1, "a", 2) is None
    more = setting._replace(lost=(*losses, losses[0]._replace(kernel="kernel 5")))
    assert more.left_out("kernel 9", 1, "a", 1) == ("not run", "lost 5 times")
    assert more.left_out("kernel 9", 1, "b", 1) is None
