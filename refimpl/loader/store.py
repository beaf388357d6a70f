"""Features of nodes in parts, in memory or in files: which part holds which node (VLDB'24)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from refimpl._support import require
from refimpl.hints import Features, Int, Positions
from refimpl.loader.files import matrix

OWNERS = ("contiguous", "modulo")
MOST_PARTS = 2**16

Parts: TypeAlias = tuple[Positions, ...]


class Ownership:
    """Which part holds each of n nodes, and in which row.

    Parameters
    ----------
    sizes : sequence of ints
        Rows of each part.
    owners : {"contiguous", "modulo"}
        Part 0 holds the first nodes, part 1 the next; or node v is row v // P of part v % P.
    """

    def __init__(
        self, sizes: Iterable[int], owners: Literal["contiguous", "modulo"] = "contiguous"
    ) -> None:
        self.owners = require.choice("owners", owners, OWNERS)
        self.sizes = tuple(require.integer("sizes", size, 0) for size in sizes)
        if not self.sizes:
            raise ValueError("parts must hold at least one array")
        self.n = sum(self.sizes)
        wanted = tuple((self.n - p + len(self.sizes) - 1) // len(self.sizes) for p in self.parts)
        if owners == "modulo" and self.sizes != wanted:
            raise ValueError(
                f"parts must have {wanted} rows for {self.n} nodes by modulo, got {self.sizes}"
            )
        self._bounds = np.cumsum((0, *self.sizes))

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return range(len(self.sizes))

    def locate(self, ids: Positions) -> tuple[Positions, Positions]:
        """Return (part, row) of each id, two int64 arrays."""
        if self.owners == "modulo":
            return ids % len(self.sizes), ids // len(self.sizes)
        part = np.searchsorted(self._bounds, ids, side="right") - 1
        return part, ids - self._bounds[part]

    def split(self, ids: np.ndarray) -> tuple[Parts, Parts, np.ndarray]:
        """Return (rows of each part, positions of each part, copies), as in a `FetchPlan`."""
        ids, order = _sorted(ids, self.n)
        new = np.ones(len(ids), bool)
        new[1:] = ids[1:] != ids[:-1]
        first = order[new]
        part, row = self.locate(ids[new])
        by_part = np.argsort(part, kind="stable")  # rows of a part stay ascending
        cuts = np.searchsorted(part[by_part], self.parts[1:])
        copies = np.stack([order[~new], first[(np.cumsum(new) - 1)[~new]]])
        rows, positions = row[by_part], first[by_part]
        return tuple(np.split(rows, cuts)), tuple(np.split(positions, cuts)), copies


def _sorted(ids, n):
    """Return (ids ascending, where each was), equal ids in the order in which they were."""
    bits = len(ids).bit_length()
    if n.bit_length() + bits > 63:
        order = np.argsort(ids, kind="stable")
        return ids[order], order
    both = np.sort(ids << bits | np.arange(len(ids)))  # in one word: several times as fast
    return both >> bits, both & ((1 << bits) - 1)


@dataclass(frozen=True, eq=False)
class FeatureStore:
    """The features of n nodes, in parts that may be files mapped into memory.

    Nothing is copied or read when a store is made. What FreshGNN's data loader (section 6)
    reads from.

    Parameters
    ----------
    parts : list or tuple of (any, d) float32 or float16 arrays
        C-contiguous, of one dtype and one width d, from 1; see `open_features`.
    owners : {"contiguous", "modulo"}
        "contiguous": part 0 holds the first nodes, part 1 the next, and so on. "modulo": node v
        is row v // P of part v % P.

    Attributes
    ----------
    ownership : Ownership
        Where each node is.

    Raises
    ------
    TypeError, ValueError
        If there is no part, a part is not such an array, or the numbers of rows do not fit
        `owners`.
    """

    parts: Sequence[Features]
    owners: Literal["contiguous", "modulo"] = "contiguous"
    ownership: Ownership = field(init=False)

    def __post_init__(self):
        if not isinstance(self.parts, list | tuple):
            raise TypeError(f"parts must be a list of arrays, got {type(self.parts).__name__}")
        parts: list[Features] = []
        for part in self.parts:
            parts.append(matrix("parts", part, like=parts[0] if parts else None))
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "ownership", Ownership(map(len, parts), self.owners))

    @classmethod
    def of(
        cls, X: Features, parts: Int, owners: Literal["contiguous", "modulo"] = "contiguous"
    ) -> FeatureStore:
        """Return a store of the rows of X in so many parts, as even as they can be.

        With `owners` "contiguous" the parts are views of X, with "modulo" they are copies.
        """
        X = matrix("X", X)
        n, P = len(X), require.integer("parts", parts, 1, MOST_PARTS)
        if require.choice("owners", owners, OWNERS) == "modulo":
            return cls(tuple(np.ascontiguousarray(X[p::P]) for p in range(P)), owners)
        return cls(tuple(X[n * p // P : n * (p + 1) // P] for p in range(P)), owners)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.ownership.n

    @property
    def d(self) -> int:
        """Number of features of a node."""
        return self.parts[0].shape[1]

    @property
    def dtype(self) -> np.dtype:
        """float32 or float16: how features are kept."""
        return self.parts[0].dtype

    @property
    def row_bytes(self) -> int:
        """Bytes of a node's features."""
        return self.d * self.dtype.itemsize

    def __repr__(self):
        return f"FeatureStore(n={self.n}, d={self.d}, {self.dtype}, parts={len(self.parts)})"
