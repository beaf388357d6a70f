"""The fuzzer of files: what it found stays mended, it finds what is wrong, and it runs."""

import importlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from refimpl._support.reprs import one_line
from refimpl.lab.apps.worker import this_python

pytestmark = pytest.mark.runs

ROOT = Path(__file__).resolve().parents[2]
FOUND = sorted((ROOT / "tests/fuzz/found/files").glob("*.zip"))
files = importlib.import_module("fuzz.files")
driver = importlib.import_module("fuzz.driver")


def test_a_few_cases_of_each_format(capsys):
    count = len(files.names())
    assert driver.main(files, ["--cases", str(10 * count), "--seed", "1", "--no-save"]) == 0
    assert f"formats reached {count} of {count} " in " ".join(capsys.readouterr().out.split())


def test_what_was_found_is_no_finding_any_more():
    with driver.supervised(files, 20) as worker:
        found = {path.name: driver.asked(worker, {"path": str(path)}) for path in FOUND}
    assert found and not {name: text for name, (verdict, text) in found.items() if text}


def test_a_finding_says_how_to_see_it_again(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(files, "FOUND", tmp_path)
    monkeypatch.setattr(driver, "asked", lambda worker, case: ("finding", "bad"))
    asked = ["--first", "30", "--cases", "1", "--seed", "7", "--only", "features", "model"]
    assert driver.main(files, asked) == 1
    out = capsys.readouterr().out
    again = "python tests/fuzz files --seed 7 --only features model --first 30 --cases 10"
    assert f": bad\n    {again}\n" in out
    (saved,) = tmp_path.iterdir()
    form, variant, content = files.unpacked(saved)
    assert form in ("features", "model") and content.keys() == files.valid(form)[variant].keys()


@pytest.mark.parametrize("form", files.names())
def test_damage_changes_files_and_is_the_same_for_the_same_draw(form):
    """Most damage is to what a file means; what cannot be put together is damaged as bytes."""
    damage = importlib.import_module("fuzz.damage")
    (variant, held), *_ = files.valid(form).items()
    other = [damage.damaged(held, [draw]) for draw in range(60)]
    assert [damage.damaged(held, [draw]) for draw in range(60)] == other
    assert sum(one == held for one in other) < 20 and len({repr(one) for one in other}) > 30
    for name, data in held.items():
        for way in damage.WAYS.get(name.rpartition(".")[2], damage.PICKLE):
            assert any(is_understood(way, data, draw) for draw in range(40)), name


def is_understood(way, data, draw):
    try:
        way(data, random.Random(draw))
    except Exception:
        return False
    return True


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
def test_what_counts_as_a_finding(monkeypatch, error, found):
    monkeypatch.setitem(files.LOADERS, "model", (wrong(error), None))
    assert files.verdict("model", "x", {"model.npz": b""}, None).startswith(found)
    used = (lambda folder: folder, lambda gnn, folder: wrong(error)(folder))
    monkeypatch.setitem(files.LOADERS, "model", used)
    assert files.verdict("model", "x", {"model.npz": b""}, None).startswith("in use: ")


def test_cases_lie_in_folders_of_strange_names_which_are_named_whole(monkeypatch):
    seen, kinds = [], []

    def load(folder):
        seen.append(folder.parent.name)
        raise kinds[-1](folder)

    def verdict(size):
        return files.verdict("model", "x", {"a.npz": bytes(size)}, None)

    monkeypatch.setitem(files.LOADERS, "model", (load, None))
    for kind in (
        lambda folder: ValueError(f"{folder} is bad"),
        lambda folder: ValueError(one_line(folder)),
        lambda folder: FileNotFoundError(2, "missing", str(folder)),
    ):
        kinds.append(kind)
        assert {verdict(size) for size in range(len(files.STRANGE))} == {"refused"}
    assert set(seen) == set(files.STRANGE)
    kinds.append(lambda folder: ValueError(folder.parent.name[:-1]))
    assert verdict(1).startswith("no file is named: ")


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("os.abort()", "the program ended by SIGABRT"),
        ("exec('while True: pass')", "the program ended by SIGPROF"),
    ],
)
def test_a_process_that_ends_is_a_finding(monkeypatch, load, found):
    start = f"import os, fuzz.driver, fuzz.files as files; files.case = lambda *args: {load}; "
    start += "fuzz.driver.answer('fuzz.files', 2)"
    monkeypatch.setattr(driver, "this_python", lambda code: this_python(start))
    with driver.supervised(files, 2) as worker:
        verdict, text = driver.asked(worker, {"form": "model", "variant": 0, "draws": [1]})
    assert verdict == "finding" and text.startswith(found)


def test_the_command_line_names_its_parts():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "fuzz")], capture_output=True, check=False
    )
    assert done.returncode == 2 and b"files" in done.stderr


@pytest.mark.filterwarnings("ignore:ignored")
def test_a_table_that_is_read_in_two_ways_is_found(tmp_path):
    """Tables are read with their columns in another order, and converted: alike, or a finding."""
    columns = importlib.import_module("fuzz.formats")
    columns.make(tmp_path, ["tables"])
    read = {path.name: columns.load_tables(path) for path in (tmp_path / "tables").iterdir()}
    columns.compare(read["plain"], read["plain"], "again")
    with pytest.raises(RuntimeError, match="again it has other weights"):
        columns.compare(read["plain"], read["tabs"], "again")
    one = read["masks"]
    for name, value in (("labels", 1 - one.labels), ("train", one.train[:1]), ("val", one.test)):
        with pytest.raises(RuntimeError, match=f"again it has other {name}"):
            columns.compare(one, one._changed(**{name: value}), "again")
