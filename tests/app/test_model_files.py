"""Trained models in files: what is written, read back and refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from tiny_data import CLASSES, FEATURES
from trained_models import KINDS, same_model, trained

import refimpl
from refimpl import TrainConfig, TrainedModel, load_dataset, load_model, save_model
from refimpl.lab.training.config import config_from
from refimpl.lab.training.model import architecture_of
from refimpl.lab.training.settings import settings_of

pytestmark = pytest.mark.runs

HOW = {"method", "dropout", "epochs", "lr", "rng", "eval_memory"}  # it is trained
HOW |= {"weight_decay", "decay", "best_by", "patience", "eval_every"}
HOW |= {"workers_a_step", "partition", "shuffle", "bfloat16"}
COMMON = {"model", "layers", "hidden", "bias", "classifier", "row_l2", "classifier_relu"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_saved_and_loaded(gnn, either, tmp_path, options, dtype):
    data = load_dataset(either, dtype=dtype)
    model = trained(gnn, data, **options)
    gnn.save_model(tmp_path / "m.npz", model)
    loaded = gnn.load_model(str(tmp_path / "m.npz"))
    assert same_model(loaded, model) and loaded.dtype == dtype
    assert (loaded.dataset, loaded.classes, loaded.features) == (data.name, CLASSES, FEATURES)
    assert loaded.multilabel == data.multilabel
    assert all(map(np.array_equal, loaded.scaling, data.scaling))
    for name, value in options.items():
        assert name == "dropout" or loaded.architecture[name] == value
    for what in ("labels", "probabilities", "embeddings"):
        before, after = (
            gnn.predict(m, data.graph, data.features, what=what) for m in (model, loaded)
        )
        assert before.dtype == after.dtype and before.tobytes() == after.tobytes()
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_the_architecture_is_what_computes(options):
    """The model with all of its settings; of those that all models have, not how to train."""
    config = config_from(options)
    architecture = architecture_of(config)
    assert architecture.keys() == COMMON | settings_of(type(config.model)).keys()
    again = config_from(architecture)
    assert (again.model, architecture_of(again)) == (config.model, architecture)
    for name in settings_of(TrainConfig).keys() - COMMON:
        assert name in HOW


def test_a_file_that_numpy_alone_reads(model, tmp_path):
    save_model(tmp_path / "m.npz", model)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(arrays.pop("meta").item())
    assert meta == {
        "format": "minibatch-gnn-model/2",
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
        "format": "minibatch-gnn-model/2",
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
    assert model.architecture.keys() == COMMON  # with the defaults of those left out
    features = rng.integers(-9, 9, (6, 3))
    hidden = np.maximum(features @ weights["layer1.W"], 0)
    got = gnn.predict(model, refimpl.as_graph([], n=6), features, what="probabilities")
    np.testing.assert_allclose(got, softmax(hidden @ weights["classifier.W"], axis=1), rtol=1e-12)
    gnn.save_model(tmp_path / "again.npz", model)
    assert same_model(gnn.load_model(tmp_path / "again.npz"), model)


def test_a_model_cannot_be_changed_from_outside(gnn, folder):
    data = load_dataset(folder)
    config = TrainConfig(hidden=8, epochs=1)
    weights = gnn.train(data, config).weights
    model = TrainedModel.trained(data, config, weights)
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


def test_a_changed_byte_is_seen_or_changes_nothing(folder, tmp_path):
    model = trained(refimpl, load_dataset(folder), hidden=2, layers=1, epochs=0)
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
        "never objects",
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
    "other format": (lambda a, m: m.update(format="minibatch-gnn-model/1"), "format is not"),
    "no format": (lambda a, m: m.pop("format"), "with a format"),
    "no classes": (lambda a, m: m.pop("classes"), "must have the entries .*classes"),
    "unknown entry": (lambda a, m: m.update(age=3), "must have the entries"),
    "other classes": (lambda a, m: m.update(classes=5), "classifier.W"),
    "classes 0": (lambda a, m: m.update(classes=0), "classes must be in \\[1, "),
    "classes real": (lambda a, m: m.update(classes=4.0), "classes must be an integer"),
    "other width": (lambda a, m: m.update(features=13), "features must have 12 columns"),
    "multilabel 1": (lambda a, m: m.update(multilabel=1), "multilabel must be True or False"),
    "dataset 1": (lambda a, m: m.update(dataset=1), "dataset must be a str"),
    "list": (lambda a, m: m.update(architecture=[]), "architecture must be a dict"),
    "later": (lambda a, m: m["architecture"].update(depth=1), "depth is no setting of any model"),
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
    with pytest.raises(TypeError, match="model must be a TrainedModel"):
        save_model(tmp_path / "m.npz", model.weights)
    with pytest.raises(TypeError, match="weights must be a dict, got list"):
        TrainedModel([], {}, 1, 1, False)
    with pytest.raises(TypeError, match="config must be a TrainConfig, got dict"):
        TrainedModel.trained(load_dataset("karate"), {}, {})
