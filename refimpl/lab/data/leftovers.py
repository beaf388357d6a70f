"""Folders of a data set that a killed process left half written or half replaced."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import fcntl
except ImportError:  # not Unix
    fcntl = None  # type: ignore[assignment]

MARK = re.compile(r"(?P<mark>[0-9a-f]{16})(\.old)?\.tmp")


def held(folder: Path) -> int | None:
    """Lock a folder; return the descriptor that does, None where that is not possible.

    The lock ends with the process, however the process ends, or with the descriptor.
    """
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process holds it, or the file system has no locks
        os.close(handle)
        return None
    return handle


def released(handle: int | None) -> None:
    """End the lock of a folder."""
    if handle is not None:
        os.close(handle)


def beside(path: Path, mark: str) -> tuple[Path, Path]:
    """Return where a folder is written that is to be at `path`, and where that of before waits."""
    return path.with_name(f"{path.name}.{mark}.tmp"), path.with_name(f"{path.name}.{mark}.old.tmp")


def remove_leftovers(
    path: Path, resumed: Callable[[Path], bool] | None = None
) -> tuple[Path, int] | None:
    """Remove the folders beside `path` that killed processes left, but for one to be resumed.

    A folder that a process still writes is locked and stays. If a process was killed between its
    two renamings, the folder of before is put back to `path`. Returns the first folder that
    `resumed` is true of, if there is one, and the descriptor that locks it.
    """
    if not path.parent.is_dir():
        return None
    kept: tuple[Path, int] | None = None
    start = f"{path.name}."
    names = [one.name for one in path.parent.iterdir() if one.name.startswith(start)]
    found = filter(None, (MARK.fullmatch(name.removeprefix(start)) for name in names))
    for mark in {one["mark"] for one in found}:
        temporary, old = beside(path, mark)
        handle = held(temporary)
        if handle is None and os.path.lexists(temporary):
            continue
        if old.is_dir() and not os.path.lexists(path):
            old.rename(path)
        if handle is not None and kept is None and resumed is not None and resumed(temporary):
            kept, handle = (temporary, handle), None
        else:
            shutil.rmtree(temporary, ignore_errors=True)  # no link is followed
        shutil.rmtree(old, ignore_errors=True)
        released(handle)
    return kept
