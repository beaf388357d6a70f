"""Where the rows of a layer's output are kept until the next layer has read them."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from refimpl._support.whole_files import about

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray
    from typing_extensions import Self

    from refimpl.hints import Absent, Ids, Matrix, Sparse

    Places: TypeAlias = NDArray[Any] | slice


class Loaded:
    """The features of some nodes, read when they are asked for; ``load(nodes)`` returns them."""

    def __init__(self, load: Callable[[Ids], Matrix[Any] | Sparse], nodes: Ids) -> None:
        self.load, self.nodes = load, nodes

    def take(self, gnn: ModuleType, at: Places) -> Matrix[Any] | Sparse:
        """Return the rows of the nodes ``nodes[at]``, `at` an array or a slice."""
        return self.load(self.nodes[at])

    def close(self) -> None:
        """Nothing is kept."""


class InMemory:
    """Rows in an array; they are appended one after another, then read."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype, self.filled = shape, dtype, 0
        self.array: Matrix[Any] | Absent = None if shape[0] else np.empty(shape, dtype)

    def append(self, rows: Matrix[Any]) -> None:
        """Add some rows at the end; all of them are kept as they are."""
        if len(rows) == self.shape[0]:
            self.array = rows
            return
        if self.array is None:
            self.array = np.empty(self.shape, self.dtype)
        self.array[self.filled : self.filled + len(rows)] = rows
        self.filled += len(rows)

    def take(self, gnn: ModuleType, at: Places) -> Matrix[Any]:
        """Return the rows at some places, an array or a slice."""
        return self.array[at] if isinstance(at, slice) else gnn.loader.gather_rows(self.array, at)

    def close(self) -> None:
        """Forget the rows."""
        self.array = None


class OnDisk:
    """Rows in a file, which is mapped into memory once all are there.

    They are written as to any file: a map of one that does not fit on the disk is no exception
    but the end of the process.
    """

    def __init__(self, path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype
        self.file = path.open("xb")
        self.array: Matrix[Any] | Absent = None

    def append(self, rows: Matrix[Any]) -> None:
        """Add some rows at the end."""
        try:
            if rows.size:
                self.file.write(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise about(self.path, error) from error

    def take(self, gnn: ModuleType, at: Places) -> Matrix[Any]:
        """Return the rows at some places, an array or a slice."""
        if self.array is None:
            try:
                self.file.close()
            except OSError as error:
                raise about(self.path, error) from error
            self.array = np.memmap(self.path, self.dtype, "r", shape=self.shape)
        return self.array[at] if isinstance(at, slice) else gnn.loader.gather_rows(self.array, at)

    def close(self) -> None:
        """Forget the rows, and remove the file."""
        self.array = None
        with suppress(OSError):  # what could not be written
            self.file.close()
        self.path.unlink(missing_ok=True)


class Scratch:
    """Makes room for rows: in memory, or in files of a folder that goes when the block ends.

    The folder is made in the system's folder for temporary files (TMPDIR), once it is needed.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.made: list[OnDisk] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for rows in self.made:
            rows.close()
        if self.folder is not None:
            self.folder.rmdir()

    def room(
        self, shape: tuple[int, int], dtype: np.dtype[Any], on_disk: bool
    ) -> InMemory | OnDisk:
        """Return room for rows of a shape and dtype."""
        if not on_disk:
            return InMemory(shape, dtype)
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="minibatch-gnn-"))
        rows = OnDisk(self.folder / f"rows{len(self.made)}", shape, dtype)
        self.made.append(rows)
        return rows
