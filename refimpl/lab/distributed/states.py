"""The state of a run whose workers are on several ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from refimpl.lab.hints import Ranks
from refimpl.lab.training.state import TrainState


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
