"""What an epoch is, and which weights a run gives."""

import numpy as np
import pytest
from strategies import even_graph

from refimpl import Dataset, Sampler, TrainConfig, methods

pytestmark = pytest.mark.runs


def small_data():
    """Return a data set of 100 nodes, 40 of them for training; features tell the class."""
    features = np.random.default_rng(0).normal(size=(100, 5))
    labels = features[:, :3].argmax(axis=1)
    train, val, test = np.arange(40), np.arange(40, 90), np.arange(90, 100)
    inductive = {"setting": "inductive", "induced": even_graph(40, 4)}
    return Dataset("small", even_graph(100, 4), features, labels, train, val, test, **inductive)


def test_an_epoch_sees_as_many_nodes_as_the_training_graph(gnn):
    sampler = Sampler("frontier", m=3, n=12)
    config = TrainConfig(method=methods.SampledGraph(sampler=sampler), hidden=4, rng=7)
    trainer = gnn.make_trainer(small_data(), config)
    trainer.epoch()
    trainer.epoch()
    ends = [record.iterations for record in trainer.state.history]
    sizes = [len(sub.nodes) for sub in gnn.sample_many(small_data().train_graph, sampler, 7, 0, 99)]
    for begin, end in zip([0, *ends], ends, strict=False):
        assert sum(sizes[begin : end - 1]) < 40 <= sum(sizes[begin:end])


def test_the_best_epoch_by_validation_is_kept(gnn):
    weights = []

    def keep(state):
        weights.append({name: W.copy() for name, W in state.weights.items()})

    method = methods.SampledGraph(sampler=Sampler("frontier", m=3, n=12))
    config = TrainConfig(method=method, hidden=16, epochs=12, lr=0.2)
    result = gnn.train(small_data(), config, after_epoch=keep)
    scores = [record.val_f1 for record in result.history]
    assert len(scores) == 12 and scores[-1] < max(scores)  # or the last would always do
    assert result.best_epoch == 1 + scores.index(max(scores))  # the first of equals
    assert result.val_f1 == max(scores)
    for name, W in result.weights.items():
        np.testing.assert_array_equal(W, weights[result.best_epoch - 1][name])
