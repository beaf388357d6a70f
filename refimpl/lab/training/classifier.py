"""Training and predicting in the manner of scikit-learn, which is not needed for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import line
from refimpl.graph import Graph, as_graph
from refimpl.hints import Integers, Matrix, Table
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.hints import Nodes
from refimpl.lab.training.config import config_from
from refimpl.lab.training.model import TrainedModel

if TYPE_CHECKING:
    from typing_extensions import Self


class NodeClassifier:
    """Learn the classes of some nodes of a graph and predict those of others.

    ``NodeClassifier(model="gcn", epochs=20).fit(graph, X, y, train=nodes).predict()``. Settings are
    kept as they are given, and checked by `fit`. Results of `fit` end in an underscore. It can be
    cloned and pickled as scikit-learn's estimators can; `fit` takes a graph besides.
    Not in the papers.

    Parameters
    ----------
    **settings : objects
        Fields of `TrainConfig`, and of the model and the method that it names: ``model``,
        ``method``, ``epochs``, ``hidden``, ``seed``, ..; those left out have its defaults.

    Attributes
    ----------
    classes_ : (C,) array, of the dtype of `y`
        What classes are called in `y`, ascending; for rows of several classes 0 .. C - 1.
    n_features_in_ : int
    model_ : TrainedModel
    result_ : TrainResult
    graph_, X_ : Graph and (n, f) float array
        What it was fitted on, and what `predict` takes by itself.
    """

    gnn: Any = None  # the implementation; bound in each package

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def __repr__(self) -> str:
        return line("NodeClassifier", self.settings)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:  # scikit-learn asks for them, so it is there
        from sklearn.utils import ClassifierTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            classifier_tags=ClassifierTags(),
            regressor_tags=None,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings that were given.

        Parameters
        ----------
        deep : bool
            Changes nothing: settings are flat. scikit-learn gives it.

        Returns
        -------
        dict
        """
        return dict(self.settings)

    def set_params(self, **settings: Any) -> Self:
        """Change settings, which `fit` checks.

        Parameters
        ----------
        **settings : objects

        Returns
        -------
        NodeClassifier
            This one.
        """
        self.settings = {**self.settings, **settings}
        return self

    def fit(
        self,
        graph: Any,
        X: Table,
        y: np.ndarray | Sequence[Any],
        *,
        train: Nodes | None = None,
        val: Nodes | None = None,
        progress: bool = True,
    ) -> Self:
        """Train a model; return the classifier.

        Parameters
        ----------
        graph : Graph, or what `as_graph` takes
            Undirected, with n nodes.
        X : (n, f) array of real numbers
            Features, finite.
        y : (n,) array of integers, text or booleans, or (n, C) array of 0 and 1
            Classes. Those of nodes in neither `train` nor `val` are not looked at.
        train : (any,) integer array or (n,) bool array, optional
            The nodes to learn from. Default: all that are not in `val`.
        val : (any,) integer array or (n,) bool array, optional
            Nodes whose score decides which epoch's weights are kept. Default: none, and those of
            the last epoch are.
        progress : bool
            As for the function `train` of the package.

        Returns
        -------
        NodeClassifier
            This one.

        Raises
        ------
        TypeError, ValueError
            If a setting or an argument is of the wrong kind or does not fit another.
        """
        config = config_from(self.settings)
        graph = graph if isinstance(graph, Graph) else as_graph(graph)
        learned, judged = _split(graph.n, train, val)
        if not learned.size:
            raise ValueError("train must have at least one node")
        known = np.union1d(learned, judged)
        labels, names = _encoded(require.array("y", y), known, graph.n)
        split: dict[str, Any] = {
            "train": learned,
            "val": judged,
            "test": judged[:0],
        }  # of others no label is known
        data = Dataset(
            "nodes", graph, X, labels, **split, setting="transductive", classes=len(names)
        )
        self.result_ = self.gnn.lab.training.train(data, config, progress=progress)
        self.model_ = TrainedModel.trained(data, config, self.result_.weights)
        self.classes_, self.n_features_in_ = names, data.features.shape[1]
        self.graph_, self.X_ = graph, data.features
        return self

    def predict(
        self,
        graph: Any = None,
        X: Table | None = None,
        *,
        nodes: Integers | None = None,
    ) -> np.ndarray:
        """Return the classes of nodes, as `y` called them.

        Parameters
        ----------
        graph : Graph, or what `as_graph` takes, optional
            Default: the one that it was fitted on.
        X : (n, f) array of real numbers, optional
            Features of its nodes; given with `graph`, and only then.
        nodes : (k,) integer array, optional
            In any order; default: all.

        Returns
        -------
        (k,) array, or (k, C) int64 array of 0 and 1

        Raises
        ------
        TypeError, ValueError
            If it has not been fitted, or as for the function `predict` of the package.
        """
        labels = self._ask("labels", graph, X, nodes)
        return labels if labels.ndim == 2 else self.classes_[labels]

    def predict_proba(
        self,
        graph: Any = None,
        X: Table | None = None,
        *,
        nodes: Integers | None = None,
    ) -> Matrix[Any]:
        """Return the probabilities of `classes_`.

        Parameters
        ----------
        graph, X, nodes : as for `predict`

        Returns
        -------
        (k, C) array, float32 or float64
        """
        return self._ask("probabilities", graph, X, nodes)

    def transform(
        self,
        graph: Any = None,
        X: Table | None = None,
        *,
        nodes: Integers | None = None,
    ) -> Matrix[Any]:
        """Return the embeddings of nodes.

        Parameters
        ----------
        graph, X, nodes : as for `predict`

        Returns
        -------
        (k, width) array, float32 or float64
        """
        return self._ask("embeddings", graph, X, nodes)

    def score(
        self,
        y: np.ndarray | Sequence[Any],
        graph: Any = None,
        X: Table | None = None,
        *,
        nodes: Integers | None = None,
    ) -> float:
        """Return the share of nodes whose class is predicted; of rows of classes, F1-micro.

        Parameters
        ----------
        y : (n,) or (n, C) array
            Classes of all nodes of the graph, as for `fit`.
        graph, X, nodes : as for `predict`

        Returns
        -------
        float
        """
        found, known = self.predict(graph, X, nodes=nodes), require.array("y", y)
        n = len(self.X_ if X is None else X)
        if known.shape != (n, *found.shape[1:]):
            raise ValueError(f"y must have shape {(n, *found.shape[1:])}, got {known.shape}")
        wanted = known if nodes is None else known[require.ids("nodes", nodes, 0, n, np.int64)]
        if found.ndim == 2:
            return float(self.gnn.metrics.f1_micro(wanted, found))
        return float(np.mean(wanted == found)) if found.size else float("nan")

    def _ask(self, what, graph, X, nodes):
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()("this NodeClassifier is not fitted: call fit first")
        if (graph is None) != (X is None):
            raise ValueError("graph and X must be given together: X are the features of its nodes")
        if graph is None:
            graph, X = self.graph_, self.X_
        graph = graph if isinstance(graph, Graph) else as_graph(graph)
        known, shape = self.n_features_in_, np.shape(X)
        if len(shape) == 2 and shape[1] != known:
            raise ValueError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {known} "
                "features as input"
            )
        return self.gnn.lab.training.predict(self.model_, graph, X, nodes, what)


def _not_fitted():
    """Return scikit-learn's error, which is a ValueError, where it is in use, else ValueError."""
    there = sys.modules.get("sklearn.exceptions")
    return ValueError if there is None else there.NotFittedError


def _split(n, train, val):
    """Return the training and validation nodes, ascending."""
    none = np.zeros(0, np.int64)
    val = none if val is None else _ids("val", val, n)
    if train is None:
        return np.setdiff1d(np.arange(n), val), val
    return _ids("train", train, n), val


def _ids(name, nodes, n):
    nodes = require.array(name, nodes)
    if nodes.dtype == np.bool_:
        return np.flatnonzero(require.mask(name, nodes, n))
    return np.unique(require.ids(name, nodes, 0, n, np.int64))


def _encoded(y, known, n):
    """Return labels as a Dataset has them, -1 where they are not known, and their names."""
    if y.ndim not in (1, 2) or len(y) != n:
        raise ValueError(f"y must have shape ({n},) or ({n}, C), got {y.shape}")
    if y.ndim == 2:
        if not np.isin(y[known], (0, 1)).all():
            raise ValueError("y must have rows of 0 and 1 where it has several columns")
        rows = np.zeros(y.shape, np.int64)
        rows[known] = y[known]
        return rows, np.arange(y.shape[1])
    if y.dtype.kind not in "iubUSO":
        raise TypeError(f"y must hold integers, text or booleans, got dtype {y.dtype}")
    try:
        names, found = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        raise TypeError(f"y must hold classes of one kind: {error}") from error
    labels = np.full(n, -1, np.int64)
    labels[known] = found
    return labels, names
