"""Which nodes the samples of scikit-learn are, and what their classes are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.foreign_graphs import is_missing
from refimpl.graph import Graph, as_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refimpl.hints import Integers, Positions

UNLABELLED = -1  # as in scikit-learn's own semi-supervised estimators


def edgeless(n: int) -> Graph:
    return as_graph(np.zeros((0, 2), np.int64), n=n)


def checked_graph(graph: object) -> Graph:
    if not isinstance(graph, Graph):
        raise TypeError(
            "graph must be a Graph, made by as_graph before the call (scikit-learn cuts the rows "
            f"of any matrix that it passes on), got {type(graph).__name__}"
        )
    return graph


def same_graph(one: Graph, other: Graph | None) -> bool:
    """Whether two graphs are equal; the other may be None."""
    return one is other or (
        other is not None
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
    )


def nodes_of_samples(
    X: Any, n: int, nodes: Integers | None, k: int, has_graph: bool
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the nodes that samples are, and those of X's rows; None where these are all nodes."""
    held = X.shape[0]
    if nodes is None:
        if held != n or k != n:
            raise ValueError(
                f"graph has {n} nodes, X {held} rows and y or nodes {k} samples: nodes must say "
                "which nodes the samples are (under scikit-learn's folds: "
                "sklearn.set_config(enable_metadata_routing=True), then pass nodes and graph, and "
                "leave scoring out)"
            )
        return np.arange(n), None
    if not has_graph:
        raise ValueError("nodes are those of graph: give graph, too")
    nodes = require.ids("nodes", nodes, 0, n, np.int64)
    if nodes.size != k:
        raise ValueError(f"nodes must have {k} samples like y, got {nodes.size}")
    if held == n:
        if k == n and not np.array_equal(nodes, np.arange(n)):
            raise ValueError(
                f"X has a row for each of {n} nodes, so nodes must ascend where they are as many"
            )
        return nodes, None
    if held != k:
        raise ValueError(
            f"X must have {n} rows, one for each node, or {k}, one for each of nodes, got {held}"
        )
    if np.unique(nodes).size < k:
        raise ValueError("nodes must have each node once")
    return nodes, nodes


def checked_classes(y: Any) -> Any:
    """Return `y` as scikit-learn checks it: a column of classes, or rows of 0 and 1."""
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_array, column_or_1d

    if y is None:
        raise ValueError("y must be given: requires y to be passed, but the target y is None")
    if isinstance(y, np.ma.MaskedArray):
        y = require.array("y", y)
    objects = isinstance(y, list) or getattr(getattr(y, "dtype", None), "kind", "") == "O"
    cells = y if objects and np.ndim(y) == 1 else ()
    missing = next((i for i, cell in enumerate(cells) if is_missing(cell)), None)
    if missing is not None:
        raise ValueError(f"y must have a class for each sample, but sample {missing} has none")
    if type_of_target(y, input_name="y") == "multilabel-indicator":
        y = check_array(y, dtype=np.int64)
        if not np.isin(y, (0, 1)).all():
            raise ValueError("y must have rows of 0 and 1 where it has several columns")
        return y
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return y


def sample_weights(weights: Any, k: int) -> Any:
    """Return the weights of k samples in a score: 1 each by default."""
    if weights is None:
        return np.ones(k)
    from sklearn.utils.validation import check_array

    weights = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (k,):
        raise ValueError(f"sample_weight must have shape ({k},), got {weights.shape}")
    return weights


def encoded_classes(
    y: NDArray[Any], position: Positions, n: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels as a Dataset has them, -1 where they are not known, and their names."""
    if np.unique(position).size < position.size:
        raise ValueError("nodes must have each node once")
    if y.ndim == 2:
        rows = np.zeros((n, y.shape[1]), np.int64)
        rows[position] = y
        return rows, np.arange(y.shape[1])
    names, found = np.unique(y, return_inverse=True)
    if y.dtype.kind in "if" and names[0] == UNLABELLED:
        if names.tolist() == [UNLABELLED, 1]:
            raise ValueError(
                "y has the classes -1 and 1 only, but -1 is a node without a known class: give "
                "y > 0 for two classes"
            )
        names, found = names[1:], found - 1
    labels = np.full(n, UNLABELLED, np.int64)
    labels[position] = found
    return labels, names
