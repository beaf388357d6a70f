"""Data sets made of what people have: arrays, tables, graphs of other libraries."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from refimpl._support.foreign_graphs import as_array, as_names, ends_of, numbers_of
from refimpl.graph import Graph, from_edges, graph_and_names
from refimpl.hints import FilePath, FloatDtype, Rng
from refimpl.lab.data.classes import numbered
from refimpl.lab.data.ogb import ogb_dataset
from refimpl.lab.data.preparation import chosen_scaling
from refimpl.lab.data.split import PARTS, drawn_parts, parts_masked, parts_named
from refimpl.lab.data.tables import numbers_of_column, read_table
from refimpl.lab.hints import Nodes, Setting, SomeScaling
from refimpl.streams import as_seed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from refimpl.lab.data.dataset import Dataset


class ArrayOptions(TypedDict, total=False):
    """What `FromElsewhere.from_arrays` takes by name."""

    train: Nodes
    val: Nodes
    test: Nodes
    name: str
    setting: Setting
    scaling: SomeScaling
    dtype: FloatDtype | None
    node_names: Sequence[Any] | np.ndarray | None
    rng: Rng


class FromElsewhere:
    """Ways to make a Dataset; each ends in `from_arrays`."""

    @classmethod
    def from_arrays(
        cls: Any,
        graph: Any,
        features: Any,
        labels: Any,
        train: Nodes | None = None,
        val: Nodes = (),
        test: Nodes = (),
        *,
        name: str = "arrays",
        setting: Setting = "transductive",
        scaling: SomeScaling = "standard",
        dtype: FloatDtype | None = None,
        node_names: Sequence[Any] | np.ndarray | None = None,
        rng: Rng = 0,
    ) -> Dataset:
        """Return the Dataset of a graph and arrays, a row or an entry a node.

        Parameters
        ----------
        graph : Graph, or what `as_graph` takes
            Self-loops are dropped, and edges counted in both directions. Edges may be of fewer
            nodes than there are features: the last nodes have none then.
        features : (n, f) array or tensor of real numbers
        labels : (n,) or (n, C) array or tensor
            One class a node: numbers or words, where NaN, None, "" and -1 stand for an unknown
            one. Or rows of 0 and 1.
        train, val, test : integer or bool arrays, optional
            As for `Dataset`. Default: 60%, 20% and 20% of the nodes with a class, drawn.
        name, setting, dtype
            As for `Dataset`.
        scaling : {"standard", "rows", "none"} or (mean, std)
            As for `load_dataset`.
        node_names : (n,) sequence, optional
            What nodes are called. Default: as in `graph`, if it has names.
        rng : int, numpy.random.Generator or None
            For the parts where none are given.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            If a part is of the wrong kind or does not fit the others.
        """
        features = as_array(features)
        if features.ndim != 2:
            raise ValueError(f"features must be 2-D, got shape {features.shape}")
        found = None
        if not isinstance(graph, Graph):
            graph, found = graph_and_names(graph, symmetrize=True, self_loops=False)
        graph = with_nodes(graph, len(features))
        labels, class_names = numbered(as_array(labels))
        if train is None:
            if len(val) or len(test):
                raise ValueError("train must be given where val or test is")
            known = np.flatnonzero(labels >= 0) if labels.ndim == 1 else np.arange(len(labels))
            parts = drawn_parts(known, as_seed(rng))
        else:
            parts = [as_array(part) for part in (train, val, test)]
        rows = np.flatnonzero(parts[0]) if parts[0].dtype == np.bool_ else parts[0]
        return cls(
            name,
            graph,
            features,
            labels,
            *parts,
            setting=setting,
            scaling=chosen_scaling(scaling, features, rows),
            dtype=dtype,
            class_names=class_names,
            node_names=found if node_names is None else node_names,
        )

    @classmethod
    def from_networkx(
        cls: Any,
        graph: Any,
        features: str = "features",
        label: str = "label",
        split: str = "split",
        **options: Unpack[ArrayOptions],
    ) -> Dataset:
        """Return the Dataset of a NetworkX graph whose nodes have attributes.

        Parameters
        ----------
        graph : networkx.Graph
        features, label : str
            Names of attributes: a sequence of numbers, and a class; a node without one has an
            unknown class.
        split : str
            Name of the attribute that is "train", "val" or "test". If no node has it, parts are
            drawn.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            If a node has no features, or as for `from_arrays`.
        """
        rows = dict(graph.nodes(data=features))
        missing = next((node for node, row in rows.items() if row is None), None)
        if missing is not None:
            raise ValueError(f"node {missing!r} must have the attribute {features!r}")
        parts = parts_named([part for _, part in graph.nodes(data=split)], options)
        labels = as_names([c for _, c in graph.nodes(data=label)])
        return cls.from_arrays(graph, np.array(list(rows.values())), labels, **parts, **options)

    @classmethod
    def from_pandas(
        cls: Any,
        nodes: Any,
        edges: Any,
        id: Hashable | None = None,
        label: Hashable = "label",
        split: Hashable = "split",
        **options: Unpack[ArrayOptions],
    ) -> Dataset:
        """Return the Dataset of a table of nodes and a table of edges.

        Parameters
        ----------
        nodes : pandas.DataFrame
            A row a node: a class, perhaps its part, and features in all other numeric columns.
        edges : pandas.DataFrame
            A row an edge, the names of its ends in two columns, as for `as_graph`.
        id : hashable, optional
            The column of `nodes` that has their names. Default: the index.
        label, split : hashable
            The columns of the class, and of "train", "val" or "test"; without the latter, parts
            are drawn.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            If a column is missing, an edge names no node, or as for `from_arrays`.
        """
        wanted = [label] if id is None else [label, id]
        missing = [name for name in wanted if name not in nodes.columns]
        if missing:
            raise ValueError(f"nodes must have the column {missing[0]!r}")
        names = as_names(nodes.index if id is None else nodes[id])
        others = nodes.drop(columns=[name for name in (label, id, split) if name in nodes.columns])
        features = others.select_dtypes(["number", "bool"]).to_numpy(np.float64)
        u, v = (edges[end].to_numpy() for end in ends_of(edges.columns))
        numbers = (numbers_of(names, ends, "edges") for ends in (u, v))
        u, v = numbers
        graph = from_edges(u, v, n=len(names), symmetrize=True, self_loops=False)
        parts = parts_named(nodes[split] if split in nodes.columns else [None], options)
        labels = as_names(nodes[label])
        return cls.from_arrays(graph, features, labels, node_names=names, **parts, **options)

    @classmethod
    def from_pyg(cls: Any, data: Any, **options: Unpack[ArrayOptions]) -> Dataset:
        """Return the Dataset of a PyG `Data`: `x`, `y`, `edge_index` and the three masks.

        Parameters
        ----------
        data : torch_geometric.data.Data
            `y` has a class a node, or rows of 0 and 1. Without `train_mask` parts are drawn.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            As for `from_arrays`.
        """
        masks = {part: getattr(data, f"{part}_mask", None) for part in PARTS}
        parts = parts_masked(masks, options)
        return cls.from_arrays(data, data.x, data.y, **parts, **options)

    @classmethod
    def from_dgl(
        cls: Any,
        graph: Any,
        features: str = "feat",
        label: str = "label",
        **options: Unpack[ArrayOptions],
    ) -> Dataset:
        """Return the Dataset of a DGL graph with data on its nodes, masks among them.

        Parameters
        ----------
        graph : dgl.DGLGraph
            Its `ndata` may have "train_mask", "val_mask" and "test_mask".
        features, label : str
            Keys of `ndata`.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            As for `from_arrays`.
        """
        kept = graph.ndata
        masks = {part: kept.get(f"{part}_mask") for part in PARTS}
        parts = parts_masked(masks, options)
        return cls.from_arrays(graph, kept[features], kept[label], **parts, **options)

    @classmethod
    def from_csv(
        cls: Any,
        edges: FilePath,
        nodes: FilePath,
        label: str = "label",
        split: str = "split",
        **options: Unpack[ArrayOptions],
    ) -> Dataset:
        """Return the Dataset of two files of comma-separated values with a line of titles each.

        Parameters
        ----------
        edges : str or Path
            An edge a line: the names of its ends in the first two columns.
        nodes : str or Path
            A node a line: its name in the first column; one column with its class, perhaps one
            with "train", "val" or "test"; the others are features, numbers.
        label, split : str
            Titles of these columns.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        FileNotFoundError
            If a file is missing.
        ValueError
            If a file is no such table, or an edge names no node; the file is named.
        """
        titles, rows = read_table(nodes)
        if label not in titles[1:]:
            raise ValueError(f"{nodes} must have a column {label!r}, got {', '.join(titles)}")
        if not rows:
            raise ValueError(f"{nodes} must have a line for each node, and has none")
        columns = dict(zip(titles, zip(*rows, strict=True), strict=True))
        names = as_names(columns.pop(titles[0]))
        labels = as_names(columns.pop(label))
        parts = parts_named(columns.pop(split, [None]), options)
        if not columns:
            raise ValueError(f"{nodes} must have at least one column of numbers, the features")
        features = np.column_stack(
            [numbers_of_column(nodes, *column) for column in columns.items()]
        )
        _, pairs = read_table(edges)
        try:
            ends = [as_names(pair[i] for pair in pairs) for i in (0, 1)]
        except IndexError:
            raise ValueError(f"{edges} must have two columns") from None
        u, v = (numbers_of(names, end, str(edges)) for end in ends)
        graph = from_edges(u, v, n=len(names), symmetrize=True, self_loops=False)
        options.setdefault("name", Path(nodes).stem)
        return cls.from_arrays(graph, features, labels, node_names=names, **parts, **options)

    @classmethod
    def from_ogb(
        cls: Any, folder: FilePath, split: str | None = None, **options: Unpack[ArrayOptions]
    ) -> Dataset:
        """Return the Dataset in a raw folder of the Open Graph Benchmark, such as ogbn-arxiv's.

        In both layouts: of text, as ``raw/edge.csv.gz``, and binary, as ``raw/data.npz``. Features
        of text become float32. `load_dataset` does the same; ``minibatch-gnn convert`` takes
        folders that are larger than memory.

        Parameters
        ----------
        folder : str or Path
            With ``raw`` and ``split`` in it.
        split : str, optional
            A folder in ``split``. Default: the only one.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        FileNotFoundError
            If a file is missing.
        ValueError
            If a file is damaged, or does not fit the others.

        References
        ----------
        Hu et al. 2020, "Open Graph Benchmark: datasets for machine learning on graphs".
        """
        return ogb_dataset(cls, folder, split, options)


def with_nodes(graph, n):
    """Return a graph with n nodes, those that it lacks without edges."""
    if graph.n > n:
        raise ValueError(f"features must have a row for each of {graph.n} nodes, got {n}")
    if graph.n == n:
        return graph
    indptr = np.pad(graph.indptr, (0, n - graph.n), mode="edge")
    return Graph(indptr, graph.indices)
