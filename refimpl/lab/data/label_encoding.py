"""Classes as people write them, made into integers."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.foreign_graphs import is_missing
from refimpl._support.user_warnings import warn
from refimpl.lab.data.tables import Unclear

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import NDArray

    Place: TypeAlias = Callable[[int], str]

MINUS_ONE = ("unknown", "class")
DOUBTFUL = ("na", "n/a", "nan", "none", "null", "unknown", "?", "-", "-1")  # or words for unknown
LARGEST = 2**63


class Encoded(NamedTuple):
    """Classes as integers, -1 where unknown, and their names (None: they are numbers)."""

    codes: Any
    names: Any


def encoded(
    labels: NDArray[Any],
    minus_one: str | None = None,
    where: str = "labels",
    place: Place = "entry {}".format,
) -> Encoded:
    """Return classes as people write them as Encoded.

    Numbers stay as they are. Numbers written as text are numbered in numeric order, words in
    alphabetical order; both keep their names.

    Parameters
    ----------
    labels : array
        1-D, or rows of 0 and 1.
    minus_one : {"unknown", "class"}, optional
        What -1 is. Default: unknown; where the only numbers are -1 and 1 that is an error.
    where : str
        What errors call the labels.
    place : callable
        Returns what errors call the i-th entry.

    Raises
    ------
    TypeError, ValueError
        If an entry is no class.
    """
    if minus_one is not None:
        require.choice("minus_one", minus_one, MINUS_ONE)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2:
        return Encoded(labels.astype(np.int8) if np.isin(labels, (0, 1)).all() else labels, None)
    if labels.ndim != 1 or labels.dtype.kind not in "iubfOUS":
        raise TypeError(
            f"{where} must be numbers or words, one for each node, got {labels.dtype} of shape "
            f"{labels.shape}"
        )
    if labels.dtype.kind == "b":
        return Encoded(labels, None)
    if labels.dtype.kind not in "OUS":
        return _numbers(labels, minus_one, where, place)
    cells = [_cell(cell) for cell in labels.tolist()]
    known = [cell for cell in cells if not _unknown(cell)]
    if known and all(isinstance(cell, Real) and not isinstance(cell, bool) for cell in known):
        numbers = np.array([np.nan if _unknown(cell) else cell for cell in cells])
        if numbers.dtype == object:
            raise ValueError(f"{where} must be numbers below 2**63")
        return _numbers(numbers, minus_one, where, place)
    numbers = [_number(cell) for cell in cells]
    if all(number is not None for number in numbers):
        return _written_numbers(cells, numbers, minus_one, where, place)
    return _words(cells, where)


def _cell(cell: Any) -> Any:
    """Return a cell as None if it is missing, and text without spaces at its ends."""
    if isinstance(cell, bytes):
        cell = cell.decode()
    return None if is_missing(cell) else cell.strip() if isinstance(cell, str) else cell


def _unknown(cell: object) -> bool:
    return cell is None or cell == ""


def _number(cell: Any) -> float | None:
    """Return what a cell is as a number, NaN where it is empty, None for a word."""
    if _unknown(cell):
        return np.nan
    if isinstance(cell, bool) or not isinstance(cell, str | Real):
        return None
    if isinstance(cell, str) and not written_plainly(cell):
        return None
    kinds: tuple[Callable[[Any], float], ...] = (int, float) if isinstance(cell, str) else (float,)
    for kind in kinds:
        try:
            return kind(cell)
        except ValueError:
            continue
    return None


def written_plainly(text: str) -> bool:
    """Say whether text may be a number: Python also takes 1_0 for 10, and digits of all scripts."""
    return text.isascii() and "_" not in text


def _numbers(numbers: NDArray[Any], minus_one: str | None, where: str, place: Place) -> Encoded:
    """Return the Encoded classes of numbers: these themselves, unless -1 is a class."""
    if numbers.dtype.kind == "u" and numbers.size and int(numbers.max()) >= LARGEST:
        raise ValueError(f"{where} must be below 2**63, got {numbers.max()}")
    known = np.ones(len(numbers), np.bool_)
    if numbers.dtype.kind == "f":
        known = ~np.isnan(numbers)
        bad = known & ~((numbers == np.floor(numbers)) & (np.abs(numbers) < LARGEST))
        if bad.any():
            at = int(bad.argmax())
            raise ValueError(
                f"{where} must be whole numbers or words, but {place(at)} is {numbers[at]}"
            )
        numbers = np.where(known, numbers, -1).astype(np.int64)
    found = numbers[known]
    if numbers.dtype.kind == "u" or not (found == -1).any():
        return Encoded(numbers, None)
    if minus_one == "class":
        names, codes = np.unique(found, return_inverse=True)
        numbers = np.full(len(numbers), -1)
        numbers[known] = codes
        return Encoded(numbers, tuple(map(str, names.tolist())))
    if minus_one is None and set(found.tolist()) == {-1, 1}:
        raise _signs(where)
    return Encoded(numbers, None)


def _signs(where: str) -> Unclear:
    return Unclear(
        f"{where} are -1 and 1 only: -1 can be a class or stand for an unknown one",
        'minus_one="class" or minus_one="unknown"',
        "--minus-one class or --minus-one unknown",
    )


def _written_numbers(
    cells: list[Any], numbers: list[Any], minus_one: str | None, where: str, place: Place
) -> Encoded:
    """Return the classes of numbers in text, in numeric order."""
    for at, number in enumerate(numbers):
        if isinstance(number, float) and number == number and number != np.floor(number):
            raise ValueError(
                f"{where} must be whole numbers or words, but {place(at)} is {cells[at]!r:.40}"
            )
        if number in (np.inf, -np.inf):
            raise ValueError(f"{where} must be finite, but {place(at)} is {cells[at]!r:.40}")
    numbers = [None if number != number else int(number) for number in numbers]
    written: dict[Any, str] = {}
    for at, (cell, number) in enumerate(zip(cells, numbers, strict=True)):
        plain = isinstance(cell, str) and cell.lstrip("+-").isdecimal()  # 007, not 7.0
        text = cell if plain else str(number)
        if written.setdefault(number, text) != text:
            raise ValueError(
                f"{where} must have one text for each class, but {place(at)} is {text!r:.40} and "
                f"another {written[number]!r:.40}"
            )
    found = written.keys() - {None}
    if found == {-1, 1} and minus_one is None:
        raise _signs(where)
    if minus_one != "class":
        found -= {-1}
    order = {number: code for code, number in enumerate(sorted(found))}
    codes = np.array([order.get(number, -1) for number in numbers], np.int64)
    return Encoded(codes, tuple(written[number] for number in order))


def _words(cells: list[Any], where: str) -> Encoded:
    """Return the classes of words, in alphabetical order."""
    unknown = np.array([_unknown(cell) or _is_minus_one(cell) for cell in cells], bool)
    words = [str(cell) for cell, without in zip(cells, unknown, strict=True) if not without]
    names, numbers = np.unique(np.array(words, np.str_), return_inverse=True)
    for name in names.tolist():
        if name.casefold() in DOUBTFUL:
            warn(f'{where}: "{name}" is a class; leave the entry empty where the class is unknown')
    codes = np.full(len(cells), -1)
    codes[~unknown] = numbers
    return Encoded(codes, tuple(names.tolist()))


def _is_minus_one(cell: object) -> bool:
    return isinstance(cell, Real) and not isinstance(cell, bool) and cell == -1
