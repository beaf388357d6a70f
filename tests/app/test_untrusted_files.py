"""Files that strangers wrote: hostile pickles, headers that lie, bombs, checkpoints with gaps."""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import refimpl
from refimpl._support import untrusted_files
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.data.graphsaint import read_graph
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.data.pickled import unpickled
from refimpl.lab.data.planetoid import load_planetoid
from refimpl.lab.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.lab.training.methods import Fresh
from refimpl.loader.lookahead_features import ReadCounts

# ---- pickles -----------------------------------------------------------------------------------

OBJECTS = (  # dtype("O8"), its state without the flag that says so
    b"cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
)
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
POINTERS = ARRAY + b"(K\x01K\x01K\x02\x86" + OBJECTS + b"\x89U\x10" + b"A" * 16 + b"tb"
DICT = b"ccollections\ndefaultdict\n"
# The pairs of an array whose bytes are pointers to its keys and values: hashed, they crash.
CRASH = b"\x80\x02" + DICT + b"c__builtin__\nlist\n" + POINTERS + b"\x86R."
NESTED = b")" + b"\x94h\x00\x86" + b"".join(b"\x94h" + bytes([i]) + b"\x86" for i in range(1, 60))

HOSTILE = {
    "pointers": (CRASH, "calls collections.defaultdict as no Planetoid file does"),
    "a function": (b"\x80\x02cos\nsystem\nU\x02ls\x85R.", r"asks for os\.system, which is refused"),
    "eval": (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", r"builtins\.eval, which is refused"),
    "2**60 bytes": (b"\x80\x04\x8e" + (2**60).to_bytes(8, "little") + b"a.", "ends early"),
    "key that takes 2**60 steps to hash": (b"\x80\x04}" + NESTED + b"Ns.", "keys must be"),
    "name that takes as long to show": (b"\x80\x04" + NESTED + b"N\x93.", "which is refused"),
    "long integer": (b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b".", "255 bytes, at most 8"),
    "real number": (b"\x80\x02G" + bytes(8) + b".", "opcode b'G', which is refused"),
    "memo without value": (b"\x80\x02h\x05.", "no whole pickle"),
    "nothing": (b"", "ends early"),
    "no values": (b"\x80\x02\x86.", "too few values"),
    "no mark": (b"\x80\x02K\x01t.", "no mark where one must be"),
    "another list()": (b"\x80\x02c__builtin__\nlist\n)R.", "calls __builtin__.list"),
    "two states": (b"\x80\x02cnumpy\ndtype\n)R}b}b.", "a state twice"),
}


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_pickle_makes_nothing_but_what_planetoid_needs(tmp_path, data, words):
    for part in ("graph", "allx", "ally", "tx", "ty"):
        (tmp_path / f"ind.evil.{part}").write_bytes(data)
    with pytest.raises(ValueError, match=rf"ind\.evil\.graph cannot be read .*({words})"):
        load_planetoid(tmp_path, "evil")


@pytest.mark.runs
def test_bytes_of_a_file_are_never_read_as_pointers(tmp_path):
    """In a process of its own: it would end by a signal."""
    (tmp_path / "ind.evil.x").touch()
    (tmp_path / "ind.evil.graph").write_bytes(CRASH)
    code = (
        f"import refimpl\ntry: refimpl.load_dataset({str(tmp_path)!r})\nexcept ValueError: exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_what_python_writes_is_read(protocol):
    lists = {0: [1, 70000, -1, 2**40], 300: [], 1: [2] * 2000}
    assert unpickled(pickle.dumps(lists, protocol=protocol)) == lists


def test_one_list_does_not_stand_for_many_nodes(tmp_path):
    shared = [0] * 1000
    (tmp_path / "ind.a.graph").write_bytes(pickle.dumps(dict.fromkeys(range(1000), shared), 2))
    with pytest.raises(ValueError, match="more neighbours than bytes"):
        load_planetoid(tmp_path, "a")


# ---- headers -----------------------------------------------------------------------------------


def npy(header, content=b"", version=1):
    size = 2 if version == 1 else 4
    head = b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(size, "little")
    return head + header.encode("latin1") + content


def described(descr="'<f4'", order="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


FLOATS = bytes(24)
HEADERS = {
    "tokens": (npy("{'descr': '''" + "(" * 200), "header is damaged"),
    "syntax": (npy(described(shape="(2, 3")), "header is damaged"),
    "nested": (npy("(" * 9000), "header is damaged"),
    "too long": (npy(" " * 60000), "over 10000 bytes"),
    "code": (npy(described(shape="(__import__('os'),)"), FLOATS), "header is damaged"),
    "twice": (npy(described(shape="(2, 3), 'shape': (6,)"), FLOATS), "header is damaged"),
    "objects": (npy(described(descr="'|O'"), FLOATS), "never objects"),
    "records": (npy(described(descr="[('a', '<f4')]"), FLOATS), "another kind of array"),
    "no such dtype": (npy(described(descr="'<f5'"), FLOATS), "no dtype '<f5'"),
    "promises much": (npy(described(shape=f"({2**60}, 3)"), FLOATS), "promises .* there are 24"),
    "promises little": (npy(described(shape="(1, 3)"), FLOATS), "promises 12 .* there are 24"),
    "overflows": (npy(described(shape=f"({2**62}, 64)"), FLOATS), "promises"),
    "many sizes": (npy(described(shape=f"({'1, ' * 39}1)"), bytes(4)), "40 dimensions"),
    "version 9": (npy(described(), FLOATS, version=9), "does not begin"),
    "empty": (b"", "does not begin"),
}


@pytest.mark.parametrize(("data", "words"), HEADERS.values(), ids=HEADERS)
def test_damaged_header(gnn, tmp_path, data, words):
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(ValueError, match=rf"x\.npy is not a whole file of features: .*{words}"):
        gnn.loader.open_features(tmp_path / "x.npy")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("meta.npy", data)
    with pytest.raises(ValueError, match=rf"x\.npz is not a whole model: 'meta': .*{words}"):
        gnn.load_model(tmp_path / "x.npz")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "|b1", "<i2", "<c16", "<U3", "|S2", "<f2"])
def test_what_numpy_writes_is_read(tmp_path, version, dtype):
    path = tmp_path / "x.npy"
    square = np.arange(6).reshape(2, 3).astype(dtype)
    for array in (square, np.asfortranarray(square), square[:0], square[0, 1], square[:, :0]):
        with path.open("wb") as file:
            np.lib.format.write_array(file, np.asarray(array), version=version)
        for read in (untrusted_files.read_npy, untrusted_files.map_npy):
            with untrusted_files.reading(path, "an array") as file:
                found = read(file)
            assert found.dtype == array.dtype and found.shape == array.shape
            assert np.array_equal(found, array)
            assert found.size == 0 or found.flags.c_contiguous == array.flags.c_contiguous


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "adj_full.npz")
    with pytest.raises(ValueError, match=r"adj_full\.npz must be an ordinary file"):
        read_graph(tmp_path / "adj_full.npz")


# ---- archives ----------------------------------------------------------------------------------


def archived(path, members, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, array in members:
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array))
            archive.writestr(f"{name}.npy", content.getvalue())
    return path


def test_an_archive_does_not_grow_without_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted_files, "LEAST_LIMIT", 2**20)
    zeros = [("a", np.zeros(2**17)), ("b", np.zeros(2**17))]
    path = archived(tmp_path / "bomb.npz", zeros, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**14
    with pytest.raises(ValueError, match=r"bomb\.npz .* would take 2097\d+ bytes, at most 1048576"):
        refimpl.load_model(path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="no JSON text"):  # read in full
        refimpl.load_model(path)


@pytest.mark.parametrize(
    ("members", "how", "words"),
    [
        ([("a", 1), ("a", 2)], zipfile.ZIP_STORED, "holds 'a' twice"),
        ([("a", 1)], zipfile.ZIP_LZMA, "compressed in another way"),
        ([("meta", 1)], zipfile.ZIP_STORED, "no JSON text"),
        ([("meta", "[" * 100_000)], zipfile.ZIP_STORED, "RecursionError"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_strange_archives(tmp_path, members, how, words):
    with pytest.raises(ValueError, match=rf"x\.npz is not a whole model: .*{words}"):
        refimpl.load_model(archived(tmp_path / "x.npz", members, how))


def test_sizes_that_no_file_backs(tmp_path):
    wide = sp.coo_array((2**31 - 1, 2**31 - 1))
    sp.save_npz(tmp_path / "wide.npz", wide)
    with pytest.raises(ValueError, match=r"wide\.npz .* 2147483647 nodes would take"):
        read_graph(tmp_path / "wide.npz")
    meta = {
        "format": "minibatch-gnn-model/2",
        "architecture": {"model": "mixhop", "hops": 999, "hidden": 1000, "layers": 1000},
        **{"features": 3, "classes": 5, "multilabel": False, "dataset": "", "scaled": False},
    }
    path = archived(tmp_path / "deep.npz", [("meta", json.dumps(meta)), ("layer1.W", np.ones(3))])
    with pytest.raises(ValueError, match=r"deep\.npz .* those of the architecture: \d+, got 1"):
        refimpl.load_model(path)


BAD_GRAPHS = {
    "offsets end below 0": ("csr", {"indptr": np.array([0, 1, -7], np.int32)}, "indptr must be in"),
    "few offsets": ("csc", {"indptr": np.array([0, 2])}, r"indptr must have shape \(3,\)"),
    "real ids": ("csr", {"indices": np.array([1.0, 0.0])}, "indices must hold integers"),
    "ids as large": ("csr", {"indices": np.array([2**63, 0], np.uint64)}, "indices must be in"),
    "few values": ("csr", {"data": np.ones(1)}, "a value for each of 2 entries"),
    "columns": ("coo", {"col": np.array([[1, 0]])}, "must have a value|must be 1-D"),
    "shape": ("csr", {"shape": np.array([2.0, 2.0])}, "two integers"),
    "no shape": ("csr", {"shape": None}, "lacks shape"),
    "blocks": ("csr", {"format": np.array(b"bsr")}, "one of csr, csc, coo, got 'bsr'"),
}


@pytest.mark.parametrize(("form", "changes", "words"), BAD_GRAPHS.values(), ids=BAD_GRAPHS)
def test_a_graph_is_checked_before_scipy_sees_it(tmp_path, form, changes, words):
    pair = getattr(sp, f"{form}_array")(np.array([[0.0, 1.0], [1.0, 0.0]]))
    sp.save_npz(tmp_path / "g.npz", pair)
    assert read_graph(tmp_path / "g.npz").e == 2
    with np.load(tmp_path / "g.npz") as file:
        arrays = {**file, **changes}
    np.savez(tmp_path / "g.npz", **{name: a for name, a in arrays.items() if a is not None})
    with pytest.raises(ValueError, match=rf"g\.npz cannot be read .*({words})"):
        read_graph(tmp_path / "g.npz")


def test_vectors_read_nothing_outside_their_folder(tmp_path):
    (tmp_path / "common").mkdir()
    archived(tmp_path / "secret.npz", [("a", 1)])
    case = {"id": "x", "args": {"x": {"npz": "../secret.npz", "key": "a", "sha256": ""}}}
    text = json.dumps({"format": vectors.FORMAT, "cases": [case]})
    (tmp_path / "common" / "mix.json").write_text(text)
    with pytest.raises(ValueError, match=r"mix\.json .*'\.\./secret\.npz' must be a file beside"):
        vectors.load(tmp_path)
    (tmp_path / "common" / "mix.json").write_text(text[:-1])
    with pytest.raises(ValueError, match=r"mix\.json cannot be read as test vectors"):
        vectors.load(tmp_path)


# ---- checkpoints -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A checkpoint with a cache, as arrays and meta."""
    method = Fresh(batch_size=8, fanouts=(3, 2), buffer=600, t_stale=5)
    config = refimpl.TrainConfig(method=method, hidden=4, epochs=1)
    with refimpl.make_trainer(karate_dataset(), config) as trainer:
        trainer.epoch()
        path = tmp_path_factory.mktemp("whole") / "checkpoint.npz"
        save_checkpoint(path, trainer.state, {})
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}
        return config, arrays, json.loads(file["meta"].item())


def copied(whole):
    config, arrays, meta = whole
    return (
        config,
        {name: array.copy() for name, array in arrays.items()},
        json.loads(json.dumps(meta)),
    )


def written(path, arrays, meta):
    np.savez(path, meta=json.dumps(meta), **arrays)
    return path


W, READ = "layer1.W_neigh", asdict(ReadCounts(in_vain=-1))
GAPS = {
    "a moment": (lambda a, m: a.pop(f"v/{W}"), "differ in names"),
    "dtype": (lambda a, m: a.update({f"m/{W}": a[f"m/{W}"].astype(np.float64)}), f"m/{W} must be"),
    "integers": (lambda a, m: a.update({f"weights/{W}": np.ones((3, 4), int)}), f"weights/{W}"),
    "shape": (lambda a, m: a.update({f"v/{W}": a[f"v/{W}"].T.copy()}), f"v/{W} must have shape"),
    "below 0": (lambda a, m: a[f"v/{W}"].fill(-1), "must not be below 0"),
    "unknown": (lambda a, m: a.update({"w/x": np.ones(3)}), "'w/x', which is no part"),
    "no loads": (lambda a, m: m.pop("loads"), "must have the entries .*loads"),
    "more": (lambda a, m: m.update(age=3), "must have the entries"),
    "settings": (lambda a, m: m.update(settings=[]), "settings must be a JSON object"),
    "text": (lambda a, m: m.update(iterations="7"), "iterations must be an integer, got str"),
    "huge": (lambda a, m: m.update(iterations=2**40), "iterations must be in"),
    "negative": (lambda a, m: m.update(best_epoch=-1), "best_epoch must be in"),
    "score": (lambda a, m: m.update(best_val_f1=None), "best_val_f1 must be a real number"),
    "history": (lambda a, m: m.update(history={}), "history must be a list"),
    "record": (lambda a, m: m["history"][0].pop("loss"), "EpochRecord must have the entries"),
    "epoch": (lambda a, m: m["history"][0].update(epoch=2), "epoch 1 of the history has number 2"),
    "loss": (
        lambda a, m: m["history"][0].update(val_loss="1"),
        "val_loss must be a number, got str",
    ),
    "time": (
        lambda a, m: m["history"][0].update(other="1"),
        "other must be a real number, got str",
    ),
    "counts": (lambda a, m: m["loads"][0].update(hits=-1), "hits of an epoch must be at least 0"),
    "epochs": (lambda a, m: m.update(loads=m["loads"] * 2), "loads must be of 1 epochs, got 2"),
    "no reads": (lambda a, m: m.update(reads=[{}]), "reads of an epoch must have the entries"),
    "reads": (lambda a, m: m.update(reads=[READ | {"bytes": -1}]), "bytes of an epoch must be at"),
    "waiting": (lambda a, m: m.update(reads=[READ | {"waiting": -1}]), "waiting of an epoch must"),
    "read": (lambda a, m: m.update(reads=[READ] * 2), "reads must be of 1 epochs, got 2"),
    "format": (lambda a, m: m.update(format=3), "format is not minibatch-gnn-checkpoint"),
}


def test_an_older_checkpoint_has_no_reads(tmp_path, whole):
    _, arrays, meta = copied(whole)
    del meta["reads"]
    assert load_checkpoint(written(tmp_path / "c.npz", arrays, meta))[0].reads == []
    meta["reads"] = [READ]
    assert load_checkpoint(written(tmp_path / "c.npz", arrays, meta))[0].reads == [READ]


@pytest.mark.parametrize(("change", "words"), GAPS.values(), ids=GAPS)
def test_a_checkpoint_is_checked_when_it_is_loaded(tmp_path, whole, change, words):
    _, arrays, meta = copied(whole)
    load_checkpoint(written(tmp_path / "c.npz", arrays, meta))
    change(arrays, meta)
    with pytest.raises(ValueError, match=rf"c\.npz is not a whole checkpoint: .*{words}"):
        load_checkpoint(written(tmp_path / "c.npz", arrays, meta))


CACHE_GAPS = {
    "a part": (lambda a: a.pop("cache/stamp"), "state must hold stamp"),
    "none": (
        lambda a: [a.pop(n) for n in list(a) if n[:6] == "cache/"],
        "must have the embeddings",
    ),
    "more": (lambda a: a.update({"cache/x": np.ones(3)}), "state must hold nothing but"),
    "dtype": (lambda a: a.update({"cache/back": a["cache/back"].astype(np.int32)}), "back as"),
    "numbers": (lambda a: a.update({"cache/numbers": np.int64(3)}), "numbers as"),
    "header": (lambda a: a["cache/numbers"].put(0, 10**6), "head in"),
    "used": (lambda a: a["cache/numbers"].put(1, -1), "used in"),
    "count": (lambda a: a["cache/numbers"].put(5, -1), "evicted in"),
    "slot": (lambda a: a["cache/slot_of"].put(0, 2**30), "slot_of in"),
    "key": (lambda a: a["cache/back"].put(0, -2), "back in"),
    "stamp": (lambda a: a["cache/stamp"].put(0, -1), "stamp in"),
    "rank": (lambda a: a["cache/rank"].put(0, -1), "rank in"),
}


@pytest.mark.parametrize(("change", "words"), CACHE_GAPS.values(), ids=CACHE_GAPS)
def test_a_cache_with_gaps_is_refused_before_the_first_step(gnn, tmp_path, whole, change, words):
    config, arrays, meta = copied(whole)
    change(arrays)
    state, _ = load_checkpoint(written(tmp_path / "c.npz", arrays, meta))
    with pytest.raises(ValueError, match=words):
        gnn.make_trainer(karate_dataset(), config, state)


def test_a_state_of_another_dtype_is_refused(gnn, tmp_path, whole):
    config, arrays, meta = copied(whole)
    state, _ = load_checkpoint(written(tmp_path / "c.npz", arrays, meta))
    with pytest.raises(TypeError, match="state.weights must be float64, but .* is float32"):
        gnn.make_trainer(karate_dataset(dtype="float64"), config, state)


@pytest.mark.runs
def test_the_command_line_names_the_checkpoint(tmp_path, capfd):
    out = ["--out", str(tmp_path), "--data", "karate", "--method", "fresh", "--buffer", "600"]
    assert main(["train", *out, "--hidden", "4", "--epochs", "1"]) == 0
    path = Path(tmp_path, "checkpoint.npz")
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}
        meta = json.loads(file["meta"].item())
    del arrays["cache/rank"]
    written(path, arrays, meta)
    capfd.readouterr()
    assert main(["train", "--resume", "--out", str(tmp_path), "--epochs", "2"]) == 2
    assert "checkpoint.npz: state must hold rank" in capfd.readouterr().err
    written(path, arrays, {**meta, "settings": {**meta["settings"], "method": ["fresh"]}})
    assert main(["train", "--resume", "--out", str(tmp_path), "--epochs", "2"]) == 2
    assert "was not written by this version" in capfd.readouterr().err
    written(path, arrays, {**meta, "settings": {**meta["settings"], "impl": "antigravity"}})
    assert main(["train", "--resume", "--out", str(tmp_path), "--epochs", "2"]) == 2
    assert "needs --impl antigravity: give it" in capfd.readouterr().err
    assert "antigravity" not in sys.modules
