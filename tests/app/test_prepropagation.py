"""Pre-propagation: SIGN and SGC against dense algebra, scikit-learn and runs of other ways."""

import errno
from dataclasses import replace
from itertools import repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits
from tiny_data import tiny_dataset, write_graphsaint
from worker_cases import bits, on_ranks

import fastimpl
import refimpl
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training import preset
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.methods.prepropagation import propagated_rows, temporary_map
from refimpl.lab.training.model import TrainedModel

pytestmark = pytest.mark.runs

WAYS = [
    {},
    {"powers": "last", "layers": 1, "classifier": "layer"},  # SGC
    {"hops": 0},
    {"hops": 3, "bias": True, "dropout": 0.3, "layers": 3},
    {"hops": 1, "layers": 1, "row_l2": True},
]


def config_of(**options):
    usual = {"hidden": 8, "rng": 5, "batch_size": 30, "lr": 0.05, "epochs": 2}
    return config_from({"model": "sign", "method": "prepropagation", **usual, **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="module", params=["inductive", "transductive", "multilabel"])
def dataset(folder, request):
    if request.param == "multilabel":
        data = load_dataset(write_graphsaint(folder / "several", True), dtype="float64")
        return replace(data, features=np.array(data.features))
    data = tiny_dataset(folder / "one", "float64")
    if request.param == "inductive":
        return data
    return replace(data, induced=None, setting="transductive")


def dense_powers(graph, X, hops, weights=None):
    """Return X, A X, .., A^hops X by dense products, with GCN's A."""
    A = graph.to_scipy(weights).toarray() + np.eye(graph.n)
    degrees = A.sum(axis=1)
    A = A / np.sqrt(np.outer(degrees, degrees))
    return [np.linalg.matrix_power(A, k) @ X for k in range(hops + 1)]


def training_features(data):
    return data.inputs(data.in_graph(np.arange(data.train_graph.n)))


@pytest.mark.parametrize("memory", [2**30, 1])
@pytest.mark.parametrize("powers", ["all", "last"])
@pytest.mark.parametrize("hops", [0, 3])
def test_rows_are_dense_powers(gnn, dataset, tmp_path, hops, powers, memory):
    """In memory, and in a file where features are mapped, in blocks of 8 and of 1 columns."""
    config = config_of(hops=hops, powers=powers, eval_memory=memory)
    X = training_features(dataset)
    expected = dense_powers(dataset.train_graph, X, hops)
    expected = np.hstack(expected if powers == "all" else expected[-1:])
    mapped = mapped_copy(X, tmp_path)
    found = []
    for features in (None, X, mapped):
        run = gnn.make_trainer(dataset, config, features=features).run
        Z = propagated_rows(run, run.roots)
        assert isinstance(Z, np.memmap) == (features is mapped)
        assert_allclose(Z, expected[run.roots], rtol=1e-11, atol=1e-13)
        found.append(Z.tobytes())
    assert found[0] == found[1] == found[2]


def test_weights_of_edges_are_in_the_powers(gnn, folder):
    """Of the rows that train, and of the exact pass."""
    data = replace(tiny_dataset(folder / "weights", "float64"), induced=None)
    W = np.triu(np.random.default_rng(0).uniform(0.5, 2, (data.graph.n,) * 2), 1)
    W = (W + W.T) * data.graph.to_scipy().toarray()
    weights = W[W > 0]
    graph = gnn.graph.WeightedGraph(data.graph, weights)
    data = replace(data, graph=graph, setting="transductive")
    with gnn.make_trainer(data, config_of(hops=2)) as trainer:
        Z = propagated_rows(trainer.run, trainer.run.roots)
        model = TrainedModel.trained(data, trainer.config, trainer.state.weights)
    expected = np.hstack(dense_powers(data.graph, training_features(data), 2, weights))
    assert_allclose(Z, expected[data.train], rtol=1e-11, atol=1e-13)
    hidden = expected
    for layer in ("layer1", "layer2"):
        hidden = np.maximum(hidden @ model.weights[f"{layer}.W"], 0)
    X = data.inputs(np.arange(data.graph.n))
    found = gnn.predict(model, data.graph, X, what="embeddings", scaled=True)
    assert_allclose(found, hidden, rtol=1e-10, atol=1e-12)


def test_blocks_of_columns(dataset, tmp_path, monkeypatch):
    """Where features are mapped, a block of columns and its product take the memory asked for."""
    n, f = dataset.train_graph.n, dataset.features.shape[1]
    seen = []
    own = refimpl.feature_propagate

    def watched(graph, data, X, plan, p):
        seen.append(X.shape)
        return own(graph, data, X, plan, p)

    monkeypatch.setattr(refimpl, "feature_propagate", watched)
    data = replace(dataset, features=mapped_copy(dataset.features, tmp_path))
    for fitting, columns in ((1, 1), (5, 5), (f, 8)):  # from 8 on whole cache lines
        seen.clear()
        memory = 2 * fitting * n * 8
        refimpl.make_trainer(data, config_of(hops=2, eval_memory=memory)).close()
        assert len(seen) == 2 * -(-f // columns)
        assert max(width for _, width in seen) == columns


def test_rows_of_features_that_are_read_ahead_are_in_a_file(gnn, dataset, tmp_path):
    path = tmp_path / "features.npy"
    gnn.loader.write_features(path, dataset.features.astype(np.float32))
    data = replace(dataset, features=gnn.loader.open_features(path), dtype=np.float32)
    rows = {}
    for ahead in (False, True):
        with gnn.loader.LookaheadFeatures(path, 10**6) as features:
            run = gnn.make_trainer(data, config_of(), features=features if ahead else None).run
            rows[ahead] = propagated_rows(run, run.roots)
    assert isinstance(rows[True], np.memmap)
    assert_array_equal(rows[True], rows[False])


def mapped_copy(X, folder):
    """Return the same array, mapped from a file."""
    np.save(folder / "features.npy", X)
    return np.load(folder / "features.npy", mmap_mode="r")


@pytest.mark.parametrize("options", WAYS)
def test_the_exact_pass_is_training_on_all_rows(gnn, dataset, options):
    """Scores are of the network that is trained: its logits are those of dense algebra."""
    config = config_of(**options)
    trained = gnn.train(dataset, config, progress=False)
    model = TrainedModel.trained(dataset, config, trained.weights)
    X = dataset.inputs(np.arange(dataset.graph.n))
    powers = dense_powers(dataset.graph, X, config.model.hops)
    H = np.hstack(powers if config.model.powers == "all" else powers[-1:])
    for place in model.stack(gnn).layers:
        W = trained.weights
        H = H @ W[f"{place}.W"] + W.get(f"{place}.b", 0)
        if place != model.stack(gnn).top:
            H = np.maximum(H, 0)
        if place == f"layer{config.layers}" and config.row_l2:
            H /= np.maximum(np.linalg.norm(H, axis=1, keepdims=True), 1e-12)
    if dataset.multilabel:
        expected = 1 / (1 + np.exp(-H))
    else:
        expected = np.exp(H - H.max(axis=1, keepdims=True))
        expected /= expected.sum(axis=1, keepdims=True)
    how = {"what": "probabilities", "scaled": True}
    found = gnn.predict(model, dataset.graph, X, **how)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-11)
    some = np.array([7, 150, 3])
    for memory in (1, 2**30):
        few = gnn.predict(model, dataset.graph, X, some, eval_memory=memory, **how)
        assert_array_equal(few, found[some])


def test_sgc_without_hops_is_logistic_regression(gnn, folder):
    """It goes to the optimum that scikit-learn finds, whole-batch Adam to its gradient's zero."""
    linear = pytest.importorskip("sklearn.linear_model")
    data = tiny_dataset(folder / "logistic", "float64")
    sgc = {"powers": "last", "layers": 1, "classifier": "layer", "bias": True}
    decay = 0.02
    config = config_of(
        hops=0, **sgc, batch_size=130, epochs=4000, lr=0.01, weight_decay=decay, eval_every=4000
    )
    result = gnn.train(data, config, progress=False)
    weights = result.state.weights
    X, y = training_features(data), data.labels[data.train]
    optimum = linear.LogisticRegression(C=1 / (decay * len(y)), tol=1e-10, max_iter=10000).fit(X, y)
    W, b = weights["layer1.W"], weights["layer1.b"]
    assert_allclose(W - W.mean(1, keepdims=True), optimum.coef_.T, atol=2e-5)
    assert_allclose(b - b.mean(), optimum.intercept_ - optimum.intercept_.mean(), atol=2e-5)


@pytest.mark.parametrize("options", WAYS)
def test_gradients_are_differences_of_the_loss(gnn, dataset, options):
    config = config_of(**options, batch_size=20)
    trainer = gnn.make_trainer(dataset, config)
    for _ in range(8):
        trainer.step()
    trainer.iterations.batches = repeat(next(trainer.iterations.batches))
    step = trainer.iterations.iteration()
    for name, gradient in step.gradients.items():
        W, way = trainer.state.weights[name], np.random.default_rng(1)
        way = way.standard_normal(W.shape)
        slope = 0.0
        for sign in (1, -1):
            W += sign * 1e-6 * way
            slope += sign * trainer.iterations.iteration().loss
            W -= sign * 1e-6 * way
        assert slope / 2e-6 == pytest.approx((gradient * way).sum(), rel=2e-4, abs=1e-7), name


def test_an_epoch_reads_each_training_row_once_in_one_order(gnn, dataset):
    trainer = gnn.make_trainer(dataset, config_of(batch_size=37))
    nodes, Z = trainer.iterations.nodes, trainer.iterations.Z
    assert_array_equal(np.sort(nodes), trainer.run.roots)
    assert not np.array_equal(nodes, trainer.run.roots)
    assert_array_equal(Z, propagated_rows(trainer.run, nodes))
    trainer.epoch()
    assert trainer.state.iterations == -(-len(nodes) // 37)
    rows = trainer.counts_of_epoch
    assert rows.inputs == rows.loaded == len(nodes)
    assert rows.bytes == Z.nbytes == len(nodes) * 3 * dataset.features.shape[1] * 8


def test_seconds_of_propagation_are_counted_once(gnn, dataset):
    seconds = dict(gnn.make_trainer(dataset, config_of()).meter.seconds)
    assert seconds.pop("normalization") > 0
    assert not any(seconds.values())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", WAYS)
def test_both_packages_agree(folder, dtype, options):
    """Rows have the same bits, losses are close."""
    data, config = tiny_dataset(folder / dtype, dtype), config_of(**options)
    runs = [gnn.make_trainer(data, config) for gnn in (refimpl, fastimpl)]
    assert runs[0].iterations.Z.tobytes() == runs[1].iterations.Z.tobytes()
    assert runs[0].iterations.Z.dtype == dtype
    rel = {"float32": 1e-4, "float64": 1e-10}[dtype]
    for _ in range(10):
        losses = [run.step().loss for run in runs]
        assert losses[0] == pytest.approx(losses[1], rel=rel)


def test_threads_ranks_and_storage_change_no_bit(dataset, tmp_path, monkeypatch):
    config = config_of(workers_a_step=4, dropout=0.2, batch_size=12)
    data = replace(dataset, features=mapped_copy(dataset.features, tmp_path))
    found = [bits(fastimpl.train(data, config, progress=False))]
    for threads in (1, 3):
        with threadpool_limits(threads):
            found.append(bits(fastimpl.train(dataset, config, progress=False)))
    found += [bits(result) for result in on_ranks(fastimpl, 2, dataset, config)]
    for lanes in (1, 7):
        monkeypatch.setattr("os.cpu_count", lambda lanes=lanes: lanes)
        found.append(bits(fastimpl.train(dataset, config, progress=False)))
    assert all(one == found[0] for one in found)


def test_a_full_disk_names_the_folder(monkeypatch, tmp_path):
    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(OSError, match="No space") as caught:
        temporary_map((3, 4), np.float32)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == f"{tmp_path} (TMPDIR)"


def test_half_features_are_propagated_in_full(folder):
    data = tiny_dataset(folder / "half", "float32")
    half = data.features.astype(np.float16)
    rows = [
        refimpl.make_trainer(replace(data, features=X), config_of()).iterations.Z
        for X in (half, half.astype(np.float32))
    ]
    assert rows[0].dtype == np.float32
    assert_array_equal(*rows)


@pytest.mark.parametrize("name", ["sgc", "sign"])
def test_presets_learn(gnn, folder, name):
    data = tiny_dataset(folder / name, "float32")
    result = gnn.train(data, preset(name, hidden=32, batch_size=64), progress=False)
    assert result.val_f1 > 0.85
    assert len(result.weights) == {"sgc": 1, "sign": 3}[name]


def test_the_classifier(gnn, folder):
    data = tiny_dataset(folder / "classifier", "float64")
    model = gnn.NodeClassifier(model="sign", method="prepropagation", hidden=8, epochs=3, rng=1)
    y = data.labels.astype(float)
    labels = np.where(np.isin(np.arange(data.graph.n), data.train), data.labels, -1)
    model.fit(data.features, labels, graph=data.graph)
    assert model.predict(data.features, graph=data.graph).shape == y.shape


def test_what_does_not_fit(gnn, dataset):
    for method in METHODS.keys() - {"prepropagation"}:
        with pytest.raises(ValueError, match=f'"({method}|sign)"'):
            gnn.make_trainer(dataset, config_from({"model": "sign", "method": method}))
    with pytest.raises(ValueError, match='method must be "prepropagation" where model is "sign"'):
        gnn.make_trainer(dataset, gnn.TrainConfig(model="sign"))
    for model in ("sage", "gcn", "mlp"):
        with pytest.raises(ValueError, match='model must be one of sign where method is "prep'):
            config_from({"model": model, "method": "prepropagation"})
    with pytest.raises(ValueError, match="features must not be FeatureParts where method is"):
        on_ranks(gnn, 2, dataset, config_of(workers_a_step=2), parts=True)
    with pytest.raises(ValueError, match="powers must be"):
        config_of(powers="first")
    with pytest.raises(ValueError, match="hops must be in"):
        config_of(hops=-1)
