"""The training loop, over the iterations of any method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from refimpl._support import require
from refimpl._support.bfloat16 import bfloat16_products
from refimpl._support.reprs import showing
from refimpl._support.thread_limits import one_blas_thread
from refimpl.hints import Absent, Ids, Integers, Matrix, Sparse, Table, bound
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.distributed.collectives import check_alike
from refimpl.lab.distributed.local import LocalIterations
from refimpl.lab.distributed.parts import FeatureParts
from refimpl.lab.distributed.team import Team
from refimpl.lab.hints import Comm, Weights
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.divergence import check_step, check_weights
from refimpl.lab.training.evaluation import Evaluation
from refimpl.lab.training.evaluation_times import epochs_between
from refimpl.lab.training.methods.base import LoadCounts, Step
from refimpl.lab.training.progress import Progress
from refimpl.lab.training.run import (
    Run,
    check_bfloat16,
    checked_features,
    checked_stored,
    warn_of_ignored_weights,
    warn_of_lost_edges,
    what_is_run,
)
from refimpl.lab.training.sparse_inputs import numbers_a_row, sparse_rows
from refimpl.lab.training.stack import Stack
from refimpl.lab.training.state import (
    EpochRecord,
    TrainResult,
    TrainState,
    check_state,
    copied,
    first_state,
)
from refimpl.loader.lookahead_features import LookaheadFeatures, ReadCounts
from refimpl.loader.lookahead_graph import LookaheadGraph
from refimpl.metrics import decide, f1_micro
from refimpl.profiling import PARTS, Meter
from refimpl.training.graph_iteration import move_weights

if TYPE_CHECKING:
    from typing_extensions import Self


class Trainer:
    """One run over an implementation, an iteration or an epoch at a time; see `make_trainer`.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
        Its dtype is the dtype of the run.
    config : TrainConfig
    state : TrainState, optional
        Where to go on, and what then changes in place; default: the start.
    features : (n, f) array, FeatureParts or LookaheadFeatures, optional
        Where training reads the features of node i of ``dataset.train_graph`` as row i, scaled.
    graph : LookaheadGraph, optional
        What neighbours are drawn from, if not ``dataset.train_graph``.
    comm : communicator, optional
        The ranks that share the workers out.

    Attributes
    ----------
    run : Run
    team : Team
        The workers of a step.
    iterations : object
        Of the method: see `MethodSettings`.
    meter : Meter
        Seconds by part since the start.
    stored : LookaheadGraph or None
        What neighbours are drawn from, if the graph is read from storage.
    counts_of_epoch : LoadCounts
        Rows loaded in this epoch so far, if the method counts them.
    seconds_before : float
        Seconds of training in earlier processes, without evaluation.
    """

    def __init__(
        self,
        gnn: ModuleType,
        dataset: Dataset,
        config: TrainConfig,
        state: TrainState | None = None,
        features: Table | FeatureParts | LookaheadFeatures | None = None,
        graph: LookaheadGraph | None = None,
        comm: Comm | None = None,
    ) -> None:
        for name, value, kind in (("dataset", dataset, Dataset), ("config", config, TrainConfig)):
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
        config = config.fitted(dataset)
        self.team = Team(config.workers_a_step, comm)
        for whole in (dataset.graph, dataset.train_graph):
            config.model.check_graph(whole)
        if config.patience is not None and not dataset.val.size:
            raise ValueError("patience must be None where there are no validation nodes")
        check_bfloat16(gnn, config.bfloat16)
        warn_of_lost_edges(dataset)
        warn_of_ignored_weights(dataset, config.model)
        f_in = dataset.features.shape[1]
        stack = Stack(gnn, config, f_in, dataset.classes, dataset.multilabel)
        if state is None:
            state = first_state(stack, config.rng, dataset.dtype)
        check_state(state, stack, dataset.dtype)
        if comm is not None:
            check_alike(self.team.comm, what_is_run(gnn, dataset, config, state))
        rows = checked_features(features, dataset, config)
        self.stored = checked_stored(graph, dataset, config)
        self.gnn, self.dataset, self.config, self.stack = gnn, dataset, config, stack
        self.state, self.counts_of_epoch = state, LoadCounts()
        self.meter = Meter()
        if state.history:
            last = state.history[-1]._asdict()
            self.meter.seconds = {part: last[part] for part in PARTS}
        self.seconds_before = self.training_seconds
        self.reading = features if isinstance(features, LookaheadFeatures) else None
        self._epoch_begin = self._epoch_end = self._read_so_far()
        self._graph_bytes = 0  # when the epoch began
        self.run = Run(
            gnn, dataset, config, stack, state, rows, self.team.turns, stored=self.stored
        )
        with self.meter:
            local = config.partition == "local"
            self.iterations = (LocalIterations if local else config.method.start)(self.run)
        if state.cache is not None and self.iterations.cache is None:
            raise ValueError(f'state.cache must be None where method is "{config.method.name}"')
        state.cache = self.iterations.cache
        self.sparse = config.model.sparse_features and issparse(dataset.features)
        self.scored: tuple[Any, ...] = ()  # the nodes that the evaluation is of
        self.evaluation: Evaluation | Absent = None
        self.closed = False
        self._every = 0  # epochs from one evaluation to the next, where the run chooses that

    __repr__ = showing("dataset", "config", "done", "closed")

    def close(self) -> None:
        """End the threads that sample ahead, if there are any; no step can follow."""
        self.closed = True
        self.iterations.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def step(self) -> Step:
        """Do one iteration; return its `Step`.

        The method goes forward and back on its next minibatch, or on that of each worker, then
        Adam moves the weights.
        """
        if self.closed:
            raise ValueError("the trainer is closed")
        begin, before = perf_counter(), sum(self.meter.seconds.values())
        rounding = bfloat16_products(self.config.bfloat16)
        with self.meter, one_blas_thread(), rounding:
            alone, iterations = self.team.workers == 1, self.iterations
            step = iterations.iteration() if alone else self.team.step(self._iteration)
            if alone and getattr(iterations, "moves_weights", False):
                self.state.iterations += 1
            else:
                self.update(step.gradients)
            check_step(step, self.dataset, self.state.iterations)
        if step.counts is not None:
            self.counts_of_epoch = self.counts_of_epoch.plus(step.counts)
        recorded = sum(self.meter.seconds.values()) - before
        self.meter.seconds["other"] += perf_counter() - begin - recorded
        return step

    @property
    def training_seconds(self) -> float:
        """Seconds of training since the start, without evaluation."""
        return sum(self.meter.seconds.values()) - self.meter.seconds["evaluation"]

    def _read_so_far(self) -> tuple[ReadCounts, float]:
        """Return copies of the counts of reads and of the seconds of training."""
        counts = ReadCounts() if self.reading is None else replace(self.reading.counts)
        return counts, self.training_seconds

    def reads_of_epoch(self) -> tuple[ReadCounts, float]:
        """Return what was read since the epoch before ended, and the seconds of training in it."""
        (counts, seconds), (before, begin) = self._read_so_far(), self._epoch_begin
        return counts.since(before), seconds - begin

    def graph_bytes_of_epoch(self) -> int:
        """Return the bytes of a graph on storage that were read since the epoch began."""
        return 0 if self.stored is None else self.stored.counts.bytes - self._graph_bytes

    def _iteration(self, worker: int) -> Step:
        """Go over the next minibatch, a worker's; return its `Step`."""
        self.run.worker = worker
        return self.iterations.iteration()

    def update(self, gradients: Weights) -> None:
        """Let Adam move the weights; count the iteration."""
        move_weights(self.gnn, self.run.adam_state(), gradients)
        self.state.iterations += 1  # V1:18 E-V6: when the cache is updated already

    def epoch(self, after_step: Callable[[float], object] | None = None) -> None:
        """Do iterations until as many nodes were seen as an epoch has.

        These are the training nodes for methods that take batches of them, and all nodes of the
        graph that is trained on for those that take parts of it (E-G3). Then evaluate, keep the
        weights if they are the best so far, and extend the history. `after_step(share)`, if given,
        is called after each iteration with the share done.
        """
        whole = self.config.method.epoch_covers_graph
        losses, seen, n = [], 0, self.dataset.train_graph.n if whole else len(self.dataset.roots)
        self.counts_of_epoch, self._epoch_begin = LoadCounts(), self._epoch_end
        self._graph_bytes = 0 if self.stored is None else self.stored.counts.bytes
        while seen < n:
            step = self.step()
            losses.append(step.loss)
            seen += step.nodes
            if after_step is not None:
                after_step(min(seen / n, 1))
        self._record(float(np.mean(losses)))

    def _record(self, loss: float) -> None:
        """Evaluate at an epoch's end, keep the weights if they are the best, extend the history."""
        state, val, config = self.state, self.dataset.val, self.config
        check_weights(state.weights, self.dataset, state.iterations)
        number, val_f1, val_loss = len(state.history) + 1, None, None
        if val.size and self._scores_after(number):
            ((val_f1, val_loss),) = self._judged(state.weights, (val,), config.best_by == "loss")
        seconds = self.meter.seconds
        record = EpochRecord(number, state.iterations, loss, val_f1, **seconds, val_loss=val_loss)
        if not val.size or self._better(record):
            state.best_weights, state.best_epoch = copied(state.weights), number
            state.best_val_f1 = state.best_val_f1 if val_f1 is None else val_f1
        state.history.append(record)
        if config.method.counts_loads:
            state.loads.append(self.counts_of_epoch._asdict())
        if self.reading is not None or state.reads:
            earlier = len(state.history) - 1 - len(state.reads)  # when features were in memory
            state.reads += [asdict(ReadCounts())] * earlier + [asdict(self.reads_of_epoch()[0])]
        self._epoch_end = self._read_so_far()

    def _scores_after(self, epoch: int) -> bool:
        """Whether the validation nodes are scored after an epoch."""
        every = self.config.eval_every
        if not isinstance(every, str):  # not "auto"
            return epoch % every == 0
        if epoch >= self.config.epochs:
            return True
        self._every = self._every or epochs_between(
            self.dataset, self.config, self.stack, self._evaluation((self.dataset.val,))
        )
        return epoch % self._every == 0

    def _better(self, record: EpochRecord) -> bool:
        """Whether an epoch is better than all before it; one that was not scored is not."""
        state = self.state
        if self.config.best_by == "score":
            return record.val_f1 is not None and record.val_f1 > state.best_val_f1
        best = state.history[state.best_epoch - 1].val_loss if state.best_epoch else None
        best = math.inf if best is None else best
        return record.val_loss is not None and record.val_loss < best

    @property
    def done(self) -> bool:
        """Whether the last epoch is done, or none was better than the best for too long."""
        config, last = self.config, len(self.state.history)
        if config.patience is not None and last - self.state.best_epoch >= config.patience:
            return True
        return last >= config.epochs

    def scores(self, weights: Weights, *parts: Integers) -> list[float | None]:
        """Return F1-micro on each array of nodes, None for none: one exact pass for these."""
        return [score for score, _ in self._judged(weights, parts)]

    def _judged(self, weights: Weights, parts: Any, with_loss: bool = False) -> list[Any]:
        """Return F1-micro, and the mean loss if it is asked for, on each array of nodes."""
        begin, dataset, found = perf_counter(), self.dataset, []
        logits = self._evaluation(parts).run(weights, self._inputs).logits
        ends = np.cumsum([len(part) for part in parts])[:-1]
        for part, of_part in zip(parts, np.split(logits, ends), strict=True):
            score, loss = None, None
            if len(part):
                Y = dataset.targets(part)
                score = f1_micro(decide(of_part, dataset.multilabel), Y)
                loss = float(self.stack.loss(of_part, Y).value) if with_loss else None
            found.append((score, loss))
        self.meter.seconds["evaluation"] += perf_counter() - begin
        return found

    def _inputs(self, nodes: Ids) -> Matrix[Any] | Sparse:
        if self.sparse:
            data = self.dataset
            return sparse_rows(self.gnn, data.features, nodes, data.scaling, data.dtype)
        return self.dataset.inputs(nodes, self.gnn.loader.gather_rows)

    def _evaluation(self, parts: tuple[Any, ...]) -> Evaluation:
        """Return the Evaluation of some arrays of nodes; it is kept for the same arrays."""
        if list(map(id, self.scored)) != list(map(id, parts)):
            self.evaluation = None  # its memory is free for the next
            self.scored, self.evaluation = (
                parts,
                Evaluation(
                    self.stack,
                    self.dataset.graph,
                    np.concatenate(parts),
                    dtype=self.dataset.dtype,
                    memory=self.config.eval_memory,
                    comm=self.team.comm,
                    width=numbers_a_row(self.dataset.features) if self.sparse else None,
                ),
            )
        return self.evaluation

    def result(self) -> TrainResult:
        """Score the best weights on validation and test nodes."""
        state = self.state
        weights, best_epoch = state.best_weights, state.best_epoch
        if not best_epoch and state.history:  # none was evaluated
            weights, best_epoch = copied(state.weights), len(state.history)
        val_f1, test_f1 = self.scores(weights, self.dataset.val, self.dataset.test)
        return TrainResult(
            weights,
            val_f1,
            test_f1,
            best_epoch,
            state.iterations,
            list(state.history),
            state,
        )


@bound
def make_trainer(
    gnn: ModuleType,
    dataset: Dataset,
    config: TrainConfig,
    state: TrainState | None = None,
    *,
    features: Table | FeatureParts | LookaheadFeatures | None = None,
    graph: LookaheadGraph | None = None,
    comm: Comm | None = None,
) -> Trainer:
    """Return one run over an implementation, to be taken an iteration or an epoch at a time.

    JPDC'21 Algorithm 1, or VLDB'24 Algorithm 1, opened up.
    Its methods are ``step()``, ``epoch()``, ``scores(weights, *parts)``, ``result()`` and
    ``close()``; a ``with`` block closes it as well.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
        Its dtype is the dtype of the run.
    config : TrainConfig
    state : TrainState, optional
        Where to go on, and what then changes in place; default: the start.
    features : (n, f) float16, float32 or float64 array, optional
        Where training reads the features of node i of ``dataset.train_graph`` as row i, scaled; a
        memory map, say. In the data set's dtype, or in float16 where that is float32. Default:
        ``dataset.features``, which evaluation always reads. Or a `FeatureParts` of the same ranks.
        Or a `LookaheadFeatures` of the data set's own file.
    graph : LookaheadGraph, optional
        What the methods neighbor and fresh draw neighbours from: the data set's own graph, read
        from storage. It changes no result. Default: ``dataset.train_graph``.
    comm : MPIComm, SimComm or communicator of mpi4py, optional
        As for `train`.

    Returns
    -------
    Trainer

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or does not fit another, or ranks differ.
    ImportError
        If `comm` is mpi4py's, and no MPI is there.
    """
    return Trainer(gnn, dataset, config, state, features, graph, comm)


@bound
def train(
    gnn: ModuleType,
    dataset: Dataset,
    config: TrainConfig,
    *,
    state: TrainState | None = None,
    after_epoch: Callable[[TrainState], object] | None = None,
    features: Table | FeatureParts | LookaheadFeatures | None = None,
    graph: LookaheadGraph | None = None,
    comm: Comm | None = None,
    progress: bool = True,
) -> TrainResult:
    """Train a model by minibatches; return the weights that are best on validation nodes.

    This is the loop of JPDC'21 Algorithms 1 and 8. It calls the method's ``iteration``, such as
    `graph_iteration`; `SubgraphPool` is the pool. The numbers of threads and ranks, and the
    settings ``pool``, ``background`` and ``workers``, do not change the result.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
    config : TrainConfig
    state : TrainState, optional
        The state to resume from: ``TrainResult.state``, or a checkpoint. It changes in place.
    after_epoch : callable, optional
        A function that is called with the TrainState after each epoch.
    features : (n, f) float16, float32 or float64 array, optional
        Features to read instead of the data set's, as for `make_trainer`.
    graph : LookaheadGraph, optional
        The data set's graph on storage, as for `make_trainer`.
    comm : MPIComm, SimComm or communicator of mpi4py, optional
        The communicator of the ranks. Every rank calls `train` with the same data, settings and
        state, and gets the same result. The number of ranks divides ``config.workers_a_step``.
        Default: one process.
    progress : bool
        Show a bar with the loss and the score, in a notebook or on a terminal.

    Returns
    -------
    TrainResult

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or conflicts with another, or if ranks differ.
    Diverged
        A FloatingPointError: a loss or gradient is not finite, or weights are not finite at the
        end of an epoch. It says whether features, gradients or weights became too large first.
    ImportError
        If `comm` is mpi4py's and MPI is not installed.
    """
    require.switch("progress", progress)
    with (
        gnn.make_trainer(
            dataset, config, state, features=features, graph=graph, comm=comm
        ) as trainer,
        Progress(trainer, progress) as bar,
    ):
        while not trainer.done:  # J8:2 J1:2 E-F8: a number of epochs
            trainer.epoch(bar.within_epoch)
            bar.after_epoch()
            if after_epoch is not None:
                after_epoch(trainer.state)
        return trainer.result()  # J8:15 J1:17
