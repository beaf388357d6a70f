"""Layers that do not look at the graph: a control."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from refimpl.lab.training.models.base import DenseLayer, Layer, ModelSettings, NetworkConfig


@dataclass(frozen=True)
class Mlp(ModelSettings):
    """Layers that do not look at the graph: a control, not in the papers."""

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "MLP"
    sparse_features: ClassVar[bool] = True
    hops_a_layer = 0

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        return DenseLayer(gnn, config, f_in, f_out, first)

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        return DenseLayer(gnn, config, f_in, classes, first, relu=False)
