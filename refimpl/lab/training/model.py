"""A trained model: keeping it in a file, and using it on any graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from refimpl._support import require
from refimpl._support.notebook_cards import model_html
from refimpl._support.reprs import short_repr
from refimpl.adjacency import Adjacency
from refimpl.graph.csr import Graph, undirected
from refimpl.hints import FilePath, FloatDtype, Ids, Int, Integers, Matrix, Positions, Table, bound
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.preparation import real_matrix, scale
from refimpl.lab.data.sparse_features import checked_sparse, dense_rows, needs_dense
from refimpl.lab.hints import Kept, Scaling, Weights, as_default
from refimpl.lab.training.checkpoints import reading_npz, write_npz
from refimpl.lab.training.config import MEMORY, TrainConfig, config_from
from refimpl.lab.training.evaluation import Evaluation, FullGraphPass, rows_of
from refimpl.lab.training.settings import bytes_from, settings_of
from refimpl.lab.training.sparse_inputs import numbers_a_row, sparse_rows
from refimpl.lab.training.stack import Stack
from refimpl.loader.gathering import ROWS, check_scaling
from refimpl.loader.packed import array_or_packed
from refimpl.metrics import decide

FORMAT = "minibatch-gnn-model/2"
NAMES = "class_names"  # in `meta` where classes have names
COLUMNS = "feature_names"  # in `meta` of a model of tables
MOST = 2**31 - 1  # features, or classes
FACTS = ("architecture", "features", "classes", "multilabel", "dataset")  # in `meta`
SCALING = ("features.mean", "features.std")
MOST_MORE = 1000  # weights that are missing, and then named
WHAT = ("labels", "probabilities", "embeddings")


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """Weights, and all that is needed to use them on another graph.

    What `save_model`, `load_model` and `predict` are about.

    Parameters
    ----------
    weights : dict of str to float32 or float64 arrays of any shape
        By name, such as ``layer1.W_neigh``; all of one dtype, finite. Copied, read-only.
    architecture : dict
        The settings by name that say what the model computes: its name, ``model``, its own
        settings, such as ``heads``, and ``layers``, ``hidden``, ``bias``, ``classifier``,
        ``row_l2`` and ``classifier_relu``; those left out have their defaults.
    features, classes : ints
        Width of the input and of the output.
    multilabel : bool
        Whether a node may have any number of classes.
    scaling : (mean, std) or "rows", optional
        Two (features,) float64 arrays: the input is (raw features - mean) / std.
    dataset : str
        Name of the data it was trained on.
    class_names : sequence of str, optional
        What classes are called. Stored as a tuple.

    Attributes
    ----------
    feature_names : tuple of str or None
        Of a model that was trained on tables: the titles of the columns of features.

    Raises
    ------
    TypeError, ValueError
        If a part is of the wrong kind or does not fit the others.
    """

    weights: Weights = field(repr=False)
    architecture: dict[str, Any]
    features: int
    classes: int
    multilabel: bool
    scaling: Scaling = field(default=None, repr=False)
    dataset: str = ""
    class_names: Kept[tuple[str, ...] | None, Sequence[str] | None] = as_default(None)
    feature_names: tuple[str, ...] | None = field(init=False, repr=False, default=None)

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        return model_html(self)

    def __post_init__(self) -> None:
        for name in ("weights", "architecture"):
            if not isinstance(getattr(self, name), dict):
                raise TypeError(f"{name} must be a dict, got {type(getattr(self, name)).__name__}")
            if not all(isinstance(one, str) for one in getattr(self, name)):
                raise TypeError(f"{name} must have str as keys")
        for name, low in (("features", 0), ("classes", 1)):
            object.__setattr__(self, name, require.integer(name, getattr(self, name), low, MOST))
        if not isinstance(self.multilabel, bool):
            raise TypeError("multilabel must be True or False")
        if not isinstance(self.dataset, str):
            raise TypeError(f"dataset must be a str, got {type(self.dataset).__name__}")
        if self.class_names is not None:
            names = tuple(require.listed(NAMES, self.class_names, "strings"))
            if not all(isinstance(name, str) for name in names) or len(names) != self.classes:
                raise ValueError(f"{NAMES} must be {self.classes} strings")
            object.__setattr__(self, NAMES, names)
        complete = architecture_of(config_from(self.architecture))
        unknown = self.architecture.keys() - complete.keys()
        if unknown:
            raise ValueError(
                f"architecture must have settings among {', '.join(complete)}, "
                f"got {min(map(str, unknown))}"
            )
        object.__setattr__(self, "architecture", complete)
        if self.scaling is not None:
            object.__setattr__(self, "scaling", check_scaling(self.scaling, self.features))
        object.__setattr__(self, "weights", self._checked_weights())

    def _checked_weights(self) -> Weights:
        self._check_count()
        shapes = self.stack(None).shapes()
        for wrong, names in (
            ("lack", shapes.keys() - self.weights.keys()),
            ("have", self.weights.keys() - shapes.keys()),
        ):
            if names:
                raise ValueError(
                    f"weights must be those of the architecture, but {wrong} {min(map(str, names))}"
                )
        checked, dtype = {}, None
        for name, shape in shapes.items():
            W = require.floats(name, self.weights[name], shape, dtype).copy()
            if not np.isfinite(W).all():
                raise ValueError(f"{name} must be finite")
            W.flags.writeable = False
            checked[name], dtype = W, W.dtype
        return checked

    def _check_count(self) -> None:
        """Raise if the architecture asks for far more weights than there are, before it makes them.

        Layers from the second on have as many weights each: few are made to count those of all.
        """
        layers = self.architecture["layers"]
        few = config_from({**self.architecture, "layers": min(layers, 2)})
        shapes = Stack(None, few, self.features, self.classes, self.multilabel).shapes()
        again = sum(name.startswith("layer2.") for name in shapes)
        count = len(shapes) + max(layers - 2, 0) * again
        if count > MOST_MORE + len(self.weights):
            raise ValueError(
                f"weights must be those of the architecture: {count}, got {len(self.weights)}"
            )

    @classmethod
    def trained(cls, dataset: Dataset, config: TrainConfig, weights: Weights) -> TrainedModel:
        """Return the TrainedModel that `weights` are, trained on a `dataset` with a `config`."""
        for name, value, kind in (("dataset", dataset, Dataset), ("config", config, TrainConfig)):
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
        model = cls(
            weights,
            architecture_of(config.fitted(dataset)),
            dataset.features.shape[1],
            dataset.classes,
            dataset.multilabel,
            dataset.scaling,
            dataset.name,
            dataset.class_names,
        )
        return model._with_columns(dataset.feature_names)

    def _with_columns(self, titles: Any) -> TrainedModel:
        """Set `feature_names`, to titles that are checked, or None; return the model."""
        if titles is not None:
            titles = tuple(require.listed(COLUMNS, titles, "strings"))
            if len(titles) != self.features or not all(isinstance(one, str) for one in titles):
                raise ValueError(f"{COLUMNS} must be {self.features} strings")
        object.__setattr__(self, COLUMNS, titles)
        return self

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: of the weights, of the input and of what comes out."""
        return next(iter(self.weights.values())).dtype

    def stack(self, gnn: ModuleType | None) -> Stack:
        """Return the Stack of this architecture over an implementation `gnn`, or None."""
        config = config_from(self.architecture)
        return Stack(gnn, config, self.features, self.classes, self.multilabel)


def architecture_of(config: TrainConfig) -> dict[str, Any]:
    """Return the settings of a TrainConfig that say what its model computes, by name."""
    common = [name for name, one in settings_of(TrainConfig).items() if one.computes]
    flat = config.flat()
    return {name: flat[name] for name in ("model", *common, *settings_of(type(config.model)))}


def save_model(path: FilePath, model: TrainedModel) -> None:
    """Write a model to `path`, whole or not at all.

    This project's format, not in the papers.

    Parameters
    ----------
    path : str or Path
        An .npz file that NumPy alone can read, without pickle: the weights by their names,
        ``features.mean`` and ``features.std`` where the model has a scaling, and the rest as JSON
        in ``meta``.
    model : TrainedModel

    Raises
    ------
    TypeError, ValueError
        If `path` is no path, or `model` no TrainedModel.
    OSError
        If the file cannot be written; the one of before is whole then.
    """
    _check_model(model)
    scaling: Any = model.scaling
    scaled = ROWS if scaling == ROWS else scaling is not None
    mean_and_std = dict(zip(SCALING, scaling, strict=True)) if scaled is True else {}
    facts = {name: getattr(model, name) for name in FACTS}
    meta = {"format": FORMAT, "scaled": scaled, **facts}
    for name in (NAMES, COLUMNS):
        names = getattr(model, name)
        meta |= {} if names is None else {name: list(names)}
    write_npz(path, meta, {**model.weights, **mean_and_std})


def load_model(path: FilePath) -> TrainedModel:
    """Return the TrainedModel in a file that `save_model` wrote, or that has the same arrays.

    This project's format, not in the papers.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    TrainedModel

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a whole model: damaged, of another format, with arrays that are missing,
        unknown, misshaped or not finite.
    TypeError
        If a part of it is of the wrong kind.
    MemoryError
        If it takes more memory than there is; it is named.
    """
    with reading_npz(path, "model") as (meta, arrays):
        if not isinstance(meta, dict) or "format" not in meta:
            raise ValueError("meta must be a JSON object with a format")
        if meta.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        if meta.keys() - {NAMES, COLUMNS} != {"scaled", *FACTS}:
            raise ValueError(f"meta must have the entries {', '.join(FACTS)}, scaled and format")
        scaling: Any = None
        scaled = meta.pop("scaled")
        if scaled not in (True, False, ROWS):
            raise ValueError(f'scaled must be true, false or "{ROWS}", got {scaled!r:.40}')
        if scaled == ROWS:
            scaling = ROWS
        elif scaled:
            if not arrays.keys() >= set(SCALING):
                raise ValueError(f"it must have {' and '.join(SCALING)}")
            scaling = tuple(arrays.pop(name) for name in SCALING)
        titles = meta.pop(COLUMNS, None)
        return TrainedModel(arrays, scaling=scaling, **meta)._with_columns(titles)


@bound
def predict(
    gnn: ModuleType,
    model: TrainedModel,
    graph: Graph,
    features: Table,
    nodes: Integers | None = None,
    what: Literal["labels", "probabilities", "embeddings"] = "labels",
    scaled: bool = False,
    eval_memory: Int = MEMORY,
) -> np.ndarray:
    """Return a model's predictions for nodes of a graph, by one exact pass without sampling.

    The models are inductive (Hamilton et al. 2017): the graph may differ from the training
    graph. The pass takes O(e f + n f^2) time for widths f, where n counts the nodes that `nodes`
    depend on, and e their entries.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    model : TrainedModel
    graph : Graph
        Undirected, with n nodes.
    features : (n, ``model.features``) array of real numbers, or matrix of scipy.sparse
        Raw features. The model's mean and std scale them, if it has these.
    nodes : (k,) integer array, optional
        The nodes, in any order. Default: all n nodes.
    what : {"labels", "probabilities", "embeddings"}
        "labels": the class with the largest probability; ties go to the smaller class. For a
        multi-label model, all classes with a probability above 1/2. "probabilities": the softmax,
        or the sigmoid for a multi-label model. "embeddings": the input of the layer that computes
        the logits.
    scaled : bool
        Whether the features are scaled already, and have the model's dtype.
    eval_memory : int
        The memory of the pass in bytes, without the features and the result. Rows that do not fit
        go to temporary files. It changes no result.

    Returns
    -------
    (k,) int64 array, or (k, C) float array, or (k, width of the input) float array
        Labels of a multi-label model are (k, C) int64, 0 or 1. Floats have the model's dtype.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or conflicts with another. If the features of a node
        that the result depends on are not finite, or so large that the result is not finite.
    OSError
        If a temporary file cannot be written; the error names the file.
    """
    require.choice("what", what, WHAT)
    n = undirected(graph).n
    if nodes is not None:
        nodes = require.ids("nodes", nodes, 0, n, np.int64)
    result = forward(gnn, model, graph, features, nodes, scaled, eval_memory, what == "embeddings")
    return read_off(model, result, what)


def forward(
    gnn: ModuleType,
    model: TrainedModel,
    graph: Graph,
    features: Any,
    nodes: Any,
    scaled: bool,
    eval_memory: Int,
    embeddings: bool,
) -> FullGraphPass:
    """Check the arguments of `predict`; return the FullGraphPass of the nodes."""
    _check_model(model)
    undirected(graph)
    if not isinstance(scaled, bool):
        raise TypeError("scaled must be True or False")
    eval_memory = bytes_from(1)("eval_memory", eval_memory)
    titles = [str(title) for title in getattr(features, "columns", ())]  # of a pandas table
    if titles and model.feature_names not in (None, tuple(titles)):
        raise ValueError(
            f"features must have the columns {require.shown(list(model.feature_names))}, in this "
            f"order, as in training, got {require.shown(titles)}"
        )
    shape = (graph.n, model.features)
    sparse = issparse(features)
    features = checked_sparse(features) if sparse else array_or_packed("features", features)
    if features.shape != shape:
        raise ValueError(
            f"features must have shape {shape} for this graph and model, got {features.shape}"
        )
    stack, width = model.stack(gnn), None
    if sparse and scaled and features.dtype != model.dtype:
        raise TypeError(f"features must be {model.dtype}, got {features.dtype}")
    if sparse:
        scaling = None if scaled else model.scaling
        # the embeddings of a single layer are its input
        alone = embeddings and len(stack.layers) == 1
        if stack.model.sparse_features and not needs_dense(scaling) and not alone:
            width = numbers_a_row(features)
            rows = partial(sparse_rows, gnn, features, scaling=scaling, dtype=model.dtype)
        else:
            rows = _dense_rows(features, scaling, model.dtype)
    elif scaled:
        rows = rows_of(gnn, require.floats("features", np.asarray(features), shape, model.dtype))
    else:
        rows = _scaled_rows(real_matrix(features), model)

    def load(ids: Ids) -> Matrix[Any] | Adjacency:
        X = rows(ids)
        bad = _not_finite(X)
        if bad.size:
            row = ids[bad].min()
            raise ValueError(f"features must be finite, but row {row} is not once scaled")
        return X

    evaluation = Evaluation(stack, graph, nodes, dtype=model.dtype, memory=eval_memory, width=width)
    result = evaluation.run(model.weights, load, embeddings)
    bad = _not_finite(result.logits)
    if bad.size:
        node = bad[0] if nodes is None else nodes[bad[0]]
        raise ValueError(f"features are too large: what comes out for node {node} is not finite")
    return result


def _scaled_rows(features: Any, model: TrainedModel) -> Callable[[Ids], Matrix[Any]]:
    return lambda ids: scale(features[ids], model.scaling, model.dtype)


def _dense_rows(features: Any, scaling: Scaling, dtype: FloatDtype) -> Callable[[Ids], Matrix[Any]]:
    return lambda ids: scale(dense_rows(features, ids), scaling, dtype)


def read_off(model: TrainedModel, result: FullGraphPass, what: str) -> np.ndarray:
    """Return labels, probabilities or embeddings of a FullGraphPass."""
    if what == "embeddings":
        return result.embeddings
    if what == "probabilities":
        return _probabilities(result.logits, model.multilabel)
    decided = decide(result.logits, model.multilabel)
    return decided.astype(np.int64) if model.multilabel else decided.argmax(axis=1)


def _probabilities(logits: Matrix[Any], multilabel: bool) -> np.ndarray:
    if multilabel:
        exp = np.exp(-np.abs(logits))  # in (0, 1]: never overflows
        return np.where(logits >= 0, 1, exp) / (1 + exp)
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def _check_model(model: object) -> None:
    if not isinstance(model, TrainedModel):
        raise TypeError(
            f"model must be a TrainedModel (see load_model), got {type(model).__name__}"
        )


def _not_finite(array: Matrix[Any] | Adjacency) -> Positions:
    if isinstance(array, Adjacency):
        rows = np.repeat(np.arange(array.shape[0]), array.graph.degrees())
        return np.unique(rows[~np.isfinite(array.data)])
    return np.flatnonzero(~np.isfinite(array).all(axis=1))
