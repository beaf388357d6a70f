"""Features in files, mapped into memory, and how much of them the operating system reads."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import map_npy, reading
from refimpl._support.whole_files import replacing
from refimpl.hints import Features, FilePath

AT_REST = (np.dtype(np.float32), np.dtype(np.float16))


class BytesRead(NamedTuple):
    """Bytes that the operating system read for this process since it began: `io_counters`.

    Not in the papers.

    Attributes
    ----------
    storage : int
        Fetched from storage, page faults of memory-mapped files included; not what was in the
        page cache.
    calls : int
        Returned by calls like read(2), from the page cache too; no page faults.
    """

    storage: int
    calls: int


def io_counters() -> BytesRead | None:
    """Return what the operating system has read for this process, from /proc/self/io.

    A system whose files are not on a disk of its own (some containers) may count nothing. Not in
    the papers.

    Returns
    -------
    BytesRead or None
        None where there is no such file.
    """
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return None
    values = dict(line.split(": ") for line in lines)
    return BytesRead(int(values["read_bytes"]), int(values["rchar"]))


def write_features(path: FilePath, array: Features) -> None:
    """Write features in NumPy's .npy format to `path`: whole or not at all.

    Not in the papers.

    Parameters
    ----------
    path : str or Path
        Taken as it is; no ending is added.
    array : (n, d) float32 or float16 array
        C-contiguous, d from 1.

    Raises
    ------
    TypeError, ValueError
        If `array` is no such array.
    OSError
        If the file cannot be written; the one of before is whole then.
    """
    path, array = require.path("path", path), matrix("array", array)
    with replacing(path) as file:
        np.save(file, array, allow_pickle=False)


def open_features(path: FilePath, *, readahead: bool = False) -> np.memmap:
    """Map the features of a file of `write_features` into memory, read-only.

    Not in the papers. Rows are in the order of the file; ``feature_rows.npy`` beside the features
    of a packed folder has the row of each node.

    Parameters
    ----------
    path : str or Path
    readahead : bool
        Whether the system may read what stands around a row that is read: faster for most rows
        of a file, many times the bytes for few.

    Returns
    -------
    numpy.memmap
        Or an array in memory, if the file has no rows.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError, TypeError
        If it is damaged, or holds no features.
    MemoryError
        If it takes more memory than there is; it is named.
    """
    path = require.path("path", path)
    require.switch("readahead", readahead)
    if not path.is_file():
        raise FileNotFoundError(f"no features at {path}")
    with reading(path, "a whole file of features", "is not") as file:
        array = map_npy(file)
    try:
        matrix("array", array)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path} holds no features: {error}") from error
    if not readahead and isinstance(array.base, mmap.mmap) and hasattr(mmap, "MADV_RANDOM"):
        array.base.madvise(mmap.MADV_RANDOM)
    return array


def still_whole(X):
    """Return X, or raise if it is mapped from a file that has become shorter since.

    To read a page behind the end of its file ends a process. Of a file that becomes shorter after
    this look at it, nothing can be said.

    Raises
    ------
    OSError
    """
    begin, name, mapping = 0, None, X
    while isinstance(mapping, np.ndarray):
        if isinstance(mapping, np.memmap):
            begin = mapping.offset - mapping.offset % mmap.ALLOCATIONGRANULARITY
            name = mapping.filename
        mapping = mapping.base
    if isinstance(mapping, mmap.mmap):
        size, end = mapping.size(), begin + len(mapping)
        if size < end:
            raise OSError(f"{name} was {end} bytes long when it was opened, and now is {size}")
    return X


def matrix(name, value, like=None, dtypes=AT_REST):
    """Return `value` if it holds features, of the dtype and width of `like`, or raise.

    What is returned has the same memory, and is no other subclass of an array than numpy.memmap.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be arrays, got {type(value).__name__}")
    if type(value) is not np.memmap:
        mapped = np.memmap in type(value).__mro__
        value = np.ndarray.view(value, np.memmap) if mapped else require.array(name, value)
    if value.dtype not in dtypes:
        accepted = " or ".join(map(str, dtypes))
        raise TypeError(f"{name} must be {accepted}, got {value.dtype}")
    if value.ndim != 2 or value.shape[1] == 0:
        raise ValueError(f"{name} must have shape (any, at least 1), got {value.shape}")
    if not require.is_plain(value):
        raise ValueError(f"{name} must be C-contiguous and aligned")
    if like is not None and (value.dtype, value.shape[1]) != (like.dtype, like.shape[1]):
        raise ValueError(
            f"{name} must be alike: {like.dtype} of width {like.shape[1]} and "
            f"{value.dtype} of width {value.shape[1]}"
        )
    return value
