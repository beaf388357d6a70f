"""Packed folders: rows of features in another order, and results that are the same to the bit."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_saved_folders import same

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.data.convert import convert
from refimpl.lab.data.packing import pack_rows, packed_order
from refimpl.lab.data.verifying import checksum
from refimpl.lab.training.methods import Fresh, Gas, GraphFm, Neighbor
from refimpl.loader.packed import PackedFeatures

pytestmark = pytest.mark.runs
N, D = 300, 20
METHODS = [
    Neighbor(batch_size=10, fanouts=(3, 2)),
    Fresh(batch_size=30, fanouts=(4, 3), hotness="degree", buffer=4000),
    Fresh(batch_size=30, fanouts=(4, 3), hotness="none", refresh=1),
    Gas(batch_size=70),
    GraphFm(batch_size=70),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    ends = np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1)
    graph = refimpl.as_graph(np.concatenate([ends, rng.integers(0, N, (900, 2))]), symmetrize=True)
    graph = refimpl.as_graph(graph, self_loops=False)
    X = rng.normal(size=(N, D)).astype(np.float32)
    return refimpl.Dataset.from_arrays(graph, X, X[:, 0] > 0, dtype=np.float32)


@pytest.fixture(scope="module")
def folders(data, tmp_path_factory):
    """Return a folder of `data`, and a packed one."""
    place = tmp_path_factory.mktemp("folders")
    data.save(place / "plain")
    convert(place / "plain", place / "packed", pack=True, memory=3000)
    return place / "plain", place / "packed"


def breadth_first(graph, train):
    """Return the order of `packed_order`, node by node."""
    order = list(train)
    for node in order:
        order += sorted(
            set(graph.indices[graph.indptr[node] : graph.indptr[node + 1]]) - set(order)
        )
    return order + sorted(set(range(graph.n)) - set(order))


@given(st.data())
def test_the_order_is_breadth_first_from_the_training_nodes(data):
    n = data.draw(st.integers(1, 30))
    node = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=60))
    graph = refimpl.graph.from_edges(*np.reshape(edges, (-1, 2)).T, n=n, symmetrize=True)
    train = np.array(sorted(data.draw(st.sets(node, min_size=1))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("refimpl.lab.data.packing.ENTRIES", data.draw(st.integers(1, 9)))
        patch.setattr("refimpl.lab.data.packing.ROWS", data.draw(st.integers(1, 9)))
        assert packed_order(graph, train).tolist() == breadth_first(graph, train)


@pytest.mark.parametrize("memory", [1, 900, 10**9])
@pytest.mark.parametrize("dtype", ["f2", "f8"])
def test_rows_are_moved_in_parts(tmp_path, memory, dtype, monkeypatch):
    monkeypatch.setattr("refimpl.lab.data.packing.ROWS", 13)
    rng = np.random.default_rng(1)
    X, row_of, told = rng.normal(size=(90, 7)).astype(dtype), rng.permutation(90), []
    np.save(tmp_path / "x.npy", X)
    paths = tmp_path / "x.npy", tmp_path / "packed.npy"
    pack_rows(*paths, row_of.astype(np.int32), memory, told.append)
    assert_array_equal(np.load(paths[1])[row_of], X)
    assert {*tmp_path.iterdir()} == {*paths}
    assert told == sorted(told) and told[-1] == 1


def test_a_full_disk_leaves_no_folder(folders, tmp_path, monkeypatch):
    def full(file, rows):
        raise OSError(28, "No space left on device")

    def packed(*given):
        monkeypatch.setattr("refimpl.lab.data.packing.ArrayFile.append", full)
        return pack_rows(*given)

    monkeypatch.setattr("refimpl.lab.data.building.pack_rows", packed)
    with pytest.raises(OSError, match=r"graph"):
        convert(folders[0], tmp_path / "graph", pack=True)
    assert not list(tmp_path.iterdir())


def test_a_packed_folder_is_the_data_set_and_says_so(data, folders, tmp_path):
    plain, packed = (refimpl.load_dataset(folder, verify=True) for folder in folders)
    assert [type(one.features) for one in (plain, packed)] == [np.memmap, PackedFeatures]
    stored, rows = packed.features.array, packed.features.row_of
    assert_array_equal(stored[rows], data.features)
    order = packed_order(data.graph, data.train)
    assert_array_equal(rows[order], np.arange(N))
    assert not np.array_equal(stored, data.features)
    nodes = np.array([5, 0, 299, 5])
    for found in (packed, replace(packed, name="again"), packed.with_setting("inductive")):
        assert_array_equal(found.inputs(nodes), plain.inputs(nodes))
        assert_array_equal(np.asarray(found.features), data.features)
    for key in (7, slice(3, 9), nodes, np.arange(N) % 7 == 3):
        assert_array_equal(packed.features[key], plain.features[key])
    with pytest.raises(TypeError, match="by nodes alone"):
        packed.features[:, 0]
    with pytest.raises(ValueError, match=r"rows must be in \[0, 300\)"):
        packed.inputs(np.array([-1]))
    packed.save(tmp_path / "unpacked")
    same(refimpl.load_dataset(tmp_path / "unpacked", verify=True), plain)
    assert not (tmp_path / "unpacked" / "feature_rows.npy").exists()
    again = refimpl.load_dataset(folders[1], scaling="standard", verify=True)
    assert_array_equal(again.scaling, refimpl.load_dataset(folders[0], scaling="standard").scaling)


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_training_has_the_same_bits(gnn, folders, method, setting):
    """With features mapped, and read ahead into a cache; from both folders."""
    config = gnn.TrainConfig(method=method, epochs=2, hidden=4)
    found = []
    for folder in folders:
        data = gnn.load_dataset(folder, setting=setting)
        found.append(gnn.train(data, config, progress=False))
        memory = 4 * N + (4 * D + 33) * 290
        with gnn.loader.LookaheadFeatures(folder / "features.npy", memory) as features:
            features.cache[:] = np.nan
            found.append(gnn.train(data, config, progress=False, features=features))
            counts = features.counts
        assert counts.rows + counts.on_demand > 0
        if method.name == "neighbor":  # windows hold the rows in the file
            assert counts.on_demand == 0
    first = found[0]
    for other in found[1:]:
        assert [one.loss for one in other.history] == [one.loss for one in first.history]
        assert (other.val_f1, other.test_f1) == (first.val_f1, first.test_f1)
        for name, weights in first.weights.items():
            assert_array_equal(other.weights[name], weights)


def test_prediction_and_prepropagation_have_the_same_bits(gnn, folders):
    method, model = gnn.methods.Prepropagation(), gnn.models.Sign()
    config = gnn.TrainConfig(model=model, method=method, epochs=1, hidden=4)
    found = []
    for folder in folders:
        data = gnn.load_dataset(folder)
        result = gnn.train(data, config, progress=False)
        model = refimpl.lab.training.model.TrainedModel.trained(data, config, result.weights)
        found.append(gnn.predict(model, data.graph, data.features, what="probabilities"))
    assert_array_equal(*found)


def test_commands_say_that_a_folder_is_packed(folders, tmp_path, capfd):
    words = ["--pack", "--memory", "1MB", "--overwrite"]
    assert main(["convert", str(folders[0]), str(tmp_path / "graph"), *words]) == 0
    assert "transductive, packed\n" in capfd.readouterr().out
    same(refimpl.load_dataset(tmp_path / "graph"), refimpl.load_dataset(folders[0]))
    for folder, packed in ((tmp_path / "graph", True), (folders[0], None)):
        words = ["--data", str(folder), "--epochs", "1", "--out", str(tmp_path / "out")]
        words += ["--features-in", "lookahead", "--memory", "100KB", "--overwrite"]
        assert main(["train", "--method", "neighbor", "--batch-size", "20", *words]) == 0
        metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
        assert metrics["dataset"].get("packed") is packed


def damaged(folder, place, change):
    """Return a copy of a packed folder whose rows were changed, and their checksum with them."""
    shutil.copytree(folder, place)
    rows = np.load(place / "feature_rows.npy")
    change(rows)
    np.save(place / "feature_rows.npy", rows)
    return place


CHANGES = {
    "twice": (
        lambda rows: rows.__setitem__(0, rows[1]),
        "must hold each row once, but no node has row",
    ),
    "far": (lambda rows: rows.__setitem__(3, N), r"must hold rows in \[0, 300\)"),
    "negative": (lambda rows: rows.__setitem__(3, -1), r"must hold rows in \[0, 300\)"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_damaged_rows_are_refused(gnn, folders, tmp_path, case):
    change, message = CHANGES[case]
    place = damaged(folders[1], tmp_path / "bad", change)
    with pytest.raises(ValueError, match=r"feature_rows\.npy: it has another checksum"):
        gnn.load_dataset(place, verify=True)
    meta = json.loads((place / "meta.json").read_text())
    meta["arrays"]["feature_rows"]["blake2b"] = checksum(np.load(place / "feature_rows.npy"))
    (place / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(ValueError, match=r"feature_rows\.npy.*" + message):
        gnn.load_dataset(place, verify=True)
    with pytest.raises(ValueError, match=r"feature_rows\.npy.*" + message):
        gnn.loader.LookaheadFeatures(place / "features.npy", 10**6)


def test_missing_and_strange_rows_are_refused(gnn, folders, tmp_path):
    place = shutil.copytree(folders[1], tmp_path / "missing")
    (place / "feature_rows.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"feature_rows\.npy"):
        gnn.load_dataset(place)
    place = shutil.copytree(folders[1], tmp_path / "short")
    np.save(place / "feature_rows.npy", np.arange(N - 1, dtype=np.int32))
    with pytest.raises(ValueError, match=r"feature_rows\.npy.*shape \[300\], but it has"):
        gnn.load_dataset(place)
    with pytest.raises(ValueError, match=r"feature_rows\.npy.*int32 of shape \(300,\)"):
        gnn.loader.LookaheadFeatures(place / "features.npy", 10**6)
    place = shutil.copytree(folders[0], tmp_path / "unsaid")
    shutil.copy(folders[1] / "feature_rows.npy", place)
    with pytest.raises(ValueError, match=r"feature_rows\.npy is there, but meta\.json says"):
        gnn.load_dataset(place)


def test_a_link_to_packed_features_reads_the_rows_of_nodes(gnn, folders, tmp_path):
    (tmp_path / "features.npy").symlink_to(folders[1] / "features.npy")
    nodes = np.arange(0, N, 7)
    found = []
    for path in (tmp_path / "features.npy", folders[0] / "features.npy"):
        with gnn.loader.LookaheadFeatures(path, 10**6) as features:
            found.append(features.gather(None, nodes))
    np.testing.assert_array_equal(*found)


def test_features_of_the_other_folder_are_refused(gnn, folders):
    plain, packed = folders
    for data, other in ((plain, packed), (packed, plain)):
        with (
            gnn.loader.LookaheadFeatures(other / "features.npy", 10**6) as features,
            pytest.raises(ValueError, match="features must be in the data set's own file"),
        ):
            gnn.make_trainer(gnn.load_dataset(data), gnn.TrainConfig(), features=features)
