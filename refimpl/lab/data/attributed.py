"""Graphs with attributes in one .npz file (Shchur et al. 2018): Amazon Computers, Coauthor CS.

The files are those of github.com/shchur/gnn-benchmark, in ``data/npz``: two CSR matrices,
``adj_..`` (n, n) and ``attr_..`` (n, f), and ``labels`` (n,), a class a node; perhaps
``class_names`` and ``node_names``, text. They have no split.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from refimpl._support import require
from refimpl._support.sparse_matrices import checked_csr
from refimpl._support.untrusted_files import check_growth, naming, streaming_npz
from refimpl._support.user_warnings import warn
from refimpl.graph import as_graph
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.label_encoding import Encoded
from refimpl.lab.data.sparse_features import checked_sparse, kept_sparse
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import NDArray

    from refimpl._support.untrusted_files import NpyStream
    from refimpl.hints import FilePath, FloatDtype, Rng
    from refimpl.lab.hints import SomeScaling

    OpenArray: TypeAlias = Callable[[str], NpyStream]

FLOAT = 8  # bytes, at most
NAMES = ("class_names", "node_names")
ENTRIES = ("data", "indices", "indptr", "shape")


def load_attributed(
    path: FilePath,
    dtype: FloatDtype = "float32",
    *,
    scaling: SomeScaling = "standard",
    rng: Rng = 0,
) -> Dataset:
    """Return the data set of such a file, transductive, with parts drawn: 60%, 20% and 20%.

    The graph is symmetrised, and self-loops are dropped.

    Parameters
    ----------
    path : str or Path
    dtype : float32 or float64
    scaling : {"standard", "rows", "none"} or (mean, std)
        See `load_dataset`.
    rng : int, numpy.random.Generator or None
        For the parts.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is damaged or holds anything else; it is named.
    """
    path, dtype = Path(path), require.float_dtype("dtype", dtype)
    with streaming_npz(path, "a graph with attributes") as open_array:
        size = path.stat().st_size
        links, attributes = (_matrix(open_array, name, size) for name in ("adj", "attr"))
        n, width = attributes.shape
        if links.shape != (n, n):
            raise ValueError(f"its adj must have shape ({n}, {n}), got {links.shape}")
        check_growth(f"the features of {n} nodes", n * width * FLOAT, size)
        labels = _array(open_array, "labels", size)
        if labels.shape != (n,) or labels.dtype.kind not in "iu":
            raise ValueError(f"its labels must be {n} integers, got {labels.dtype}")
        classes, nodes = (_names(open_array, path, name) for name in NAMES)
    _warn_of_others(path)
    entries = links.tocoo()
    if (entries.data[entries.row != entries.col] != 1).any():
        warn(f'ignored weights "adj_data" of {path}: a Graph has no weights')
    warn_of_loops(entries.row[entries.row == entries.col], path)
    with naming(path):
        if classes is not None:
            classes = tuple(classes.tolist())
            labels = Encoded(labels, classes)
        graph = as_graph((links.indptr, links.indices), symmetrize=True, self_loops=False)
        return Dataset.from_arrays(
            graph,
            kept_sparse(checked_sparse(attributes.astype(dtype)), scaling),
            labels,
            name=path.stem,
            scaling=scaling,
            dtype=dtype,
            node_names=nodes,
            rng=rng,
            minus_one="unknown",
        )


def _names(open_array: OpenArray, path: Path, name: str) -> NDArray[Any] | None:
    """Return the names that the file has of classes or nodes, None where it has none as text."""
    with zipfile.ZipFile(path) as archive:
        if f"{name}.npy" not in archive.namelist():
            return None
    try:
        names = _array(open_array, name, path.stat().st_size)
    except ValueError:  # Python objects, which nothing here reads
        names = np.empty(0)
    if names.dtype.kind != "U":
        warn(f'ignored "{name}" of {path}: it is no text')
        return None
    return names


def _warn_of_others(path: Path) -> None:
    """Name the arrays of the file that nothing here reads, such as ``idx_to_attr``."""
    read = {"labels", *NAMES, *(f"{name}_{part}" for name in ("adj", "attr") for part in ENTRIES)}
    with zipfile.ZipFile(path) as archive:
        held = {name.removesuffix(".npy") for name in archive.namelist()}
    others = sorted(held - read)
    if others:
        warn(f"ignored {', '.join(map(require.shown, others))} of {path}")


def _matrix(open_array: OpenArray, name: str, size: int) -> sp.csr_array:
    """Return a matrix of which all is checked."""
    data, indices, indptr, shape = (_array(open_array, f"{name}_{part}", size) for part in ENTRIES)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise ValueError(f"its {name}_shape must be two integers from 0")
    rows, columns = shape.tolist()
    indptr, indices = checked_csr(indptr, indices, columns)
    if len(indptr) != rows + 1 or data.shape != indices.shape or data.dtype.kind not in "fiub":
        raise ValueError(f"its {name} must have {rows} rows, and a number for each entry")
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if data.dtype == np.float16:  # which SciPy does not take
        data = data.astype(np.float32)
    return sp.csr_array((data, indices, indptr), shape=(rows, columns))


def _array(open_array: OpenArray, name: str, size: int) -> NDArray[Any]:
    stream = open_array(name)
    check_growth(name, stream.left * stream.dtype.itemsize, size)
    if len(stream.shape) != 1:
        raise ValueError(f"its {name} must be 1-D")
    return stream.take(stream.left)
