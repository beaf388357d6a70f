"""GraphSAGE."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from refimpl.lab.training.models.base import (
    Input,
    Layer,
    ModelSettings,
    NetworkConfig,
    Shapes,
    Stage,
    bias_shape,
    by_name,
    order_on,
    product_first,
)
from refimpl.lab.training.settings import choice
from refimpl.layers.sage import CONCAT
from refimpl.scheduling import chain_order

if TYPE_CHECKING:
    from refimpl.adjacency import Adjacency
    from refimpl.hints import Absent, Matrix
    from refimpl.lab.hints import Weights
    from refimpl.layers.sage import SageOutput


@dataclass(frozen=True)
class Sage(ModelSettings):
    """GraphSAGE: half of a layer's output comes from the neighbours, half from the node itself.

    JPDC'21 Equation 1. A last layer that is the classifier adds them, whatever `concat` is.

    Parameters
    ----------
    concat : {"neigh_first", "self_first", "sum"}
        Which half comes first (E-E1); or both are as wide as the output, and are added.
    """

    name: ClassVar[str] = "sage"
    title: ClassVar[str] = "GraphSAGE"
    matrix: ClassVar[str] = "row"
    weighted: ClassVar[bool] = True
    sparse_features: ClassVar[bool] = True

    concat: Literal["neigh_first", "self_first", "sum"] = choice(
        "neigh_first",
        "choose how a layer joins its two parts. neigh-first: neighbours first; self-first: the "
        "node itself first; sum: both parts have the full width and are added",
        CONCAT,
    )

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        return SageLayer(gnn, config, f_in, f_out, first, self.concat)

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        return SageLayer(gnn, config, f_in, classes, first, "sum", relu=False)


class SageLayer:
    """GraphSAGE, half of its output from the neighbours and half from the node itself."""

    overwrites = True

    def __init__(
        self,
        gnn: ModuleType,
        config: NetworkConfig,
        f_in: int,
        f_out: int,
        first: bool,
        concat: str,
        relu: bool = True,
    ) -> None:
        h_self = f_out if concat == "sum" else f_out // 2
        h_neigh = f_out if concat == "sum" else f_out - h_self
        self.gnn = gnn
        self.options: dict[str, Any] = {"concat": concat, "relu": relu}
        self.shapes: Shapes = {"W_neigh": (f_in, h_neigh), "W_self": (f_in, h_self)}
        self.shapes |= bias_shape(config, f_out)
        # E-F3: the neighbour half; E-F10: before training
        self.order = chain_order(f_in, h_neigh, first=first)  # J8:12

    def forward(self, W: Weights, A: Adjacency, X: Input) -> tuple[Matrix[Any], SageOutput]:
        """Return the layer's output, and what `backward` needs of this pass."""
        order = order_on(A, X, self.order)
        out = self.gnn.sage_forward(  # J1:10
            A, X, W["W_neigh"], W["W_self"], order, b=W.get("b"), **self.options
        )
        return out.X_out, out

    def stages(self) -> list[Stage] | None:
        """Return the parts of an exact pass, or None where the sums come first."""
        if self.order.forward == 1:
            return None
        names, concat, h_self = (
            ["W_neigh", "W_self"],
            self.options["concat"],
            self.shapes["W_self"][1],
        )
        neighbours = slice(0, self.shapes["W_neigh"][1])
        if concat == "self_first":
            names, neighbours = names[::-1], slice(h_self, None)
        options: dict[str, bool] = {"relu": self.options["relu"], "added": concat == "sum"}
        return product_first(self.gnn, names, self.shapes, [neighbours], **options)

    def backward(
        self,
        W: Weights,
        A: Adjacency,
        X: Input,
        out: SageOutput,
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, Matrix[Any] | Absent]:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.sage_backward(
            A,
            X,
            W["W_neigh"],
            W["W_self"],
            out,
            G_out,
            order_on(A, X, self.order),
            b=W.get("b"),
            **self.options,
            overwrite=overwrite,
        )
        return by_name(self, gradients), gradients.X
