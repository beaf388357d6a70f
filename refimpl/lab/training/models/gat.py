"""GAT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from refimpl._support import require
from refimpl.lab.training.models.base import (
    Layer,
    ModelSettings,
    NetworkConfig,
    Shapes,
    Stage,
    bias_shape,
    by_name,
)
from refimpl.lab.training.settings import choice, custom, integer
from refimpl.layers.gat import NORMS

if TYPE_CHECKING:
    from refimpl.adjacency import Adjacency
    from refimpl.hints import Absent, Matrix, Words
    from refimpl.lab.hints import Weights
    from refimpl.layers.gat import GatOutput


@dataclass(frozen=True)
class Gat(ModelSettings):
    """Graph attention with concatenated heads (JPDC'21 Equations 6 and 7).

    A last layer that is the classifier has one head, whatever `heads` is, as that of Velickovic et
    al. 2018 on Cora.

    Parameters
    ----------
    heads : int
        A divisor of the width of a layer's output.
    attention : {"softmax", "row", "none"}
        How the attention is normalised (E-E6). "row" does not depend on which neighbours a
        subgraph shows.
    attention_dropout : float in [0, 1)
        The share of the normalised attention that is set to 0 in training; the rest is scaled up.
    """

    name: ClassVar[str] = "gat"
    title: ClassVar[str] = "GAT"
    matrix: ClassVar[str] = "loop"
    lr: ClassVar[float] = 0.003

    heads: int = integer(1, "set the number of attention heads of a layer")
    attention: Literal["softmax", "row", "none"] = choice(
        "softmax",
        "scale attention scores. softmax: by a softmax; row: by the degree; none: do not scale",
        NORMS,
    )
    attention_dropout: float = custom(
        0.0,
        require.rate,
        "set this share of the normalised attention to 0 in training",
        float,
        "RATE",
    )

    def check(self, config: NetworkConfig) -> None:
        """Raise ValueError unless the heads share the width of a layer."""
        if config.hidden % self.heads:
            raise ValueError(
                f"hidden must be a multiple of heads ({self.heads}), got {config.hidden}"
            )

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        return GatLayer(gnn, config, f_in, f_out, first, self)

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        return GatLayer(gnn, config, f_in, classes, first, replace(self, heads=1), relu=False)


class GatLayer:
    """Graph attention, its heads side by side."""

    vectors = ("a_recv", "a_send")
    overwrites = True

    def __init__(
        self,
        gnn: ModuleType,
        config: NetworkConfig,
        f_in: int,
        f_out: int,
        first: bool,
        settings: Gat,
        relu: bool = True,
    ) -> None:
        self.gnn, self.first, self.dropout = gnn, first, settings.attention_dropout
        self.draws = self.dropout > 0
        self.options = {"norm": settings.attention, "relu": relu}
        vectors = (settings.heads, f_out // settings.heads)
        self.shapes: Shapes = {"W": (f_in, f_out), "a_recv": vectors, "a_send": vectors}
        self.shapes |= bias_shape(config, f_out)
        self.numbers_an_entry = 6 + 5 * settings.heads

    def forward(
        self, W: Weights, A: Adjacency, X: Matrix[Any], keys: Words | None = None
    ) -> tuple[Matrix[Any], tuple[GatOutput, dict[str, Any]]]:
        """Return the layer's output, and what `backward` needs of this pass.

        Nothing is dropped where there are no keys.
        """
        drawn = {} if keys is None else {"dropout": self.dropout, "keys": keys}
        out = self.gnn.gat_forward(  # J1:10
            A, X, W["W"], W["a_recv"], W["a_send"], b=W.get("b"), **self.options, **drawn
        )
        return out.X_out, (out, drawn)

    def stages(self) -> list[Stage]:
        """Return the parts of an exact pass: X W once for each node, whichever rows need it."""

        def product(W: Weights, hops: tuple[Any, ...], X: Any) -> Any:
            return self.gnn.dense_forward(X, W["W"], relu=False)

        def attention(W: Weights, hops: tuple[Any, ...], H: Any) -> Any:
            (A,) = hops
            out = self.gnn.gat_forward(
                A, H, None, W["a_recv"], W["a_send"], b=W.get("b"), **self.options
            )
            return out.X_out

        return [Stage(0, product, self.shapes["W"][1]), Stage(1, attention)]

    def backward(
        self,
        W: Weights,
        A: Adjacency,
        X: Matrix[Any],
        needed: tuple[GatOutput, dict[str, Any]],
        G_out: Matrix[Any],
        overwrite: bool = False,
    ) -> tuple[Weights, Matrix[Any] | Absent]:
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        out, drawn = needed
        gradients = self.gnn.gat_backward(
            A,
            X,
            W["W"],
            W["a_recv"],
            W["a_send"],
            out,
            G_out,
            b=W.get("b"),
            **self.options,
            **drawn,
            need_dx=not self.first,
            overwrite=overwrite,
        )
        return by_name(self, gradients), gradients.X
