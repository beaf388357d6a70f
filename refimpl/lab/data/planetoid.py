"""Planetoid's raw files (Yang, Cohen and Salakhutdinov 2016): Cora, Citeseer, Pubmed."""

import collections
import pickle
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from refimpl import _check
from refimpl.graph import as_graph
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.preparation import check_finite, induced, reading, scaled

PARTS = ("allx", "ally", "tx", "ty", "graph", "test.index")
VALIDATION = 500


class _SavedMatrix:
    """Takes the attributes of a pickled SciPy matrix, which are then checked one by one."""


# All that an unpickled file may name. Pickles run what they name: everything else is refused.
ALLOWED = {
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("collections", "defaultdict"): collections.defaultdict,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy._core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("scipy.sparse.csr", "csr_matrix"): _SavedMatrix,
    ("scipy.sparse._csr", "csr_matrix"): _SavedMatrix,
}


def planetoid_names(folder):
    """Return every NAME for which the folder has a file ``ind.NAME.x``, sorted."""
    return sorted(path.name[4:-2] for path in Path(folder).glob("ind.*.x"))


def load_planetoid(folder, name, dtype="float32", *, scaling=None):
    """Return the data set of the files ``ind.NAME.*`` of a folder, with FastGCN's split.

    The rows of ``allx`` and ``ally`` are nodes 0, 1, ..; row i of ``tx`` and ``ty`` is the node
    in line i of ``test.index``. The last 500 rows of ``allx`` are for validation, those before
    for training, ``test.index`` for test (Chen, Ma and Xiao 2018); ``x`` and ``y`` repeat rows
    of ``allx`` and are not read. The training graph is induced by the training nodes. ``graph``
    is symmetrised, as always with these files, and self-loops are dropped.

    A node that no file describes (Citeseer has 15) has features 0. A node without a class is in
    no part of the split, and counts as class 0 where every node must have one.

    Parameters
    ----------
    folder : str or Path
    name : str
        Such as ``cora``.
    dtype : float32 or float64
    scaling : (mean, std), optional
        See `load_dataset`.

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
    dtype = _check.float_dtype("dtype", dtype)
    path = {part: Path(folder, f"ind.{name}.{part}") for part in PARTS}
    graph = _read_graph(path["graph"])
    known = _read_features(path["allx"])
    count = known.shape[0]
    if count <= VALIDATION:
        raise ValueError(
            f"{path['allx']} must have over {VALIDATION} rows: the last {VALIDATION} are for "
            f"validation, got {count}"
        )
    test = _read_test_index(path["test.index"], count, graph.n)
    features = np.zeros((graph.n, known.shape[1]), dtype)
    features[:count] = known.toarray()
    features[test] = _read_features(path["tx"], len(test), known.shape[1]).toarray()
    known_labels = _read_labels(path["ally"], count)
    labels = np.zeros((graph.n, known_labels.shape[1]), dtype)
    labels[:count] = known_labels
    labels[test] = _read_labels(path["ty"], len(test), labels.shape[1])
    labelled = np.asarray(labels.any(axis=1))
    labels[~labelled, 0] = 1
    cut = count - VALIDATION
    parts = np.arange(cut), np.arange(cut, count), np.sort(test)
    train, val, test = (part[labelled[part]] for part in parts)
    if not train.size:
        raise ValueError(f"{path['ally']} must give a class to at least one training node")
    return Dataset(
        name=name,
        graph=graph,
        train_graph=induced(graph, train),
        **scaled(features, train, scaling, dtype),
        labels=labels,
        multilabel=False,
        train=train,
        val=val,
        test=test,
    )


class _Unpickler(pickle.Unpickler):
    """Reads Python 2 pickles of arrays, and calls nothing that is not in ALLOWED."""

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise ValueError(f"it asks for {module}.{name}, which is refused")
        return ALLOWED[module, name]


def _unpickle(file):
    return _Unpickler(file, encoding="latin1").load()  # Python 2's str holds an array's bytes


def _read_features(path, rows=None, columns=None):
    """Return a sparse (rows, columns) matrix; None accepts any number."""
    with reading(path, "a pickled sparse matrix") as file:
        saved = _unpickle(file)
        if not isinstance(saved, _SavedMatrix):
            raise ValueError(f"it holds a {type(saved).__name__}")
        arrays = [vars(saved).get(name) for name in ("data", "indices", "indptr")]
        matrix = sp.csr_array(tuple(arrays), shape=vars(saved).get("_shape"))
        matrix.check_format(full_check=True)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ValueError(f"it is {matrix.ndim}-D with dtype {matrix.dtype}")
    _check_shape(path, matrix.shape, (rows, columns))
    check_finite(path, matrix.data[:, None])
    return matrix


def _read_labels(path, rows, classes=None):
    """Return a (rows, classes) array of 0 and 1 with at most one 1 a row."""
    with reading(path, "a pickled array") as file:
        labels = _unpickle(file)
        if not isinstance(labels, np.ndarray) or labels.ndim != 2 or labels.dtype.kind not in "fiu":
            raise ValueError("it holds no 2-D array of numbers")
    _check_shape(path, labels.shape, (rows, classes))
    bad = np.flatnonzero(((labels != 0) & (labels != 1)).any(axis=1) | (labels.sum(axis=1) > 1))
    if bad.size:
        raise ValueError(f"{path} must have 0 and at most one 1 in a row, but not in row {bad[0]}")
    return labels


def _check_shape(path, shape, wanted):
    """Raise unless the shape is the wanted one; None accepts any length but 0."""
    if any(
        got != want if want is not None else got == 0
        for got, want in zip(shape, wanted, strict=True)
    ):
        text = ", ".join("any" if want is None else str(want) for want in wanted)
        raise ValueError(f"{path} must have shape ({text}) to fit the other files, got {shape}")


def _read_graph(path):
    with reading(path, "a pickled dict of lists of neighbours") as file:
        lists = _unpickle(file)
        if not isinstance(lists, dict) or set(lists) != set(range(len(lists))) or not lists:
            raise ValueError("it holds no dict with keys 0, 1, ..")
        ends = [(u, v) for u, neighbours in lists.items() for v in neighbours]
        return as_graph(ends, n=len(lists), symmetrize=True, self_loops=False)


def _read_test_index(path, low, high):
    """Return the node of every test row: distinct ids in [low, high)."""
    with reading(path, "one node a line") as file:
        nodes = np.array([int(line) for line in file.read().split()], np.int64)
    if nodes.size == 0 or nodes.min() < low or nodes.max() >= high:
        raise ValueError(f"{path} must list nodes in [{low}, {high}), and at least one")
    if np.unique(nodes).size < nodes.size:
        raise ValueError(f"{path} must list each node once")
    return nodes
