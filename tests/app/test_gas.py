"""GNNAutoScale and GraphFM against dense algebra; their batches; histories in checkpoints."""

import numpy as np
import pytest
from dense_histories import (
    ISOLATED,
    check_gradients,
    copied,
    last_gradients,
    layer,
    logits,
    mask,
    matrix,
    mean_loss,
    pattern,
    small_dataset,
    weights_of,
)

import refimpl
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods.cluster import ClusterOrder, grow_clusters
from refimpl.lab.training.methods.gas import Histories, neighborhood, neighborhoods_ahead
from refimpl.streams import CLUSTERS, SHUFFLE, key

pytestmark = pytest.mark.runs

CASES = [
    ("sage", {}),
    ("sage", {"layers": 3, "bias": True, "dropout": 0.3}),
    ("sage", {"layers": 1}),
    ("gcn", {}),
    ("gcn", {"layers": 3, "dropout": 0.2}),
    ("gcn", {"layers": 1, "bias": True}),
    ("gcn", {"row_l2": True}),
    ("gat", {"heads": 2}),
    ("gat", {"layers": 3, "bias": True, "dropout": 0.2}),
]


METHODS = pytest.mark.parametrize(
    "own",
    [{}, {"method": "graphfm", "beta": 0.3}, {"method": "graphfm", "beta": 1.0}],
    ids=["gas", "graphfm", "graphfm without memory"],
)


def config_of(model="sage", **options):
    usual = {"method": "gas", "hidden": 6, "rng": 6, "batch_size": 10, "lr": 0.05}
    return config_from({**usual, "model": model, **options})


@pytest.fixture(scope="module")
def dataset():
    return small_dataset()


def clusters(n=36, k=5):
    """Return a partition into clusters that are not contiguous."""
    return np.random.default_rng(1).integers(0, k, n)


def dense_pass(gnn, dataset, config, weights, batch, histories, iteration):
    """Return the loss of an iteration, and the histories afterwards, on arrays of all nodes.

    GraphFM moves the rows around the batch, too; GNNAutoScale does not.
    """
    A, beta = pattern(dataset.train_graph), getattr(config.method, "beta", 0)
    degrees, inside = A.sum(axis=1), np.isin(np.arange(len(A)), batch)
    M = matrix(config.model.name, A, degrees)
    M_inside = matrix(config.model.name, A & inside, degrees)
    around = (A & inside).any(axis=1) & ~inside
    Z, histories = dataset.inputs(dataset.train), histories.copy()
    for number in range(config.layers):
        W = weights_of(weights, f"layer{number + 1}")
        Z = Z * mask(gnn, config, *Z.shape, number, iteration)
        H = layer(config.model.name, M, W, Z)
        if number + 1 < config.layers:
            partial = layer(config.model.name, M_inside, W, Z).real
            known = histories[number]
            known[around] = (1 - beta) * known[around] + beta * partial[around]
            known[batch] = H[batch].real
            Z = known.astype(H.dtype)
            Z[batch] = H[batch]
    last = mask(gnn, config, *H.shape, config.layers, iteration)[batch]
    Y = dataset.targets(dataset.train)[batch]
    return mean_loss(logits(config, weights, H[batch], last), Y), histories


def check_steps(trainer, dense):
    """Assert that 10 steps give dense(i, weights, histories): losses, gradients and histories.

    Return the numbers of their nodes.
    """
    state, nodes = trainer.state, []
    assert state.cache.rows.shape == (trainer.config.layers - 1, 36, 6)
    assert not state.cache.rows.any()
    for i in range(10):
        W, m, before = copied(state.weights), copied(state.m), state.cache.rows.copy()
        step = trainer.step()
        expected, after = dense(i, W, before)
        nodes.append(step.nodes)
        assert step.loss == pytest.approx(expected.real, rel=1e-12)
        np.testing.assert_allclose(state.cache.rows, after, rtol=1e-10, atol=1e-13)
        gradients = last_gradients(m, state.m)
        check_gradients(lambda W, i=i, h=before: dense(i, W, h)[0], W, gradients)
    return nodes


@METHODS
@pytest.mark.parametrize(("model", "options"), CASES)
def test_every_step_in_dense_algebra(gnn, dataset, model, options, own):
    """Two epochs."""
    config = config_of(model, partition=clusters(), **own, **options)
    order = ClusterOrder(gnn, clusters(), config.rng)

    def dense(i, W, histories):
        return dense_pass(gnn, dataset, config, W, order.nodes(i), histories, i)

    trainer = gnn.make_trainer(dataset, config)
    assert check_steps(trainer, dense) == [len(order.nodes(i)) for i in range(10)]
    assert config.layers == 1 or np.all(trainer.state.cache.rows.any(axis=(0, 2)))


@METHODS
def test_only_histories_next_to_the_batch_are_read(gnn, dataset, own):
    """All others are poisoned: they are neither used nor changed. GraphFM moves the read ones."""
    batch = np.arange(4, 9)
    near = neighborhood(dataset.train_graph, batch).nodes
    trainer = gnn.make_trainer(dataset, config_of(layers=3, **own))
    trainer.iterations.passes = neighborhoods_ahead(trainer.run, iter([batch]))
    rows = trainer.state.cache.rows
    far = np.setdiff1d(np.arange(36), near)
    rows[:, far] = np.nan
    loss = trainer.step().loss
    assert len(far) > 0
    assert np.isfinite(loss)
    assert np.isnan(rows[:, far]).all()
    assert np.isfinite(rows[:, near]).all()
    assert np.all(rows[:, batch].any(axis=(0, 2)))
    moved = rows[:, np.setdiff1d(near, batch)].any(axis=(0, 2))
    assert moved.all() if own else not moved.any()


@METHODS
@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_a_batch_of_nodes_without_neighbors(gnn, dataset, model, own):
    """They have their own rows alone."""
    config = config_of(model, layers=2, **own)
    trainer, batch = gnn.make_trainer(dataset, config), np.array(ISOLATED, np.int32)
    trainer.iterations.passes = neighborhoods_ahead(trainer.run, iter([batch]))
    W = copied(trainer.state.weights)
    step = trainer.step()
    assert step.nodes == 3
    expected, after = dense_pass(gnn, dataset, config, W, batch, np.zeros((1, 36, 6)), 0)
    assert step.loss == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(trainer.state.cache.rows, after, rtol=1e-12)


def test_a_neighborhood_has_all_edges_of_its_batch(gnn, dataset):
    graph, A = dataset.train_graph, pattern(dataset.train_graph)
    for batch in ([5, 2, 30], [9], [], np.arange(36)):
        batch = np.array(batch, np.int32)
        nodes, block = neighborhood(graph, batch)
        outside = np.setdiff1d(np.flatnonzero(A[batch].any(axis=0)), batch)
        assert nodes.tolist() == [*batch.tolist(), *outside.tolist()]
        assert nodes.dtype == block.indices.dtype == np.int32
        assert (block.n_dst, block.n_src) == (len(batch), len(nodes))
        for v, start, end in zip(batch, block.start, block.end, strict=True):
            np.testing.assert_array_equal(nodes[block.indices[start:end]], np.flatnonzero(A[v]))
        refimpl.Block(block.start, block.end, block.indices, block.n_src)  # checks it


# Batches.


@pytest.mark.parametrize("together", [1, 2, 7, 30])
def test_every_node_once_an_epoch(gnn, together):
    partition = clusters(100, 15) * 6  # most numbers have no nodes
    present = len(np.unique(partition))
    order = ClusterOrder(gnn, partition, 3, together)
    per_epoch = order.shuffle.batches
    assert per_epoch == -(-present // together)
    orders = []
    for epoch in range(2):
        found = [order.nodes(epoch * per_epoch + b) for b in range(per_epoch)]
        for batch in found:
            assert np.all(np.diff(batch) > 0)
            assert batch.dtype == np.int32
            np.testing.assert_array_equal(
                batch, np.flatnonzero(np.isin(partition, np.unique(partition[batch])))
            )
            assert len(np.unique(partition[batch])) == min(together, present) or (
                batch is found[-1]
            )
        orders.append(np.concatenate(found))
        np.testing.assert_array_equal(np.sort(orders[-1]), np.arange(100))
    assert together >= present or not np.array_equal(*orders)


def test_a_batch_depends_on_its_number_alone(gnn):
    partition = clusters(50, 6)
    order = ClusterOrder(gnn, partition, 9)
    found = [order.nodes(iteration) for iteration in range(20)]
    for first in (1, 5, 6, 19):
        alone = ClusterOrder(gnn, partition, 9).nodes(first)
        np.testing.assert_array_equal(alone, found[first])
    order = gnn.streams.pick_without_replacement(key(9, SHUFFLE, 1), 0, 6, 6)
    np.testing.assert_array_equal(found[6], np.flatnonzero(partition == order[0]))


def test_the_default_batches_are_grown_clusters(gnn, dataset):
    config = config_of(batch_size=10)
    partition = grow_clusters(dataset.train_graph, 4, key(config.rng, CLUSTERS))
    with gnn.make_trainer(dataset, config) as trainer:
        near = [next(trainer.iterations.passes) for _ in range(4)]
    found = sorted(nodes[: block.n_dst].tolist() for nodes, block in near)
    assert found == sorted(np.flatnonzero(partition == c).tolist() for c in range(4))
    assert max(map(len, found)) <= 10


def test_an_epoch_ends_with_its_clusters(gnn, dataset):
    trainer = gnn.make_trainer(dataset, config_of(partition=clusters()))
    for epoch in (1, 2, 3):
        trainer.epoch()
        assert trainer.state.iterations == 5 * epoch
    assert np.array_equal(np.unique(clusters()), np.arange(5))


@pytest.mark.parametrize(
    ("partition", "error", "message"),
    [
        (np.zeros(35, int), ValueError, "partition must have shape"),
        (np.full(36, 36), ValueError, "partition must"),
        (np.full(36, -1), ValueError, "partition must"),
        (np.zeros(36), TypeError, "partition must"),
    ],
)
def test_bad_partitions(gnn, dataset, partition, error, message):
    with pytest.raises(error, match=message):
        gnn.make_trainer(dataset, config_of(partition=partition))


# What is loaded.


def test_rows_loaded_read_and_written_are_counted(gnn, dataset):
    trainer = gnn.make_trainer(dataset, config_of(layers=3, partition=clusters()))
    trainer.epoch()
    trainer.epoch()
    near = [
        len(neighborhood(dataset.train_graph, np.flatnonzero(clusters() == c)).nodes)
        for c in range(5)
    ]
    assert len(trainer.state.loads) == 2
    for load in trainer.state.loads:
        assert load["loaded"] == load["inputs"] == sum(near) > 36
        assert load["hits"] == 2 * (sum(near) - 36)
        assert load["admitted"] == 2 * 36


def test_evaluation_reads_no_histories(gnn, dataset):
    trainer = gnn.make_trainer(dataset, config_of(partition=clusters()))
    for _ in range(3):
        trainer.step()
    trainer.state.cache.rows[...] = np.nan
    plain = gnn.make_trainer(dataset, refimpl.TrainConfig(method="full", hidden=6))
    scores = trainer.scores(trainer.state.weights, dataset.train, dataset.val)
    assert scores == plain.scores(trainer.state.weights, dataset.train, dataset.val)


# The same bits.


def test_histories_of_another_model_are_refused(gnn, dataset):
    trainer = gnn.make_trainer(dataset, config_of())
    trainer.step()
    state = trainer.state
    for cache, message in (
        (None, "must have the histories of a run that has begun"),
        (Histories(2, 36, 6, np.float64), "must have the histories of this model"),
        (Histories(1, 36, 6, np.float32), "must have the histories of this model"),
        ({"layer2": np.zeros((36, 6))}, "arrays must be a dict of layer1"),
        ({"layer1": np.zeros((35, 6))}, "layer1 must have shape"),
        (3, "arrays must be a dict of layer1"),
    ):
        state.cache = cache
        with pytest.raises(ValueError, match=message):
            gnn.make_trainer(dataset, config_of(), state)
    state.cache = {"layer1": np.zeros((36, 6), np.float32)}
    with pytest.raises(TypeError, match="layer1 must be float64"):
        gnn.make_trainer(dataset, config_of(), state)


def test_saved_histories_are_copied(gnn, dataset):
    one, other = Histories(2, 4, 3, np.float64), Histories(2, 4, 3, np.float64)
    one.write(2, np.array([3, 1]), np.array([[1.0, 2, 3], [4, 5, 6]]))
    np.testing.assert_array_equal(one.read(2, np.array([1, 0])), [[4, 5, 6], [0, 0, 0]])
    other.load_state_dict(one.state_dict())
    one.rows[...] = 7
    assert other.rows.sum() == 21
    assert list(one.state_dict()) == ["layer1", "layer2"]
    assert Histories(0, 4, 3, np.float64).state_dict() == {}


@pytest.mark.parametrize("model", ["mixhop", "mlp"])
def test_models_without_histories(model):
    with pytest.raises(ValueError, match="model must be"):
        config_of(model)
