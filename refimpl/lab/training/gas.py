"""GNNAutoScale: all neighbours of a batch, those outside it as they were last computed.

Fey, Lenssen, Weichert and Leskovec 2021, "GNNAutoScale: Scalable and Expressive Graph Neural
Networks via Historical Embeddings". `HistoryTrainer` is what it shares with other methods that
keep a history of every node.
"""

from typing import NamedTuple

import numpy as np

from refimpl import _check
from refimpl.adjacency import Adjacency
from refimpl.block import Block, entries_of_rows
from refimpl.lab.training.clusters import CLUSTERS, grow_clusters
from refimpl.lab.training.minibatches import Shuffle
from refimpl.lab.training.node_batches import LoadCounts, NodeTrainer
from refimpl.lab.training.stack import weights_of
from refimpl.profiling import timed
from refimpl.streams import key


class Histories:
    """For every node, the output of layers 1, 2, .. when it was last computed; at first 0.

    Parameters
    ----------
    layers : int
        Number of layers that are kept; it may be 0.
    n, width : ints
        Number of nodes, and width of the layers.
    dtype : float32 or float64

    Attributes
    ----------
    rows : (layers, n, width) array
        Layer l is ``rows[l - 1]``.
    """

    def __init__(self, layers, n, width, dtype):
        self.rows = np.zeros((layers, n, width), dtype)

    def read(self, layer, ids):
        """Return a copy of the rows of some nodes in a layer from 1."""
        return self.rows[layer - 1, ids]

    def write(self, layer, ids, values):
        """Put in the rows of some nodes in a layer from 1."""
        self.rows[layer - 1, ids] = values

    def state_dict(self):
        """Return the rows of each layer by its name; not copied."""
        return {f"layer{number}": rows for number, rows in enumerate(self.rows, start=1)}

    def load_state_dict(self, arrays):
        """Take the rows of each layer from what `state_dict` gave, copied.

        Raises
        ------
        TypeError, ValueError
            If the names are others, or an array has another shape or dtype.
        """
        known = self.state_dict()
        if not isinstance(arrays, dict) or arrays.keys() != known.keys():
            raise ValueError(f"arrays must be a dict of {', '.join(known) or 'nothing'}")
        for name, rows in known.items():
            rows[...] = _check.floats(name, arrays[name], rows.shape, rows.dtype)


class ClusterBatches:
    """The nodes of iterations first, first + 1, ..: some clusters each, every one once an epoch.

    In epoch t the clusters stand in the order of a Fisher-Yates shuffle with the key (seed,
    SHUFFLE, t). So an iteration depends on its number alone.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    partition : (n,) integer array
        The cluster of each node, numbers below n. One without nodes does not count.
    seed : int in [0, 2**64)
    first : int
        Number of the first iteration.
    together : int
        Clusters in a batch; the last batch of an epoch may have fewer.
    """

    def __init__(self, gnn, partition, seed, first, together=1):
        self.iteration = first
        by_cluster = np.argsort(partition, kind="stable").astype(np.int32)
        bounds = np.flatnonzero(np.diff(np.sort(partition))) + 1
        self.clusters = np.split(by_cluster, bounds)  # each ascending
        self.shuffle = Shuffle(gnn, len(self.clusters), together, seed)

    def __next__(self):
        chosen = self.shuffle.batch(self.iteration)
        self.iteration += 1
        return np.sort(np.concatenate([self.clusters[c] for c in chosen]))

    def close(self):
        """Do nothing: there is no thread."""


class Neighborhood(NamedTuple):
    """A batch and all nodes next to it.

    Attributes
    ----------
    nodes : (n_src,) int32 array
        The batch in its order, then its other neighbours, ascending.
    block : Block
        From each node of the batch to all of its neighbours, in the order of the graph.
    """

    nodes: np.ndarray
    block: Block


def neighborhood(graph, batch):
    """Return the Neighborhood of `batch`, distinct nodes of `graph`, in O(n + e log e) time.

    Here e counts the neighbours of the batch, and only memory for n integers is set aside.
    """
    positions, ends = rows_of(graph, batch)
    neighbors = graph.indices[positions]
    nodes = np.concatenate([batch, np.setdiff1d(neighbors, batch)]).astype(np.int32)
    place = np.empty(graph.n, np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    block = Block._trusted(ends - graph.degrees()[batch], ends, place[neighbors], len(nodes))
    return Neighborhood(nodes, block)


def rows_of(graph, nodes):
    """Return where the entries of some rows stand in ``graph.indices``, and where each row ends.

    The second counts in the first: row i is ``positions[ends[i - 1]:ends[i]]``.
    """
    start, end = graph.start[nodes], graph.end[nodes]
    return entries_of_rows(start, end), np.cumsum(end - start)


class HistoryTrainer(NodeTrainer):
    """A `NodeTrainer` that keeps `Histories` of layers 1 .. L - 1 of L, in ``state.cache``."""

    def __init__(self, gnn, dataset, config, state=None):
        super().__init__(gnn, dataset, config, state)
        self.histories = self.state.cache = self._histories(self.state.cache)

    def _histories(self, found):
        """Return the histories of a state: its own, those of a checkpoint, or none yet."""
        config = self.config
        new = Histories(config.layers - 1, self.dataset.train_graph.n, config.hidden, self.dtype)
        if isinstance(found, Histories):
            if (found.rows.shape, found.rows.dtype) != (new.rows.shape, new.rows.dtype):
                raise ValueError("state.cache must have the histories of this model and data set")
            return found
        if found is not None:  # from a checkpoint
            new.load_state_dict(found)
        elif self.state.iterations and config.layers > 1:
            raise ValueError("state.cache must have the histories of a run that has begun")
        return new

    def _count(self, loaded, read, written):
        """Count rows of features loaded, rows of histories read and rows written."""
        self.counts_of_epoch = self.counts_of_epoch.plus(
            LoadCounts(
                inputs=loaded,
                live=loaded,
                loaded=loaded,
                bytes=loaded * self.row_bytes,
                lookups=read,
                hits=read,
                admitted=written,
            )
        )

    def _forward(self, number, A, X, nodes):
        """Return the output of layer `number` from 0, and what `_backward` needs."""
        place, layer = self.places[number]
        X, _ = self._dropped(X, nodes, number)
        Y, needed = layer.forward(weights_of(self.state.weights, place), A, X)
        return Y, (A, X, nodes, needed)

    def _backward(self, kept, count, G):
        """Return the gradients of all weights; only `count` rows have a gradient at each layer.

        Parameters
        ----------
        kept : list
            From `_forward`, of every layer and the classifier.
        count : sequence of ints
            How many rows of each layer's input were computed in this iteration: the first.
            The others are constants.
        G : array
            The gradient of the logits.
        """
        gradients: dict[str, np.ndarray] = {}
        for number in reversed(range(len(self.places))):
            place, layer = self.places[number]
            A, X, nodes, needed = kept[number]
            dW, G = layer.backward(weights_of(self.state.weights, place), A, X, needed, G)
            if G is not None:
                s = count[number]
                G, _ = self._dropped(G[:s], nodes[:s], number)
            gradients |= {f"{place}.{name}": grad for name, grad in dW.items()}
        return gradients


class Around(NamedTuple):
    """What an iteration aggregates with.

    Attributes
    ----------
    nodes : (n_src,) int32 array
        Of a `Neighborhood`.
    A : Adjacency
        From the batch to all of `nodes`.
    A_outer : Adjacency or None
        For GraphFM: from the nodes outside the batch to those in it.
    """

    nodes: np.ndarray
    A: Adjacency
    A_outer: Adjacency | None = None


class GasTrainer(HistoryTrainer):
    """One run of GNNAutoScale, an iteration at a time; see `Trainer`.

    A batch is a cluster of training nodes. Every layer computes the batch from all of its
    neighbours; layers 2, 3, .. read those outside the batch from the histories, as constants,
    and what layers 1 .. L - 1 compute goes into the histories. The loss is the mean over the
    batch. An iteration on a batch with e neighbours takes O(e f + s f^2) time for s nodes in the
    batch and widths f; histories take (L - 1) n f numbers.

    Parameters
    ----------
    gnn, dataset, config, state
        As for `Trainer`; the model is "sage", "gcn" or "gat".
    partition : (n,) integer array, optional
        The cluster of each training node, numbers below n. Default: `grow_clusters`, as many as
        batches of ``config.batch`` nodes would be.

    Raises
    ------
    TypeError, ValueError
        As for `Trainer`, and if `partition` is no such array, or the state has no histories, or
        those of another model.
    """

    def __init__(self, gnn, dataset, config, state=None, partition=None):
        self.partition = partition
        super().__init__(gnn, dataset, config, state)

    def _minibatches(self):
        n, partition = self.dataset.train_graph.n, self.partition
        if partition is None:
            parts = max(-(-n // self.config.batch), 1)
            stream = key(self.config.rng, CLUSTERS)
            partition = grow_clusters(self.dataset.train_graph, parts, stream)
        partition = _check.ids("partition", partition, 0, n, np.int64)
        if partition.size != n:
            raise ValueError(f"partition must have shape ({n},), got {partition.shape}")
        return ClusterBatches(self.gnn, partition, self.config.rng, self.state.iterations)

    def _passes(self):
        batch = next(self.minibatches)
        around, s, last = self._around(batch), len(batch), self.config.layers
        nodes, outside = around.nodes, len(around.nodes) - s
        X, kept = self.gnn.loader.gather_rows(self.features, self.rows[nodes]), []
        for layer in range(1, last + 1):
            H, pass_kept = self._forward(layer - 1, around.A, X, nodes)
            kept.append(pass_kept)
            if layer < last:
                self.histories.write(layer, batch, H)
                X = np.concatenate([H, self._others(layer, around, pass_kept)])
        logits, pass_kept = self._forward(last, None, H, batch)
        loss = self.stack.loss(logits, self.Y[batch], None)
        gradients = self._backward([*kept, pass_kept], [s] * (last + 1), loss.gradient)
        self._count(len(nodes), outside * (last - 1), s * (last - 1))
        return loss.value, gradients, s

    @timed("sampling")
    def _around(self, batch):
        """Return what the iteration on a batch aggregates with."""
        nodes, block = neighborhood(self.graph, batch)
        return Around(nodes, self._adjacency(block, nodes))

    def _others(self, layer, around, kept):
        """Return the rows of a layer's output for the nodes outside the batch.

        `kept` is of the pass of that layer over the batch.
        """
        return self.histories.read(layer, around.nodes[around.A.graph.n_dst :])
