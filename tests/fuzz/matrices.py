"""Matrices of scipy.sparse in every format, whole and damaged."""

import numpy as np
from scipy import sparse

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
KINDS = ("array", "matrix")
N = 6
DENSE = np.eye(N) + np.eye(N, k=1) + np.eye(N, k=-3)


def of_format(form, kind, dense):
    """Return a matrix of SciPy."""
    made = getattr(sparse, f"{form}_{kind}")
    if form == "bsr" and not len(dense) % 2 and len(dense):
        return made(dense, blocksize=(2, len(dense) // 2))
    return made(dense)


def whole(form, kind="array"):
    """Return a matrix of a format with entries in every row."""
    return of_format(form, kind, DENSE)


COMPRESSED = (
    "s.indptr[3] = 10**6",
    "s.indptr[1] = -5",
    "s.indptr[2] = 0",
    "s.indptr[0] = 1",
    "s.indptr[-1] = 2**30",
    "s.indptr = s.indptr[:-1]",
    "s.indptr = np.append(s.indptr, s.indptr[-1])",
    "s.indptr = s.indptr[:0]",
    "s.indptr = s.indptr.astype(float)",
    "s.indices[0] = N",
    "s.indices[0] = 2**30",
    "s.indices[0] = -1",
    "s.indices = s.indices[:-1]",
    "s.indices = s.indices.astype(float)",
    "s.indices = s.indices[None]",
    "s.data = s.data[:-1]",
    "s.data = s.data.astype(object)",
    "s._shape = N + 2, N + 2",
    "s._shape = N - 2, N - 2",
    "s._shape = N, N + 1",
    "s._shape = (N,)",
    "s._shape = -N, -N",
    "del s.indptr",
)
DAMAGES = {  # statements about a matrix s
    "csr": COMPRESSED,
    "csc": COMPRESSED,
    "bsr": (
        *COMPRESSED,
        "s.data = s.data[:, :, [0, 0, 1, 1]]",  # blocks that do not divide the shape
        "s.data = s.data[:, :0]",
        "s.data = s.data[0]",
    ),
    "coo": (
        "place(s, s.row[:-1], s.col)",
        "place(s, s.row, s.col[:-2])",
        "place(s, s.row + N, s.col)",
        "place(s, s.row, s.col - 1)",
        "place(s, s.row * 0.5, s.col)",
        "s.data = np.append(s.data, s.data)",
        "s._shape = 2, 2",
    ),
    "dia": (
        "s.offsets[0] = N",
        "s.offsets[0] = -(2**30)",
        "s.offsets = np.zeros_like(s.offsets)",
        "s.offsets = s.offsets[:-1]",
        "s.offsets = np.append(s.offsets, 4)",
        "s.offsets = s.offsets * 0.5",
        "s.data = s.data[0]",
        "s._shape = 2, 2",
    ),
    "dok": ("s._dict[100, 0] = 1.0", "s._dict[3] = 1.0"),
    "lil": (
        "s.rows[0] = [s.rows[0][0], N]",
        "s.rows[0] = [-1, *s.rows[0][1:]]",
        "s.rows[1] = [0.5, *s.rows[1][1:]]",
        "s.rows[2] = [*s.rows[2], 5]",
        "s.data[2] = [*s.data[2], 1.0]",
        "s.rows[0] = 7",
        "s.data[0] = None",
        "s.rows = s.rows[:-1]",
        "s.data = s.data[:-1]",
        "s._shape = 2, 2",
    ),
}


def place(source, row, col):
    """Give a matrix in COO other coordinates."""
    if hasattr(source, "coords"):
        source.coords = (row, col)
    else:
        source.row, source.col = row, col


def damaged(form, statement, kind="array"):
    """Return such a matrix after one of the `DAMAGES`."""
    source = whole(form, kind)
    exec(statement, {"s": source, "np": np, "N": N, "place": place})
    return source
