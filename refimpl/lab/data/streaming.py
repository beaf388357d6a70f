"""What `convert` takes from a data set that is larger than memory: its parts, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refimpl._support.untrusted_files import check_nodes, real_name, streaming_npz
from refimpl.lab.data.graphsaint import (
    PARTS,
    read_features,
    read_labels,
    read_roles,
    warn_of_weights,
)
from refimpl.lab.data.ogb import OgbFolder, classes_of, lines_about
from refimpl.lab.data.preparation import kept_dtype
from refimpl.lab.data.splits import drawn_parts
from refimpl.lab.data.table_files import EdgeTable, NodeTable
from refimpl.lab.data.typed import FILES

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from refimpl._support.untrusted_files import NpyStream
    from refimpl.hints import Absent, FilePath, Positions
    from refimpl.lab.data.sparse_features import DenseRows
    from refimpl.lab.data.tables import Chosen

AT_ONCE = 2**20  # entries


class Edges(NamedTuple):
    """Edges that are read in blocks.

    Attributes
    ----------
    blocks : callable
        Returns an iterator of (u, v), two integer arrays of one length.
    path : Path
        What errors name.
    expected : int
        How many there are, about.
    symmetric : bool
        Whether an edge without its reverse is an error.
    """

    blocks: Callable[[], Iterator[Sequence[NDArray[Any]]]]
    path: Path
    expected: int
    symmetric: bool = False


class Streamed(NamedTuple):
    """A data set whose large parts are read in blocks.

    Attributes
    ----------
    name, setting, class_names, feature_names, node_names
        As of a Dataset.
    n : int
    edges : Edges
    features, labels : callable
        Return an iterator of blocks of rows.
    features_path, labels_path : Path
    width : int
        Of the features.
    kind : dtype
        Of the features, as a Dataset would have them.
    parts : dict or callable
        Of nodes, by name; or what returns them for all labels.
    raw : array or None
        The features as they stand in their file, where that is mapped.
    inner : Edges or None
        Between training nodes, numbered as these are.
    types : Path or None
        The folder of the types of edges and nodes.
    known : array or None
        Which rows of several classes are known.
    """

    name: str
    setting: str
    n: int
    edges: Edges
    features: Callable[[], Iterator[NDArray[Any]]]
    features_path: Path
    width: int
    kind: np.dtype
    labels: Callable[[], Iterator[NDArray[Any]]]
    labels_path: Path
    parts: Any
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    node_names: np.ndarray | None = None
    raw: np.ndarray | Absent = None
    inner: Edges | Absent = None
    types: Path | Absent = None
    known: np.ndarray | None = None


def stream_ogb(folder: FilePath, split: str | None = None) -> Streamed:
    """Return a raw folder of the Open Graph Benchmark as Streamed."""
    found = OgbFolder(folder, split)
    return Streamed(
        name=real_name(folder),
        setting="transductive",
        n=found.n,
        edges=Edges(found.edges, found.edges_path, found.expected()),
        features=found.features,
        features_path=found.features_path,
        width=found.width,
        kind=found.dtype,
        labels=lambda: classes_of(found.labels_path, found.labels()),
        labels_path=found.labels_path,
        parts={name: found.part(name) for name in ("train", "val", "test")},
    )


def stream_graphsaint(folder: FilePath) -> Streamed:
    """Return a GraphSAINT folder as Streamed; its JSON files are read whole."""
    folder = Path(folder)
    full = MatrixFile(folder / "adj_full.npz")
    train, val, test = read_roles(folder / "role.json", full.n)
    labels, known = read_labels(folder / "class_map.json", full.n)
    features = read_features(folder / "feats.npy", full.n)
    inside = MatrixFile(folder / "adj_train.npz")
    for file in (full, inside):
        warn_of_weights(file.path, file.weights())
    if inside.n != full.n:
        raise ValueError(f"{inside.path} must have {full.n} nodes like adj_full.npz")
    typed = (folder / FILES[0]).exists()
    kept = features.dtype in (np.float16, np.float32, np.float64)
    return Streamed(
        name=real_name(folder),
        setting="inductive",
        n=full.n,
        edges=Edges(full.blocks, full.path, full.entries, True),
        features=lambda: in_blocks(features),
        features_path=folder / "feats.npy",
        width=features.shape[1],
        kind=features.dtype if kept else kept_dtype(features, np.float32),
        labels=lambda: in_blocks(labels),
        labels_path=folder / "class_map.json",
        known=known,
        parts={"train": train, "val": val, "test": test},
        raw=features,
        inner=Edges(lambda: inside.between(train), inside.path, inside.entries, True),
        types=folder if typed else None,
    )


def stream_csv(
    edges: FilePath,
    nodes: FilePath,
    rng: int,
    chosen: Chosen,
    titles: str | None = None,
    minus_one: str | None = None,
) -> Streamed:
    """Return two files of separated values as Streamed.

    Names, classes and parts of nodes are held in memory; features and edges are read in blocks.
    """
    table = NodeTable(nodes, chosen, minus_one=minus_one)
    parts = table.parts
    if not parts:
        drawn = drawn_parts(np.flatnonzero(table.labels >= 0), rng)
        parts = dict(zip(("train", "val", "test"), drawn, strict=True))
    edges = Path(edges)
    pairs = EdgeTable(edges, table, chosen, titles).pairs
    return Streamed(
        name=Path(nodes).stem,
        setting="transductive",
        n=len(table.names),
        edges=Edges(pairs, edges, lines_about(edges, "separated values")),
        features=table.features,
        features_path=Path(nodes),
        width=table.width,
        kind=np.dtype(np.float64),
        labels=lambda: in_blocks(table.labels),
        labels_path=Path(nodes),
        parts=parts,
        class_names=table.class_names,
        feature_names=table.feature_names,
        node_names=table.names,
    )


class MatrixFile:
    """A sparse matrix of scipy.sparse.save_npz, its entries read in blocks.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, or it is damaged or not square; it is named.
    """

    def __init__(self, path: FilePath) -> None:
        self.path = Path(path)
        with self._archive() as open_array:
            form = open_array("format").take(1)
            form = form.astype("U8").tolist() if form.dtype.kind in "SU" else []
            if form not in ([known] for known in PARTS):
                raise ValueError(f"its format must be one of {', '.join(PARTS)}, got {form}")
            self.form = form[0]
            shape = open_array("shape").take(3)
            if shape.size != 2 or shape.dtype.kind not in "iu" or shape.min() < 0:
                raise ValueError("its shape must be two integers from 0")
            self.n = int(shape[0])
            if self.n != shape[1]:
                raise ValueError(f"it must be square, got shape {tuple(shape.tolist())}")
            check_nodes(self.n, self.path.stat().st_size)
            first, second, data = map(open_array, (*PARTS[self.form], "data"))
            self.entries = second.left
            rows = self.entries if self.form == "coo" else self.n + 1
            if (first.shape, second.shape, data.shape) != ((rows,), *[(self.entries,)] * 2):
                raise ValueError("its arrays must be 1-D, and as long as its shape says")

    def blocks(self) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield its entries, or those of its transpose: two integer arrays."""
        with self._archive() as open_array:
            first, second = map(open_array, PARTS[self.form])
            if self.form == "coo":
                while second.left:
                    yield first.take(AT_ONCE), second.take(AT_ONCE)
                return
            for rows in rows_of(first, self.entries):
                yield rows, second.take(len(rows))

    def weights(self) -> Iterator[NDArray[Any]]:
        """Yield the data of its entries in blocks, without those of self-loops."""
        with self._archive() as open_array:
            data = open_array("data")
            for u, v in self.blocks():
                yield data.take(len(u))[u != v]

    def between(self, nodes: Positions) -> Iterator[list[Positions]]:
        """Yield the entries, by the places of their ends in `nodes`; raise if one has another."""
        for u, v in self.blocks():
            kept = u != v
            ends = [np.searchsorted(nodes, end[kept]) for end in (u, v)]
            for end, place in zip((u[kept], v[kept]), ends, strict=True):
                other = nodes[np.minimum(place, len(nodes) - 1)] != end
                if other.any():
                    raise ValueError(
                        f"{self.path} must have edges between training nodes only, but node "
                        f"{end[other.argmax()]}, which is not in 'tr' of role.json, has one"
                    )
            yield ends

    def same(self, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
        """Raise ValueError unless it is the CSR matrix of these arrays, as it is stored."""
        message = f"{self.path} must be a CSR matrix without self-loops, its columns ascending"
        if self.form != "csr" or self.entries != len(indices):
            raise ValueError(message)
        with self._archive() as open_array:
            for name, other in zip(PARTS["csr"], (indptr, indices), strict=True):
                stream, at = open_array(name), 0
                while stream.left:
                    block = stream.take(AT_ONCE)
                    if not np.array_equal(block, other[at : at + len(block)]):
                        raise ValueError(message)
                    at += len(block)

    def _archive(self) -> AbstractContextManager[Callable[[str], NpyStream]]:
        return streaming_npz(self.path, "a sparse matrix saved by scipy.sparse.save_npz")


def rows_of(indptr: NpyStream, entries: int) -> Iterator[Positions]:
    """Yield the rows of a CSR matrix's entries in blocks: int64 arrays.

    Parameters
    ----------
    indptr : NpyStream
    entries : int

    Raises
    ------
    ValueError
        Unless `indptr` rises from 0 to `entries`.
    """
    last, row = int(_integers(indptr.take(1))[0]), -1
    fits = last == 0
    while indptr.left and fits:
        ends = _integers(indptr.take(AT_ONCE)).astype(np.int64)
        fits = bool(np.all(np.diff(ends, prepend=last) >= 0) and ends[-1] <= entries)
        begin, last, row = last, int(ends[-1]), row + 1
        for first in range(begin, last, AT_ONCE) if fits else ():
            places = np.arange(first, min(first + AT_ONCE, last))
            yield row + np.searchsorted(ends, places, side="right")
        row += len(ends) - 1
    if not fits or last != entries:
        raise ValueError(f"its indptr must rise from 0 to {entries}")


def _integers(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "iu":
        raise ValueError(f"its indptr must hold integers, got {values.dtype}")
    return values


def in_blocks(array: NDArray[Any] | DenseRows) -> Iterator[NDArray[Any]]:
    """Yield some rows of an array at a time."""
    step = max(1, AT_ONCE // max(1, array[:1].size))
    for first in range(0, len(array), step):
        yield array[first : first + step]


def rows_from(first: int, blocks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield what some blocks of rows have from row `first` on."""
    for block in blocks:
        if first < len(block):
            yield block[first:]
        first = max(first - len(block), 0)
