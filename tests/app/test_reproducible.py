"""The same bits from any pool and any number of threads, and what training may look at."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from tiny_data import tiny_dataset

import fastimpl
from refimpl.lab.data.communities import communities
from refimpl.lab.training.methods import SampledGraph

pytestmark = pytest.mark.runs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["graph", "full"])
def test_weights_do_not_depend_on_pool_or_threads(gnn, dtype, method, tmp_path):
    large = gnn is fastimpl
    dataset = communities(0, dtype=dtype) if large else tiny_dataset(tmp_path, dtype)
    results = set()
    for pool in (1, 2, 5) if method == "graph" else (1,):
        for threads in (1, 2):
            with threadpool_limits(threads):
                config = gnn.TrainConfig(
                    method=SampledGraph(pool=pool) if method == "graph" else "full",
                    epochs=2,
                    hidden=64 if large else 8,
                )
                result = gnn.train(dataset, config)
            groups = (result.state.weights, result.state.m, result.state.v, result.weights)
            results.add(tuple(W.tobytes() for group in groups for W in group.values()))
    assert len(results) == 1


def test_history_is_reproducible_but_for_the_times(gnn, tmp_path):
    """The same seed gives the same history."""
    dataset, config = tiny_dataset(tmp_path), gnn.TrainConfig(epochs=4, hidden=8, rng=9)
    first, second = (gnn.train(dataset, config) for _ in range(2))
    assert [record[:4] for record in first.history] == [record[:4] for record in second.history]


def test_training_never_sees_validation_or_test_features(gnn, tmp_path):
    """Poison them once the data set was checked; training does not notice."""
    config = gnn.TrainConfig(hidden=8)
    poisoned, clean = (tiny_dataset(tmp_path) for _ in range(2))
    poisoned.features[np.concatenate([poisoned.val, poisoned.test])] = np.nan
    trainers = [gnn.make_trainer(dataset, config) for dataset in (poisoned, clean)]
    for _ in range(12):
        losses = [trainer.step().loss for trainer in trainers]
        assert np.isfinite(losses[0])
        assert losses[0] == losses[1]


@pytest.mark.parametrize("sampler", ["frontier", "pin_tile"])
def test_a_sampler_of_the_whole_graph_is_full_batch_training(gnn, tmp_path, sampler):
    """m = n = number of nodes takes every node and no step."""
    dataset = tiny_dataset(tmp_path, "float64")
    n = dataset.train_graph.n
    everything = SampledGraph(sampler=gnn.Sampler(sampler, m=n, n=n))
    whole = gnn.TrainConfig(method=everything, epochs=5, hidden=8)
    full = gnn.TrainConfig(epochs=5, hidden=8, method="full")
    a, b = gnn.train(dataset, whole), gnn.train(dataset, full)
    assert a.iterations == b.iterations == 5
    for name, W in a.state.weights.items():
        assert W.tobytes() == b.state.weights[name].tobytes()
