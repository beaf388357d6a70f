"""What a conversion has finished, so that a killed one is resumed: a file in the folder it writes.

Each line names a part, what came of it, and how many bytes each file had; these were on disk
before the line was written. Files only grow, so bytes behind those are cut off on resuming.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.whole_files import sync_folder
from refimpl._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import IO

NAME = "journal.jsonl"
EVERY = 2**28  # bytes written between two lines about one part
ENDS = 2**16  # bytes at either end of an input that its digest is of


class Untrusted(Exception):
    """A file does not hold what the journal says."""


class Journal:
    """The journal of a folder in the making; files that it does not vouch for are removed.

    Parameters
    ----------
    place : Path
    identity : dict
        What `identity_of` returns.

    Attributes
    ----------
    where : str
        From where the conversion is resumed; empty if nothing is finished.
    """

    def __init__(self, place: Path, identity: dict[str, Any]) -> None:
        self.place, self.path, self.since = place, place / NAME, 0
        self.done: dict[str, Any] = {}
        self.begun: dict[str, dict[str, Any]] = {}
        self.dropped: list[Path] = []
        head, *lines = _lines(self.path) or [identity]
        for line in lines:
            (self.done if line["done"] else self.begun)[line["part"]] = line["value"]
        sizes = lines[-1]["files"] if lines else {}
        for path in place.iterdir():
            if path.name in sizes:
                os.truncate(path, sizes[path.name])
            elif path.name != NAME:
                path.unlink()
        with self.path.open("ab") as file:
            if lines:
                file.truncate(sum(len(_line(line)) for line in (head, *lines)))
            else:
                file.truncate(file.write(_line(head)))
        open_ones = [f"{n} from {s['at']:,}" for n, s in self.begun.items() if n not in self.done]
        self.where = ", ".join([*(f"{name} done" for name in self.done), *open_ones])

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returned, which JSON can hold, now or before the kill."""
        if name not in self.done:
            self._note(name, make(), True)
        return self.done[name]

    def state(self, name: str) -> dict[str, Any] | None:
        """Return how far a part was that is not finished."""
        return self.begun.get(name)

    def note(
        self, name: str, size: int, state: Callable[[], dict[str, Any]], files: Iterable[IO[bytes]]
    ) -> None:
        """Note the state of a part that has written `size` bytes more, if these are `EVERY` now."""
        self.since += size
        if self.since >= EVERY:
            synced(files)
            self._note(name, state(), False)

    def drop(self, path: Path) -> None:
        """Remove a file once the next line is written: until then a resumed conversion needs it."""
        self.dropped.append(path)

    def _note(self, part: str, value: Any, done: bool) -> None:
        sync_folder(self.place)
        names = {NAME, *(path.name for path in self.dropped)}
        sizes = {path.name: path.stat().st_size for path in self.place.iterdir()}
        files = {name: size for name, size in sizes.items() if size and name not in names}
        line = _line({"part": part, "value": value, "done": done, "files": files})
        with self.path.open("ab") as file:
            file.write(line)
            synced([file])
        while self.dropped:
            self.dropped.pop().unlink()
        self.since = 0
        if done:
            self.done[part] = _read(line)["value"]


def refused(place: Path, identity: dict[str, Any]) -> str | None:
    """Return why a folder that a conversion left cannot be resumed; None if it can.

    The answer is empty if nothing in it is finished.
    """
    if place.stat().st_uid != os.geteuid():
        return "another user wrote its folder"
    head, *lines = _lines(place / NAME) or [None]
    if not lines:
        return ""
    for kind, what in (("version", "program"), ("arguments", "argument"), ("inputs", "input")):
        if head.get(kind) != identity[kind]:
            old, new = head.get(kind), identity[kind]
            if not (isinstance(old, dict) and isinstance(new, dict)):
                return f"its {what} was another version"
            both = {*old} & {*new}
            names = [key for key in {*old, *new} if key not in both or old[key] != new[key]]
            return f"its {what} {min(names)} was another"
    found = {path.name: path.lstat() for path in place.iterdir()}
    for name, size in lines[-1]["files"].items():
        if name not in found or found[name].st_size < size:
            return f"its file {name} is not whole"
    other = [name for name, facts in found.items() if not S_ISREG(facts.st_mode)]
    return f"its folder holds {other[0]}, which is no file" if other else None


def identity_of(arguments: dict[str, Any], sources: Iterable[Path], target: Path) -> dict[str, Any]:
    """Return what must be equal for a conversion to be resumed.

    Of each file of the sources: size, time of change, and a digest of both ends. What a
    conversion to `target` writes is no input, though it may be in a source's folder.
    """
    plain = json.loads(json.dumps(arguments, default=_plain))
    inputs = {str(path): _facts(path) for source in sources for path in _files(source, target)}
    return {"version": __version__, "arguments": plain, "inputs": inputs}


def synced(files: Iterable[IO[bytes]]) -> None:
    """Put what is written to open files on disk."""
    for file in files:
        file.flush()
        os.fsync(file.fileno())


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def _files(source: Path, target: Path) -> Iterable[Path]:
    if source.is_file():
        yield source
    met = set()
    for folder, folders, names in os.walk(source, followlinks=True):
        if (real := os.path.realpath(folder)) in met:
            folders.clear()
            continue
        met.add(real)
        if real == os.path.realpath(target.parent):
            folders[:] = [n for n in folders if not f"{n}.".startswith(f"{target.name}.")]
        found = (Path(folder, name) for name in names)
        yield from (path for path in found if path.is_file())


def _facts(path: Path) -> list[Any]:
    found = path.stat()
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            digest.update(file.read(ENDS))
            file.seek(max(found.st_size - ENDS, 0))
            digest.update(file.read(ENDS))
    except OSError:  # a file that no format may need
        pass
    return [found.st_size, found.st_mtime_ns, digest.hexdigest()]


def _line(value: dict[str, Any]) -> bytes:
    text = json.dumps(value).encode()
    return b"%s %s\n" % (hashlib.blake2b(text, digest_size=16).hexdigest().encode(), text)


def _read(line: bytes) -> Any:
    """Return what a line holds; None if it is not whole."""
    digest, _, text = line.partition(b" ")
    whole = hashlib.blake2b(text.removesuffix(b"\n"), digest_size=16).hexdigest().encode()
    return json.loads(text) if line.endswith(b"\n") and digest == whole else None


def _lines(path: Path) -> list[Any]:
    """Return the lines of a journal up to the first that is not whole."""
    found: list[Any] = []
    if path.is_file() and not path.is_symlink():
        for line in path.read_bytes().splitlines(keepends=True):
            if (value := _read(line)) is None:
                break
            found.append(value)
    return found
