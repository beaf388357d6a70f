"""Batches in an order that is drawn anew for each epoch, and depends on its number alone."""

import numpy as np

from refimpl.streams import SHUFFLE, key


class Shuffle:
    """Numbers 0, .., count - 1, `size` of them an iteration, so that an epoch has each once.

    An epoch is all of them in the order of a Fisher-Yates shuffle with the key (seed, SHUFFLE,
    epoch), cut into batches; the last one of an epoch may be smaller.
    """

    def __init__(self, gnn, count, size, seed):
        self.gnn, self.count, self.size, self.seed = gnn, count, size, seed
        self.batches = -(-count // size)  # in an epoch
        self._shuffled: dict[int, np.ndarray] = {}  # the order of the latest epoch

    def batch(self, iteration):
        """Return the numbers of an iteration, in their order."""
        epoch, b = divmod(iteration, self.batches)
        if epoch not in self._shuffled:
            stream = key(self.seed, SHUFFLE, epoch)
            order = self.gnn.streams.pick_without_replacement(stream, 0, self.count, self.count)
            self._shuffled = {epoch: order}
        return self._shuffled[epoch][b * self.size : (b + 1) * self.size]

    def name(self, iteration):
        """Return (epoch, number of the batch in it)."""
        return divmod(iteration, self.batches)
