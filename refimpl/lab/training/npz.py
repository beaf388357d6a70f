"""Archives of named arrays with JSON data beside them, in NumPy's .npz format."""

import json
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from refimpl._files import replacing

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
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no {what} at {path}")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "meta"}
            meta = json.loads(file["meta"].item())
        yield meta, arrays
    except DAMAGE as error:
        raise ValueError(f"{path} is not a whole {what}: {error}") from error
