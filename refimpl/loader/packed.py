"""Features whose rows lie in another order in their file than nodes are numbered.

``minibatch-gnn convert --pack`` writes such a file, and beside it `ROWS_FILE`, the row of each
node. Numbers of nodes stay what they are. Not in the papers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import map_npy, reading
from refimpl.hints import Integers, Positions

ROWS_FILE = "feature_rows.npy"


class PackedFeatures:
    """Features of a packed folder: ``features[nodes]`` and ``len(features)`` are by node.

    A key may be whatever picks nodes; columns are picked from the rows that it returns.
    ``numpy.asarray`` reads all rows into memory.

    Parameters
    ----------
    array : (n, f) numpy.memmap
        The rows as they lie in the file.
    row_of : (n,) int32 array
        The row of each node.
    """

    ndim = 2

    def __init__(self, array, row_of):
        self.array, self.row_of = array, row_of
        self.shape, self.dtype, self.itemsize = array.shape, array.dtype, array.itemsize
        self.nbytes, self.filename = array.nbytes, getattr(array, "filename", None)

    def __repr__(self):
        return f"PackedFeatures({self.dtype}[{', '.join(map(str, self.shape))}])"

    def __len__(self):
        return len(self.array)

    def __getitem__(self, nodes):
        if isinstance(nodes, tuple):
            raise TypeError("features of a packed folder must be indexed by nodes alone")
        return np.asarray(self.array[self.row_of[nodes]])

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("features of a packed folder must be copied: their rows are packed")
        return self[:].astype(dtype or self.dtype, copy=False)

    def rows(self, nodes: Integers) -> Positions:
        """Return the rows of some nodes in the file, checked."""
        return self.row_of[require.ids("rows", nodes, 0, len(self), np.int64)]


def array_or_packed(name: str, value: Any) -> Any:
    """Return features as an array, or as they are if they are packed."""
    return value if isinstance(value, PackedFeatures) else require.array(name, value)


def rows_beside(path: Any, n: int) -> np.ndarray | None:
    """Return the row of each node of a packed folder's ``features.npy``; None for another file.

    O(n) time.

    Raises
    ------
    ValueError
        If the file of rows is damaged; it is named.
    """
    places = [one for one in (path, path.resolve()) if one.name == "features.npy"]  # of a link, too
    found = [one.with_name(ROWS_FILE) for one in places if one.with_name(ROWS_FILE).exists()]
    if not found:
        return None
    with reading(found[0], "the rows of packed features") as file:
        row_of = np.asarray(map_npy(file))
        check_rows(row_of, n)
    return row_of


def check_rows(row_of, n):
    """Raise ValueError unless each of `n` rows is the row of one node."""
    if row_of.dtype != np.int32 or row_of.shape != (n,):
        raise ValueError(f"it must be int32 of shape ({n},), got {row_of.dtype} {row_of.shape}")
    met = np.zeros(n, bool)
    for first in range(0, n, 2**20):
        block = row_of[first : first + 2**20]
        if block.min() < 0 or block.max() >= n:
            raise ValueError(f"it must hold rows in [0, {n})")
        met[block] = True
    if not met.all():
        raise ValueError(f"it must hold each row once, but no node has row {met.argmin()}")
