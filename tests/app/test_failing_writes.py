"""Writes that fail at each of their steps: nothing is lost, nothing is left, the file is named."""

import ast
import errno
import io
import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tiny_data import same_run
from trained_models import trained

import refimpl
from bench import figures
from refimpl._support import whole_files
from refimpl.lab.apps import plots, predict, report
from refimpl.lab.apps.cli import main
from refimpl.lab.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.lab.training.state import EpochRecord, TrainState

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Faults:
    """The operations of `whole_files` on the system, of which the n-th fails, or all from it on."""

    def __init__(self, monkeypatch, n, error, lasting=False):
        self.n, self.error, self.lasting, self.count = n, error, lasting, 0
        faults = self

        class Raw(io.FileIO):
            def __init__(self, *args):
                faults.operation()
                super().__init__(*args)

            def write(self, data):
                faults.operation()
                return super().write(data)

        system = {name: self.failing(getattr(os, name)) for name in ("fsync", "open")}
        monkeypatch.setattr(whole_files, "os", SimpleNamespace(**{**vars(os), **system}))
        monkeypatch.setattr(whole_files, "io", SimpleNamespace(**{**vars(io), "FileIO": Raw}))
        monkeypatch.setattr(Path, "replace", self.failing(Path.replace))

    def operation(self):
        self.count += 1
        if self.count == self.n or (self.lasting and self.count > self.n):
            raise self.error

    def failing(self, function):
        def call(*args):
            self.operation()
            return function(*args)

        return call


@pytest.fixture(scope="module")
def model():
    return trained(refimpl, refimpl.load_dataset("karate"), epochs=1)


def numbers(value):
    return np.full((700, 5), value, np.float32)  # more than a buffer of Python's


def checkpoint(path, value):
    groups = [{"W": numbers(value), "b": numbers(value)[0]} for _ in range(4)]
    save_checkpoint(path, TrainState(*groups), {"value": value})


def history(path, value):
    report.write_history(path, [EpochRecord(i, i, value, *[0.5] * 7) for i in range(400)])


def curve(path, value):
    plots.draw_curves(path, [EpochRecord(1, 1, value, *[0.5] * 7)], "title")


def predictions(path, value):
    predict._write(path, np.arange(700), numbers(value), "probabilities")


WRITERS = {
    "checkpoint.npz": checkpoint,
    "features.npy": lambda path, value: refimpl.loader.write_features(path, numbers(value)),
    "metrics.json": lambda path, value: report.write_json(path, {"values": [value] * 2000}),
    "history.csv": history,
    "curve.png": curve,
    "predicted.csv": predictions,
    "predicted.npy": predictions,
}
FAST = [name for name in WRITERS if name != "curve.png"]


def fails_everywhere(monkeypatch, path, write, error, lasting):
    """Let each operation of a second write fail in turn, until none is left; return how many."""
    write(path, 2.0)
    new = path.read_bytes()
    for n in itertools.count(1):
        write(path, 1.0)
        kept = (path.read_bytes(), new)
        with monkeypatch.context() as patch:
            faults = Faults(patch, n, error, lasting)
            try:
                write(path, 2.0)
            except type(error) as raised:
                if isinstance(error, OSError):
                    assert (raised.errno, raised.filename) == (errno.ENOSPC, str(path))
            else:
                kept = (new,)
        assert path.read_bytes() in kept
        assert [one.name for one in path.parent.iterdir()] == [path.name]
        if faults.count < n:
            break
    return n - 1


@pytest.mark.parametrize("error", [FULL, MemoryError()], ids=["full disk", "no memory"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("name", FAST)
def test_each_operation_of_a_write_fails_in_turn(monkeypatch, tmp_path, name, lasting, error):
    count = fails_everywhere(monkeypatch, tmp_path / name, WRITERS[name], error, lasting)
    assert count >= 6  # opened, written, on disk, renamed; the folder opened, on disk


def test_each_operation_of_a_model_fails_in_turn(monkeypatch, tmp_path, model):
    def write(path, value):
        weights = {name: np.full_like(W, value) for name, W in model.weights.items()}
        refimpl.save_model(path, replace(model, weights=weights))

    assert fails_everywhere(monkeypatch, tmp_path / "model.npz", write, FULL, False) >= 6


@pytest.mark.runs
def test_each_operation_of_a_curve_fails_in_turn(monkeypatch, tmp_path):
    figure = pytest.importorskip("matplotlib.figure")

    def savefig(self, file, **form):  # a picture would take most of the time
        file.write(repr(self.axes[0].lines[0].get_ydata()).encode())

    monkeypatch.setattr(figure.Figure, "savefig", savefig)
    assert fails_everywhere(monkeypatch, tmp_path / "curve.png", curve, FULL, False) >= 6


def test_a_new_file_that_fails_is_not_there(monkeypatch, tmp_path):
    for n in range(1, 5):
        with monkeypatch.context() as patch:
            Faults(patch, n, FULL, lasting=True)
            with pytest.raises(OSError, match="features.npy"):
                WRITERS["features.npy"](tmp_path / "features.npy", 1.0)
        assert list(tmp_path.iterdir()) == []


def test_what_went_wrong_first_is_told(monkeypatch, tmp_path):
    """Not that the temporary file cannot be removed either."""

    def refused(self, missing_ok=False):
        raise PermissionError(errno.EPERM, "no", str(self))

    monkeypatch.setattr(Path, "unlink", refused)
    Faults(monkeypatch, 2, FULL)
    with pytest.raises(OSError, match="No space left on device: .*m.json"):
        report.write_json(tmp_path / "m.json", {})


def test_a_folder_that_cannot_be_told_to_last(monkeypatch, tmp_path):
    """Some file systems refuse; the file is there all the same."""

    def refuse(*args):
        raise OSError(errno.EINVAL, "Invalid argument")

    system = {**vars(os), "open": refuse}
    monkeypatch.setattr(whole_files, "os", SimpleNamespace(**system))
    report.write_json(tmp_path / "m.json", {})
    assert (tmp_path / "m.json").read_text() == "{}\n"


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, whole_files.replacing(tmp_path / "a"):
        (tmp_path / "b").read_text()
    assert raised.value.filename == str(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


WRITES = ("write_text", "write_bytes", "tofile", "savetxt")
INTO_A_FILE = ("save", "savez", "savez_compressed", "savefig")
CALLS = re.compile(rf"\b({'|'.join((*WRITES, *INTO_A_FILE, 'open', 'FileIO'))})\(")


def writes_in(source):
    """Return the lines of source that write a file other than one that is open already."""
    if not CALLS.search(source):
        return
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        words = [*call.args, *(keyword.value for keyword in call.keywords)]
        modes = [w.value for w in words if isinstance(w, ast.Constant) and isinstance(w.value, str)]
        opens = name in ("open", "FileIO") and any(set(mode) & set("wax+") for mode in modes)
        saves = name in INTO_A_FILE and ast.unparse(call.args[0]) not in ("file", "buffer")
        if opens or saves or name in WRITES:
            yield f"{call.lineno}: {ast.unparse(call)}"


def test_every_file_is_written_in_the_one_way():
    root = Path(refimpl.__file__).parents[1]
    folders = (root / "refimpl", root / "fastimpl", Path(figures.__file__).parent)
    found = {
        "/".join([folder.name, *path.relative_to(folder).parts]): lines
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        if (lines := list(writes_in(path.read_text())))
    }
    for name in ("refimpl/lab/training/layer_outputs", "figures/experiments/depth_io"):
        assert len(found.pop(f"{name}.py")) == 1  # in a folder that is removed
    whole = {"journal": 2, "edges": 1, "writing": 1}  # in a folder that appears once it is whole
    for name, count in whole.items():
        assert len(found.pop(f"refimpl/lab/data/{name}.py")) == count, found
    assert (
        len(found.pop("refimpl/lab/apps/conformance/export.py")) == 2
    )  # in memory, in a new folder
    assert found.keys() == {"refimpl/_support/whole_files.py"}, found


TRAIN = ["train", "--data", "karate", "--hidden", "8", "--epochs", "1"]


@pytest.mark.runs
def test_each_operation_of_a_run_fails_in_turn(monkeypatch, tmp_path, capfd):
    """The run says which file; it goes on, or begins again, and ends in the same bits."""
    monkeypatch.setattr(plots, "draw_curves", lambda *args: False)
    with monkeypatch.context() as patch:
        whole = Faults(patch, 0, FULL)
        assert main([*TRAIN, "--out", str(tmp_path / "whole")]) == 0
    assert whole.count > 40
    for n in range(1, whole.count + 1, 5):
        out = tmp_path / str(n)
        argv = [*TRAIN, "--out", str(out)]
        capfd.readouterr()
        with monkeypatch.context() as patch:
            Faults(patch, n, FULL, lasting=True)
            assert main(argv) == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert f"No space left on device: '{out}/" in line
        left = {path.name for path in out.iterdir()} if out.exists() else set()
        assert left <= {"checkpoint.npz", "history.csv", "metrics.json", "model.npz"}
        begun = "checkpoint.npz" in left
        if begun:
            load_checkpoint(out / "checkpoint.npz")
        assert main([*argv, *(["--resume"] if begun else [])]) == 0
        same_run(tmp_path / "whole" / "checkpoint.npz", out / "checkpoint.npz")
        assert {path.name for path in out.iterdir()} > left or begun


LIMITED = """
import resource, sys
import numpy as np
from refimpl.lab.apps.cli import main
from refimpl.loader import write_features
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_features(sys.argv[1], np.zeros((1250, 1), np.float32))  # 128 bytes of header too many
except OSError as error:
    print(error)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.runs
def test_files_that_the_system_lets_grow_no_further(tmp_path):
    """A limit of the process, which no patch makes: as a full disk, but for the number."""
    pytest.importorskip("resource")
    features, run = tmp_path / "x.npy", tmp_path / "run"
    refimpl.loader.write_features(features, numbers(1))
    argv = [*TRAIN, "--out", str(run)]
    assert main(argv) == 0
    before = {path: path.read_bytes() for path in (features, *run.iterdir())}
    argv = [sys.executable, "-c", LIMITED, str(features), *argv, "--overwrite"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stdout == f"[Errno 27] File too large: '{features}'\n"
    assert done.returncode == 2
    assert done.stderr.endswith(f"File too large: '{run / 'checkpoint.npz'}'\n")
    assert {path: path.read_bytes() for path in before} == before
    assert set(run.iterdir()) | {features} == before.keys()
