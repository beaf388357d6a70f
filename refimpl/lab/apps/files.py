"""Files that are there whole or not at all."""

import os
from contextlib import contextmanager
from pathlib import Path


def is_replaceable(path):
    """Say whether a file may be put there: there is nothing, or an ordinary file."""
    return Path(path).is_file() or not Path(path).exists()


@contextmanager
def replacing(path):
    """Give a temporary path beside `path` to write to; rename it to `path` at the end.

    Raises
    ------
    OSError
        If `path` exists and is no ordinary file.
    """
    path = Path(path)
    if not is_replaceable(path):  # a rename would put a file in place of a device, such as null
        raise OSError(f"{path} is no ordinary file")
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder, names):
    """Remove what killed processes left of the files called `names` in `folder`."""
    for name in names:
        for path in Path(folder).glob(f"{name}.*.tmp"):
            path.unlink(missing_ok=True)
