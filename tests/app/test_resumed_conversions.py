"""A conversion that was interrupted is resumed: to the same bits, and never from other work."""

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from bench.kronecker import write_kronecker
from refimpl.lab.data import journal
from refimpl.lab.data.building import Target
from refimpl.lab.data.communities import communities
from refimpl.lab.data.convert import convert
from refimpl.lab.data.journal import Journal, identity_of
from refimpl.lab.data.writing import new_folder

if os.name != "posix":
    pytest.skip("a folder is locked with flock", allow_module_level=True)

pytestmark = pytest.mark.runs
CASES = {
    "ogb": {"pack": True},
    "ogb inductive": {"setting": "inductive", "feature_dtype": "float16"},
    "typed/typed": {"pack": True},
    "graphsaint/csr": {},
    "saved": {"pack": True, "feature_dtype": "float16"},
}


@pytest.fixture(autouse=True)
def self_loops_are_ignored():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ignored .* self-loop")
        yield


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    write_kronecker(folder / "ogb", scale=8, features=20, classes=5)
    communities(0, nodes=300).save(folder / "saved")
    importlib.import_module("fuzz.formats").make(folder, ("graphsaint", "typed"))
    return folder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("refimpl.lab.data.ogb.NUMBERS", 1500)
    monkeypatch.setattr("refimpl.lab.data.streaming.AT_ONCE", 1500)
    monkeypatch.setattr(journal, "EVERY", 1)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def interrupted(monkeypatch, lines, source, target, **options):
    """Interrupt a conversion before a line of its journal; return whether there was the line.

    The renaming at the end counts as a line.
    """
    left, noted, write_any = iter(range(lines)), Journal._note, Target.write_any

    def stopped(self, *given):
        if next(left, None) is None:
            raise KeyboardInterrupt
        noted(self, *given)

    def ended(self, *given):
        write_any(self, *given)
        if next(left, None) is None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_note", stopped)
        patch.setattr(Target, "write_any", ended)
        try:
            convert(source, target, memory=5000, **options)
        except KeyboardInterrupt:
            return True
    return False


def leftover(target):
    (found,) = target.parent.glob(f"{target.name}.*.tmp")
    return found


@pytest.mark.parametrize("case", CASES)
def test_from_every_line(sources, tmp_path, monkeypatch, case):
    """Also when what was written behind the line is on storage in part, or garbage."""
    source, options = sources / case.split()[0], CASES[case]
    monkeypatch.setattr(os, "fsync", lambda file: None)  # nothing here ends the system
    convert(source, tmp_path / "whole", memory=5000, **options)
    whole, target, lines, within = contents(tmp_path / "whole"), tmp_path / "graph", 1, set()
    while interrupted(monkeypatch, lines, source, target, **options):
        for path in leftover(target).iterdir():
            with path.open("ab") as file:
                file.write(b"0123 half a line")
        said = []
        convert(source, target, memory=5000, say=said.append, **options)
        assert contents(target) == whole
        assert [path.name for path in tmp_path.iterdir() if path.name != "whole"] == ["graph"]
        assert len(said) == 1 and said[0].startswith("resumes a conversion that was interrupted: ")
        within |= {part.split(" from")[0] for part in said[0].split(": ")[1].split(", ")}
        shutil.rmtree(target)
        lines += 1
    convert(source, tmp_path / "again", memory=5000, say=pytest.fail, **options)
    if case == "ogb":
        assert within == {
            *(f"{part} done" for part in ("labels", "features", "scaling", "reading edges")),
            *("sorting edges done", "order of rows done", "packing features done"),
            *("features", "reading edges", "sorting edges"),
        }


def changed_input(source, target):
    path = source / "split" / "random" / "train.csv.gz"
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))
    return {}


def shorter(source, target):
    os.truncate(leftover(target) / "features.npy", 200)
    return {}


def other_bits(source, target):
    with (leftover(target) / "features.npy").open("r+b") as file:
        file.seek(150)
        file.write(b"\1\2\3")
    return {}


def linked(source, target):
    (leftover(target) / "link").symlink_to(source)
    return {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda *paths: {"memory": 6000}, "its argument memory was another"),
        (lambda *paths: {"rng": 1}, "its argument rng was another"),
        (lambda *paths: {"scaling": (0.0,)}, "its argument scaling was another"),
        (changed_input, "train.csv.gz was another"),
        (shorter, "its file features.npy is not whole"),
        (other_bits, "its file features.npy has changed"),
        (linked, "holds link, which is no file"),
    ],
)
def test_what_cannot_be_trusted_begins_anew(sources, tmp_path, monkeypatch, change, said):
    source, target, lines = tmp_path / "ogb", tmp_path / "graph", []
    shutil.copytree(sources / "ogb", source)
    convert(source, tmp_path / "whole", memory=5000)
    interrupted(monkeypatch, 3, source, target)
    before = contents(source / "raw")
    options = {"memory": 5000, **change(source, target)}
    if "scaling" in options:
        with pytest.raises(TypeError, match="scaling"):
            convert(source, target, say=lines.append, **options)
        assert not list(tmp_path.glob("graph*"))
    else:
        convert(source, target, say=lines.append, **options)
        assert contents(target) == contents(tmp_path / "whole") or "rng" in options
    assert said in lines[-1] and lines[-1].startswith("begins anew")
    assert contents(source / "raw") == before


def test_the_folder_of_another_user_begins_anew(sources, tmp_path, monkeypatch):
    lines = []
    interrupted(monkeypatch, 3, sources / "ogb", tmp_path / "graph")
    (place,) = tmp_path.glob("graph.*.tmp")
    (place / journal.NAME).write_bytes(2 * journal._line(5))  # nothing of it is read
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    convert(sources / "ogb", tmp_path / "graph", memory=5000, say=lines.append)
    assert len(lines) == 1 and lines[0].endswith("another user wrote its folder")


def test_an_argument_that_the_journal_lacks_is_named(tmp_path):
    known = {"version": "1", "arguments": {"a": 1}, "inputs": {}}
    (tmp_path / journal.NAME).write_bytes(2 * journal._line(known))
    asked = known | {"arguments": {"a": 1, "b": None}}
    assert journal.refused(tmp_path, asked) == "its argument b was another"


def test_another_version_begins_anew(sources, tmp_path, monkeypatch):
    lines = []
    interrupted(monkeypatch, 3, sources / "ogb", tmp_path / "graph")
    monkeypatch.setattr(journal, "__version__", "0.0.0")
    convert(sources / "ogb", tmp_path / "graph", memory=5000, say=lines.append)
    assert len(lines) == 1 and lines[0].endswith("its program was another version")


def test_work_is_kept_where_the_folder_may_not_be_replaced(sources, tmp_path, monkeypatch):
    target, lines = tmp_path / "graph", []
    convert("karate", target)
    interrupted(monkeypatch, 3, sources / "ogb", target, overwrite=True)
    with pytest.raises(FileExistsError, match="overwrite"):
        convert(sources / "ogb", target, memory=5000)
    convert(sources / "ogb", target, memory=5000, overwrite=True, say=lines.append)
    assert lines[0].startswith("resumes")
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_failing_last_renaming_puts_back_what_was_there(tmp_path, monkeypatch, error):
    convert("karate", tmp_path / "club")
    before, rename = contents(tmp_path / "club"), Path.rename

    def failing(self, to):
        if to.name == "club" and not self.name.endswith(".old.tmp"):
            raise error
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(type(error)), new_folder(tmp_path / "club", True):
        pass
    assert contents(tmp_path / "club") == before
    assert [path.name for path in tmp_path.iterdir()] == ["club"]


def test_inputs_are_the_files_below_a_folder_but_not_what_is_written(tmp_path):
    for name in ("raw/a.npy", "graph/old.npy", "graph.0123456789abcdef.tmp/b", "graphs/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "raw" / "round").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "raw" / "pipe")
    found = identity_of({}, [tmp_path], tmp_path / "graph")["inputs"]
    assert [str(Path(name).relative_to(tmp_path)) for name in sorted(found)] == [
        "graphs/c",
        "raw/a.npy",
    ]


def test_ctrl_c_and_the_same_command(sources, tmp_path):
    code = (
        "import sys, time; from refimpl.lab.data import building, journal; journal.EVERY = 1\n"
        "from refimpl.lab.apps.cli import main\n"
        "if sys.argv[1] == 'slow':\n"
        "    building.Target._read = lambda *given: print('now', flush=True) or time.sleep(60)\n"
        "sys.exit(main(['convert', *sys.argv[2:]]))"
    )
    argv = [sys.executable, "-c", code, "slow", str(sources / "ogb"), str(tmp_path / "graph")]
    begun = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert begun.stdout.readline() == "now\n"
    time.sleep(0.2)
    begun.send_signal(signal.SIGINT)
    _, errors = begun.communicate(timeout=60)
    assert "interrupted; the same command resumes the conversion" in errors
    assert begun.returncode == 130 and leftover(tmp_path / "graph")
    argv[3] = "fast"
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    where = "labels done, features done, scaling done"
    assert done.stdout.startswith(f"resumes a conversion that was interrupted: {where}")
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
