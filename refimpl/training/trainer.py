"""Training on sampled subgraphs, or on the whole training graph as if it were one."""

from dataclasses import dataclass, field
from itertools import repeat
from time import perf_counter
from typing import NamedTuple

import numpy as np

from refimpl._threads import one_blas_thread
from refimpl.metrics import f1_micro, predict
from refimpl.profiling import PARTS, Profile, timed
from refimpl.training.config import TrainConfig, scaled_sampler
from refimpl.training.datasets.dataset import Dataset
from refimpl.training.pool import SubgraphPool
from refimpl.training.stack import Stack


class EpochRecord(NamedTuple):
    """One line of a history; seconds are totals since the start, evaluation apart."""

    epoch: int
    iterations: int
    loss: float
    val_f1: float
    normalization: float
    sampling: float
    aggregation: float
    weights: float
    other: float
    evaluation: float


@dataclass
class TrainState:
    """Everything that the next iteration depends on, and the history so far."""

    weights: dict[str, np.ndarray]
    m: dict[str, np.ndarray]
    v: dict[str, np.ndarray]
    best_weights: dict[str, np.ndarray]
    best_val_f1: float = -1.0
    best_epoch: int = 0
    iterations: int = 0
    history: list[EpochRecord] = field(default_factory=list)


class TrainResult(NamedTuple):
    """What a run gives: the weights of the best epoch by validation, and how it got there."""

    weights: dict[str, np.ndarray]
    val_f1: float
    test_f1: float
    best_epoch: int
    iterations: int
    history: list[EpochRecord]
    state: TrainState


class Trainer:
    """One run over an implementation, an iteration at a time.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
        Its dtype is the dtype of the run.
    config : TrainConfig
    state : TrainState, optional
        Where to go on, and what then changes in place; default: the start.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or the state's weights do not fit the model.
    """

    def __init__(self, gnn, dataset, config, state=None):
        for name, value, kind in (("dataset", dataset, Dataset), ("config", config, TrainConfig)):
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
        self.gnn, self.dataset, self.config = gnn, dataset, config
        self.X, self.Y = dataset.features[dataset.train], dataset.labels[dataset.train]
        f_in, classes = self.X.shape[1], self.Y.shape[1]
        self.stack = Stack(gnn, config, f_in, classes, dataset.multilabel)
        self.profile = Profile()
        self.state = self._initial_state() if state is None else state
        if not isinstance(self.state, TrainState):
            raise TypeError(f"state must be a TrainState, got {type(state).__name__}")
        for part in ("weights", "m", "v", "best_weights"):
            arrays = getattr(self.state, part)
            if {name: array.shape for name, array in arrays.items()} != self.stack.shapes():
                raise ValueError(f"state.{part} must have the weights of this model and data set")
        if self.state.history:
            last = self.state.history[-1]._asdict()
            self.profile.seconds = {part: last[part] for part in PARTS}
        self.sampler = None
        if config.method == "graph":
            self.sampler = config.sampler or scaled_sampler(dataset.train_graph)
        with self.profile:
            self.counts = self._estimated_counts() if config.normalize else None
            self.subgraphs = self._subgraphs()
        self.A_full = None

    def _initial_state(self):
        weights = self.stack.initial_weights(self.config.rng, self.X.dtype)
        zeros = {name: np.zeros_like(W) for name, W in weights.items()}
        return TrainState(weights, zeros, _copy(zeros), _copy(weights))

    @timed("normalization")
    def _estimated_counts(self):
        return self.gnn.estimate_counts(
            self.dataset.train_graph,
            self.sampler,
            self.config.rng,
            coverage=self.config.coverage,
            pool=self.config.pool,
        )

    @timed("sampling")
    def _subgraphs(self):
        graph = self.dataset.train_graph
        if self.sampler is None:
            return repeat(self.gnn.induced_subgraph(graph, np.arange(graph.n)))
        return SubgraphPool(
            self.gnn,
            graph,
            self.sampler,
            self.config.rng,
            size=self.config.pool,
            first=self.state.iterations,
        )

    def _normalised(self, sub):
        """Return the adjacency of a subgraph, and the weights of its nodes in the loss."""
        gnn, dtype = self.gnn, self.X.dtype
        if self.counts is None:
            return gnn.row_norm(sub.graph, sub.transpose_perm, dtype=dtype), None
        A = gnn.aggregator(self.counts, self.dataset.train_graph, sub, dtype=dtype)
        return A, gnn.loss_weights(self.counts, sub.nodes, dtype=dtype)

    def step(self):
        """Do one iteration; return the loss and the number of nodes.

        JPDC'21 Algorithm 1, of which ``# n`` marks line n: what stands inside its loop.
        """
        begin, before = perf_counter(), sum(self.profile.seconds.values())
        state = self.state
        with self.profile, one_blas_thread():
            sub = next(self.subgraphs)  # 3 A8:10
            if not len(sub.nodes):
                raise ValueError(f"sampler must draw nodes, but {self.sampler} drew none")
            A, node_weights = self._normalised(sub)  # 4 E-A4
            X, Y = self.X[sub.nodes], self.Y[sub.nodes]  # 5-6
            logits, kept = self.stack.forward(state.weights, A, X)  # 7 9 A8:11
            loss = self.stack.loss(logits, Y, node_weights)  # 13
            gradients = self.stack.gradients(state.weights, A, kept, loss.gradient)  # 15 A8:13
            state.iterations += 1
            for name, W in state.weights.items():
                self.gnn.adam_step(
                    W,
                    gradients[name],
                    state.m[name],
                    state.v[name],
                    state.iterations,
                    lr=self.config.lr,
                )  # 15
        recorded = sum(self.profile.seconds.values()) - before
        self.profile.seconds["other"] += perf_counter() - begin - recorded
        return loss.value, len(sub.nodes)

    def epoch(self, after_step=None):
        """Do iterations until as many nodes were seen as the training graph has (E-G3).

        Then evaluate, keep the weights if they are the best so far, and extend the history.
        `after_step(share)`, if given, is called after each iteration with the share done.
        """
        losses, seen = [], 0
        while seen < self.dataset.train_graph.n:
            loss, nodes = self.step()
            losses.append(loss)
            seen += nodes
            if after_step is not None:
                after_step(min(seen / self.dataset.train_graph.n, 1))
        state = self.state
        (val_f1,) = self.scores(state.weights, self.dataset.val)
        number = len(state.history) + 1
        if val_f1 > state.best_val_f1:
            state.best_weights = _copy(state.weights)
            state.best_val_f1, state.best_epoch = val_f1, number
        seconds = self.profile.seconds
        state.history.append(
            EpochRecord(number, state.iterations, float(np.mean(losses)), val_f1, **seconds)
        )

    def scores(self, weights, *parts):
        """Return F1-micro on each array of nodes: one forward pass over the full graph."""
        begin = perf_counter()
        with one_blas_thread():
            if self.A_full is None:
                self.A_full = self.gnn.row_norm(self.dataset.graph, dtype=self.X.dtype)
            logits, _ = self.stack.forward(weights, self.A_full, self.dataset.features)
        predicted = predict(logits, self.dataset.multilabel)
        scores = [f1_micro(predicted[part], self.dataset.labels[part]) for part in parts]
        self.profile.seconds["evaluation"] += perf_counter() - begin
        return scores

    def result(self):
        """Score the best weights on validation and test nodes."""
        state = self.state
        val_f1, test_f1 = self.scores(state.best_weights, self.dataset.val, self.dataset.test)
        return TrainResult(
            state.best_weights,
            val_f1,
            test_f1,
            state.best_epoch,
            state.iterations,
            list(state.history),
            state,
        )


def train(gnn, dataset, config, *, state=None, after_epoch=None):
    """Train a model on sampled subgraphs; return the weights that do best on validation nodes.

    JPDC'21 Algorithm 8, of which ``# n`` marks line n; see `Trainer` for an iteration and
    `SubgraphPool` for the pool. The result does not depend on the number of threads, nor on
    ``config.pool``.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
    config : TrainConfig
    state : TrainState, optional
        Where to go on, from ``TrainResult.state`` or a checkpoint; it changes in place.
    after_epoch : callable, optional
        Called with the TrainState after each epoch.

    Returns
    -------
    TrainResult

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or does not fit another.
    """
    trainer = Trainer(gnn, dataset, config, state)
    while len(trainer.state.history) < config.epochs:  # 2 A1:2 E-F8
        trainer.epoch()
        if after_epoch is not None:
            after_epoch(trainer.state)
    return trainer.result()  # 15 A1:17


def _copy(arrays):
    return {name: array.copy() for name, array in arrays.items()}
