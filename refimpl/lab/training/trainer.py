"""Training on sampled subgraphs, or on what else a method makes a minibatch of."""

from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from refimpl._threads import one_blas_thread
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.training.clusters import ClusterBatches
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.evaluation import full_graph_forward
from refimpl.lab.training.importance_batches import FastGcnBatches, LadiesBatches
from refimpl.lab.training.minibatches import LayerBatches, Subgraphs, WholeGraph
from refimpl.lab.training.scaling import scaled_sampler
from refimpl.lab.training.stack import Stack
from refimpl.metrics import decide, f1_micro
from refimpl.profiling import PARTS, Meter, timed

SOURCES = {  # of minibatches, by method
    "layer": LayerBatches,
    "cluster": ClusterBatches,
    "fastgcn": FastGcnBatches,
    "ladies": LadiesBatches,
}


class EpochRecord(NamedTuple):
    """One line of a history: what `train` records after each epoch.

    Attributes
    ----------
    epoch : int
        From 1.
    iterations : int
        Since the start.
    loss : float
        Mean over the epoch's iterations.
    val_f1 : float
        F1-micro of the validation nodes.
    normalization, sampling, aggregation, weights, other : float
        Seconds since the start, by part of a `Meter`.
    evaluation : float
        Seconds since the start, in none of the other parts.
    cache : float
        Seconds since the start, a part too: FreshGNN's looking up, pruning and updating.
    """

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
    cache: float = 0.0


@dataclass
class TrainState:
    """Everything that the next iteration depends on, and the history so far.

    For `train`, and for `save_checkpoint`.

    Attributes
    ----------
    weights : dict of str to float arrays of any shape
        By name, such as ``layer1.W_neigh``.
    m, v : dict of str to float arrays of the same shapes and dtype
        Adam's running means of the gradients and of their squares.
    best_weights : dict of str to float arrays of the same shapes and dtype
        Those of the best epoch by validation so far (E-F8).
    best_val_f1 : float
        Their F1-micro; -1 before the first epoch.
    best_epoch : int
        Its number, from 1; 0 before the first.
    iterations : int
        Done so far.
    history : list of EpochRecord
        One an epoch.
    loads : list of dict
        Rows loaded and saved in each epoch; for method "fresh" and the like.
    cache : object or None
        Of embeddings; in a state from a checkpoint, what its ``state_dict()`` gave.
    """

    weights: dict[str, np.ndarray]
    m: dict[str, np.ndarray]
    v: dict[str, np.ndarray]
    best_weights: dict[str, np.ndarray]
    best_val_f1: float = -1.0
    best_epoch: int = 0
    iterations: int = 0
    history: list[EpochRecord] = field(default_factory=list)
    loads: list[dict] = field(default_factory=list)  # rows loaded and saved in each epoch
    cache: Any = None  # of embeddings; in a state from a checkpoint, what its state_dict() gave


class TrainResult(NamedTuple):
    """What a run gives: the weights of the best epoch by validation, and how it got there.

    What `train` returns.

    Attributes
    ----------
    weights : dict of str to float arrays of any shape
        By name; those of the best epoch by validation.
    val_f1, test_f1 : float
        Their F1-micro on the validation and test nodes.
    best_epoch : int
        Its number, from 1.
    iterations : int
        Done in all.
    history : list of EpochRecord
        One an epoch.
    state : TrainState
        Where another run can go on.
    """

    weights: dict[str, np.ndarray]
    val_f1: float
    test_f1: float
    best_epoch: int
    iterations: int
    history: list[EpochRecord]
    state: TrainState


class Trainer:
    """One run over an implementation, an iteration at a time.

    With ``config.background`` a thread samples ahead; it ends with `close`, at the end of a
    ``with`` block, or with the trainer.

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
        self.Y, self.dtype = dataset.labels[dataset.train], dataset.labels.dtype
        f_in, classes = dataset.features.shape[1], self.Y.shape[1]
        self.stack = Stack(gnn, config, f_in, classes, dataset.multilabel)
        for graph in (dataset.graph, dataset.train_graph):
            self.stack.check_types(graph)
        self.profile = Meter()
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
            self.minibatches = self._minibatches()
        self.A_full = None

    @cached_property
    def X(self):
        """The features of the training nodes, in memory."""
        return self.dataset.features[self.dataset.train]

    def _initial_state(self):
        weights = self.stack.initial_weights(self.config.rng, self.dtype)
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
    def _minibatches(self):
        parts = self.gnn, self.stack, self.dataset.train_graph, self.X, self.Y
        if self.config.method == "full":
            return WholeGraph(*parts)
        if self.config.method in SOURCES:
            return SOURCES[self.config.method](*parts, self.state.iterations)
        return Subgraphs(*parts, self.sampler, self.counts, self.state.iterations)

    def close(self):
        """End the thread that samples ahead, if there is one; no step can follow."""
        self.minibatches.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def step(self):
        """Do one iteration; return the loss and the number of nodes that it was taken over.

        JPDC'21 Algorithm 1, of which ``# n`` marks line n: what stands inside its loop.
        """
        begin, before = perf_counter(), sum(self.profile.seconds.values())
        with self.profile, one_blas_thread():
            loss, gradients, nodes = self._passes()
            self._update(gradients)
        recorded = sum(self.profile.seconds.values()) - before
        self.profile.seconds["other"] += perf_counter() - begin - recorded
        return loss, nodes

    def _passes(self):
        """Go forward and back on the next minibatch; return loss, gradients, number of nodes."""
        state = self.state
        operands, X, Y, node_weights = next(self.minibatches)  # 3-6 J8:10
        logits, kept = self.stack.forward(state.weights, operands, X, state.iterations)  # 7 9 J8:11
        loss = self.stack.loss(logits, Y, node_weights)  # 13
        gradients = self.stack.gradients(state.weights, operands, kept, loss.gradient)  # 15 J8:13
        return loss.value, gradients, len(Y)

    def _update(self, gradients):
        """Let Adam move the weights."""
        state = self.state
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
        graph, X = self.dataset.graph, self.dataset.features
        if self.A_full is None:
            self.A_full = self.stack.adjacency(graph, dtype=X.dtype)
        logits = full_graph_forward(self.stack, weights, graph, X, self.A_full).logits
        predicted = decide(logits, self.dataset.multilabel)
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


def _copy(arrays):
    return {name: array.copy() for name, array in arrays.items()}
