"""Training and predicting as an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from refimpl._support import require
from refimpl._support.reprs import line
from refimpl.graph import Graph
from refimpl.hints import Integers, Mask, Matrix, Table
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.preparation import induced
from refimpl.lab.data.sparse_features import checked_sparse, kept_sparse, stacked
from refimpl.lab.training.config import TrainConfig
from refimpl.lab.training.estimators import DEFAULTS, estimator, in_order, no_parameter, signature
from refimpl.lab.training.model import TrainedModel
from refimpl.lab.training.samples import (
    UNLABELLED,
    checked_classes,
    checked_graph,
    edgeless,
    encoded_classes,
    nodes_of_samples,
    same_graph,
    sample_weights,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator
    from typing_extensions import Self, Unpack

    from refimpl.lab.hints import TrainSettings
else:
    BaseEstimator = object  # the base that `estimator` adds: importing scikit-learn takes long

ROUTED = {"graph": True, "nodes": True}


class NodeClassifier(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learn the classes of some nodes of a graph, and predict the classes of other nodes.

    ``NodeClassifier(model="gcn", epochs=20).fit(X, y, graph=graph)`` trains a model. Objects are
    scikit-learn's `BaseEstimator` and `ClassifierMixin`; the extra ``sklearn`` installs
    scikit-learn. Samples are nodes: ``y[i]`` is the class of node ``nodes[i]``. `X` has one row
    for every node of the graph, or one row for every sample, as in scikit-learn's folds. Not in
    the papers.

    Parameters
    ----------
    **settings : objects
        Fields of `TrainConfig`, such as ``model``, ``method``, ``epochs`` and ``hidden``. The
        constructor checks them. Give settings of a model as ``model=models.Gat(heads=2)``.

    Attributes
    ----------
    classes_ : (C,) array, of the dtype of `y`
        The classes in `y`, ascending. If nodes have several classes, 0 .. C - 1.
    n_features_in_ : int
    model_ : TrainedModel
    result_ : TrainResult
    graph_ : Graph or None
        The graph of `fit`.
    X_, nodes_ : (k, f) float array or csr_array, (k,) int64 array
        The rows of features given to `fit`, and their nodes.

    Raises
    ------
    TypeError, ValueError
        If a setting is unknown, has the wrong type or is out of range.
    ImportError
        If scikit-learn is not installed.
    """

    gnn: Any = None  # the implementation; bound in each package
    __metadata_request__fit = {**ROUTED, "val": True}
    __metadata_request__predict = ROUTED
    __metadata_request__predict_proba = ROUTED
    __metadata_request__transform = ROUTED
    __metadata_request__score = ROUTED

    def __new__(cls, **settings: Unpack[TrainSettings]) -> Self:
        return super().__new__(estimator(cls))  # type: ignore[arg-type]

    def __init__(self, **settings: Unpack[TrainSettings]) -> None:
        unknown = [name for name in settings if name not in DEFAULTS]
        if unknown:
            raise TypeError(no_parameter(unknown[0]))
        TrainConfig(**settings)
        for name, default in DEFAULTS.items():
            setattr(self, name, settings.get(name, default))

    def __repr__(self) -> str:
        own = self.get_params(deep=False)
        return line("NodeClassifier", {k: v for k, v in own.items() if v != DEFAULTS[k]})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    def set_params(self, **settings: Unpack[TrainSettings]) -> Self:
        """Change settings, all of which are checked before any is changed.

        Parameters
        ----------
        **settings : objects

        Returns
        -------
        NodeClassifier
            The same object.

        Raises
        ------
        TypeError, ValueError
            If a setting is unknown, has the wrong type or is out of range.
        """
        unknown = settings.keys() - DEFAULTS.keys()
        if unknown:
            raise ValueError(no_parameter(min(unknown)))
        TrainConfig(**{**self.get_params(deep=False), **settings})
        return super().set_params(**settings)

    @in_order
    def fit(
        self,
        X: Table,
        y: np.ndarray | Sequence[Any],
        *,
        graph: Graph | None = None,
        nodes: Integers | None = None,
        val: Mask | None = None,
        progress: bool = True,
    ) -> Self:
        """Train a model; return the classifier.

        Parameters
        ----------
        X : (n, f) or (k, f) array of real numbers, or matrix of scipy.sparse
            Finite features of all n nodes of `graph`, or only of `nodes`. In the second case
            training passes messages only over the edges between `nodes`.
        y : (k,) array of integers, text or booleans, or (k, C) array of 0 and 1
            Classes of `nodes`. If classes are integers, -1 means that the class is unknown.
        graph : Graph, optional
            Undirected. Default: no edges.
        nodes : (k,) integer array, optional
            The distinct nodes of `graph` that are the samples. Default: 0 .. n - 1.
        val : (k,) bool array, optional
            The samples for validation. The weights of the epoch with their best score are kept.
            Default: no samples; the weights of the last epoch are kept.
        progress : bool
            Show a progress bar, as the function `train` of the package does.

        Returns
        -------
        NodeClassifier
            The same object.

        Raises
        ------
        TypeError, ValueError
            If an argument has the wrong type or conflicts with another.
        """
        X, y = self._features(X, reset=True), checked_classes(y)
        all_of = edgeless(X.shape[0]) if graph is None else checked_graph(graph)
        nodes, rows = nodes_of_samples(X, all_of.n, nodes, len(y), graph is not None)
        known = np.arange(all_of.n) if rows is None else rows
        if rows is not None and rows.size < all_of.n:
            all_of = induced(all_of, np.sort(rows))
        order = np.argsort(known, kind="stable")
        X, known = X[order], known[order]
        position = np.searchsorted(known, nodes)
        labels, names = encoded_classes(y, position, all_of.n)
        labelled = np.ones(len(y), np.bool_) if y.ndim == 2 else labels[position] != UNLABELLED
        val = np.zeros(len(y), np.bool_) if val is None else require.mask("val", val, len(y))
        split: dict[str, Any] = {
            "train": np.sort(position[labelled & ~val]),
            "val": np.sort(position[labelled & val]),
            "test": position[:0],
        }
        if not split["train"].size:
            raise ValueError("y must have a sample with a known class that is not in val")
        data = Dataset("nodes", all_of, X, labels, **split, classes=len(names))
        config = TrainConfig(**self.get_params(deep=False))
        self.result_ = self.gnn.lab.training.train(data, config, progress=progress)
        self.model_ = TrainedModel.trained(data, config, self.result_.weights)
        self.classes_, self.graph_, self.X_, self.nodes_ = names, graph, X, known
        return self

    @in_order
    def predict(
        self,
        X: Table | None = None,
        *,
        graph: Graph | None = None,
        nodes: Integers | None = None,
    ) -> np.ndarray:
        """Return the predicted classes of nodes, with the names that `y` has in `fit`.

        Parameters
        ----------
        X : (n, f) or (k, f) array of real numbers, or matrix of scipy.sparse, optional
            Features of all nodes of the graph, or only of `nodes`; the nodes of `fit` then keep
            their features. Default: the features of `fit`.
        graph : Graph, optional
            Default: the graph of `fit`.
        nodes : (k,) integer array, optional
            The nodes, in any order. Default: all nodes.

        Returns
        -------
        (k,) array, or (k, C) int64 array of 0 and 1

        Raises
        ------
        TypeError, ValueError
            If `fit` was not called, or as for the function `predict` of the package.
        """
        labels = self._ask("labels", X, graph, nodes)
        return labels if labels.ndim == 2 else self.classes_[labels]

    @in_order
    def predict_proba(
        self,
        X: Table | None = None,
        *,
        graph: Graph | None = None,
        nodes: Integers | None = None,
    ) -> Matrix[Any]:
        """Return the probabilities of `classes_`.

        Parameters
        ----------
        X, graph, nodes : as for `predict`

        Returns
        -------
        (k, C) array, float32 or float64
        """
        return self._ask("probabilities", X, graph, nodes)

    @in_order
    def transform(
        self,
        X: Table | None = None,
        *,
        graph: Graph | None = None,
        nodes: Integers | None = None,
    ) -> Matrix[Any]:
        """Return the embeddings of nodes.

        Parameters
        ----------
        X, graph, nodes : as for `predict`

        Returns
        -------
        (k, width) array, float32 or float64
        """
        return self._ask("embeddings", X, graph, nodes)

    @in_order
    def score(
        self,
        X: Table | None,
        y: np.ndarray | Sequence[Any],
        *,
        graph: Graph | None = None,
        nodes: Integers | None = None,
        sample_weight: Table | None = None,
    ) -> float:
        """Return the share of correct samples, or F1-micro if nodes have several classes.

        Parameters
        ----------
        X, graph, nodes : as for `predict`
        y : (k,) or (k, C) array
            Classes of `nodes`, as in `fit`. Samples with an unknown class do not count.
        sample_weight : (k,) array of real numbers, optional
            Weights of the samples, if each node has one class.

        Returns
        -------
        float
        """
        found, wanted = self.predict(X, graph=graph, nodes=nodes), checked_classes(y)
        if wanted.shape != found.shape:
            raise ValueError(f"y must have shape {found.shape}, got {wanted.shape}")
        text, given = (array.dtype.kind in "OU" for array in (found, wanted))
        if text != given:
            kinds = f"{self.classes_.dtype}, got {wanted.dtype}"
            raise ValueError(f"y must have classes as in fit, of dtype {kinds}")
        if found.ndim == 2:
            if sample_weight is not None:
                raise ValueError("sample_weight must be None where y has rows of several classes")
            return float(self.gnn.metrics.f1_micro(wanted, found))
        weights = sample_weights(sample_weight, len(found))
        if wanted.dtype.kind in "if":
            weights = np.where(wanted == UNLABELLED, 0, weights)
        total = weights.sum()
        return float(weights[wanted == found].sum() / total) if total else float("nan")

    def _features(self, X: Any, reset: bool = False) -> Any:
        from sklearn.utils.validation import validate_data

        if isinstance(X, np.ma.MaskedArray):
            X = require.array("X", X)
        kinds = [np.float64, np.float32]
        X = validate_data(self, X, accept_sparse="csr", dtype=kinds, reset=reset)
        return kept_sparse(checked_sparse(X)) if issparse(X) else X

    def _ask(self, what: str, X: Any, graph: Graph | None, nodes: Any) -> NDArray[Any]:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        edges: Any = self.graph_ if graph is None else checked_graph(graph)
        kept = self.nodes_
        if X is None:
            if graph is not None:
                raise ValueError("graph needs X, the features of its nodes")
            edges = edgeless(self.X_.shape[0]) if edges is None else edges
            X, rows = self.X_, kept
            nodes = kept if nodes is None else require.ids("nodes", nodes, 0, edges.n, np.int64)
            if not np.isin(nodes, kept).all():
                missing = nodes[~np.isin(nodes, kept)][0]
                raise ValueError(f"X must be given: fit had no features of node {missing}")
        else:
            X, alone = self._features(X), edges is None
            edges = edgeless(X.shape[0]) if alone else edges
            k = X.shape[0] if nodes is None else np.size(nodes)
            nodes, rows = nodes_of_samples(X, edges.n, nodes, k, not alone)
            if rows is None:
                rows = np.arange(edges.n)
            elif not alone and same_graph(edges, self.graph_):
                others = ~np.isin(kept, rows)
                X = stacked(X, self.X_[others])
                rows = np.concatenate([rows, kept[others]])
        order = np.argsort(rows)
        X, rows = X[order], rows[order]
        if rows.size < edges.n:
            edges = induced(edges, rows)
        position = np.searchsorted(rows, nodes)
        found: NDArray[Any]
        found = self.gnn.lab.training.predict(self.model_, edges, X, position, what)
        return found


NodeClassifier.__init__.__signature__ = signature()  # type: ignore[attr-defined]
