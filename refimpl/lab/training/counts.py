"""How many rows an iteration needed, found and loaded."""

from __future__ import annotations

from typing import NamedTuple


class LoadCounts(NamedTuple):
    """Rows that iterations needed and loaded, in all.

    Attributes
    ----------
    inputs : input nodes of the sampled graphs: what neighbour sampling alone loads
    live : of these, needed after pruning
    feature_hits : of these, read from the cache
    loaded, bytes : the others, read from the features, and their size there
    lookups, hits : live rows of the cached layers, and of these those read from the cache
    admitted, evicted : embeddings put into the cache, and valid ones taken out for their gradient
    lost, dropped : valid embeddings that others were written over, and embeddings refused
    """

    inputs: int = 0
    live: int = 0
    feature_hits: int = 0
    loaded: int = 0
    bytes: int = 0
    lookups: int = 0
    hits: int = 0
    admitted: int = 0
    evicted: int = 0
    lost: int = 0
    dropped: int = 0

    def plus(self, other: LoadCounts) -> LoadCounts:
        """Return the sum of both."""
        return LoadCounts(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def io_saving(self) -> float:
        """Share of the rows of neighbour sampling that were not loaded; NaN for none."""
        return 1 - self.loaded / self.inputs if self.inputs else float("nan")

    @property
    def hit_rate(self) -> float:
        """Share of the live rows of cached layers that were read from the cache; NaN for none."""
        return self.hits / self.lookups if self.lookups else float("nan")
