"""GraphSAGE."""

from dataclasses import dataclass
from typing import ClassVar

from refimpl.lab.training.models.base import ModelSettings, bias_shape, by_name, order_on
from refimpl.lab.training.settings import choice
from refimpl.layers.sage import CONCAT
from refimpl.scheduling import chain_order


@dataclass(frozen=True)
class Sage(ModelSettings):
    """GraphSAGE: half of a layer's output from the neighbours, half from the node itself.

    JPDC'21 Equation 1.

    Parameters
    ----------
    concat : {"neigh_first", "self_first"}
        Which half comes first (E-E1).
    """

    name: ClassVar[str] = "sage"
    title: ClassVar[str] = "GraphSAGE"
    matrix: ClassVar[str] = "row"

    concat: str = choice(
        "neigh_first",
        "which half of a layer's output comes first, the neighbours' or the node's own",
        CONCAT,
    )

    def layer(self, gnn, config, f_in, f_out, first):
        """Return one layer."""
        return SageLayer(gnn, config, f_in, f_out, first, self.concat)


class SageLayer:
    """GraphSAGE, half of its output from the neighbours and half from the node itself."""

    def __init__(self, gnn, config, f_in, f_out, first, concat):
        h_neigh = f_out - f_out // 2
        self.gnn, self.concat = gnn, concat
        self.shapes = {"W_neigh": (f_in, h_neigh), "W_self": (f_in, f_out // 2)}
        self.shapes |= bias_shape(config, f_out)
        self.order = chain_order(f_in, h_neigh, first=first)  # J8:12 E-F3: the neighbour half

    def forward(self, W, A, X):
        """Return the layer's output, and what `backward` needs of this pass."""
        order = order_on(A, self.order)
        out = self.gnn.sage_forward(  # J1:10
            A, X, W["W_neigh"], W["W_self"], order, b=W.get("b"), concat=self.concat
        )
        return out.X_out, out

    def backward(self, W, A, X, out, G_out):
        """Return the gradients of the weights by name, and of X (None in the first layer)."""
        gradients = self.gnn.sage_backward(
            A,
            X,
            W["W_neigh"],
            W["W_self"],
            out,
            G_out,
            order_on(A, self.order),
            b=W.get("b"),
            concat=self.concat,
        )
        return by_name(self, gradients), gradients.X
