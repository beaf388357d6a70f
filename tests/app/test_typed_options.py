"""Numbers that are typed, or in files that are named: what is wrong is one line with the option."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from trained_models import trained

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.compare import compare_options
from refimpl.lab.apps.convert import convert_options
from refimpl.lab.apps.option import typed_integer, typed_real
from refimpl.lab.apps.options import train_options
from refimpl.lab.apps.predict import predict_options
from refimpl.lab.apps.sample import sample_options
from refimpl.lab.training.checkpoints import save_checkpoint
from refimpl.lab.training.state import TrainState
from refimpl.loader import write_features

HUGE = "9" * 5000
NO_INTEGER = (
    "",
    "x",
    "1e3",
    "1.5",
    "nan",
    "1_000",
    "\u0663",
    " 3",
    "3\n",
    "0x10",
    HUGE,
    "a\x1b[2J",
)
NO_REAL = ("", "x", "1_0", "\u0663", " 3", "1,5", "1e", "\udcff", "a\x1b[2J")
TYPED = "--data karate --hidden 4 --epochs 1 --out out --overwrite"
COMMANDS = {
    "train": (train_options, ["--data", "karate", "--epochs", "1", "--out", "out"]),
    "compare": (compare_options, ["--data", "karate"]),
    "sample": (sample_options, ["--data", "karate"]),
    "predict": (predict_options, ["model.npz", "--data", "karate"]),
    "convert": (convert_options, ["karate", "out"]),
}
OTHERS = {  # options of other commands that take numbers
    int: [
        ["compare", "--rounds"],
        ["trace", "frontier", "--seed"],
    ],
    float: [
        ["conformance", "--timeout"],
        ["conformance", "--total"],
        ["exercise", "check", "uniform.py", "--timeout"],
    ],
}


def numeric():
    """Yield a command line without its value, its flag and the kind of number that it takes."""
    for command, (options, words) in COMMANDS.items():
        for option in options().values():
            if option.parse not in (int, float):
                continue
            needed = [
                word
                for name, values in option.only.items()
                for word in (f"--{name.replace('_', '-')}", values[0].replace("_", "-"))
            ]
            if option.needs:
                other = next(o for o in options().values() if o.name == option.needs)
                needed += other.typed(other.choices and other.choices[-1]).split()
            yield [command, *words, *needed], option.flag, option.parse
    for kind, lines in OTHERS.items():
        for *words, name in lines:
            yield words, name, kind


LINES = {f"{words[0]} {name}": (words, name, kind) for words, name, kind in numeric()}


def refused(argv, flag, capfd):
    assert main(argv) == 2, argv
    said = capfd.readouterr()
    (line,) = said.err.splitlines()
    assert flag in line and line.isprintable() and len(line) < 500, line
    for word in ("Overflow", "Python int", "digits", "Errno"):
        assert word not in line
    return line


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refimpl.save_model("model.npz", trained(refimpl, refimpl.load_dataset("karate"), epochs=1))


@pytest.mark.parametrize(("words", "flag", "kind"), LINES.values(), ids=LINES)
def test_what_is_no_number_is_told_of_by_the_option(words, flag, kind, here, capfd):
    for text in NO_INTEGER if kind is int else NO_REAL:
        refused([*words, f"{flag}={text}"], flag, capfd)


@pytest.mark.parametrize(("words", "flag", "kind"), LINES.values(), ids=LINES)
def test_a_number_out_of_range_is_told_of_by_the_option(words, flag, kind, here, capfd):
    """After the data is read; before anything is computed."""
    for text in ("-1", "-" + "9" * 30, *(("nan", "-inf") if kind is float else ())):
        refused([*words, f"{flag}={text}"], flag, capfd)


def test_numbers_are_read_as_they_are():
    assert [typed_integer(text) for text in ("0", "-7", "+12", "9" * 30)] == [0, -7, 12, 10**30 - 1]
    assert [typed_real(text) for text in ("0", "-.5", "1e-3", "1e400", "inf")] == [
        0, -0.5, 1e-3, float("inf"), float("inf")
    ]  # fmt: skip


NODES = {
    "huge": (b"1\n" + b"9" * 30, "line 2: must be nodes in [0, 34), got '9999"),
    "longer": (HUGE.encode(), "line 1: must be nodes in [0, 34), got '9999"),
    "negative": (b"0 3\n\n-1", "line 3: must be nodes in [0, 34), got '-1'"),
    "beyond": (b"33\n34", "line 2: must be nodes in [0, 34), got '34'"),
    "real": (b"1.0", "line 1: must be nodes in [0, 34), got '1.0'"),
    "infinite": (b"1e400", "line 1: must be nodes in [0, 34), got '1e400'"),
    "no number": (b"nan", "line 1: must be nodes in [0, 34), got 'nan'"),
    "other digits": ("\u0663".encode(), "line 1: must be nodes in [0, 34), got '\u0663'"),
    "underscores": (b"1_0", "line 1: must be nodes in [0, 34), got '1_0'"),
    "empty": (b"", "must list nodes in [0, 34), at least one, got none"),
    "blank": (b" \n\t\n", "must list nodes in [0, 34), at least one, got none"),
    "binary": (bytes(range(128, 256)), "line 1: must be nodes in [0, 34), got '"),
}


@pytest.mark.parametrize(("content", "said"), NODES.values(), ids=NODES)
def test_a_file_of_nodes_is_told_of_by_option_file_and_line(gnn, content, said, here, capfd):
    Path("nodes$.txt").write_bytes(content)
    impl = ("--impl", gnn.__name__)
    argv = ["predict", "model.npz", "--data", "karate", "--nodes", "nodes$.txt", *impl]
    line = refused(argv, "--nodes nodes$.txt", capfd)
    assert said in line


@pytest.mark.parametrize("asked", ["none.txt", "", ".", "/dev/null"])
def test_a_file_of_nodes_that_cannot_be_read_is_told_of_by_the_option(asked, here, capfd):
    assert main(["predict", "model.npz", "--data", "karate", "--nodes", asked]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "--nodes" in line and asked in line


ONES = np.ones((3, 2), np.float32)
WRITERS = {
    "write_features": lambda path: write_features(path, ONES),
    "save_model": lambda path: refimpl.save_model(
        path, trained(refimpl, refimpl.load_dataset("karate"), epochs=1)
    ),
    "save_checkpoint": lambda path: save_checkpoint(
        path, TrainState(*({"W": ONES} for _ in range(4))), {}
    ),
    "save_dataset": lambda path: refimpl.load_dataset("karate").save(path),
    "convert": lambda path: refimpl.lab.data.convert.convert("karate", path),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("end", ["none/x.npy", "file/x.npy", "y" * 300])
def test_an_error_of_writing_names_the_users_file(write, end, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    path = tmp_path / end
    with pytest.raises(OSError, match=r"\[Errno") as raised:
        write(path)
    assert raised.value.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
    assert os.fspath(raised.value.filename) == str(path)
    assert ".tmp" not in str(raised.value)
