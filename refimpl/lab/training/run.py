"""What a method's iterations work on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from refimpl._support.user_warnings import warn
from refimpl.graph import WeightedGraph
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.distributed.parts import Ahead, FeatureParts
from refimpl.lab.training.models.base import StackConfig
from refimpl.lab.training.sparse_inputs import sparse_rows
from refimpl.lab.training.stack import Passes, Stack
from refimpl.lab.training.state import TrainState
from refimpl.loader.lookahead_features import LookaheadFeatures
from refimpl.loader.lookahead_graph import LookaheadGraph, file_of, is_mapped
from refimpl.loader.packed import PackedFeatures
from refimpl.loader.windows import Windows
from refimpl.training.graph_iteration import AdamState
from refimpl.training.subgraph_pool import ALONE, Turns
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from refimpl.block import Block
    from refimpl.graph import Graph, Subgraph
    from refimpl.hints import Floats, Ids, Mask, Matrix, Sparse
    from refimpl.lab.training.models.base import ModelSettings


Item = TypeVar("Item", covariant=True)


class Minibatches(Iterator[Item], Protocol[Item]):
    """Minibatches, one after another, without end."""

    def close(self) -> None:
        """End the threads that sample ahead, if there are any."""


class RunConfig(StackConfig, Protocol):
    """What a run and its method ask of the configuration; `TrainConfig` has all of it."""

    @property
    def method(self) -> Any:
        """The method's settings, of a class on `MethodSettings`."""

    @property
    def lr(self) -> Any:
        """Adam's learning rate, a float once the model has filled it in."""

    @property
    def weight_decay(self) -> float:
        """How much of a weight is added to its gradient."""

    def decays(self, name: str) -> bool:
        """Whether a weight, by its full name, decays."""

    @property
    def bfloat16(self) -> bool:
        """Whether the factors of dense products are rounded in training."""

    @property
    def workers_a_step(self) -> int:
        """Minibatches of a step."""

    @property
    def partition(self) -> str:
        """Whether each worker has the whole graph or a part of its own."""

    @property
    def parts(self) -> int:
        """Into how many parts the training graph is cut."""

    @property
    def reach(self) -> int:
        """How many hops away the farthest node is that a node's output depends on."""

    @property
    def eval_memory(self) -> int:
        """Bytes for the exact pass, and for products over features in a file."""

    @property
    def shuffle(self) -> float:
        """Share of the nodes of each part that change places after an epoch."""


@dataclass(eq=False)
class Run:
    """One run: its implementation, data, settings, model and state.

    Attributes
    ----------
    gnn : module
        refimpl, fastimpl, or what `backend` returned.
    dataset : Dataset
    config : TrainConfig
        With everything filled in that depends on the data.
    stack : Stack
    state : TrainState
    features : array, FeatureParts, LookaheadFeatures or None
        Where training reads the features of node i of `graph` as row i, if not in the data set.
        `LookaheadFeatures` has the rows of the data set, before scaling.
    turns : Turns
        Whose minibatches are gone over here.
    worker : int
        Whose the one under way is.
    stored : LookaheadGraph or None
        What neighbours are drawn from, if the graph is read from storage.
    """

    gnn: ModuleType
    dataset: Dataset
    config: RunConfig
    stack: Stack
    state: TrainState
    features: np.ndarray | FeatureParts | LookaheadFeatures | None = None
    turns: Turns = ALONE
    worker: int = 0
    stored: LookaheadGraph | None = None

    @property
    def number(self) -> int:
        """The number of the minibatch under way: of the iteration where there is one worker."""
        return self.state.iterations * self.turns.workers + self.worker

    @property
    def begun(self) -> int:
        """How many minibatches have been gone over here."""
        return self.begun_by(0)

    def begun_by(self, ahead: int) -> int:
        """Return how many minibatches are gone over here once `ahead` more steps are done."""
        return self.turns.begun(self.state.iterations + ahead)

    @property
    def graph(self) -> Graph:
        """The graph that messages pass over; "nodes" are its nodes."""
        return self.dataset.train_graph

    @property
    def roots(self) -> Ids:
        """The nodes that the loss is taken over: all, or the training nodes among them."""
        return self.dataset.roots

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.dataset.dtype

    def load(self, nodes: NDArray[Any] | None = None) -> Matrix[Any] | Sparse:
        """Return the features of some nodes, from where they are kept; default: of all."""
        gather = self.gnn.loader.gather_rows
        ids: NDArray[Any] = np.arange(self.graph.n) if nodes is None else nodes
        if isinstance(self.features, FeatureParts):
            return self.features.load(ids)
        if isinstance(self.features, LookaheadFeatures):
            data = self.dataset
            return self.features.gather(None, data.in_graph(ids), data.scaling, data.dtype)
        if self.features is not None:
            return gather(self.features, ids, dtype=self.dtype)
        ids = self.dataset.in_graph(ids)
        if reads_sparse(self.dataset, self.config):
            data = self.dataset
            return sparse_rows(self.gnn, data.features, ids, data.scaling, data.dtype)
        return self.dataset.inputs(ids, gather)

    @property
    def row_bytes(self) -> int:
        """Bytes of a node's features where `load` reads them; of sparse features the mean."""
        if isinstance(self.features, FeatureParts | LookaheadFeatures):
            return self.features.row_bytes
        X: Any = self.dataset.features if self.features is None else self.features
        if issparse(X):
            return (X.data.nbytes + X.indices.nbytes) // X.shape[0]
        return X.shape[1] * X.itemsize

    def ahead(
        self, minibatches: Minibatches[Item], inputs: Callable[[Item], Ids]
    ) -> Minibatches[Item]:
        """Return an iterator over minibatches, the features of the next one fetched meanwhile.

        ``inputs(minibatch)`` returns the nodes whose features it loads, at once. Where features
        are at hand these are the minibatches themselves.
        """
        if isinstance(self.features, FeatureParts):
            return Ahead(minibatches, inputs, self.features.ask)
        return self.read_ahead(minibatches, inputs)

    def read_ahead(
        self,
        minibatches: Minibatches[Item],
        inputs: Callable[[Item], Ids],
        predicted: bool = False,
        partly: bool = False,
    ) -> Minibatches[Item]:
        """Return an iterator over minibatches, the features of the next ones read meanwhile.

        As `ahead`, but for features on storage only. Where ``inputs(minibatch)`` are only
        `predicted`, the minibatch may load others. Where they are read `partly`, those that do not
        fit in half of the cache are read on demand.
        """
        if not isinstance(self.features, LookaheadFeatures):
            return minibatches

        def rows(minibatch: Any) -> NDArray[Any]:
            return self.dataset.in_graph(inputs(minibatch))

        return Windows(minibatches, rows, self.features, predicted, partly)

    def targets(self, nodes: Ids) -> tuple[Matrix[Any], Floats[Any] | None]:
        """Return what a loss over some nodes compares with.

        Returns
        -------
        Y : (k, C) array
            Their labels, as rows of 0 and 1.
        weights : (k,) array or None
            1 over the number of training nodes among them, 0 for the others; None where all are.
        """
        Y, chosen = self.labels(nodes), self.in_loss(nodes)
        if chosen is None:
            return Y, None
        return Y, (chosen / max(int(np.count_nonzero(chosen)), 1)).astype(self.dtype)

    def subgraph(self, nodes: Ids) -> Subgraph:
        """Return the subgraph on some nodes, ascending, with its types or weights if any."""
        return self.with_types(self.gnn.induced_subgraph(self.graph, nodes))

    def with_types(self, sub: Subgraph) -> Subgraph:
        """Return a subgraph with the types or weights of its edges, where the graph has any."""
        if isinstance(self.graph, WeightedGraph):
            return self.graph.weighted(sub)
        return self.graph.typed(sub) if isinstance(self.graph, TypedGraph) else sub

    def labels(self, nodes: Ids) -> Matrix[Any]:
        """Return the labels of some nodes, as rows of 0 and 1."""
        return self.dataset.targets(self.dataset.in_graph(nodes))

    def in_loss(self, nodes: Ids) -> Mask | None:
        """Return whether the loss is taken over each of some nodes; None where it is over all."""
        roots = self.roots
        if len(roots) == self.graph.n:
            return None
        places = np.minimum(np.searchsorted(roots, nodes), len(roots) - 1)
        return roots[places] == nodes

    def normalized(self, sub: Subgraph) -> Any:
        """Return what each layer aggregates with on a subgraph that has its types."""
        model = self.config.model
        A = model.adjacency(self.gnn, sub.graph, sub.transpose_perm, self.dtype)
        return self.stack.operand(A)

    def block_operand(self, block: Block, nodes: Ids) -> Any:
        """Return what a layer aggregates with on a Block whose sources are these nodes."""
        model = self.config.model
        return model.block_operand(self.gnn, block, nodes, self.graph, self.dtype)

    def passes(self) -> Passes:
        """Return the `Passes` of the next iteration."""
        return Passes(self.stack, self.state.weights, self.number)

    def forward_only(self) -> Passes:
        """Return the `Passes` of a forward pass that drops nothing."""
        return Passes(self.stack, self.state.weights)

    def adam(self) -> AdamState | None:
        """Return the `AdamState` of this step; None where several workers move the weights."""
        return self.adam_state() if self.turns.workers == 1 else None

    def adam_state(self) -> AdamState:
        """Return the weights, and what Adam has and needs in the step that comes next."""
        config, state = self.config, self.state
        decaying = filter(config.decays, state.weights) if config.weight_decay else ()
        decay = dict.fromkeys(decaying, config.weight_decay)
        return AdamState(state.weights, state.m, state.v, state.iterations + 1, config.lr, decay)


def reads_sparse(dataset: Dataset, config: RunConfig) -> bool:
    """Whether training reads sparse features as such: dense rows of a batch otherwise."""
    parts = config.model, config.method
    sparse = all(part.sparse_features for part in parts) and config.partition != "local"
    return sparse and issparse(dataset.features)


def what_is_run(
    gnn: ModuleType, dataset: Dataset, config: Any, state: TrainState
) -> dict[str, Any]:
    """Return what all ranks of a run must have in common, as far as it is known at once."""
    parts = config, config.model, config.method
    return {
        "implementation": gnn.__name__,
        "configuration": repr([(part.name, part.values()) for part in parts]),
        "data set": (dataset.graph.n, dataset.graph.e, len(dataset.roots), dataset.dtype.name),
        "state": (state.iterations, state.best_epoch, sorted(state.weights)),
    }


def warn_of_lost_edges(dataset: Dataset) -> None:
    """Warn where inductive training keeps less than half of the training nodes' edges."""
    share = dataset.kept_share()
    if share < 0.5:
        warnings.warn(
            f"the graph between the training nodes has {share:.1%} of their edges: "
            'setting "transductive" would train on all of them',
            stacklevel=4,
        )


def warn_of_ignored_weights(dataset: Dataset, model: ModelSettings) -> None:
    """Warn where edges have weights that the model does not aggregate with."""
    if isinstance(dataset.train_graph, WeightedGraph) and not model.weighted:
        warn(f"model {model.name} ignores the weights of the edges; gcn, sage and sign use them")


def check_bfloat16(gnn: ModuleType, asked: bool) -> None:
    """Raise unless the layers of an implementation round factors; warn where this costs time."""
    if not asked:
        return
    own = ("refimpl.", "fastimpl.")
    passes = [name for name in gnn.layers.__all__ if name.endswith(("_forward", "_backward"))]
    others = [n for n in passes if not getattr(gnn.layers, n).__module__.startswith(own)]
    if others:
        raise ValueError(f"bfloat16 must be False: {others[0]} of {gnn.__name__} does not round")
    found: Any = getattr(gnn, "build_info", {})
    build = found() if callable(found) else found
    if not build.get("bfloat16"):
        warn(
            "bfloat16 makes training slower here: it needs fastimpl and a processor with AMX, or "
            "with AVX512_BF16 and MKL (pip install 'minibatch-gnn[mkl]')"
        )


def places_of_features(config: RunConfig) -> tuple[str, ...]:
    """Return where training can read features, by the names of `--features-in`."""
    places: tuple[str, ...] = config.method.features_in
    if config.partition == "local":  # each worker keeps the rows of its part
        return tuple(place for place in places if place != "lookahead")
    return places


def places_of_graph(config: RunConfig) -> tuple[str, ...]:
    """Return where training can read neighbours, by the names of `--graph-in`."""
    places: tuple[str, ...] = config.method.graph_in
    if config.partition == "local":  # each worker has a graph of its own
        return places[:1]
    return places


def checked_stored(graph: object, dataset: Dataset, config: RunConfig) -> LookaheadGraph | None:
    """Return `graph` if training can draw the data set's neighbours from it, or raise."""
    if graph is None:
        return None
    if not isinstance(graph, LookaheadGraph):
        raise TypeError(f"graph must be a LookaheadGraph, got {type(graph).__name__}")
    if "lookahead" not in places_of_graph(config):
        raise ValueError(
            f"graph must be None where method is {config.method.name} and partition "
            f"{config.partition}: only neighbor and fresh draw neighbours from storage"
        )
    if any(isinstance(fanout, tuple) for fanout in config.method.fanouts):
        raise ValueError("graph must be None where fanouts has numbers for relations")
    indices = dataset.train_graph.indices
    own = file_of(indices) if is_mapped(indices) else None
    if own is None or not own[0].samefile(graph.path) or own[1] != graph.offset:
        raise ValueError(f"graph must be in the data set's own file, got {graph.path}")
    return graph


def check_file(features: LookaheadFeatures, X: Any) -> None:
    """Raise unless features that are read ahead are those of the data set, X."""
    own, packed = getattr(X, "filename", None), isinstance(X, PackedFeatures)
    same = (features.shape, features.dtype) == (X.shape, X.dtype)
    if same and own is not None:
        same = Path(own).samefile(features.path) and packed == (features.row_of is not None)
    elif same and len(X):
        ends = np.array([0, len(X) - 1])
        same = np.array_equal(features.gather(None, ends), np.asarray(X)[ends])
    if not same:
        raise ValueError(f"features must be in the data set's own file, got {features.path}")


def checked_features(
    features: object, dataset: Dataset, config: RunConfig
) -> np.ndarray | FeatureParts | LookaheadFeatures | None:
    """Return `features` if training can read its rows of features from there, or raise."""
    if features is None:
        return None
    if reads_sparse(dataset, config):
        raise ValueError(
            "features must be None: training multiplies the entries of the data set's sparse "
            "features. For rows of an array give the data set features.toarray()"
        )
    kinds = {"parts": FeatureParts, "lookahead": LookaheadFeatures}
    refused = kinds.keys() - places_of_features(config)
    if isinstance(features, tuple(kinds[place] for place in refused)):
        raise ValueError(
            f"features must not be {type(features).__name__} where method is "
            f"{config.method.name} and partition {config.partition}: choose an array"
        )
    if isinstance(features, LookaheadFeatures):
        check_file(features, dataset.features)
        return features
    shape, dtype = (dataset.train_graph.n, dataset.features.shape[1]), dataset.dtype
    if not isinstance(features, np.ndarray | FeatureParts):
        raise TypeError(f"features must be an array, got {type(features).__name__}")
    plain = isinstance(features, FeatureParts) or features.flags.c_contiguous
    if features.shape != shape or not plain:
        raise ValueError(f"features must be C-contiguous {shape}, got {features.shape}")
    if np.result_type(features.dtype, np.float32) != dtype:
        raise TypeError(f"features must be {dtype} as the data set, got {features.dtype}")
    return features
