"""What training needs of a data set, checked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.foreign_graphs import column_of
from refimpl._support.notebook_cards import dataset_html
from refimpl._support.reprs import short_repr
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import (
    Features,
    FilePath,
    FloatDtype,
    Ids,
    Int,
    Integers,
    Mask,
    Matrix,
    Positions,
    Table,
)
from refimpl.lab.data.for_torch import as_dgl, as_pyg
from refimpl.lab.data.preparation import check_finite, induced, kept_dtype
from refimpl.lab.data.sources import FromElsewhere
from refimpl.lab.data.sparse_features import checked_sparse, dense_rows, needs_dense
from refimpl.lab.data.splits import PARTS, node_ids
from refimpl.lab.data.writing import save_dataset
from refimpl.lab.hints import Classes, Nodes, Scaling, Setting, as_default
from refimpl.loader.files import AT_REST
from refimpl.loader.gathering import check_scaling, gather_rows
from refimpl.loader.packed import PackedFeatures, array_or_packed

SETTINGS = ("transductive", "inductive")
KEPT = (*AT_REST, np.dtype(np.float64))  # of features
UNKNOWN = -1  # the class of a node that has none
MOST_CLASSES = 2**15  # or as many as there are nodes


@dataclass(frozen=True, eq=False)
class Dataset(FromElsewhere):
    """A graph with features, labels and a split, and over which part of it messages pass.

    In the transductive setting (Kipf and Welling 2017; FreshGNN's, VLDB'24 Algorithm 1) training
    passes messages over the whole graph and takes the loss over the training nodes. In the
    inductive setting (Hamilton et al. 2017; the two graph-sampling papers') it sees the graph
    between training nodes only.

    Parameters
    ----------
    name : str
    graph : Graph
        All n nodes, undirected.
    features : (n, f) array of real numbers, or matrix of scipy.sparse
        Raw and finite. float16, float32 and float64 are kept as they are, C-contiguous, and may be
        a numpy.memmap; other kinds are copied as `dtype`. A sparse matrix is copied as a csr_array
        of float32 or float64, with `scaling` "rows" or None: it stays sparse, see the page Data.
    labels : (n,) or (n, C) integer array
        The class of every node, from 0 on, or -1 where it is unknown; or a row of 0 and 1 for
        nodes that may have several classes. Kept in the dtype it has.
    train, val, test : (any,) integer arrays, or (n,) bool arrays
        Disjoint node ids in any order, or masks. Stored as ascending int64; their labels are
        known.
    setting : {"transductive", "inductive"}
    scaling : (mean, std) or "rows", optional
        Two (f,) float64 arrays: a model reads (features - mean) / std. Or each row over the sum of
        its magnitudes. Default: features as they are.
    dtype : float32 or float64, optional
        What a model computes in. Default: float64 where the features are, otherwise float32.
    induced : Graph, optional
        The graph between training nodes, node i being the i-th of `train`, for the inductive
        setting; undirected. Default: all edges of `graph` between them.
    known : (n,) bool array, optional
        Where the rows of several classes a node are known. Default: everywhere.
    classes : int, optional
        How many classes there are, at most 32,768 or n. Default: the largest and 1, or the width of
        the rows.
    class_names : sequence of str, optional
        What classes are called, each by another name. Stored as a tuple.
    node_names : (n,) sequence, optional
        What nodes are called. Stored as an array.

    Attributes
    ----------
    checksums : dict or None
        Of a data set that `load_dataset` opened from a folder of `save`: of each array there.
    feature_names : tuple of str or None
        Of a data set that is made of tables: the titles of the columns of features.

    Raises
    ------
    TypeError, ValueError
        If a part is of the wrong kind or does not fit the others.
    """

    name: str
    graph: Graph
    features: Features
    labels: Classes
    train: Positions
    val: Positions
    test: Positions
    setting: Setting = "transductive"
    scaling: Scaling = None
    dtype: np.dtype[Any] = as_default(None)
    induced: Graph | None = None
    known: Mask | None = None
    classes: int = as_default(None)
    class_names: tuple[str, ...] | None = None
    node_names: np.ndarray | None = None
    checksums: dict[str, Any] | None = field(init=False, repr=False, default=None)
    feature_names: tuple[str, ...] | None = field(init=False, repr=False, default=None)

    if TYPE_CHECKING:  # what the fields may be given as

        def __init__(
            self,
            name: str,
            graph: Graph,
            features: Table,
            labels: Classes,
            train: Nodes,
            val: Nodes,
            test: Nodes,
            setting: Setting = "transductive",
            scaling: Scaling = None,
            dtype: FloatDtype | None = None,
            induced: Graph | None = None,
            known: Mask | None = None,
            classes: Int | None = None,
            class_names: Sequence[str] | None = None,
            node_names: Sequence[Any] | np.ndarray | None = None,
        ) -> None: ...

    def __repr__(self) -> str:
        return short_repr(self)

    def _repr_html_(self) -> str:
        return dataset_html(self)

    def __post_init__(self) -> None:
        n = undirected(self.graph).n
        require.choice("setting", self.setting, SETTINGS)
        checked = _checked_features(self.features, n, self.dtype)
        checked |= _checked_labels(self.labels, n, self.classes, self.known)
        unknown = checked.pop("unknown")
        parts = {name: getattr(self, name) for name in PARTS}
        checked |= checked_parts(parts, n, lambda nodes: unknown[nodes])
        if self.induced is not None and undirected(self.induced).n != len(checked["train"]):
            raise ValueError(
                f"induced must have {len(checked['train'])} nodes like train, got {self.induced.n}"
            )
        checked |= checked_names(self.class_names, checked["classes"], self.node_names, n)
        if require.issparse(self.features) and needs_dense(self.scaling):
            raise ValueError(
                'scaling must be "rows" or None where features are sparse: a mean that is taken '
                "from each column leaves no zeros. Give features.toarray() to use it"
            )
        if self.scaling is not None:
            checked["scaling"] = check_scaling(self.scaling, checked["features"].shape[1])
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _trusted(cls, **values: Any) -> Dataset:
        """Return the Dataset of values that fit: no check, no pass over an array."""
        dataset = object.__new__(cls)
        dataset.__dict__.update({one.name: one.default for one in fields(cls)} | values)
        return dataset

    def _changed(self, **values: Any) -> Dataset:
        """Return this data set with other values that fit the rest."""
        return self._trusted(**{one.name: getattr(self, one.name) for one in fields(self)} | values)

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several classes."""
        return self.labels.ndim == 2

    @property
    def inductive(self) -> bool:
        """Whether training sees the graph between training nodes only."""
        return self.setting == "inductive"

    @cached_property
    def train_graph(self) -> Graph:
        """The graph that messages pass over in training, without self-loops.

        The matrices of sampled neighbours count a node apart from its neighbours.
        """
        graph = self.graph
        if self.inductive:
            graph = induced(graph, self.train) if self.induced is None else self.induced
        if graph.self_loops:
            raise ValueError(
                "the training graph must have no self-loops: see as_graph(.., self_loops=False)"
            )
        return graph

    @cached_property
    def roots(self) -> Ids:
        """The training nodes as nodes of `train_graph`, ascending: (any,) int32."""
        nodes = np.arange(self.train.size) if self.inductive else self.train
        return nodes.astype(np.int32)

    def in_graph(self, nodes: Ids) -> Ids | Positions:
        """Return which nodes of `graph` some nodes of `train_graph` are."""
        return self.train[nodes] if self.inductive else nodes

    def inputs(
        self, nodes: Integers | None = None, gather: Callable[..., Matrix[Any]] = gather_rows
    ) -> Matrix[Any]:
        """Return what a model reads of some nodes of `graph`; (k, f) of `dtype`.

        Parameters
        ----------
        nodes : (k,) integer array, optional
            Default: all n.
        gather : callable
            `gather_rows` of refimpl or fastimpl.
        """
        nodes = np.arange(self.graph.n) if nodes is None else nodes
        if isinstance(self.features, PackedFeatures):
            rows = self.features.rows(nodes)
            return gather(self.features.array, rows, self.scaling, self.dtype)
        if not require.issparse(self.features):
            return gather(self.features, nodes, self.scaling, self.dtype)
        rows = dense_rows(self.features, np.asarray(nodes))
        return gather(rows, np.arange(len(rows)), self.scaling, self.dtype)

    def targets(self, nodes: Ids | Positions | None = None) -> Matrix[Any]:
        """Return a row of 0 and 1 for each of some nodes of `graph`: (k, C) of `dtype`.

        All are 0 where no class is known. The default are all n nodes.
        """
        labels = self.labels if nodes is None else self.labels[nodes]
        if not self.multilabel:
            labels = labels[:, None] == np.arange(self.classes or 0)
        return labels.astype(self.dtype)

    def kept_share(self) -> float:
        """Return the share of the training nodes' edges that training passes messages over."""
        if not self.inductive:
            return 1.0
        ends = int(self.graph.degrees(self.train).sum())
        return self.train_graph.e / ends if ends else 1.0

    def with_setting(self, setting: Setting) -> Dataset:
        """Return this data set in the setting "transductive" or "inductive"."""
        return self._changed(setting=require.choice("setting", setting, SETTINGS))

    def to_pyg(self) -> Any:
        """Return this data set as PyG's `Data`; needs the extra ``pyg``.

        O(n f + e) time.

        Returns
        -------
        torch_geometric.data.Data
            ``x`` is what a model reads, scaled; ``y`` the classes as int64, or rows of 0 and 1 as
            floats; ``edge_index`` the whole graph, sorted by target, with `edge_weight` if it has
            weights; and `train_mask`, `val_mask` and `test_mask`.

        Raises
        ------
        ImportError
            If torch or torch_geometric is missing.
        """
        return as_pyg(self)

    def to_dgl(self) -> Any:
        """Return this data set as a graph of DGL; needs DGL and PyTorch.

        O(n f + e) time.

        Returns
        -------
        dgl.DGLGraph
            With int64 ids and the whole graph; its `ndata` are ``feat`` and ``label``, the ``x``
            and ``y`` of `to_pyg`, and the same masks; its `edata` has ``weight`` if there are any.

        Raises
        ------
        ImportError
            If torch or DGL is missing, or DGL does not run beside this torch.
        """
        return as_dgl(self)

    def save(self, folder: FilePath, *, overwrite: bool = False) -> None:
        """Write this data set as a folder of plain .npy files, which `load_dataset` maps.

        The folder is there whole or not at all; a process that is killed leaves one that is
        called as `folder`, with more behind it and ".tmp" at its end. Names of nodes that are not
        all integers are written as text. O(n f + e) time, in blocks.

        Parameters
        ----------
        folder : str or Path
        overwrite : bool
            Replace a data set that is there.

        Raises
        ------
        FileExistsError
            If something is there: without `overwrite` anything, with it what is no such data set.
        OSError
            If it cannot be written.
        """
        save_dataset(self, folder, overwrite=overwrite)


def _checked_features(features: Any, n: int, dtype: FloatDtype | None) -> dict[str, Any]:
    """Return features and dtype, by name."""
    if require.issparse(features):
        return _checked_sparse(features, n, dtype)
    features = array_or_packed("features", features)
    if features.dtype.kind not in "fiub":
        raise TypeError(f"features must be real numbers, got {features.dtype}")
    if features.ndim != 2 or len(features) != n or not features.shape[1]:
        raise ValueError(f"features must have shape ({n}, at least 1), got {features.shape}")
    if dtype is None:
        dtype = np.float64 if features.dtype == np.float64 else np.float32
    dtype = require.float_dtype("dtype", dtype)
    if features.dtype not in KEPT:
        features = features.astype(kept_dtype(features, dtype))
    elif isinstance(features, np.ndarray) and not features.flags.c_contiguous:
        features = np.ascontiguousarray(features)
    check_finite("features", features)
    return {"features": features, "dtype": dtype}


def _checked_sparse(features: Any, n: int, dtype: FloatDtype | None) -> dict[str, Any]:
    """Return sparse features and dtype, by name."""
    if dtype is None:
        dtype = np.float64 if features.dtype == np.float64 else np.float32
    dtype = require.float_dtype("dtype", dtype)
    features = checked_sparse(features, dtype)
    if features.shape[0] != n or not features.shape[1]:
        raise ValueError(f"features must have shape ({n}, at least 1), got {features.shape}")
    return {"features": features, "dtype": dtype}


def _checked_labels(labels: Any, n: int, classes: Int | None, known: Any) -> dict[str, Any]:
    """Return labels and classes, and where labels are unknown, by name."""
    labels = require.array("labels", labels)
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise ValueError(f"labels must have shape ({n},) or ({n}, classes), got {labels.shape}")
    if labels.dtype.kind not in "iub":
        raise TypeError(f"labels must be integers, got {labels.dtype}")
    if labels.ndim == 2:
        found = labels.shape[1]
        if found == 0 or labels.min(initial=0) < 0 or labels.max(initial=0) > 1:
            raise ValueError("labels of several classes must be 0 or 1, with at least one class")
        unknown = np.zeros(n, np.bool_) if known is None else ~require.mask("known", known, n)
    else:
        if known is not None:
            raise ValueError(
                "known must be None if nodes have one class: give -1 for an unknown class"
            )
        if labels.dtype.kind == "b":
            labels = labels.view(np.uint8)
        if labels.min(initial=0) < UNKNOWN:
            raise ValueError(f"labels must be classes from 0 on, or -1, got {labels.min()}")
        found, unknown = int(labels.max()) + 1 if n else 0, labels == UNKNOWN
    if classes is None:
        check_classes(found, n)
        classes = found
    elif (classes := require.integer("classes", classes, 1, max(MOST_CLASSES, n))) < found or (
        labels.ndim == 2 and classes > found
    ):
        raise ValueError(f"classes must be {found} as in labels, or more, got {classes}")
    return {"labels": labels, "classes": classes, "unknown": unknown}


def check_classes(classes: int, n: int) -> None:
    """Raise ValueError if labels of `n` nodes have more classes than any data set needs."""
    most = max(MOST_CLASSES, n)
    if classes > most:
        raise ValueError(f"labels must have at most {most} classes, got {classes}")


def checked_parts(
    parts: dict[str, Any], n: int, unknown: Callable[[Positions], Mask]
) -> dict[str, Positions]:
    """Return the training, validation and test nodes, ascending, by name.

    `unknown` says of some nodes which of them have no known label.
    """
    parts = {name: node_ids(name, value, n) for name, value in parts.items()}
    for name, part in parts.items():
        bad = part[unknown(part)]
        if bad.size:
            raise ValueError(f"{name} must have nodes with known labels, but not {bad[0]}")
    if not parts["train"].size:
        raise ValueError("train must have at least one node")
    every = np.sort(np.concatenate(list(parts.values())))
    twice = every[1:][every[1:] == every[:-1]]
    if twice.size:
        found = " and ".join(name for name, part in parts.items() if twice[0] in part)
        raise ValueError(f"train, val and test must be disjoint, but node {twice[0]} is in {found}")
    return parts


def checked_names(class_names: Any, classes: int, node_names: Any, n: int) -> dict[str, Any]:
    """Return the names of classes and nodes that there are, by name."""
    checked = {}
    if class_names is not None:
        checked["class_names"] = names = require.sequence("class_names", class_names, "strings")
        if not all(isinstance(name, str) for name in names):
            raise TypeError("class_names must be strings")
        if len(names) != classes or len(set(names)) < classes:
            raise ValueError(f"class_names must be {classes} distinct names, got {len(names)}")
    if node_names is not None:
        sparse = require.issparse(node_names)
        if sparse or not np.iterable(node_names) or getattr(node_names, "ndim", 1) != 1:
            raise TypeError("node_names must be a 1-D sequence")
        checked["node_names"] = names = column_of(node_names)
        if len(names) != n:
            raise ValueError(f"node_names must be {n}, one for each node, got {len(names)}")
    return checked
