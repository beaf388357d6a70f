"""Archives of named arrays with JSON data beside them, in NumPy's .npz format."""

import json
from contextlib import contextmanager

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import read_npz, reading
from refimpl._support.whole_files import replacing


def write_npz(path, meta, arrays):
    """Write arrays by name, and JSON data as ``meta``, to `path`: whole or not at all."""
    path = require.path("path", path)
    with replacing(path) as file:
        np.savez(file, meta=json.dumps(meta), **arrays)


@contextmanager
def reading_npz(path, what):
    """Give (meta, arrays) of a file of `write_npz`; nothing in it is ever unpickled.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, or the block finds that it is not a whole `what`.
    """
    path = require.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"no {what} at {path}")
    with reading(path, f"a whole {what}", "is not") as file:
        arrays = read_npz(file)
        meta = arrays.pop("meta", None)
        if meta is None or meta.shape != () or meta.dtype.kind != "U":
            raise ValueError("it has no JSON text as meta")
        yield json.loads(meta.item()), arrays
