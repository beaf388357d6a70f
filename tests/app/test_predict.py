"""What a trained model predicts, on any graph; and how features are scaled."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from test_dataset_folders import real
from tiny_data import CLASSES, FEATURES, NODES, write_graphsaint
from trained_models import KINDS, raw, trained

import refimpl
from refimpl import TrainedModel, load_dataset
from refimpl.lab.apps.cli import main

pytestmark = pytest.mark.runs


def forward_by_hand(model, graph, X):
    """Return (embeddings, logits) of a GraphSAGE model from its definition, with SciPy."""
    A, degrees = graph.to_scipy(), np.maximum(graph.degrees(), 1)[:, None]
    for layer in ("layer1", "layer2"):
        W_neigh, W_self = (model.weights[f"{layer}.W_{half}"] for half in ("neigh", "self"))
        X = np.maximum(np.hstack([(A @ X) / degrees @ W_neigh, X @ W_self]), 0)
    return X, X @ model.weights["classifier.W"]


def test_predictions_from_their_definition(gnn, either, model):
    data = load_dataset(either)
    train = raw(either)[data.train]
    X = (raw(either) - train.mean(axis=0)) / train.std(axis=0)
    embeddings, logits = forward_by_hand(model, data.graph, X)
    got = {
        what: gnn.predict(model, data.graph, raw(either), what=what)
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


def test_labels_agree_with_probabilities(gnn, either, model):
    graph = load_dataset(either).graph
    p = gnn.predict(model, graph, raw(either), what="probabilities")
    labels = gnn.predict(model, graph, raw(either))
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
        model = TrainedModel(weights, architecture, 1, 3, multilabel)
        p = gnn.predict(model, graph, [[1e6], [0]], what="probabilities")
        np.testing.assert_array_equal(p[0], expected)
        np.testing.assert_allclose(p[1], 1 / 2 if multilabel else 1 / 3)


def test_listed_nodes(gnn, either, model):
    graph = load_dataset(either).graph
    nodes = [7, 199, 0, 7, 30]
    for what in ("labels", "probabilities", "embeddings"):
        whole = gnn.predict(model, graph, raw(either), what=what)
        some = gnn.predict(model, graph, raw(either), nodes, what=what)
        assert some.tobytes() == whole[nodes].tobytes() and some.dtype == whole.dtype
        assert len(gnn.predict(model, graph, raw(either), [], what=what)) == 0


def test_raw_features_are_scaled_as_in_training(gnn, either, model):
    data = load_dataset(either, dtype="float64")
    scaled = gnn.predict(model, data.graph, data.inputs(), what="embeddings", scaled=True)
    unscaled = gnn.predict(model, data.graph, raw(either), what="embeddings")
    assert scaled.tobytes() == unscaled.tobytes()


def test_the_other_package_predicts_the_same(gnn, either, model):
    import fastimpl

    data = load_dataset(either)
    for what in ("labels", "probabilities", "embeddings"):
        slow, fast = (
            one.predict(model, data.graph, raw(either), what=what) for one in (refimpl, fastimpl)
        )
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_predictions_follow_the_nodes_when_they_are_renamed(gnn, folder, options):
    data = load_dataset(folder, dtype="float64")
    model = trained(gnn, data, **options)
    order = np.random.default_rng(3).permutation(NODES)
    renamed = refimpl.as_graph(data.graph.to_scipy()[order][:, order])
    for what in ("probabilities", "embeddings"):
        here = gnn.predict(model, data.graph, raw(folder), what=what)
        there = gnn.predict(model, renamed, raw(folder)[order], what=what)
        np.testing.assert_allclose(there, here[order], rtol=1e-9, atol=1e-12)
        assert np.ptp(here, axis=0).max() > 1e-3  # or any order would do


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_a_larger_graph_changes_nothing_out_of_reach(gnn, folder, options):
    data = load_dataset(folder, dtype="float64")
    model = trained(gnn, data, **options)
    more = np.triu(np.random.default_rng(4).random((50, 50)) < 0.2, 1)
    both = refimpl.as_graph(sp.block_diag([data.graph.to_scipy(), sp.csr_array(more | more.T)]))
    features = np.vstack([raw(folder), 100 * np.ones((50, FEATURES))])
    alone = gnn.predict(model, data.graph, raw(folder), what="probabilities")
    beside = gnn.predict(model, both, features, what="probabilities")
    assert beside.shape == (NODES + 50, CLASSES)
    np.testing.assert_allclose(beside[:NODES], alone, rtol=1e-9, atol=1e-12)


def refusals():
    graph, features = refimpl.as_graph([(0, 1)], n=3, symmetrize=True), np.ones((3, FEATURES))
    nan = np.where(np.arange(3)[:, None] == 1, np.nan, features)
    return {
        "no model": ({"model": {}}, TypeError, "model must be a TrainedModel"),
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
    model = TrainedModel(weights, architecture, 1, 2, False)
    with pytest.raises(ValueError, match="too large: what comes out for node 1 is not finite"):
        gnn.predict(model, graph, [[1.0], [1e200], [1.0]])
    ones = {name: np.ones(W.shape, np.float32) for name, W in weights.items()}
    narrow = TrainedModel(ones, architecture, 1, 2, False)
    with pytest.raises(ValueError, match="features must be finite, but row 2 is not once scaled"):
        gnn.predict(narrow, graph, [[1.0], [1.0], [1e200]])


def test_data_sets_say_how_they_were_scaled(folder):
    data = load_dataset(folder, dtype="float64")
    mean, std = data.scaling
    np.testing.assert_allclose(mean, raw(folder)[data.train].mean(axis=0))
    np.testing.assert_allclose(std, raw(folder)[data.train].std(axis=0))
    np.testing.assert_array_equal(data.inputs(), (raw(folder) - mean) / std)


@pytest.mark.parametrize("source", ["karate", "communities", "cora", "computers"])
def test_a_data_set_scaled_as_another(source):
    source = real(source) if source in ("cora", "computers") else source
    own = load_dataset(source)
    again = load_dataset(source, scaling=own.scaling)
    assert own.inputs().tobytes() == again.inputs().tobytes()
    own = load_dataset(source, scaling="standard")
    mean, std = own.scaling
    other = load_dataset(source, scaling=(mean + std, 2 * std))
    np.testing.assert_allclose(other.inputs(), (own.inputs() - 1) / 2, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(other.scaling[1], 2 * std)


def test_a_model_keeps_its_scaling_where_the_training_nodes_differ(folder, tiny_model, tmp_path):
    data = load_dataset(folder)
    other = write_graphsaint(tmp_path / "other")
    roles = json.loads((other / "role.json").read_text())
    roles["tr"], roles["te"] = roles["tr"][65:], roles["te"] + roles["tr"][:65]
    keep = sp.diags_array(np.isin(np.arange(NODES), roles["tr"]).astype(np.float32))
    inside = sp.csr_array(keep @ sp.load_npz(other / "adj_train.npz") @ keep)
    inside.eliminate_zeros()
    sp.save_npz(other / "adj_train.npz", inside)
    (other / "role.json").write_text(json.dumps(roles))
    assert not np.allclose(load_dataset(other).inputs(), data.inputs())
    scaled = load_dataset(other, scaling=data.scaling)
    assert scaled.inputs().tobytes() == data.inputs().tobytes()
    for source in (folder, other):
        argv = ["predict", tiny_model, "--data", source, "--what", "embeddings"]
        assert main([*map(str, argv), "--out", str(tmp_path / f"{source.name}.npy")]) == 0
    here, there = (tmp_path / f"{source.name}.npy" for source in (folder, other))
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
def test_refused_scaling(folder, scaling, error, words):
    with pytest.raises(error, match=words):
        load_dataset(folder, scaling=scaling)
