"""R-GCN, for typed graphs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.graph import Graph
from refimpl.hints import FloatDtype, Ids
from refimpl.lab.training.full_neighborhoods import mean_of
from refimpl.lab.training.models.base import Layer, ModelSettings, NetworkConfig, Shapes, bias_shape
from refimpl.lab.training.settings import integer, parsed_integer
from refimpl.typed import MOST_TYPES, TypedGraph, relation_blocks

if TYPE_CHECKING:
    from refimpl.hints import Absent, Matrix
    from refimpl.lab.hints import Weights
    from refimpl.layers.rgcn import RgcnOutput

ALL = -1


def types_or_all(text: str) -> int:
    """Return a number, or `ALL` for "all"."""
    return ALL if text == "all" else parsed_integer(text)


@dataclass(frozen=True)
class Rgcn(ModelSettings):
    """R-GCN: a matrix for each relation, or shared bases, and a matrix for the node itself.

    Schlichtkrull et al. 2018; for typed graphs, as FreshGNN trains it (section 7.1).

    Parameters
    ----------
    relations : int, optional
        Of the data set, as ``train_graph.relations``: the default.
    bases : int
        Basis matrices in each layer, of which those of all relations are mixtures; 0 gives every
        relation a matrix of its own.
    node_types : int
        How many types of nodes have a matrix of their own that the features are multiplied by
        before the first layer; 0 for none, -1 for all that the training graph has.
    """

    name: ClassVar[str] = "rgcn"
    title: ClassVar[str] = "R-GCN"

    relations: int | None = integer(None, "relations of the graph", high=MOST_TYPES, flag="")
    bases: int = integer(
        0,
        "mix the relations' matrices from this many basis matrices; 0 gives each relation its "
        "own matrix",
        low=0,
        high=MOST_TYPES,
    )
    node_types: int = integer(
        0,
        "make this many input matrices, one for each node type; all makes one for every type of "
        "the data",
        low=ALL,
        high=MOST_TYPES,
        metavar="COUNT|all",
        parse=types_or_all,
    )

    def fitted(self, graph: Graph) -> Rgcn:
        """Return these settings with the relations and types of the training graph."""
        relations, types = self.relations, self.node_types
        if relations is None:
            relations = getattr(graph, "relations", 1)
        if types == ALL:
            types = getattr(graph, "kinds", 0)
        return replace(self, relations=relations, node_types=types)

    def check_graph(self, graph: Graph) -> None:
        """Raise unless the graph has the types that the model is for."""
        if not isinstance(graph, TypedGraph):
            raise TypeError(
                f'graph must be a TypedGraph where model is "rgcn", got {type(graph).__name__}'
            )
        if graph.relations != self.relations:
            raise ValueError(
                f"relations must be {graph.relations} as in the graph, got {self.relations}"
            )
        if self.node_types and not 0 < graph.kinds <= self.node_types:
            raise ValueError(
                f"node_types must be 0, or at least the {graph.kinds} of a graph that has types "
                f"of nodes, got {self.node_types}"
            )

    def adjacency(
        self, gnn: ModuleType, graph: Graph, transpose_perm: Ids | None, dtype: FloatDtype
    ) -> Relations:
        """Return what a layer aggregates with on a whole graph."""
        self.check_graph(graph)
        return self._relations(gnn, graph, graph, None, dtype)

    def block_operand(
        self, gnn: ModuleType, block: Block, sources: Ids, graph: Graph, dtype: FloatDtype
    ) -> Relations:
        """Return what a layer aggregates with on a Block of `graph`."""
        return self._relations(gnn, block, graph, sources, dtype)

    def complete_operand(self, gnn: ModuleType, rows: Any, dtype: FloatDtype) -> Relations:
        """Return what a layer aggregates with on some `rows` of a whole graph, of type `dtype`."""
        graph, types = rows.graph, rows.graph.node_types
        blocks = relation_blocks(rows.block, graph.edge_types, graph.relations)
        norms = tuple(mean_of(block, dtype) for block in blocks)
        return Relations(norms, None if types is None else types[rows.nodes])

    def _relations(
        self,
        gnn: ModuleType,
        pattern: Graph | Block,
        graph: Any,
        sources: Ids | None,
        dtype: FloatDtype,
    ) -> Relations:
        """Return the operand of a layer; the types are those of `graph`."""
        norms = gnn.layers.relation_norms(pattern, graph.edge_types, graph.relations, dtype=dtype)
        types = graph.node_types
        return Relations(norms, types if sources is None or types is None else types[sources])

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer, the first with projections where there are types of nodes."""
        return self._layer(gnn, config, f_in, f_out, first, True)

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        return self._layer(gnn, config, f_in, classes, first, False)

    def _layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool, relu: bool
    ) -> Layer:
        if self.relations is None:
            raise ValueError("relations must be a number where no training graph says it, got None")
        if not first or not self.node_types:
            return RgcnLayer(gnn, config, f_in, f_out, first, self, relu)
        layer = RgcnLayer(gnn, config, config.hidden, f_out, False, self, relu)
        return WithProjections(gnn, f_in, config.hidden, self.node_types, layer)


class Relations(NamedTuple):
    """The operand of an R-GCN layer.

    Attributes
    ----------
    norms : tuple of R Adjacency
        One a relation.
    node_types : (n_src,) integer array or None
        Of the rows of the layer's input.
    """

    norms: tuple[Adjacency, ...]
    node_types: np.ndarray | None


class RgcnLayer:
    """R-GCN: a matrix for every relation, or `bases` for all of them, and one for the node."""

    overwrites = True

    def __init__(
        self,
        gnn: ModuleType,
        config: NetworkConfig,
        f_in: int,
        f_out: int,
        first: bool,
        settings: Any,
        relu: bool,
    ) -> None:
        self.gnn, self.first, self.relu = gnn, first, relu
        relations, bases = settings.relations, settings.bases
        self.names = [f"W{i}" for i in range(1, (bases or relations) + 1)]
        self.shapes: Shapes = dict.fromkeys(["W_self", *self.names], (f_in, f_out))
        self.numbers_an_entry, self.numbers_a_row = 20 + f_in + 2 * f_out, 6 * relations
        if bases:
            self.shapes["coefficients"] = relations, bases
        self.shapes |= bias_shape(config, f_out)

    def forward(self, W: Weights, A: Relations, X: Matrix[Any]) -> tuple[Matrix[Any], RgcnOutput]:
        """Return the layer's output, and what `backward` needs of this pass."""
        args, options = self._weights(W)
        out = self.gnn.rgcn_forward(A.norms, X, *args, **options)
        return out.X_out, out

    def backward(
        self,
        W: Weights,
        A: Relations,
        X: Matrix[Any],
        out: RgcnOutput,
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, Matrix[Any] | Absent]:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        args, options = self._weights(W)
        gradients = self.gnn.rgcn_backward(
            A.norms, X, *args, out, G_out, **options, need_dx=not self.first, overwrite=overwrite
        )
        named = dict(zip(self.names, gradients.W, strict=True))
        rest = self.shapes.keys() - named.keys()
        return named | {name: getattr(gradients, name) for name in rest}, gradients.X

    def _weights(self, W: Weights) -> tuple[tuple[list[Matrix[Any]], Matrix[Any]], dict[str, Any]]:
        options = {"coefficients": W.get("coefficients"), "b": W.get("b"), "relu": self.relu}
        return ([W[name] for name in self.names], W["W_self"]), options


class WithProjections:
    """The first R-GCN layer, its input multiplied by the matrix of each row's type before."""

    overwrites = True

    def __init__(
        self, gnn: ModuleType, f_in: int, hidden: int, node_types: int, layer: RgcnLayer
    ) -> None:
        self.gnn, self.layer = gnn, layer
        self.names = [f"P{kind}" for kind in range(node_types)]
        self.shapes: Shapes = {**dict.fromkeys(self.names, (f_in, hidden)), **layer.shapes}
        self.numbers_an_entry, self.numbers_a_row = layer.numbers_an_entry, layer.numbers_a_row

    def forward(
        self, W: Weights, A: Relations, X: Matrix[Any]
    ) -> tuple[Matrix[Any], tuple[Any, ...]]:
        """Return the layer's output, and what `backward` needs of this pass."""
        rows = [np.flatnonzero(A.node_types == kind) for kind in range(len(self.names))]
        H = np.empty((len(X), W["W_self"].shape[0]), X.dtype)
        for name, at in zip(self.names, rows, strict=True):
            H[at] = self.gnn.dense_forward(X[at], W[name], relu=False)
        Y, needed = self.layer.forward(W, A, H)
        return Y, (rows, H, needed)

    def backward(
        self,
        W: Weights,
        A: Relations,
        X: Matrix[Any],
        kept: tuple[Any, ...],
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, None]:
        """Return the gradients of the weights by name, and None: there is no layer below."""
        rows, H, needed = kept
        gradients, G = self.layer.backward(W, A, H, needed, G_out, overwrite)
        for name, at in zip(self.names, rows, strict=True):
            of_type = self.gnn.dense_backward(
                X[at], W[name], H[at], G[at], relu=False, need_dx=False
            )
            gradients[name] = of_type.W
        return gradients, None
