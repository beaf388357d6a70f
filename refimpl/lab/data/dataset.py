"""What training needs of a data set, checked once."""

from dataclasses import dataclass

import numpy as np

from refimpl import _check
from refimpl.graph import Graph, undirected
from refimpl.lab.data.preparation import check_scaling


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with features, labels and a split; training sees the training graph only.

    The inductive setting of Hamilton et al. 2017, in which the papers train.

    Parameters
    ----------
    name : str
    graph : Graph
        All n nodes, undirected; for evaluation.
    train_graph : Graph
        On the training nodes alone, node i being ``train[i]``; undirected, without self-loops:
        the matrices of sampled neighbours count a node apart from its neighbours.
    features : (n, f) float32 or float64 array
        Finite, standardised on the training rows.
    labels : (n, C) array of the same dtype
        0 or 1; one 1 a row unless `multilabel`.
    multilabel : bool
    train, val, test : (any,) integer arrays
        Disjoint node ids, each ascending; stored as int64.
    scaling : (mean, std), optional
        Two (f,) float64 arrays: how the raw features became these. A model needs them later.

    Raises
    ------
    TypeError, ValueError
        If a part is of the wrong kind or does not fit the others.
    """

    name: str
    graph: Graph
    train_graph: Graph
    features: np.ndarray
    labels: np.ndarray
    multilabel: bool
    train: np.ndarray
    val: np.ndarray
    test: np.ndarray
    scaling: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self):
        n = undirected(self.graph).n
        features = _check.floats("features", self.features, (n, None))
        labels = _check.floats("labels", self.labels, (n, None), features.dtype)
        if not isinstance(self.multilabel, bool):
            raise TypeError("multilabel must be True or False")
        bad = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if bad.size:
            raise ValueError(f"features must be finite, but row {bad[0]} is not")
        if labels.shape[1] == 0 or np.any((labels != 0) & (labels != 1)):
            raise ValueError("labels must be 0 or 1, with at least one class")
        if not self.multilabel and np.any(labels.sum(axis=1) != 1):
            raise ValueError("labels must have exactly one class a node, unless multilabel")
        parts = {}
        for name in ("train", "val", "test"):
            parts[name] = _check.node_set(name, getattr(self, name), n).astype(np.int64)
        if not parts["train"].size:
            raise ValueError("train must have at least one node")
        if np.unique(np.concatenate(list(parts.values()))).size < sum(map(len, parts.values())):
            raise ValueError("train, val and test must be disjoint")
        if undirected(self.train_graph).n != parts["train"].size:
            raise ValueError(
                f"train_graph must have {parts['train'].size} nodes like train, "
                f"got {self.train_graph.n}"
            )
        if self.scaling is not None:
            parts["scaling"] = check_scaling(self.scaling, features.shape[1])
        rows = np.repeat(np.arange(self.train_graph.n), self.train_graph.degrees())
        if np.any(self.train_graph.indices == rows):
            raise ValueError(
                "train_graph must have no self-loops: see as_graph(.., self_loops=False)"
            )
        for name, value in {"features": features, "labels": labels, **parts}.items():
            object.__setattr__(self, name, value)

    @property
    def classes(self):
        """Number of classes."""
        return self.labels.shape[1]
