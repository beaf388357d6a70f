"""Planetoid's raw files (Yang, Cohen and Salakhutdinov 2016): Cora, Citeseer, Pubmed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from refimpl._support import require
from refimpl._support.untrusted_files import check_growth, naming, reading, size_of
from refimpl.graph import as_graph
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.pickled import array_of, matrix_of, unpickled
from refimpl.lab.data.preparation import check_finite, chosen_scaling
from refimpl.lab.data.sparse_features import checked_sparse, kept_sparse
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import FilePath, FloatDtype, Positions
    from refimpl.lab.hints import SomeScaling

PARTS = ("allx", "ally", "y", "tx", "ty", "graph", "test.index")
SPLITS = ("fastgcn", "public")
VALIDATION = 500
FLOAT = 8  # bytes, at most


def planetoid_names(folder: FilePath) -> list[str]:
    """Return every NAME for which the folder has a file ``ind.NAME.x``, sorted."""
    return sorted(path.name[4:-2] for path in Path(folder).glob("ind.*.x"))


def load_planetoid(
    folder: FilePath,
    name: str,
    dtype: FloatDtype = "float32",
    *,
    scaling: SomeScaling = "rows",
    split: str = SPLITS[0],
) -> Dataset:
    """Return the data set of the files ``ind.NAME.*`` of a folder, transductive.

    The rows of ``allx`` and ``ally`` are nodes 0, 1, ..; row i of ``tx`` and ``ty`` is the node
    in line i of ``test.index``, for test. The rows of ``y`` repeat the first of ``ally``; ``x`` is
    not read. ``graph`` is symmetrised, as always with these files, and self-loops are dropped.

    A node that no file describes (Citeseer has 15) has features 0. A node without a class is in
    no part of the split.

    Parameters
    ----------
    folder : str or Path
    name : str
        Such as ``cora``.
    dtype : float32 or float64
    scaling : {"standard", "rows", "none"} or (mean, std)
        See `load_dataset`.
    split : {"fastgcn", "public"}
        "fastgcn": the last 500 rows of ``allx`` are for validation, those before for training
        (Chen, Ma and Xiao 2018). "public": the rows of ``y`` are for training, the next 500 for
        validation (Yang, Cohen and Salakhutdinov 2016).

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged, does not fit the others, or would run code; the file is named.
    """
    dtype = require.float_dtype("dtype", dtype)
    require.choice("split", split, SPLITS)
    path = {part: Path(folder, f"ind.{name}.{part}") for part in PARTS}
    graph = _read_graph(path["graph"])
    known = _read_features(path["allx"], graph.n)
    count = known.shape[0]
    if count <= VALIDATION:
        raise ValueError(
            f"{path['allx']} must have over {VALIDATION} rows: the last {VALIDATION} are for "
            f"validation, got {count}"
        )
    test = _read_test_index(path["test.index"], count, graph.n)
    tested = _read_features(path["tx"], graph.n, len(test), known.shape[1])
    features = _joined(graph.n, (np.arange(count), known), (test, tested), dtype)
    features = kept_sparse(features, scaling)
    known_labels = _read_labels(path["ally"], graph.n, count)
    classes = known_labels.shape[1]
    labels = np.full(graph.n, -1, np.int32)
    labels[:count] = _classes(known_labels)
    labels[test] = _classes(_read_labels(path["ty"], graph.n, len(test), classes))
    cut = count - VALIDATION
    if split == "public":
        cut = len(_read_labels(path["y"], graph.n, None, classes))
    parts = np.arange(cut), np.arange(cut, min(cut + VALIDATION, count)), np.sort(test)
    train, val, test = (part[labels[part] >= 0] for part in parts)
    if not train.size:
        raise ValueError(f"{path['ally']} must give a class to at least one training node")
    with naming(path["allx"]):
        return Dataset(
            name=name,
            graph=graph,
            features=features,
            scaling=chosen_scaling(scaling, features, train),
            labels=labels,
            classes=classes,
            train=train,
            val=val,
            test=test,
            dtype=dtype,
        )


def _joined(
    n: int,
    one: tuple[Positions, sp.csr_array],
    other: tuple[Positions, sp.csr_array],
    dtype: np.dtype[Any],
) -> sp.csr_array:
    """Return the features of n nodes, of two (nodes, matrix of their rows), as a csr_array."""
    row = [np.repeat(nodes, np.diff(rows.indptr)) for nodes, rows in (one, other)]
    col, data = ([getattr(rows, name) for _, rows in (one, other)] for name in ("indices", "data"))
    row, col, data = map(np.concatenate, (row, col, data))
    matrix = sp.coo_array((data.astype(dtype), (row, col)), shape=(n, one[1].shape[1]))
    return checked_sparse(matrix)


def _classes(rows: NDArray[Any]) -> Positions:
    """Return the column of the 1 of each row, -1 where there is none."""
    return np.where(rows.any(axis=1), rows.argmax(axis=1), -1)


def _read_features(
    path: Path, n: int, rows: int | None = None, columns: int | None = None
) -> sp.csr_array:
    """Return a sparse (rows, columns) matrix, of some of n nodes; None accepts any number."""
    with reading(path, "a pickled sparse matrix") as file:
        matrix = matrix_of(unpickled(file.read()))
        _check_dense("features", n, matrix.shape[1], file)
    _check_shape(path, matrix.shape, (rows, columns))
    check_finite(path, matrix.data[:, None])
    return matrix


def _read_labels(path: Path, n: int, rows: int | None, classes: int | None = None) -> NDArray[Any]:
    """Return a (rows, classes) array, 0 and at most one 1 a row, some of n nodes' labels."""
    with reading(path, "a pickled array") as file:
        labels = array_of(unpickled(file.read()))
        if labels.ndim != 2 or labels.dtype.kind not in "fiu":
            raise ValueError(f"it must be 2-D with numbers, got {labels.ndim}-D {labels.dtype}")
        _check_dense("labels", n, labels.shape[1], file)
    _check_shape(path, labels.shape, (rows, classes))
    bad = np.flatnonzero(((labels != 0) & (labels != 1)).any(axis=1) | (labels.sum(axis=1) > 1))
    if bad.size:
        raise ValueError(f"{path} must have 0 and at most one 1 in a row, but not in row {bad[0]}")
    return labels


def _check_dense(what: str, n: int, columns: int, file: IO[bytes]) -> None:
    """Raise ValueError if n dense rows are too many for a file."""
    check_growth(f"the {what} of {n} nodes", n * columns * FLOAT, size_of(file))


def _check_shape(path: Path, shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> None:
    """Raise unless the shape is the wanted one; None accepts any length but 0."""
    if any(
        got != want if want is not None else got == 0
        for got, want in zip(shape, wanted, strict=True)
    ):
        text = ", ".join("any" if want is None else str(want) for want in wanted)
        raise ValueError(f"{path} must have shape ({text}) to fit the other files, got {shape}")


def _read_graph(path: Path) -> Graph:
    with reading(path, "a pickled dict of lists of neighbours") as file:
        data = file.read()
        lists = unpickled(data)
        if not isinstance(lists, dict) or set(lists) != set(range(len(lists))) or not lists:
            raise ValueError("it holds no dict with keys 0, 1, ..")
        if any(type(neighbours) is not list for neighbours in lists.values()):
            raise ValueError("a node must have a list of neighbours")
        if sum(map(len, lists.values())) > len(data):  # one list stands for many nodes
            raise ValueError("it has more neighbours than bytes")
        ends = [(u, v) for u, neighbours in lists.items() for v in neighbours]
        if any(type(v) is not int for _, v in ends):
            raise ValueError("neighbours must be integers")
        graph = as_graph(ends, n=len(lists), symmetrize=True, self_loops=False)
    u, v = np.array(ends, np.int64).reshape(-1, 2).T
    warn_of_loops(u[u == v], path)
    return graph


def _read_test_index(path: Path, low: int, high: int) -> Positions:
    """Return the node of every test row: distinct ids in [low, high)."""
    with reading(path, "one node a line") as file:
        nodes = np.array([int(line) for line in file.read().split()], np.int64)
    if nodes.size == 0 or nodes.min() < low or nodes.max() >= high:
        raise ValueError(f"{path} must list nodes in [{low}, {high}), and at least one")
    if np.unique(nodes).size < nodes.size:
        raise ValueError(f"{path} must list each node once")
    return nodes
