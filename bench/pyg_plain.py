"""Sampling in plain Python, by what PyG documents: the peer of this project's loaders.

PyG's own samplers need pyg-lib or torch-sparse, which PyPI has no wheels of. These need neither.
They draw with Python's `random`. The sampler of neighbours plugs into PyG's loaders as a
`BaseSampler`; subgraphs are `Data.subgraph`.
"""

import copy
import random
from collections import defaultdict

import torch
from torch_geometric.data import HeteroData
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

ONE = ("", "", "")  # the edge type of plain data


class PlainSampler(BaseSampler):
    """Draw up to `fanouts[hop]` neighbours of a node without replacement, -1 for all.

    Parameters
    ----------
    data : Data or HeteroData
    fanouts : list of int
    seed : int
    time_attr : str, optional
        Nodes have times under this name. A root's tree then has only nodes up to its time.
    disjoint : bool
        Whether each root has a tree of its own; with `time_attr` it has.
    """

    def __init__(self, data, fanouts, seed, time_attr=None, disjoint=False):
        self.fanouts, self.random = fanouts, random.Random(seed)
        self.typed, self.disjoint = isinstance(data, HeteroData), disjoint or time_attr is not None
        stores = dict(data.edge_items()) if self.typed else {ONE: data}
        self.node_time = self.num_nodes = None
        if self.typed:
            self.num_nodes = {kind: data[kind].num_nodes for kind in data.node_types}
            kinds = [kind for kind in data.node_types if time_attr and time_attr in data[kind]]
            times = {kind: data[kind][time_attr] for kind in kinds}
            self.node_time = times or None
        else:
            self.num_nodes = data.num_nodes
            times = {"": data[time_attr]} if time_attr else {}
            self.node_time = times.get("")
        self.times = {kind: some.tolist() for kind, some in times.items()}
        self.neighbors = {}
        for kind, store in stores.items():
            rows = self.neighbors[kind] = defaultdict(list)
            for edge, (u, v) in enumerate(store.edge_index.t().tolist()):
                rows[v].append((u, edge))

    def sample_from_nodes(self, inputs, **kwargs):
        """Return the sample of some roots, as PyG's `NodeLoader` asks for it."""
        return node_sample(inputs, self._sample)

    def sample_from_edges(self, inputs, neg_sampling=None):
        """Return the sample of the ends of some edges, as PyG's `LinkLoader` asks for it."""
        about = self.num_nodes, self.disjoint, self.node_time, neg_sampling
        return edge_sample(inputs, self._sample, *about)

    def _sample(self, seed, seed_time=None, **kwargs):
        """Return PyG's output for roots, and their times if there are any."""
        if not self.typed:
            seed, seed_time = {"": seed}, None if seed_time is None else {"": seed_time}
        tree = Tree(self, seed, seed_time)
        for fanout in self.fanouts:
            tree.hop(fanout)
        return tree.output()


class Tree:
    """What is sampled from some roots: nodes by type, edges by type, and the next frontier."""

    def __init__(self, sampler, seed, seed_time):
        self.sampler = sampler
        self.local, self.nodes, self.trees = defaultdict(dict), defaultdict(list), defaultdict(list)
        self.edges, self.limit, self.frontier = defaultdict(list), {}, []
        root = 0
        for kind, ids in seed.items():
            for i, v in enumerate(ids.tolist()):
                tree = root if sampler.disjoint else 0
                if seed_time is not None:
                    self.limit[tree] = seed_time[kind][i].item()
                self._add(kind, tree, v)
                root += 1

    def _add(self, kind, tree, v):
        """Return the number of a node among those of its type; a new node is in the frontier."""
        known = self.local[kind]
        if (tree, v) not in known:
            known[tree, v] = len(known)
            self.nodes[kind].append(v)
            self.trees[kind].append(tree)
            self.frontier.append((kind, tree, v))
        return known[tree, v]

    def hop(self, fanout):
        """Draw neighbours of the frontier, relation by relation."""
        begun, self.frontier = self.frontier, []
        for relation, rows in self.sampler.neighbors.items():
            source, _, target = relation
            times = self.sampler.times.get(source)
            for kind, tree, v in begun:
                if kind != target:
                    continue
                found = rows[v]
                if times is not None and tree in self.limit:
                    found = [one for one in found if times[one[0]] <= self.limit[tree]]
                if 0 <= fanout < len(found):
                    found = self.sampler.random.sample(found, fanout)
                to = self.local[kind][tree, v]
                for u, edge in found:
                    self.edges[relation].append((self._add(source, tree, u), to, edge))

    def output(self):
        """Return it as PyG's loaders take it."""
        as_tensor = torch.tensor
        parts = {
            kind: as_tensor(self.edges[kind], dtype=torch.int64).reshape(-1, 3).t()
            for kind in self.sampler.neighbors
        }
        row, col, edge = ({kind: part[i] for kind, part in parts.items()} for i in range(3))
        if not self.sampler.typed:
            batch = as_tensor(self.trees[""]) if self.sampler.disjoint else None
            return SamplerOutput(as_tensor(self.nodes[""]), row[ONE], col[ONE], edge[ONE], batch)
        every = self.sampler.num_nodes
        node, trees = (
            {kind: as_tensor(some[kind], dtype=torch.int64) for kind in every}
            for some in (self.nodes, self.trees)
        )
        return HeteroSamplerOutput(node, row, col, edge, trees if self.sampler.disjoint else None)


def node_loader(data, num_neighbors, input_nodes=None, seed=0, *, time_attr=None, **options):
    """Return PyG's NodeLoader over a `PlainSampler`; the arguments are those of NeighborLoader."""
    sampler = PlainSampler(data, num_neighbors, seed, time_attr, options.pop("disjoint", False))
    return NodeLoader(data, sampler, input_nodes, **options)


def link_loader(data, num_neighbors, seed=0, *, time_attr=None, **options):
    """Return PyG's LinkLoader over a `PlainSampler`; the arguments are LinkNeighborLoader's."""
    return LinkLoader(data, PlainSampler(data, num_neighbors, seed, time_attr), **options)


class WalkSteps:
    """Subgraphs of random walks with GraphSAINT's norms; arguments as PyG's sampler has them.

    Zeng et al. 2020, "GraphSAINT": subgraphs are drawn beforehand until they contain a node
    `sample_coverage` times on average. The norms count their nodes and edges.
    """

    def __init__(self, data, batch_size, walk_length, num_steps, sample_coverage, seed):
        self.data, self.walks, self.length = copy.copy(data), batch_size, walk_length
        self.steps, self.random = num_steps, random.Random(seed)
        self.out = defaultdict(list)
        for u, v in data.edge_index.t().tolist():
            self.out[u].append(v)
        met = torch.zeros(data.num_nodes)
        used, samples = torch.zeros(data.num_edges), 0
        while met.sum() < sample_coverage * data.num_nodes:
            inside = self._nodes()
            met += inside
            used += inside[data.edge_index].all(dim=0)
            samples += 1
        self.data.node_norm = samples / met.clamp(min=0.1) / data.num_nodes
        self.data.edge_norm = met[data.edge_index[1]] / used.clamp(min=0.1)

    def _nodes(self):
        """Return whether each node is met by the walks of a subgraph."""
        inside = torch.zeros(self.data.num_nodes, dtype=torch.bool)
        for v in self.random.sample(range(self.data.num_nodes), self.walks):
            inside[v] = True
            for _ in range(self.length):
                v = self.random.choice(self.out[v]) if self.out[v] else v
                inside[v] = True
        return inside

    def __iter__(self):
        return (self.data.subgraph(self._nodes()) for _ in range(self.steps))


def grown_parts(data, num_parts, **_):
    """Return (data, the cluster of each node): the nearest of some nodes at random."""
    made, (source, target) = random.Random(0), data.edge_index
    part = torch.full((data.num_nodes,), -1)
    part[made.sample(range(data.num_nodes), num_parts)] = torch.arange(num_parts)
    for _ in range(data.num_nodes):
        fresh = (part[target] < 0) & (part[source] >= 0)
        if not fresh.any():
            break
        part[target[fresh]] = part[source[fresh]]
    alone = part < 0
    part[alone] = torch.arange(int(alone.sum())) % num_parts
    return data, part


class PartSteps:
    """The subgraphs of some clusters of `grown_parts` at a time."""

    def __init__(self, parts, batch_size, shuffle):
        (self.data, self.part), self.size, self.shuffle = parts, batch_size, shuffle

    def __iter__(self):
        count = int(self.part.max()) + 1
        order = torch.randperm(count) if self.shuffle else torch.arange(count)
        return (self.data.subgraph(torch.isin(self.part, some)) for some in order.split(self.size))
