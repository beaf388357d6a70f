"""GAT."""

from dataclasses import dataclass
from typing import ClassVar

from refimpl.lab.training.models.base import ModelSettings, bias_shape, by_name
from refimpl.lab.training.settings import choice, integer
from refimpl.layers.gat import NORMS


@dataclass(frozen=True)
class Gat(ModelSettings):
    """Graph attention, its heads side by side (JPDC'21 Equations 6 and 7).

    Parameters
    ----------
    heads : int
        A divisor of the width of a layer's output.
    attention : {"softmax", "row", "none"}
        How the attention is normalised (E-E6). "row" does not depend on which neighbours a
        subgraph shows.
    """

    name: ClassVar[str] = "gat"
    title: ClassVar[str] = "GAT"
    matrix: ClassVar[str] = "loop"

    heads: int = integer(1, "attention heads of a layer")
    attention: str = choice(
        "softmax",
        "scale the scores of a node's neighbours by softmax, by their number (row), or not at all",
        NORMS,
    )

    def check(self, config):
        """Raise ValueError unless the heads share the width of a layer."""
        if config.hidden % self.heads:
            raise ValueError(
                f"hidden must be a multiple of heads ({self.heads}), got {config.hidden}"
            )

    def layer(self, gnn, config, f_in, f_out, first):
        """Return one layer."""
        return GatLayer(gnn, config, f_in, f_out, first, self)


class GatLayer:
    """Graph attention, its heads side by side."""

    vectors = ("a_recv", "a_send")

    def __init__(self, gnn, config, f_in, f_out, first, settings):
        self.gnn, self.norm, self.first = gnn, settings.attention, first
        vectors = (settings.heads, f_out // settings.heads)
        self.shapes = {"W": (f_in, f_out), "a_recv": vectors, "a_send": vectors}
        self.shapes |= bias_shape(config, f_out)

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        out = self.gnn.gat_forward(  # J1:10
            A, X, W["W"], W["a_recv"], W["a_send"], norm=self.norm, b=W.get("b")
        )
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.gat_backward(
            A,
            X,
            W["W"],
            W["a_recv"],
            W["a_send"],
            out,
            G_out,
            norm=self.norm,
            b=W.get("b"),
            need_dx=not self.first,
        )
        return by_name(self, gradients), gradients.X
