"""R-GCN by every method: gradients of the stack, exactness, FreshGNN, a kept model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_models_train import check_differences
from tiny_data import write_graphsaint

import fastimpl
import refimpl
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.training.config import config_from
from refimpl.lab.training.evaluation import full_graph_forward

pytestmark = pytest.mark.runs


def config_of(method, **options):
    """Return a small TrainConfig of R-GCN."""
    if method in ("layer", "fresh", "neighbor"):
        options = {"batch_size": 40, "fanouts": (3, 2), **options}
    common = {"model": "rgcn", "relations": 3, "hidden": 6, "rng": 6, "lr": 0.03}
    return config_from({"method": method, **common, **options})


ALL = {"bases": 2, "node_types": 2, "bias": True, "dropout": 0.3, "row_l2": True}


@pytest.mark.parametrize("method", ["full", "graph", "layer"])
@pytest.mark.parametrize(
    "options",
    [{}, {"node_types": 2}, ALL, {"node_types": 2, "bases": 2, "classifier": "layer"}],
    ids=["plain", "typed", "all", "last"],
)
def test_gradients_of_the_stack_are_differences_of_the_loss(gnn, typed, method, options):
    check_differences(gnn, typed, config_of(method, **options))


def test_names_and_shapes_of_weights(typed):
    with refimpl.make_trainer(typed, config_of("full", layers=1, **ALL)) as trainer:
        shapes = {"P0": (12, 6), "P1": (12, 6), "W_self": (6, 6), "W1": (6, 6), "W2": (6, 6)}
        shapes |= {"coefficients": (3, 2), "b": (6,)}
        want = {f"layer1.{name}": shape for name, shape in shapes.items()}
        assert trainer.stack.shapes() == want | {"classifier.W": (6, 4), "classifier.b": (4,)}
    with refimpl.make_trainer(typed, config_of("full")) as trainer:
        second = {name for name in trainer.stack.shapes() if name.startswith("layer2")}
        assert second == {f"layer2.{name}" for name in ("W_self", "W1", "W2", "W3")}


@pytest.mark.parametrize("options", [{}, {"node_types": 2, "bases": 2}])
def test_with_all_neighbours_blocks_give_what_the_graph_gives(gnn, typed, options):
    """Full fan-out: layer by layer, the exact output for the roots."""
    with gnn.make_trainer(typed, config_of("layer", fanouts=(-1, -1), **options)) as trainer:
        stack, W, graph = trainer.stack, trainer.state.weights, typed.train_graph
        roots = np.arange(0, graph.n, 3)
        mfg = gnn.layer_sample(graph, roots, (-1, -1), 1)
        operands = stack.block_operands(mfg, graph, dtype=np.float64)
        logits, _ = stack.forward(W, operands, trainer.run.load(mfg.nodes[0]))
        exact = full_graph_forward(stack, W, graph, trainer.run.load()).logits
    assert_allclose(logits, exact[roots], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", ["full", "graph", "layer", "neighbor", "fresh"])
def test_both_packages_train_alike(typed, method):
    """The same run but for rounding, which Adam may blow up where a gradient is tiny."""
    config, weights = config_of(method, epochs=2, node_types=2), []
    for package in (refimpl, fastimpl):
        result = package.train(typed, config)
        weights.append(result.state.weights)
    for name, W in weights[0].items():
        assert_allclose(weights[1][name], W, rtol=1e-5, atol=1e-7, err_msg=name)


def run(gnn, typed, method, **options):
    return gnn.train(typed, config_of(method, epochs=4, **options)).state


def test_fresh_without_hits_is_neighbour_sampling_and_with_hits_loads_less(gnn, typed):
    neighbor = run(gnn, typed, "neighbor")
    nothing = run(gnn, typed, "fresh", t_stale=0, hotness="none")
    for name, W in neighbor.weights.items():
        assert_array_equal(nothing.weights[name], W)
    fresh = run(gnn, typed, "fresh", t_stale=6, hotness="none", buffer=2**16)
    assert fresh.loads[-1]["hits"] > 0 and sum(load["evicted"] for load in fresh.loads) > 0
    assert fresh.loads[-1]["loaded"] < neighbor.loads[-1]["loaded"]
    assert any((fresh.weights[name] != W).any() for name, W in neighbor.weights.items())


BY_RELATION = {"fanouts": ((2, 0, -1), 3)}  # relation 1 of the last layer sends nothing


@pytest.mark.parametrize("method", ["neighbor", "fresh"])
def test_fanouts_by_relation(typed, method):
    options = {"bases": 2, "hotness": "profile"} if method == "fresh" else {"bases": 2}
    config = config_of(method, epochs=2, **BY_RELATION, **options)
    weights = [package.train(typed, config).state.weights for package in (refimpl, fastimpl)]
    for name, W in weights[0].items():
        assert_allclose(weights[1][name], W, rtol=1e-5, atol=1e-7, err_msg=name)
    with refimpl.make_trainer(typed, config_of("neighbor", **BY_RELATION)) as trainer:
        weights = trainer.state.weights
        before = {name: W.copy() for name, W in weights.items() if name.startswith("layer2.W")}
        trainer.step()
        changed = {name for name, W in before.items() if (weights[name] != W).any()}
        assert changed == {"layer2.W_self", "layer2.W1", "layer2.W3"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"method": "layer"}, "not for model rgcn with method layer"),
        ({"sample_mode": "shared"}, "need sample_mode layered, not shared"),
        ({"fanouts": ((1, 1), 3)}, "for each of 3 relations, got 2"),
        ({"fanouts": ((0, 0, 0), 3)}, "must draw from a relation"),
        ({"fanouts": ((0, 0, -2), 3)}, r"must be in \[-1, "),
    ],
)
def test_fanouts_by_relation_are_refused(change, error):
    with pytest.raises(ValueError, match=f"fanouts.*{error}"):
        config_of(**{"method": "neighbor", **BY_RELATION, **change})


def test_fanouts_by_relation_are_for_rgcn():
    fanouts = BY_RELATION["fanouts"]
    with pytest.raises(ValueError, match="not for model sage with method neighbor"):
        config_from({"model": "sage", "method": "neighbor", "fanouts": fanouts})


def test_training_learns_and_a_kept_model_predicts_on_typed_graphs(gnn, typed, tmp_path):
    config = config_of("full", epochs=25, node_types=2, bases=2)
    result = gnn.train(typed, config)
    assert result.history[-1].loss < 0.7 * result.history[0].loss
    refimpl.save_model(
        tmp_path / "m.npz", refimpl.TrainedModel.trained(typed, config, result.weights)
    )
    model = refimpl.load_model(tmp_path / "m.npz")
    assert model.architecture["relations"] == 3
    labels = gnn.predict(model, typed.graph, typed.features)
    hits = labels[typed.test] == typed.labels[typed.test]
    assert hits.mean() == pytest.approx(result.test_f1)
    plain = refimpl.as_graph(typed.graph.to_scipy())
    with pytest.raises(TypeError, match="graph must be a TypedGraph"):
        gnn.predict(model, plain, typed.features)


def test_a_graph_without_the_types_of_the_model_is_refused(gnn, typed, tmp_path):
    for options, words in (
        ({"relations": 2}, "relations must be 3 as in the graph, got 2"),
        ({"node_types": 1}, "node_types must be 0, or at least the 2"),
    ):
        with pytest.raises(ValueError, match=words):
            gnn.make_trainer(typed, config_of("full", **options))
    with pytest.raises(TypeError, match="graph must be a TypedGraph"):
        gnn.make_trainer(load_dataset(write_graphsaint(tmp_path)), config_of("full"))
    with pytest.raises(ValueError, match='relations is no setting where model is "sage"'):
        config_from({"relations": 2})
    for name, value in (("bases", -1), ("node_types", -2)):
        with pytest.raises(ValueError, match=name):
            config_of("full", **{name: value})


def test_any_model_trains_on_a_typed_data_set(gnn, typed):
    for model in ("sage", "gcn"):
        config = refimpl.TrainConfig(method="graph", model=model, hidden=4, epochs=1)
        assert gnn.train(typed, config).iterations > 0


def test_what_is_left_after_pruning_knows_its_edges(gnn, typed):
    """Types are looked up by edge ids: each must be of the edge between just these nodes."""
    graph = typed.train_graph
    mfg = gnn.sample_mfg(graph, np.arange(30, dtype=np.int32), (4, 3), seed=1, epoch=0, batch=0)
    hit = [np.arange(len(nodes)) % 3 == 0 for nodes in mfg.nodes[1:-1]]
    pruned = gnn.prune_mfg(mfg, [*hit, np.zeros(30, bool)])
    live = gnn.history.live_layers(pruned)
    seen = 0
    for layer, block in enumerate(live.blocks):
        sources = mfg.nodes[layer][live.order[layer]]
        row = np.repeat(np.arange(block.n_dst), block.end - block.start)
        assert_array_equal(graph.indices[block.edge_ids], sources[block.indices])
        assert (graph.start[sources[row]] <= block.edge_ids).all()
        assert (block.edge_ids < graph.end[sources[row]]).all()
        seen += block.e
    assert 30 < seen < sum(block.e for block in mfg.blocks)
