"""What a model is: its settings, its layers, and the matrix that they aggregate with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.graph import Graph, WeightedGraph
from refimpl.hints import Absent, FloatDtype, Ids, Matrix, Sparse
from refimpl.lab.hints import Weights
from refimpl.lab.training import edge_weights
from refimpl.lab.training.full_neighborhoods import CompleteRows, matrix_of
from refimpl.lab.training.settings import Settings
from refimpl.scheduling import SPARSE_ORDER, ProductOrders

PIECE = 2**18  # bytes of rows on which one operation follows another
Shapes: TypeAlias = dict[str, tuple[int, ...]]  # of weights, by name
Input: TypeAlias = Matrix[Any] | Sparse  # of a layer: that of the first one may be an Adjacency
StageRun: TypeAlias = Callable[[Weights, tuple[Any, ...], Any], Any]  # see `Stage`


class NetworkConfig(Protocol):
    """What a model asks of the configuration of a run; `TrainConfig` has all of it."""

    @property
    def method(self) -> Settings:
        """The method's settings."""

    @property
    def layers(self) -> int:
        """How many layers there are."""

    @property
    def hidden(self) -> int:
        """The width of each layer's output."""

    @property
    def classifier(self) -> str:
        """What gives the logits: "dense" or "layer"."""

    @property
    def bias(self) -> bool:
        """Whether layers add a vector."""


class StackConfig(NetworkConfig, Protocol):
    """What a `Stack` asks of the configuration of a run; `TrainConfig` has all of it."""

    @property
    def model(self) -> Any:
        """The model's settings, of a class on `ModelSettings`."""

    @property
    def dropout(self) -> float:
        """Share of the elements of a layer's input that are set to 0."""

    @property
    def row_l2(self) -> bool:
        """Whether the rows of the last layer's output get length 1."""

    @property
    def classifier_relu(self) -> bool:
        """Whether a ReLU comes before the final sigmoid or softmax."""

    @property
    def rng(self) -> int:
        """The seed."""


class Layer(Protocol):
    """What a model's method `layer` returns: see `ModelSettings`."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The weights' shapes by short name."""

    def forward(self, W: dict[str, Any], A: Any, X: Any, /) -> tuple[Any, Any]:
        """Return the output, and what `backward` needs of the pass."""

    def backward(
        self, W: dict[str, Any], A: Any, X: Any, needed: Any, G_out: Any, /
    ) -> tuple[dict[str, Any], Any]:
        """Return the gradients of the weights by name, and that of X."""


class ModelSettings(Settings):
    """A base for the settings of a model; its subclasses are frozen dataclasses.

    Not in the papers. A subclass has a `name`, says with which `matrix` it aggregates, and makes
    its layers in `layer`. Its fields are its settings; files of trained models keep them as JSON.
    `register_layer` makes it known. The layer is an object with

    - ``shapes``, a dict of the weights' shapes by short name. A weight called ``b`` is a vector
      and begins as zeros; those named in ``vectors``, if it has that, are initialised row by row;
    - ``forward(W, A, X)``, which returns the output and what `backward` needs of the pass;
    - ``backward(W, A, X, needed, G_out)``, which returns the gradients of the weights by short
      name, and that of X (which may be None in the first layer);
    - ``draws``, if it has that and it is true: in training `forward` then has the argument `keys`,
      a key of the stream for each row of its output;
    - ``overwrites``, if it has that and it is true: `backward` then has the argument `overwrite`,
      whether it may write over `G_out` and what `forward` returned, but not over X; and the
      gradient of X that it returns can be written over.

    A subclass with ``sparse_features = True`` has layers whose X may be an Adjacency: features that
    are a sparse matrix. Others are given rows of an array.

    ``W`` has the weights by short name. ``A`` is an Adjacency, whose pattern is square on a
    subgraph, and a `Block` on sampled neighbours: fewer rows than columns then, and the first rows
    of X are the nodes' own.
    """

    title: ClassVar[str] = ""  # for people
    matrix: ClassVar[Any] = None  # "row", "sym", "loop"; None: no graph at all
    weighted: ClassVar[bool] = False  # whether it aggregates with weights of edges; "row" or "sym"
    lr: ClassVar[float] = 0.01  # Adam's, where nobody says otherwise
    sparse_features: ClassVar[bool] = False  # whether its layers take a sparse X
    trained_by: ClassVar[str | None] = None  # the one method that it is trained by; None: any
    hops_a_layer: Any = 1  # how many hops away a layer looks

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer over `gnn`, from width `f_in` to `f_out`, for a TrainConfig `config`.

        The input of the `first` one needs no gradient.
        """
        raise TypeError(f"{type(self).__name__} must have a method layer")

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the last layer where it is the classifier: without a ReLU.

        As `layer`, from width `f_in` to the number of `classes`, for a TrainConfig `config`; the
        input of the `first` one needs no gradient. A model without this method has a linear
        classifier behind its layers, always.
        """
        raise TypeError(f"{type(self).__name__} must have a method last_layer")

    def check(self, config: NetworkConfig) -> None:
        """Raise ValueError unless these settings fit the others of the TrainConfig `config`."""

    def fitted(self, graph: Graph) -> ModelSettings:
        """Return these settings with what depends on `graph`, for training, filled in."""
        return self

    def check_graph(self, graph: Graph) -> None:
        """Raise unless the model can work on `graph`."""

    def uses_weights(self, graph: Graph) -> bool:
        """Return whether the model aggregates with weights of the edges of `graph`."""
        return self.weighted and isinstance(graph, WeightedGraph)

    def adjacency(
        self, gnn: ModuleType, graph: Graph, transpose_perm: Ids | None, dtype: FloatDtype
    ) -> Any:
        """Return what a hop aggregates with on a whole `graph`, of float type `dtype`.

        `transpose_perm` is its transpose's permutation; None where there is no backward pass.
        """
        if self.matrix is None:
            return None
        if self.uses_weights(graph):
            return edge_weights.whole_matrix(self.matrix, gnn, graph, transpose_perm, dtype)
        if self.matrix == "row":
            return gnn.adjacency.row_norm(graph, transpose_perm, dtype=dtype)
        whole = {"sym": gnn.adjacency.sym_norm, "loop": gnn.adjacency.loop_norm}[self.matrix]
        return whole(graph, dtype=dtype)

    def block_operand(
        self, gnn: ModuleType, block: Block, sources: Ids, graph: Graph, dtype: FloatDtype
    ) -> Any:
        """Return what a hop aggregates with on a `block` of `graph`, whose nodes are `sources`.

        `dtype` is the float type.
        """
        if self.uses_weights(graph):
            return edge_weights.block_matrix(self.matrix, gnn, block, sources, graph, dtype)
        degrees = graph.degrees(sources) if self.matrix == "sym" else None
        return gnn.adjacency.block_norm(self.matrix, block, degrees, dtype=dtype)

    def complete_operand(self, gnn: ModuleType, rows: CompleteRows, dtype: FloatDtype) -> Any:
        """Return what a hop aggregates with in an exact pass, on some rows of a whole graph.

        `rows` is a CompleteRows, `dtype` the float type. The values are those of `adjacency`; none
        is needed for a backward pass. A model with a matrix of its own has it from its
        `block_operand`.
        """
        if type(self).block_operand is ModelSettings.block_operand:
            if self.uses_weights(rows.graph):
                return edge_weights.complete_matrix(self.matrix, rows, dtype)
            return matrix_of(self.matrix, rows, dtype)
        return self.block_operand(gnn, rows.block, rows.nodes, rows.graph, dtype)

    def whole_operand(self, gnn: ModuleType, graph: Graph, dtype: FloatDtype) -> Any:
        """Return `complete_operand` of all rows of a graph in their order: its own matrix.

        `dtype` is the float type. None for a model that has one of `block_operand` or
        `complete_operand` of its own.
        """
        names, own = ("adjacency", "block_operand", "complete_operand"), type(self)
        if any(getattr(own, name) is not getattr(ModelSettings, name) for name in names):
            return None
        return self.adjacency(gnn, graph, None, dtype)

    def operand(self, hops: tuple[Any, ...]) -> Any:
        """Return a layer's operand, made of what each of its `hops` aggregates with."""
        return hops[0] if self.hops_a_layer else None


class Stage(NamedTuple):
    """A part of a layer's forward pass, for an exact pass in blocks of rows.

    A layer may have a method ``stages()`` that returns them in order, or None: then its forward
    pass is a stage by itself.

    Attributes
    ----------
    hops : int
        How many hops away it looks; 0: a row of its output depends on the same row of its input.
    run : callable
        ``run(W, hops, X)`` returns its output. `hops` has what each hop aggregates with, from
        `complete_operand`.
    width : int or None
        Of its output; None: that of the layer's.
    """

    hops: int
    run: StageRun
    width: int | None = None


def product_first(
    gnn: ModuleType,
    names: Sequence[str],
    shapes: Shapes,
    parts: Sequence[slice],
    *,
    relu: bool = True,
    added: bool = False,
) -> list[Stage]:
    """Return the stages of a layer that multiplies by its weights, then sums over neighbours.

    A product is then made once for each node, whichever rows need it.

    Parameters
    ----------
    gnn : module
    names : sequence of str
        The weights, side by side in the output.
    shapes : dict
        Their shapes.
    parts : sequence of slices
        One a hop: the columns that it sums.
    relu : bool
    added : bool
        Whether the two halves of the columns are added in the end.
    """
    width = sum(shapes[name][1] for name in names)
    out = width // 2 if added else width

    def product(W: Weights, hops: tuple[Any, ...], X: Any) -> Any:
        together = np.concatenate([W[name] for name in names], axis=1)
        options = {"relu": False} if parts else {"relu": relu, "b": W.get("b")}
        return gnn.dense_forward(X, together, **options)

    def hop(columns: slice, last: bool) -> StageRun:
        first, end, _ = columns.indices(width)

        def sums(W: Weights, hops: tuple[Any, ...], X: Any) -> Any:
            (A,) = hops
            S = gnn.spmm(A.graph, A.data, X[:, columns])
            Z = np.empty((len(S), out), X.dtype) if S.shape[1] < out else S
            b = W.get("b") if last else None
            for rows in pieces(len(Z), width * X.itemsize):
                some = Z[rows]
                if added:
                    some += X[rows, out:] if first == 0 else X[rows, :out]
                elif S is not Z:
                    some[:, :first], some[:, end:] = X[rows, :first], X[rows, end:]
                    some[:, columns] = S[rows]
                if b is not None:
                    some += b
                if relu and last:
                    np.maximum(some, 0, out=some)
            return Z

        return sums

    if not parts:
        return [Stage(0, product)]
    middle = [Stage(1, hop(columns, False), width) for columns in parts[:-1]]
    return [Stage(0, product, width), *middle, Stage(1, hop(parts[-1], True))]


def pieces(count: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices of so many rows that stay in a cache while they are worked on."""
    rows = max(PIECE // max(row_bytes, 1), 1)
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))


def stages_of(layer: Any, model: ModelSettings) -> list[Stage]:
    """Return the stages of a layer of a model; of its `forward`, if that is of a later class."""
    first = next(one for one in type(layer).__mro__ if vars(one).keys() & {"forward", "stages"})
    stages: list[Stage] | None = layer.stages() if "stages" in vars(first) else None
    if stages is not None:
        return stages

    def whole(W: Weights, hops: tuple[Any, ...], X: Any) -> Any:
        return layer.forward(W, model.operand(hops), X)[0]

    return [Stage(model.hops_a_layer, whole)]


def order_on(A: Adjacency, X: Input, order: ProductOrders) -> ProductOrders:
    """Return the order of products on A and X: `order` where A is square, and X no sparse matrix.

    The order is chosen once, from the widths (section 6.1). It is for square patterns, where both
    orders have the same dense work. A block has fewer rows than columns, so there the layer
    aggregates first, and multiplies the fewer rows by the weights.
    """
    if isinstance(X, Adjacency):
        return SPARSE_ORDER
    if A.graph.n_dst == A.graph.n_src:
        return order
    return ProductOrders(1, 1, 2 if order.dx else 0)


def bias_shape(config: NetworkConfig, f_out: int) -> Shapes:
    """Return the shape of a layer's bias by name, of none where the configuration has none."""
    return {"b": (f_out,)} if config.bias else {}


def by_name(layer: Layer, gradients: Any) -> Weights:
    """Return the gradients of a layer's weights, which are called as the weights are."""
    return {name: getattr(gradients, name) for name in layer.shapes}


class DenseLayer:
    """ReLU(X W): a layer that does not look at the graph; without `relu`, a classifier."""

    overwrites = True

    def __init__(
        self,
        gnn: ModuleType,
        config: NetworkConfig,
        f_in: int,
        f_out: int,
        first: bool,
        relu: bool = True,
    ) -> None:
        self.gnn, self.first, self.relu = gnn, first, relu
        self.shapes: Shapes = {"W": (f_in, f_out), **bias_shape(config, f_out)}

    def forward(self, W: Weights, A: Any, X: Input) -> tuple[Matrix[Any], Matrix[Any]]:
        """Return the layer's output, twice: `backward` needs it."""
        Y = self.gnn.dense_forward(X, W["W"], relu=self.relu, b=W.get("b"))
        return Y, Y

    def stages(self) -> list[Stage]:
        """Return the one part of an exact pass."""
        return [Stage(0, lambda W, hops, X: self.forward(W, None, X)[0])]

    def backward(
        self,
        W: Weights,
        A: Any,
        X: Input,
        Y: Matrix[Any],
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, Matrix[Any] | Absent]:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.dense_backward(
            X,
            W["W"],
            Y,
            G_out,
            relu=self.relu,
            need_dx=not self.first,
            b=W.get("b"),
            overwrite=overwrite,
        )
        return by_name(self, gradients), gradients.X
