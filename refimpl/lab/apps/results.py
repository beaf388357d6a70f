"""Folders and files of results: one run at a time, and no result replaced unasked."""

from __future__ import annotations

import argparse
import errno
import os
import platform
import re
import stat
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from refimpl._support.whole_files import mark, remove_leftovers
from refimpl.lab.apps.errors import UserError, user_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from refimpl.hints import FilePath

try:
    import fcntl
except ImportError:  # not Unix
    fcntl = None  # type: ignore[assignment]

LOCK = ".minibatch-gnn.lock"
SIGNATURE = re.compile(r"(?:(?P<holder>\d+ on [^\n]*)\n(?:(?P<mark>[0-9a-f]{16})\n)?)?")
ATTEMPTS = 1000
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # of a file system, such as some Lustre


def output_name(text: str) -> str:
    """Return the name of a file or folder to write, as it was typed."""
    if not text:
        raise argparse.ArgumentTypeError("must name a file or folder, got ''")
    return text


def add_overwrite(parser: argparse._ActionsContainer, what: str) -> None:
    """Give the parser of a command ``--overwrite``; `what` is what it replaces."""
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help=f"replace {what} (default: off; existing results are an error)",
    )


def check_free(path: FilePath | None, overwrite: bool) -> None:
    """Refuse to replace a file of results, unless asked to; None: there is no file to write."""
    if path is None or overwrite:
        return
    if Path(path).is_file() or Path(path).is_symlink():  # a link is a user's, wherever it leads
        raise UserError(f"the file {path} already exists: give --overwrite to replace it")


def check_place(out: Path) -> None:
    """Refuse a file to write that is a folder, or is in no folder."""
    if out.is_dir():
        raise UserError(f"--out must be a file, but {out} is a folder")
    if not out.parent.is_dir():
        raise UserError(f"--out must be in a folder that exists, but {out.parent} does not")


@contextmanager
def results_in(
    folder: Path,
    names: Sequence[str],
    *,
    keep: bool,
    inside: Sequence[str] = (),
    instead: str = "--overwrite to replace it",
) -> Iterator[None]:
    """A block that alone writes the files called `names` in `folder`, which is made if need be.

    Parameters
    ----------
    folder : Path
    names : tuple of str
    keep : bool
        Whether to refuse to replace one of them.
    inside : tuple of str
        Folders in `folder` to which the block writes too.
    instead : str
        What the user is told to give then.

    Raises
    ------
    UserError
        If another process is writing there, there is a result to keep, or no such folder can be.
    """
    if folder.is_file():  # one look: another run may make and remove it meanwhile
        raise UserError(f"--out must be a folder, but {folder} is a file")
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        with user_errors():
            lock = _lock(folder, inside)
        try:
            _check_results(folder, names if keep else (), instead)
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()  # while it is held: see _lock
            os.close(lock)
    finally:
        for one in made:
            with suppress(OSError):  # it holds results
                one.rmdir()


def _check_results(folder: Path, names: Sequence[str], instead: str) -> None:
    """Refuse a folder that holds one of the files."""
    there = [name for name in names if os.path.lexists(folder / name)]
    if there:
        raise UserError(
            f"--out {folder} already has a result ({', '.join(there)}): give {instead}, or another "
            "folder as --out"
        )


def _lock(folder: Path, inside: Sequence[str]) -> int:
    """Make the folder and lock it; return the open file of the lock.

    The lock is the system's, so it ends with the process, however the process ends. A file that a
    killed process leaves is locked again, and the temporary files of that process are removed.
    Whoever holds the lock removes its file: a lock on a file that is no longer in the folder
    counts for nothing.
    """
    path = folder / LOCK
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = _open_lock(path)
        except (FileNotFoundError, FileExistsError):  # another run, on ending, removes the folder
            if attempts_left:
                continue
            raise
        try:
            locked = _hold(handle, folder)
            if _is_at(path, handle):
                signed = _signature_in(path, handle)
                if locked and signed["mark"]:  # a process that is dead: the lock was free
                    for place in (folder, *(folder / name for name in inside)):
                        remove_leftovers(place, signed["mark"])
                _sign(path, handle)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise UserError(f"--out {folder} is in use by other runs: give another folder as --out")


def _open_lock(path: Path) -> int:
    """Open the file of a lock, which is made where there is none; no link is followed."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    with suppress(FileExistsError):
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
    if path.is_symlink():  # on Windows there is no O_NOFOLLOW
        raise UserError(f"{path} must be a run's lock file, but is a link: remove it")
    return os.open(path, flags)


def _signature_in(path: Path, handle: int) -> re.Match[str]:
    """Return what the last holder wrote, a match of SIGNATURE.

    Raises
    ------
    UserError
        If no run has made the file, or the file has another name too.
    """
    found, signed = os.fstat(handle), None
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        signed = SIGNATURE.fullmatch(_text(handle))
    if signed is None:
        raise UserError(
            f"{path} must be a run's lock file, and is not: move it away, or give another --out"
        )
    return signed


def _text(handle: int) -> str:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, 1000).decode(errors="replace")


def _sign(path: Path, handle: int) -> None:
    """Write into the file of the lock who holds it; remove it where that fails."""
    try:
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, f"{os.getpid()} on {platform.node()}\n{mark()}\n".encode())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _hold(handle: int, folder: Path) -> bool:
    """Take the lock and return True, or raise; where there are no locks, say so, return False."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except BlockingIOError:
        raise UserError(
            f"--out {folder} is in use by another run, process {_holder(handle)}: wait for its "
            "end, or give another folder as --out"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    print(f"note: no locks here; do not start another run in {folder}", file=sys.stderr)
    return False


def _holder(handle: int) -> str:
    """Return who holds the lock, by what it wrote; it may be about to."""
    for _ in range(100):
        signed = SIGNATURE.fullmatch(_text(handle))
        if signed is not None and signed["holder"]:
            return signed["holder"]
        time.sleep(0.01)
    return "unknown"


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is the one at `path`; a link there is another file."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
