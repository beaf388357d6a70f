"""Files that are there whole or not at all, whatever fails while they are written."""

from __future__ import annotations

import errno
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refimpl.hints import FilePath

# Of a folder: some file systems cannot be asked to keep what they hold.
NO_SYNC = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP)


def is_replaceable(path: FilePath) -> bool:
    """Say whether a file may be put there: there is nothing, or an ordinary file."""
    return Path(path).is_file() or not Path(path).exists()


@contextmanager
def replacing(path: FilePath) -> Iterator[io.BufferedRandom]:
    """Give a new binary file, which stands at `path` once the block has ended without an error.

    The file is on disk before it takes the name, so what is at `path` is always whole: what was
    there before, or all that the block wrote. Only a process that is killed leaves another file
    behind; see `remove_leftovers`. No link is followed: a link at `path` is replaced.

    Raises
    ------
    OSError
        If `path` exists and is no ordinary file, or whatever went wrong in writing; with `path`
        as the file's name.
    """
    path = Path(path)
    if not is_replaceable(path):  # a rename would put a file in place of a device, such as null
        raise OSError(f"{path} is no ordinary file")
    temporary = temporary_beside(path)
    try:  # "x": a file of that name, a link included, is an error
        # Read and write: into a file for writing alone, np.save writes past Python, and a full
        # disk then goes unnoticed or has no error number.
        with io.BufferedRandom(io.FileIO(os.fspath(temporary), "x+")) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.filename not in (None, os.fspath(temporary)):
            raise  # of another file, which the block read
        raise about(path, error) from error
    finally:
        with suppress(OSError):  # on a disk that fails: what went wrong first counts
            temporary.unlink(missing_ok=True)


def sync_folder(folder: FilePath) -> None:
    """Make the names in a folder last through a loss of power, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise OSError(error.errno, error.strerror) from error


def about(path: FilePath, error: OSError) -> OSError:
    """Return an OSError as it is, with `path` as its file."""
    if error.errno is None:
        return OSError(f"{path}: {error}")
    return OSError(error.errno, error.strerror, str(path))


def temporary_beside(path: Path) -> Path:
    """Return a new name for a temporary file of this process in the folder of `path`."""
    return path.with_name(f"{path.name}.{mark()}.{secrets.token_hex(4)}.tmp")


def mark() -> str:
    """Return 16 random hexadecimal digits that the names of this process's temporary files bear.

    A run notes its mark in the lock of its folder. The next run can then tell the leftovers of a
    killed run from a user's files: see `remove_leftovers`.
    """
    return _mark_of(os.getpid())  # a fork has a mark of its own


@cache
def _mark_of(_pid: int) -> str:
    return secrets.token_hex(8)


def remove_leftovers(folder: Path, mark: str) -> None:
    """Remove the temporary files in `folder` that a dead process left.

    Parameters
    ----------
    folder : Path
    mark : str
        What `mark` returned in that process. Files without it are not touched.
    """
    for path in folder.glob(f"*.{mark}.*.tmp"):
        path.unlink(missing_ok=True)
