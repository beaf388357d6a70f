"""GCN."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from refimpl.lab.training.models.base import (
    Input,
    Layer,
    ModelSettings,
    NetworkConfig,
    Stage,
    bias_shape,
    by_name,
    order_on,
    product_first,
)
from refimpl.scheduling import chain_order

if TYPE_CHECKING:
    from refimpl.adjacency import Adjacency
    from refimpl.hints import Absent, Matrix
    from refimpl.lab.hints import Weights
    from refimpl.layers.gcn import GcnOutput


@dataclass(frozen=True)
class Gcn(ModelSettings):
    """The graph convolution of Kipf and Welling (JPDC'21 Equation 4)."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"
    matrix: ClassVar[str] = "sym"
    weighted: ClassVar[bool] = True
    sparse_features: ClassVar[bool] = True

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        return GcnLayer(gnn, config, f_in, f_out, first)

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        return GcnLayer(gnn, config, f_in, classes, first, relu=False)


class GcnLayer:
    """The graph convolution of GCN."""

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
        self.gnn, self.relu = gnn, relu
        self.shapes = {"W": (f_in, f_out), **bias_shape(config, f_out)}
        self.order = chain_order(f_in, f_out, first=first)  # J8:12 E-F10: before training

    def forward(self, W: Weights, A: Adjacency, X: Input) -> tuple[Matrix[Any], GcnOutput]:
        """Return the layer's output, and what `backward` needs of this pass."""
        order = order_on(A, X, self.order)
        out = self.gnn.gcn_forward(A, X, W["W"], order, b=W.get("b"), relu=self.relu)  # J1:10
        return out.X_out, out

    def stages(self) -> list[Stage] | None:
        """Return the parts of an exact pass, or None where the sums come first."""
        if self.order.forward == 1:
            return None
        return product_first(self.gnn, ["W"], self.shapes, [slice(None)], relu=self.relu)

    def backward(
        self,
        W: Weights,
        A: Adjacency,
        X: Input,
        out: GcnOutput,
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, Matrix[Any] | Absent]:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        order = order_on(A, X, self.order)
        options = {"b": W.get("b"), "relu": self.relu, "overwrite": overwrite}
        gradients = self.gnn.gcn_backward(A, X, W["W"], out, G_out, order, **options)
        return by_name(self, gradients), gradients.X
