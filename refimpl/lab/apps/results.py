"""Folders and files of results: one run at a time, and no result replaced unasked."""

import errno
import os
import platform
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from refimpl._files import remove_leftovers
from refimpl.lab.apps.errors import UserError, user_errors

try:
    import fcntl
except ImportError:  # not Unix
    fcntl = None  # type: ignore[assignment]

LOCK = ".minibatch-gnn.lock"
ATTEMPTS = 1000
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)  # of a file system, such as some Lustre


def add_overwrite(parser, what):
    """Give the parser of a command ``--overwrite``; `what` is what it replaces."""
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help=f"replace {what} (default: off, an error says what is there)",
    )


def check_free(path, overwrite):
    """Refuse to replace a file of results, unless asked to; None: there is no file to write."""
    if path is not None and Path(path).is_file() and not overwrite:
        raise UserError(f"{path} is there already: give --overwrite to replace it")


@contextmanager
def results_in(folder, names, *, keep, working=(), instead="--overwrite to replace it"):
    """A block that alone writes the files called `names` in `folder`, which is made if need be.

    Parameters
    ----------
    folder : Path
    names : tuple of str
    keep : bool
        Whether to refuse to replace one of them.
    working : tuple of str
        Other files, which last no longer than the block: those of a killed process are removed.
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
            lock = _lock(folder)
        try:
            _check_results(folder, names if keep else (), instead)
            with user_errors():
                remove_leftovers(folder, (*names, *working))
                for name in working:
                    (folder / name).unlink(missing_ok=True)
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()  # while it is held: see _lock
            os.close(lock)
    finally:
        for one in made:
            with suppress(OSError):  # it holds results
                one.rmdir()


def _check_results(folder, names, instead):
    """Refuse a folder that holds one of the files."""
    there = [name for name in names if (folder / name).is_file()]
    if there:
        raise UserError(
            f"{folder} holds a result already ({', '.join(there)}): give {instead}, or another "
            "folder as --out"
        )


def _lock(folder):
    """Make the folder and lock it; return the open file of the lock.

    The lock is the system's, so it ends with the process, however that ends; the file that a
    killed process leaves is locked again. The file is removed by whoever holds it: one that is
    locked and no longer the one in the folder counts for nothing.
    """
    path = folder / LOCK
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except (FileNotFoundError, FileExistsError):  # another run, on ending, removes the folder
            if attempts_left:
                continue
            raise
        try:
            _hold(handle, folder)
            if _is_at(path, handle):
                _sign(path, handle)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise UserError(f"{folder} is in use by other runs: give another folder as --out")


def _sign(path, handle):
    """Write into the file of the lock who holds it; remove it where that fails."""
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()} on {platform.node()}\n".encode())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _hold(handle, folder):
    """Take the lock, or raise; where there are no locks, say so and go on."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    except BlockingIOError:
        raise UserError(
            f"{folder} is in use by another run, process {_holder(handle)}: wait for its end, or "
            "give another folder as --out"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    print(f"note: no locks here; nothing keeps another run out of {folder}", file=sys.stderr)


def _holder(handle):
    """Return what the holder of the lock wrote; it may be about to."""
    for _ in range(100):
        text = os.pread(handle, 200, 0).decode(errors="replace").strip()
        if text:
            return text
        time.sleep(0.01)
    return "unknown"


def _is_at(path, handle):
    """Whether the open file is the one that stands at `path`."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
