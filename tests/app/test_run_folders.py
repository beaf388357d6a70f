"""Folders of results: one run at a time, and no result replaced unasked."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tiny_data import arrays_of

from refimpl._support.whole_files import temporary_beside
from refimpl.lab.apps import plots, results
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.output import RESULTS
from refimpl.lab.apps.results import LOCK, results_in
from refimpl.lab.training.trainer import Trainer

TRAIN = ["train", "--data", "karate", "--hidden", "8", "--epochs", "2"]


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(plots, "draw_curves", lambda *args: None)
    monkeypatch.setattr(plots, "draw_sample", lambda *args: None)


@pytest.fixture
def run(tmp_path, capfd):
    """Run a command line; return its status and what it said on stderr."""

    def run(*words):
        capfd.readouterr()
        status = main([*map(str, words)])
        return status, capfd.readouterr().err

    return run


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_second_run_keeps_the_first(run, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert run(*TRAIN, "--out", out) == (0, "")
    before = contents(out)
    assert before.keys() == set(RESULTS) - {"curve.png"}
    with monkeypatch.context() as patch:
        patch.setattr("refimpl.lab.apps.preparing.load_dataset", None)  # nothing is read before
        status, said = run(*TRAIN, "--seed", 1, "--out", out)
    assert (status, len(said.splitlines())) == (2, 1)
    for word in (str(out), "metrics.json", "--resume", "--overwrite", "--out"):
        assert word in said
    assert contents(out) == before
    assert run(*TRAIN, "--seed", 1, "--out", out, "--overwrite") == (0, "")
    assert contents(out)["model.npz"] != before["model.npz"]


def test_the_first_line_of_the_readme_twice(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "communities").mkdir(parents=True)
    (tmp_path / "runs" / "communities" / "checkpoint.npz").write_text("a run")
    status, said = run("train")
    assert status == 2 and "runs/communities already has a result (checkpoint.npz)" in said


@pytest.mark.parametrize("name", ["b", "data", "seed"])
def test_a_folder_named_as_a_setting_is_not_taken_for_it(run, tmp_path, monkeypatch, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "checkpoint.npz").write_text("a run")
    monkeypatch.chdir(tmp_path)
    status, said = run("train", "--out", name)
    assert status == 2 and f"--out {name} already has a result" in said


def test_a_run_that_cannot_begin_keeps_the_one_that_it_was_to_replace(run, tmp_path):
    assert run(*TRAIN, "--out", tmp_path / "out")[0] == 0
    before = contents(tmp_path / "out")
    for wrong in (["--data", tmp_path / "nowhere"], ["--lr", 0], ["--impl", "nothing.here"]):
        assert run(*TRAIN, "--out", tmp_path / "out", "--overwrite", *wrong)[0] == 2
        assert contents(tmp_path / "out") == before


def test_a_run_that_cannot_begin_leaves_no_folder(run, tmp_path):
    assert run(*TRAIN, "--out", tmp_path / "a" / "b", "--data", tmp_path / "nowhere")[0] == 2
    assert run("train", "--resume", "--out", tmp_path / "a" / "b")[0] == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["sample", "predict", "compare"])
def test_other_commands_keep_their_results(run, tmp_path, command):
    out = tmp_path / "out"
    assert run(*TRAIN, "--out", tmp_path / "run")[0] == 0
    argv = {
        "sample": ["sample", "--data", "karate", "--graph", "full", "--count", "2"],
        "predict": ["predict", tmp_path / "run" / "model.npz", "--data", "karate"],
        "compare": ["compare", "--data", "karate", "--hidden", "8", "--rounds", "1"],
    }[command]
    out, file = (out, out / "sample.json") if command == "sample" else (tmp_path / "o.npy",) * 2
    assert run(*argv, "--out", out) == (0, "")
    file.write_bytes(b"precious")
    status, said = run(*argv, "--out", out)
    assert status == 2 and "--overwrite" in said and file.name in said
    assert file.read_bytes() == b"precious"
    assert run(*argv, "--out", out, "--overwrite") == (0, "")
    assert file.read_bytes() != b"precious"
    status, said = run(*argv, "--overwrite")
    assert status == 2 and "--overwrite does not apply without --out" in said


def test_either_resume_or_overwrite(run, tmp_path):
    status, said = run("train", "--resume", "--overwrite", "--out", tmp_path)
    assert status == 2 and "--overwrite: not allowed with argument --resume" in said


@pytest.mark.parametrize("second", [[], ["--overwrite"], ["--resume"], "sample"])
def test_a_second_run_in_a_folder_at_work(run, tmp_path, monkeypatch, second):
    out, found = tmp_path / "out", []
    argv = ["sample", "--data", "karate"] if second == "sample" else [*TRAIN, *second]
    step = Trainer.step

    def step_once_disturbed(self):
        if not found:
            temporary = temporary_beside(out / "model.npz")
            temporary.write_text("what the first one writes")
            found.append(run(*argv, "--out", out))
            found.append(temporary.exists())
            temporary.unlink()
        return step(self)

    monkeypatch.setattr(Trainer, "step", step_once_disturbed)
    assert run(*TRAIN, "--out", out) == (0, "")
    (status, said), kept = found
    assert kept and status == 2
    assert f"{out} is in use by another run, process {os.getpid()} on " in said
    assert not (out / LOCK).exists()


def test_only_one_of_many_that_start_at_once(tmp_path):
    """Each ends at once and removes lock and folder, under the feet of those that come."""
    inside, most, refused, held = 0, 0, 0, 0
    guard = threading.Lock()

    def runs():
        nonlocal inside, most, refused, held
        for _ in range(60):
            try:
                with results_in(tmp_path / "a" / "b", ("x",), keep=False):
                    with guard:
                        inside, held = inside + 1, held + 1
                        most = max(most, inside)
                    time.sleep(0)  # let another one in, if it can
                    with guard:
                        inside -= 1
            except UserError as error:
                assert "is in use by another run, process " in str(error)
                with guard:
                    refused += 1

    threads = [threading.Thread(target=runs) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, held + refused) == (1, 480)
    assert held >= 8 and not list(tmp_path.rglob(LOCK))


@pytest.mark.parametrize("error", [FileExistsError, FileNotFoundError])
def test_a_folder_that_goes_while_it_is_made(tmp_path, monkeypatch, error):
    """mkdir finds it there and then, when it looks what it is, gone; or gone before the lock."""
    mkdir, calls = type(tmp_path).mkdir, []

    def late(self, *args, **settings):
        calls.append(self)
        if len(calls) == 1:
            raise error(self)
        mkdir(self, *args, **settings)

    monkeypatch.setattr(type(tmp_path), "mkdir", late)
    with results_in(tmp_path / "a", ("x",), keep=False):
        assert len(calls) == 2 and (tmp_path / "a" / LOCK).exists()


def test_a_lock_whose_file_is_gone_counts_for_nothing(tmp_path, monkeypatch):
    """The run of before removes its file after this one has opened it."""
    flock, calls = fcntl.flock, []

    def late(handle, operation):
        if not calls:
            (tmp_path / LOCK).unlink()
        calls.append(handle)
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with results_in(tmp_path, ("x",), keep=False):
        assert len(calls) == 2 and (tmp_path / LOCK).exists()
        with (
            pytest.raises(UserError, match="is in use by another run"),
            results_in(tmp_path, ("x",), keep=False),
        ):
            pass


HOLD = """
import sys, time
from pathlib import Path
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.results import results_in
out = Path(sys.argv[1])
with results_in(out, ("x",), keep=False), replacing(out / "metrics.json") as file:
    file.write(b"half")
    print("held", flush=True)
    time.sleep(3600)
"""


@pytest.mark.runs
def test_a_killed_run_locks_nobody_out(tmp_path, run):
    out = tmp_path / "out"
    argv = [sys.executable, "-c", HOLD, str(out)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        status, said = run(*TRAIN, "--out", out)
        assert status == 2 and f"in use by another run, process {process.pid} on" in said
        process.send_signal(signal.SIGKILL)
    assert (out / LOCK).read_text().startswith(f"{process.pid} on ")
    (left,) = (path.name for path in out.glob("metrics.json.*.tmp"))
    users = "metrics.json.mine.tmp", f"model.npz.{'0' * 16}.00000000.tmp"
    for name in users:
        (out / name).write_text("a user's")
    assert run(*TRAIN, "--out", out) == (0, "")
    assert contents(out).keys() == {*RESULTS, *users} - {"curve.png"}
    assert left not in contents(out)
    for name in users:
        assert (out / name).read_text() == "a user's"


@pytest.mark.parametrize("where", ["step", "write"])
def test_ctrl_c_leaves_the_last_checkpoint_and_nothing_else(run, tmp_path, monkeypatch, where):
    """In an epoch, or in the middle of the checkpoint after it."""
    calls, savez, step = 0, np.savez, Trainer.step

    def interrupted(function, limit):
        def call(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls == limit:
                if where == "write":
                    args[0].write(b"half of it")
                raise KeyboardInterrupt
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        if where == "step":
            patch.setattr(Trainer, "step", interrupted(step, 12))  # an epoch has 8
        else:
            patch.setattr(np, "savez", interrupted(savez, 3))
        status, said = run(*TRAIN, "--out", tmp_path / "out")
    assert status == 130 and "checkpoint.npz is complete" in said
    assert contents(tmp_path / "out").keys() == {"checkpoint.npz", "history.csv"}
    assert len(arrays_of(tmp_path / "out" / "checkpoint.npz")[1]["history"]) == 1
    assert run(*TRAIN, "--out", tmp_path / "out", "--resume") == (0, "")


def test_where_there_are_no_locks_a_run_says_so(run, tmp_path, monkeypatch):
    def refuse(handle, operation):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", refuse)
    status, said = run(*TRAIN, "--out", tmp_path / "out")
    assert status == 0 and said.startswith("note: no locks here; do not start another run in")


def test_a_lock_that_cannot_be_written(run, tmp_path, monkeypatch):
    def refuse(handle, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(results.os, "write", refuse)
    status, said = run(*TRAIN, "--out", tmp_path / "out")
    assert status == 2 and f"No space left on device: '{tmp_path / 'out' / LOCK}'" in said
    assert list(tmp_path.iterdir()) == []
