"""The command line in a shell: help that fits a screen, pipes that are closed, completion."""

import io
import os
import subprocess
import sys

import pytest

from refimpl.lab.apps import cli
from refimpl.lab.apps.cli import build_parser, main
from refimpl.lab.apps.options import train_options


def shown(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["train", "compare"])
def test_help_fits_a_screen_and_names_the_rest(command, capsys):
    text = shown([command, "--help"], capsys)
    assert len(text.splitlines()) <= 30 and max(map(len, text.splitlines())) <= 150
    assert f"minibatch-gnn {command} --help-all" in text
    whole = shown([command, "--help-all"], capsys)
    assert len(whole.splitlines()) > 100
    for name in cli.OF_TRAIN if command == "train" else cli.OF_COMPARE:
        assert f"  --{name}" in text and f"--{name}" in whole


def test_help_on_all_has_every_option(capsys):
    whole = shown(["train", "--help-all"], capsys)
    for option in train_options().values():
        assert option.flag in whole
    assert "--config" in whole and "--help-all" in whole


@pytest.mark.runs
@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another thing there")
@pytest.mark.parametrize("words", [["--help"], ["train", "--help-all"], ["info"]])
@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_reader_that_has_gone_is_no_fault(words, unbuffered):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    env |= {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    command = [sys.executable, "-m", "refimpl", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=env, **pipes) as run:
        run.stdout.close()
        err = run.stderr.read()
    assert (err, run.returncode) == (b"", 141)


@pytest.mark.parametrize("gone", [True, False])
def test_what_is_printed_may_go_to_no_file(monkeypatch, gone):
    """As in a notebook, or where there is no standard output at all."""

    class Gone(io.StringIO):
        def flush(self):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone() if gone else io.StringIO())
    assert main(["info"]) == (141 if gone else 0)


def test_there_may_be_nowhere_to_print(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["info"]) == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_commands_and_options(shell, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for word in ("train", "exercise", "--method", "--config"):
        assert word.lstrip("-") in text


def test_completion_without_shtab_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'minibatch-gnn[completion]'" in capsys.readouterr().err


def test_the_options_shown_first_are_options():
    actions = build_parser()._subparsers._group_actions[0].choices
    for command, names in (("train", cli.OF_TRAIN), ("compare", cli.OF_COMPARE)):
        known = actions[command]._option_string_actions
        assert all(f"--{name}" in known for name in names)
