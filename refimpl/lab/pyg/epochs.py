"""What all loaders are: batches of epochs, each made from its number alone, perhaps ahead."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from refimpl._support import require
from refimpl._support.torch_modules import torch_alone
from refimpl.hints import Int
from refimpl.lab.training.prefetch import MOST_WORKERS, Ahead
from refimpl.streams import as_seed


class Loader(ABC):
    """An iterable of batches; every ``for`` over it is an epoch.

    A loader sets `_count`, its number of batches.
    """

    gnn: Any = None  # the implementation; bound in each package
    _count: int

    def _set(
        self,
        num_workers: Int,
        prefetch_factor: Int,
        seed: Any,
        transform: Callable[[Any], Any] | None,
    ) -> None:
        """Keep what all loaders take."""
        self.num_workers = require.integer("num_workers", num_workers, 0, MOST_WORKERS)
        self.prefetch_factor = require.integer("prefetch_factor", prefetch_factor, 1, 2**20)
        if transform is not None and not callable(transform):
            raise TypeError(f"transform must be callable, got {type(transform).__name__}")
        self.transform = transform
        self.seed = seed_of(seed)
        self.epoch = 0

    @abstractmethod
    def _plan(self, epoch: int) -> Callable[[int], Any]:
        """Return a function from the number of a batch of this epoch to the batch."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        epoch = require.integer("epoch", self.epoch, 0, 2**31 - 1)
        make = partial(_made, self._plan(epoch), self.transform)
        self.epoch = epoch + 1
        return _batches(make, len(self), self.num_workers, self.prefetch_factor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} batches an epoch, seed={self.seed})"


def _made(plan: Callable[[int], Any], transform: Callable[[Any], Any] | None, number: int) -> Any:
    """Return a batch."""
    batch = plan(number)
    return batch if transform is None else transform(batch)


def _batches(make: Callable[[int], Any], count: int, workers: int, factor: int) -> Iterator[Any]:
    """Yield the batches of an epoch; the threads end with the loop, wherever it is left."""
    torch = torch_alone()
    ahead = Ahead(
        make,
        list(range(count)),
        workers=workers,
        window=max(1, workers * factor),
        prepare=torch.get_num_threads,  # torch sets its threads at a thread's first call, not later
    )
    with ahead:
        for _, batch in ahead:
            yield batch


def seed_of(seed: Any) -> int:
    """Return an int: `seed` as one, or a draw of torch's generator, which torch.manual_seed sets.

    Parameters
    ----------
    seed : int, numpy.random.Generator, torch.Generator or None
    """
    torch = torch_alone()
    if seed is None or isinstance(seed, torch.Generator):
        return int(torch.empty((), dtype=torch.int64).random_(generator=seed))
    return as_seed(seed)
