"""FreshGNN with everything cached and the batch always computed is GNNAutoScale."""

import numpy as np
import pytest
from tiny_data import tiny_dataset

from refimpl.lab.training.config import config_from
from refimpl.lab.training.fresh_iterations import Pass
from refimpl.lab.training.methods.cluster import ClusterOrder

pytestmark = pytest.mark.runs


def pair(gnn, data, lookup_roots, **options):
    """Return (GNNAutoScale, FreshGNN with a cache full of zeros) on the same batches."""
    options = {"hidden": 8, "lr": 0.02, "rng": 3, **options}
    n = data.train_graph.n
    partition = np.random.default_rng(3).integers(0, 6, n)
    gas = gnn.make_trainer(data, config_from({"method": "gas", "partition": partition, **options}))
    policy = {"p_grad": 1.0, "t_stale": np.inf, "hotness": "none", "lookup_roots": lookup_roots}
    policy["draw_all"] = True  # the graphs come from below
    config = config_from({"method": "fresh", **policy, **options})
    fresh = gnn.make_trainer(data, config)
    order, all_of_them = ClusterOrder(gnn, partition, 3), (-1,) * config.layers
    graphs = (
        gnn.sample_mfg(data.train_graph, order.nodes(i), all_of_them, seed=0, epoch=0, batch=0)
        for i in range(13)
    )
    fresh.iterations.passes = (Pass(mfg, i, 0, None) for i, mfg in enumerate(graphs))
    zeros = np.zeros((n, config.hidden), fresh.run.dtype)
    for layer in range(1, config.layers):
        fresh.iterations.cache.admit(layer, np.arange(n, dtype=np.int32), zeros, 0)
    return gas, fresh


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"layers": 3, "dropout": 0.2, "bias": True}])
@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_the_same_losses_weights_and_histories(gnn, tmp_path, model, options, dtype):
    """Bit for bit, over two epochs."""
    data = tiny_dataset(tmp_path, dtype)
    gas, fresh = pair(gnn, data, False, model=model, **options)
    for _ in range(13):
        a, b = fresh.step(), gas.step()
        assert (a.loss, a.nodes) == (b.loss, b.nodes)
    for name, W in gas.state.weights.items():
        np.testing.assert_array_equal(W, fresh.state.weights[name])
    for layer, rows in enumerate(gas.state.cache.rows, start=1):
        slots = fresh.iterations.cache.lookup(layer, np.arange(len(rows), dtype=np.int32), 13)
        assert np.all(slots >= 0)
        np.testing.assert_array_equal(fresh.iterations.cache.read(slots), rows)
        assert rows.any()


def test_with_roots_looked_up_it_is_not(gnn, tmp_path):
    """What is cached is never computed again."""
    gas, fresh = pair(gnn, tiny_dataset(tmp_path, "float64"), True, layers=3)
    assert [fresh.step().loss for _ in range(13)] != [gas.step().loss for _ in range(13)]
