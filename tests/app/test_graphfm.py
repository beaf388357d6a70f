"""GraphFM's feature momentum: its block, and without momentum it is GNNAutoScale."""

import numpy as np
import pytest
from dense_histories import bits, pattern, small_dataset
from test_gas import CASES, clusters

import refimpl
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods.gas import neighborhood
from refimpl.lab.training.methods.graphfm import outer_block

pytestmark = pytest.mark.runs


def config_of(model="sage", method="graphfm", **options):
    if method == "graphfm":
        options = {"beta": 0.3, **options}
    usual = {"hidden": 6, "rng": 6, "batch_size": 10, "lr": 0.05}
    return config_from({"method": method, "model": model, **usual, **options})


@pytest.fixture(scope="module")
def dataset():
    return small_dataset()


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


@pytest.mark.parametrize("beta", [-0.1, 1.1, float("nan")])
def test_bad_momentum(beta):
    with pytest.raises(ValueError, match="beta must be"):
        config_of(beta=beta)


def test_momentum_is_graphfms_alone():
    with pytest.raises(ValueError, match='beta is no setting where .*method is "gas"'):
        config_from({"method": "gas", "beta": 0.2})
    with pytest.raises(TypeError, match="beta"):
        refimpl.methods.Gas(beta=0.2)
