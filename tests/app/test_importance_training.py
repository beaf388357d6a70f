"""Training by FastGCN and LADIES: the first step in dense algebra, gradients, and runs."""

from itertools import product

import numpy as np
import pytest
from minibatches import next_minibatch
from numpy.testing import assert_allclose, assert_array_equal
from test_models_train import check_differences

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
    check_differences(gnn, dataset, config_of(model, method, **options))


@EACH
def test_it_learns_communities(model, method):
    """Better than without the graph, which reaches 0.60 of the test nodes."""
    config = refimpl.TrainConfig(method=method, model=model, hidden=64, epochs=8)
    assert fastimpl.train(communities(0), config).test_f1 > 0.7


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
