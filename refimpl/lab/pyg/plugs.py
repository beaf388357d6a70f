"""What this project's samplers plug into PyG's classes, beside `_sample` of its NeighborSampler.

Importing this module imports torch and torch_geometric.
"""

from __future__ import annotations

from hashlib import blake2b
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
import torch_geometric
from numpy.typing import NDArray

from refimpl._support import require
from refimpl.hints import Int
from refimpl.lab.pyg.epochs import seed_of


def given(function: Any, **names: Any) -> Any:
    """Return a function of PyG that finds other values under some of its global names.

    Raises
    ------
    ImportError
        If the function does not read one of the names, as another version of PyG's may not.
    """
    unread = names.keys() - set(function.__code__.co_names)
    if unread:
        raise ImportError(
            f"torch_geometric {torch_geometric.__version__} is not supported: its "
            f"{function.__qualname__} does not use {', '.join(sorted(unread))}; install "
            f"'torch_geometric>=2.6,<2.9'"
        )
    found = function.__globals__ | names
    parts = function.__name__, function.__defaults__, function.__closure__
    made = FunctionType(function.__code__, found, *parts)
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    return made


class TorchWith:
    """The module torch with some operators of torch-sparse.

    Parameters
    ----------
    **operators : functions
        By their names in ``torch.ops.torch_sparse``.
    """

    def __init__(self, **operators: Any) -> None:
        self.ops = SimpleNamespace(torch_sparse=SimpleNamespace(**operators))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


class Keyed:
    """What draws by its seed, its epoch and what a batch is about, in any process.

    Methods are called on PyG's own classes too, after `enable`: none of them calls `super`.
    """

    gnn: Any = None
    seed: int

    def _begin(self, seed: Any) -> None:
        """Keep the seed, and begin with epoch 0."""
        self.seed = seed_of(seed)
        self._drawing = torch.zeros(1, dtype=torch.int64).share_memory_()  # workers see it
        self.epoch = 0

    @property
    def epoch(self) -> int:
        """The number of the next epoch, below 2**31; may be set, as to resume."""
        return self._epoch

    @epoch.setter
    def epoch(self, number: Int) -> None:
        self._epoch = require.integer("epoch", number, 0, 2**31 - 1)
        self._drawing[0] = self._epoch

    def begin_epoch(self) -> None:
        """Draw by the number of the next epoch from now on, in all workers, and count it."""
        self._drawing[0] = require.integer("epoch", self._epoch, 0, 2**31 - 1)
        self._epoch += 1

    def _name(self, *roots: NDArray[Any]) -> tuple[int, int, int]:
        """Return (seed, epoch, batch), the last a digest of what the batch is about."""
        digest = blake2b(digest_size=8)
        for nodes in roots:
            digest.update(len(nodes).to_bytes(8, "little") + nodes.tobytes())
        return self.seed, int(self._drawing), int.from_bytes(digest.digest(), "little")


class KeyedLoader(Keyed):
    """A `Keyed` data loader: every ``for`` over it is another epoch's draws."""

    def __iter__(self: Any) -> Any:
        self.begin_epoch()
        return torch.utils.data.DataLoader.__iter__(self)


def sampler_of(loader: Any) -> Any:
    """Return the sampler of a node or link loader of PyG."""
    return loader.node_sampler if hasattr(loader, "node_sampler") else loader.link_sampler


def begin_epoch(loader: Any) -> None:
    """Count an epoch of a loader's sampler, if that is one of this project's."""
    sampler = sampler_of(loader)
    if hasattr(sampler, "begin_epoch"):
        sampler.begin_epoch()


class Epochs:
    """What a loader of PyG has in addition: every ``for`` over it is another epoch's draws."""

    gnn: Any = None

    @property
    def epoch(self) -> int:
        """The number of the next epoch, which its sampler counts; may be set, as to resume."""
        return sampler_of(self).epoch

    @epoch.setter
    def epoch(self, number: Int) -> None:
        sampler_of(self).epoch = number

    def __iter__(self) -> Any:
        begin_epoch(self)
        return super().__iter__()  # type: ignore[misc]
