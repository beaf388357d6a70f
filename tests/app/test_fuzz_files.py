"""The fuzzer of files: what it found stays mended, it finds what is wrong, and it runs."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from refimpl._support.reprs import one_line
from refimpl.lab.apps.worker import this_python

pytestmark = pytest.mark.runs

ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / "tests/fuzz/found/files"


@pytest.fixture
def fuzz():
    """Return a function that imports a module of `fuzz`."""
    return lambda name: importlib.import_module(f"fuzz.{name}")


def test_a_few_cases_of_each_format_and_all_that_was_found(fuzz, capfd):
    files = fuzz("files")
    assert files.main(["--cases", "45", "--seed", "tests", "--workers", "1"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "seed tests" and lines[-1].split()[:2] == ["all", "45"]
    found = sorted(map(str, FOUND.glob("*.zip")))
    assert not found or files.main(["--workers", "1", "--replay", *found]) == 0


def test_a_finding_says_how_to_see_it_again(fuzz, monkeypatch, capsys, tmp_path):
    files = fuzz("files")
    monkeypatch.setattr(files, "FOUND", tmp_path)
    monkeypatch.setattr(
        files, "asked", lambda worker, one, _: ("model", "bad" if one == 31 else "loaded", False)
    )
    asked = ["--first", "30", "--cases", "3", "--seed", "x", "--formats", "features,model"]
    assert files.main([*asked, "--workers", "1"]) == 1
    out = capsys.readouterr().out
    again = "python tests/fuzz files --seed x --formats features,model --first 31 --cases 1"
    assert f"FINDING model 31: bad\n  again: {again}\n" in out
    (saved,) = tmp_path.iterdir()
    assert saved.name.startswith("model-")


def wrong(error):
    def load(folder):
        raise error

    return load


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (ValueError("model.npz: bad"), "refused"),
        (ValueError("bad"), "no file is named: ValueError: bad"),
        (KeyError("model.npz"), "KeyError: 'model.npz'"),
        (MemoryError("model.npz"), "MemoryError: model.npz"),
    ],
)
def test_what_counts_as_a_finding(fuzz, monkeypatch, error, found):
    loading = fuzz("loading")
    monkeypatch.setitem(loading.LOADERS, "model", (wrong(error), None))
    assert loading.verdict("model", "x", {"model.npz": b""}, None).startswith(found)
    used = (lambda folder: folder, lambda gnn, folder: wrong(error)(folder))
    monkeypatch.setitem(loading.LOADERS, "model", used)
    assert loading.verdict("model", "x", {"model.npz": b""}, None).startswith("in use: ")


def test_cases_lie_in_folders_of_strange_names_which_are_named_whole(fuzz, monkeypatch):
    loading = fuzz("loading")
    seen, kinds = [], []

    def load(folder):
        seen.append(folder.parent.name)
        raise kinds[-1](folder)

    def verdict(size):
        return loading.verdict("model", "x", {"a.npz": bytes(size)}, None)

    monkeypatch.setitem(loading.LOADERS, "model", (load, None))
    for kind in (
        lambda folder: ValueError(f"{folder} is bad"),
        lambda folder: ValueError(one_line(folder)),
        lambda folder: FileNotFoundError(2, "missing", str(folder)),
    ):
        kinds.append(kind)
        assert {verdict(size) for size in range(len(loading.STRANGE))} == {"refused"}
    assert set(seen) == set(loading.STRANGE)
    kinds.append(lambda folder: ValueError(folder.parent.name[:-1]))
    assert verdict(1).startswith("no file is named: ")


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("os.abort()", "the program ended by SIGABRT"),
        ("exec('while True: pass')", "takes over 2 s"),
    ],
)
def test_a_process_that_ends_is_a_finding(fuzz, monkeypatch, tmp_path, load, found):
    files = fuzz("files")
    start = f"import os, fuzz.loading as loading; loading.case = lambda *args: {load}; "
    start += "loading.main('', '', ['model'], 2, 9)"
    monkeypatch.setattr(files, "this_python", lambda code: this_python(start))
    options = files.parsed(["--formats", "model"])
    options.limit = 2
    with files.supervised("seed", tmp_path, options) as worker:
        assert files.asked(worker, 0, options) == ("model", found, True)


def test_the_command_line_names_its_parts():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "fuzz")], capture_output=True, check=False
    )
    assert done.returncode == 2 and b"files" in done.stderr


@pytest.mark.filterwarnings("ignore:ignored")
def test_a_table_that_is_read_in_two_ways_is_found(fuzz, tmp_path):
    """Tables are read with their columns in another order, and converted: alike, or a finding."""
    columns = fuzz("columns")
    columns.write_tables(tmp_path)
    read = {name: columns.load_tables(tmp_path / name) for name in ("plain", "masks", "tabs")}
    columns.compare(read["plain"], read["plain"], "again")
    with pytest.raises(RuntimeError, match="again it has other weights"):
        columns.compare(read["plain"], read["tabs"], "again")
    one = read["masks"]
    for name, value in (("labels", 1 - one.labels), ("train", one.train[:1]), ("val", one.test)):
        with pytest.raises(RuntimeError, match=f"again it has other {name}"):
            columns.compare(one, one._changed(**{name: value}), "again")
