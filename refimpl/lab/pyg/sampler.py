"""A sampler for torch_geometric's own loaders, over this project's kernels.

Importing this module imports torch and torch_geometric.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch_geometric
from numpy.typing import NDArray
from torch_geometric import sampler as peer

from refimpl._support import require
from refimpl._support.sparse_matrices import check_node_count
from refimpl.graph import Graph
from refimpl.hints import Positions
from refimpl.lab.pyg.entry_attributes import (
    check_time_attr,
    edge_times_allowed,
    root_times,
    table_of,
    times_of,
    weights_of,
)
from refimpl.lab.pyg.hops import Arrays, Name, Relation, induced, sample_hops
from refimpl.lab.pyg.plugs import Keyed
from refimpl.samplers.row_draws import EntryTable
from refimpl.streams import NEGATIVES

HOOK = "(self, seed, seed_time, **kwargs)"  # of PyG's private method: 2.6 to 2.8 have this one


def check_hook(
    base: Any = peer.NeighborSampler, version: str = torch_geometric.__version__
) -> None:
    """Raise ImportError if PyG's sampler cannot be extended as this module does it."""
    found = getattr(base, "_sample", None)
    parts = inspect.signature(found).parameters.values() if found else ()
    shown = ", ".join("**" * (part.kind is part.VAR_KEYWORD) + part.name for part in parts)
    if f"({shown})" != HOOK:
        raise ImportError(
            f"torch_geometric {version} is not supported: its NeighborSampler._sample takes "
            f"({shown}), not {HOOK}; install 'torch_geometric>=2.6,<2.9'"
        )


check_hook()


class NeighborSampler(Keyed, peer.NeighborSampler):
    """PyG's NeighborSampler over this project's kernels, for PyG's own loaders.

    Not in the papers. Give it to a loader as `neighbor_sampler`, `node_sampler` or
    `link_sampler`. It needs neither pyg-lib nor torch-sparse. A batch depends on the seed, the
    epoch and its roots alone, whatever `num_workers` is.

    Parameters
    ----------
    data, num_neighbors, subgraph_type, replace, disjoint, is_sorted, share_memory, directed, \
sample_direction
        As for ``torch_geometric.sampler.NeighborSampler``. Edges may repeat, and so may roots.
        `disjoint`, and so `time_attr`, does not go with ``subgraph_type="induced"``.
    temporal_strategy, time_attr, weight_attr
        As for ``torch_geometric.sampler.NeighborSampler``. An edge of weight 0 is drawn only where
        a number of neighbours is -1. Times are integers. Weights and times go together.
    seed : int, numpy.random.Generator, torch.Generator or None
        None draws a seed from torch's own generator, which ``torch.manual_seed`` fixes before the
        sampler is made.

    Attributes
    ----------
    epoch : int
        The number of the next epoch, below 2**31; may be set. The loaders of `lab.pyg` count it;
        after `enable`, PyG's loaders do too. Another loader draws the same for the same roots
        until `epoch` is set.
    seed : int

    Raises
    ------
    ImportError
        If PyG's private method `_sample`, which this class replaces, has another signature.
    NotImplementedError
        If PyG itself has no such sampling: weights in stores, or times with
        ``sample_direction="backward"``.
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.
    OverflowError
        If there are more than 2**31 - 1 nodes of a type.
    """

    perm: Any
    _relations: dict[Any, Relation] | None
    _tables: dict[Any, Any]

    def __init__(
        self, data: Any, num_neighbors: Any, *args: Any, seed: Any = None, **options: Any
    ) -> None:
        base = super().__init__
        given = inspect.signature(base).bind(data, num_neighbors, *args, **options).arguments
        require.choice(
            "temporal_strategy", given.get("temporal_strategy", "uniform"), ("uniform", "last")
        )
        check_edges(data)
        check_time_attr(data, given.get("time_attr"))
        with warnings.catch_warnings(), edge_times_allowed():
            # PyG says that pyg-lib is missing, which is not needed
            warnings.filterwarnings("ignore", message="Using .* without a 'pyg-lib'")
            base(**given | {"weight_attr": None})
        if self.disjoint and self._induces:
            name = "time_attr" if self.is_temporal else "disjoint=True"
            raise ValueError(
                f'{name} does not go with subgraph_type="induced": use "directional" or '
                '"bidirectional"'
            )
        for hops in self._fanouts().values():
            for fanout in hops:
                require.integer("num_neighbors", fanout, -1, 2**31 - 1)
        self._begin(seed)
        self._compress(bool(given.get("share_memory")))
        self._read_attributes(data, given.get("weight_attr"), given.get("time_attr"))

    def _fanouts(self) -> Any:
        """Return a list with a number a hop, for each edge type."""
        if self.is_hetero:
            return self._num_neighbors.get_values(self.edge_types)
        values = self._num_neighbors.get_values()
        return {None: require.sequence("num_neighbors", values)}

    @property
    def _induces(self) -> bool:
        return self.subgraph_type == peer.base.SubgraphType.induced

    @property
    def _backward(self) -> bool:
        return getattr(self, "sample_direction", "forward") == "backward"

    def _compress(self, share: bool) -> None:
        """Check PyG's compressed columns; keep ids in 32 bits, as kernels read them."""
        if self.is_hetero and self._backward:  # PyG's keys are those of the turned edges
            self.perm = {self.to_restored_edge_type[k]: own for k, own in self.perm.items()}
        if self.is_hetero:
            self._sizes = dict(self.num_nodes)
            self._ends = {which: (which[0], which[-1]) for which in self.edge_types}
            starts, sources = (
                {which: own[self.to_rel_type[which]] for which in self.edge_types}
                for own in (self.colptr_dict, self.row_dict)
            )
        else:
            self._sizes, self._ends = {None: self.num_nodes}, {None: (None, None)}
            starts, sources = {None: self.colptr}, {None: self.row}
        self._arrays = {}
        for which, (source, target) in self._ends.items():
            of = "" if which is None else f" of {which}"
            arrays = checked(
                f"edges{of}", starts[which], sources[which], self._sizes[source],
                self._sizes[target],
            )  # fmt: skip
            self._arrays[which] = tuple(a.share_memory_() if share else a for a in arrays)
        for name in ("colptr_dict", "row_dict", "colptr", "row"):
            self.__dict__.pop(name, None)
        self._share = share
        self._tables = dict.fromkeys(self._ends)
        self._relations = None

    def _read_attributes(self, data: Any, weight_attr: str | None, time_attr: str | None) -> None:
        """Keep the weights and times of edges in tables."""
        if weight_attr is not None and isinstance(data, tuple):
            raise NotImplementedError("weight_attr is not supported for stores, as in PyG")
        self._weighted = weight_attr is not None
        for which, relation in self.relations.items():
            weights = None
            if self._weighted:
                edge_type = self.to_restored_edge_type[which] if self._turned else which
                perm = self.perm[edge_type] if self.is_hetero else self.perm
                weights = weights_of(data, weight_attr, edge_type, perm)
            edges = "the edges" if which is None else f"the edges of {which}"
            table = table_of(
                self.gnn, relation.graph, edges, weight_attr, weights, time_attr,
                self._times_of(which, relation),
            )  # fmt: skip
            if table is not None and self._share:
                table = [own if own is None else shared(own) for own in table]
            self._tables[which] = table
        known = any(own and own[0] is not None for own in self._tables.values())
        if self._weighted and not known:
            raise ValueError(f"weight_attr={weight_attr!r} is no attribute of an edge")
        self._relations = None

    def _entry_tables(self) -> dict[Any, EntryTable]:
        """Return the EntryTable of each edge type that has weights or times."""
        found = self._tables.items()
        return {which: EntryTable(*map(as_array, own)) for which, own in found if own}

    def _times_of(self, which: Any, relation: Relation) -> Positions | None:
        """Return the time of each entry of a relation, or None."""
        rel = self.to_rel_type[which] if self.is_hetero else None
        if self.edge_time is not None:
            times = self.edge_time.get(rel) if self.is_hetero else self.edge_time
            return None if times is None else times_of("time_attr", times)
        times = self._node_time(relation.source)
        return None if times is None else times_of("time_attr", times)[relation.graph.indices]

    def _node_time(self, kind: str | None) -> Any:
        """Return the times of the nodes of a type, or None."""
        return self.node_time.get(kind) if isinstance(self.node_time, dict) else self.node_time

    @property
    def _turned(self) -> bool:
        """Are the edge types those of turned edges?"""
        return self.is_hetero and self._backward

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_relations": None}  # which workers make again, over shared memory

    @property
    def relations(self) -> dict[Any, Relation]:
        """The edges of each type as compressed rows, one for each target."""
        if self._relations is None:
            self._relations = {
                which: Relation(
                    *self._ends[which],
                    Graph._trusted(arrays[0].numpy(), arrays[1].numpy(), False),
                )
                for which, arrays in self._arrays.items()
            }
        return self._relations

    def _sample(self, seed: Any, seed_time: Any = None, **kwargs: Any) -> Any:
        """Return what some roots draw, as PyG's SamplerOutput or HeteroSamplerOutput."""
        given = seed if isinstance(seed, dict) else {None: seed}
        roots = {
            kind: require.ids("input_nodes", nodes.numpy(), 0, self._sizes[kind], np.int64)
            for kind, nodes in given.items()
        }
        times = self._root_times(roots, seed_time)
        name = self._name(*roots.values(), *([] if times is None else [times]))
        trees = trees_of(roots, self.disjoint)
        fanouts = self._fanouts()
        special = self.is_hetero or self.replace or self.disjoint or self._weighted
        if not special and distinct(roots[None]):
            out = self._shared(roots[None], fanouts[None], name)
        else:
            out = sample_hops(
                self.gnn, self.relations, self._sizes, roots, trees, fanouts, self.replace, name,
                tables=self._entry_tables(), times=times, last=self.temporal_strategy == "last",
            )._asdict()  # fmt: skip
        if self._induces:
            found = induced(self.gnn, self.relations, out["nodes"])
            out |= dict(zip(("rows", "columns", "entries"), found, strict=True))
            out["node_counts"] = out["edge_counts"] = None
        if not self.disjoint:
            out["trees"] = None
        return self._output(out)

    def _root_times(self, roots: Arrays, seed_time: Any) -> Positions | None:
        """Return the time of each tree, or None where nothing has times."""
        if not self.is_temporal:
            if seed_time is not None:
                raise ValueError("input_time needs time_attr")
            return None
        given = seed_time if isinstance(seed_time, dict) else {None: seed_time}
        limits = "nodes of other types" if self.edge_time is None else "edges"
        times = [
            root_times(kind, nodes, given.get(kind), self._node_time(kind), limits)
            for kind, nodes in roots.items()
        ]
        return np.concatenate([np.empty(0, np.int64), *times])

    def _shared(self, roots: Positions, fanouts: Sequence[int], name: Name) -> dict[str, Any]:
        """Return what `sample_hops` does for one relation and distinct roots, in kernels alone."""
        seed, epoch, batch = name
        graph, options = self.relations[None].graph, {"seed": seed, "epoch": epoch, "batch": batch}
        mfg = self.gnn.sample_mfg(graph, roots, fanouts, mode="shared", **options)
        nodes = [len(of_layer) for of_layer in reversed(mfg.nodes)]
        edges = [block.e for block in reversed(mfg.blocks)]
        nothing = np.empty(0, np.int64)
        rows = columns = entries = nothing
        if mfg.blocks:
            whole = mfg.blocks[0]
            rows, entries = whole.indices, whole.edge_ids
            columns = np.repeat(np.arange(whole.n_dst), whole.degrees())
        return {
            "nodes": {None: mfg.nodes[0]},
            "rows": {None: rows},
            "columns": {None: columns},
            "entries": {None: entries},
            "node_counts": {None: np.diff(nodes, prepend=0).tolist()},
            "edge_counts": {None: np.diff(edges, prepend=0).tolist()},
        }

    def _output(self, out: dict[str, Any]) -> Any:
        """Return PyG's object of what was drawn."""
        if self._backward:
            out["rows"], out["columns"] = out["columns"], out["rows"]
            if self.is_hetero:
                for name in ("rows", "columns", "entries", "edge_counts"):
                    own = out[name] or {}
                    out[name] = {self.to_restored_edge_type[k]: v for k, v in own.items()} or None
        names = {
            "node": tensors(out["nodes"]),
            "row": tensors(out["rows"]),
            "col": tensors(out["columns"]),
            "edge": tensors(out["entries"]),
            "batch": out["trees"] and tensors(out["trees"]),
            "num_sampled_nodes": out["node_counts"],
            "num_sampled_edges": out["edge_counts"],
        }
        if self.is_hetero:
            return peer.HeteroSamplerOutput(**names)
        return peer.SamplerOutput(**{name: own and own[None] for name, own in names.items()})

    def sample_from_edges(self, inputs: Any, neg_sampling: Any = None) -> Any:
        """Return what the ends of some edges draw; negatives depend on the same name as draws."""
        if neg_sampling is None:
            return super().sample_from_edges(inputs)
        seed, epoch, batch = self._name(inputs.row.numpy(), inputs.col.numpy())
        stream = self.gnn.streams.key(seed, NEGATIVES, epoch, batch)
        before = torch.default_generator.get_state()
        try:
            torch.default_generator.manual_seed(stream >> 1)
            return super().sample_from_edges(inputs, neg_sampling)
        finally:
            torch.default_generator.set_state(before)


def check_edges(data: Any) -> None:
    """Check the ends of edges, which PyG and torch write to memory by without a look."""
    for store in getattr(data, "edge_stores", ()):
        edge_index = store.get("edge_index")
        if edge_index is None:
            continue
        if edge_index.dim() != 2 or len(edge_index) != 2:
            raise ValueError(f"edge_index must have shape (2, e), got {tuple(edge_index.shape)}")
        for which, ends, n in zip(("sources", "targets"), edge_index, store.size(), strict=True):
            if len(ends) and not 0 <= int(ends.min()) <= int(ends.max()) < n:
                raise ValueError(f"the {which} in edge_index must be in [0, {n})")


def checked(
    name: str, starts: Any, sources: Any, n_sources: int, n_targets: int
) -> tuple[Any, Any]:
    """Check compressed columns; return tensors of where they begin, int64, and sources, int32."""
    check_node_count(max(n_sources, n_targets))
    starts, sources = starts.numpy(), sources.numpy()
    missing = max(n_targets + 1 - len(starts), 0)
    starts = np.append(starts, np.full(missing, len(sources))).astype(np.int64)
    rises = starts[0] == 0 and starts[-1] == len(sources) and np.all(np.diff(starts) >= 0)
    if len(starts) != n_targets + 1 or not rises:
        raise ValueError(f"{name} must be sorted by their targets, which are in [0, {n_targets})")
    sources = require.ids(f"the sources of {name}", sources, 0, n_sources, np.int32)
    return torch.from_numpy(starts), torch.from_numpy(sources)


def trees_of(roots: Arrays, disjoint: bool) -> Arrays:
    """Return the tree of each root: 0, or a number for each if they are `disjoint`."""
    trees, first = {}, 0
    for kind, nodes in roots.items():
        trees[kind] = first + np.arange(len(nodes)) if disjoint else np.zeros(len(nodes), np.int64)
        first += len(nodes)
    return trees


def distinct(nodes: NDArray[Any]) -> bool:
    """Return whether no node repeats."""
    return len(np.unique(nodes)) == len(nodes)


def shared(array: NDArray[Any]) -> Any:
    """Return a copy of an array as a tensor that workers see."""
    return torch.from_numpy(array.copy()).share_memory_()


def as_array(values: Any) -> Any:
    """Return a tensor as an array, and anything else as it is."""
    return values.numpy() if isinstance(values, torch.Tensor) else values


def tensors(arrays: Arrays) -> dict[Any, Any]:
    """Return int64 tensors of arrays, which share no memory with the sampler."""
    return {name: torch.from_numpy(own.astype(np.int64)) for name, own in arrays.items()}
