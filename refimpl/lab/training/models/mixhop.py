"""MixHop."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from refimpl.lab.training.models.base import (
    Layer,
    ModelSettings,
    NetworkConfig,
    Shapes,
    Stage,
    bias_shape,
    product_first,
)
from refimpl.lab.training.settings import integer
from refimpl.scheduling import mixhop_depth

if TYPE_CHECKING:
    from refimpl.adjacency import Adjacency
    from refimpl.hints import Absent, Matrix
    from refimpl.lab.hints import Weights
    from refimpl.layers.mixhop import MixHopOutput

MOST_HOPS = 1000


@dataclass(frozen=True)
class MixHop(ModelSettings):
    """MixHop: powers of the adjacency matrix, concatenated (JPDC'21 Equation 5).

    Parameters
    ----------
    hops : int
        K: a layer has the powers 0 .. K.
    """

    name: ClassVar[str] = "mixhop"
    title: ClassVar[str] = "MixHop"
    matrix: ClassVar[str] = "sym"

    hops: int = integer(
        2,
        "concatenate the powers 0 to K of the adjacency matrix",
        low=0,
        high=MOST_HOPS,
        metavar="K",
    )

    @property
    def hops_a_layer(self) -> int:
        """How many hops away a layer looks: K."""
        return self.hops

    def operand(self, hops: tuple[Any, ...]) -> Any:
        """Return what each hop of a layer aggregates with."""
        return hops

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        return MixHopLayer(gnn, config, f_in, f_out, first, self.hops)


class MixHopLayer:
    """The powers 0 .. K of the adjacency, each with its own columns of the output.

    All have f_out over K + 1 columns, rounded down, and the first what is left.
    """

    overwrites = True

    def __init__(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool, hops: int
    ) -> None:
        self.gnn, self.first = gnn, first
        share = f_out // (hops + 1)
        widths = [f_out - hops * share] + hops * [share]
        self.names = [f"W{k}" for k in range(hops + 1)]
        self.shapes: Shapes = {name: (f_in, w) for name, w in zip(self.names, widths, strict=True)}
        self.shapes |= bias_shape(config, f_out)
        self.depth = mixhop_depth(f_in, widths, first=first)  # J8:12 E-F4: MixHop's own rule

    def forward(
        self, W: Weights, A: tuple[Adjacency, ...], X: Matrix[Any]
    ) -> tuple[Matrix[Any], MixHopOutput]:
        """Return the layer's output, and what `backward` needs of this pass."""
        depth = depth_on(A, self.depth)
        out = self.gnn.mixhop_forward(A, X, self._branches(W), depth, b=W.get("b"))  # J1:10
        return out.X_out, out

    def stages(self) -> list[Stage]:
        """Return the parts of an exact pass: hop k sums the branches from k on."""
        edges = np.cumsum([self.shapes[name][1] for name in self.names])[:-1]
        parts = [slice(edge, None) for edge in edges.tolist()]
        return product_first(self.gnn, self.names, self.shapes, parts)

    def backward(
        self,
        W: Weights,
        A: tuple[Adjacency, ...],
        X: Matrix[Any],
        out: MixHopOutput,
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, Matrix[Any] | Absent]:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.mixhop_backward(
            A,
            X,
            self._branches(W),
            out,
            G_out,
            depth_on(A, self.depth),
            b=W.get("b"),
            need_dx=not self.first,
            overwrite=overwrite,
        )
        named = dict(zip(self.names, gradients.W, strict=True))
        return named if gradients.b is None else {**named, "b": gradients.b}, gradients.X

    def _branches(self, W: Weights) -> tuple[Matrix[Any], ...]:
        return tuple(W[name] for name in self.names)


def depth_on(hops: tuple[Adjacency, ...], depth: int) -> int:
    """Return MixHop's split depth on `hops`: `depth` where they are square."""
    square = all(A.graph.n_dst == A.graph.n_src for A in hops)
    return depth if square else len(hops)
