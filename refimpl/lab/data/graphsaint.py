"""Folders in the format of GraphSAINT (Zeng et al. 2020)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import (
    check_nodes,
    map_npy,
    naming,
    read_npz,
    reading,
    real_name,
    size_of,
)
from refimpl._support.user_warnings import warn
from refimpl.graph import as_graph, from_edges
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.preparation import check_finite, chosen_scaling, induced
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import FilePath, FloatDtype, Ids, Mask, Positions
    from refimpl.lab.hints import SomeScaling

ROLES = ("tr", "va", "te")
PARTS = {  # of some of SciPy's formats
    "csr": ("indptr", "indices"),
    "csc": ("indptr", "indices"),
    "coo": ("row", "col"),
}


def load_graphsaint(
    folder: FilePath, dtype: FloatDtype = "float32", *, scaling: SomeScaling = "standard"
) -> Dataset:
    """Return the data set in a GraphSAINT folder.

    ``adj_full.npz`` and ``adj_train.npz`` are symmetric matrices over all nodes
    (scipy.sparse.save_npz); what is stored is an edge, whatever its value. ``feats.npy`` has a
    row a node, ``class_map.json`` a class (or a list of 0 and 1: multi-label) a node, null where
    it is unknown, ``role.json`` the training, validation and test nodes ``tr``, ``va``, ``te``.
    The training graph is ``adj_train`` on the training nodes. Self-loops are dropped: the papers'
    GraphSAGE gives a node's own features a weight matrix of their own.

    Parameters
    ----------
    folder : str or Path
    dtype : float32 or float64
    scaling : {"standard", "rows", "none"} or (mean, std)
        See `load_dataset`.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged, does not fit the others or breaks a rule above; the file is named.
    """
    dtype = require.float_dtype("dtype", dtype)
    folder = Path(folder)
    graph = read_graph(folder / "adj_full.npz")
    train, val, test = read_roles(folder / "role.json", graph.n)
    labels, known = read_labels(folder / "class_map.json", graph.n)
    features = read_features(folder / "feats.npy", graph.n)
    inner = _read_train_graph(folder / "adj_train.npz", graph.n, train)
    with naming(folder / "feats.npy"):
        return Dataset(
            name=real_name(folder),
            graph=graph,
            induced=inner,
            features=features,
            scaling=chosen_scaling(scaling, features, train),
            labels=labels,
            known=known,
            train=train,
            val=val,
            test=test,
            setting="inductive",
            dtype=dtype,
        )


def read_graph(path: Path) -> Graph:
    """Return the undirected Graph in a file of scipy.sparse.save_npz, without self-loops.

    The matrix may be in CSR, CSC or COO form.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, it is damaged, or the matrix is not symmetric.
    """
    with reading(path, "a sparse matrix saved by scipy.sparse.save_npz") as file:
        arrays = read_npz(file)
        graph = _graph(arrays, size_of(file))
    row, col = (arrays[name] for name in PARTS["coo" if "row" in arrays else "csr"])
    if "row" not in arrays:
        row = np.repeat(np.arange(len(row) - 1), np.diff(row))
    warn_of_weights(path, [arrays["data"][row != col]])
    warn_of_loops(row[row == col], path)
    if not graph.symmetric:
        one_way = graph.to_scipy() - graph.to_scipy().T
        u, v = (int(ends[0]) for ends in one_way.nonzero())
        raise ValueError(
            f"{path} must be symmetric, but of ({u}, {v}) and ({v}, {u}) it has one only"
        )
    return graph


def warn_of_weights(path: Path, blocks: Iterable[NDArray[Any]]) -> None:
    """Warn if a block of the data of a file's matrix has numbers other than 1."""
    if any((block != 1).any() for block in blocks):
        warn(f'ignored weights "data" of {path}: a Graph has no weights')


def _graph(arrays: dict[str, Any], size: int) -> Graph:
    """Return the Graph of the arrays of a square matrix in a file of `size` bytes.

    SciPy would trust them. That of a CSC matrix is transposed: a symmetric one is the same.
    """
    form: Any = arrays.get("format")
    shape: Any = arrays.get("shape")
    form = form.item() if form is not None and form.shape == () else None
    form = form.decode("ascii") if isinstance(form, bytes) else form
    if form not in PARTS:
        raise ValueError(f"its format must be one of {', '.join(PARTS)}, got {form!r:.20}")
    missing = [name for name in ("shape", "data", *PARTS[form]) if name not in arrays]
    if missing:
        raise ValueError(f"it lacks {missing[0]}")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise ValueError("its shape must be two integers from 0")
    n = int(shape[0])
    if n != shape[1]:
        raise ValueError(f"it must be square, got shape {tuple(shape.tolist())}")
    check_nodes(n, size)
    first, second = (arrays[name] for name in PARTS[form])
    if arrays["data"].shape != second.shape:
        raise ValueError(f"it must have a value for each of {second.size} entries")
    if form == "coo":
        if first.shape != second.shape or first.ndim != 1:
            raise ValueError("row and col must be 1-D, and as long as each other")
        return from_edges(first, second, n, self_loops=False)
    if first.shape != (n + 1,):
        raise ValueError(f"indptr must have shape ({n + 1},), got {first.shape}")
    return as_graph((first, second), self_loops=False)


def _read_train_graph(path: Path, n: int, train: Positions) -> Graph:
    graph = read_graph(path)
    if graph.n != n:
        raise ValueError(f"{path} must have {n} nodes like adj_full.npz, got {graph.n}")
    degrees = graph.degrees().copy()
    degrees[train] = 0
    if degrees.any():
        raise ValueError(
            f"{path} must have edges between training nodes only, "
            f"but node {degrees.argmax()}, which is not in 'tr' of role.json, has one"
        )
    return induced(graph, train)


def read_features(path: Path, n: int) -> NDArray[Any]:
    """Return the (n, f) finite real numbers in a file of numpy.save, as a numpy.memmap.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, it is damaged, or holds anything else.
    """
    with reading(path, "an array saved by numpy.save") as file:
        features: NDArray[Any] = map_npy(file)
    if features.dtype.kind not in "fiub":
        raise ValueError(f"{path} must hold real numbers, got dtype {features.dtype}")
    if features.ndim != 2 or len(features) != n:
        raise ValueError(f"{path} must have shape ({n}, any), got {features.shape}")
    check_finite(path, features)
    return features


def _read_table(path: Path) -> dict[str, Any]:
    with reading(path, "JSON") as file:
        table = json.load(file, object_pairs_hook=_distinct)
    if not isinstance(table, dict):
        raise ValueError(f"{path} must hold a JSON object, got a {type(table).__name__}")
    return table


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the entries of a JSON object, or raise ValueError if two have one key."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"it has the key {require.shown(twice)} twice")
    return table


def read_roles(path: Path, n: int) -> list[Positions]:
    """Return the training, validation and test nodes, each ascending."""
    table = _read_table(path)
    taken: dict[int, str] = {}
    for role in ROLES:
        if not isinstance(table.get(role), list):
            raise ValueError(f"{path} must have a list of nodes under {role!r}")
        for node in table[role]:
            if type(node) is not int or not 0 <= node < n:
                raise ValueError(
                    f"{path}: {role!r} must list integers in [0, {n}), got {node!r:.40}"
                )
            if node in taken:
                raise ValueError(f"{path} lists node {node} in {taken[node]!r} and in {role!r}")
            taken[node] = role
    others = sorted(table.keys() - ROLES)
    if others:
        warn(
            f"ignored {', '.join(map(require.shown, others))} of {path}: it has {', '.join(ROLES)}"
        )
    if not table["tr"]:
        raise ValueError(f"{path} must list at least one training node under 'tr'")
    return [np.array(sorted(table[role]), np.int64) for role in ROLES]


def read_labels(path: Path, n: int) -> tuple[NDArray[Any], Mask | None]:
    """Return the class of each node, or a row of 0 and 1 where a node may have several.

    An unknown class, null, is -1. Of rows, a mask says which are known; None: all.
    """
    table = _read_table(path)
    names = [str(v) for v in range(n)]
    missing = next((name for name in names if name not in table), None)
    if missing is not None:
        raise ValueError(f"{path} has no entry for node {missing}")
    if len(table) > n:
        extra = next(iter(table.keys() - set(names)))
        raise ValueError(f"{path} has an entry for {extra!r}, which is no node in [0, {n})")
    values = [table[name] for name in names]
    first = next((node for node, value in enumerate(values) if value is not None), None)
    if first is None:
        raise ValueError(f"{path} must have the class of at least one node: all are null")
    if isinstance(values[first], list):
        return _lists(path, values, first)
    return _classes(path, values, first), None


def _classes(path: Path, values: list[Any], first: int) -> Ids:
    n = len(values)
    for node, value in enumerate(values):
        fits = type(value) is int and 0 <= value < n  # no more classes than nodes
        if value is not None and not fits:
            raise ValueError(
                f"{path}: the class of node {node} must be an integer in [0, {n}) "
                f"as for node {first}, or null where it is unknown, got {value!r:.40}"
            )
    return np.array([-1 if value is None else value for value in values], np.int32)


def _lists(path: Path, values: list[Any], first: int) -> tuple[NDArray[np.int8], Mask | None]:
    width = len(values[first])
    for node, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, list) or len(value) != width or width == 0:
            raise ValueError(
                f"{path}: node {node} must have a list of 0 and 1, not empty and as long as "
                f"node {first}'s ({width}), got {value!r:.40}"
            )
        if value.count(0) + value.count(1) != width:
            raise ValueError(
                f"{path}: the list of node {node} must hold 0 and 1, got {value!r:.40}"
            )
    known = np.array([value is not None for value in values], np.bool_)
    rows = [[0] * width if value is None else value for value in values]
    return np.array(rows, np.int8), None if known.all() else known
