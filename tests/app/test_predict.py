"""Trained models: in files, in other processes, on other graphs; and what they refuse."""

import csv
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from test_cli import one_error, parsers
from test_dataset_folders import real
from tiny_data import CLASSES, FEATURES, NODES, write_graphsaint

import refimpl
from refimpl import Model, TrainConfig, load_dataset, load_model, save_model
from refimpl.app.cli import main
from refimpl.training.model import ARCHITECTURE, TRAINING_ONLY

KINDS = {
    "sage": {},
    "sage, all options": {
        "bias": True,
        "row_l2": True,
        "concat": "self_first",
        "dropout": 0.2,
        "classifier_relu": True,
        "layers": 3,
    },
    "gcn": {"model": "gcn"},
    "mixhop": {"model": "mixhop", "hops": 3},
    "gat": {"model": "gat", "heads": 2, "attention": "softmax"},
    "mlp": {"model": "mlp", "layers": 1},
}


@pytest.fixture(scope="session", params=["single", "multi"])
def folder(request, tmp_path_factory):
    several = request.param == "multi"
    return write_graphsaint(tmp_path_factory.mktemp("data") / request.param, several)


@pytest.fixture(scope="session")
def single(tmp_path_factory):
    return write_graphsaint(tmp_path_factory.mktemp("data") / "tiny")


def trained(gnn, data, **options):
    """Return the Model of a short run."""
    config = TrainConfig(**{"hidden": 8, "epochs": 2, "lr": 0.05, **options})
    return Model.trained(data, config, gnn.train(data, config).weights)


@pytest.fixture(scope="session")
def model(gnn, folder):
    return trained(gnn, load_dataset(folder, dtype="float64"))


def raw(folder):
    return np.load(folder / "feats.npy")


def same_model(a, b):
    """Whether two models are equal, to the bit."""
    names = [f.name for f in fields(Model) if f.name not in ("weights", "scaling")]
    arrays = [{**m.weights, **dict(enumerate(m.scaling or ()))} for m in (a, b)]
    return (
        all(getattr(a, name) == getattr(b, name) for name in names)
        and arrays[0].keys() == arrays[1].keys()
        and all(
            x.dtype == arrays[1][name].dtype and x.tobytes() == arrays[1][name].tobytes()
            for name, x in arrays[0].items()
        )
    )


# ---- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_saved_and_loaded(gnn, folder, tmp_path, options, dtype):
    data = load_dataset(folder, dtype=dtype)
    model = trained(gnn, data, **options)
    gnn.save_model(tmp_path / "m.npz", model)
    loaded = gnn.load_model(str(tmp_path / "m.npz"))
    assert same_model(loaded, model) and loaded.dtype == dtype
    assert (loaded.dataset, loaded.classes, loaded.features) == (data.name, CLASSES, FEATURES)
    assert loaded.multilabel == data.multilabel
    assert all(map(np.array_equal, loaded.scaling, data.scaling))
    for name, value in options.items():
        assert name in TRAINING_ONLY or loaded.architecture[name] == value
    for what in ("labels", "probabilities", "embeddings"):
        before, after = (
            gnn.predict(m, data.graph, data.features, what=what, scaled=True)
            for m in (model, loaded)
        )
        assert before.dtype == after.dtype and before.tobytes() == after.tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_every_setting_is_one_of_training_or_of_the_architecture():
    settings = {f.name for f in fields(TrainConfig)}
    assert settings >= TRAINING_ONLY
    assert settings - TRAINING_ONLY == set(ARCHITECTURE)
    assert {"model", "layers", "hidden", "classifier_relu"} <= set(ARCHITECTURE)


def test_a_file_that_numpy_alone_reads(model, tmp_path):
    save_model(tmp_path / "m.npz", model)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(arrays.pop("meta").item())
    assert meta == {
        "format": "minibatch-gnn-model/1",
        "architecture": model.architecture,
        "features": FEATURES,
        "classes": CLASSES,
        "multilabel": model.multilabel,
        "dataset": model.dataset,
        "scaled": True,
    }
    assert {name: array.shape for name, array in arrays.items()} == {
        "layer1.W_neigh": (FEATURES, 4),
        "layer1.W_self": (FEATURES, 4),
        "layer2.W_neigh": (8, 4),
        "layer2.W_self": (8, 4),
        "classifier.W": (8, CLASSES),
        "features.mean": (FEATURES,),
        "features.std": (FEATURES,),
    }
    np.testing.assert_array_equal(arrays["layer2.W_self"], model.weights["layer2.W_self"])


def test_weights_from_elsewhere_and_without_scaling(gnn, tmp_path):
    rng = np.random.default_rng(0)
    weights = {"layer1.W": rng.normal(size=(3, 2)), "classifier.W": rng.normal(size=(2, 5))}
    meta = {
        "format": "minibatch-gnn-model/1",
        "architecture": {"model": "mlp", "layers": 1, "hidden": 2},
        "features": 3,
        "classes": 5,
        "multilabel": False,
        "dataset": "",
        "scaled": False,
    }
    np.savez_compressed(tmp_path / "m.npz", meta=json.dumps(meta), **weights)
    model = gnn.load_model(tmp_path / "m.npz")
    assert model.scaling is None and model.dtype == np.float64
    assert model.architecture.keys() == set(ARCHITECTURE)  # with the defaults of those left out
    features = rng.integers(-9, 9, (6, 3))
    hidden = np.maximum(features @ weights["layer1.W"], 0)
    got = gnn.predict(model, refimpl.as_graph([], n=6), features, what="probabilities")
    np.testing.assert_allclose(got, softmax(hidden @ weights["classifier.W"], axis=1), rtol=1e-12)
    gnn.save_model(tmp_path / "again.npz", model)
    assert same_model(gnn.load_model(tmp_path / "again.npz"), model)


def test_a_model_cannot_be_changed_from_outside(gnn, single):
    data = load_dataset(single)
    config = TrainConfig(hidden=8, epochs=1)
    weights = gnn.train(data, config).weights
    model = Model.trained(data, config, weights)
    before = model.weights["classifier.W"].copy()
    weights["classifier.W"][:] = 0
    np.testing.assert_array_equal(model.weights["classifier.W"], before)
    for array in (model.weights["classifier.W"], *model.scaling):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@pytest.mark.parametrize("step", [(np, "savez"), (Path, "replace")], ids=["write", "rename"])
def test_a_failed_save_leaves_the_old_file(model, tmp_path, monkeypatch, step):
    path = tmp_path / "m.npz"
    save_model(path, model)
    before = path.read_bytes()

    def full_disk(place, *args, **arrays):
        if step[1] == "savez":
            place.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(*step, full_disk)
    with pytest.raises(OSError, match="no space left"):
        save_model(path, model)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize("keep", [0, 0.3, 0.9, 0.999])
def test_truncated_file(model, tmp_path, keep):
    path = tmp_path / "m.npz"
    save_model(path, model)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(ValueError, match=r"m\.npz is not a whole model: "):
        load_model(path)


def test_a_changed_byte_is_seen_or_changes_nothing(single, tmp_path):
    model = trained(refimpl, load_dataset(single), hidden=2, layers=1, epochs=0)
    path = tmp_path / "m.npz"
    save_model(path, model)
    whole, seen = path.read_bytes(), 0
    directory = whole.index(b"PK\x01\x02")  # of the archive: without checksums
    places = [*range(0, directory, 9), *range(directory, len(whole))]
    for i in places:
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x15]) + whole[i + 1 :])
        try:
            loaded = load_model(path)
        except ValueError as error:
            assert "m.npz is not a whole model: " in str(error)
            seen += 1
        else:
            assert same_model(loaded, model)
    assert seen > len(places) / 2


DAMAGES = {
    "missing array": (lambda a, m: a.pop("layer2.W_self"), "lack layer2.W_self"),
    "unknown array": (lambda a, m: a.update(layer9=np.ones(3)), "have layer9"),
    "misshaped": (
        lambda a, m: a.update({"classifier.W": np.ones((9, 4))}),
        r"classifier.W must have shape \(8, 4\), got \(9, 4\)",
    ),
    "transposed": (lambda a, m: a.update({"layer1.W_self": np.ones((4, 12))}), "layer1.W_self"),
    "NaN": (lambda a, m: a["layer2.W_neigh"].fill(np.nan), "layer2.W_neigh must be finite"),
    "integers": (
        lambda a, m: a.update({"layer1.W_self": np.ones((12, 4), int)}),
        "layer1.W_self must be float32 or float64",
    ),
    "two dtypes": (
        lambda a, m: a.update({"layer1.W_self": np.ones((12, 4), np.float32)}),
        "layer1.W_self must be float64 like",
    ),
    "pickle": (
        lambda a, m: a.update({"classifier.W": np.array([[None]])}),
        "allow_pickle=False",
    ),
    "no std": (lambda a, m: a.pop("features.std"), "must have features.mean and features.std"),
    "no scaling": (lambda a, m: (a.pop("features.std"), a.pop("features.mean")), "features.mean"),
    "scaling, not scaled": (lambda a, m: m.update(scaled=False), "have features.mean"),
    "std 0": (lambda a, m: a["features.std"].fill(0), "std above 0"),
    "short std": (
        lambda a, m: a.update({"features.std": np.ones(3)}),
        r"scaling's std must have shape \(12\), got \(3,\)",
    ),
    "mean NaN": (lambda a, m: a["features.mean"].fill(np.nan), "scaling must be finite"),
    "other format": (lambda a, m: m.update(format="minibatch-gnn-model/2"), "format is not"),
    "no format": (lambda a, m: m.pop("format"), "with a format"),
    "no classes": (lambda a, m: m.pop("classes"), "must have the entries .*classes"),
    "unknown entry": (lambda a, m: m.update(age=3), "must have the entries"),
    "other classes": (lambda a, m: m.update(classes=5), "classifier.W"),
    "classes 0": (lambda a, m: m.update(classes=0), "classes must be at least 1"),
    "classes real": (lambda a, m: m.update(classes=4.0), "classes must be an integer"),
    "other width": (lambda a, m: m.update(features=13), "scaling's mean"),
    "multilabel 1": (lambda a, m: m.update(multilabel=1), "multilabel must be True or False"),
    "dataset 1": (lambda a, m: m.update(dataset=1), "dataset must be a str"),
    "list": (lambda a, m: m.update(architecture=[]), "architecture must be a dict"),
    "later": (lambda a, m: m["architecture"].update(depth=1), "architecture must have .* depth"),
    "no setting": (lambda a, m: m["architecture"].update(lr=1.0), "architecture must have .* lr"),
    "model": (lambda a, m: m["architecture"].update(model="cnn"), "model must be one of"),
    "hidden": (lambda a, m: m["architecture"].update(hidden=16), "layer1.W_neigh"),
    "layers": (lambda a, m: m["architecture"].update(layers=3), "lack layer3.W_neigh"),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES)
def test_wrong_content(model, tmp_path, damage, words):
    save_model(tmp_path / "m.npz", model)
    with np.load(tmp_path / "m.npz") as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(arrays.pop("meta").item())
    damage(arrays, meta)
    np.savez(tmp_path / "bad.npz", meta=json.dumps(meta), **arrays)
    with pytest.raises(ValueError, match=rf"bad\.npz is not a whole model: .*{words}"):
        load_model(tmp_path / "bad.npz")


def test_no_model_at_all(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no model at .*nowhere"):
        load_model(tmp_path / "nowhere.npz")
    np.savez(tmp_path / "bad.npz", **model.weights)
    with pytest.raises(ValueError, match="not a whole model: .*meta"):
        load_model(tmp_path / "bad.npz")
    for meta in ("{", "[1]", "3"):
        np.savez(tmp_path / "bad.npz", meta=meta, **model.weights)
        with pytest.raises(ValueError, match="not a whole model: "):
            load_model(tmp_path / "bad.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(ValueError, match="not a whole model: "):
        load_model(tmp_path / "one.npy")
    with pytest.raises(TypeError, match="model must be a Model"):
        save_model(tmp_path / "m.npz", model.weights)
    with pytest.raises(TypeError, match="weights must be a dict, got list"):
        Model([], {}, 1, 1, False)
    with pytest.raises(TypeError, match="config must be a TrainConfig, got dict"):
        Model.trained(load_dataset("karate"), {}, {})


# ---- predictions -------------------------------------------------------------------------------


def forward_by_hand(model, graph, X):
    """Return (embeddings, logits) of a GraphSAGE model from its definition, with SciPy."""
    A, degrees = graph.to_scipy(), np.maximum(graph.degrees(), 1)[:, None]
    for layer in ("layer1", "layer2"):
        W_neigh, W_self = (model.weights[f"{layer}.W_{half}"] for half in ("neigh", "self"))
        X = np.maximum(np.hstack([(A @ X) / degrees @ W_neigh, X @ W_self]), 0)
    return X, X @ model.weights["classifier.W"]


def test_predictions_from_their_definition(gnn, folder, model):
    data = load_dataset(folder)
    train = raw(folder)[data.train]
    X = (raw(folder) - train.mean(axis=0)) / train.std(axis=0)
    embeddings, logits = forward_by_hand(model, data.graph, X)
    got = {
        what: gnn.predict(model, data.graph, raw(folder), what=what)
        for what in ("labels", "probabilities", "embeddings")
    }
    np.testing.assert_allclose(got["embeddings"], embeddings, rtol=1e-9, atol=1e-12)
    assert got["embeddings"].shape == (NODES, 8)
    expected = expit(logits) if model.multilabel else softmax(logits, axis=1)
    np.testing.assert_allclose(got["probabilities"], expected, rtol=1e-9)
    right = expected > 0.5 if model.multilabel else expected.argmax(axis=1)
    assert got["labels"].dtype == np.int64
    np.testing.assert_array_equal(got["labels"], right)
    assert len(np.unique(got["labels"])) > 1


def test_labels_agree_with_probabilities(gnn, folder, model):
    graph = load_dataset(folder).graph
    p = gnn.predict(model, graph, raw(folder), what="probabilities")
    labels = gnn.predict(model, graph, raw(folder))
    assert p.shape == (NODES, CLASSES) and p.min() > 0 and p.max() < 1
    if model.multilabel:
        np.testing.assert_array_equal(labels, p > 0.5)
        assert np.ptp(p.sum(axis=1)) > 0.1
    else:
        np.testing.assert_array_equal(labels, p.argmax(axis=1))
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_probabilities_of_large_logits_do_not_overflow(gnn):
    graph = refimpl.as_graph([], n=2)
    weights = {"layer1.W": np.array([[1.0]]), "classifier.W": np.array([[1.0, -1.0, 0.0]])}
    architecture = {"model": "mlp", "layers": 1, "hidden": 1}
    for multilabel, expected in ((False, [1, 0, 0]), (True, [1, 0, 0.5])):
        model = Model(weights, architecture, 1, 3, multilabel)
        p = gnn.predict(model, graph, [[1e6], [0]], what="probabilities")
        np.testing.assert_array_equal(p[0], expected)
        np.testing.assert_allclose(p[1], 1 / 2 if multilabel else 1 / 3)


def test_listed_nodes(gnn, folder, model):
    graph = load_dataset(folder).graph
    nodes = [7, 199, 0, 7, 30]
    for what in ("labels", "probabilities", "embeddings"):
        whole = gnn.predict(model, graph, raw(folder), what=what)
        some = gnn.predict(model, graph, raw(folder), nodes, what=what)
        assert some.tobytes() == whole[nodes].tobytes() and some.dtype == whole.dtype
        assert len(gnn.predict(model, graph, raw(folder), [], what=what)) == 0


def test_raw_features_are_scaled_as_in_training(gnn, folder, model):
    data = load_dataset(folder, dtype="float64")
    scaled = gnn.predict(model, data.graph, data.features, what="embeddings", scaled=True)
    unscaled = gnn.predict(model, data.graph, raw(folder), what="embeddings")
    assert scaled.tobytes() == unscaled.tobytes()


def test_the_other_package_predicts_the_same(gnn, folder, model):
    import fastimpl

    data = load_dataset(folder)
    for what in ("labels", "probabilities", "embeddings"):
        slow, fast = (
            one.predict(model, data.graph, raw(folder), what=what) for one in (refimpl, fastimpl)
        )
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_predictions_follow_the_nodes_when_they_are_renamed(gnn, single, options):
    data = load_dataset(single, dtype="float64")
    model = trained(gnn, data, **options)
    order = np.random.default_rng(3).permutation(NODES)
    renamed = refimpl.as_graph(data.graph.to_scipy()[order][:, order])
    for what in ("probabilities", "embeddings"):
        here = gnn.predict(model, data.graph, raw(single), what=what)
        there = gnn.predict(model, renamed, raw(single)[order], what=what)
        np.testing.assert_allclose(there, here[order], rtol=1e-9, atol=1e-12)
        assert np.ptp(here, axis=0).max() > 1e-3  # or any order would do


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_a_larger_graph_changes_nothing_out_of_reach(gnn, single, options):
    data = load_dataset(single, dtype="float64")
    model = trained(gnn, data, **options)
    more = np.triu(np.random.default_rng(4).random((50, 50)) < 0.2, 1)
    both = refimpl.as_graph(sp.block_diag([data.graph.to_scipy(), sp.csr_array(more | more.T)]))
    features = np.vstack([raw(single), 100 * np.ones((50, FEATURES))])
    alone = gnn.predict(model, data.graph, raw(single), what="probabilities")
    beside = gnn.predict(model, both, features, what="probabilities")
    assert beside.shape == (NODES + 50, CLASSES)
    np.testing.assert_allclose(beside[:NODES], alone, rtol=1e-9, atol=1e-12)


def refusals():
    graph, features = refimpl.as_graph([(0, 1)], n=3, symmetrize=True), np.ones((3, FEATURES))
    nan = np.where(np.arange(3)[:, None] == 1, np.nan, features)
    return {
        "no model": ({"model": {}}, TypeError, "model must be a Model"),
        "no graph": ({"graph": [(0, 1)]}, TypeError, "graph must be a Graph"),
        "directed": ({"graph": refimpl.as_graph([(0, 1)], n=3)}, ValueError, "undirected"),
        "width": (
            {"features": features[:, 1:]},
            ValueError,
            r"features must have shape \(3, 12\) for this graph and model, got \(3, 11\)",
        ),
        "rows": ({"features": features[1:]}, ValueError, r"shape \(3, 12\)"),
        "words": ({"features": features.astype(str)}, TypeError, "real numbers"),
        "NaN": ({"features": nan}, ValueError, "features must be finite, but row 1"),
        "other dtype": (
            {"features": features.astype(np.float32), "scaled": True},
            TypeError,
            "features must be float64",
        ),
        "NaN, scaled": ({"features": nan, "scaled": True}, ValueError, "but row 1"),
        "unknown node": ({"nodes": [0, 3]}, ValueError, r"nodes must be in \[0, 3\)"),
        "negative node": ({"nodes": [-1]}, ValueError, r"nodes must be in \[0, 3\)"),
        "real node": ({"nodes": [0.0]}, TypeError, "nodes must hold integers"),
        "node list": ({"nodes": [[0]]}, ValueError, "nodes must be 1-D"),
        "what": ({"what": "classes"}, ValueError, "what must be one of 'labels', "),
        "scaled": ({"scaled": 1}, TypeError, "scaled must be True or False"),
        "base": ({"graph": graph, "features": features}, None, ""),
    }


@pytest.mark.parametrize(("changes", "error", "words"), refusals().values(), ids=refusals())
def test_refused_arguments(gnn, model, changes, error, words):
    arguments = {"model": model, **refusals()["base"][0], **changes}
    if error is None:
        assert len(gnn.predict(**arguments)) == 3
        return
    with pytest.raises(error, match=words):
        gnn.predict(**arguments)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_features_too_large_for_the_model(gnn):
    graph, architecture = refimpl.as_graph([], n=3), {"model": "mlp", "layers": 1, "hidden": 1}
    weights = {"layer1.W": np.array([[1e200]]), "classifier.W": np.ones((1, 2))}
    model = Model(weights, architecture, 1, 2, False)
    with pytest.raises(ValueError, match="too large: what comes out for node 1 is not finite"):
        gnn.predict(model, graph, [[1.0], [1e200], [1.0]])
    ones = {name: np.ones(W.shape, np.float32) for name, W in weights.items()}
    single = Model(ones, architecture, 1, 2, False)
    with pytest.raises(ValueError, match="features must be finite, but row 2 is not once scaled"):
        gnn.predict(single, graph, [[1.0], [1.0], [1e200]])


# ---- scaling of data sets ----------------------------------------------------------------------


def test_data_sets_say_how_they_were_scaled(single):
    data = load_dataset(single, dtype="float64")
    mean, std = data.scaling
    np.testing.assert_allclose(mean, raw(single)[data.train].mean(axis=0))
    np.testing.assert_allclose(std, raw(single)[data.train].std(axis=0))
    np.testing.assert_array_equal(data.features, (raw(single) - mean) / std)


@pytest.mark.parametrize("source", ["karate", "communities", "cora", "computers"])
def test_a_data_set_scaled_as_another(source):
    source = real(source) if source in ("cora", "computers") else source
    own = load_dataset(source)
    again = load_dataset(source, scaling=own.scaling)
    assert own.features.tobytes() == again.features.tobytes()
    mean, std = own.scaling
    other = load_dataset(source, scaling=(mean + std, 2 * std))
    np.testing.assert_allclose(other.features, (own.features - 1) / 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(other.scaling[1], 2 * std)


def test_a_model_keeps_its_scaling_where_the_training_nodes_differ(single, tiny_model, tmp_path):
    data = load_dataset(single)
    folder = write_graphsaint(tmp_path / "other")
    roles = json.loads((folder / "role.json").read_text())
    roles["tr"], roles["te"] = roles["tr"][65:], roles["te"] + roles["tr"][:65]
    keep = sp.diags_array(np.isin(np.arange(NODES), roles["tr"]).astype(np.float32))
    inside = sp.csr_array(keep @ sp.load_npz(folder / "adj_train.npz") @ keep)
    inside.eliminate_zeros()
    sp.save_npz(folder / "adj_train.npz", inside)
    (folder / "role.json").write_text(json.dumps(roles))
    assert not np.allclose(load_dataset(folder).features, data.features)
    scaled = load_dataset(folder, scaling=data.scaling)
    assert scaled.features.tobytes() == data.features.tobytes()
    for source in (single, folder):
        argv = ["predict", tiny_model, "--data", source, "--what", "embeddings"]
        assert main([*map(str, argv), "--out", str(tmp_path / f"{source.name}.npy")]) == 0
    here, there = (tmp_path / f"{source.name}.npy" for source in (single, folder))
    assert here.read_bytes() == there.read_bytes()


@pytest.mark.parametrize(
    ("scaling", "error", "words"),
    [
        ((np.zeros(3), np.ones(3)), ValueError, "features must have 3 columns.* got 12"),
        ((np.zeros(12), np.ones(3)), ValueError, r"std must have shape \(12\), got \(3,\)"),
        ((np.zeros(12), np.zeros(12)), ValueError, "std above 0"),
        ((np.full(12, np.inf), np.ones(12)), ValueError, "scaling must be finite"),
        ((np.zeros(12, np.float32), np.ones(12)), TypeError, "mean must be float64"),
        (np.zeros(12), TypeError, "scaling must be a pair"),
    ],
)
def test_refused_scaling(single, scaling, error, words):
    with pytest.raises(error, match=words):
        load_dataset(single, scaling=scaling)


# ---- the command -------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def run_folder(gnn, folder, tmp_path_factory):
    """The folder of a run of `train` on `folder`."""
    out = tmp_path_factory.mktemp("run")
    options = ["--impl", gnn.__name__, "--epochs", "4", "--hidden", "8"]
    assert main(["train", "--data", str(folder), "--out", str(out), *options]) == 0
    return out


@pytest.fixture
def command(gnn, run_folder, capfd):
    """Run `predict` with the model of that run; return what it prints."""

    def command(*options):
        model = str(run_folder / "model.npz")
        assert main(["predict", model, "--impl", gnn.__name__, *map(str, options)]) == 0
        stdout, stderr = capfd.readouterr()
        assert stderr == ""
        return stdout

    return command


def test_train_writes_the_model_of_the_best_epoch(gnn, folder, tmp_path, capfd):
    options = ["--impl", gnn.__name__, "--epochs", "8", "--hidden", "8", "--lr", "0.5"]
    out = tmp_path / "o"
    assert main(["train", "--data", str(folder), "--out", str(out), *options]) == 0
    assert f"wrote {out / 'model.npz'}" in capfd.readouterr().out
    model = load_model(out / "model.npz")
    state, _ = refimpl.load_checkpoint(out / "checkpoint.npz")
    assert state.best_epoch < 8  # or the last weights would do
    assert model.weights.keys() == state.best_weights.keys()
    for name, W in state.best_weights.items():
        np.testing.assert_array_equal(model.weights[name], W)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_train_writes_no_model_that_is_not_finite(single, tmp_path, capfd):
    out = tmp_path / "o"
    options = ["--method", "full", "--epochs", "1", "--hidden", "8", "--lr", "1e39"]
    assert main(["train", "--data", str(single), "--out", str(out), *options]) == 2
    assert "try a smaller --lr" in one_error(capfd)
    assert not (out / "model.npz").exists()


SCORE = """
import sys, importlib
import numpy as np
gnn = importlib.import_module(sys.argv[1])
model = gnn.load_model(sys.argv[2])
data = gnn.load_dataset(sys.argv[3], dtype=model.dtype, scaling=model.scaling)
labels = gnn.predict(model, data.graph, data.features, data.test, scaled=True)
if not model.multilabel:
    labels = labels[:, None] == np.arange(model.classes)
print(repr(gnn.f1_micro(labels, data.labels[data.test])))
"""


def new_process(*argv):
    done = subprocess.run(
        [sys.executable, *map(str, argv)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def scores_in(text):
    """Return F1-micro by part from the printed table."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[2] for row in rows if row and row[0] in ("training", "validation", "test")}


def test_a_new_process_scores_as_training_reported(gnn, folder, run_folder):
    metrics = json.loads((run_folder / "metrics.json").read_text())
    model = run_folder / "model.npz"
    for threads in (1, 2):
        argv = ["predict", model, "--data", folder, "--threads", threads]
        printed = scores_in(new_process("-m", gnn.__name__, *argv))
        assert printed.keys() == {"training", "validation", "test"}
        assert printed["test"] == f"{metrics['test_f1']:.4f}"
        assert printed["validation"] == f"{metrics['val_f1']:.4f}"
    exact = new_process("-c", SCORE, gnn.__name__, model, folder)
    assert float(exact) == metrics["test_f1"]
    assert 0.3 < metrics["test_f1"] < 1


def test_computers_scores_as_training_reported(tmp_path, capfd):
    data, out = real("computers"), tmp_path / "out"
    size = ["--epochs", "2", "--hidden", "16", "--out", str(out)]
    assert main(["train", "--data", str(data), *size]) == 0
    reported = json.loads((out / "metrics.json").read_text())["test_f1"]
    argv = ["predict", out / "model.npz", "--data", data, "--nodes", "test"]
    assert scores_in(new_process("-m", "fastimpl", *argv)) == {"test": f"{reported:.4f}"}
    assert float(new_process("-c", SCORE, "fastimpl", out / "model.npz", data)) == reported


@pytest.mark.parametrize("what", ["labels", "probabilities", "embeddings"])
def test_csv_and_npy_hold_the_same(gnn, folder, run_folder, command, tmp_path, what):
    (tmp_path / "nodes.txt").write_text("5 199\n0\n5\n")
    model = load_model(run_folder / "model.npz")
    data = load_dataset(folder)
    column = {"labels": "label", "probabilities": "p", "embeddings": "e"}[what]
    for nodes, ids in (
        ("all", np.arange(NODES)),
        ("test", data.test),
        (tmp_path / "nodes.txt", np.array([5, 199, 0, 5])),
    ):
        for name in ("a.csv", "a.npy"):
            options = ["--data", folder, "--what", what, "--nodes", nodes]
            text = command(*options, "--out", tmp_path / name)
            assert f"wrote {tmp_path / name}" in text
            assert f"{what} of {len(ids)} nodes" in text
        expected = gnn.predict(model, data.graph, data.features, ids, what, True)
        saved = np.load(tmp_path / "a.npy")
        assert saved.dtype == expected.dtype and saved.tobytes() == expected.tobytes()
        with (tmp_path / "a.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        columns = [f"{column}{c}" for c in range(expected.shape[1])] if expected.ndim == 2 else []
        assert header == ["node", *(columns or [column])]
        assert [int(row[0]) for row in rows] == ids.tolist()
        numbers = np.array([row[1:] for row in rows]).astype(expected.dtype)
        assert numbers.reshape(expected.shape).tobytes() == expected.tobytes()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.csv", "a.npy", "nodes.txt"}


def test_summary(folder, run_folder, command):
    text = command("--data", folder, "--nodes", "val")
    model, data = load_model(run_folder / "model.npz"), load_dataset(folder)
    labels = refimpl.predict(model, data.graph, data.features, data.val, scaled=True)
    counts = labels.sum(axis=0) if model.multilabel else np.bincount(labels, minlength=CLASSES)
    rows = [line.split() for line in text.splitlines()]
    for c in np.flatnonzero(counts):
        assert [str(c), str(counts[c]), f"{counts[c] / data.val.size:.1%}"] in rows
    assert scores_in(text).keys() == {"validation"}
    assert text.startswith(f"GraphSAGE of {folder.name} (2 layers of width 8, float32) on ")
    assert f"({NODES} nodes, {data.graph.e} directed edges)" in text


def test_a_new_graph_gives_what_the_data_set_gives(folder, command, tmp_path):
    graph = ["--graph", folder / "adj_full.npz", "--features", folder / "feats.npy"]
    (tmp_path / "nodes.txt").write_text("\n".join(map(str, range(9, 60))))
    for what in ("labels", "probabilities"):
        for nodes in ("all", tmp_path / "nodes.txt"):
            options = ["--what", what, "--nodes", nodes, "--out"]
            text = command(*graph, *options, tmp_path / "new.npy")
            assert scores_in(text) == {}
            command("--data", folder, *options, tmp_path / "known.npy")
            new, known = (tmp_path / f"{name}.npy" for name in ("new", "known"))
            assert new.read_bytes() == known.read_bytes()


def test_a_model_of_another_package(gnn, folder, run_folder, tmp_path):
    other = "refimpl" if gnn.__name__ == "fastimpl" else "fastimpl"
    for impl in (gnn.__name__, other):
        argv = ["predict", run_folder / "model.npz", "--data", folder, "--impl", impl]
        argv += ["--what", "probabilities", "--out", tmp_path / f"{impl}.npy"]
        assert main([*map(str, argv)]) == 0
    a, b = (np.load(tmp_path / f"{impl}.npy") for impl in (gnn.__name__, other))
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_help_of_predict():
    actions = {a.dest: a.help for a in parsers()["predict"]._actions}
    del actions["help"], actions["model"]
    for name, text in actions.items():
        assert "(default: " in text, name
        assert "None" not in text, name
    assert "(default: labels)" in actions["what"] and "(default: all)" in actions["nodes"]


NEW = "--graph {data}/adj_full.npz --features {data}/feats.npy"
BAD = {
    "no source": ("", "give either --data, or --graph and --features; got none of them"),
    "both": (f"--data {{data}} {NEW}", "got --data and --graph and --features"),
    "graph alone": ("--graph a.npz", "got --graph"),
    "features alone": ("--features a.npy", "got --features"),
    "part of no data set": (f"{NEW} --nodes test", "--nodes test does not apply without --data"),
    "suffix": ("--data {data} --out {tmp}/a.txt", "--out must end in .csv or .npy, got 'a.txt'"),
    "out a folder": ("--data {data} --out {tmp}/d.csv", "--out must be a file"),
    "no such folder": ("--data {data} --out {tmp}/x/a.csv", "in a folder that exists"),
    "what": ("--data {data} --what all", "--what: invalid choice: 'all'"),
    "abbreviated": ("--data {data} --node all", "--node"),
    "no data": ("--data {tmp}/nowhere", "nowhere"),
    "no graph": ("--graph {tmp}/no.npz --features a.npy", "no.npz"),
    "no features": ("--graph {data}/adj_full.npz --features {tmp}/no.npy", "no.npy"),
    "one way": ("--graph {tmp}/way.npz --features a.npy", "way.npz must be symmetric"),
    "width": (
        "--graph {data}/adj_full.npz --features {tmp}/narrow.npy",
        "the model takes 12 features a node, but {tmp}/narrow.npy has 3",
    ),
    "rows": (
        "--graph {data}/adj_full.npz --features {tmp}/few.npy",
        "few.npy must have shape (200, any), got (7, 12)",
    ),
    "width of data": ("--data communities", "features must have 12 columns"),
    "classes of data": ("--data {tmp}/five", "classes must be 4 as of the model, but {tmp}/five"),
    "several classes": ("--data {tmp}/multi", "multilabel must be False as of the model"),
    "node beyond": (
        "--data {data} --nodes {tmp}/beyond",
        "{tmp}/beyond must list nodes in [0, 200), at least one, got 200",
    ),
    "node below": ("--data {data} --nodes {tmp}/below", "in [0, 200), at least one, got -1"),
    "no node": ("--data {data} --nodes {tmp}/empty", "in [0, 200), at least one, got none"),
    "a word": ("--data {data} --nodes {tmp}/word", "word cannot be read as node ids"),
    "too long": ("--data {data} --nodes {tmp}/long", "long cannot be read as node ids"),
    "no node file": ("--data {data} --nodes {tmp}/nofile", "nofile"),
    "threads": ("--data {data} --threads 0", "threads must be in [1, 1024], got 0"),
    "impl": ("--data {data} --impl json", "--impl json is no implementation"),
}


@pytest.fixture(scope="session")
def bad_files(tmp_path_factory):
    """A folder of files that do not fit the model."""
    tmp = tmp_path_factory.mktemp("bad")
    np.save(tmp / "narrow.npy", np.ones((NODES, 3)))
    np.save(tmp / "few.npy", np.ones((7, FEATURES)))
    sp.save_npz(tmp / "way.npz", sp.csr_array(([1.0], ([0], [1])), shape=(9, 9)))
    texts = {"beyond": "1 200", "word": "one", "below": "-1", "empty": "", "long": "9" * 30}
    for name, text in texts.items():
        (tmp / name).write_text(text)
    (tmp / "d.csv").mkdir()
    write_graphsaint(tmp / "multi", multilabel=True)
    classes = json.loads((write_graphsaint(tmp / "five") / "class_map.json").read_text())
    (tmp / "five" / "class_map.json").write_text(json.dumps(classes | {"0": 4}))
    return tmp


@pytest.fixture(scope="session")
def tiny_model(single, tmp_path_factory):
    """The file of a model of the tiny data set."""
    path = tmp_path_factory.mktemp("model") / "m.npz"
    save_model(path, trained(refimpl, load_dataset(single)))
    return path


@pytest.mark.parametrize(("options", "words"), BAD.values(), ids=BAD)
def test_refused_commands(single, bad_files, tiny_model, capfd, options, words):
    places = {"data": single, "tmp": bad_files}
    assert main(["predict", str(tiny_model), *options.format(**places).split()]) == 2
    assert words.format(**places) in one_error(capfd)


def test_refused_models(single, tiny_model, tmp_path, capfd):
    data = ["--data", str(single)]
    assert main(["predict", str(tmp_path / "no.npz"), *data]) == 2
    assert "no model at " in one_error(capfd)
    assert main(["predict", *data]) == 2
    assert "MODEL.npz" in one_error(capfd)
    whole = tiny_model.read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    assert main(["predict", str(tmp_path / "half.npz"), *data]) == 2
    assert "half.npz is not a whole model" in one_error(capfd)
    options = ["--out", str(tmp_path / "run"), "--epochs", "0", "--hidden", "8"]
    assert main(["train", *data, *options]) == 0
    capfd.readouterr()
    assert main(["predict", str(tmp_path / "run" / "checkpoint.npz"), *data]) == 2
    assert "its format is not minibatch-gnn-model/1" in one_error(capfd)


def test_a_failed_prediction_leaves_the_old_file(single, tiny_model, tmp_path, monkeypatch):
    out = tmp_path / "p.csv"
    out.write_text("old")

    def full_disk(path, *args):
        path.write_text("half")
        raise OSError("no space left")

    monkeypatch.setattr("refimpl.app.predict._write_csv", full_disk)
    assert main(["predict", str(tiny_model), "--data", str(single), "--out", str(out)]) == 2
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
