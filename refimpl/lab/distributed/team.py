"""The workers of a training step: which of them are on this rank, and what all of them found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refimpl.lab.distributed.collectives import total, total_of_parts, within
from refimpl.lab.hints import Comm, Weights
from refimpl.lab.training.methods.base import LoadCounts, Step
from refimpl.loader.mpi import as_communicator
from refimpl.profiling import timed
from refimpl.training.subgraph_pool import Turns


@dataclass
class Traffic:
    """What a rank has sent to others for the gradients' sake, and how long that took.

    Attributes
    ----------
    messages, bytes : int
        Sent to other ranks.
    waiting : float
        Seconds until all ranks had come to the end of their iterations.
    exchanging : float
        Seconds in which gradients were sent, added and received.
    """

    messages: int = 0
    bytes: int = 0
    waiting: float = 0.0
    exchanging: float = 0.0


class Team:
    """A run's logical workers, each rank's as many, in their order (this project's own).

    In a step every worker goes forward and back over a minibatch of its own; the mean of their
    gradients is what moves the weights. The sum is taken along one tree (see `tree`), so its bits
    depend on the number of workers alone.

    Parameters
    ----------
    workers : int
    comm : Communicator or communicator of mpi4py, optional
        Default: all workers are here.

    Attributes
    ----------
    turns : Turns
        Of the workers here.
    traffic : Traffic

    Raises
    ------
    TypeError, ValueError
        If `comm` is no communicator, or has a number of ranks that does not divide the workers.
    """

    def __init__(self, workers: int, comm: Comm | None = None) -> None:
        self.workers = workers
        self.comm: Any = None
        self.rank, self.size = 0, 1
        if comm is not None:
            self.comm = as_communicator(comm)
            self.rank, self.size = self.comm.rank, self.comm.size
        if workers % self.size:
            raise ValueError(
                f"workers_a_step must be a multiple of the {self.size} ranks, got {workers}"
            )
        each = workers // self.size
        self.turns = Turns(workers, self.rank * each, (self.rank + 1) * each)
        self.traffic = Traffic()
        first_to_last = [(r * each, (r + 1) * each) for r in range(self.size)]
        self._trees = [within(*mine, 0, workers) for mine in first_to_last]
        self._sent: Any = None

    def step(self, iteration: Callable[[int], Step]) -> Step:
        """Return the `Step` of all workers; ``iteration(w)`` returns that of worker w."""
        steps: list[Step] = []

        def gradient(w: int) -> NDArray[Any]:
            steps.append(iteration(w))
            return flat(steps[-1].gradients)

        parts = [total(lo, hi, gradient) for lo, hi in self._trees[self.rank]]
        shapes = {name: G.shape for name, G in steps[-1].gradients.items()}
        with timed("communication"):
            begin = perf_counter()
            loss, nodes, counts = self._records(steps)
            self.traffic.waiting += perf_counter() - begin
            begin = perf_counter()
            G = self._mean(parts)
            self.traffic.exchanging += perf_counter() - begin
        return Step(loss, shaped(G, shapes), nodes, counts)

    def _records(self, steps: list[Step]) -> tuple[float, int, LoadCounts | None]:
        """Return the mean loss of all workers, and the sums of their nodes and counts."""
        rows = np.empty((len(steps), 2 + len(LoadCounts._fields)), np.int64)
        for row, step in zip(rows, steps, strict=True):
            loss = np.float64(step.loss).view(np.int64)
            row[:] = (loss, step.nodes, *(step.counts or LoadCounts()))
        if self.size > 1:
            self._count(rows)
            rows = self.comm.all_gather(rows).reshape(self.workers, -1)
        losses = np.ascontiguousarray(rows[:, 0]).view(np.float64)
        nodes, *counts = rows[:, 1:].sum(axis=0).tolist()
        of_all = None if steps[0].counts is None else LoadCounts(*counts)
        return float(total(0, self.workers, losses.__getitem__)) / self.workers, nodes, of_all

    def _mean(self, parts: list[NDArray[Any]]) -> Any:
        """Return the mean over all workers of what each rank has as parts of the tree.

        Rank r adds up the r-th slice of all numbers, and sends it to the others.
        """
        count, dtype = len(parts[0]), parts[0].dtype
        if self.size == 1:
            (whole,) = parts
            return whole / dtype.type(self.workers)
        width = -(-count // self.size)
        if self._sent is None:  # kept: pages that are new cost more than the copy
            most = max(map(len, self._trees))
            self._sent = np.zeros((self.size, most, width), dtype)
        for k, part in enumerate(parts):
            for r, slice_of in enumerate(self._sent[:, k]):
                mine = part[r * width : (r + 1) * width]
                slice_of[: len(mine)] = mine
        self._count(self._sent[0])
        found = self.comm.all_to_all(self._sent)
        known = {
            part: numbers
            for tree, of_rank in zip(self._trees, found, strict=True)
            for part, numbers in zip(tree, of_rank, strict=False)
        }
        my_slice = total_of_parts(0, self.workers, known) / dtype.type(self.workers)
        self._count(my_slice)
        return self.comm.all_gather(my_slice).reshape(-1)[:count]

    def _count(self, sent: NDArray[Any]) -> None:
        """Count an array that is sent to each of the other ranks."""
        self.traffic.messages += self.size - 1
        self.traffic.bytes += (self.size - 1) * sent.nbytes


def flat(gradients: Weights) -> NDArray[Any]:
    """Return all numbers of a dict of arrays behind one another."""
    return np.concatenate([G.reshape(-1) for G in gradients.values()])


def shaped(numbers: NDArray[Any], shapes: dict[str, tuple[int, ...]]) -> Weights:
    """Return the dict of arrays that `flat` made one of, as views of it."""
    found, at = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = numbers[at : at + size].reshape(shape)
        at += size
    return found
