"""How often a run with eval_every="auto" scores its validation nodes."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from tiny_data import tiny_dataset

from refimpl import TrainConfig
from refimpl.lab.training.config import config_from
from refimpl.lab.training.evaluation_times import work_of

pytestmark = pytest.mark.runs

EPOCHS = 17


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Return 200 nodes, 25 of them for training."""
    data = tiny_dataset(tmp_path_factory.mktemp("tiny"), "float64")
    return replace(data, train=np.sort(data.train)[:25], induced=None, setting="transductive")


def asked(method="full", **options):
    options = {"epochs": EPOCHS, "eval_every": "auto", **options}
    return config_from({"method": method, "model": "gcn", "hidden": 6, "rng": 3, **options})


def scored(history):
    return [record.epoch for record in history if record.val_f1 is not None]


def within(graph, nodes, hops):
    """Return how many nodes are at most so many hops from some nodes."""
    near = np.isin(np.arange(graph.n), nodes)
    for _ in range(hops):
        near = near | (graph.to_scipy() @ near > 0)
    return int(near.sum())


@pytest.mark.parametrize("method", ["full", "neighbor"])
def test_training_has_eight_times_the_work_of_an_evaluation(gnn, dataset, method):
    """Two layers of 6 and a classifier: products of the rows that are needed, by the definition."""
    graph, (f, h, C) = dataset.graph, (dataset.features.shape[1], 6, dataset.classes)
    rows = [within(graph, dataset.val, hops) for hops in (2, 1, 0)]
    evaluation = rows[0] * f * h + rows[1] * h * h + rows[2] * h * C
    if method == "full":
        rows = [graph.n] * 3
    else:
        rows = [within(graph, dataset.train, hops) for hops in (2, 1, 0)]
    epoch = 2 * rows[0] * f * h + 3 * rows[1] * h * h + 3 * rows[2] * h * C
    every = next(E for E in range(1, 99) if E * epoch >= 8 * evaluation)
    want = sorted({*range(every, EPOCHS + 1, every), EPOCHS})
    assert 1 < every < EPOCHS and EPOCHS % every
    options = {"fanouts": (2, 2), "batch_size": 10} if method == "neighbor" else {}
    result = gnn.train(dataset, asked(method, **options))
    assert scored(result.history) == want and result.best_epoch in want


def test_a_resumed_run_scores_the_same_epochs(gnn, dataset):
    whole = gnn.train(dataset, asked())
    for after in (1, 4, 9):
        with gnn.make_trainer(dataset, asked()) as trainer:
            for _ in range(after):
                trainer.epoch()
            state = copy.deepcopy(trainer.state)
        again = gnn.train(dataset, asked(), state=state)
        assert [r.val_f1 for r in again.history] == [r.val_f1 for r in whole.history]
        assert again.best_epoch == whole.best_epoch
        for name, W in whole.weights.items():
            np.testing.assert_array_equal(again.weights[name], W)


def test_there_are_four_evaluations_in_a_patience(gnn, dataset):
    result = gnn.train(dataset, asked(lr=1e-9, patience=9))
    assert scored(result.history)[:4] == [2, 4, 6, 8]
    assert scored(gnn.train(dataset, asked(lr=1e-9, patience=3)).history)[:3] == [1, 2, 3]


def test_a_layer_after_the_first_has_a_gradient_of_its_input():
    class Stage:
        width = 5

    class Pass:
        hops, stages = 1, (Stage, Stage)

    assert work_of([Pass, Pass], [7, 4, 2], 3, (1, 1)) == 7 * 15 + 4 * 25 + 4 * 25 + 2 * 25
    assert work_of([Pass, Pass], [7, 4, 2], 3, (2, 3)) == 2 * 7 * 15 + 3 * (4 + 4 + 2) * 25


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="eval_every must be a number of epochs or 'auto', got"):
        TrainConfig(eval_every="often")
    with pytest.raises(ValueError, match="eval_every must be in"):
        TrainConfig(eval_every=0)
