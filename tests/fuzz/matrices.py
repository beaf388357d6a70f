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


def with_member(name, change):
    """Return a function that changes a member of a matrix."""

    def damage(source):
        setattr(source, name, change(getattr(source, name)))

    return damage


def with_number(name, place, number):
    """Return a function that changes one number of a member of a matrix."""

    def damage(source):
        getattr(source, name)[place] = number

    return damage


def with_shape(shape):
    """Return a function that lies about the shape of a matrix."""
    return with_member("_shape", lambda _: shape)


def key_out_of_range(source):
    source._dict[100, 0] = 1.0


def key_alone(source):
    source._dict[3] = 1.0


def row_changed(name, row, change):
    def damage(source):
        rows = getattr(source, name)
        rows[row] = change(rows[row])

    return damage


def coordinates(change):
    """Return a function that changes the coordinates of a matrix in COO."""

    def damage(source):
        row, col = change(source.row, source.col)
        if hasattr(source, "coords"):
            source.coords = (row, col)
        else:
            source.row, source.col = row, col

    return damage


COMPRESSED = {
    "an offset far out of range": with_number("indptr", 3, 10**6),
    "an offset below zero": with_number("indptr", 1, -5),
    "offsets that fall": with_number("indptr", 2, 0),
    "offsets that do not begin at 0": with_number("indptr", 0, 1),
    "a last offset beyond the end": with_number("indptr", -1, 2**30),
    "too few offsets": with_member("indptr", lambda a: a[:-1]),
    "too many offsets": with_member("indptr", lambda a: np.append(a, a[-1])),
    "no offsets": with_member("indptr", lambda a: a[:0]),
    "offsets that are no integers": with_member("indptr", lambda a: a.astype(float)),
    "an index out of range": with_number("indices", 0, N),
    "an index far out of range": with_number("indices", 0, 2**30),
    "an index below zero": with_number("indices", 0, -1),
    "too few indices": with_member("indices", lambda a: a[:-1]),
    "indices that are no integers": with_member("indices", lambda a: a.astype(float)),
    "indices of two dimensions": with_member("indices", lambda a: a[None]),
    "too few values": with_member("data", lambda a: a[:-1]),
    "values that are objects": with_member("data", lambda a: a.astype(object)),
    "a shape with more rows": with_shape((N + 2, N + 2)),
    "a shape with fewer rows": with_shape((N - 2, N - 2)),
    "a shape that is not square": with_shape((N, N + 1)),
    "a shape of one number": with_shape((N,)),
    "a shape below zero": with_shape((-N, -N)),
    "no member": lambda source: delattr(source, "indptr"),
}
DAMAGES = {
    "csr": COMPRESSED,
    "csc": COMPRESSED,
    "bsr": {
        **COMPRESSED,
        "blocks that do not divide the shape": with_member("data", lambda a: a[:, :, [0, 0, 1, 1]]),
        "blocks of no size": with_member("data", lambda a: a[:, :0]),
        "blocks of two dimensions": with_member("data", lambda a: a[0]),
    },
    "coo": {
        "fewer rows than columns": coordinates(lambda row, col: (row[:-1], col)),
        "fewer columns than rows": coordinates(lambda row, col: (row, col[:-2])),
        "a row out of range": coordinates(lambda row, col: (row + N, col)),
        "a column below zero": coordinates(lambda row, col: (row, col - 1)),
        "rows that are no integers": coordinates(lambda row, col: (row * 0.5, col)),
        "too many values": with_member("data", lambda a: np.append(a, a)),
        "a smaller shape": with_shape((2, 2)),
    },
    "dia": {
        "an offset out of range": with_number("offsets", 0, N),
        "an offset far out of range": with_number("offsets", 0, -(2**30)),
        "an offset twice": with_member("offsets", lambda a: np.zeros_like(a)),
        "too few offsets": with_member("offsets", lambda a: a[:-1]),
        "too many offsets": with_member("offsets", lambda a: np.append(a, 4)),
        "offsets that are no integers": with_member("offsets", lambda a: a * 0.5),
        "values of one dimension": with_member("data", lambda a: a[0]),
        "a smaller shape": with_shape((2, 2)),
    },
    "dok": {"a key out of range": key_out_of_range, "a key of one number": key_alone},
    "lil": {
        "a column out of range": row_changed("rows", 0, lambda row: [row[0], N]),
        "a column below zero": row_changed("rows", 0, lambda row: [-1, *row[1:]]),
        "a column that is no integer": row_changed("rows", 1, lambda row: [0.5, *row[1:]]),
        "more columns than values": row_changed("rows", 2, lambda row: [*row, 5]),
        "more values than columns": row_changed("data", 2, lambda row: [*row, 1.0]),
        "a row that is no list": row_changed("rows", 0, lambda row: 7),
        "values that are no list": row_changed("data", 0, lambda row: None),
        "too few rows": with_member("rows", lambda a: a[:-1]),
        "too few lists of values": with_member("data", lambda a: a[:-1]),
        "a smaller shape": with_shape((2, 2)),
    },
}


def damaged(form, name, kind="array"):
    """Return such a matrix after one of the `DAMAGES`."""
    source = whole(form, kind)
    DAMAGES[form][name](source)
    return source
