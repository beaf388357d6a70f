"""A step of several workers against so many trainers of one worker each, summed by hand."""

import numpy as np
import pytest
from tiny_data import tiny_dataset
from worker_cases import config_of, tree_sum

import fastimpl
import refimpl

pytestmark = pytest.mark.runs

METHODS = ("graph", "neighbor", "layer", "cluster", "fastgcn", "ladies")


@pytest.fixture(scope="module", params=["float32", "float64"])
def data(tmp_path_factory, request):
    return tiny_dataset(tmp_path_factory.mktemp("tiny"), request.param)


class Alone:
    """Logical worker w of W as the only one, by hand: a trainer for each of its minibatches.

    For FreshGNN it hands its cache from one to the next, as checkpoints do. A minibatch's number
    is W times the step's there, so ages are W times as large.
    """

    def __init__(self, gnn, data, config):
        self.gnn, self.data, self.config, self.cache = gnn, data, config, None

    def step(self, q, weights):
        """Return the Step of minibatch q at these weights."""
        with self.gnn.make_trainer(self.data, self.config) as fresh:
            state = fresh.state
            if self.cache is None and state.cache is not None:  # no embeddings, perhaps features
                self.cache = state.cache.state_dict()
        state.iterations, state.cache = q, self.cache
        for name, W in weights.items():
            state.weights[name][:] = W
        with self.gnn.make_trainer(self.data, self.config, state) as trainer:
            step = trainer.iterations.iteration()
            if trainer.iterations.cache is not None:
                self.cache = trainer.iterations.cache.state_dict()
        return step


def mean_step(gnn, workers, i, weights):
    """Return the mean gradients and loss of step i, the sums taken along the tree by hand."""
    W = len(workers)
    steps = [worker.step(i * W + w, weights) for w, worker in enumerate(workers)]
    gradients = {}
    for name in weights:
        total = tree_sum([step.gradients[name] for step in steps])
        assert total.dtype == weights[name].dtype
        gradients[name] = total / total.dtype.type(W)
    loss = tree_sum([np.float64(step.loss) for step in steps]) / W
    return gradients, loss, sum(step.nodes for step in steps)


def check(gnn, data, config, alone, steps):
    """Go some steps side by side: all bits are equal, and the weights do move."""
    W = config.workers_a_step
    workers = [Alone(gnn, data, alone) for _ in range(W)]
    with gnn.make_trainer(data, config) as trainer:
        start = {name: A.copy() for name, A in trainer.state.weights.items()}
        weights = {name: A.copy() for name, A in start.items()}
        m, v = ({name: np.zeros_like(A) for name, A in start.items()} for _ in range(2))
        for i in range(steps):
            gradients, loss, nodes = mean_step(gnn, workers, i, weights)
            for name, A in weights.items():
                gnn.adam_step(A, gradients[name], m[name], v[name], i + 1, lr=config.lr)
            step = trainer.step()
            assert (step.loss, step.nodes) == (loss, nodes)
            for name, A in weights.items():
                assert step.gradients[name].tobytes() == gradients[name].tobytes(), (i, name)
                assert trainer.state.weights[name].tobytes() == A.tobytes(), (i, name)
                assert not np.array_equal(A, start[name])
        assert trainer.state.iterations == steps
        return trainer, workers


@pytest.mark.parametrize("workers", [3, 8])
@pytest.mark.parametrize("method", METHODS)
def test_a_step_is_the_mean_of_the_minibatches_of_one_worker(gnn, data, method, workers):
    options = {"dropout": 0.3, "bias": True}
    config, alone = (config_of(method, w, **options) for w in (workers, 1))
    check(gnn, data, config, alone, 2)


@pytest.mark.parametrize("model", ["gat", "mixhop", "gcn"])
def test_other_models(gnn, data, model):
    config, alone = (config_of("graph", w, model=model, dropout=0.2) for w in (3, 1))
    check(gnn, data, config, alone, 2)


@pytest.mark.parametrize(
    "options",
    [{}, {"t_stale": 1}, {"warmup": 2, "p_grad": 0.5}, {"hotness": "none", "overflow": "drop"}],
    ids=str,
)
@pytest.mark.parametrize("workers", [2, 3])
def test_every_worker_of_freshgnn_has_a_cache_of_its_own(gnn, data, workers, options):
    """Its embeddings are those of its own minibatches, their ages counted in steps."""
    config = config_of("fresh", workers, **options)
    ages = {
        "t_stale": workers * config.method.t_stale,
        "warmup": workers * config.method.warmup,
    }
    alone = config_of("fresh", 1, **(options | ages))
    trainer, _ = check(gnn, data, config, alone, 9)
    assert trainer.counts_of_epoch.hits > 20  # embeddings were read


def test_the_loss_of_an_epoch_is_the_mean_of_its_steps(gnn, data):
    with gnn.make_trainer(data, config_of("neighbor", 4)) as by_steps:
        losses = [by_steps.step().loss for _ in range(3)]
    with gnn.make_trainer(data, config_of("neighbor", 4)) as by_epochs:
        by_epochs.epoch()
        (record,) = by_epochs.state.history
    assert record.iterations == 3  # 10 batches
    assert record.loss == pytest.approx(np.mean(losses), rel=1e-15)


@pytest.mark.parametrize("method", ["graph", "neighbor", "cluster"])
def test_an_epoch_ends_with_the_step_that_completes_its_nodes(data, method):
    """How many nodes each minibatch has does not depend on the weights: one worker tells."""
    n = data.train_graph.n if config_of(method).method.epoch_covers_graph else len(data.roots)
    with refimpl.make_trainer(data, config_of(method, 1)) as trainer:
        sizes = [trainer.step().nodes for _ in range(60)]
    for workers in (1, 2, 3, 7):
        minibatches, ends, steps = iter(sizes), [], 0
        for _ in range(2):
            seen = 0
            while seen < n:
                seen += sum(next(minibatches) for _ in range(workers))
                steps += 1
            ends.append(steps)
        with fastimpl.make_trainer(data, config_of(method, workers)) as trainer:
            for _ in range(2):
                trainer.epoch()
        assert [record.iterations for record in trainer.state.history] == ends


def test_the_default_age_of_an_embedding(gnn, data):
    """A sixth of an epoch's steps, at least 1."""
    for workers, batch, expected in ((1, 5, 4), (2, 5, 2), (4, 5, 1), (8, 5, 1), (2, 1, 10)):
        more = {"t_stale": None, "batch_size": batch}
        fitted = config_of("fresh", workers, **more).fitted(data)
        batches = -(-130 // batch)
        assert fitted.method.t_stale == max(batches // (6 * workers), 1) == expected


def test_weight_decay_is_of_the_mean(gnn, data):
    """Added once, whatever the number of workers."""
    config, alone = (config_of("neighbor", w, weight_decay=0.1) for w in (3, 1))
    workers = [Alone(gnn, data, alone) for _ in range(3)]
    with gnn.make_trainer(data, config) as trainer:
        weights = {name: A.copy() for name, A in trainer.state.weights.items()}
        gradients, _, _ = mean_step(gnn, workers, 0, weights)
        trainer.step()
        for name, A in weights.items():
            G = gradients[name]
            if name.startswith("layer1"):
                G = G + A.dtype.type(0.1) * A
            gnn.adam_step(A, G, np.zeros_like(A), np.zeros_like(A), 1, lr=config.lr)
            assert trainer.state.weights[name].tobytes() == A.tobytes()
