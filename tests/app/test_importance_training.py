"""Training by FastGCN and LADIES: the first step in dense algebra, gradients, and runs."""

from itertools import product

import numpy as np
import pytest
from minibatches import next_minibatch
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits
from tiny_data import tiny_dataset

import fastimpl
import refimpl
from refimpl.lab.backend import find
from refimpl.lab.data.communities import communities
from refimpl.lab.training.config import config_from
from refimpl.streams import LAYER, SHUFFLE, key

pytestmark = pytest.mark.runs

MODELS, METHODS = ("sage", "gcn"), ("fastgcn", "ladies")
EACH = pytest.mark.parametrize(("model", "method"), list(product(MODELS, METHODS)))
ALL_OPTIONS = {"bias": True, "dropout": 0.3, "row_l2": True}


def config_of(model, method, **options):
    """Return a small TrainConfig, with batches of 40 of the 130 nodes."""
    few = {"batch_size": 40, "layer_sizes": (30, 50), "hidden": 8, "rng": 6}
    return config_from({"model": model, "method": method, **few, **options})


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return tiny_dataset(tmp_path_factory.mktemp("tiny"), "float64")


def bits(state):
    groups = (state.weights, state.m, state.v, state.best_weights)
    return tuple(W.tobytes() for group in groups for W in group.values())


@EACH
def test_the_first_step_in_dense_algebra(gnn, dataset, model, method):
    """Keys, roots, and the layers that `importance` says: P is of the whole training graph."""
    with gnn.make_trainer(dataset, config_of(model, method)) as trainer:
        W = {name: w.copy() for name, w in trainer.state.weights.items()}
        loss, _, count, _ = trainer.step()
    graph = dataset.train_graph
    roots = gnn.streams.pick_without_replacement(key(6, SHUFFLE, 0), 0, graph.n, graph.n)[:40]
    norm = {"sage": gnn.adjacency.row_norm, "gcn": gnn.adjacency.sym_norm}[model](graph)
    sample = find(gnn, f"{method}_sample")
    (nodes, blocks), values = sample(norm.graph, norm.data, roots, (30, 50), key(6, LAYER, 0, 0))
    assert_array_equal(nodes[2], roots)
    H = dataset.inputs(dataset.train[nodes[0]])
    for number, (block, data) in enumerate(zip(blocks, values, strict=True), start=1):
        sums = block.to_scipy(data).toarray() @ H
        if model == "sage":
            own = H[: block.n_dst] @ W[f"layer{number}.W_self"]
            H = np.maximum(np.hstack([sums @ W[f"layer{number}.W_neigh"], own]), 0)
        else:
            H = np.maximum(sums @ W[f"layer{number}.W"], 0)
    logits = H @ W["classifier.W"]
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    Y = dataset.targets(dataset.train[roots])
    assert count == 40
    assert loss == pytest.approx(-np.log((P * Y).sum(axis=1)).mean(), rel=1e-12)
    gradient = trainer.state.m["classifier.W"] / 0.1
    assert_allclose(gradient, H.T @ (P - Y) / 40, rtol=0, atol=1e-12)


@EACH
def test_the_key_of_a_batch_is_its_place_in_its_epoch(gnn, dataset, model, method):
    """Four batches an epoch."""
    graph = dataset.train_graph
    norm = {"sage": gnn.adjacency.row_norm, "gcn": gnn.adjacency.sym_norm}[model](graph)
    sample = find(gnn, f"{method}_sample")
    with gnn.make_trainer(dataset, config_of(model, method)) as trainer:
        for epoch, b in product(range(2), range(4)):
            shuffled = gnn.streams.pick_without_replacement(
                key(6, SHUFFLE, epoch), 0, graph.n, graph.n
            )
            stream, roots = key(6, LAYER, epoch, b), shuffled[40 * b : 40 * b + 40]
            want = sample(norm.graph, norm.data, roots, (30, 50), stream)
            operands, X, Y, _ = next_minibatch(trainer)
            assert_array_equal(X, trainer.run.load(want.mfg.nodes[0]))
            assert_array_equal(Y, trainer.run.targets(roots)[0])
            for A, data in zip(operands, want.values, strict=True):
                assert_array_equal(A.data, data)


@pytest.mark.parametrize("options", [{}, ALL_OPTIONS], ids=["plain", "all"])
@EACH
def test_gradients_are_differences_of_the_loss(gnn, dataset, model, method, options):
    with gnn.make_trainer(dataset, config_of(model, method, **options)) as trainer:
        operands, X, Y, weights_of_nodes = next_minibatch(trainer)
        stack = trainer.stack
        rng = np.random.default_rng(3)
        weights = {
            name: W + 0.1 * rng.normal(size=W.shape) for name, W in trainer.state.weights.items()
        }

    def loss(weights):
        logits, kept = stack.forward(weights, operands, X, 5)
        return stack.loss(logits, Y, weights_of_nodes), kept

    at, kept = loss(weights)
    gradients = stack.gradients(weights, operands, kept, at.gradient)
    largest = max(np.abs(g).max(initial=0) for g in gradients.values())
    for name, W in weights.items():
        way, h = rng.normal(size=W.shape), 1e-6
        up, down = (loss({**weights, name: W + sign * h * way})[0].value for sign in (1, -1))
        slope = (gradients[name] * way).sum()
        assert abs((up - down) / (2 * h) - slope) < 2e-6 * largest * W.size, name


@EACH
def test_the_loss_falls(gnn, dataset, model, method):
    config = config_of(model, method, epochs=16, lr=0.02)
    losses = [record.loss for record in gnn.train(dataset, config).history]
    assert losses[-1] < 0.9 * losses[0]


@EACH
def test_it_learns_communities(model, method):
    """Better than without the graph, which reaches 0.60 of the test nodes."""
    config = refimpl.TrainConfig(method=method, model=model, hidden=64, epochs=8)
    assert fastimpl.train(communities(0), config).test_f1 > 0.7


@EACH
def test_weights_do_not_depend_on_pool_thread_or_threads(gnn, dataset, model, method):
    large = gnn is fastimpl
    data = communities(0) if large else dataset
    big = {"hidden": 64, "epochs": 1, "batch_size": 1024, "layer_sizes": (800, 800)}
    results = set()
    for pool, background, threads in [(1, False, 1), (2, True, 2), (5, False, 5), (5, True, 1)]:
        options = {"pool": pool, "background": background}
        config = config_of(model, method, **options, **(big if large else {"epochs": 2}))
        with threadpool_limits(threads):
            result = gnn.train(data, config)
        results.add((bits(result.state), tuple(r[:4] for r in result.history)))
    assert len(results) == 1


@EACH
def test_both_packages_train_alike(dataset, model, method):
    """The samples are the same bits; weights differ by the rounding of dense products."""
    config = config_of(model, method, epochs=3)
    a, b = (gnn.train(dataset, config).weights for gnn in (refimpl, fastimpl))
    for name, W in a.items():
        assert_allclose(b[name], W, rtol=0, atol=1e-9)


@EACH
def test_a_run_goes_on_in_the_middle_of_an_epoch(gnn, dataset, model, method):
    config = config_of(model, method, dropout=0.2)
    with gnn.make_trainer(dataset, config) as whole, gnn.make_trainer(dataset, config) as first:
        losses = [whole.step()[0] for _ in range(9)]
        for _ in range(5):
            first.step()
        with gnn.make_trainer(dataset, config, first.state) as second:
            assert [second.step()[0] for _ in range(4)] == losses[5:]
            assert bits(second.state) == bits(whole.state)


@EACH
def test_training_never_sees_validation_or_test_nodes(gnn, tmp_path, model, method):
    poisoned, clean = (tiny_dataset(tmp_path) for _ in range(2))
    poisoned.features[np.concatenate([poisoned.val, poisoned.test])] = np.nan
    config = config_of(model, method, background=True)
    with gnn.make_trainer(poisoned, config) as bad, gnn.make_trainer(clean, config) as good:
        for _ in range(4):
            loss = bad.step().loss
            assert np.isfinite(loss)
            assert loss == good.step().loss
        assert bits(bad.state) == bits(good.state)


@EACH
def test_one_draw_a_layer_leaves_rows_empty_and_still_trains(gnn, dataset, model, method):
    """The data set has a node without edges, too."""
    with gnn.make_trainer(dataset, config_of(model, method, layer_sizes=(1, 1))) as trainer:
        empty = 0
        for _ in range(8):
            operands, *_ = next_minibatch(trainer)
            empty += sum((A.graph.degrees() == 0).sum() for A in operands)
            assert np.isfinite(trainer.step()[0])
        assert (empty == 0) == (model == "gcn" and method == "ladies")


def test_settings_that_do_not_fit_are_refused(dataset):
    for method in METHODS:
        default = refimpl.TrainConfig(method=method, layers=3).fitted(dataset).method
        assert default.layer_sizes == (512, 512, 512)
        assert config_of("sage", method, layer_sizes=[3, 4]).method.layer_sizes == (3, 4)
        for model in ("mixhop", "gat", "mlp"):
            with pytest.raises(ValueError, match="model must be one of sage, gcn where method is"):
                refimpl.TrainConfig(method=method, model=model)
        for sizes, error, message in (
            ((1,), ValueError, "layer_sizes must have 2 numbers"),
            ((0, 1), ValueError, "layer_sizes must be in"),
            (5, TypeError, "layer_sizes must be a tuple of ints"),
            ((1.0, 2), TypeError, "layer_sizes must be an integer"),
        ):
            with pytest.raises(error, match=message):
                config_of("gcn", method, layer_sizes=sizes).fitted(dataset)
    with pytest.raises(ValueError, match='layer_sizes is no setting where .*method is "layer"'):
        config_from({"method": "layer", "layer_sizes": (3, 4)})
