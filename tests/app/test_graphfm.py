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
from refimpl.lab.training.gas import ClusterBatches, GasTrainer, neighborhood
from refimpl.lab.training.graphfm import GraphFmTrainer, outer_block

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
    return refimpl.TrainConfig(
        **{"method": method, "model": model, "hidden": 6, "rng": 6, "batch": 10, "lr": 0.05}
        | options
    )


def clusters(n=36, k=5):
    """Return a partition into clusters that are not contiguous."""
    return np.random.default_rng(1).integers(0, k, n)


@pytest.fixture(scope="module")
def dataset():
    return small_dataset()


def dense_pass(gnn, dataset, config, weights, batch, histories, iteration):
    """Return the loss of an iteration, and the histories afterwards, on arrays of all nodes."""
    A = pattern(dataset.train_graph)
    degrees, inside = A.sum(axis=1), np.isin(np.arange(len(A)), batch)
    M = matrix(config.model, A, degrees)
    M_inside = matrix(config.model, A & inside, degrees)
    around = (A & inside).any(axis=1) & ~inside
    Z, histories = dataset.features[dataset.train], histories.copy()
    for number in range(config.layers):
        W = weights_of(weights, f"layer{number + 1}")
        Z = Z * mask(gnn, config, *Z.shape, number, iteration)
        H = layer(config.model, M, W, Z)
        if number + 1 < config.layers:
            partial = layer(config.model, M_inside, W, Z).real
            known = histories[number]
            known[around] = (1 - config.beta) * known[around] + config.beta * partial[around]
            known[batch] = H[batch].real
            Z = known.astype(H.dtype)
            Z[batch] = H[batch]
    last = mask(gnn, config, *H.shape, config.layers, iteration)[batch]
    Y = dataset.labels[dataset.train][batch]
    return mean_loss(logits(config, weights, H[batch], last), Y), histories


@pytest.mark.parametrize("beta", [0.3, 1.0])
@pytest.mark.parametrize(("model", "options"), CASES)
def test_every_step_in_dense_algebra(gnn, dataset, model, options, beta):
    """Losses, gradients and histories of two epochs."""
    config = config_of(model, beta=beta, **options)
    trainer = GraphFmTrainer(gnn, dataset, config, partition=clusters())
    state, batches = trainer.state, ClusterBatches(gnn, clusters(), config.rng, 0)
    for iteration in range(10):
        batch = next(batches)
        W, m, before = copied(state.weights), copied(state.m), state.cache.rows.copy()
        loss, _ = trainer.step()

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
    of_gas = config_of(model, "gas", **options)
    gas = GasTrainer(gnn, data, of_gas, partition=clusters())
    still = GraphFmTrainer(gnn, data, config_of(model, beta=0.0, **options), partition=clusters())
    moving = GraphFmTrainer(gnn, data, config_of(model, **options), partition=clusters())
    for _ in range(12):
        loss = gas.step()
        assert still.step() == loss
        moving.step()
    assert bits(still.state) == bits(gas.state)
    assert (bits(moving.state) == bits(gas.state)) == (of_gas.layers == 1)


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_a_batch_of_nodes_without_neighbors(gnn, dataset, model):
    """There is nothing outside to be moved."""
    trainer = GraphFmTrainer(gnn, dataset, config_of(model))
    trainer.minibatches = iter([np.array(ISOLATED, np.int32)])
    loss, nodes = trainer.step()
    assert nodes == 3
    assert np.isfinite(loss)
    others = np.setdiff1d(np.arange(36), ISOLATED)
    assert not trainer.state.cache.rows[:, others].any()
    assert trainer.state.cache.rows[:, ISOLATED].any()


def test_only_histories_next_to_the_batch_are_moved(gnn, dataset):
    batch = np.arange(4, 9)
    trainer = GraphFmTrainer(gnn, dataset, config_of(layers=3))
    trainer.minibatches = iter([batch])
    rows = trainer.state.cache.rows
    near = neighborhood(dataset.train_graph, batch).nodes
    far = np.setdiff1d(np.arange(36), near)
    rows[:, far] = np.nan
    loss, _ = trainer.step()
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
    options = {"hidden": 32, "batch": 2048, "epochs": 1} if large else {"epochs": 2}
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
    with pytest.raises(ValueError, match="beta must be 0.5 where method"):
        refimpl.TrainConfig(method="gas", beta=0.2)
