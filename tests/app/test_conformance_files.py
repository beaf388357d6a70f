"""Writing the files of the vectors, and checking them: nothing of the user's is lost."""

import errno
import functools
import json
import os

import numpy as np
import pytest
from conformance_programs import kernel_of

import refimpl
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors, version
from refimpl.lab.apps.conformance.case import Case, Close, Kernel

CASE = Case("one", {"x": 1})
ZERO = Case("zero", {"x": 0}, ("WORKED",), 0, "Shifts and products of 0 are 0.")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the vectors of two kernels, one exact and one of floats, and only those."""
    two = {
        "mix": kernel_of(ZERO, CASE),
        "uniform": Kernel(
            "uniform",
            "common",
            "here",
            (Case("some", {"k": 3, "c": np.arange(3, dtype=np.uint64)}),),
            compare=Close(1e-12, 0, "a test"),
        ),
    }
    monkeypatch.setattr(vectors, "kernels", lambda: two)
    vectors.write(tmp_path)
    assert vectors.check(tmp_path) == {
        "same": ["common/mix.json", "common/uniform.json"],
        "rounding": [],
        "stale": [],
    }
    return tmp_path


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_file_that_is_missing_or_one_too_many(folder):
    (folder / "common" / "mix.json").unlink()
    (folder / "jpdc21").mkdir()
    old = folder / "jpdc21" / "old.json"
    old.write_text('{"format": "minibatch-gnn-vectors/0", "cases": [{"npz":"old.npz"}]}')
    old.with_suffix(".npz").write_bytes(b"")
    assert vectors.check(folder)["stale"] == [
        "common/mix.json: missing",
        "jpdc21/old.json: there is no such kernel",
        "jpdc21/old.npz: there is no such kernel",
    ]
    vectors.write(folder)
    assert vectors.check(folder)["stale"] == []
    assert list((folder / "jpdc21").iterdir()) == []


FOREIGN = {
    "notes.json": '{"format": "mine", "npz":"results.npz"}',
    "list.json": "[1]",
    "broken.json": '{"format": "minibatch-gnn-vectors/1"',
    "format.json": '{"format": ["minibatch-gnn-vectors/1"]}',
    "nested.json": "[" * 10_000,
    "results.npz": "numbers",
    "mix.npz": "numbers",
    "read.me": "text",
}


def test_files_that_are_no_vectors_are_left_alone(folder):
    """Above all in a folder of the user's, given by mistake."""
    for name, text in FOREIGN.items():
        (folder / "common" / name).write_text(text)
    (folder / "common" / "folder.json").mkdir()
    assert vectors.check(folder)["stale"] == []
    vectors.write(folder)
    for name, text in FOREIGN.items():
        assert (folder / "common" / name).read_text() == text


def test_a_file_that_is_no_vectors_is_not_written_over(folder, capsys):
    (folder / "common" / "mix.json").write_text('{"mine": 1}')
    uniform = folder / "common" / "uniform.json"
    uniform.unlink()
    assert main(["vectors", "--out", str(folder)]) == 2
    assert "mix.json is no file of vectors: it would be lost" in capsys.readouterr().err
    assert (folder / "common" / "mix.json").read_text() == '{"mine": 1}'
    assert not uniform.exists()


def test_nothing_is_removed_before_all_is_written(folder, monkeypatch, capsys):
    monkeypatch.setattr(vectors, "kernels", lambda: {"key": Kernel("key", "common", "here", ())})

    def full(handle):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    names = vectors.stored(folder)
    assert main(["vectors", "--out", str(folder)]) == 2
    assert "no space left" in capsys.readouterr().err
    assert vectors.stored(folder) == names


def test_a_folder_must_be_named(tmp_path, monkeypatch, capsys):
    """The empty name would be the folder that one is in."""
    monkeypatch.chdir(tmp_path)
    assert main(["vectors", "--out", ""]) == 2
    assert "--out: must name a file or folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_space_too_many(folder):
    edit(folder / "common" / "mix.json", '"cases": [', '"cases":  [')
    assert vectors.check(folder)["stale"] == ["common/mix.json: written in another way"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"cases": [{}]}', '{"cases": 3}'])
def test_what_is_no_file_of_vectors(folder, content):
    (folder / "common" / "mix.json").write_text(content)
    assert vectors.check(folder)["stale"] == ["common/mix.json: is no file of vectors"]


def test_floats_may_be_rounded_otherwise_only_where_the_kernel_says_so(folder):
    path = folder / "common" / "uniform.json"
    value = repr(refimpl.streams.uniform(3, 0))
    edit(path, value, repr(float(value) * (1 + 2**-50)))
    verdicts = vectors.check(folder)
    assert (verdicts["rounding"], verdicts["stale"]) == (["common/uniform.json"], [])
    edit(path, repr(float(value) * (1 + 2**-50)), repr(float(value) * (1 + 2**-30)))
    (stale,) = vectors.check(folder)["stale"]
    assert stale.startswith("common/uniform.json: some[")
    vectors.write(folder)
    edit(path, '"k":3', '"k":4')
    (stale,) = vectors.check(folder)["stale"]
    assert "want 4, got 3" in stale
    vectors.write(folder)
    edit(path, '"a test"', '"another"')
    assert vectors.check(folder)["stale"] == [
        "common/uniform.json: its head or its list of cases changed"
    ]
    edit(folder / "common" / "mix.json", '"result":"', '"result":"1')
    stale = vectors.check(folder)["stale"]
    assert stale[0].startswith("common/mix.json: one[") and "in the file" not in stale[0]


def test_files_that_differ_by_rounding_are_left_alone(folder, capsys):
    path, value = folder / "common" / "uniform.json", refimpl.streams.uniform(3, 0)
    edit(path, repr(value), repr(float(value) * (1 + 2**-50)))
    rounded = path.read_bytes()
    edit(folder / "common" / "mix.json", '"result":"', '"result":"1')
    assert main(["vectors", "--out", str(folder)]) == 0
    assert path.read_bytes() == rounded
    said = f"1 files written in {folder}, 1 left alone: up to date\n"
    assert capsys.readouterr().out == said
    assert vectors.check(folder)["same"] == ["common/mix.json"]
    edit(path, repr(float(value) * (1 + 2**-50)), repr(float(value) * (1 + 2**-30)))
    assert vectors.write(folder) == (["common/uniform.json"], ["common/mix.json"])


@pytest.fixture
def long(tmp_path, monkeypatch):
    """A folder with the vectors of a kernel whose result is in an archive beside them."""
    counters = np.arange(1001, dtype=np.uint64)
    cases = (Case("long", {"k": 3, "c": counters}),)
    one = Kernel("uniform", "common", "here", cases, compare=Close(1e-12, 0, "a test"))
    monkeypatch.setattr(vectors, "kernels", lambda: {"uniform": one})
    vectors.write(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("factor", "verdict"), [(1 + 2**-50, "rounding"), (1 + 2**-30, "stale")])
def test_arrays_beside_a_file_are_compared_by_the_same_rule(long, monkeypatch, factor, verdict):
    names = ["common/uniform.json", "common/uniform.npz"]
    before = [(long / name).read_bytes() for name in names]
    whole = refimpl.streams.uniform
    changed = functools.wraps(whole)(lambda k, c: whole(k, c) * factor)
    monkeypatch.setattr(refimpl.streams, "uniform", changed)
    found = vectors.check(long)
    assert [line.partition(":")[0] for line in found[verdict]] == names
    assert vectors.write(long) == (([], names) if verdict == "rounding" else (names, []))
    kept = [(long / name).read_bytes() for name in names] == before
    assert kept == (verdict == "rounding")


def test_a_part_that_is_new_is_no_rounding(folder):
    """Whichever of both has it."""
    path = folder / "common" / "uniform.json"
    edit(path, '"fields":{' if '"fields":{' in path.read_text() else '"args":{', '"args":{"z":1,')
    assert len(vectors.check(folder)["stale"]) == 1
    assert vectors.write(folder)[0] == ["common/uniform.json"]
    assert vectors.check(folder)["stale"] == []


def test_command(folder, capsys):
    assert main(["vectors", "--out", str(folder / "new")]) == 0
    assert main(["vectors", "--out", str(folder / "new"), "--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"2 files written in {folder / 'new'}, 0 left alone: up to date",
        "2 files are the same byte for byte, 0 but for rounding, 0 are not up to date",
    ]
    assert main(["vectors", "--out", str(folder / "none"), "--check"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "common/mix.json: missing"


def test_vectors_do_not_change_without_their_version(folder, monkeypatch, capsys):
    def asked(*options):
        status = main(["vectors", "--out", str(folder), *options])
        return status, capsys.readouterr().out.splitlines()[:-1]

    assert asked("--check") == (
        1,
        [
            "requirements.json: missing",
            f"index.json: want version {version.VERSION}, got no such file",
        ],
    )
    assert asked()[0] == asked("--check")[0] == 0
    before = (folder / "index.json").read_bytes()
    other = {"mix": kernel_of(ZERO, CASE, Case("two", {"x": 2}))}
    monkeypatch.setattr(vectors, "kernels", lambda: other)
    said = f"the vectors changed since version {version.VERSION}: raise VERSION in version.py"
    status = main(["vectors", "--out", str(folder)])
    assert (status, capsys.readouterr().out.splitlines()[-1]) == (1, f"index.json: {said}")
    assert asked("--check") == (1, [f"index.json: {said}"])
    assert (folder / "index.json").read_bytes() == before
    monkeypatch.setattr(version, "VERSION", "99.0.0")
    assert asked("--check")[0] == 1
    assert asked()[0] == asked("--check")[0] == 0
    assert json.loads((folder / "index.json").read_text())["version"] == "99.0.0"


@pytest.mark.parametrize("content", ["", "[]", '{"format": "mine"}', "[" * 10_000])
def test_another_index_is_not_written_over(folder, content, capsys):
    (folder / "index.json").write_text(content)
    (folder / "common" / "mix.json").unlink()
    for options in ([], ["--check"]):
        assert main(["vectors", "--out", str(folder), *options]) == 2
        assert "index.json cannot be read as an index of vectors" in capsys.readouterr().err
    assert (folder / "index.json").read_text() == content
    assert not (folder / "common" / "mix.json").exists()


def test_command_refuses_to_write_what_is_wrong(folder, monkeypatch, capsys):
    monkeypatch.setattr(vectors, "kernels", lambda: {"mix": kernel_of(ZERO._replace(result=1))})
    before = (folder / "common" / "mix.json").read_bytes()
    assert main(["vectors", "--out", str(folder)]) == 2
    assert "by hand" in capsys.readouterr().err
    assert (folder / "common" / "mix.json").read_bytes() == before


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path):
    """Renaming a file to /dev/null would put it in the place of the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        before = path.stat()
        with pytest.raises(OSError, match="is no ordinary file"), replacing(path) as file:
            file.write(b"text")
        assert path.stat().st_ino == before.st_ino
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    with replacing(tmp_path / "new") as file:
        file.write(b"text")
    assert (tmp_path / "new").read_text() == "text"
