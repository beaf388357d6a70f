"""How the command line starts: what a launcher's variables say, without MPI.

`tests/mpi/test_mpi_starts.py` starts ranks.
"""

import argparse
import os
import subprocess
import sys

import pytest
from tiny_data import write_graphsaint

from refimpl._support import mpi_start
from refimpl.lab.apps.cli import build_parser, main
from refimpl.lab.apps.errors import user_errors
from refimpl.lab.apps.ranks import Agreed, together
from refimpl.lab.training.trainer import Trainer
from refimpl.loader import SimComm

BAD = ("x", "", "-1", "1.0", "1_0", " 1", "\u0663", "9" * 5000)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No variable of a launcher is set."""
    for name in sum(mpi_start.VARIABLES, ()):
        monkeypatch.delenv(name, raising=False)


def run(*argv, **variables):
    return subprocess.run(
        [sys.executable, *argv],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("names", mpi_start.VARIABLES)
def test_what_a_launcher_says(monkeypatch, names):
    assert mpi_start.told() == (0, 1)
    monkeypatch.setenv(names[0], "4")
    assert mpi_start.told() == (0, 1)  # half of it says nothing
    monkeypatch.setenv(names[1], "3")
    assert mpi_start.told() == (3, 4)


@pytest.mark.parametrize("names", mpi_start.VARIABLES)
@pytest.mark.parametrize("which", [0, 1])
def test_a_variable_that_is_no_number_is_named(monkeypatch, names, which, capsys):
    monkeypatch.setenv(names[0], "2")
    monkeypatch.setenv(names[1], "1")
    for text in (*BAD, "0" if which == 0 else "2"):
        monkeypatch.setenv(names[which], text)
        with pytest.raises(ValueError, match=f"variable {names[which]} must be a whole number"):
            mpi_start.told()
        assert main(["train"]) == main(["info"]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 2 and len(max(lines, key=len)) < 250
        start = f"minibatch-gnn: error: the environment variable {names[which]} must be"
        assert all(line.startswith(start) for line in lines)


@pytest.mark.runs
@pytest.mark.parametrize("package", ["refimpl", "fastimpl"])
def test_a_variable_that_is_no_number_is_read_first(tmp_path, package):
    """Before any other module is imported: one line, exit status 2."""
    variables = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "x"}
    done = run("-m", package, "train", "--out", str(tmp_path / "out"), **variables)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"python -m {package}: error: the environment variable OMPI_COMM_WORLD")
    assert not (tmp_path / "out").exists()


@pytest.mark.runs
def test_a_variable_that_changes_later_loses_nothing(monkeypatch, tmp_path, capsys):
    """A run is interrupted after that, and still says how to go on."""
    whole, steps = Trainer.step, []

    def step(self):
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "x")
        steps.append(0)
        if len(steps) > 60:
            raise KeyboardInterrupt
        return whole(self)

    monkeypatch.setattr(Trainer, "step", step)
    data = write_graphsaint(tmp_path / "tiny")
    argv = ["train", "--data", str(data), "--hidden", "4", "--out", str(tmp_path / "out")]
    assert main([*argv, "--epochs", "1000"]) == 130
    assert "to resume: minibatch-gnn train --resume" in capsys.readouterr().err


def test_every_command_but_train_is_run_by_each_process_alone():
    (commands,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert set(mpi_start.ALONE) == set(commands.choices) - {"train"}


@pytest.mark.parametrize(
    "argv, orig_argv, prog",
    [
        (["-m", "train"], ["python", "-m", "refimpl", "train"], "python -m refimpl"),
        (["-m"], ["python", "-X", "dev", "-mfastimpl"], "python -m fastimpl"),
        (["-m", "refimpl"], ["python", "-m", "pytest", "refimpl"], None),
        (
            ["/usr/bin/minibatch-gnn", "train"],
            ["python", "/usr/bin/minibatch-gnn"],
            "minibatch-gnn",
        ),
        (["minibatch-gnn.exe"], ["python", "minibatch-gnn.exe"], "minibatch-gnn"),
        (["train.py", "minibatch-gnn"], ["python", "train.py", "minibatch-gnn"], None),
        (["-c"], ["python", "-c", "import refimpl"], None),
        ([""], ["python"], None),
        ([], [], None),
    ],
)
def test_the_program_that_imports_the_package(monkeypatch, argv, orig_argv, prog):
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig_argv)
    assert mpi_start._program() == prog


@pytest.mark.runs
@pytest.mark.parametrize("package", ["refimpl", "fastimpl"])
def test_one_process_does_not_import_mpi4py(tmp_path, package):
    """Nor does a library in a process among several: only the command line connects ranks."""
    data = write_graphsaint(tmp_path / "tiny")
    argv = ["train", "--data", str(data), "--epochs", "1", "--out", str(tmp_path / "out")]
    code = (
        "import runpy, sys; sys.modules['mpi4py'] = None\n"
        f"runpy.run_module({package!r}, run_name='__main__', alter_sys=True)"
    )
    done = run("-c", code, *argv)
    assert (done.returncode, done.stderr) == (0, "")
    code = f"import sys, {package}; sys.exit('mpi4py' in sys.modules)"
    done = run("-c", code, PMI_SIZE="2", PMI_RANK="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_ranks_agree_on_what_takes_less_memory():
    """The agreed message of one rank has the advice, though MemoryError has no words."""

    said = r"rank 1: out of memory: try a smaller --hidden"

    def on_rank(comm):
        with pytest.raises(Agreed, match=said), together(comm), user_errors():
            if comm.rank == 1:
                raise MemoryError
        return True

    assert all(SimComm.run(2, on_rank))
