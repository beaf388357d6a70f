"""GNNAutoScale: all neighbours of a batch, those outside it as they were last computed.

Fey, Lenssen, Weichert and Leskovec 2021, "GNNAutoScale: Scalable and Expressive Graph Neural
Networks via Historical Embeddings".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl.block import Block, entries_of_rows, sources
from refimpl.hints import Integers, Positions
from refimpl.lab.hints import Kept
from refimpl.lab.training.methods import base
from refimpl.lab.training.methods.base import Iterations, LoadCounts, MethodSettings, Step
from refimpl.lab.training.methods.cluster import ClusterOrder, grow_clusters
from refimpl.lab.training.run import Run, RunConfig
from refimpl.lab.training.settings import custom
from refimpl.profiling import timed
from refimpl.streams import CLUSTERS, key

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from refimpl.graph import Graph
    from refimpl.hints import FloatDtype, Ids, Matrix
    from refimpl.lab.hints import Weights
    from refimpl.lab.training.run import Minibatches
    from refimpl.lab.training.stack import Passes


def checked_partition(name: str, value: Any) -> Positions | None:
    """Return a partition as an int64 array of its own, read-only, or None, or raise."""
    if value is None:
        return None
    partition = require.ids(name, value, 0, 2**31 - 1, np.int64)
    partition.flags.writeable = False
    return partition


@dataclass(frozen=True, eq=False)
class Gas(MethodSettings):
    """GNNAutoScale: clusters, and histories for the neighbours outside a cluster.

    Fey et al. 2021.

    Parameters
    ----------
    batch_size : int
        The training graph is cut into as many clusters as there would be batches of so many.
    partition : (n,) integer array, optional
        The cluster of each training node, numbers below n. Default: `grow_clusters`.
    refresh : int
        Forward-only passes before each step: over the batches of later steps, into the histories,
        without dropout (REST).
    """

    name: ClassVar[str] = "gas"
    description: ClassVar[str] = "batches"
    several_workers: ClassVar[bool] = False
    epoch_covers_graph: ClassVar[bool] = True
    state_description: ClassVar[str] = "histories"
    counts_loads: ClassVar[bool] = True

    batch_size: int = base.batch_size()
    partition: Kept[Positions | None, Integers | None] = custom(
        None, checked_partition, "clusters", flag=""
    )
    refresh: int = base.refresh()

    def check(self, config: RunConfig) -> None:
        """Raise ValueError unless the model is one that aggregates by one matrix."""
        base.only(config, "sage", "gcn", "gat")
        base.check_refresh(self, config)

    def start(self, run: Run) -> Iterations:
        """Return the iterations of a run."""
        return GasIterations(run)


class GasIterations:
    """The iterations of GNNAutoScale on a `Run`.

    A batch is a cluster of training nodes. Every layer computes the batch from all of its
    neighbours; layers 2, 3, .. read those outside the batch from the histories, as constants,
    and what layers 1 .. L - 1 compute goes into the histories. The loss is the mean over the
    batch. An iteration on a batch with e neighbours takes O(e f + s f^2) time for s nodes in the
    batch and widths f; histories take (L - 1) n f numbers.
    """

    def __init__(self, run: Run) -> None:
        order = cluster_order(run)
        self.run = run
        ahead = base.refreshed_ahead(run, order.shuffle.batches)
        self.others = [cluster_batches(run, order, steps) for steps in ahead]
        self.histories = self.cache = histories_of(run)
        # a step's forward-only passes come first
        self.passes = neighborhoods_ahead(run, *self.others, cluster_batches(run, order))

    def iteration(self) -> Step:
        """Go forward and back over the next batch; return its `Step`."""
        run, L = self.run, self.run.config.layers
        done = [
            self._forward(next(self.passes), run.forward_only(), L - 1)[-1]._replace(inputs=0)
            for _ in self.others
        ]
        near, passes = next(self.passes), run.passes()
        s = near.block.n_dst
        nodes, A, X, counts = self._forward(near, passes, L)
        batch = nodes[:s]
        H = passes.forward(L, A, X, nodes)
        loss = run.stack.loss(passes.classify(H, batch), *run.targets(batch))

        G = loss.gradient
        for l in range(L + 1, 0, -1):
            G = passes.backward(l, G, rows=s)  # histories are constants

        return Step(loss.value, passes.gradients, s, counts.plus(*done))

    def _forward(
        self, near: Neighborhood, passes: Passes, last: int
    ) -> tuple[Ids, Any, Matrix[Any], LoadCounts]:
        """Compute layers 1 .. L - 1 of a batch, given its `Neighborhood`, into the histories.

        Return the nodes and the matrix of all layers, the input of layer `last`, and the counts.
        """
        run, histories, L = self.run, self.histories, self.run.config.layers
        nodes, block = near
        with timed("sampling"):
            A = run.block_operand(block, nodes)
        s = block.n_dst
        batch, outside = nodes[:s], nodes[s:]

        X = run.load(nodes)
        for l in range(1, L):
            H = passes.forward(l, A, X, nodes)
            histories.write(l, batch, H)
            if l < last:
                X = np.concatenate([H, histories.read(l, outside)])
        counts = history_counts(
            len(nodes), len(outside) * (last - 1), s * (L - 1), row_bytes=run.row_bytes
        )
        return nodes, A, X, counts

    def close(self) -> None:
        """End the reads ahead, if there are any."""
        self.passes.close()


def cluster_order(run: Run) -> ClusterOrder:
    """Return the `ClusterOrder` of a run: a cluster a batch, every one once an epoch."""
    settings, seed = run.config.method, run.config.rng
    partition, n = settings.partition, run.graph.n
    with timed("sampling"):
        if partition is None:
            parts = max(-(-n // settings.batch_size), 1)
            partition = grow_clusters(run.graph, parts, key(seed, CLUSTERS))
        if len(partition) != n or max(partition, default=0) >= n:
            raise ValueError(f"partition must have shape ({n},) and numbers below {n}")
        return ClusterOrder(run.gnn, partition, seed)


def cluster_batches(run: Run, order: ClusterOrder, ahead: int = 0) -> Iterator[Ids]:
    """Return the batches of iterations without end, from the one `ahead` steps later on."""
    return map(order.nodes, count(run.begun_by(ahead)))


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

    def __init__(self, layers: int, n: int, width: int, dtype: FloatDtype) -> None:
        self.rows = np.zeros((layers, n, width), dtype)

    def read(self, layer: int, ids: Ids) -> Matrix[Any]:
        """Return a copy of the rows of some nodes in a layer from 1."""
        return self.rows[layer - 1, ids]

    def write(self, layer: int, ids: Ids, values: Matrix[Any]) -> None:
        """Put in the rows of some nodes in a layer from 1."""
        self.rows[layer - 1, ids] = values

    def state_dict(self) -> Weights:
        """Return the rows of each layer by its name; not copied."""
        return {f"layer{number}": rows for number, rows in enumerate(self.rows, start=1)}

    def load_state_dict(self, arrays: Weights) -> None:
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
            rows[...] = require.floats(name, arrays[name], rows.shape, rows.dtype)


def histories_of(run: Run) -> Histories:
    """Return the histories of a run's state: its own, those of a checkpoint, or none yet."""
    config, found = run.config, run.state.cache
    new = Histories(config.layers - 1, run.graph.n, config.hidden, run.dtype)
    if isinstance(found, Histories):
        if (found.rows.shape, found.rows.dtype) != (new.rows.shape, new.rows.dtype):
            raise ValueError("state.cache must have the histories of this model and data set")
        return found
    if found is not None:  # from a checkpoint
        new.load_state_dict(found)
    elif run.state.iterations and config.layers > 1:
        raise ValueError("state.cache must have the histories of a run that has begun")
    return new


def history_counts(loaded: int, read: int, written: int, row_bytes: int) -> LoadCounts:
    """Return counts: rows of features loaded, rows of histories read and rows written."""
    return LoadCounts(
        inputs=loaded,
        live=loaded,
        loaded=loaded,
        bytes=loaded * row_bytes,
        lookups=read,
        hits=read,
        admitted=written,
    )


class Neighborhood(NamedTuple):
    """A batch and all nodes next to it.

    Attributes
    ----------
    nodes : (n_src,) int32 array
        The batch in its order, then its other neighbours, ascending.
    block : Block
        From each node of the batch to all of its neighbours, in the order of the graph, with
        `edge_ids`.
    """

    nodes: Ids
    block: Block


def neighborhood(graph: Graph, batch: Ids) -> Neighborhood:
    """Return the Neighborhood of `batch`, distinct nodes of `graph`.

    It takes O(e log e) time, where e counts the neighbours of the batch.
    """
    positions, ends = rows_of(graph, batch)
    nodes, indices = sources(batch, graph.indices[positions])
    degrees = graph.degrees(batch)
    block = Block._trusted(ends - degrees, ends, indices, len(nodes), positions)
    return Neighborhood(nodes, block)


def neighborhoods_ahead(run: Run, *kinds: Iterator[Ids]) -> Minibatches[Neighborhood]:
    """Return an iterator over the `Neighborhood` of batches, one of each kind in turn.

    Features on storage are read ahead: rows that do not fit in half of the cache, on demand.
    """

    def drawn() -> Generator[Neighborhood, None, None]:
        while True:
            for batches in kinds:
                with timed("sampling"):
                    near = neighborhood(run.graph, next(batches))
                yield near

    return run.read_ahead(drawn(), lambda near: near.nodes, partly=True)


def rows_of(graph: Graph, nodes: Ids) -> tuple[Positions, Positions]:
    """Return where the entries of some rows stand in ``graph.indices``, and where each row ends.

    The second counts in the first: row i is ``positions[ends[i - 1]:ends[i]]``.
    """
    start, end = graph.start[nodes], graph.end[nodes]
    return entries_of_rows(start, end), np.cumsum(end - start)
