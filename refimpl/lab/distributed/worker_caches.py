"""The caches of a run's workers, as one: what a state has, and a checkpoint keeps."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from refimpl.lab.distributed.collectives import to_first
from refimpl.loader.mpi import Communicator
from refimpl.training.subgraph_pool import Turns


class WorkerCaches:
    """The caches of those workers that are on this rank.

    Parameters
    ----------
    caches : dict
        By worker; each with ``state_dict()``.
    """

    def __init__(self, caches: dict[int, Any]) -> None:
        self.caches = caches

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all caches, by ``worker/name``."""
        return {
            f"{worker}/{name}": array
            for worker, cache in self.caches.items()
            for name, array in cache.state_dict().items()
        }

    def gathered(self, comm: Communicator) -> Gathered | None:
        """Return those of all ranks, on rank 0; None on the others (collective)."""
        found = to_first(comm, self.state_dict())
        return found and Gathered({k: array for part in found for k, array in part.items()})


class Gathered(dict[str, NDArray[Any]]):
    """The arrays of the caches of all workers."""

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return them."""
        return dict(self)


def kept_caches(caches: dict[int, Any], turns: Turns) -> Any:
    """Return what a state keeps: the cache itself where a step has one worker."""
    return caches[0] if turns.workers == 1 else WorkerCaches(caches)


def state_of(found: Any, worker: int, turns: Turns) -> dict[str, NDArray[Any]]:
    """Return the arrays of a worker's cache from what a state has.

    Raises
    ------
    ValueError
        If it has no such worker, or has more workers than the run.
    """
    arrays = found if type(found) is dict else found.state_dict()
    if turns.workers == 1:
        return arrays
    workers = {name.partition("/")[0] for name in arrays}
    if not workers <= set(map(str, range(turns.workers))):
        raise ValueError(
            f"state.cache must have the embeddings of {turns.workers} workers, got those of "
            f"{', '.join(sorted(workers)[:9])}"
        )
    start = f"{worker}/"
    own = {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }
    if not own:
        raise ValueError(f"state.cache must have the embeddings of worker {worker}")
    return own
