"""What a cache of embeddings means: a dictionary without a bound on its size, an oracle."""

import numpy as np


class DictCache:
    """The methods of `BidirectionalCache` that concern embeddings, each from its definition.

    An entry written in iteration i is valid in iteration j if ``j - i <= t_stale`` (FreshGNN
    section 4.1.2); reading it never makes it younger. Slots number the embeddings ever written.
    Eviction counts what the next iteration could have read.
    """

    def __init__(self, layers, n, width, t_stale, *, dtype="float32"):
        self.layers, self.n, self.width = layers, n, width
        self.t_stale, self.dtype = t_stale, np.dtype(dtype)
        self.entries = {}  # (layer, node) -> (slot, stamp)
        self.rows = []  # of the slots
        self.admitted = self.evicted = self.lost = self.dropped = 0

    def valid(self, layer, node, i):
        """Return whether there is an entry that iteration `i` may read."""
        if (layer, node) not in self.entries:
            return False
        _, stamp = self.entries[layer, node]
        return self.t_stale is None or i - stamp <= self.t_stale

    def lookup(self, layer, ids, i):
        found = [
            self.entries[layer, v][0] if self.valid(layer, v, i) else -1
            for v in np.asarray(ids).tolist()
        ]
        return np.array(found, np.int32)

    def read(self, slots):
        return np.array([self.rows[s] for s in slots], self.dtype).reshape(-1, self.width)

    def begin_update(self, i):
        """Nothing is ever overwritten, so cycles do not matter."""

    def evict(self, layer, ids, i):
        count = 0
        for v in np.asarray(ids).tolist():
            count += self.valid(layer, v, i + (self.t_stale != 0))
            self.entries.pop((layer, v), None)
        self.evicted += count
        return count

    def admit(self, layer, ids, values, i, *, take=None):
        for j, v in enumerate(np.asarray(ids).tolist()):
            self.entries[layer, v] = len(self.rows), i
            self.rows.append(values[j if take is None else take[j]].copy())
        self.admitted += len(ids)
        return len(ids)
