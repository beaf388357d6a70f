"""Archives of named arrays with JSON data beside them, in NumPy's .npz format."""

import json
import os
import zipfile
import zlib
from contextlib import contextmanager

import numpy as np

from refimpl import _check

DAMAGE = (  # what NumPy, zipfile and json raise on a damaged file
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    OSError,
    RuntimeError,  # and NotImplementedError, which is one
    zipfile.BadZipFile,
    zlib.error,
)


def write_npz(path, meta, arrays):
    """Write arrays by name, and JSON data as ``meta``, to `path`: whole or not at all."""
    path = _check.path("path", path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, meta=json.dumps(meta), **arrays)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
    path = _check.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"no {what} at {path}")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "meta"}
            meta = json.loads(file["meta"].item())
        yield meta, arrays
    except DAMAGE as error:
        raise ValueError(f"{path} is not a whole {what}: {error}") from error
