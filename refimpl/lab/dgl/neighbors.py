"""Sampled neighbours as DGL's DataLoader yields them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from refimpl._shown import showing
from refimpl.hints import Int
from refimpl.lab.batches.roots import RootLoader, fanouts_of, node_ids
from refimpl.lab.dgl.parts import block_of, check_names, names, whole


class NeighborSampler:
    """How many neighbours a node draws, as DGL's NeighborSampler has it.

    Not in the papers: DGL's way of writing `fanouts`. In each layer a destination draws anew,
    without replacement.

    Parameters
    ----------
    fanouts : sequence of ints
        A number a layer, the first layer's first, the roots' last; -1 is all neighbours.
    prefetch_node_feats, prefetch_labels, prefetch_edge_feats : sequence of str, optional
        Names of data of the graph whose rows are copied when a batch is made, perhaps ahead:
        those of the first block's sources, of the last block's destinations, and of all blocks'
        edges. Other rows are copied when they are asked for.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    """

    def __init__(
        self,
        fanouts: Sequence[Int],
        *,
        prefetch_node_feats: Sequence[str] | None = None,
        prefetch_labels: Sequence[str] | None = None,
        prefetch_edge_feats: Sequence[str] | None = None,
    ) -> None:
        self.fanouts = fanouts_of("fanouts", fanouts, "layer")
        self.prefetch_node_feats = names("prefetch_node_feats", prefetch_node_feats)
        self.prefetch_labels = names("prefetch_labels", prefetch_labels)
        self.prefetch_edge_feats = names("prefetch_edge_feats", prefetch_edge_feats)

    __repr__ = showing("fanouts", "prefetch_node_feats", "prefetch_labels", "prefetch_edge_feats")


class DataLoader(RootLoader):
    """Batches of sampled neighbours as DGL's DataLoader yields them with its NeighborSampler.

    Not in the papers: `sample_mfg` in the mode "layered". A batch depends on the seed and on the
    numbers of its epoch and itself alone, whatever `num_workers` is. O(entries drawn x fan-out)
    time a batch, and the copying of rows. Needs the extra ``dgl``.

    Parameters
    ----------
    graph : dgl.DGLGraph
        With one type of nodes and of edges, on the CPU, and no edge twice. Its ids may be int32
        or int64.
    indices : (r,) integer or (n,) bool tensor or array
        The roots, distinct.
    graph_sampler : NeighborSampler
        The one of this module.
    batch_size : int, at least 1
        Roots of a batch.
    shuffle : bool
        Draw another order of the roots each epoch.
    drop_last : bool
        Leave out a last batch that is smaller.
    num_workers : int
        Threads that make batches ahead, each on one core; 0 makes a batch when it is asked for, on
        all.
    prefetch_factor : int, at least 1
        Batches ahead, for each thread.
    seed : int, numpy.random.Generator, torch.Generator or None
        None draws a seed from torch's own generator, which ``torch.manual_seed`` fixes before the
        loader is made.
    transform : callable, optional
        Called with each batch, in the thread that made it; its result takes the batch's place.

    Attributes
    ----------
    epoch : int
        The number of the next epoch, below 2**31; may be set, as to resume a run. What an epoch
        draws depends on its number and the seed.
    seed : int

    Raises
    ------
    ImportError
        If torch or DGL is missing, or DGL does not run beside this torch.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Notes
    -----
    A batch is ``(input_nodes, output_nodes, blocks)``: the sources of the first block, the
    roots, and a block of DGL for each layer. A block has what the graph has of its nodes and
    edges, and their ids as ``dgl.NID`` and ``dgl.EID``. Its destinations are the first of its
    sources; the nodes that a layer met ascend, where DGL's stand in the order of meeting.
    """

    def __init__(
        self,
        graph: Any,
        indices: Any,
        graph_sampler: NeighborSampler,
        *,
        batch_size: Int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: Int = 0,
        prefetch_factor: Int = 2,
        seed: Any = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self._whole = whole(graph)
        if not isinstance(graph_sampler, NeighborSampler):
            raise TypeError(
                "graph_sampler must be a NeighborSampler of this package, "
                f"got {type(graph_sampler).__name__}"
            )
        check_data(graph_sampler, graph)
        self.graph, self.graph_sampler = graph, graph_sampler
        roots = node_ids("indices", indices, self._whole.graph.n)
        self._set_roots(roots, batch_size, shuffle, drop_last)
        self._set(num_workers, prefetch_factor, seed, transform)

    def _plan(self, epoch):
        sample = partial(
            self.gnn.sample_mfg,
            self._whole.graph,
            fanouts=self.graph_sampler.fanouts[::-1],
            seed=self.seed,
            epoch=epoch,
            mode="layered",
        )
        return partial(self._batch, sample, self._order(epoch))

    def _batch(self, sample, order, number):
        """Return batch `number` of the epoch in which the roots have this order."""
        mfg = sample(roots=self._roots[self._chosen(order, number)], batch=number)
        nodes = [self._whole.ids(of_layer) for of_layer in mfg.nodes]
        blocks = [
            block_of(self._whole, block, sources)
            for block, sources in zip(mfg.blocks, nodes, strict=False)
        ]
        fetch(self.graph_sampler, blocks)
        return nodes[0], nodes[-1], blocks


def check_data(sampler, graph):
    """Raise unless a graph of DGL has the data that a NeighborSampler names."""
    check_names("prefetch_node_feats", sampler.prefetch_node_feats, graph.ndata)
    check_names("prefetch_labels", sampler.prefetch_labels, graph.ndata)
    check_names("prefetch_edge_feats", sampler.prefetch_edge_feats, graph.edata)


def fetch(sampler, blocks):
    """Have DGL copy the rows that a NeighborSampler names: reading them does."""
    parts = [(blocks[0].srcdata, sampler.prefetch_node_feats)]
    parts += [(blocks[-1].dstdata, sampler.prefetch_labels)]
    parts += [(block.edata, sampler.prefetch_edge_feats) for block in blocks]
    for data, names_of_part in parts:
        for name in names_of_part:
            data[name]
