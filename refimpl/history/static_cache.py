"""The cache that FreshGNN's bidirectional one is compared with: two parts of fixed sizes."""

from __future__ import annotations

from typing import Literal

from refimpl._support import require
from refimpl.hints import Float, FloatDtype, Int
from refimpl.history.cache import BidirectionalCache


class StaticSplitCache(BidirectionalCache):
    """Embeddings and features in parts of a buffer whose sizes are fixed.

    What FreshGNN's Figure 14 is taken to mean by a cache without the bidirectional layout; the
    interface is that of `BidirectionalCache`.

    Parameters
    ----------
    n, d, h, layers, floats, t_stale, dtype, header, overflow, staleness, start_iter
        As in `BidirectionalCache`.
    split : float in [0, 1]
        Fraction of the buffer that is for embeddings.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    def __init__(
        self,
        n: Int,
        d: Int,
        h: Int,
        layers: Int,
        floats: Int,
        *,
        t_stale: Int | None,
        split: Float = 0.5,
        dtype: FloatDtype = "float32",
        header: Literal["continue", "cycle"] = "continue",
        overflow: Literal["wrap", "drop"] = "wrap",
        staleness: Literal["stamp", "header_only"] = "stamp",
        start_iter: Int = 0,
    ) -> None:
        self.split = require.real("split", split, 0, high=1)
        super().__init__(
            n,
            d,
            h,
            layers,
            floats,
            t_stale=t_stale,
            dtype=dtype,
            header=header,
            overflow=overflow,
            staleness=staleness,
            start_iter=start_iter,
        )

    def _shares(self, floats):
        for_embeddings = int(self.split * floats)
        return for_embeddings, floats - for_embeddings
