"""Files that are there whole or not at all."""

import os
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path):
    """Give a temporary path beside `path` to write to; rename it to `path` at the end."""
    path = Path(path)
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
