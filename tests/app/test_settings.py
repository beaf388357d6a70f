"""Training on the whole graph with few labelled nodes, and on the graph between these alone."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from fresh_cases import config_of as fresh_config
from fresh_cases import dense_forward, masks_of, watched
from numpy.testing import assert_allclose, assert_array_equal
from tiny_data import NODES, tiny_dataset

import refimpl
from refimpl import Dataset, Sampler, TrainConfig, methods
from refimpl.lab.training.config import config_from
from refimpl.lab.training.divergence import Diverged
from refimpl.lab.training.methods import METHODS

pytestmark = pytest.mark.runs

SMALL = {  # minibatches of a fifth of the nodes, about
    "graph": {"sampler": Sampler("frontier", m=5, n=40)},
    "cluster": {"clusters": 10, "clusters_per_batch": 2},
    "full": {},
}
WHOLE = {  # methods whose minibatch is everything, so that each is full-batch training
    "graph": {"sampler": Sampler("random_walk", r=NODES, h=0)},
    "cluster": {"clusters": 3, "clusters_per_batch": 3},
    "gas": {"batch_size": NODES},
    "graphfm": {"batch_size": NODES},
    "layer": {"batch_size": NODES, "fanouts": (-1, -1)},
    "neighbor": {"batch_size": NODES, "fanouts": (-1, -1)},
    "vrgcn": {"batch_size": NODES, "fanouts": (-1,)},
    "fresh": {"batch_size": NODES, "fanouts": (-1, -1), "p_grad": 0.0, "t_stale": 5},
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Return 200 nodes, 25 of them for training, in no order."""
    data = tiny_dataset(tmp_path_factory.mktemp("tiny"), "float64")
    train = np.random.default_rng(4).permutation(data.train)[:25]
    data = replace(data, train=train, induced=None, setting="transductive")
    assert data.train_graph is data.graph and 0 < np.isin(data.graph.indices, train).mean() < 0.3
    return data


def config(method, model="gcn", **options):
    return config_from({"method": method, "model": model, "hidden": 6, "rng": 3, **options})


def steps(gnn, data, asked, count=4):
    """Return (loss, bytes of the weights) of some steps."""
    with gnn.make_trainer(data, asked) as trainer:
        found = []
        for _ in range(count):
            loss = trainer.step().loss
            found.append((loss, [W.tobytes() for W in trainer.state.weights.values()]))
    return found


@pytest.mark.parametrize("method", sorted(METHODS))
def test_where_all_nodes_train_both_settings_are_one(gnn, dataset, method):
    """Bit for bit."""
    none = np.arange(0)
    data = replace(dataset, train=np.arange(NODES), val=none, test=none)
    model = "sign" if method == "prepropagation" else "gcn"
    asked = config(method, model, **SMALL.get(method, {"batch_size": 30}))
    inductive = steps(gnn, data.with_setting("inductive"), asked)
    assert inductive == steps(gnn, data, asked)
    assert inductive != steps(gnn, replace(data, train=np.arange(NODES - 9)), asked)


def masked_loss(dataset, W):
    """Return the mean over training nodes of what two layers of GCN lose, in SciPy."""
    A = dataset.graph.to_scipy() + sp.eye_array(NODES)
    scale = sp.diags_array(1 / np.sqrt(A.sum(axis=1)))
    H = dataset.inputs()
    for name in ("layer1.W", "layer2.W"):
        H = scale @ A @ scale @ H @ W[name]
        H = H * (H.real > 0)
    logits = H @ W["classifier.W"]
    chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -chances[dataset.train, dataset.labels[dataset.train]].mean()


def test_the_loss_is_taken_over_training_nodes(gnn, dataset):
    """And so are its gradients: of the whole graph, against derivatives of SciPy's products."""
    with gnn.make_trainer(dataset, config("full")) as trainer:
        W = {name: array.copy() for name, array in trainer.state.weights.items()}
        step = trainer.step()
    assert_allclose(step.loss, masked_loss(dataset, W), rtol=1e-12)
    rng = np.random.default_rng(1)
    for name, array in W.items():
        way = rng.normal(size=array.shape)
        slope = masked_loss(dataset, {**W, name: array + 1e-30j * way}).imag / 1e-30
        assert_allclose((step.gradients[name] * way).sum(), slope, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("method", sorted(WHOLE))
def test_a_minibatch_of_everything_is_the_full_batch(gnn, dataset, method):
    """Whatever a method's minibatches are, the loss and its gradients are those of all of them."""
    with gnn.make_trainer(dataset, config("full")) as full:
        expected = full.step()
    with gnn.make_trainer(dataset, config(method, **WHOLE[method])) as trainer:
        got = trainer.step()
    assert_allclose(got.loss, expected.loss, rtol=1e-12)
    for name, gradient in expected.gradients.items():
        assert_allclose(got.gradients[name], gradient, atol=1e-12, err_msg=name)


def test_a_part_of_the_graph_has_the_mean_of_its_training_nodes(gnn, dataset):
    """Others have no part in it, whatever their labels are said to be."""
    lies = dataset.labels.copy()
    rest = np.setdiff1d(np.arange(NODES), dataset.train)
    lies[rest] = -1
    lied_to = replace(dataset, labels=lies, val=rest[:0], test=rest[:0])
    for method, options in SMALL.items():
        asked = config(method, **options)
        assert steps(gnn, dataset, asked) == steps(gnn, lied_to, asked)


def test_normalised_weights_expect_the_mean_over_training_nodes(gnn, dataset):
    """Of many subgraphs, the mean of the weighted losses is close to that of the whole graph."""
    method = methods.SampledGraph(
        sampler=Sampler("random_walk", r=30, h=1), normalize="both", coverage=2000.0
    )
    asked = TrainConfig(model="mlp", method=method, hidden=6, rng=3)
    with gnn.make_trainer(dataset, replace(asked, method="full")) as full:
        expected = full.step().loss
    with gnn.make_trainer(dataset, asked) as trainer:
        trainer.run.adam = lambda: None  # the weights stay
        losses = [trainer.step().loss for _ in range(400)]
    error = np.std(losses) / np.sqrt(len(losses))
    assert abs(np.mean(losses) - expected) < 4 * error < expected / 8


@pytest.mark.parametrize("method", ["fresh", "neighbor", "layer", "vrgcn", "fastgcn", "ladies"])
def test_roots_are_the_training_nodes_each_once_an_epoch(gnn, dataset, method):
    seen = []
    with gnn.make_trainer(dataset, config(method, "sage", batch_size=10)) as trainer:
        targets = trainer.run.targets
        trainer.run.targets = lambda nodes: seen.append(nodes) or targets(nodes)
        trainer.epoch()
    assert [len(nodes) for nodes in seen] == [10, 10, 5]
    assert sorted(np.concatenate(seen)) == sorted(dataset.train)


@pytest.mark.parametrize("method", ["graph", "cluster", "gas", "full"])
def test_an_epoch_on_parts_of_the_graph_sees_all_of_it(gnn, dataset, method):
    options = SMALL.get(method, {"batch_size": 40})
    seen = []
    with gnn.make_trainer(dataset, config(method, **options)) as trainer:
        step = trainer.step
        trainer.step = lambda: seen.append(step()) or seen[-1]
        trainer.epoch()
    nodes = [step.nodes for step in seen]
    assert sum(nodes[:-1]) < NODES <= sum(nodes)
    assert method == "graph" or sum(nodes) == NODES


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_fresh_iterations_on_the_whole_graph_in_dense_algebra(gnn, dataset, model):
    """Algorithm 1 around 25 training nodes: rows, loss and cache, in an independent simulation."""
    asked = fresh_config(model=model, batch_size=9, fanouts=(3, 2, 2), dropout=0.2, p_grad=0.9)
    with watched(gnn, dataset, asked) as trainer:
        outside = read = 0
        for _ in range(8):
            step = trainer.step()
            H, loss = dense_forward(trainer, trainer.weights, masks_of(trainer))
            assert_allclose(step.loss, loss, rtol=1e-10)
            for rows, all_rows, order in zip(trainer.H, H, trainer.live.order, strict=False):
                assert_allclose(rows, all_rows[order], rtol=1e-9, atol=1e-12)
            assert np.isin(trainer.mfg.nodes[-1], dataset.train).all()
            outside += (~np.isin(trainer.mfg.nodes[0], dataset.train)).sum()
            read += trainer.live_hits(1)
    assert outside > 100 and read > 10


def test_profiles_follow_the_training_nodes(gnn, dataset):
    """Features of nodes that training nodes cannot reach are never worth keeping."""
    far = sp.block_diag([dataset.graph.to_scipy(), sp.csr_array(1 - np.eye(3))])
    n = NODES + 3
    data = Dataset(
        "far", refimpl.as_graph(sp.csr_array(far)), np.ones((n, 2)), np.arange(n) % 3,
        dataset.train, dataset.val, dataset.test,
    )  # fmt: skip
    asked = config("fresh", "sage", batch_size=10, hotness="profile", buffer=2**20)
    with gnn.make_trainer(data, asked) as trainer:
        hotness = trainer.iterations.hottest
    assert hotness[:NODES].max() > 0
    assert_array_equal(hotness[NODES:], 0)


# ---- The data set ------------------------------------------------------------------------------


def parts(**changes):
    graph = refimpl.as_graph([(0, 1), (1, 2), (2, 3)], symmetrize=True)
    usual = {
        "name": "four", "graph": graph, "features": np.arange(8.0).reshape(4, 2),
        "labels": [0, 1, 1, -1], "train": [2, 0], "val": [1], "test": [],
    }  # fmt: skip
    return usual | changes


def test_nodes_come_in_any_order_or_as_masks():
    data = Dataset(**parts())
    assert data.train.tolist() == data.roots.tolist() == [0, 2]
    assert (data.classes, data.multilabel, data.dtype) == (2, False, np.float64)
    masks = Dataset(**parts(train=np.array([True, False, True, False])))
    assert masks.train.tolist() == [0, 2]
    assert data.targets([3, 1]).tolist() == [[0, 0], [0, 1]]
    inductive = data.with_setting("inductive")
    assert inductive.roots.tolist() == [0, 1] and inductive.train_graph.e == 0
    assert inductive.in_graph([1]).tolist() == [2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [0, 1, -2, 0]}, "labels must be classes from 0 on, or -1, got -2"),
        ({"labels": [0.0, 1, 1, 0]}, "labels must be integers"),
        ({"labels": [0, 1, 1]}, r"labels must have shape \(4,\)"),
        ({"train": [3]}, "train must have nodes with known labels, but not 3"),
        ({"train": []}, "train must have at least one node"),
        ({"train": [0, 1]}, "must be disjoint"),
        ({"train": [0, 0]}, "train must have each node once, but has 0 twice"),
        ({"train": np.array([True])}, "train must have shape"),
        ({"setting": "both"}, "setting must be one of 'transductive', 'inductive'"),
        ({"features": np.full((4, 2), np.nan)}, "features must hold finite numbers, but row 0"),
        ({"features": np.ones((4, 0))}, r"features must have shape \(4, at least 1\)"),
        ({"classes": 1}, "classes must be 2 as in labels, or more, got 1"),
        ({"known": np.ones(4, bool)}, "known must be None if nodes have one class"),
        ({"labels": [[0, 2]] * 4}, "labels of several classes must be 0 or 1"),
        ({"induced": refimpl.as_graph([], n=3)}, "induced must have 2 nodes like train, got 3"),
        ({"scaling": (np.zeros(3), np.ones(3))}, "features must have 3 columns, .* got 2"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Dataset(**parts(**changes))


def test_rows_of_several_classes_may_be_unknown():
    known = np.array([True, True, True, False])
    Dataset(**parts(labels=[[0, 1], [1, 1], [0, 0], [1, 0]], known=known))
    with pytest.raises(ValueError, match="train must have nodes with known labels, but not 3"):
        Dataset(**parts(labels=[[0, 1]] * 4, known=known, train=[3]))


def test_features_keep_their_kind():
    for dtype in (np.float16, np.float32, np.float64):
        features = np.ones((4, 2), dtype)
        assert Dataset(**parts(features=features)).features is features
    data = Dataset(**parts(features=np.array([[1, 2]] * 4)))
    assert data.features.dtype == data.inputs().dtype == np.float32
    scaled = Dataset(**parts(scaling=(np.array([2.0, 3.0]), np.array([2.0, 4.0]))))
    assert scaled.inputs([3]).tolist() == [[2.0, 1.0]]


def test_few_edges_between_training_nodes_are_worth_a_warning(gnn, dataset):
    with pytest.warns(UserWarning, match=r"between the training nodes has 11.0% of their edges"):
        gnn.make_trainer(dataset.with_setting("inductive"), config("full"))


# ---- The loop ----------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", ["first", "all"])
def test_weights_decay(gnn, dataset, decay):
    """Adam gets the gradient and a share of the weight; a bias does not decay."""
    asked = config("full", weight_decay=0.3, decay=decay, bias=True)
    with gnn.make_trainer(dataset, asked) as trainer:
        before = {name: W.copy() for name, W in trainer.state.weights.items()}
        gradients = trainer.step().gradients
    for name, m in trainer.state.m.items():
        layer, short = name.split(".")
        decays = short == "W" and (decay == "all" or layer == "layer1")
        expected = gradients[name] + (0.3 * before[name] if decays else 0)
        assert_allclose(m, 0.1 * expected, rtol=1e-12, atol=1e-15, err_msg=name)


def test_patience_ends_a_run(gnn, dataset):
    asked = config("full", epochs=200, patience=3, lr=0.05)
    result = gnn.train(dataset, asked)
    scores = [record.val_f1 for record in result.history]
    assert len(scores) == result.best_epoch + 3 < 200
    assert scores[result.best_epoch - 1] == max(scores)


def loss_of(gnn, data, asked, weights, nodes):
    """Return the mean loss over some nodes, from the probabilities that `predict` gives."""
    model = gnn.TrainedModel.trained(data, asked, weights)
    P = gnn.predict(model, data.graph, data.features, nodes, what="probabilities")
    return -np.log(P[np.arange(len(nodes)), data.labels[nodes]]).mean()


@pytest.mark.parametrize("patience", [None, 4])
def test_the_smallest_validation_loss_decides_where_it_is_asked_for(gnn, dataset, patience):
    asked = config("full", epochs=60, lr=0.05, best_by="loss", patience=patience)
    result = gnn.train(dataset, asked)
    losses = [record.val_loss for record in result.history]
    scores = [record.val_f1 for record in result.history]
    best = int(np.argmin(losses))
    assert 0 < best < len(losses) - 1 and best != int(np.argmax(scores))
    assert result.best_epoch == best + 1 and result.state.best_val_f1 == scores[best]
    assert len(losses) == (60 if patience is None else best + 1 + patience)
    want = loss_of(gnn, dataset, asked, result.weights, dataset.val)
    assert_allclose(losses[best], want, rtol=1e-9)
    again = gnn.train(dataset, replace(asked, best_by="score"))
    assert {record.val_loss for record in again.history} == {None}


def test_a_loss_that_is_no_number_is_never_the_best(gnn, dataset):
    asked = config("full", epochs=4, lr=1e300, best_by="loss")
    trainer = gnn.make_trainer(dataset, asked)
    with np.errstate(all="ignore"), pytest.raises(Diverged):
        while not trainer.done:
            trainer.epoch()
    losses = np.array([record.val_loss for record in trainer.state.history])
    finite = np.flatnonzero(np.isfinite(losses))
    assert trainer.state.best_epoch == (finite[losses[finite].argmin()] + 1 if finite.size else 0)


def test_scores_are_taken_every_so_many_epochs(gnn, dataset):
    result = gnn.train(dataset, config("full", epochs=7, eval_every=3))
    assert [record.epoch for record in result.history if record.val_f1 is not None] == [3, 6]
    assert result.best_epoch in (3, 6)
    never = gnn.train(dataset, config("full", epochs=2, eval_every=3))
    assert never.best_epoch == 2 and 0 <= never.val_f1 <= 1


def test_without_validation_nodes_the_last_weights_stay(gnn, dataset):
    data = replace(dataset, val=[], test=[])
    result = gnn.train(data, config("full", epochs=3))
    assert (result.val_f1, result.test_f1, result.best_epoch) == (None, None, 3)
    for name, W in result.state.weights.items():
        assert_array_equal(result.weights[name], W)
    with pytest.raises(ValueError, match="patience must be None where there are no validation"):
        gnn.make_trainer(data, config("full", patience=2))


def test_defaults_depend_on_model_and_method():
    assert (TrainConfig().epochs, TrainConfig().lr) == (30, 0.01)
    assert TrainConfig(method="full").epochs == 200
    assert TrainConfig(model="gat").lr == 0.003
    assert TrainConfig(model="gat", lr=0.1, method="full", epochs=2).lr == 0.1
