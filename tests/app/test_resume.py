"""Runs that stop and go on: the same bits."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tiny_data import arrays_of, same_run, tiny_dataset, write_graphsaint

import fastimpl
import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.results import LOCK
from refimpl.lab.training.checkpoints import load_checkpoint
from refimpl.lab.training.state import EpochRecord

pytestmark = pytest.mark.runs

EPOCHS = 6

# A process that sends itself a signal at a chosen point, then goes on as python -m PACKAGE.
# SIGINT gets Python's handler even if whoever runs the tests has it ignored.
DRIVER = """
import os, pathlib, runpy, signal, sys, zipfile
from refimpl.lab.training.trainer import Trainer
signal.signal(signal.SIGINT, signal.default_int_handler)
package, signum, steps, renames, entries = sys.argv[1], *map(int, sys.argv[2:6])
def counted(function, limit):
    calls = 0
    def call(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == limit:
            os.kill(os.getpid(), signum)
        return function(*args, **kwargs)
    return call
Trainer.step = counted(Trainer.step, steps)
pathlib.Path.replace = counted(pathlib.Path.replace, renames)
class Archive(zipfile.ZipFile):  # an entry is an array of a checkpoint or a model
    _write = counted(zipfile.ZipFile.open, entries)
    def open(self, name, mode="r", *args, **kwargs):
        function = self._write if mode == "w" else super().open
        return function(name, mode, *args, **kwargs)
zipfile.ZipFile = Archive
sys.argv[1:] = sys.argv[6:]
runpy.run_module(package, run_name="__main__", alter_sys=True)
"""
STEPS_AN_EPOCH = 6  # of the tiny data set, at least
NEVER = -1

# A small buffer wraps; 22 nodes in a batch make 6 steps an epoch.
FREE = ("pool", "threads", "background", "workers", "features_in")
FRESH = ("--method", "fresh", "--batch-size", 22, "--fanouts", "4,3", "--t-stale", 200)
FRESH = (*FRESH, "--buffer", 6000)


@pytest.fixture
def argv(folder, tmp_path, capfd):
    """Return the command line of a run in the folder `out`."""

    def argv(out, *options):
        start = ["train", "--data", str(folder), "--out", str(tmp_path / out), "--hidden", "8"]
        return [*start, *map(str, options)]

    return argv


def resume(path, *options):
    return main(["train", "--resume", "--out", str(path), *map(str, options)])


def saved(tmp_path, out):
    return tmp_path / out / "checkpoint.npz"


def stopped(
    *argv, package="fastimpl", signum=signal.SIGKILL, step=NEVER, rename=NEVER, entry=NEVER
):
    """Run a command in a process that stops itself in front of one of these, counted from 1."""
    counts = [package, *map(str, (int(signum), step, rename, entry))]
    return subprocess.run(
        [sys.executable, "-c", DRIVER, *counts, *argv],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("method", ["graph", "layer", "full", "fresh", "neighbor"])
def test_stopped_between_epochs(argv, tmp_path, gnn, method):
    options = ("--impl", gnn.__name__, *(FRESH if method == "fresh" else ("--method", method)))
    assert main(argv("whole", *options, "--epochs", EPOCHS)) == 0
    assert main(argv("parts", *options, "--epochs", 2)) == 0
    assert resume(tmp_path / "parts", "--epochs", 3) == 0
    assert resume(tmp_path / "parts", "--epochs", EPOCHS, "--threads", 1) == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))


def test_the_smallest_loss_is_known_again(argv, tmp_path):
    options = ("--method", "full", "--lr", 0.2, "--best-by", "loss")
    assert main(argv("whole", *options, "--epochs", 12)) == 0
    assert main(argv("parts", *options, "--epochs", 11)) == 0
    assert resume(tmp_path / "parts", "--epochs", 12) == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))
    state, _ = load_checkpoint(saved(tmp_path, "parts"))
    losses = [record.val_loss for record in state.history]
    assert losses.index(min(losses)) + 1 == state.best_epoch == 11


@pytest.mark.parametrize("options", [FRESH, ("--method", "neighbor")], ids=["fresh", "neighbor"])
def test_resume_may_change_the_workers_and_where_features_are(argv, tmp_path, options):
    assert main(argv("whole", *options, "--epochs", 4)) == 0
    assert main(argv("parts", *options, "--epochs", 1, "--workers", 2)) == 0
    free = ("--workers", 0, "--features-in", "mmap")
    assert resume(tmp_path / "parts", "--epochs", 2, *free) == 0
    assert resume(tmp_path / "parts", "--epochs", 4, "--features-in", "memory") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"), but=FREE)


BATCHES = " ".join(map(str, FRESH))
INTERRUPTED = {
    "plain": "",
    "gat": "--background --model gat --dropout 0.2 --bias",
    "layer": "--background --model gcn --method layer --batch-size 20 --pool 3",
    "fresh": f"{BATCHES} --t-stale 7 --warmup 2 --features-in mmap",
    "fresh gat": f"{BATCHES} --t-stale inf --model gat --workers 2 --control random",
    "neighbor": "--method neighbor --batch-size 22 --workers 1 --dropout 0.2",
}


@pytest.mark.parametrize(
    "signum, impl, more",
    [
        *((signal.SIGKILL, "fastimpl", more) for more in INTERRUPTED),
        *((signal.SIGINT, "fastimpl", more) for more in ("plain", "layer", "fresh gat")),
        *((signal.SIGKILL, "refimpl", more) for more in ("gat", "fresh")),
        (signal.SIGINT, "refimpl", "neighbor"),
    ],
    ids=str,
)
def test_stopped_in_the_middle_of_an_epoch(argv, tmp_path, signum, impl, more):
    options = ("--impl", impl, "--epochs", EPOCHS, *INTERRUPTED[more].split())
    assert main(argv("whole", *options)) == 0
    done = stopped(
        *argv("parts", *options),
        package=impl,
        signum=signum,
        step=3 * STEPS_AN_EPOCH + 3,
    )
    check_stopped(done.returncode, done.stderr, signum, tmp_path / "parts", impl)
    meta = arrays_of(saved(tmp_path, "parts"))[1]
    assert 1 <= len(meta["history"]) < EPOCHS
    assert meta["iterations"] < 3 * STEPS_AN_EPOCH + 2  # the killed epoch had begun
    assert not (tmp_path / "parts" / "metrics.json").exists()
    assert resume(tmp_path / "parts") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))


def check_stopped(status, stderr, signum, out, package):
    if signum == signal.SIGKILL:
        assert status == -signal.SIGKILL
        return
    assert status == 130
    (line,) = stderr.splitlines()
    assert "checkpoint.npz is complete" in line
    command = f"train --resume --out {out} --epochs"
    assert f"to resume: python -m {package} {command}" in line


@pytest.mark.parametrize("rename", [3, 4], ids=["history.csv", "checkpoint.npz"])
def test_killed_while_a_temporary_file_lies_about(argv, tmp_path, rename):
    # renames: checkpoint at the start, then checkpoint and history.csv after each epoch
    assert main(argv("whole", "--epochs", EPOCHS)) == 0
    done = stopped(*argv("parts", "--epochs", EPOCHS), rename=rename)
    assert done.returncode == -signal.SIGKILL
    left = [path.name for path in (tmp_path / "parts").glob("*.tmp")]
    assert len(left) == 1
    assert left[0].startswith("history.csv." if rename == 3 else "checkpoint.npz.")
    assert resume(tmp_path / "parts") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))
    assert not list((tmp_path / "parts").glob("*.tmp"))


@pytest.mark.parametrize("number", [0, 3])
def test_killed_in_the_middle_of_a_checkpoint_with_a_cache(argv, tmp_path, gnn, number):
    """Some of its arrays are written, others not; the one before it is what counts."""
    options = (*FRESH, "--t-stale", 9, "--epochs", 3, "--impl", gnn.__name__)
    assert main(argv("whole", *options)) == 0
    with np.load(saved(tmp_path, "whole")) as file:
        arrays = len(file.files)
        of_cache = [name.startswith("cache/") for name in file.files].index(True)
    assert of_cache + 4 <= arrays
    entry = 2 * arrays + of_cache + 1 + number  # of the third checkpoint: epoch 2 is over
    done = stopped(*argv("parts", *options), package=gnn.__name__, entry=entry)
    assert done.returncode == -signal.SIGKILL
    (left,) = (tmp_path / "parts").glob("*.tmp")
    assert left.name.startswith("checkpoint.npz.")
    assert len(arrays_of(saved(tmp_path, "parts"))[1]["history"]) == 1
    assert resume(tmp_path / "parts") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))
    assert not list((tmp_path / "parts").glob("*.tmp"))


def test_killed_while_features_are_written(argv, tmp_path):
    """A run that goes on writes them again; one that goes on in memory removes them."""
    options = (*FRESH, "--epochs", 2)
    assert main(argv("whole", *options)) == 0
    killed = stopped(*argv("parts", *options, "--features-in", "mmap"), rename=1)
    assert killed.returncode == -signal.SIGKILL
    left = sorted(path.name for path in (tmp_path / "parts").iterdir() if path.name != LOCK)
    assert [name[:22] for name in left] == ["training_features.npy."]
    assert resume(tmp_path / "parts") == 2  # there was no checkpoint yet
    killed = stopped(*argv("parts", *options, "--features-in", "mmap"), rename=4)
    assert killed.returncode == -signal.SIGKILL  # features, checkpoint, checkpoint, history.csv
    assert list((tmp_path / "parts").glob("training_features.npy.*.tmp"))
    again = ("train", "--resume", "--out", str(tmp_path / "parts"))
    killed = stopped(*again, rename=1)
    assert killed.returncode == -signal.SIGKILL
    assert resume(tmp_path / "parts", "--features-in", "memory") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"), but=FREE)
    assert not list((tmp_path / "parts").glob("*features*"))


def test_counts_go_on(argv, tmp_path):
    """metrics.json and history.csv of a resumed run have the counts of all epochs."""
    options = (*FRESH, "--t-stale", 9)
    assert main(argv("whole", *options, "--epochs", 4)) == 0
    assert main(argv("parts", *options, "--epochs", 2)) == 0
    assert resume(tmp_path / "parts", "--epochs", 4) == 0
    whole, parts = (
        json.loads((tmp_path / out / "metrics.json").read_text()) for out in ("whole", "parts")
    )
    assert whole["loads"]["hits"] > 0
    assert (whole["loads"], whole["cache"]) == (parts["loads"], parts["cache"])
    whole, parts = (
        [
            line.split(",")[len(EpochRecord._fields) :]
            for line in (tmp_path / out / "history.csv").read_text().split()
        ]
        for out in ("whole", "parts")
    )
    assert whole == parts
    assert len(whole) == 5


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGKILL])
def test_stopped_from_outside(tmp_path, capfd, signum):
    def command(out):
        size = ["--epochs", "40", "--hidden", "32", "--budget", "400"]
        return ["train", "--out", str(tmp_path / out), *size]

    assert main(command("whole")) == 0
    kill = ["fastimpl", str(int(signum)), *[str(NEVER)] * 3]
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *kill, *command("parts")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    history = tmp_path / "parts" / "history.csv"
    while not history.exists():  # the second epoch is under way once it does
        assert process.poll() is None
        time.sleep(0.005)
    assert process.poll() is None
    os.kill(process.pid, signum)
    _, stderr = process.communicate()
    check_stopped(process.returncode, stderr, signum, tmp_path / "parts", "fastimpl")
    assert 1 <= len(arrays_of(saved(tmp_path, "parts"))[1]["history"]) < 40
    assert resume(tmp_path / "parts") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))


def test_stopped_in_the_first_epoch_of_a_run_that_replaces_another(argv, tmp_path, monkeypatch):
    assert main(argv("whole", "--epochs", EPOCHS, "--seed", 1)) == 0
    assert main(argv("parts", "--epochs", EPOCHS, "--seed", 2)) == 0
    with monkeypatch.context() as patch:
        patch.setattr("refimpl.lab.training.trainer.Trainer.step", _interrupt)
        assert main(argv("parts", "--epochs", EPOCHS, "--seed", 1, "--overwrite")) == 130
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["checkpoint.npz"]
    assert resume(tmp_path / "parts") == 0
    same_run(saved(tmp_path, "whole"), saved(tmp_path, "parts"))


def test_interrupted_before_there_is_anything_to_go_on_from(argv, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("refimpl.lab.apps.preparing.load_dataset", _interrupt)
    assert main(argv("out")) == 130
    assert capfd.readouterr().err == "minibatch-gnn: interrupted\n"
    assert not (tmp_path / "out").exists()


def test_interrupted_while_the_checkpoint_is_read(argv, tmp_path, monkeypatch, capfd):
    assert main(argv("out", "--epochs", 1)) == 0
    capfd.readouterr()
    monkeypatch.setattr("refimpl.lab.apps.resuming.load_checkpoint", _interrupt)
    assert resume(tmp_path / "out") == 130
    assert capfd.readouterr().err == "minibatch-gnn: interrupted\n"


def _interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def test_a_finished_run_reports_again(argv, tmp_path, capfd):
    assert main(argv("out", "--epochs", 2)) == 0
    first = capfd.readouterr().out.split("part ")[0]
    before = saved(tmp_path, "out").read_bytes()
    (tmp_path / "out" / "metrics.json").unlink()
    (tmp_path / "out" / "history.csv").unlink()
    assert resume(tmp_path / "out") == 0
    assert capfd.readouterr().out.split("part ")[0] == first
    assert saved(tmp_path, "out").read_bytes() == before
    assert (tmp_path / "out" / "metrics.json").exists()
    assert len((tmp_path / "out" / "history.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "options, message",
    [
        (("--seed", 1), "--seed is 0 in {checkpoint}, got 1"),
        (("--hidden", 16), "--hidden is 8 in {checkpoint}, got 16"),
        (("--impl", "refimpl"), "--impl is fastimpl in {checkpoint}, got refimpl"),
        (("--dtype", "float64"), "--dtype is float32 in {checkpoint}, got float64"),
        (("--budget", 27), "--budget is 26 in {checkpoint}, got 27"),
        (("--degree-cap", 4), "--degree-cap is None in {checkpoint}, got 4"),
        (("--classifier-relu",), "--classifier-relu is False in {checkpoint}, got True"),
        (("--data", "communities"), "got communities"),
        (("--epochs", 1), "--epochs is 2 in {checkpoint}, got 1; it can only be raised"),
    ],
)
def test_resume_refuses_other_settings(argv, tmp_path, capfd, options, message):
    assert main(argv("out", "--epochs", 2)) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    capfd.readouterr()
    assert resume(tmp_path / "out", *options) == 2
    expected = message.format(checkpoint=saved(tmp_path, "out"))
    assert expected in capfd.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.parametrize(
    "options",
    [
        ("--p-grad", 0.5),
        ("--t-stale", "inf"),
        ("--warmup", 1),
        ("--buffer", "6001"),
        ("--hotness", "none"),
        ("--buffer-overflow", "drop"),
        ("--control", "anti"),
        ("--half-features",),
    ],
    ids=lambda options: options[0],
)
def test_resume_refuses_another_cache(argv, tmp_path, capfd, options):
    assert main(argv("out", *FRESH, "--epochs", 1)) == 0
    capfd.readouterr()
    assert resume(tmp_path / "out", *options) == 2
    assert f"{options[0]} is " in capfd.readouterr().err


def test_resume_accepts_the_same_cache(argv, tmp_path):
    assert main(argv("out", *FRESH, "--t-stale", "inf", "--epochs", 1)) == 0
    same = ("--t-stale", "inf", "--buffer", "6KB", "--buffer-overflow", "wrap")
    assert resume(tmp_path / "out", *same) == 0


def test_resume_accepts_the_same_settings(argv, tmp_path):
    options = ("--epochs", 2, "--frontier", 3, "--budget", 26, "--eta", 2, "--seed", 0)
    assert main(argv("out", "--epochs", 2)) == 0
    assert main([*argv("out", *options), "--resume"]) == 0


def test_resume_refuses_what_does_not_apply(argv, tmp_path, capfd):
    assert main(argv("out", "--epochs", 1, "--sampler", "frontier")) == 0
    assert resume(tmp_path / "out", "--eta", 2) == 2
    assert "--eta does not apply with --sampler frontier" in capfd.readouterr().err


def test_bad_checkpoints(argv, tmp_path, capfd):
    assert resume(tmp_path / "out") == 2
    assert "no checkpoint at" in capfd.readouterr().err
    assert main(argv("out", "--epochs", 1)) == 0
    capfd.readouterr()
    whole = saved(tmp_path, "out").read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        saved(tmp_path, "out").write_bytes(whole[:length])
        assert resume(tmp_path / "out") == 2
        stdout, stderr = capfd.readouterr()
        assert stdout == ""
        assert len(stderr.splitlines()) == 1
        assert "is not a whole checkpoint" in stderr
    state = refimpl.make_trainer(tiny_dataset(tmp_path / "d"), refimpl.TrainConfig(hidden=8)).state
    refimpl.lab.training.save_checkpoint(saved(tmp_path, "out"), state, {"mine": 1})
    assert resume(tmp_path / "out") == 2
    assert "was not written by this version of the program" in capfd.readouterr().err


def test_resume_refuses_data_that_has_changed(tmp_path, capfd):
    data = write_graphsaint(tmp_path / "data")
    out = ["--out", str(tmp_path / "out")]
    assert main(["train", "--data", str(data), "--epochs", "1", "--hidden", "8", *out]) == 0
    write_graphsaint(data, multilabel=True)
    capfd.readouterr()
    assert resume(tmp_path / "out") == 2
    assert "the data set has changed since the run began (multilabel, digest)" in (
        capfd.readouterr().err
    )


def test_threads_option_limits_openmp(argv, tmp_path, monkeypatch):
    seen = []
    step = refimpl.lab.training.trainer.Trainer.step

    def spy(self):
        seen.append(fastimpl.build_info()["openmp"] and _openmp_threads())
        return step(self)

    monkeypatch.setattr("refimpl.lab.training.trainer.Trainer.step", spy)
    assert main(argv("out", "--epochs", 1, "--threads", 1)) == 0
    assert set(seen) <= {0, 1}  # 0: a build without OpenMP
    before = _openmp_threads()
    assert main(argv("again", "--epochs", 1, "--threads", 1)) == 0
    assert _openmp_threads() == before


def _openmp_threads():
    from refimpl.lab.apps.info import threads_of

    return threads_of(fastimpl)
