"""HGT's sampling of typed graphs by budgets, as PyG's HGTSampler and HGTLoader offer it.

Importing this module imports torch and torch_geometric.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch_geometric import loader as peer
from torch_geometric import sampler as peer_sampler
from torch_geometric.data import HeteroData

from refimpl._support import require
from refimpl.graph import Graph
from refimpl.hints import Floats, Positions
from refimpl.lab.pyg.edges import entries_of
from refimpl.lab.pyg.hops import Arrays, Name, Relation
from refimpl.lab.pyg.plugs import Epochs, Keyed, TorchWith, given
from refimpl.lab.pyg.sampler import check_edges, checked, tensors
from refimpl.streams import BUDGET

_init = given(peer_sampler.HGTSampler.__init__, WITH_TORCH_SPARSE=True)
_sample_from_nodes = peer_sampler.HGTSampler.sample_from_nodes
_loader_init = peer.HGTLoader.__init__
given(_loader_init, HGTSampler=None)  # raises if this version of PyG has no such name

Budgets: TypeAlias = dict[str, tuple[Positions, NDArray[Any]]]  # (nodes, budgets) by type


class HGTSampler(Keyed, peer_sampler.HGTSampler):
    """PyG's HGTSampler over this project's kernels: the sampler of `HGTLoader`.

    Parameters
    ----------
    data, num_samples, is_sorted, share_memory
        As for ``torch_geometric.sampler.HGTSampler``; see `HGTLoader`.
    seed : int, numpy.random.Generator, torch.Generator or None
        As for `HGTLoader`.
    """

    def __init__(
        self,
        data: Any,
        num_samples: Any,
        is_sorted: bool = False,
        share_memory: bool = False,
        seed: Any = None,
    ) -> None:
        if isinstance(data, HeteroData):  # PyG's code refuses all else
            check_edges(data)
            num_samples = checked_samples(num_samples, data.node_types)
        _init(self, data, num_samples, is_sorted, share_memory)
        self._sizes, self._graphs = {kind: data[kind].num_nodes for kind in data.node_types}, {}
        for which, rel in self.to_rel_type.items():
            ends = self._sizes[which[0]], self._sizes[which[-1]]
            arrays = checked(
                f"edges of {which}", self.colptr_dict.pop(rel), self.row_dict.pop(rel), *ends
            )
            self._graphs[rel] = tuple(a.share_memory_() if share_memory else a for a in arrays)
        self._begin(seed)

    def sample_from_nodes(self, inputs: Any) -> Any:
        """Return what some roots of one type draw, as PyG's HeteroSamplerOutput."""
        operators = TorchWith(hgt_sample=self._hgt_sample)
        return given(_sample_from_nodes, torch=operators)(self, inputs)

    def _hgt_sample(
        self, _starts: Any, _sources: Any, roots: Any, samples: Any, _hops: Any
    ) -> tuple[Any, ...]:
        """Return dicts (nodes by type, rows, columns and entries by relation) of tensors."""
        ((kind, nodes),) = roots.items()
        nodes = require.ids("input_nodes", nodes.numpy(), 0, self._sizes[kind], np.int64)
        relations = {}
        for which, rel in self.to_rel_type.items():
            starts, sources = (array.numpy() for array in self._graphs[rel])
            graph = Graph._trusted(starts, sources, False)
            relations[rel] = Relation(which[0], which[-1], graph)
        given_ = self._sizes, {kind: nodes}, samples, self._name(nodes)
        met = sample_budgets(self.gnn, relations, *given_)
        return (*map(tensors, (met, *edges_between(relations, met))),)


class HGTLoader(Epochs, peer.HGTLoader):
    """PyG's HGTLoader over this project's kernels: it needs no torch-sparse.

    Hu et al. 2020, "Heterogeneous Graph Transformer", Algorithms 1 and 2; not in the papers. A
    node that was sampled adds 1 / degree to the budget of each neighbour, in each relation into
    its type. A hop samples nodes of each type in proportion to their budget squared, one after
    another, without replacement. A batch has all edges between its nodes. It depends on the seed,
    the epoch and its roots alone, whatever `num_workers` is. O(sum of the nodes' degrees x log)
    time.

    Parameters
    ----------
    data : torch_geometric.data.HeteroData
    num_samples : list of ints, or dict of lists of ints
        How many nodes a hop samples, of each type; a dict has a list for each type, all of one
        length.
    input_nodes : str or (str, tensor)
        The roots: nodes of one type.
    *args, **options
        As for ``torch_geometric.loader.HGTLoader``.
    seed : int, numpy.random.Generator, torch.Generator or None
        None draws a seed from torch's own generator, which ``torch.manual_seed`` fixes before the
        loader is made.

    Raises
    ------
    NotImplementedError
        If `data` is no HeteroData.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes of a type.

    Notes
    -----
    PyG's code looks at no more than 50 neighbours of a node, drawn at random, both for budgets
    and for edges; here a node has all its neighbours, as in the paper.
    """

    def __init__(
        self,
        data: Any,
        num_samples: Any,
        input_nodes: Any,
        *args: Any,
        seed: Any = None,
        **options: Any,
    ) -> None:
        make = partial(self.gnn.lab.pyg.HGTSampler, seed=seed)
        given(_loader_init, HGTSampler=make)(self, data, num_samples, input_nodes, *args, **options)


def checked_samples(num_samples: Any, kinds: Iterable[str]) -> dict[str, list[int]]:
    """Return a dict with a list of numbers for each type, all of one length, or raise."""
    if not isinstance(num_samples, dict):
        num_samples = dict.fromkeys(kinds, num_samples)
    if num_samples.keys() != set(kinds):
        raise ValueError(
            f"num_samples must have the node types {', '.join(kinds)}, "
            f"got {', '.join(map(str, num_samples))}"
        )
    found = {}
    for kind, hops in num_samples.items():
        hops = require.sequence("num_samples", hops)
        found[kind] = [require.integer("num_samples", many, 0, 2**31 - 1) for many in hops]
    if len(set(map(len, found.values()))) != 1:
        raise ValueError("num_samples must have as many numbers for each node type: one a hop")
    return found


def sample_budgets(
    gnn: ModuleType,
    relations: dict[Any, Relation],
    sizes: dict[str, int],
    roots: dict[str, Positions],
    samples: dict[str, list[int]],
    name: Name,
) -> dict[str, Positions]:
    """Return the nodes of each type, in the order in which they were sampled.

    Hu et al. 2020, Algorithm 1; ``# n`` marks its line n. As in PyG, all types sample before a
    hop's nodes add to budgets: line 14 is behind the loop over types.

    Parameters
    ----------
    gnn : module
    relations : dict of Relations
    sizes : dict
        How many nodes each type has.
    roots : dict of (any,) int64 arrays
        For some types, the nodes to begin with.
    samples : dict
        For each type a list with a number a hop; all that have a budget, if they are fewer.
    name : (seed, epoch, batch)
        What the draws depend on.

    Returns
    -------
    dict of int64 arrays
    """
    nothing = np.empty(0, np.int64)
    newest = {kind: roots.get(kind, nothing) for kind in sizes}
    NS = dict(newest)  # 1
    B = {kind: (nothing, np.empty(0)) for kind in sizes}  # 2
    seed, epoch, batch = name
    for hop in range(max(map(len, samples.values()), default=0)):  # 6
        B = add_in_budget(B, newest, relations, NS)  # 3-5 14
        for number, kind in enumerate(sizes):  # 7
            stream = gnn.streams.key(seed, BUDGET, epoch, batch, hop, number)
            nodes, budgets = B[kind]
            t = race(gnn, stream, nodes, budgets**2, samples[kind][hop])  # 8-11
            newest[kind] = nodes[t]
            NS[kind] = np.append(NS[kind], nodes[t])  # 12-13
            B[kind] = np.delete(nodes, t), np.delete(budgets, t)  # 15
    return NS  # 20


def add_in_budget(
    B: Budgets, newest: Arrays, relations: dict[Any, Relation], NS: Arrays
) -> Budgets:
    """Return budgets to which some nodes were added: (nodes, budgets) of each type.

    Hu et al. 2020, Algorithm 2; ``# n`` marks its line n.

    Parameters
    ----------
    B : dict of (int64 array, float64 array)
    newest : dict of int64 arrays
        The nodes t that are added.
    relations, NS
        As in `sample_budgets`.
    """
    found = {kind: [own] for kind, own in B.items()}
    for source, target, graph in relations.values():  # 1
        t = np.unique(newest[target])
        D_t = 1 / np.maximum(graph.end[t] - graph.start[t], 1)  # 2
        row, entry = entries_of(graph, t)  # 3
        s = graph.indices[entry].astype(np.int64)
        new = ~np.isin(s, NS[source])  # 4
        found[source].append((s[new], D_t[row[new]]))
    made = {}
    for kind, parts in found.items():
        nodes, budgets = map(np.concatenate, zip(*parts, strict=True))
        known, place = np.unique(nodes, return_inverse=True)
        made[kind] = known, np.bincount(place, budgets, len(known))  # 5
    return made  # 9


def race(
    gnn: ModuleType, stream: int, nodes: Positions, weights: Floats[np.float64], many: int
) -> Positions:
    """Return the positions of `many` nodes drawn in proportion to weights, without replacement.

    Node v arrives after an exponential time with the rate of its weight, of draw v of the stream;
    the first to arrive are those drawn, in order. Efraimidis and Spirakis 2006.
    """
    arrival = -np.log1p(-gnn.streams.uniform(stream, nodes.astype(np.uint64))) / weights
    return np.argsort(arrival, kind="stable")[:many]


def edges_between(relations: dict[Any, Relation], nodes: Arrays) -> tuple[Arrays, Arrays, Arrays]:
    """Return dicts (local sources, local targets, entries) of all edges between nodes.

    Of a node that repeats, the first has the edges from it, and each has those into it.
    """
    rows, columns, entries = {}, {}, {}
    for which, (source, target, graph) in relations.items():
        column, entry = entries_of(graph, nodes[target])
        known, first = np.unique(nodes[source], return_index=True)
        s = graph.indices[entry]
        place = np.searchsorted(known, s)
        kept = np.append(known, -1)[place] == s
        rows[which], columns[which] = first[place[kept]], column[kept]
        entries[which] = entry[kept]
    return rows, columns, entries
