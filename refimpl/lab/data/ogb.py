"""Raw folders of the Open Graph Benchmark (Hu et al. 2020), such as ogbn-arxiv's.

    raw/edge.csv.gz             or, in raw/data.npz, edge_index (2, k)
    raw/num-node-list.csv.gz    num_nodes_list: one number, as there is one graph
    raw/node-feat.csv.gz        node_feat (n, f)
    raw/node-label.csv.gz       or, in raw/node-label.npz, node_label (n, 1), NaN where unknown
    split/KIND/train.csv.gz     also valid.csv.gz and test.csv.gz: a node a line

The text files have no titles; one that ends in .csv is read as well. What is large is read in
blocks.
"""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import (
    check_growth,
    check_nodes,
    naming,
    reading,
    real_name,
    size_of,
    streaming_npz,
)
from refimpl._support.user_warnings import warn
from refimpl.graph import from_edges
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import IO

    from numpy.typing import DTypeLike, NDArray

    from refimpl._support.untrusted_files import NpyStream
    from refimpl.hints import FilePath, Positions

TEXT, BINARY = ("edge", "num-node-list", "node-feat", "node-label"), ("data.npz", "node-label.npz")
READ = {"edge_index", "node_feat", "node_label", "num_nodes_list", "num_edges_list"}
FILES = {"train": "train", "val": "valid", "test": "test"}
ROWS, NUMBERS = 2**16, 2**20  # read at a time, at most
CHARACTERS = 2**22  # read at a time, about
LOOKED_AT = 2**20  # bytes of text
TEXT_KIND = "numbers separated by commas"
KEPT = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))


def ogb_dataset(cls: Any, folder: FilePath, split: str | None, options: Mapping[str, Any]) -> Any:
    """Return what `Dataset.from_ogb` does."""
    found = OgbFolder(folder, split)
    blocks = list(found.edges())
    none = np.empty(0, np.int64)
    with naming(found.edges_path):
        u, v = (np.concatenate([none, *(block[i] for block in blocks)]) for i in (0, 1))
        warn_of_loops(u[u == v], found.edges_path)
        graph = from_edges(u, v, found.n, symmetrize=True, self_loops=False)
    labels = np.concatenate(list(classes_of(found.labels_path, found.labels())))
    options = {"name": real_name(folder), "minus_one": "unknown", **options}
    parts = {part: found.part(part) for part in FILES}
    return cls.from_arrays(
        graph, np.concatenate(list(found.features())), labels, **parts, **options
    )


def is_ogb(folder: FilePath) -> bool:
    """Say whether a folder has the files of one of the two layouts."""
    raw = Path(folder) / "raw"
    return (raw / BINARY[0]).is_file() or _text_file(raw, TEXT[0]) is not None


class OgbFolder:
    """What a raw folder holds, read when it is asked for.

    Parameters
    ----------
    folder : str or Path
    split : str, optional
        Which folder in ``split``. Default: the only one.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged, or there are several graphs or splits; it is named.
    """

    def __init__(self, folder: FilePath, split: str | None = None) -> None:
        self.folder, self.raw = Path(folder), Path(folder) / "raw"
        self.binary = (self.raw / BINARY[0]).is_file()
        self.edges_path = self.raw / BINARY[0] if self.binary else self._path(TEXT[0])
        self.features_path = self.edges_path if self.binary else self._path(TEXT[2])
        self.labels_path = self.raw / BINARY[1] if self.binary else self._path(TEXT[3])
        self.n = self._nodes()
        held = {self.edges_path, self.features_path, self.labels_path}
        size = sum(path.stat().st_size for path in held)
        with naming(self.raw):
            check_nodes(self.n, size)
        self.split = self._split(split)
        self.width, self.dtype = self._features()
        self._warn_of_others()

    def edges(self) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield the edges, once each, in blocks: two integer arrays of one length."""
        if not self.binary:
            for block in text_blocks(self.edges_path, np.int64, 2):
                yield block[:, 0], block[:, 1]
            return
        with self._arrays() as open_array:
            first = open_array("edge_index")
            if len(first.shape) != 2 or first.shape[0] != 2 or first.dtype.kind not in "iu":
                raise ValueError("edge_index must be integers of shape (2, any)")
            if first.order == "F":
                while first.left:
                    pairs = first.take(2 * NUMBERS).reshape(-1, 2)
                    yield pairs[:, 0], pairs[:, 1]
                return
            second = open_array("edge_index")
            second.skip(second.shape[1])
            while second.left:
                yield first.take(min(NUMBERS, second.left)), second.take(NUMBERS)

    def expected(self) -> int:
        """Return how many edges there are, about."""
        if not self.binary:
            return lines_about(self.edges_path)
        with self._arrays() as open_array:
            return open_array("edge_index").left // 2

    def features(self) -> Iterator[NDArray[Any]]:
        """Yield the features in blocks of rows: (any, f) arrays of `dtype`."""
        if not self.binary:
            yield from text_blocks(self.features_path, np.float32, self.width, self.n)
            return
        with self._arrays() as open_array:
            stream = open_array("node_feat")
            while stream.left:
                rows = stream.take(self.width * max(1, NUMBERS // self.width))
                yield rows.reshape(-1, self.width).astype(self.dtype, copy=False)

    def labels(self) -> Iterator[NDArray[Any]]:
        """Yield the labels in blocks of rows: (any, columns) numbers, perhaps with NaN."""
        if not self.binary:
            yield from text_blocks(self.labels_path, np.float64, most=self.n)
            return
        with self._arrays(self.labels_path) as open_array:
            stream = open_array("node_label")
            if len(stream.shape) not in (1, 2) or stream.dtype.kind not in "fiu":
                raise ValueError("node_label must be numbers of shape (nodes, any)")
            columns = stream.shape[1] if len(stream.shape) == 2 else 1
            if stream.order == "F" and columns > 1:
                raise ValueError("node_label must be stored row by row")
            if not columns:
                raise ValueError("node_label must have a column")
            while stream.left:
                yield stream.take(columns * max(1, NUMBERS // columns)).reshape(-1, columns)

    def part(self, name: str) -> Positions:
        """Return the nodes of "train", "val" or "test"."""
        path = self.split / f"{FILES[name]}.csv.gz"
        path = path if path.exists() else path.with_suffix("")
        blocks = [block[:, 0] for block in text_blocks(path, np.int64, 1, self.n)]
        return np.concatenate(blocks) if blocks else np.empty(0, np.int64)

    def _path(self, name: str) -> Path:
        """Return the text file of a name; where there is none, what it should be called."""
        return _text_file(self.raw, name) or self.raw / f"{name}.csv.gz"

    def _nodes(self) -> int:
        if self.binary:
            with self._arrays() as open_array:
                counts = open_array("num_nodes_list").take(2)
        else:
            path = self._path(TEXT[1])
            counts = next(text_blocks(path, most=1), np.empty(0, np.int64)).ravel()
        if counts.size != 1 or counts.dtype.kind not in "iu" or counts[0] < 1:
            raise ValueError(f"{self.raw} must have one graph, with the number of its nodes")
        return int(counts[0])

    def _split(self, name: str | None) -> Path:
        if name is not None:
            return self.folder / "split" / name
        kinds = sorted(path for path in self.folder.glob("split/*") if path.is_dir())
        if len(kinds) != 1:
            names = ", ".join(path.name for path in kinds) or "none"
            raise ValueError(f"{self.folder / 'split'}: give one as split, there are {names}")
        return kinds[0]

    def _features(self) -> tuple[int, np.dtype[Any]]:
        """Return the width of the features, and the dtype that they are kept in."""
        if not self.binary:
            first = next(text_blocks(self.features_path, np.float32, rows=1), None)
            if first is None:
                raise ValueError(f"{self.features_path} must have a line for each node")
            return first.shape[1], np.dtype(np.float32)
        with self._arrays() as open_array:
            stream = open_array("node_feat")
            if len(stream.shape) != 2 or stream.dtype.kind not in "fiu" or 0 in stream.shape:
                raise ValueError("node_feat must be numbers of shape (nodes, at least 1)")
            if stream.order == "F" and 1 not in stream.shape:
                raise ValueError("node_feat must be stored row by row")
            kept = stream.dtype.newbyteorder("=")
            return stream.shape[1], kept if kept in KEPT else np.dtype(np.float32)

    def _warn_of_others(self) -> None:
        """Name the files and arrays that nothing here reads, such as ``node_year``."""
        if self.binary:
            found = {*self.raw.glob("*.npz")} - {self.edges_path, self.labels_path}
            others = {path.name for path in found}
            for path in (self.edges_path, self.labels_path):
                kind = "an archive of numpy.savez"
                with reading(path, kind) as file, zipfile.ZipFile(file) as archive:
                    others |= {name.removesuffix(".npy") for name in archive.namelist()} - READ
        else:
            names = {path.name.partition(".")[0] for path in self.raw.glob("*.csv*")}
            others = names - {*TEXT, "num-edge-list"}
        if others:
            warn(f"ignored {', '.join(map(require.shown, sorted(others)))} of {self.raw}")

    def _arrays(
        self, path: Path | None = None
    ) -> AbstractContextManager[Callable[[str], NpyStream]]:
        return streaming_npz(path or self.edges_path, "an archive of numpy.savez")


def text_blocks(
    path: Path,
    dtype: DTypeLike = np.int64,
    columns: int | None = None,
    most: int | None = None,
    rows: int = ROWS,
) -> Iterator[NDArray[Any]]:
    """Yield the lines of a file of comma-separated numbers without titles, in blocks of rows.

    Parameters
    ----------
    path : Path
        Compressed by gzip if it ends in .gz.
    dtype : dtype
    columns : int, optional
        How many there must be. Default: as many as in the first line.
    most : int, optional
        How many lines there may be.
    rows : int
        In a block, at most.

    Yields
    ------
    (any, columns) array

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, it holds anything else, or its numbers take far more than its
        size, see `check_growth`; it is named.
    """
    with reading(path, TEXT_KIND) as file:
        size, taken, count = size_of(file), 0, 0
        if path.suffix == ".gz":
            file = gzip.open(file)  # noqa: SIM115 (it holds nothing that has to be closed)
        while block := _lines(file, rows):
            numbers = np.loadtxt(block, dtype, comments=None, delimiter=",", ndmin=2)
            columns = numbers.shape[1] if columns is None else columns
            if numbers.shape != (len(block), columns):
                raise ValueError(f"each line must have {columns} numbers")
            taken, count = taken + numbers.nbytes, count + len(numbers)
            check_growth("its numbers", taken, size)
            if most is not None and count > most:
                raise ValueError(f"it must have at most {most} lines")
            yield numbers


def lines_about(path: Path, kind: str = TEXT_KIND) -> int:
    """Return how many lines a file of text has, about: judged by its beginning."""
    with reading(path, kind) as file:
        opened = gzip.open(file) if path.suffix.lower() == ".gz" else file  # noqa: SIM115
        lines = opened.read(LOOKED_AT).count(b"\n")
        return size_of(file) * max(lines, 1) // max(file.tell(), 1)


def _lines(file: IO[bytes] | gzip.GzipFile, rows: int) -> list[bytes]:
    """Return the next lines of a file: so many, or fewer if they are long."""
    lines: list[bytes] = []
    size = 0
    while len(lines) < rows and size < CHARACTERS:
        line = file.readline(CHARACTERS)
        if not line:
            break
        if len(line) == CHARACTERS or not line.strip():
            raise ValueError("a line is empty, or too long")
        lines.append(line)
        size += len(line)
    return lines


def _text_file(raw: Path, name: str) -> Path | None:
    paths = (raw / f"{name}.csv.gz", raw / f"{name}.csv")
    return next((path for path in paths if path.is_file()), None)


def classes_of(path: Path, blocks: Iterable[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield blocks of labels as a data set has them.

    One column: int32 classes, -1 where there was NaN. Several: int8 rows of 0 and 1.
    """
    for block in blocks:
        if block.shape[1] == 1:
            numbers, low, high = np.nan_to_num(block[:, 0], nan=-1), -1, 2**31 - 1
        else:
            numbers, low, high = block, 0, 1
        fits = (numbers >= low) & (numbers <= high)  # not of NaN
        if not np.all(fits) or np.any(numbers != np.floor(numbers)):
            what = "0 or 1" if block.shape[1] > 1 else "classes from 0 on, or NaN"
            raise ValueError(f"{path} must hold {what}")
        yield numbers.astype(np.int32 if block.shape[1] == 1 else np.int8)
