"""Epochs of roots: which nodes each batch begins with."""

from numbers import Integral

import numpy as np

from refimpl._support import require
from refimpl._support.torch_modules import torch_alone
from refimpl.lab.batches.epochs import Loader
from refimpl.streams import NODES, key, permutation


class RootLoader(Loader):
    """A loader each batch of which begins with `batch_size` roots."""

    def _set_roots(self, roots, batch_size, shuffle, drop_last):
        """Keep distinct int64 roots and how they are cut into batches."""
        self._roots = roots
        self.batch_size = require.integer("batch_size", batch_size, 1, 2**31 - 1)
        self.shuffle = require.switch("shuffle", shuffle)
        self.drop_last = require.switch("drop_last", drop_last)
        whole_batches, rest = divmod(len(roots), self.batch_size)
        self._count = whole_batches + bool(rest and not drop_last)

    def _order(self, epoch):
        """Return the order of the roots in an epoch, as positions; None if it is their own."""
        return permutation(key(self.seed, NODES, epoch), len(self._roots)) if self.shuffle else None

    def _chosen(self, order, number):
        """Return which roots a batch begins with: their positions."""
        cut = slice(number * self.batch_size, (number + 1) * self.batch_size)
        return np.arange(len(self._roots))[cut] if order is None else order[cut]


def fanouts_of(name, given, layer):
    """Return the number of neighbours of each layer, from a sequence, array or tensor, or raise.

    Parameters
    ----------
    name, layer : str
        What the argument is called, and what a number stands for.
    given : sequence, array or tensor of ints
        -1 is all neighbours.
    """
    parts = require.sequence(name, given.tolist() if hasattr(given, "tolist") else given)
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, Integral):
            raise TypeError(f"{name} must be a sequence of integers, got {require.shown(given)}")
    if not parts:
        raise ValueError(f"{name} must have a number for each {layer}, got none")
    return [require.integer(name, part, -1, 2**31 - 1) for part in parts]


def node_ids(name, nodes, n):
    """Return nodes as int64 ids, from ids or a mask as tensor, array or list, or raise.

    Ids are distinct; a mask has an entry for each of the n nodes.
    """
    torch = torch_alone()
    nodes = nodes.cpu().numpy() if isinstance(nodes, torch.Tensor) else np.asarray(nodes)
    if nodes.dtype == np.bool_:
        return np.flatnonzero(require.mask(name, nodes, n))
    ids = require.ids(name, nodes, 0, n, np.int64)
    if len(np.unique(ids)) < len(ids):
        raise ValueError(f"{name} must be distinct")
    return ids
