"""Data sets made of what people have: arrays, tables, graphs of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from refimpl._support import require
from refimpl._support.edge_sources import counts_nodes
from refimpl._support.foreign_graphs import (
    ENDS,
    WEIGHTS,
    as_array,
    as_names,
    is_missing,
    normal,
    numbers_of,
)
from refimpl._support.untrusted_files import naming
from refimpl._support.user_warnings import warn
from refimpl.graph import Graph, WeightedGraph, as_graph, from_edges
from refimpl.hints import FilePath, FloatDtype, Rng
from refimpl.lab.data.edge_weights import read_graph, with_weights
from refimpl.lab.data.label_encoding import Encoded, encoded
from refimpl.lab.data.ogb import ogb_dataset
from refimpl.lab.data.preparation import chosen_scaling
from refimpl.lab.data.sparse_features import checked_sparse, kept_sparse
from refimpl.lab.data.splits import (
    PARTS,
    drawn_parts,
    mask_of,
    node_ids,
    parts_masked,
    parts_named,
)
from refimpl.lab.data.table_files import EdgeTable, NodeTable, checked_titles
from refimpl.lab.data.tables import (
    Chosen,
    Unclear,
    edge_columns,
    listed_titles,
    node_columns,
    warn_of_ignored,
    warn_of_loops,
)
from refimpl.lab.hints import Nodes, Setting, SomeScaling
from refimpl.streams import as_seed
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from refimpl.lab.data.tables import NodeColumns


PYG = ("x", "y", "edge_index", "edge_weight", "edge_attr", "num_nodes")  # read of a `Data`
Made = TypeVar("Made", bound="FromElsewhere")  # Dataset


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
    minus_one: str | None


class FromElsewhere:
    """Ways to make a Dataset; each ends in `from_arrays`."""

    @classmethod
    def from_arrays(
        cls: type[Made],
        graph: Any,
        features: Any,
        labels: Any,
        train: Nodes | None = None,
        val: Nodes | None = (),
        test: Nodes | None = (),
        *,
        name: str = "arrays",
        setting: Setting = "transductive",
        scaling: SomeScaling = "standard",
        dtype: FloatDtype | None = None,
        node_names: Sequence[Any] | np.ndarray | None = None,
        rng: Rng = 0,
        minus_one: str | None = None,
    ) -> Made:
        """Return the Dataset of a graph and arrays, a row or an entry a node.

        Parameters
        ----------
        graph : Graph, or what `as_graph` takes
            Self-loops are dropped with a warning, and edges read in both directions; a warning
            says so where the source is directed. Weights that are not all 1 are kept, in a
            `WeightedGraph`; a warning says so if they cannot be. A list of edges may be of fewer
            nodes than there are features: the last nodes have none then.
        features : (n, f) array or tensor of real numbers, or matrix of scipy.sparse
            A sparse matrix of which at most 5% are not 0 stays sparse, with `scaling` "rows" or
            "none"; one with more is made dense.
        labels : (n,) or (n, C) array or tensor
            One class a node: whole numbers, which are the classes, or words, or numbers as text,
            which are numbered in order. NaN, None, "" and the number -1 stand for an unknown
            class. Or rows of 0 and 1.
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
        minus_one : {"unknown", "class"}, optional
            What the number -1 is among labels. Default: unknown; labels that are only -1 and 1
            are then refused.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            If a part is of the wrong kind or does not fit the others.
        """
        if require.issparse(features):
            features = kept_sparse(checked_sparse(features, dtype))
        else:
            features = as_array(features, "features")
            if features.ndim != 2:
                raise ValueError(f"features must be 2-D, got shape {features.shape}")
        n = features.shape[0]
        listed = not counts_nodes(graph)
        graph, found = undirected_graph(graph)
        graph = with_nodes(graph, n, listed)
        if not isinstance(labels, Encoded):
            labels = encoded(as_array(labels, "labels"), minus_one)
        labels, class_names = labels
        val, test = (() if part is None else part for part in (val, test))
        if train is None:
            if len(val) or len(test):
                raise ValueError("train must be given where val or test is")
            known = np.flatnonzero(labels >= 0) if labels.ndim == 1 else np.arange(len(labels))
            if not known.size:
                raise ValueError("labels must be known for at least one node")
            parts = dict(zip(PARTS, drawn_parts(known, as_seed(rng)), strict=True))
        else:
            given = zip(PARTS, (train, val, test), strict=True)
            parts = {part: node_ids(part, as_array(nodes, part), n) for part, nodes in given}
        if not len(parts["train"]):
            raise ValueError("train must have at least one node")
        made: Callable[..., Made] = cls  # a Dataset
        return made(
            name,
            graph,
            features,
            labels,
            **parts,
            setting=setting,
            scaling=chosen_scaling(scaling, features, parts["train"]),
            dtype=dtype,
            class_names=class_names,
            node_names=found if node_names is None else node_names,
        )

    @classmethod
    def from_networkx(
        cls: type[Made],
        graph: Any,
        features: str = "features",
        label: str | None = None,
        split: str | None = None,
        **options: Unpack[ArrayOptions],
    ) -> Made:
        """Return the Dataset of a NetworkX graph whose nodes have attributes.

        Parameters
        ----------
        graph : networkx.Graph
        features : str
            Name of an attribute: a sequence of numbers.
        label : str, optional
            Name of the attribute with the class; a node without it has an unknown class. Default:
            "label", "labels", "y" or "class", whichever there is.
        split : str, optional
            Name of the attribute with the part, as for `from_pandas`. Default: "split", or the
            attributes "train_mask", "val_mask" and "test_mask". If no node has one, parts are
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

        Warns
        -----
        UserWarning
            If the graph is directed, or self-loops, attributes or weights are ignored.
        """
        _check_has("nodes", "graph", graph, "a graph of NetworkX")
        rows = dict(graph.nodes(data=features))
        missing = next((node for node, row in rows.items() if row is None), None)
        if missing is not None:
            raise ValueError(f"node {missing!r} must have the attribute {features!r}")
        names = list(rows)
        attributes = {name: None for _, found in graph.nodes(data=True) for name in found}
        titles = [name for name in attributes if name != features]
        where = "the attributes of graph.nodes"
        table = _Columns(
            where,
            titles,
            lambda title: [value for _, value in graph.nodes(data=title)],
            lambda i: f"node {names[i]!r:.80}",
        )
        columns = node_columns(where, titles, Chosen(None, label, split), _given(options), id=())
        warn_of_ignored(where, columns.features)
        edges = {name: None for *_, found in graph.edges(data=True) for name in found}
        _warn_of_others([name for name in edges if name != "weight"], "graph.edges")
        labels, parts = table.labels(columns, options), table.parts(columns)
        widths = [np.shape(row) for row in rows.values()]
        other = next((v for v, width in enumerate(widths) if width != widths[0]), None)
        if other is not None:
            raise ValueError(
                f"the attribute {features!r} must have one shape, but node {names[0]!r:.80} has "
                f"{widths[0]} and node {names[other]!r:.80} {widths[other]}"
            )
        return cls.from_arrays(graph, np.array(list(rows.values())), labels, **parts, **options)

    @classmethod
    def from_pandas(
        cls: type[Made],
        edges: Any,
        nodes: Any,
        id: Hashable | None = None,
        label: Hashable | None = None,
        split: Hashable | None = None,
        *,
        ends: tuple[Hashable, Hashable] | None = None,
        ignore: Sequence[Hashable] = (),
        **options: Unpack[ArrayOptions],
    ) -> Made:
        """Return the Dataset of a table of edges and a table of nodes.

        Columns are found by their titles, in any case.

        Parameters
        ----------
        edges : pandas.DataFrame
            A row an edge, the names of its ends in two columns, as for `as_graph`, and perhaps
            its weight in a column "weight", "weights", "w" or "edge_weight".
        nodes : pandas.DataFrame
            A row a node: a class, perhaps its name and its part, and features in all other
            numeric columns.
        id : hashable, optional
            The column of `nodes` that has their names. Default: "id", "node", "node_id" or
            "name", whichever there is, otherwise the index.
        label : hashable, optional
            The column of the class. Default: "label", "labels", "y" or "class".
        split : hashable, optional
            The column of the part: "train", "val" (or "valid", "validation", "dev") or "test",
            empty for none. Default: "split", or the columns "train_mask", "val_mask" and
            "test_mask" of 0 and 1; without these, parts are drawn.
        ends : two hashables, optional
            The columns of `edges`. Default: as for `as_graph`.
        ignore : sequence of hashables
            Columns of `nodes` that are left out.
        **options
            As for `from_arrays`.

        Returns
        -------
        Dataset

        Raises
        ------
        TypeError, ValueError
            If a column is missing or there are several candidates for it, an edge names no node,
            the tables are in the other order, or as for `from_arrays`.

        Warns
        -----
        UserWarning
            If columns are ignored.
        """
        for name, table in (("edges", edges), ("nodes", nodes)):
            _check_has("columns", name, table, "a table of pandas")
        if _has_ends(nodes) and not _has_ends(edges):
            raise TypeError("the table of edges comes first: from_pandas(edges, nodes)")
        chosen = Chosen(id, label, split, ends, listed_titles(ignore))
        columns = node_columns("nodes", list(nodes.columns), chosen, _given(options))
        names = as_names(_names_of(nodes, columns.id))
        table = _Columns("nodes", nodes.columns, nodes.__getitem__, _row_of(nodes))
        unnamed = next((i for i, name in enumerate(names) if is_missing(name)), None)
        if unnamed is not None:
            raise ValueError(f"nodes: each must have a name, but {table.place(unnamed)} has none")
        numeric = nodes[columns.features].select_dtypes(
            ["number", "bool"], exclude=["complex", "timedelta"]
        )
        kept = set(numeric.columns)
        warn_of_ignored("nodes", [title for title in columns.features if title not in kept])
        if not kept:
            raise ValueError("nodes must have at least one column of numbers, the features")
        *ends, weight = edge_columns("edges", list(edges.columns), chosen)
        u, v = (
            numbers_of(names, edges[end].to_numpy(), f"edges: the column {end!r}") for end in ends
        )
        warn_of_loops(u[u == v], "edges")
        graph = from_edges(u, v, n=len(names), symmetrize=True, self_loops=False)
        if weight is not None:
            weights = edges[weight].to_numpy(na_value=np.nan)
            graph = with_weights(graph, u, v, weights, f"the column {weight!r} of edges")
        features = numeric.to_numpy(np.float64, na_value=np.nan)
        bad = np.argwhere(~np.isfinite(features))
        if bad.size:
            at, column = bad[0]
            raise ValueError(
                f"nodes: the column {numeric.columns[column]!r} must hold finite numbers, but "
                f"{table.place(at)} is {features[at, column]}"
            )
        labels, parts = table.labels(columns, options), table.parts(columns)
        # a checker does not know that `options` has no `node_names`
        make: Callable[..., Any] = cls.from_arrays
        data = make(graph, features, labels, node_names=names, **parts, **options)
        return data._changed(feature_names=tuple(map(str, numeric.columns)))

    @classmethod
    def from_pyg(cls: type[Made], data: Any, **options: Unpack[ArrayOptions]) -> Made:
        """Return the Dataset of a PyG `Data`: `x`, `y`, `edge_index` and the three masks.

        Parameters
        ----------
        data : torch_geometric.data.Data
            `y` has a class a node, or rows of 0 and 1. Without masks parts are drawn; those of
            validation and test alone are refused.
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
        _check_has("edge_index", "data", data, "a Data of PyG")
        masks = {part: getattr(data, f"{part}_mask", None) for part in PARTS}
        for name, what in (("x", "features"), ("y", "classes")):
            if getattr(data, name, None) is None:
                raise ValueError(f"data must have {name}, the {what} of nodes, and has none")
        parts = parts_masked(masks, options, "data")
        held = data.keys() if callable(getattr(data, "keys", None)) else vars(data)
        read = {*PYG, *(f"{part}_mask" for part in PARTS)}
        others = [name for name in held if name not in read and name[0] != "_"]
        _warn_of_others([name for name in others if getattr(data, name) is not None], "data")
        return cls.from_arrays(data, data.x, data.y, **parts, **options)

    @classmethod
    def from_dgl(
        cls: type[Made],
        graph: Any,
        features: str = "feat",
        label: str = "label",
        **options: Unpack[ArrayOptions],
    ) -> Made:
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
        _check_has("ndata", "graph", graph, "a graph of DGL")
        kept = graph.ndata
        for key in (features, label):
            if key not in kept:
                raise ValueError(f"graph.ndata must have {key!r}, got {require.shown(list(kept))}")
        masks = {part: kept.get(f"{part}_mask") for part in PARTS}
        parts = parts_masked(masks, options)
        read = {features, label, *WEIGHTS, *(f"{part}_mask" for part in PARTS)}
        for where, names in (("ndata", kept), ("edata", graph.edata)):  # "_ID" is DGL's own
            others = [name for name in names if name not in read and name[0] != "_"]
            _warn_of_others(others, f"graph.{where}")
        return cls.from_arrays(graph, kept[features], kept[label], **parts, **options)

    @classmethod
    def from_csv(
        cls: type[Made],
        edges: FilePath,
        nodes: FilePath,
        id: str | None = None,
        label: str | None = None,
        split: str | None = None,
        *,
        ends: tuple[str, str] | None = None,
        ignore: Sequence[str] = (),
        titles: str | None = None,
        **options: Unpack[ArrayOptions],
    ) -> Made:
        """Return the Dataset of two files of separated values, .csv or .tsv, perhaps with .gz.

        Values are separated by commas, tabs or semicolons. Columns are found by their titles, in
        any case, and those of numbers alone are features.

        Parameters
        ----------
        edges : str or Path
            An edge a line: the names of its ends in two columns, titled as for `as_graph`, or
            without other columns, and perhaps its weight, as for `from_pandas`.
        nodes : str or Path
            A line of titles, and a line a node.
        id, label, split, ends, ignore
            As for `from_pandas`; the names of nodes are always in a column.
        titles : {"yes", "no"}, optional
            Whether the first line of `edges` has titles. Default: yes if it has one that is
            known, or neither of its names is a node; refused where that leaves a doubt. Columns
            without titles are called "1", "2", ...
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
            If a file is no such table, or can be read in several ways, or an edge names no node;
            the file and, where there is one, the line are named.

        Warns
        -----
        UserWarning
            If columns are ignored.
        """
        checked_titles(titles)
        edges, nodes = require.path("edges", edges), require.path("nodes", nodes)
        chosen = Chosen(id, label, split, ends, listed_titles(ignore))
        table = NodeTable(nodes, chosen, _given(options), options.pop("minus_one", None))
        features = np.concatenate(list(table.features()))
        edge_table = EdgeTable(edges, table, chosen, titles)
        u, v, *weights = map(np.concatenate, zip(*edge_table.pairs(), strict=True))
        warn_of_loops(u[u == v], edges)
        graph = from_edges(u, v, n=len(table.names), symmetrize=True, self_loops=False)
        if weights:
            where = f'the column "{edge_table.weight}" of {edges}'
            graph = with_weights(graph, u, v, weights[0], where)
        options.setdefault("name", Path(nodes).stem)
        found = {"node_names": table.names, **table.parts, **options}
        with naming(nodes):
            labels = Encoded(table.labels, table.class_names)
            data: Any = cls.from_arrays(graph, features, labels, **found)
        return data._changed(feature_names=table.feature_names)

    @classmethod
    def from_ogb(
        cls: type[Made], folder: FilePath, split: str | None = None, **options: Unpack[ArrayOptions]
    ) -> Made:
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


class _Columns:
    """What columns of a table of nodes hold: `column(title)`; `place(i)` says which node has it."""

    def __init__(
        self,
        where: str,
        titles: Iterable[Any],
        column: Callable[[Any], Any],
        place: Callable[[int], str],
    ) -> None:
        self.where, self.titles, self.column, self.place = where, titles, column, place

    def labels(self, columns: NodeColumns, options: ArrayOptions) -> Encoded:
        """Return the Encoded classes."""
        cells = as_names(self.column(columns.label))
        where = f"{self.where}: {columns.label!r}"
        return encoded(cells, options.pop("minus_one", None), where, self.place)

    def parts(self, columns: NodeColumns) -> dict[str, Any]:
        """Return the parts, by name; {} where the table has none."""
        if columns.split is not None:
            where = f"{self.where}: {columns.split!r}"
            return parts_named(self.column(columns.split), where, self.place)
        masks = {
            part: mask_of(list(self.column(title)), f"{self.where}: {title!r}", self.place)
            for part, title in columns.masks.items()
        }
        return parts_masked(masks, {}, self.where)


def undirected_graph(source: Any) -> tuple[Graph, NDArray[Any] | None]:
    """Return the graph of a source with all edges in both directions and no self-loops, and names.

    Warns where that adds directions to a source that has them.
    """
    if isinstance(source, TypedGraph | WeightedGraph):  # not changed: types would be lost
        return source, None
    if not isinstance(source, Graph):
        return read_graph(source)
    if not source.symmetric:
        warn("the graph is directed: its edges are read in both directions")
    if source.self_loops:
        row = np.repeat(np.arange(source.n), source.degrees())
        warn_of_loops(row[row == source.indices], "the graph")
    if not source.symmetric or source.self_loops:
        source = as_graph(source, symmetrize=True, self_loops=False)
    return source, None


def _warn_of_others(names: list[Any], where: str) -> None:
    """Name what is ignored of a graph of another library."""
    if names:
        warn(f"ignored {', '.join(map(require.shown, names))} of {where}")


def _check_has(member: str, name: str, value: Any, wanted: str) -> None:
    """Raise TypeError unless an argument has a member, as a class of another library has."""
    if not hasattr(value, member):
        raise TypeError(f"{name} must be {wanted}, got {type(value).__name__}")


def _given(options: ArrayOptions) -> list[str]:
    """Return the parts of the split that the caller gives."""
    return [part for part in PARTS if part in options]


def _has_ends(table: Any) -> bool:
    """Whether a table has two columns with the titles of the ends of edges."""
    titles = {normal(title) for title in table.columns}
    return any(titles >= {u, v} for u, v in ENDS)


def _row_of(nodes: Any) -> Callable[[int], str]:
    return lambda i: f"row {nodes.index[i]!r:.80}"


def _names_of(nodes: Any, title: Any) -> Any:
    """Return the names of nodes: a column of the table, or its index."""
    index = nodes.index
    if title is None:
        return index
    if index.name is not None or index.dtype.kind not in "iu":
        raise Unclear(
            f"nodes has names in the column {title!r} and in its index: keep one of them",
            f"ignore=[{title!r}], or nodes.reset_index(drop=True)",
            "one",
        )
    return nodes[title]


def with_nodes(graph: Graph, n: int, listed: bool) -> Graph:
    """Return a graph with n nodes; those that it lacks have no edges, if its edges are a list."""
    if graph.n == n:
        return graph
    if graph.n > n or not listed:
        more = "" if graph.n > n else f" (as_graph(edges, n={n}) adds nodes without edges)"
        raise ValueError(f"features must have a row for each of {graph.n} nodes, got {n}{more}")
    return Graph(np.pad(graph.indptr, (0, n - graph.n), mode="edge"), graph.indices)
