"""SIGN and SGC: the graph is in the input alone, features summed over several hops.

Frasca, Rossi, Eynard, Chamberlain, Bronstein and Monti 2020, "SIGN: Scalable Inception Graph Neural
Networks"; Wu, Zhang, de Souza Jr., Fifty, Yu and Weinberger 2019, "Simplifying Graph Convolutional
Networks".
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from refimpl.lab.training.models.base import (
    DenseLayer,
    Layer,
    ModelSettings,
    NetworkConfig,
    Stage,
)
from refimpl.lab.training.models.mixhop import MOST_HOPS
from refimpl.lab.training.settings import choice, integer

if TYPE_CHECKING:
    from refimpl.lab.hints import Weights

POWERS = ("all", "last")


@dataclass(frozen=True)
class Sign(ModelSettings):
    """SIGN: dense layers on features that are summed over 0 to K hops before training.

    Frasca et al. 2020; the first layer has one matrix for [X, A X, .., A^K X], and A is that of
    GCN. A single layer on A^K X alone is SGC (Wu et al. 2019).

    Parameters
    ----------
    hops : int
        K.
    powers : {"all", "last"}
        What the first layer reads: X, A X, .., A^K X side by side, or A^K X.
    """

    name: ClassVar[str] = "sign"
    title: ClassVar[str] = "SIGN"
    matrix: ClassVar[str] = "sym"
    weighted: ClassVar[bool] = True
    trained_by: ClassVar[str] = "prepropagation"
    hops_a_layer = 0

    hops: int = integer(
        2,
        "multiply the features by the adjacency matrix up to K times, before training",
        low=0,
        high=MOST_HOPS,
        metavar="K",
    )
    powers: Literal["all", "last"] = choice(
        "all",
        "choose what the first layer reads. all: the features after 0 to K products, side by "
        "side; last: those after K products",
        POWERS,
    )

    @property
    def kept(self) -> range:
        """The powers of A that the first layer reads."""
        return range(0 if self.powers == "all" else self.hops, self.hops + 1)

    def layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, f_out: int, first: bool
    ) -> Layer:
        """Return one layer."""
        if first:
            return SignLayer(gnn, config, f_in, f_out, self)
        return DenseLayer(gnn, config, f_in, f_out, first)

    def last_layer(
        self, gnn: ModuleType, config: NetworkConfig, f_in: int, classes: int, first: bool
    ) -> Layer:
        """Return the layer that is the classifier."""
        if first:
            return SignLayer(gnn, config, f_in, classes, self, relu=False)
        return DenseLayer(gnn, config, f_in, classes, first, relu=False)


class SignLayer(DenseLayer):
    """The first layer: in training its input is propagated already, in an exact pass not yet."""

    def __init__(
        self,
        gnn: ModuleType,
        config: NetworkConfig,
        f_in: int,
        f_out: int,
        settings: Sign,
        relu: bool = True,
    ) -> None:
        self.f_in, self.settings = f_in, settings
        super().__init__(gnn, config, len(settings.kept) * f_in, f_out, True, relu)

    def stages(self) -> list[Stage]:
        """Return the parts of an exact pass: hop by hop, then the product."""
        beside = self.settings.powers == "all"
        widths = [(k + 1 if beside else 1) * self.f_in for k in range(1, self.settings.hops + 1)]

        def hop(W: Weights, hops: tuple[Any, ...], X: Any) -> Any:
            (A,) = hops
            Y = self.gnn.spmm(A.graph, A.data, X[:, X.shape[1] - self.f_in :])
            return np.concatenate([X[: len(Y)], Y], axis=1) if beside else Y

        return [*(Stage(1, hop, width) for width in widths), *super().stages()]
