"""Training on sparse features beside training on the same numbers in an array."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from comparison import threads
from numpy.testing import assert_allclose, assert_array_equal
from test_dataset_folders import KNOWN, write_planetoid

import fastimpl
import refimpl
from refimpl import Sampler, TrainConfig, as_graph, methods
from refimpl.lab.apps.cli import main
from refimpl.lab.training.run import reads_sparse

pytestmark = pytest.mark.runs

N, WIDTH = 60, 200
GRAPH = as_graph(
    np.random.default_rng(0).integers(0, N - 2, (150, 2)), n=N, symmetrize=True, self_loops=False
)
X = sp.random_array((N, WIDTH), density=0.04, rng=1, format="csr", dtype=np.float64)
X.data = np.ceil(X.data * 3)
LABELS = np.random.default_rng(2).integers(0, 3, N)
METHODS = [
    methods.FullBatch(),
    methods.SampledGraph(sampler=Sampler("frontier", m=5, n=30)),
    methods.ClusterGcn(clusters=4, clusters_per_batch=2),
    methods.Neighbor(batch_size=9, fanouts=(3, 2)),
    methods.LayerSampling(batch_size=9, fanouts=(3, 2)),
    methods.Ladies(batch_size=9),
    methods.FastGcn(batch_size=9),
]
NO_MLP = "neighbor", "layer", "ladies", "fastgcn"


def dataset(gnn, features, dtype="float64"):
    return gnn.Dataset.from_arrays(GRAPH, features, LABELS, scaling="rows", dtype=dtype)


def config(model, method, **options):
    options = {"epochs": 2, "hidden": 8, "rng": 3, "layers": 2, **options}
    return TrainConfig(model=model, method=method, **options)


def trained(gnn, features, model, method, dtype="float64", **options):
    found = config(model, method, **options)
    return gnn.train(dataset(gnn, features, dtype), found, progress=False)


def assert_same(got, want, **tolerance):
    """Check that two runs have the same losses, scores and weights."""
    for name in ("loss", "val_f1"):
        found, wanted = ([getattr(one, name) for one in run.history] for run in (got, want))
        assert_allclose(found, wanted, **tolerance)
    assert got.weights.keys() == want.weights.keys()
    for name, W in want.weights.items():
        assert_allclose(got.weights[name], W, err_msg=name, **tolerance)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("model", ["gcn", "sage", "mlp"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_sparse_and_dense_features_train_the_same_weights(gnn, model, method, dropout):
    if model == "mlp" and method.name in NO_MLP:
        pytest.skip("the method is for layers that look at neighbours")
    assert reads_sparse(dataset(gnn, X), config(model, method))
    got, want = (
        trained(gnn, features, model, method, dropout=dropout) for features in (X, X.toarray())
    )
    assert_same(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("model", "options"), [("gcn", {"layers": 1}), ("sage", {"hidden": 256})])
def test_layers_of_other_shapes_do_too(model, options):
    """A layer that is the classifier, and one that is wider than its input."""
    options |= {"classifier": "layer"} if model == "gcn" else {}
    got, want = (
        trained(fastimpl, features, model, "full", "float32", **options)
        for features in (X, X.toarray())
    )
    assert_same(got, want, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "method"), [("gat", "full"), ("mixhop", "layer"), ("sage", "fresh"), ("gcn", "gas")]
)
def test_other_models_and_methods_read_dense_rows(gnn, model, method):
    assert not reads_sparse(dataset(gnn, X), config(model, method))
    got, want = (trained(gnn, features, model, method) for features in (X, X.toarray()))
    assert_same(got, want, rtol=1e-10, atol=1e-13)


def test_both_packages_train_alike_on_any_number_of_threads():
    runs = {}
    for count in (1, 2):
        with threads(count):
            runs[count] = trained(fastimpl, X, "sage", "full", dropout=0.5)
    for name, W in runs[1].weights.items():
        assert_array_equal(runs[2].weights[name], W)
    assert_same(runs[1], trained(refimpl, X, "sage", "full", dropout=0.5), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS[:4:3], ids=lambda method: method.name)
def test_a_run_that_goes_on_has_the_same_bits(gnn, method):
    options = {"dropout": 0.5, "epochs": 4}
    whole = trained(gnn, X, "gcn", method, **options)
    half = trained(gnn, X, "gcn", method, **options | {"epochs": 2})
    data, more = dataset(gnn, X), config("gcn", method, **options)
    again = gnn.train(data, more, state=half.state, progress=False)
    for name, W in whole.weights.items():
        assert_array_equal(again.weights[name], W)


def test_no_dense_copy_is_made():
    """As an array these features would take 1.2 TB; all that is made of them stays below 64 MB."""
    n, width, rng = 300_000, 1_000_000, np.random.default_rng(0)
    graph = as_graph(rng.integers(0, n, (1000, 2)), n=n, symmetrize=True, self_loops=False)
    places = np.arange(n), rng.integers(0, width, n)
    features = sp.coo_array((np.ones(n, np.float32), places), shape=(n, width))
    parts = {"train": np.arange(50), "val": np.arange(50, 99), "test": np.arange(99, 150)}
    tracemalloc.start()
    data = fastimpl.Dataset.from_arrays(graph, features, np.arange(n) % 2, scaling="rows", **parts)
    for method in ("full", "neighbor"):
        options = {"layers": 1, "classifier": "layer", "epochs": 1, "dropout": 0.5}
        found = config("gcn", method, **options)
        result = fastimpl.train(data, found, progress=False)
    model = fastimpl.lab.training.TrainedModel.trained(data, found, result.weights)
    labels = fastimpl.lab.training.predict(model, graph, features)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(labels) == n
    assert peak < 500e6


@pytest.mark.parametrize("what", ["labels", "probabilities", "embeddings"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("scaling", ["rows", "none", "standard"])
def test_predict_takes_a_sparse_matrix(gnn, what, layers, scaling):
    data = gnn.Dataset.from_arrays(GRAPH, X.toarray(), LABELS, scaling=scaling)
    more = {"layers": layers, "epochs": 1, "classifier": "layer"}
    found = config("gcn", "full", **more)
    result = gnn.train(data, found, progress=False)
    model = gnn.lab.training.TrainedModel.trained(data, found, result.weights)
    for nodes, memory in ((None, 2**30), (np.array([7, 3, 3, 41]), 4000)):
        got, want = (
            gnn.lab.training.predict(model, GRAPH, features, nodes, what, eval_memory=memory)
            for features in (X.tocoo(), X.toarray())
        )
        assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def test_the_estimator_takes_a_sparse_matrix(gnn):
    pytest.importorskip("sklearn")
    options = {"model": "gcn", "method": "full", "epochs": 3, "hidden": 8, "rng": 1}
    nodes = np.arange(0, N, 2)
    found = []
    for features in (X, X.toarray()):
        one = gnn.NodeClassifier(**options)
        one.fit(features, LABELS, graph=GRAPH, progress=False)
        part = gnn.NodeClassifier(**options)
        part.fit(features[nodes], LABELS[nodes], graph=GRAPH, nodes=nodes, progress=False)
        others = np.arange(1, N, 2)
        found.append(
            [one.predict_proba(), part.predict_proba(features[others], graph=GRAPH, nodes=others)]
        )
    assert sp.issparse(one.__class__(**options).fit(X, LABELS, progress=False).X_)
    for got, want in zip(*found, strict=True):
        assert_allclose(got, want, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:ignored 1 self-loop")
def test_planetoids_files_stay_sparse(tmp_path, capsys):
    """One word a node: 1 of 50 columns, so 2%."""
    words = sp.csr_matrix(np.eye(50, dtype=np.float32)[np.arange(KNOWN) % 50])
    folder = write_planetoid(tmp_path, allx=words, x=words[:2], tx=words[:4])
    data = refimpl.load_dataset(folder)
    assert sp.issparse(data.features) and data.features.nnz == KNOWN + 4
    dense = refimpl.load_dataset(folder, scaling="standard")
    assert_array_equal(dense.features, data.features.toarray())
    for method, how in (("full", "as such"), ("fresh", "as dense rows")):
        argv = ["train", "--data", str(folder), "--model", "gcn", "--epochs", "1", "--hidden", "4"]
        assert main([*argv, "--method", method, "--out", str(tmp_path / method)]) == 0
        assert f"features: a sparse matrix (2.00% are not 0), read {how}" in capsys.readouterr().out
    metrics = json.loads((tmp_path / "full" / "metrics.json").read_text())
    assert metrics["dataset"]["features"] == 50
