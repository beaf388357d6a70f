"""Layers that do not look at the graph: a control, and the classifier of every model."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

from refimpl.lab.training.models.base import Layer, ModelSettings, Stage, bias_shape, by_name

if TYPE_CHECKING:
    from refimpl.lab.training.config import TrainConfig


@dataclass(frozen=True)
class Mlp(ModelSettings):
    """Layers that do not look at the graph: a control, not in the papers."""

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "MLP"
    hops_a_layer = 0

    def layer(
        self, gnn: ModuleType, config: TrainConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        return DenseLayer(gnn, config, f_in, f_out, first)

    def last_layer(
        self, gnn: ModuleType, config: TrainConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        return DenseLayer(gnn, config, f_in, classes, first, relu=False)


class DenseLayer:
    """ReLU(X W): a layer that does not look at the graph; without `relu`, a classifier."""

    overwrites = True

    def __init__(self, gnn, config, f_in, f_out, first, relu=True):
        self.gnn, self.first, self.relu = gnn, first, relu
        self.shapes = {"W": (f_in, f_out), **bias_shape(config, f_out)}

    def forward(self, W, A, X):
        """Return the layer's output, twice: `backward` needs it."""
        Y = self.gnn.dense_forward(X, W["W"], relu=self.relu, b=W.get("b"))
        return Y, Y

    def stages(self):
        """Return the one part of an exact pass."""
        return [Stage(0, lambda W, hops, X: self.forward(W, None, X)[0])]

    def backward(self, W, A, X, Y, G_out, overwrite=False):
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
