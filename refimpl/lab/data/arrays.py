"""Files of NumPy's that grow row by row."""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from refimpl._support.untrusted_files import MAGIC
from refimpl.lab.data.journal import Untrusted

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

HEADER = 128  # bytes, as NumPy's own are
AT_ONCE = 2**24  # bytes read together


class ArrayFile:
    """A .npy file that grows row by row, with a checksum of its data.

    Parameters
    ----------
    path : Path
        Of a file that is not there.
    dtype : dtype
    tail : tuple of int
        The shape of a row.
    state : dict, optional
        What `state` returned when a file that is there already had its first rows.

    Raises
    ------
    Untrusted
        If these rows are other ones now.
    """

    def __init__(
        self,
        path: Path,
        dtype: DTypeLike,
        tail: tuple[int, ...] = (),
        state: dict[str, Any] | None = None,
    ) -> None:
        self.path, self.tail, self.rows = Path(path), tuple(tail), 0
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.hash = hashlib.blake2b(digest_size=16)
        self.file: IO[bytes] = self.path.open("xb" if state is None else "r+b")
        self.file.write(bytes(HEADER))
        if state is not None:
            self._resume(state)

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.file.close()

    def _resume(self, state: dict[str, Any]) -> None:
        self.rows = state["at"]
        left = self.rows * math.prod(self.tail) * self.dtype.itemsize
        while left and (data := self.file.read(min(left, AT_ONCE))):
            self.hash.update(data)
            left -= len(data)
        if self.state() != state:
            self.file.close()
            raise Untrusted(f"its file {self.path.name} has changed")
        self.file.truncate(self.file.seek(0, os.SEEK_CUR))

    def state(self) -> dict[str, Any]:
        """Return how many rows there are, and the checksum of their data."""
        return {"at": self.rows, "blake2b": self.hash.hexdigest()}

    def append(self, rows: NDArray[Any]) -> None:
        """Write some rows more, as the file's dtype."""
        rows = np.ascontiguousarray(rows, self.dtype)
        data = rows.reshape(-1).view(np.uint8).data
        self.hash.update(data)
        self.file.write(data)
        self.rows += len(rows)

    def finish(self) -> dict[str, Any]:
        """End the file, on disk; return what meta.json says of it."""
        shape = (self.rows, *self.tail)
        text = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
        room = HEADER - len(MAGIC) - 4
        self.file.seek(0)
        self.file.write(MAGIC + b"\1\0" + room.to_bytes(2, "little"))
        self.file.write(f"{text:<{room - 1}}\n".encode("latin1"))
        self.file.flush()
        os.fsync(self.file.fileno())
        return {
            "file": self.path.name,
            "dtype": self.dtype.str,
            "shape": list(shape),
            "blake2b": self.hash.hexdigest(),
        }
