"""FreshGNN with everything cached and the batch always computed is GNNAutoScale."""

import numpy as np
import pytest
from tiny_data import tiny_dataset

import refimpl
from refimpl.lab.training.fresh import FreshTrainer
from refimpl.lab.training.gas import GasTrainer


class OnClusters(FreshTrainer):
    """FreshGNN on the batches of GNNAutoScale with all neighbours, and a cache full of zeros."""

    def __init__(self, gnn, dataset, config, batches):
        self.batches = batches
        super().__init__(gnn, dataset, config)
        n = dataset.train_graph.n
        zeros = np.zeros((n, config.hidden), self.dtype)
        for layer in range(1, config.layers):
            self.cache.admit(layer, np.arange(n, dtype=np.int32), zeros, 0)

    def _minibatches(self):
        all_of_them = (-1,) * self.config.layers
        for batch in self.batches:
            yield self.gnn.sample_mfg(
                self.dataset.train_graph, batch, all_of_them, seed=0, epoch=0, batch=0
            )


def pair(gnn, data, lookup_roots, **options):
    """Return (GNNAutoScale, FreshGNN) on the same batches."""
    options = {"hidden": 8, "lr": 0.02, "rng": 3, **options}
    partition = np.random.default_rng(3).integers(0, 6, data.train_graph.n)
    gas = GasTrainer(gnn, data, refimpl.TrainConfig(method="gas", **options), partition=partition)
    batches = [next(gas.minibatches) for _ in range(13)]
    gas.minibatches = iter(batches)
    config = refimpl.TrainConfig(
        method="fresh",
        p_grad=1.0,
        t_stale=None,
        hotness="none",
        lookup_roots=lookup_roots,
        **options,
    )
    return gas, OnClusters(gnn, data, config, batches)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"layers": 3, "dropout": 0.2, "bias": True}])
@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_the_same_losses_weights_and_histories(gnn, tmp_path, model, options, dtype):
    """Bit for bit, over two epochs."""
    data = tiny_dataset(tmp_path, dtype)
    gas, fresh = pair(gnn, data, False, model=model, **options)
    for _ in range(13):
        assert fresh.step() == gas.step()
    for name, W in gas.state.weights.items():
        np.testing.assert_array_equal(W, fresh.state.weights[name])
    for layer, rows in enumerate(gas.state.cache.rows, start=1):
        slots = fresh.cache.lookup(layer, np.arange(len(rows), dtype=np.int32), 13)
        assert np.all(slots >= 0)
        np.testing.assert_array_equal(fresh.cache.read(slots), rows)
        assert rows.any()


def test_with_roots_looked_up_it_is_not(gnn, tmp_path):
    """What is cached is never computed again."""
    gas, fresh = pair(gnn, tiny_dataset(tmp_path, "float64"), True, layers=3)
    assert [fresh.step() for _ in range(13)] != [gas.step() for _ in range(13)]
