"""The last layer as the classifier, and attention that is dropped: by every method."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fastimpl
import refimpl
from refimpl.lab.training.config import config_from
from refimpl.lab.training.evaluation import full_graph_forward
from refimpl.lab.training.models import MODELS as KNOWN
from refimpl.lab.training.models import ModelSettings
from refimpl.lab.training.stack import Stack
from refimpl.streams import ATTENTION, INIT, key

pytestmark = pytest.mark.runs

N = 130  # training nodes
ALL = (-1, -1)
# Methods whose first step is one of full-batch training where nothing is left out.
EXACT = {
    "layer": {"batch_size": N, "fanouts": ALL},
    "neighbor": {"batch_size": N, "fanouts": ALL},
    "fresh": {"batch_size": N, "fanouts": ALL, "t_stale": 3},
    "gas": {"batch_size": N},
    "graphfm": {"batch_size": N},
    "cluster": {"clusters": 5, "clusters_per_batch": 5},
    "vrgcn": {"batch_size": N, "fanouts": (2,)},
}
MODELS = {
    "sage": {"concat": "self_first"},
    "gcn": {},
    "gat": {"heads": 2, "attention_dropout": 0.4},
    "mlp": {},
}


def config_of(method, **options):
    common = {"method": method, "classifier": "layer", "hidden": 8, "rng": 6}
    return config_from({**common, **options})


def first_step(gnn, dataset, config, weights=None):
    """Return the first step of a run, from other weights than its own if they are given."""
    with gnn.make_trainer(dataset, config) as trainer:
        trainer.state.weights.update(weights or {})
        return trainer.step()


@pytest.mark.parametrize(
    ("model", "method"),
    [pair for pair in product(("sage", "gcn", "gat"), EXACT) if pair != ("gat", "vrgcn")],
)
def test_where_nothing_is_left_out_a_step_is_one_of_the_full_batch(gnn, dataset, model, method):
    """Also a loss and gradients: the last layer is read and reached by each method."""
    for layers in (1, 2):
        options = {"model": model, "layers": layers, "bias": True}
        hops = layers - 1 if method == "vrgcn" else layers
        exact = {**EXACT[method]}
        if "fanouts" in exact:
            exact["fanouts"] = (-1,) * hops
        got = first_step(gnn, dataset, config_of(method, **options, **exact))
        want = first_step(gnn, dataset, config_of("full", **options))
        assert got.loss == pytest.approx(want.loss, rel=1e-10)
        assert got.gradients.keys() == want.gradients.keys()
        for name, gradient in want.gradients.items():
            assert_allclose(got.gradients[name], gradient, rtol=1e-8, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("method", ["graph", "layer", "neighbor", "fresh", "gas"])
@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_gradients_are_differences_of_the_loss(gnn, dataset, model, method):
    """In a random direction for each weight, with dropout of inputs and of attention."""
    sizes = {} if method == "graph" else {"batch_size": 40}
    config = config_of(method, model=model, dropout=0.2, bias=True, **sizes, **MODELS[model])
    rng = np.random.default_rng(3)
    with gnn.make_trainer(dataset, config) as trainer:
        weights = {
            name: W + 0.1 * rng.normal(size=W.shape) for name, W in trainer.state.weights.items()
        }
    gradients = first_step(gnn, dataset, config, copied(weights)).gradients
    for name, W in weights.items():
        way, h = rng.normal(size=W.shape), 1e-6
        up, down = (
            first_step(gnn, dataset, config, {**copied(weights), name: W + sign * h * way}).loss
            for sign in (1, -1)
        )
        slope = (gradients[name] * way).sum()
        assert (up - down) / (2 * h) == pytest.approx(slope, rel=1e-5, abs=1e-8), name


def copied(arrays):
    return {name: array.copy() for name, array in arrays.items()}


def test_shapes_and_initial_weights(gnn):
    """The last layer has the key of its number; GraphSAGE adds, GAT has one head."""
    last = {
        "sage": {"W_neigh": (8, 4), "W_self": (8, 4)},
        "gcn": {"W": (8, 4)},
        "gat": {"W": (8, 4), "a_recv": (1, 4), "a_send": (1, 4)},
        "mlp": {"W": (8, 4)},
    }
    for model, shapes in last.items():
        stack = Stack(gnn, config_of("full", model=model, **MODELS[model]), 5, 4, False)
        dense = Stack(gnn, config_from({"model": model, "hidden": 8, **MODELS[model]}), 5, 4, False)
        found = stack.shapes()
        assert {n: s for n, s in found.items() if not n.startswith("layer1.")} == {
            f"layer2.{name}": shape for name, shape in shapes.items()
        }
        weights, others = (s.initial_weights(2, np.float64) for s in (stack, dense))
        for name in found:
            if name.startswith("layer1."):
                assert_array_equal(weights[name], others[name])
        first, (rows, columns) = next(iter(shapes)), next(iter(shapes.values()))
        u = gnn.streams.uniform(key(2, INIT, 1, 0), np.arange(rows * columns, dtype=np.uint64))
        want = (2 * u - 1) * np.sqrt(6 / (rows + columns))
        assert_allclose(weights[f"layer2.{first}"], want.reshape(rows, columns), rtol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_embeddings_are_the_input_of_the_last_layer(gnn, dataset, model):
    """And the logits its output, below 0 too; of a single layer they are the features."""
    for layers in (1, 2):
        config = config_of("full", model=model, layers=layers, epochs=1, **MODELS[model])
        trained = gnn.train(dataset, config).weights
        made = gnn.TrainedModel.trained(dataset, config, trained)
        assert made.dtype == np.float64
        found = {
            what: gnn.predict(made, dataset.graph, dataset.features, what=what, scaled=True)
            for what in ("embeddings", "probabilities", "labels")
        }
        if layers == 1:  # the features, for want of a layer below
            assert_array_equal(found["embeddings"], dataset.features)
        else:
            assert found["embeddings"].shape == (dataset.graph.n, 8)
            assert found["embeddings"].min() == 0
        stack = made.stack(gnn)
        A = stack.operands(stack.adjacency(dataset.graph, dtype=np.float64))[-1]
        own = {
            name.partition(".")[2]: W for name, W in trained.items() if name.startswith(stack.top)
        }
        logits, _ = stack.layers[stack.top].forward(own, A, found["embeddings"])
        assert logits.shape == (dataset.graph.n, 4)
        assert logits.min() < 0
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        assert_allclose(found["probabilities"], chances, rtol=1e-10)
        assert_array_equal(found["labels"], logits.argmax(axis=1))


def test_a_model_from_outside_has_it_where_it_has_a_last_layer(dataset, monkeypatch):
    @dataclass(frozen=True)
    class Plain(ModelSettings):
        name: ClassVar[str] = "plain"
        matrix: ClassVar[str] = "sym"
        layer = refimpl.models.Gcn.layer

    @dataclass(frozen=True)
    class Last(Plain):
        name: ClassVar[str] = "last"
        last_layer = refimpl.models.Gcn.last_layer

    for model in (Plain, Last):
        monkeypatch.setitem(KNOWN, model.name, model)
    options = {"method": "full", "classifier": "layer", "hidden": 8}
    with pytest.raises(ValueError, match='classifier must be "dense" where model is "plain"'):
        refimpl.TrainConfig(model=Plain(), **options)
    got, want = (
        first_step(refimpl, dataset, refimpl.TrainConfig(model=model, **options))
        for model in (Last(), "gcn")
    )
    assert got.loss == want.loss


# Attention.


def watched_keys(gnn, dataset, config):
    """Return the keys and the rates of each call of `gat_forward` in a first step."""
    calls = []

    def watch(A, *args, **options):
        calls.append((A.graph.n_dst, options.get("dropout", 0), options.get("keys")))
        return gnn.gat_forward(A, *args, **options)

    with gnn.backend(gnn, gat_forward=watch).make_trainer(dataset, config) as trainer:
        trainer.step()
        taught = len(calls)
        trainer.scores(trainer.state.weights, dataset.val)
    return calls[:taught], calls[taught:]


@pytest.mark.parametrize("method", ["full", "gas", "graphfm"])
def test_each_row_has_a_key_and_evaluation_has_none(gnn, dataset, method):
    """On a batch the key of its node, whatever the row: GraphFM's second look has the same."""
    sizes = {} if method == "full" else {"batch_size": 40}
    config = config_of(method, model="gat", attention_dropout=0.5, **sizes)
    taught, scored = watched_keys(gnn, dataset, config)
    of_node = {layer: {key(6, ATTENTION, 0, layer, v): v for v in range(N)} for layer in range(2)}
    layers = [0, 0, 1] if method == "graphfm" else [0, 1]
    nodes = []
    for layer, (rows, rate, keys) in zip(layers, taught, strict=True):
        assert rate == 0.5
        nodes.append([of_node[layer][k] for k in keys.tolist()])
        assert len(nodes[-1]) == rows == len(set(nodes[-1]))
    if method == "full":
        assert nodes == [list(range(N))] * 2
    else:
        assert nodes[0] == nodes[-1]
    if method == "graphfm":
        assert nodes[1]
        assert not set(nodes[0]) & set(nodes[1])
    assert [(rate, keys) for _, rate, keys in scored] == [(0, None)] * 2


def test_attention_is_dropped_anew_in_each_iteration(gnn, dataset):
    """And nothing else changes: weights that were not moved have another loss."""
    config = config_of("full", model="gat", attention_dropout=0.5)
    with gnn.make_trainer(dataset, config) as trainer:
        run, stack, W = trainer.run, trainer.stack, trainer.state.weights
        operands = (trainer.iterations.A,) * stack.depth
        losses = []
        for iteration in (0, 1, 0):
            logits, _ = stack.forward(W, operands, run.load(), iteration)
            losses.append(stack.loss(logits, *run.targets(np.arange(run.graph.n))).value)
    assert losses[0] == losses[2] != losses[1]
    plain = Stack(gnn, config_of("full", model="gat"), 12, 4, False)
    graph, X = dataset.graph, dataset.inputs()
    left, whole = (full_graph_forward(s, W, graph, X).logits for s in (stack, plain))
    assert left.tobytes() == whole.tobytes()


@pytest.mark.parametrize("model", MODELS)
def test_both_packages_train_alike(dataset, model):
    methods = ["graph", "full"] if model == "mlp" else ["graph", "fresh", "gas"]
    for method in methods:
        sizes = {} if method in ("graph", "full") else {"batch_size": 40}
        config = config_of(method, model=model, dropout=0.2, **sizes, **MODELS[model])
        ends = []
        for gnn in (refimpl, fastimpl):
            with gnn.make_trainer(dataset, config) as trainer:
                for _ in range(6):
                    trainer.step()
            ends.append(trainer.state.weights)
        for name, W in ends[0].items():
            assert_allclose(ends[1][name], W, rtol=1e-7, atol=1e-9, err_msg=f"{method} {name}")


def test_fresh_without_hits_is_neighbor_sampling(gnn, dataset):
    """To the bit, with attention that is dropped; with hits it is not."""
    for model, p_grad in product(("sage", "gat"), (0.0, 0.9)):
        ends = []
        for method in ("fresh", "neighbor"):
            options = {"p_grad": p_grad, "t_stale": 4} if method == "fresh" else {}
            options |= {"batch_size": 40, "fanouts": (3, 3), **MODELS[model]}
            with gnn.make_trainer(dataset, config_of(method, model=model, **options)) as trainer:
                for _ in range(8):
                    trainer.step()
            ends.append({name: W.tobytes() for name, W in trainer.state.weights.items()})
        assert (ends[0] == ends[1]) == (p_grad == 0.0)
