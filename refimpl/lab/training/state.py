"""What a run depends on and leaves: its state, its records, its result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refimpl._support.notebook_cards import result_html
from refimpl._support.reprs import short_repr
from refimpl.lab.hints import Ranks, Weights

if TYPE_CHECKING:
    from refimpl.hints import FloatDtype
    from refimpl.lab.training.stack import Stack


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
    val_f1 : float or None
        F1-micro of the validation nodes; None where it was not taken.
    normalization, sampling, aggregation, weights, other : float
        Seconds since the start, by part of a `Meter`.
    evaluation : float
        Seconds since the start, in none of the other parts.
    cache : float
        Seconds since the start, a part too: FreshGNN's looking up, pruning and updating.
    communication : float
        Seconds since the start, a part too: averaging the gradients of several workers.
    val_loss : float or None
        Mean loss over the validation nodes; None where it was not taken.
    """

    epoch: int
    iterations: int
    loss: float
    val_f1: float | None
    normalization: float
    sampling: float
    aggregation: float
    weights: float
    other: float
    evaluation: float
    cache: float = 0.0
    val_loss: float | None = None
    communication: float = 0.0


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
        Those of the best epoch by validation so far (E-F8); of the last without validation nodes.
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
        Of embeddings, or one for each worker, of which a rank has those of its own workers; in a
        state from a checkpoint, what its ``state_dict()`` gave.
    reads : list of dict
        What each epoch read of features on storage, as `ReadCounts` names it, in this process or
        rank; empty if no epoch read features ahead.
    """

    weights: Weights
    m: Weights
    v: Weights
    best_weights: Weights
    best_val_f1: float = -1.0
    best_epoch: int = 0
    iterations: int = 0  # V1:2
    history: list[EpochRecord] = field(default_factory=list)
    loads: list[dict[str, int]] = field(default_factory=list)  # rows loaded and saved in each epoch
    cache: Any = None  # of embeddings; in a state from a checkpoint, what its state_dict() gave
    reads: list[dict[str, float]] = field(default_factory=list)  # of features on storage

    def __repr__(self) -> str:
        return short_repr(self)


class TrainResult(NamedTuple):
    """What a run gives: the weights of the best epoch by validation, and how it got there.

    What `train` returns.

    Attributes
    ----------
    weights : dict of str to float arrays of any shape
        By name; those of the best epoch by validation.
    val_f1, test_f1 : float or None
        Their F1-micro on the validation and test nodes; None where there are none.
    best_epoch : int
        Its number, from 1.
    iterations : int
        Done in all.
    history : list of EpochRecord
        One an epoch.
    state : TrainState
        Where another run can go on.
    """

    weights: Weights
    val_f1: float | None
    test_f1: float | None
    best_epoch: int
    iterations: int
    history: list[EpochRecord]
    state: TrainState

    def _repr_html_(self) -> str:
        return result_html(self)


def first_state(stack: Stack, seed: int, dtype: FloatDtype) -> TrainState:
    """Return the TrainState of a run that has not begun."""
    weights = stack.initial_weights(seed, dtype)
    zeros = {name: np.zeros_like(W) for name, W in weights.items()}
    return TrainState(weights, zeros, copied(zeros), copied(weights))


def check_state(state: TrainState, stack: Stack, dtype: np.dtype[Any]) -> None:
    """Raise unless `state` has the weights of a stack, of this dtype."""
    if not isinstance(state, TrainState):
        raise TypeError(f"state must be a TrainState, got {type(state).__name__}")
    for part in ("weights", "m", "v", "best_weights"):
        arrays = getattr(state, part)
        if {name: array.shape for name, array in arrays.items()} != stack.shapes():
            raise ValueError(f"state.{part} must have the weights of this model and data set")
        for name, array in arrays.items():
            if array.dtype != dtype:
                raise TypeError(f"state.{part} must be {dtype}, but {name} is {array.dtype}")


def copied(arrays: Weights) -> Weights:
    """Return copies of the arrays of a dict."""
    return {name: array.copy() for name, array in arrays.items()}


def gathered_state(state: TrainState, comm: Ranks) -> TrainState | Any:  # a program knows its rank
    """Return the state of a run on rank 0, with what all workers keep (collective).

    A rank's own state has the caches of its own workers only; a checkpoint has to have all:
    `save_checkpoint` takes what this returns, on rank 0. Not in the papers.

    Parameters
    ----------
    state : TrainState
        Of this rank, as ``after_epoch`` of `train` gets it.
    comm : MPIComm or SimComm
        The ranks of the run.

    Returns
    -------
    TrainState or None
        None on the other ranks.

    Raises
    ------
    TypeError
        If `state` is no TrainState.
    """
    if not isinstance(state, TrainState):
        raise TypeError(f"state must be a TrainState, got {type(state).__name__}")
    if hasattr(state.cache, "gathered"):
        state = replace(state, cache=state.cache.gathered(comm))
    return state if comm.rank == 0 else None
