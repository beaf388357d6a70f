"""GraphFM's feature momentum against dense algebra; without momentum it is GNNAutoScale."""

import numpy as np
import pytest
from dense_histories import (
    ISOLATED,
    bits,
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
from threadpoolctl import threadpool_limits
from tiny_data import tiny_dataset

import fastimpl
import refimpl
from refimpl.lab.data.communities import communities
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods.cluster import ClusterOrder
from refimpl.lab.training.methods.gas import neighborhood, neighborhoods_ahead
from refimpl.lab.training.methods.graphfm import outer_block

pytestmark = pytest.mark.runs

CASES = [
    ("sage", {}),
    ("sage", {"layers": 3, "bias": True, "dropout": 0.3}),
    ("sage", {"layers": 1}),
    ("gcn", {}),
    ("gcn", {"layers": 3, "dropout": 0.2}),
    ("gat", {"heads": 2}),
    ("gat", {"layers": 3, "bias": True, "dropout": 0.2}),
]


def config_of(model="sage", method="graphfm", **options):
    if method == "graphfm":
        options = {"beta": 0.3, **options}
    usual = {"hidden": 6, "rng": 6, "batch_size": 10, "lr": 0.05}
    return config_from({"method": method, "model": model, **usual, **options})


def clusters(n=36, k=5):
    """Return a partition into clusters that are not contiguous."""
    return np.random.default_rng(1).integers(0, k, n)


@pytest.fixture(scope="module")
def dataset():
    return small_dataset()


def dense_pass(gnn, dataset, config, weights, batch, histories, iteration):
    """Return the loss of an iteration, and the histories afterwards, on arrays of all nodes."""
    A, beta = pattern(dataset.train_graph), config.method.beta
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


@pytest.mark.parametrize("beta", [0.3, 1.0])
@pytest.mark.parametrize(("model", "options"), CASES)
def test_every_step_in_dense_algebra(gnn, dataset, model, options, beta):
    """Losses, gradients and histories of two epochs."""
    config = config_of(model, beta=beta, partition=clusters(), **options)
    trainer = gnn.make_trainer(dataset, config)
    state, order = trainer.state, ClusterOrder(gnn, clusters(), config.rng)
    for iteration in range(10):
        batch = order.nodes(iteration)
        W, m, before = copied(state.weights), copied(state.m), state.cache.rows.copy()
        loss = trainer.step().loss

        def dense(W, batch=batch, before=before, i=iteration):
            return dense_pass(gnn, dataset, config, W, batch, before, i)

        expected, after = dense(W)
        assert loss == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(state.cache.rows, after, rtol=1e-11, atol=1e-14)
        check_gradients(lambda W, dense=dense: dense(W)[0], W, last_gradients(m, state.m))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("model", "options"), CASES)
def test_without_momentum_it_is_gas(gnn, model, options, dtype):
    """Bit for bit: losses, weights, Adam's means and histories."""
    data = small_dataset(dtype)
    options = {"partition": clusters(), **options}
    of_gas = config_of(model, "gas", **options)
    gas = gnn.make_trainer(data, of_gas)
    still = gnn.make_trainer(data, config_of(model, beta=0.0, **options))
    moving = gnn.make_trainer(data, config_of(model, **options))
    for _ in range(12):
        loss = gas.step().loss
        assert still.step().loss == loss
        moving.step()
    assert bits(still.state) == bits(gas.state)
    assert (bits(moving.state) == bits(gas.state)) == (of_gas.layers == 1)


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_a_batch_of_nodes_without_neighbors(gnn, dataset, model):
    """There is nothing outside to be moved."""
    trainer = gnn.make_trainer(dataset, config_of(model))
    trainer.iterations.passes = neighborhoods_ahead(
        trainer.run, iter([np.array(ISOLATED, np.int32)])
    )
    step = trainer.step()
    assert step.nodes == 3
    assert np.isfinite(step.loss)
    others = np.setdiff1d(np.arange(36), ISOLATED)
    assert not trainer.state.cache.rows[:, others].any()
    assert trainer.state.cache.rows[:, ISOLATED].any()


def test_only_histories_next_to_the_batch_are_moved(gnn, dataset):
    batch = np.arange(4, 9)
    trainer = gnn.make_trainer(dataset, config_of(layers=3))
    trainer.iterations.passes = neighborhoods_ahead(trainer.run, iter([batch]))
    rows = trainer.state.cache.rows
    near = neighborhood(dataset.train_graph, batch).nodes
    far = np.setdiff1d(np.arange(36), near)
    rows[:, far] = np.nan
    loss = trainer.step().loss
    assert np.isfinite(loss)
    assert np.isnan(rows[:, far]).all()
    assert np.all(rows[:, near].any(axis=(0, 2)))


def test_the_block_of_the_nodes_outside(gnn, dataset):
    A = pattern(dataset.train_graph)
    for batch in (np.array([5, 2, 30]), np.array([9]), np.arange(36)):
        nodes, block = neighborhood(dataset.train_graph, batch)
        outer = outer_block(gnn.block.transpose_block(block)[0], len(batch))
        outside = nodes[len(batch) :]
        sources = np.concatenate([outside, batch])
        assert (outer.n_dst, outer.n_src) == (len(outside), len(sources))
        dense = outer.to_scipy().toarray() > 0
        np.testing.assert_array_equal(dense[:, len(outside) :], A[np.ix_(outside, batch)])
        assert not dense[:, : len(outside)].any()


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_weights_and_histories_do_not_depend_on_threads(gnn, tmp_path, model):
    large = gnn is fastimpl
    data = communities(0) if large else tiny_dataset(tmp_path)
    options = {"hidden": 32, "batch_size": 2048, "epochs": 1} if large else {"epochs": 2}
    results = set()
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            results.add(bits(gnn.train(data, config_of(model, **options)).state))
    assert len(results) == 1


@pytest.mark.parametrize(("model", "options"), CASES)
def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits(gnn, dataset, tmp_path, model, options):
    whole = gnn.train(dataset, config_of(model, epochs=3, **options))
    part = gnn.train(dataset, config_of(model, epochs=1, **options))
    gnn.lab.training.save_checkpoint(tmp_path / "c.npz", part.state, {})
    state, _ = gnn.lab.training.load_checkpoint(tmp_path / "c.npz")
    last = gnn.train(dataset, config_of(model, epochs=3, **options), state=state)
    assert bits(last.state) == bits(whole.state)
    assert [r[:4] for r in last.history] == [r[:4] for r in whole.history]


@pytest.mark.parametrize("beta", [-0.1, 1.1, float("nan")])
def test_bad_momentum(beta):
    with pytest.raises(ValueError, match="beta must be"):
        config_of(beta=beta)


def test_momentum_is_graphfms_alone():
    with pytest.raises(ValueError, match='beta is no setting where .*method is "gas"'):
        config_from({"method": "gas", "beta": 0.2})
    with pytest.raises(TypeError, match="beta"):
        refimpl.methods.Gas(beta=0.2)
