"""Files of NumPy's that grow row by row."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.untrusted_files import MAGIC

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

HEADER = 128  # bytes, as NumPy's own are


class ArrayFile:
    """A .npy file that grows row by row, with a checksum of its data.

    Parameters
    ----------
    path : Path
        Of a file that is not there.
    dtype : dtype
    tail : tuple of int
        The shape of a row.
    """

    def __init__(self, path: Path, dtype: DTypeLike, tail: tuple[int, ...] = ()) -> None:
        self.path, self.tail, self.rows = Path(path), tuple(tail), 0
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.hash = hashlib.blake2b(digest_size=16)
        self.file = self.path.open("xb")
        self.file.write(bytes(HEADER))

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.file.close()

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
