"""Every model by every method: gradients of the whole stack, same bits, resume, what is read."""

from itertools import product

import numpy as np
import pytest
from dense_histories import bits
from minibatches import next_minibatch

from refimpl.lab.backend import find
from refimpl.lab.training.config import config_from
from refimpl.lab.training.models.base import order_on
from refimpl.lab.training.models.mixhop import depth_on
from refimpl.lab.training.stack import Stack
from refimpl.scheduling import ProductOrders
from refimpl.streams import DROPOUT, INIT, LAYER, SHUFFLE, key

pytestmark = pytest.mark.runs

MODELS = ("sage", "gcn", "mixhop", "gat", "mlp")
ALL_OPTIONS = {"bias": True, "dropout": 0.3, "row_l2": True}
OF_A_MODEL = {"gat": {"heads": 2}, "sage": {"concat": "self_first"}, "mixhop": {"hops": 3}}


def config_of(model, method, **options):
    """Return a small TrainConfig."""
    if method == "layer":
        options = {"batch_size": 40, **options}
    return config_from({"model": model, "method": method, "hidden": 8, "rng": 6, **options})


def copied(state):
    return {name: W.copy() for name, W in state.weights.items()}


# One step.


@pytest.mark.parametrize("method", ["graph", "layer"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        *((model, {}) for model in MODELS),
        *((model, ALL_OPTIONS | OF_A_MODEL.get(model, {})) for model in MODELS),
        ("gat", {"attention": "softmax", "bias": True}),
        ("gat", {"attention": "none", "row_l2": True}),
        ("mixhop", {"hops": 0, "layers": 1, "dropout": 0.5}),
        ("mixhop", {"hops": 1, "layers": 3}),
        ("gcn", {"layers": 1, "row_l2": True}),
        ("sage", {"layers": 3, "dropout": 0.1}),
    ],
)
def test_gradients_of_the_stack_are_differences_of_the_loss(gnn, dataset, model, options, method):
    check_differences(gnn, dataset, config_of(model, method, **options))


def check_differences(gnn, dataset, config):
    """Finite differences of the whole: in a random direction, every weight moving at once."""
    with gnn.make_trainer(dataset, config) as trainer:
        operands, X, Y, node_weights = next_minibatch(trainer)
        stack = trainer.stack
        rng = np.random.default_rng(3)
        weights = {  # biases too are to be moved from something else than 0
            name: W + 0.1 * rng.normal(size=W.shape) for name, W in trainer.state.weights.items()
        }

    def loss(weights):
        logits, kept = stack.forward(weights, operands, X, 5)
        return stack.loss(logits, Y, node_weights), kept

    at, kept = loss(weights)
    gradients = stack.gradients(weights, operands, kept, at.gradient)
    assert {name: g.shape for name, g in gradients.items()} == stack.shapes()
    largest = max(np.abs(g).max(initial=0) for g in gradients.values())
    for name, W in weights.items():
        way = rng.normal(size=W.shape)
        h = 1e-6
        up, down = (loss({**weights, name: W + sign * h * way})[0].value for sign in (1, -1))
        slope = (gradients[name] * way).sum()
        assert abs((up - down) / (2 * h) - slope) < 2e-6 * largest * max(W.size, 1), name


def test_the_first_layer_computes_no_gradient_of_its_input(gnn, dataset):
    for model, dropout in product(MODELS, (0.0, 0.5)):
        config = config_of(model, "graph", dropout=dropout)
        with gnn.make_trainer(dataset, config) as trainer:
            operands, X, _, _ = next_minibatch(trainer)
        W = trainer.state.weights
        _, kept = trainer.stack.forward(W, operands, X, 0)
        for number, place in enumerate(["layer1", "layer2"]):
            own = {n.partition(".")[2]: w for n, w in W.items() if n.startswith(place)}
            used, needed, _ = kept[place]
            G = np.ones((len(X), 8))
            _, dX = trainer.stack.layers[place].backward(own, operands[number], used, needed, G)
            assert (dX is None) == (place == "layer1")


def test_the_first_batch_of_layer_sampling_in_dense_algebra(gnn, dataset):
    """Keys, roots and rows, by hand; the loss is the mean over the roots."""
    config = config_of("sage", "layer", fanouts=(3, 2))
    with gnn.make_trainer(dataset, config) as trainer:
        W = copied(trainer.state)
        loss, _, nodes, _ = trainer.step()
    n = dataset.train_graph.n
    roots = gnn.streams.pick_without_replacement(key(6, SHUFFLE, 0), 0, n, n)[:40]
    nodes_of, blocks = gnn.layer_sample(dataset.train_graph, roots, (3, 2), key(6, LAYER, 0, 0))
    np.testing.assert_array_equal(nodes_of[2], roots)
    H = dataset.inputs(dataset.train[nodes_of[0]])
    for number, block in enumerate(blocks, start=1):
        A = block.to_scipy().toarray()
        mean = A @ H / np.maximum(A.sum(axis=1, keepdims=True), 1)
        own = H[: block.n_dst] @ W[f"layer{number}.W_self"]
        H = np.maximum(np.hstack([mean @ W[f"layer{number}.W_neigh"], own]), 0)
    logits = H @ W["classifier.W"]
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    Y = dataset.targets(dataset.train[roots])
    assert nodes == 40
    assert loss == pytest.approx(-np.log((P * Y).sum(axis=1)).mean(), rel=1e-12)
    np.testing.assert_allclose(
        trainer.state.m["classifier.W"], 0.1 * H.T @ (P - Y) / 40, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("model", MODELS)
def test_dropout_has_the_masks_of_its_keys_and_evaluation_has_none(gnn, dataset, model):
    """An MLP by hand, every other model against a layer that is fed what was dropped."""
    rate = 0.4
    config = config_of(model, "full", dropout=rate, row_l2=True)
    with gnn.make_trainer(dataset, config) as trainer:
        stack, W = trainer.stack, trainer.state.weights
        operands, X, _, _ = next_minibatch(trainer)
        logits, kept = stack.forward(W, operands, X, 3)
        for number, place in enumerate(["layer1", "layer2", "classifier"]):
            mask = key(6, DROPOUT, 3, number)
            expected = gnn.dropout(X, rate, mask)
            np.testing.assert_array_equal(kept[place][0], expected)
            A = operands[number] if number < 2 else None
            own = {n.partition(".")[2]: w for n, w in W.items() if n.startswith(place)}
            X, _ = stack.layers[place].forward(own, A, expected)
        np.testing.assert_array_equal(logits, X)
        plain = gnn.make_trainer(dataset, config_of(model, "full", row_l2=True))
        assert trainer.scores(W, dataset.val) == plain.scores(W, dataset.val)
        X = dataset.features
        A = stack.operands(stack.adjacency(dataset.graph, dtype=X.dtype))
        evaluated, kept = stack.forward(W, A, X)
        assert kept["layer1"][0] is X
        np.testing.assert_array_equal(plain.stack.forward(W, A, X)[0], evaluated)


def test_steps_are_numbered_from_0_for_dropout(gnn, dataset):
    with gnn.make_trainer(dataset, config_of("gcn", "full", dropout=0.4)) as trainer:
        operands, X, Y, _ = next_minibatch(trainer)
        for iteration in range(3):
            logits, _ = trainer.stack.forward(trainer.state.weights, operands, X, iteration)
            assert trainer.step()[0] == trainer.stack.loss(logits, Y).value


def test_rows_reach_the_classifier_with_length_1(gnn, dataset):
    config = config_of("gcn", "full", row_l2=True)
    trainer = gnn.make_trainer(dataset, config)
    operands, X, _, _ = next_minibatch(trainer)
    _, kept = trainer.stack.forward(trainer.state.weights, operands, X)
    lengths = np.linalg.norm(kept["classifier"][0], axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    assert np.isclose(lengths, 1).mean() > 0.9
    assert not np.allclose(np.linalg.norm(kept["layer2"][0], axis=1), 1)


# What a model is made of.


def test_names_and_shapes_of_weights(gnn):
    shapes = {
        "sage": {"W_neigh": (5, 5), "W_self": (5, 4)},
        "gcn": {"W": (5, 9)},
        "mixhop": {"W0": (5, 3), "W1": (5, 2), "W2": (5, 2), "W3": (5, 2)},
        "gat": {"W": (5, 9), "a_recv": (3, 3), "a_send": (3, 3)},
        "mlp": {"W": (5, 9)},
    }
    for model, layer in shapes.items():
        options = {"mixhop": {"hops": 3}, "gat": {"heads": 3}}.get(model, {})
        for bias in (False, True):
            common = {"model": model, "hidden": 9, "layers": 1, "bias": bias}
            config = config_from({**common, **options})
            wanted = {f"layer1.{name}": shape for name, shape in layer.items()}
            wanted |= {"layer1.b": (9,)} if bias else {}
            wanted |= {"classifier.W": (9, 4)}
            wanted |= {"classifier.b": (4,)} if bias else {}
            stack = Stack(gnn, config, 5, 4, False)
            assert stack.shapes() == wanted
            weights = stack.initial_weights(2, np.float32)
            assert {name: W.shape for name, W in weights.items()} == wanted
            for name, W in weights.items():
                assert W.dtype == np.float32
                assert W.any() == (not name.endswith(".b"))


def test_initial_weights_are_glorots(gnn):
    """Each by its key; the attention vector of a head is a matrix of one row."""
    config = config_of("gat", "full", hidden=9, heads=3, bias=True)
    weights = Stack(gnn, config, 5, 4, False).initial_weights(2, np.float64)
    for place, index, shape, rows in (
        ("layer1.W", (0, 0), (5, 9), 5),
        ("layer1.a_recv", (0, 1), (3, 3), 1),
        ("layer2.a_send", (1, 2), (3, 3), 1),
        ("classifier.W", (2, 0), (9, 4), 9),
    ):
        size = shape[0] * shape[1]
        u = gnn.streams.uniform(key(2, INIT, *index), np.arange(size, dtype=np.uint64)).reshape(
            shape
        )
        want = (2 * u - 1) * np.sqrt(6 / (rows + shape[1]))
        np.testing.assert_allclose(weights[place], want, rtol=1e-14)


def test_bias_changes_no_other_initial_weight(gnn):
    for model in MODELS:
        with_bias, without = (
            Stack(gnn, config_of(model, "full", bias=b), 5, 4, False).initial_weights(1, np.float64)
            for b in (True, False)
        )
        for name, W in without.items():
            np.testing.assert_array_equal(W, with_bias[name])


def test_blocks_are_aggregated_before_the_weights_and_squares_by_the_rule(gnn, dataset):
    config = config_of("gcn", "layer", fanouts=(2, 2))
    with gnn.make_trainer(dataset, config) as trainer:
        operands, *_ = next_minibatch(trainer)
    square = trainer.stack.adjacency(dataset.graph, dtype=np.float64)
    for A in operands:
        assert A.graph.n_src > A.graph.n_dst
        for dx in (0, 1, 2):
            assert order_on(A, None, ProductOrders(2, 2, dx)) == (1, 1, 2 if dx else 0)
    for order in product((1, 2), (1, 2), (0, 1, 2)):
        assert order_on(square, None, ProductOrders(*order)) == order
    assert depth_on(operands, 0) == len(operands) == 2
    assert depth_on((square, square), 0) == 0
    assert depth_on((), 0) == 0


@pytest.mark.parametrize("model", MODELS)
def test_the_training_graph_is_normalised_once(gnn, dataset, model, monkeypatch):
    """And no other: scores have a matrix for each block of rows."""
    calls = []

    def counted(name, norm):
        def call(graph, *args, **kwargs):
            calls.append((name, graph.n))
            return norm(graph, *args, **kwargs)

        return call

    for name in ("row_norm", "sym_norm", "loop_norm"):
        monkeypatch.setattr(gnn.adjacency, name, counted(name, find(gnn, name)))
    gnn.train(dataset, config_of(model, "full", epochs=3))
    norm = {"sage": "row_norm", "gat": "loop_norm", "mlp": None}.get(model, "sym_norm")
    assert calls == ([(norm, dataset.train_graph.n)] if norm else [])


# Runs.


@pytest.mark.parametrize("options", [{}, ALL_OPTIONS], ids=["plain", "all"])
@pytest.mark.parametrize("model", MODELS)
def test_a_sampler_of_the_whole_graph_is_full_batch_training(gnn, dataset, model, options):
    """m = n = number of nodes takes every node and no step."""
    n = dataset.train_graph.n
    b = gnn.train(dataset, config_of(model, "full", epochs=4, **options))
    for kernel in ("frontier", "pin_tile"):
        sampler = gnn.Sampler(kernel, m=n, n=n)
        a = gnn.train(dataset, config_of(model, "graph", epochs=4, sampler=sampler, **options))
        assert a.iterations == b.iterations == 4
        assert bits(a.state) == bits(b.state)


@pytest.mark.parametrize("model", MODELS)
def test_all_neighbours_of_all_nodes_are_full_batch_training(gnn, dataset, model):
    """The same numbers in another order."""
    reach = {"mlp": 0, "mixhop": 4}.get(model, 2)
    whole = config_of(model, "layer", epochs=2, fanouts=(-1,) * reach or None, batch_size=10**6)
    a = gnn.train(dataset, whole)
    b = gnn.train(dataset, config_of(model, "full", epochs=2))
    assert a.iterations == b.iterations == 2
    for record, other in zip(a.history, b.history, strict=True):
        assert record.loss == pytest.approx(other.loss, rel=1e-9)
    for name, W in b.state.m.items():
        np.testing.assert_allclose(a.state.m[name], W, rtol=0, atol=1e-9 * np.abs(W).max(initial=1))


@pytest.mark.parametrize("batch", [1, 40, 65, 130, 200])
def test_an_epoch_of_layer_sampling_has_every_node_once(gnn, dataset, batch):
    graph = dataset.train_graph
    per_epoch = -(-graph.n // batch)
    with gnn.make_trainer(dataset, config_of("mlp", "layer", batch_size=batch)) as trainer:
        found = [next(trainer.iterations.pool)[0].nodes[-1] for _ in range(2 * per_epoch)]
    orders = []
    for epoch in range(2):
        roots = found[epoch * per_epoch : (epoch + 1) * per_epoch]
        assert [len(r) for r in roots[:-1]] == [batch] * (per_epoch - 1)
        orders.append(np.concatenate(roots))
        np.testing.assert_array_equal(np.sort(orders[-1]), np.arange(graph.n))
    assert not np.array_equal(*orders)
    assert not np.array_equal(orders[0], np.arange(graph.n))
    again = trainer.iterations.shuffle.batch(0)  # back in the first epoch
    assert again.tolist() == orders[0][:batch].tolist()


def test_the_key_of_a_batch_is_its_place_in_its_epoch(gnn, dataset):
    graph = dataset.train_graph
    with gnn.make_trainer(dataset, config_of("gcn", "layer", fanouts=(2, 3))) as trainer:
        batches = [next(trainer.iterations.pool)[0] for _ in range(7)]
    for iteration, place in ((0, (0, 0)), (3, (0, 3)), (4, (1, 0)), (6, (1, 2))):
        found = batches[iteration]
        want = gnn.layer_sample(graph, found.nodes[-1], (2, 3), key(6, LAYER, *place))
        for nodes, others in zip(found.nodes, want.nodes, strict=True):
            np.testing.assert_array_equal(nodes, others)
        for block, other in zip(found.blocks, want.blocks, strict=True):
            np.testing.assert_array_equal(block.edge_ids, other.edge_ids)


def test_an_epoch_of_layer_sampling_ends_with_its_nodes(gnn, dataset):
    with gnn.make_trainer(dataset, config_of("mlp", "layer", batch_size=40, epochs=3)) as trainer:
        for epoch in (1, 2, 3):
            trainer.epoch()
            assert trainer.state.iterations == 4 * epoch  # 40 + 40 + 40 + 10 of 130
