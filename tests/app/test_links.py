"""Links in a folder of results: no command writes through them to a file elsewhere."""

import importlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from refimpl._support.whole_files import replacing, temporary_beside
from refimpl.lab.apps import plots
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.results import LOCK, results_in
from refimpl.lab.data.convert import convert

TRAIN = ["train", "--data", "karate", "--hidden", "8", "--epochs", "1"]
RUN_FILES = ("metrics.json", "history.csv", "checkpoint.npz", "model.npz", "curve.png")
TEXT = "thesis\n"


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(plots, "draw_curves", lambda *args: None)
    monkeypatch.setattr(plots, "draw_sample", lambda *args: None)


@pytest.fixture
def victim(tmp_path):
    """Return a user's file outside of the folder of results."""
    path = tmp_path / "thesis.txt"
    path.write_text(TEXT)
    return path


def said(capsys, *words):
    status = main([*map(str, words)])
    return status, capsys.readouterr().err


LINKS = {
    "symbolic": lambda path, victim: path.symlink_to(victim),
    "relative": lambda path, victim: path.symlink_to(f"../{victim.name}"),
    "hard": lambda path, victim: path.hardlink_to(victim),
    "dangling": lambda path, victim: path.symlink_to(victim.with_name("new")),
    "loop": lambda path, victim: path.symlink_to(path),
    "folder": lambda path, victim: path.symlink_to(victim.parent),
}
OTHERS = {
    "a user's file": lambda path, victim: path.write_text("7 on a list of things\nto do\n"),
    "folder of its own": lambda path, victim: path.mkdir(),
    "pipe": lambda path, victim: os.mkfifo(path),
}


@pytest.mark.parametrize("words", [TRAIN, [*TRAIN, "--overwrite"], ["sample", "--data", "karate"]])
@pytest.mark.parametrize("kind", [*LINKS, *OTHERS])
def test_a_lock_that_no_run_made_is_not_touched(tmp_path, capsys, victim, kind, words):
    out = tmp_path / "out"
    out.mkdir()
    (LINKS | OTHERS)[kind](out / LOCK, victim)
    before = os.lstat(out / LOCK)
    status, err = said(capsys, *words, "--out", out)
    assert (status, err.count("\n")) == (2, 1) and str(out / LOCK) in err
    assert victim.read_text() == TEXT
    assert os.path.samestat(before, os.lstat(out / LOCK))
    assert {path.name for path in tmp_path.iterdir()} == {"out", "thesis.txt"}
    assert [path.name for path in out.iterdir()] == [LOCK]


def test_a_lock_that_becomes_a_link_while_it_is_opened(tmp_path, victim, monkeypatch):
    """The link comes after the look at the path: only the system's own flag stops it then."""
    out = tmp_path / "out"
    out.mkdir()
    (out / LOCK).symlink_to(victim)
    monkeypatch.setattr(type(out), "is_symlink", lambda path: False)
    with pytest.raises(UserError, match=LOCK), results_in(out, (), keep=False):
        pass
    assert victim.read_text() == TEXT


@pytest.mark.parametrize("kind", ["symbolic", "hard", "dangling"])
@pytest.mark.parametrize("name", RUN_FILES)
def test_results_that_are_links_are_replaced_not_followed(tmp_path, capsys, victim, name, kind):
    out = tmp_path / "out"
    out.mkdir()
    LINKS[kind](out / name, victim)
    status, err = said(capsys, *TRAIN, "--out", out)
    assert status == 2 and f"already has a result ({name})" in err
    assert said(capsys, *TRAIN, "--out", out, "--overwrite")[0] == 0
    assert not (out / name).is_symlink() and victim.read_text() == TEXT
    assert not victim.with_name("new").exists()


def test_a_folder_and_data_and_a_model_may_be_links(tmp_path, capsys):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    assert said(capsys, *TRAIN, "--out", tmp_path / "out") == (0, "")
    assert (tmp_path / "real" / "model.npz").is_file()
    (tmp_path / "model.npz").symlink_to(tmp_path / "real" / "model.npz")
    assert said(capsys, "convert", "karate", tmp_path / "data")[0] == 0
    (tmp_path / "linked").symlink_to(tmp_path / "data")
    assert said(capsys, "predict", tmp_path / "model.npz", "--data", tmp_path / "linked")[0] == 0


def test_a_temporary_file_is_a_new_one(tmp_path, victim, monkeypatch):
    """Whoever guesses its name and puts a link there gets nothing written."""
    path = tmp_path / "model.npz"
    temporary = temporary_beside(path)
    temporary.symlink_to(victim)
    monkeypatch.setattr("refimpl._support.whole_files.temporary_beside", lambda path: temporary)
    with pytest.raises(FileExistsError), replacing(path):
        pass
    assert victim.read_text() == TEXT and not path.exists()


def test_convert_replaces_no_link(tmp_path, capsys, victim):
    (tmp_path / "linked").symlink_to(tmp_path / "elsewhere")
    for words in ([], ["--overwrite"]):
        status, err = said(capsys, "convert", "karate", tmp_path / "linked", *words)
        assert status == 2 and "is there and is no data set" in err
    assert (tmp_path / "linked").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"linked", "thesis.txt"}


# One rule for all commands: what is there is replaced only with --overwrite.

TRACE = ["trace", "frontier"]
COMMANDS = {
    "compare": (["compare", "--data", "karate", "--rounds", "1", "--hidden", "8"], "--out"),
    "trace": (TRACE, "--out"),
    "conformance": (["conformance", "--only", "floyd", "--impl", "refimpl"], "--report"),
}


@pytest.mark.runs
@pytest.mark.parametrize("kind", ["file", "symbolic", "dangling", "hard"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_is_replaced_only_where_that_is_asked_for(tmp_path, capsys, victim, command, kind):
    words, option = COMMANDS[command]
    path = tmp_path / "result"
    if kind == "file":
        path.write_text(TEXT)
    else:
        LINKS[kind](path, victim)
    before = os.lstat(path)
    status, err = said(capsys, *words, option, path)
    assert (status, err.count("\n")) == (2, 1) and "--overwrite" in err and str(path) in err
    assert os.path.samestat(before, os.lstat(path))
    assert said(capsys, *words, option, path, "--overwrite")[0] == 0
    assert path.read_text() != TEXT and not path.is_symlink()
    assert victim.read_text() == TEXT and not victim.with_name("new").exists()


@pytest.mark.parametrize("command", ["train", "sample", *COMMANDS])
def test_an_empty_name_is_refused(tmp_path, capsys, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    words = {
        "train": TRAIN,
        "sample": ["sample", "--data", "karate"],
    }
    words, option = COMMANDS.get(command) or (words[command], "--out")
    status, err = said(capsys, *words, option, "")
    assert status == 2 and f"argument {option}: must name a file or folder, got ''" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["convert", "karate", ""], ["predict", "m.npz", "--out", ""]])
def test_an_empty_name_of_a_place_is_refused(tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    status, err = said(capsys, *words)
    assert status == 2 and "must name a file or folder, got ''" in err
    assert list(tmp_path.iterdir()) == []


def test_overwrite_needs_something_to_write(capsys):
    status, err = said(capsys, "conformance", "--only", "floyd", "--overwrite")
    assert status == 2 and "--overwrite does not apply without --report or --badge" in err


# SIGTERM and SIGHUP clean up as Ctrl-C does.

SLOW = """
import os, signal, sys, time
sys.path[:] = {path!r}
signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup and a shell's & ignore signals
signal.signal(signal.SIGHUP, signal.SIG_DFL)
import numpy as np
from refimpl.lab.apps.cli import main
import refimpl.lab.data.writing as writing
from refimpl.lab.training.trainer import Trainer

def wait(function, before):
    def call(*args, **settings):
        made = function(*args, **settings)
        if not before:
            print("now", flush=True)
            time.sleep(60)
        before and before.pop()
        return made
    return call

writing.write_array = wait(writing.write_array, [1])
Trainer.step = wait(Trainer.step, [1] * 10)
sys.exit(main(sys.argv[1:], impl="refimpl"))
"""


def stopped(tmp_path, number, *words):
    """Send a signal to a command at work; return its status and what it said."""
    code = SLOW.format(path=sys.path)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    argv = [sys.executable, "-c", code, *map(str, words)]
    with subprocess.Popen(argv, cwd=tmp_path, **streams) as process:
        assert process.stdout.readline() == "now\n"
        process.send_signal(number)
        err = process.communicate(timeout=60)[1]
    return process.returncode, err.splitlines()[-1]


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.runs
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_leaves_a_conversion_that_is_resumed(tmp_path, number):
    status, err = stopped(tmp_path, number, "convert", "karate", "data")
    assert status == 128 + number and err.startswith("minibatch-gnn: ")
    (left,) = tmp_path.iterdir()
    assert re.fullmatch(r"data\.[0-9a-f]{16}\.tmp", left.name)
    convert("karate", tmp_path / "data")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.runs
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_leaves_a_run_that_can_be_resumed(tmp_path, number, capsys):
    words = [
        *TRAIN[:-1],
        "3",
        "--method",
        "layer",
        "--batch-size",
        "3",
        "--features-in",
        "mmap",
        "--out",
        "run",
    ]
    status, err = stopped(tmp_path, number, *words)
    assert status == 128 + number and "checkpoint.npz is complete" in err
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left <= {"checkpoint.npz", "history.csv"} and "checkpoint.npz" in left
    again = ["train", "--resume", "--out", tmp_path / "run", "--epochs", "3"]
    assert said(capsys, *again)[0] == 0


@pytest.mark.runs
def test_the_fuzzer_of_links_finds_nothing_and_would_find_a_file_that_was_touched(monkeypatch):
    links = importlib.import_module("fuzz.links")
    driver = importlib.import_module("fuzz.driver")
    assert driver.main(links, ["--cases", "20", "--seed", "1"]) == 0

    def touch(words):
        (thesis,) = Path(words[-1]).resolve().parent.glob("thesis.txt")
        thesis.write_text("gone")
        return 0, ""

    monkeypatch.setattr(links, "run", touch)
    monkeypatch.setattr(links, "plant", lambda *args: None)
    verdict, text = links.judge({"words": "sample --out FOLDER", "draw": 1})
    assert verdict == "finding" and text.endswith("touched ['thesis.txt']")
