"""Matrices of scipy.sparse in every format, whole and damaged."""

import numpy as np
from scipy import sparse

from fuzz import written

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


WRITTEN = written("matrices")
DAMAGES = {form: WRITTEN["compressed"] + WRITTEN.get(form, []) for form in ("csr", "csc", "bsr")}
DAMAGES |= {form: WRITTEN[form] for form in ("coo", "dia", "dok", "lil")}


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
