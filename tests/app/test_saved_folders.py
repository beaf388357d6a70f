"""Folders of `Dataset.save`: opened without a pass over them, and looked at where asked."""

import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from refimpl import Dataset, TypedGraph, load_dataset
from refimpl.lab.apps.preparing import facts_of
from refimpl.lab.data import verifying
from refimpl.lab.data.arrays import ArrayFile
from refimpl.lab.data.writing import new_folder

NAMES = ("karate", "communities", "communities-multilabel", "typed")


def same(one, other):
    """Assert that two data sets are the same to the bit."""
    for name in ("name", "setting", "dtype", "classes", "class_names", "multilabel"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("features", "labels", "train", "val", "test"):
        mine, yours = getattr(one, name), getattr(other, name)
        assert mine.dtype == yours.dtype, name
        np.testing.assert_array_equal(mine, yours, strict=True, err_msg=name)
    for mine, yours in ((one.graph, other.graph), (one.train_graph, other.train_graph)):
        assert type(mine) is type(yours)
        for name in ("indptr", "indices", "edge_types", "node_types", "relations", "kinds"):
            if hasattr(mine, name):
                np.testing.assert_array_equal(getattr(mine, name), getattr(yours, name), name)
        assert (mine.symmetric, mine.self_loops) == (yours.symmetric, yours.self_loops)
        assert mine.max_degree == yours.max_degree
    np.testing.assert_array_equal(one.inputs(), other.inputs(), strict=True)
    np.testing.assert_array_equal(one.targets(), other.targets(), strict=True)
    np.testing.assert_array_equal(one.roots, other.roots, strict=True)
    for name in ("known", "node_names"):
        mine, yours = getattr(one, name), getattr(other, name)
        assert (None if mine is None else mine.tolist()) == (
            None if yours is None else yours.tolist()
        )


def odd():
    """Return a data set with everything that others lack."""
    graph = load_dataset("karate").graph
    n = graph.n
    known = np.arange(n) % 5 != 4
    return Dataset(
        name="odd",
        graph=graph,
        features=np.arange(2 * n, dtype=np.float16).reshape(n, 2),
        labels=np.arange(3 * n).reshape(n, 3) % 2,
        train=np.array([6, 2, 0]),
        val=[],
        test=[8],
        scaling="rows",
        dtype="float64",
        known=known,
        class_names=("a", "ü", "c"),
        node_names=[f"node {v}" for v in range(n)],
    )


@pytest.fixture
def folder(tmp_path):
    load_dataset("karate").save(tmp_path / "club")
    return tmp_path / "club"


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("name", [*NAMES, "odd"])
def test_a_folder_is_the_data_set(tmp_path, name, verify):
    data = odd() if name == "odd" else load_dataset(name)
    data.save(tmp_path / name)
    found = load_dataset(tmp_path / name, verify=verify)
    same(found, data)
    assert isinstance(found.features, np.memmap) and not found.features.flags.writeable
    found.save(tmp_path / "again")
    for path in (tmp_path / name).iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()
    other = "inductive" if data.setting == "transductive" else "transductive"
    same(found.with_setting(other), data.with_setting(other))
    if name == "communities":
        same(load_dataset(tmp_path / name, split=5), load_dataset(name, split=5))


def test_opening_reads_nothing_that_is_as_long_as_the_graph(folder, monkeypatch):
    """What a page of memory could not be read of is still opened."""
    for name in ("indices", "labels", "features", "induced_indices"):
        path = folder / f"{name}.npy"
        data = bytearray(path.read_bytes())
        data[128:] = b"\xff" * (len(data) - 128)  # ids, labels and numbers that cannot be
        path.write_bytes(data)
    labels = np.lib.format.open_memmap(folder / "labels.npy", "r+")
    labels[:] = 1
    found = load_dataset(folder)
    assert found.train_graph.n == 18 and found.roots.size == 18
    assert found.train_graph.max_degree == 9 and not found.graph.self_loops
    assert facts_of(found)["nodes"] == 34
    with pytest.raises(ValueError, match=r"features\.npy.*checksum"):
        load_dataset(folder, verify=True)


def test_saved_numpy_files_are_plain(folder):
    assert np.load(folder / "indices.npy").dtype == np.int32
    for path in folder.glob("*.npy"):
        assert np.load(path, mmap_mode="r").offset == 128


def test_dtype_and_scaling_can_be_others(folder):
    data = load_dataset(folder, dtype="float64", scaling="none")
    assert data.dtype == np.float64 and data.scaling is None
    same(load_dataset(folder, scaling="standard"), load_dataset("karate"))
    same(load_dataset(folder, scaling="rows"), load_dataset("karate", scaling="rows"))


def test_the_digest_comes_from_the_checksums(folder, tmp_path):
    facts = facts_of(load_dataset(folder))
    assert facts_of(load_dataset(folder)) == facts
    data = load_dataset("karate")
    features = data.features.copy()
    features[3, 4] = 7
    values = {"induced": None, "features": features, "checksums": None}
    data._changed(**values).save(tmp_path / "other")
    assert facts_of(load_dataset(tmp_path / "other"))["digest"] != facts["digest"]
    few = facts_of(load_dataset(folder, split=3))
    assert few["digest"] != facts["digest"]


def test_what_is_there_is_not_replaced_unasked(folder, tmp_path):
    data = load_dataset("karate", scaling="rows")
    with pytest.raises(FileExistsError, match="overwrite"):
        data.save(folder)
    data.save(folder, overwrite=True)
    assert load_dataset(folder).scaling == "rows"
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        data.save(folder, overwrite=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    with pytest.raises(FileExistsError, match="no data set"):
        data.save(tmp_path / "full", overwrite=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="no data set"):
        data.save(tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    data.save(tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["club", "empty", "file", "full"]


@pytest.mark.parametrize("there", [False, True])
def test_a_failing_write_leaves_what_was_there(tmp_path, monkeypatch, there):
    data = load_dataset("karate")
    if there:
        data.save(tmp_path / "club")
    before = [path.read_bytes() for path in sorted(tmp_path.rglob("*.npy"))]
    append = ArrayFile.append

    def full(self, rows):
        if self.path.name == "val.npy":
            raise OSError(28, "No space left on device")
        append(self, rows)

    monkeypatch.setattr(ArrayFile, "append", full)
    with pytest.raises(OSError, match="club") as caught:
        data.save(tmp_path / "club", overwrite=True)
    assert caught.value.errno == 28
    assert [path.read_bytes() for path in sorted(tmp_path.rglob("*.npy"))] == before
    assert [path.name for path in tmp_path.iterdir()] == ["club"] * there


# ---- folders of strangers ------------------------------------------------------------------------


def change(folder, name, at, value):
    """Put a value into an array, and the checksum that it has then."""
    array = np.lib.format.open_memmap(folder / f"{name}.npy", "r+")
    array[at] = value
    array.flush()
    say(folder, "arrays", name, blake2b=verifying.checksum(array))


def say(folder, *path, **values):
    """Put something else into meta.json."""
    meta = json.loads((folder / "meta.json").read_text())
    part = meta
    for name in path:
        part = part[name]
    part.update(values)
    (folder / "meta.json").write_text(json.dumps(meta))


STRANGE = {  # an array, where, what, and what is said; only seen with verify
    "an id past the end": ("indices", 0, 34, r"indices\.npy.*\[0, 33\]"),
    "an id below 0": ("indices", 5, -1, r"indices\.npy.*\[0, 33\]"),
    "a row that falls": ("indices", 2, 1, r"indices\.npy.*ascend"),
    "one direction": ("indices", 15, 30, r"indices\.npy.*undirected"),
    "a falling indptr": ("indptr", 3, 0, r"indptr\.npy.*rise"),
    "a far indptr": ("indptr", 3, 2**62, r"indptr\.npy.*\[0, 156\]"),
    "an induced id": ("induced_indices", 3, 18, r"induced_indices\.npy"),
    "a feature": ("features", (3, 3), np.nan, r"features\.npy.*finite"),
    "a class too many": ("labels", 3, 2, r"labels\.npy.*\[-1, 1\]"),
}


@pytest.mark.parametrize("case", STRANGE)
def test_verify_finds_what_kernels_would_trust(folder, case):
    name, at, value, said = STRANGE[case]
    change(folder, name, at, value)
    load_dataset(folder)
    with pytest.raises(ValueError, match=said):
        load_dataset(folder, verify=True)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("edge_types", 5, r"edge_types\.npy"), ("node_types", 7, "kinds"), ("node_types", -1, "node")],
)
def test_verify_looks_at_types(tmp_path, name, value, said):
    load_dataset("typed").save(tmp_path / "typed")
    assert isinstance(load_dataset(tmp_path / "typed", verify=True).graph, TypedGraph)
    change(tmp_path / "typed", name, 17, value)
    with pytest.raises(ValueError, match=said):
        load_dataset(tmp_path / "typed", verify=True)


@pytest.mark.parametrize("part", ["graph", "induced"])
@pytest.mark.parametrize(("fact", "value"), [("max_degree", 1), ("self_loops", True)])
def test_verify_finds_a_wrong_fact(folder, part, fact, value):
    say(folder, part, **{fact: value})
    with pytest.raises(ValueError, match=fact):
        load_dataset(folder, verify=True)


@pytest.mark.parametrize("entries", [2**20, 20])
def test_undirected_is_told_from_directed(monkeypatch, entries):
    """Against the transpose, for graphs that differ from an undirected one in an entry."""
    monkeypatch.setattr(verifying, "ENTRIES", entries)
    data = load_dataset("karate")
    dense = data.graph.to_scipy().toarray() > 0
    rng = np.random.default_rng(0)
    for _ in range(30):
        turned = dense.copy()
        u, v = rng.integers(0, 34, 2)
        turned[u, v] ^= True
        indptr = np.concatenate([[0], np.cumsum(turned.sum(axis=1))])
        indices = np.nonzero(turned)[1].astype(np.int32)
        sums = verifying.sums_of(indptr, indices)
        assert (sums[0] == sums[1]) == (turned == turned.T).all() == (u == v)


LIES = {  # in meta.json; refused at opening
    "another format": ((), {"format": "x"}, "format"),
    "a later version": ((), {"version": 2}, "version"),
    "a path": (("arrays", "val"), {"file": "../val.npy"}, r"val\.npy"),
    "another shape": (("arrays", "val"), {"shape": [7]}, r"val\.npy"),
    "another dtype": (("arrays", "val"), {"dtype": "<u8"}, r"val\.npy"),
    "an unknown array": (("arrays",), {"more": {}}, "more"),
    "an unknown fact": (("graph",), {"more": 1}, "graph"),
    "nodes": (("graph",), {"nodes": 35}, "indptr"),
    "entries": (("induced",), {"entries": 2**40}, "induced"),
    "a kind": ((), {"classes": True}, "classes"),
    "a bool": (("graph",), {"self_loops": 0}, "self_loops"),
    "too many classes": ((), {"classes": 2**31}, "classes"),
    "no induced": ((), {"induced": None}, "induced"),
    "a degree": (("graph",), {"max_degree": 35}, "max_degree"),
    "directed": (("graph",), {"symmetric": False}, "symmetric"),
    "a setting": ((), {"setting": "both"}, "setting"),
    "a scaling": ((), {"scaling": "rows"}, "scaling"),
    "several classes": ((), {"multilabel": True}, "labels"),
    "names of classes": ((), {"class_names": ["a"]}, "class_names"),
}


@pytest.mark.parametrize("case", LIES)
def test_meta_that_does_not_fit_is_refused(folder, case):
    path, values, said = LIES[case]
    say(folder, *path, **values)
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        load_dataset(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nul", "[" * 100_000, "\xff"])
def test_damaged_meta_is_refused(folder, text):
    (folder / "meta.json").write_bytes(text.encode("latin1"))
    with pytest.raises(ValueError, match=r"meta\.json"):
        load_dataset(folder)


def test_a_damaged_or_missing_file_is_named(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "cut")
    path = tmp_path / "cut" / "indices.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"indices\.npy"):
        load_dataset(tmp_path / "cut")
    (folder / "std.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"std\.npy"):
        load_dataset(folder)


def test_a_split_that_does_not_fit_is_refused_unasked(folder):
    for value, said in ((0, "twice"), (34, "34"), (3, "disjoint")):
        change(folder, "train", 1, value)
        with pytest.raises(ValueError, match=said):
            load_dataset(folder)


KILLED = """import os, signal, sys
from pathlib import Path
from refimpl import load_dataset
from refimpl.lab.data import writing
rename, left = Path.rename, int(sys.argv[2])
def killed(self, to):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return rename(self, to)
def gone(folder, **form):
    os.kill(os.getpid(), signal.SIGKILL)
Path.rename = killed
if left > 1:
    writing.shutil.rmtree = gone
load_dataset("karate", scaling="rows").save(sys.argv[1], overwrite=True)"""


@pytest.mark.runs
@pytest.mark.parametrize("renames", [0, 1, 2])
def test_what_a_killed_process_leaves_is_removed_or_put_back(tmp_path, renames):
    """Killed before the first renaming, between both, and after them; a live writer is left."""
    old, new = load_dataset("karate"), load_dataset("karate", scaling="rows")
    old.save(tmp_path / "club")
    argv = [sys.executable, "-c", KILLED, str(tmp_path / "club"), str(renames)]
    assert subprocess.run(argv, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "club").exists() == (renames != 1)
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "club.tmp").mkdir()  # a user's
    with pytest.raises(KeyError), new_folder(tmp_path / "club", True) as place:
        with pytest.raises(FileExistsError, match="overwrite"):
            old.save(tmp_path / "club")
        assert place.exists()
        raise KeyError
    same(load_dataset(tmp_path / "club"), new if renames == 2 else old)
    assert {path.name for path in tmp_path.iterdir()} == {"club", "club.tmp"}
