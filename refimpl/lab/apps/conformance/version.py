"""The version of the test vectors, tied to their bytes by the file ``index.json`` beside them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from refimpl._support.untrusted_files import reading
from refimpl._support.whole_files import replacing

if TYPE_CHECKING:
    from pathlib import Path

# MAJOR: a right answer, or the form of files or of the protocol, changed. MINOR: a kernel or a
# case was added or removed. PATCH: only words changed, so every verdict stays as it is.
VERSION = "1.0.0"
INDEX = "index.json"
SCHEMAS = ("vectors", "protocol", "report")  # of JSON Schema, in the folder schemas
FORMAT = "minibatch-gnn-vectors-index/1"


def stored(folder: Path) -> dict[str, Any]:
    """Return the index in a folder as a dict, empty if there is none.

    Raises
    ------
    ValueError
        If the file is no index.
    """
    path = folder / INDEX
    if not path.exists():
        return {}
    with reading(path, "an index of vectors") as file:
        index: dict[str, Any] = json.load(file)
        if not str(index["format"]).startswith(FORMAT.partition("/")[0] + "/"):
            raise ValueError(f"format must be {FORMAT!r}")
    return index


def made(folder: Path, names: set[str]) -> dict[str, str]:
    """Return the index of the files `names` of a folder.

    ``sha256`` is the digest of what ``sha256sum`` prints for these files, in the names' order.
    """
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    lines = "".join(f"{digests[name]}  {name}\n" for name in sorted(names))
    sha256 = hashlib.sha256(lines.encode()).hexdigest()
    return {"format": FORMAT, "version": VERSION, "sha256": sha256}


def complaint(folder: Path, names: set[str]) -> str | None:
    """Return what is wrong with the index of the files `names`, or None; see `stored`."""
    index = stored(folder)
    if index == made(folder, names):
        return None
    if index.get("version") == VERSION:
        return f"{INDEX}: the vectors changed since version {VERSION}: raise VERSION in version.py"
    return f"{INDEX}: want version {VERSION}, got {index.get('version', 'no such file')!s:.40}"


def write(folder: Path, names: set[str]) -> str | None:
    """Write the index; where the vectors changed and `VERSION` did not, return the complaint."""
    if stored(folder).get("version") == VERSION:
        return complaint(folder, names)
    with replacing(folder / INDEX) as file:
        file.write((json.dumps(made(folder, names), indent=1) + "\n").encode())
    return None
