"""Sampled neighbours as PyG's NeighborLoader yields them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from refimpl._support import require
from refimpl.hints import Int
from refimpl.lab.batches.roots import RootLoader, fanouts_of, node_ids
from refimpl.lab.pyg.parts import ends, part, whole


class NeighborLoader(RootLoader):
    """Batches of sampled neighbours as `torch_geometric.data.Data`, as PyG's NeighborLoader.

    Not in the papers: `sample_mfg` in the mode "shared", which draws by the law of PyG's loader.
    A node draws once, in the hop after the one that met it, without replacement. A batch depends
    on the seed and on the numbers of its epoch and itself alone, whatever `num_workers` is.
    O(entries drawn x fan-out) time a batch, and the copying of rows. Needs the extra ``pyg``;
    neither pyg-lib nor torch-sparse is needed.

    Parameters
    ----------
    data : torch_geometric.data.Data
        With `edge_index`, which has no edge twice; edges point to the node that aggregates. On the
        CPU, or the rows that are copied go to where they are.
    num_neighbors : sequence of ints
        How many neighbours a node draws, a number a hop, from the roots on; -1 is all of them.
    input_nodes : (r,) integer or (n,) bool tensor or array, optional
        The roots, distinct. Default: all nodes.
    batch_size : int, at least 1
        Roots of a batch.
    shuffle : bool
        Draw another order of the roots each epoch.
    drop_last : bool
        Leave out a last batch that is smaller.
    num_workers : int
        Threads that make batches ahead, each on one core; 0 makes a batch when it is asked for, on
        all. Threads need no copy of the data, and kernels of `fastimpl` run beside each other.
    prefetch_factor : int, at least 1
        Batches ahead, for each thread.
    adjs : bool
        Give each batch the matrices of its layers as well: see below.
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
        If torch or torch_geometric is missing.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or `data` has `adjs` already.
    OverflowError
        If there are more than 2**31 - 1 nodes.

    Notes
    -----
    A batch has the attributes of `data`, of its nodes and edges alone, and ``n_id`` and ``e_id``
    (which nodes and edges of `data` these are), ``input_id`` (which roots: positions in
    `input_nodes`, or of a mask the nodes), ``batch_size`` (its first nodes are its roots), and
    ``num_sampled_nodes`` and ``num_sampled_edges``, lists with a number a hop, as
    ``torch_geometric.utils.trim_to_layer`` takes them. All ids are int64. Edges ascend in their
    target. Nodes that a hop met ascend, where PyG's stand in the order of meeting.

    With `adjs` it also has ``adjs``, a list with a `torch.sparse_csr` tensor a layer, the
    outermost hop first. ``adjs[i]`` has a row for each target of layer i and a column for each of
    its sources, whose first are the targets: ``x = conv((x, x[: len(adj)]), adj)`` for one after
    the other ends with the rows of the roots. PyG's layers multiply by such a matrix instead of
    copying a row for each edge, and no layer computes rows that the roots do not need. The values
    are 1, of the type of `x`; the indices are those of `edge_index`, not copies.
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Sequence[Int],
        input_nodes: Any = None,
        *,
        batch_size: Int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        num_workers: Int = 0,
        prefetch_factor: Int = 2,
        adjs: bool = False,
        seed: Any = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self._whole = whole(data)
        self.data = data
        self.num_neighbors = fanouts_of("num_neighbors", num_neighbors, "hop")
        n = self._whole.graph.n
        nodes = np.arange(n) if input_nodes is None else input_nodes
        nodes = nodes if hasattr(nodes, "dtype") else np.asarray(nodes)
        self._set_roots(node_ids("input_nodes", nodes, n), batch_size, shuffle, drop_last)
        mask = "bool" in str(nodes.dtype)
        self._input_id = self._roots if mask else np.arange(len(self._roots))
        self.adjs = require.switch("adjs", adjs)
        if adjs:
            if "adjs" in data:
                raise ValueError("data must not have the attribute adjs already")
            take_warning()
        self._set(num_workers, prefetch_factor, seed, transform)

    def _plan(self, epoch):
        sample = partial(
            self.gnn.sample_mfg,
            self._whole.graph,
            fanouts=self.num_neighbors,
            seed=self.seed,
            epoch=epoch,
            mode="shared",
        )
        return partial(self._batch, sample, self._order(epoch))

    def _batch(self, sample, order, number):
        """Return batch `number` of the epoch in which the roots have this order."""
        chosen = self._chosen(order, number)
        mfg = sample(roots=self._roots[chosen], batch=number)
        batch = batch_of(self._whole, mfg, self._input_id[chosen])
        if self.adjs:
            batch.adjs = adjs_of(mfg, batch)
        return batch


def batch_of(source, mfg, input_id):
    """Return an MFG of the mode "shared" as `Data`: its first block has the rows of all."""
    from torch import from_numpy

    block = mfg.blocks[0]
    edge_index = ends(block.indices, block.degrees())
    e_id = source.edges(block.edge_ids)
    batch = part(source, mfg.nodes[0].astype(np.int64), edge_index, e_id)
    batch.input_id = from_numpy(input_id)
    batch.batch_size = len(input_id)
    nodes = [len(of_layer) for of_layer in reversed(mfg.nodes)]
    edges = [own.e for own in reversed(mfg.blocks)]
    batch.num_sampled_nodes = np.diff(nodes, prepend=0).tolist()
    batch.num_sampled_edges = np.diff(edges, prepend=0).tolist()
    return batch


def adjs_of(mfg, batch):
    """Return the matrices of an MFG's layers, which share the indices of the batch it made."""
    import torch

    x, sources = batch.x, batch.edge_index[0]
    real = isinstance(x, torch.Tensor) and x.is_floating_point()
    starts = torch.from_numpy(np.append(0, np.cumsum(mfg.blocks[0].degrees()))).to(sources.device)
    ones = sources.new_ones(len(sources), dtype=x.dtype if real else torch.get_default_dtype())
    return [
        torch.sparse_csr_tensor(
            starts[: own.n_dst + 1],
            sources[: own.e],
            ones[: own.e],
            (own.n_dst, own.n_src),
            check_invariants=False,
        )
        for own in mfg.blocks
    ]


def take_warning():
    """Have torch's warnings of a first sparse_csr, given once a process, without showing them."""
    import torch

    nothing = torch.zeros(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor(torch.zeros(1, dtype=torch.int64), nothing.long(), nothing, (0, 0))
