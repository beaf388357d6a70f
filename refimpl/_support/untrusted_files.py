"""Reading files that strangers may have written: .npy and .npz, and the errors of all others.

What a header promises is compared with what the file holds before memory is taken for it.
Nothing is ever unpickled.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refimpl.hints import FilePath

LEAST_LIMIT, GROWTH = 2**28, 100
OFFSET = 8  # bytes, of a row of a graph
MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000  # as in NumPy
MOST_DIMENSIONS = 32
CHUNK = 2**20  # bytes read at a time
DTYPE = r"""['"]descr['"]\s*:\s*['"](?P<descr>[^'"\\]{1,20})['"]"""
ORDER = r"""['"]fortran_order['"]\s*:\s*(?P<order>True|False)"""
SHAPE = r"""['"]shape['"]\s*:\s*\((?P<shape>(?:\s*\d{1,19}L?\s*,)*(?:\s*\d{1,19}L?\s*)?)\)"""
PAIR = re.compile(rf"\s*(?:{DTYPE}|{ORDER}|{SHAPE})\s*(?:,|$)")
NUMBERS = re.compile(r"[<>|=]?(\?|[biufc]\d{1,2}|[SU]\d{1,9})")

Header: TypeAlias = tuple[np.dtype[Any], tuple[int, ...], Literal["C", "F"]]


@contextmanager
def reading(
    path: FilePath, kind: str, wrong: str = "cannot be read as"
) -> Iterator[BufferedReader]:
    """Open `path` to read bytes; any error inside becomes a ValueError that names the file.

    A file that cannot be opened raises as usual (FileNotFoundError, PermissionError); what is no
    ordinary file, such as a pipe, a ValueError.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be an ordinary file")
    with path.open("rb") as file:
        try:
            yield file
        except MemoryError as error:
            raise MemoryError(f"{path} takes more memory than there is") from error
        except Exception as error:  # broken files raise almost anything in the readers below
            ours = type(error) in (ValueError, TypeError)
            reason = str(error) if ours else f"{type(error).__name__}: {error}"
            raise ValueError(f"{path} {wrong} {kind}: {reason}") from error


@contextmanager
def naming(path: FilePath) -> Iterator[None]:
    """Put the name of a file before the text of a ValueError or TypeError inside.

    A text that begins with the name of a file with an ending keeps the one it has. An
    OverflowError, of a number in the file that is too large, becomes a ValueError.
    """
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        named = Path(path).suffix and str(error).startswith(str(path))  # no argument has an ending
        raise kind(str(error) if named else f"{path}: {error}") from error


def real_name(path: FilePath) -> str:
    """Return the name of a file or folder where links to it are followed, "" for a root."""
    return Path(os.path.realpath(path)).name


def has_ending(path: FilePath, *endings: str) -> bool:
    """Say whether a path has one of these endings, in either case, and is no folder."""
    return str(path).lower().endswith(endings) and not Path(path).is_dir()


def size_of(file: IO[bytes]) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(file.fileno()).st_size


def check_growth(what: str, count: int, size: int) -> None:
    """Raise ValueError if `count` bytes for `what` are too many for `size` bytes read.

    256 MiB are never too many, nor is 100 times the size.
    """
    most = max(LEAST_LIMIT, GROWTH * size)
    if count > most:
        raise ValueError(f"{what} would take {count} bytes, at most {most} for {size} in the file")


def check_nodes(n: int, size: int) -> None:
    """Raise ValueError if a graph of `n` nodes is too large for `size` bytes read."""
    check_growth(f"a graph of {n} nodes", n * OFFSET, size)


def read_npy(file: IO[bytes]) -> NDArray[Any]:
    """Return the array in an open .npy file; nothing may stand behind it."""
    return _array(file, size_of(file))


def map_npy(file: IO[bytes]) -> Any:
    """Return the array in an open .npy file, mapped into memory, read-only."""
    dtype, shape, order = _header(file, size_of(file))
    if 0 in shape or not dtype.itemsize:  # there is nothing to map
        return np.zeros(shape, dtype, order)
    return np.memmap(file, dtype, "r", file.tell(), shape, order)


def read_npz(file: IO[bytes]) -> dict[str, Any]:
    """Return the arrays in an open .npz file by their names."""
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        check_growth("its arrays", sum(member.file_size for member in members), size_of(file))
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"it holds {name!r:.40} twice")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{name!r:.40} is compressed in another way than NumPy's")
            with archive.open(member) as content:
                try:
                    arrays[name] = _array(content, member.file_size)
                except ValueError as error:
                    raise ValueError(f"{name!r:.40}: {error}") from error
    return arrays


class NpyStream:
    """The array of an open .npy file of `size` bytes, of which some is read at a time.

    Attributes
    ----------
    dtype, shape : dtype, tuple
    order : {"C", "F"}
        In which it is stored, and read.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.dtype, self.shape, self.order = _header(file, size)
        self.file, self.left = file, math.prod(self.shape)

    def take(self, count: int) -> NDArray[Any]:
        """Return the next numbers, 1-D: `count` of them, or as many as there are."""
        flat = np.empty(min(count, self.left), self.dtype)
        _fill(self.file, flat)
        self.left -= flat.size
        if not self.left and self.file.read(1):  # an archive compares its checksum here
            raise ValueError("there are data behind its array")
        return flat

    def skip(self, count: int) -> None:
        """Go past `count` numbers."""
        self.file.seek(count * self.dtype.itemsize, os.SEEK_CUR)
        self.left -= count


@contextmanager
def streaming_npz(path: FilePath, kind: str) -> Iterator[Callable[[str], NpyStream]]:
    """Give a function that opens an array of an .npz file as an NpyStream, anew each time.

    Errors are as in `reading`; one is that an array is far larger than the file: see
    `check_growth`.
    """
    with reading(path, kind) as file, zipfile.ZipFile(file) as archive:

        def open_array(name: str) -> NpyStream:
            try:
                member = archive.getinfo(f"{name}.npy")
            except KeyError:
                raise ValueError(f"it lacks {name}") from None
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{name} is compressed in another way than NumPy's")
            check_growth(name, member.file_size, size_of(file))
            return NpyStream(archive.open(member), member.file_size)

        yield open_array


def _array(file: IO[bytes], size: int) -> NDArray[Any]:
    """Return the array of a .npy file of `size` bytes."""
    dtype, shape, order = _header(file, size)
    flat = np.zeros(math.prod(shape), dtype)
    _fill(file, flat)
    if file.read(1):  # at its end, an archive compares the checksum
        raise ValueError("there are data behind its array")
    return flat.reshape(shape[::-1]).T if order == "F" else flat.reshape(shape)


def _fill(file: Any, flat: NDArray[Any]) -> None:
    """Read an array's data from an open file."""
    left = flat.view(np.uint8).data if flat.nbytes else memoryview(b"")
    while left:
        count = file.readinto(left[:CHUNK])
        if not count:
            raise ValueError("its data end early")
        left = left[count:]


def _header(file: IO[bytes], size: int) -> Header:
    """Return dtype, shape and order of a .npy file of `size` bytes; the data come next."""
    start = file.read(8)
    wide = start[6:] in (b"\2\0", b"\3\0")
    if start[:6] != MAGIC or not (wide or start[6:] == b"\1\0"):
        raise ValueError("it does not begin as a .npy file")
    length_size = 4 if wide else 2
    length = int.from_bytes(file.read(length_size), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"its header is over {LONGEST_HEADER} bytes long")
    dtype, shape, order = _parsed(file.read(length).decode("latin1"))
    promised = math.prod(shape) * dtype.itemsize
    held = size - 8 - length_size - length
    if promised != held:
        raise ValueError(f"its header promises {promised} bytes of data, but there are {held}")
    return dtype, shape, order


def _parsed(header: str) -> Header:
    """Return dtype, shape and order of the text of a header, the Python literal of a dict."""
    header = header.strip()
    inside = header[1:-1].strip()
    pairs = list(PAIR.finditer(inside))
    found = {k: v for pair in pairs for k, v in pair.groupdict().items() if v is not None}
    whole = header[:1] + header[-1:] == "{}" and "".join(pair[0] for pair in pairs) == inside
    if not whole or len(pairs) != 3 or len(found) != 3:
        raise ValueError("its header is damaged, or of another kind of array than numbers")
    if not NUMBERS.fullmatch(found["descr"]):
        raise ValueError(
            f"its dtype is {found['descr']!r}: only numbers and text are read, never objects"
        )
    try:
        dtype = np.dtype(found["descr"])
    except TypeError:
        raise ValueError(f"there is no dtype {found['descr']!r}") from None
    sizes = [int(size) for size in re.findall(r"\d+", found["shape"])]
    if len(sizes) > MOST_DIMENSIONS:
        raise ValueError(f"it has {len(sizes)} dimensions, at most {MOST_DIMENSIONS}")
    return dtype, tuple(sizes), "F" if found["order"] == "True" else "C"
