"""`minibatch-gnn trace`: what it writes, lists and refuses."""

import errno
import os
import re

import pytest

from refimpl.lab.apps.cli import Parser, main
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.stepper import command, recipes
from refimpl.lab.apps.stepper.page import page
from refimpl.lab.apps.stepper.places import shown

pytestmark = pytest.mark.runs

RECIPES = recipes.recipes()


@pytest.fixture
def trace(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder; return what it printed."""
    monkeypatch.chdir(tmp_path)

    def trace(*argv):
        parser = Parser()
        command.add_parser(parser.add_subparsers(dest="command"), "fastimpl")
        arguments = vars(parser.parse_args(["trace", *map(str, argv)]))
        assert command.run(arguments) == 0
        return capsys.readouterr().out

    return trace


def test_the_command_writes_a_page(trace, tmp_path):
    out = trace("pin_tile")
    recipe = RECIPES["pin_tile"]
    recording = recipe.record()
    text = page(recipe, recording)
    steps, lines = len(shown(recipe, recording)), len(recording.steps)
    assert out == f"{recipe.title}: {steps} steps, {lines} with every line\npin_tile.html\n"
    assert 0 < steps < lines
    assert (tmp_path / "pin_tile.html").read_text(encoding="utf-8") == text
    trace("jpdc21:4", "--out", "named.html", "--seed", "7")
    assert (tmp_path / "named.html").read_text(encoding="utf-8") == text
    with pytest.raises(UserError, match="named.html already exists: give --overwrite"):
        trace("pin_tile", "--out", "named.html")
    assert (tmp_path / "named.html").read_text(encoding="utf-8") == text
    trace("pin_tile", "--out", "named.html", "--seed", 2**64 - 1, "--overwrite")
    assert '"seed": "18446744073709551615"' in (tmp_path / "named.html").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"pin_tile.html", "named.html"}


def test_the_command_lists_what_there_is(trace, tmp_path):
    out = trace("--list")
    for recipe in RECIPES.values():
        assert re.search(rf"^{recipe.name} +{re.escape(recipe.title)}$", out, re.M)
    assert "JPDC'21 Algorithm 3, JPDC'21 Algorithm 4" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "trace needs an ALGORITHM; --list shows them"),
        (["tile"], r"ALGORITHM must be one of cache, dashboard, .*, got 'tile'"),
        (["jpdc21:99"], "ALGORITHM must be one of .*, got 'jpdc21:99'"),
        (["frontier", "--seed", "-1"], r"--seed must be in \[0, 2\*\*64\), got -1"),
        (["frontier", "--seed", str(2**64)], "--seed must be"),
        (["frontier", "--seed", "x"], "--seed: must be an integer, got 'x'"),
        (["frontier", "--out", "no/such/folder.html"], "--out must be a file in a folder"),
        (["frontier", "--out", "."], "--out must be a file in a folder"),
        (["frontier", "--out", ""], "--out: must name a file or folder, got ''"),
        (["--list", "frontier"], "--list takes no ALGORITHM"),
        (["--list", "--out", "page.html"], "--list takes no --out"),
        (["--list", "--seed", "0"], "--list takes no --seed"),
        (["--list", "--overwrite"], "--list takes no --overwrite"),
        (["transpose", "--seed", "5"], "nothing in transpose is random: it takes no --seed"),
        (["frontier", "--sed", "1"], "unrecognized arguments"),
    ],
)
def test_bad_input_is_told_in_one_line(trace, tmp_path, argv, message):
    with pytest.raises(UserError, match=message) as error:
        trace(*argv)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_program_has_the_command(tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["trace", "frontier", "--out", str(out)]) == 0
    assert capsys.readouterr().err == "" and out.read_text(encoding="utf-8").endswith("</html>\n")
    assert main(["trace", "frontier", "--out", str(tmp_path / "no" / "page.html")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("minibatch-gnn: error: --out must be a file") and error.count("\n") == 1


def test_a_page_is_there_whole_or_not_at_all(trace, tmp_path, monkeypatch):
    trace("frontier")
    before = (tmp_path / "frontier.html").read_bytes()

    def fail(handle):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left: 'frontier.html'"):
        trace("frontier", "--overwrite")
    assert (tmp_path / "frontier.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["frontier.html"]
