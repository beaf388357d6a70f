"""What a training step works on: where its subgraph, features, labels and weights come from."""

from functools import partial
from typing import NamedTuple

import numpy as np

from refimpl.lab.training.pool import Pool
from refimpl.streams import LAYER, SHUFFLE, key
from refimpl.typed import TypedGraph


class Minibatch(NamedTuple):
    """The operands of the layers, and what the nodes have.

    Attributes
    ----------
    operands : tuple
        One a layer: what it aggregates with.
    X : (n_src, f) array
        Features of the nodes that the first layer reads.
    Y : (n_dst, C) array
        Labels of the nodes that the loss is taken over.
    weights : (n_dst,) array or None
        Their weights in the loss; None: 1 / n_dst each.
    """

    operands: tuple
    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray | None


class WholeGraph:
    """The training graph itself, again and again: full-batch training."""

    def __init__(self, gnn, stack, graph, X, Y):
        A = stack.adjacency(graph, gnn.transpose_perm(graph), dtype=X.dtype)
        self.batch = Minibatch(stack.operands(A), X, Y, None)

    def __next__(self):
        return self.batch

    def close(self):
        """Do nothing: there is no pool."""


class Subgraphs:
    """Subgraphs from a pool, normalised by their own degrees or by a sampler's counts."""

    def __init__(self, gnn, stack, graph, X, Y, sampler, counts, first):
        self.gnn, self.stack, self.graph, self.X, self.Y = gnn, stack, graph, X, Y
        self.sampler, self.counts = sampler, counts
        config = stack.config
        self.pool = gnn.SubgraphPool(
            graph,
            sampler,
            config.rng,
            size=config.pool,
            first=first,
            background=config.background,
        )

    def __next__(self):
        sub = next(self.pool)  # J1:3 J8:10
        if not len(sub.nodes):
            raise ValueError(f"sampler must draw nodes, but {self.sampler} drew none")
        if isinstance(self.graph, TypedGraph):
            sub = self.graph.typed(sub)
        A, weights = self._normalised(sub)  # J1:4 E-A4
        X, Y = self.gnn.loader.gather_rows(self.X, sub.nodes), self.Y[sub.nodes]  # J1:5-6
        return Minibatch(self.stack.operands(A), X, Y, weights)

    def _normalised(self, sub):
        """Return the adjacency of a subgraph, and the weights of its nodes in the loss."""
        dtype = self.X.dtype
        if self.counts is None:
            return self.stack.adjacency(sub.graph, sub.transpose_perm, dtype=dtype), None
        weights = self.gnn.samplers.loss_weights(self.counts, sub.nodes, dtype=dtype)
        if self.stack.config.model == "mlp":
            return None, weights
        return self.gnn.samplers.aggregator(self.counts, self.graph, sub, dtype=dtype), weights

    def close(self):
        """End the pool's thread."""
        self.pool.close()


class LayerBatches:
    """Batches of training nodes, each with sampled neighbours for every hop."""

    def __init__(self, gnn, stack, graph, X, Y, first):
        self.gnn, self.X, self.Y = gnn, X, Y
        draw = partial(_draw, LayerSampler(gnn, graph, stack.config), stack, X.dtype)
        config = stack.config
        self.pool = Pool(draw, size=config.pool, first=first, background=config.background)

    def __next__(self):
        mfg, operands = next(self.pool)
        X = self.gnn.loader.gather_rows(self.X, mfg.nodes[0])
        return Minibatch(operands, X, self.Y[mfg.nodes[-1]], None)

    def close(self):
        """End the pool's thread."""
        self.pool.close()


def _draw(sampler, stack, dtype, first, count):
    """Return (MFG, operands) of iterations first, .., first + count - 1."""
    drawn = (sampler.sample(iteration) for iteration in range(first, first + count))
    options = {"graph": sampler.graph, "dtype": dtype}
    return [(mfg, stack.block_operands(mfg, sampler.degrees, **options)) for mfg in drawn]


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


class LayerSampler:
    """Which nodes iteration i of a run is about, and what it samples for them.

    Its nodes are a batch of a `Shuffle` of all. What batch b of an epoch samples has the key
    (seed, LAYER, epoch, b). So an iteration depends on its number alone.
    """

    def __init__(self, gnn, graph, config):
        self.gnn, self.graph, self.config = gnn, graph, config
        self.degrees = graph.degrees()
        self.shuffle = Shuffle(gnn, graph.n, config.batch, config.rng)
        self.batches = self.shuffle.batches  # in an epoch

    def roots(self, iteration):
        """Return the nodes of an iteration, in their order."""
        return self.shuffle.batch(iteration)

    def sample(self, iteration):
        """Return the MFG of an iteration."""
        stream = key(self.config.rng, LAYER, *divmod(iteration, self.batches))
        return self.gnn.layer_sample(self.graph, self.roots(iteration), self.config.fanouts, stream)
