"""What the methods share that compute some nodes an iteration: counts of rows, keys by node."""

from typing import NamedTuple

import numpy as np

from refimpl.streams import DROPOUT, GOLD, MASK, key
from refimpl.training.trainer import Trainer


class LoadCounts(NamedTuple):
    """Rows that iterations needed and loaded, in all.

    Attributes
    ----------
    inputs : input nodes of the sampled graphs: what neighbour sampling alone loads
    live : of these, needed after pruning
    feature_hits : of these, read from the cache
    loaded, bytes : the others, read from the features, and their size there
    lookups, hits : live rows of the cached layers, and of these those read from the cache
    admitted, evicted : embeddings put into the cache, and valid ones taken out for their gradient
    lost, dropped : valid embeddings that others were written over, and embeddings refused
    """

    inputs: int = 0
    live: int = 0
    feature_hits: int = 0
    loaded: int = 0
    bytes: int = 0
    lookups: int = 0
    hits: int = 0
    admitted: int = 0
    evicted: int = 0
    lost: int = 0
    dropped: int = 0

    def plus(self, other):
        """Return the sum of both."""
        return LoadCounts(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def io_saving(self):
        """Share of the rows of neighbour sampling that were not loaded; NaN for none."""
        return 1 - self.loaded / self.inputs if self.inputs else float("nan")

    @property
    def hit_rate(self):
        """Share of the live rows of cached layers that were read from the cache; NaN for none."""
        return self.hits / self.lookups if self.lookups else float("nan")


class NodeTrainer(Trainer):
    """A `Trainer` that reads features by node, and adds the rows read to ``state.loads``."""

    def __init__(self, gnn, dataset, config, state=None):
        super().__init__(gnn, dataset, config, state)
        self.graph = dataset.train_graph
        self.features, self.rows = dataset.features, dataset.train
        self.degrees = self.graph.degrees()
        self.places = list(self.stack.layers.items())
        self.counts_of_epoch = LoadCounts()

    @property
    def row_bytes(self):
        """Bytes of a node's features where they are read from."""
        return self.features.shape[1] * self.features.itemsize

    def epoch(self, after_step=None):
        """As `Trainer.epoch`; the rows loaded and saved are added to ``state.loads``."""
        self.counts_of_epoch = LoadCounts()
        super().epoch(after_step)
        self.state.loads.append(self.counts_of_epoch._asdict())

    def _adjacency(self, block, nodes):
        """Return the matrix of a block of the training graph whose sources are `nodes`."""
        return self.stack.block_operand(block, nodes, self.degrees, self.graph, dtype=self.dtype)

    def _dropped(self, X, nodes, number):
        """Return X, rows of `nodes`, with the dropout of input `number`, and the key of each row.

        It is the node's, (rng, DROPOUT, iteration, number, node): whichever rows there are, a
        node has one mask. Without dropout there are no keys.
        """
        if not self.config.dropout:
            return X, None
        prefix = key(self.config.rng, DROPOUT, self.state.iterations, number)
        keys = self.gnn.mix(nodes.astype(np.uint64) + np.uint64(prefix + GOLD & MASK))
        return self.gnn.dropout(X, self.config.dropout, keys), keys
