"""Files of separated values: a table of nodes and a table of edges, read in blocks."""

from __future__ import annotations

import csv
import gzip
import io
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.foreign_graphs import ENDS, WEIGHTS, as_names, normal, numbers_in
from refimpl._support.untrusted_files import check_growth, has_ending, reading, size_of
from refimpl.lab.data.label_encoding import encoded, written_plainly
from refimpl.lab.data.splits import PARTS, TRUTH, mask_of, parts_masked, parts_named
from refimpl.lab.data.tables import Unclear, edge_columns, node_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import TypeAlias

    from numpy.typing import NDArray

    from refimpl.hints import FilePath, Floats, Mask, Matrix, Positions
    from refimpl.lab.data.tables import Chosen, NodeColumns

    Line: TypeAlias = tuple[int, list[str]]  # its number and its cells

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SEPARATORS = {",": "a comma", "\t": "a tab", ";": "a semicolon"}
LINES = 2**12  # in a block
LONGEST = 2**22  # characters of a line
LOOKED_AT = 20  # lines that the separator must split alike
TITLES = ("yes", "no")
END_TITLES = {title for pair in ENDS for title in pair} | set(WEIGHTS)


def is_table(path: FilePath) -> bool:
    """Say whether a path is that of a file of separated values."""
    return has_ending(path, *SUFFIXES)


def checked_titles(titles: str | None) -> None:
    """Raise ValueError unless a value says whether there are titles, or leaves that open."""
    if titles is not None:
        require.choice("titles", titles, TITLES)


def table_lines(path: FilePath) -> Iterator[Line]:
    """Yield (line number, cells) of a file of separated values, all lines as long as the first.

    Values are separated by commas, tabs or semicolons. Empty lines at the end are left out, and so
    are spaces around a value.
    """
    with reading(path, "separated values in UTF-8") as file:
        size, taken = size_of(file), 0
        opened = gzip.open(file) if str(path).lower().endswith(".gz") else file  # noqa: SIM115
        text = io.TextIOWrapper(opened, "utf-8-sig", newline="")
        lines = iter(lambda: text.readline(LONGEST), "")
        head = list(islice(lines, LOOKED_AT))
        if not head or not head[0].strip():
            raise ValueError("it must begin with a line of titles or values, and is empty")
        ended, last = False, 0

        def and_end() -> Iterator[str]:
            nonlocal ended
            yield from chain(head, lines)
            ended = True
            yield "\n"  # a line of its own, but after a quote that is not closed

        reader = _split(and_end(), _separator(path, head))
        width, empty = None, None
        for row in reader:
            if ended and row:
                raise ValueError(f"line {last + 1} has a quote that is not closed")
            last = reader.line_num
            cells = [cell.strip() for cell in row]
            width = len(cells) if width is None else width
            if not any(cells):
                empty = reader.line_num if empty is None else empty
                continue
            if empty is not None:
                raise ValueError(f"line {empty} must have {width} values, but it is empty")
            if len(cells) != width:
                raise ValueError(
                    f"line {reader.line_num} must have {width} values, got {len(cells)}"
                )
            taken += sum(map(len, cells))
            if reader.line_num % LINES == 0:
                check_growth("its text", taken, size)
            yield reader.line_num, cells


def _split(lines: Iterable[str], separator: str) -> Any:
    """Return a csv.reader; a value in quotes may have spaces in front of them."""
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _separator(path: FilePath, head: list[str]) -> str:
    """Return what separates the values in the first lines of a file."""
    lines = [line for line in head if line.strip()]
    counts = {}
    for separator in SEPARATORS:
        found = {len(row) for row in _split(lines, separator) if any(row)}
        if len(next(_split(lines[:1], separator))) > 1:
            counts[separator] = found
    regular = [separator for separator, found in counts.items() if len(found) == 1]
    if "\t" in regular and ".tsv" in str(path).lower():
        return "\t"
    if len(regular) > 1 or (not regular and len(counts) > 1):
        words = " or ".join(SEPARATORS[separator] for separator in regular or counts)
        raise ValueError(f"its lines may be separated by {words}: write it with one of them only")
    if not counts and " " in lines[0].strip():
        raise ValueError("its values must be separated by commas, tabs or semicolons, not spaces")
    return (regular or list(counts) or [","])[0]


class NodeTable:
    """A table of nodes: names, classes and parts in memory, features in blocks.

    Parameters
    ----------
    path : str or Path
    chosen : Chosen
    given : collection
        Parts of the split that the caller gives besides.
    minus_one : {"unknown", "class"}, optional
        As for `encoded`.

    Attributes
    ----------
    names : array
        Of nodes.
    number : callable
        Returns the numbers of some names: see `numbers_in`.
    labels, class_names
        As of a Dataset.
    parts : dict
        Masks of the parts, by name; {} where the table has none.
    feature_names : tuple of str
        The titles of the columns of features.
    width : int
        Of the features.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, or it is no such table; it is named.
    """

    def __init__(
        self,
        path: FilePath,
        chosen: Chosen,
        given: Collection[str] = (),
        minus_one: str | None = None,
    ) -> None:
        self.path, lines = Path(path), table_lines(path)
        _, self.titles = next(lines)
        columns = node_columns(str(path), self.titles, chosen, given)
        if columns.id is None:
            raise Unclear(
                f"{path} must have a column with the names of nodes, titled id, node or name, got "
                f"{', '.join(map(repr, self.titles))}",
                "id=TITLE (columns={'id': TITLE} to load_dataset)",
                "--columns id=TITLE",
            )
        if not columns.features:
            raise ValueError(f"{path} must have at least one column of numbers, the features")
        roles = [columns.id, columns.label, columns.split, *columns.masks.values()]
        at = [self.titles.index(title) for title in roles if title is not None]
        known: dict[str, str] = {}
        cells: list[list[str]] = [[] for _ in at]
        self.lines: list[int] = []
        for number, line in lines:
            self.lines.append(number)
            for column, i in zip(cells, at, strict=True):
                column.append(known.setdefault(line[i], line[i]))
        if not self.lines:
            raise ValueError(f"{path} must have a line for each node, and has none")
        self._names(columns.id, cells[0])
        labels = np.array([*cells[1], None], object)[:-1]
        self.labels, self.class_names = encoded(
            labels, minus_one, self._column(columns.label), self._line
        )
        self.parts = self._parts(columns, cells[2:])
        self.feature_names = tuple(columns.features)
        self.numeric = [self.titles.index(title) for title in columns.features]
        self.width = len(self.numeric)

    def _names(self, title: str, cells: list[str]) -> None:
        """Keep the names of nodes, each of which is another one."""
        first: dict[str, int] = {}
        for name, line in zip(cells, self.lines, strict=True):
            if not name or name in first:
                fault = f"line {line} names {name!r:.80} again" if name else f"line {line} has none"
                raise ValueError(
                    f"{self._column(title)}: the names of nodes must be distinct and not empty, "
                    f"but {fault}"
                )
            first[name] = line
        self.names, self.number = as_names(cells), numbers_in(cells)
        self.known = first.keys()

    def _parts(self, columns: NodeColumns, cells: list[list[str]]) -> dict[str, Any]:
        if columns.split is not None:
            return parts_named(cells[0], self._column(columns.split), self._line)
        masks = {
            part: mask_of(column, self._column(columns.masks[part]), self._line)
            for part, column in zip(columns.masks, cells, strict=True)
        }
        called = "column {}_mask".format
        return parts_masked(masks, {}, str(self.path), called) | self._of_none(masks)

    def _of_none(self, masks: dict[str, Mask]) -> dict[str, Mask]:
        """Return masks without nodes for the parts without a column."""
        empty = np.zeros(len(self.lines), np.bool_)
        return {part: empty for part in PARTS if masks and part not in masks}

    def features(self) -> Iterator[Matrix[np.float64]]:
        """Yield the features in blocks of rows."""
        lines = table_lines(self.path)
        next(lines)
        for block in blocks_of(lines):
            yield np.column_stack([self._numbers(block, i) for i in self.numeric])

    def _numbers(self, block: list[Line], i: int) -> Floats[np.float64]:
        """Return what some lines have in a column as finite numbers."""
        numbers = _floats([line[i] for _, line in block])
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            number, line = block[bad[0]]
            raise ValueError(
                f"{self._column(self.titles[i])} must hold numbers, finite ones, but line {number} "
                f"has {line[i]!r:.40}"
            )
        return numbers

    def _column(self, title: str) -> str:
        return f'{self.path}: the column "{title}"'

    def _line(self, i: int) -> str:
        return f"line {self.lines[i]}"


def finite_numbers(cells: list[str], where: str) -> Floats[np.float64]:
    """Return cells as an array of finite numbers; `where` is what errors call them."""
    numbers = _floats(cells)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(f"{where} must have finite numbers, got {cells[bad[0]]!r:.40}")
    return numbers


def whole_number(cell: str, where: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """Return a cell as an integer from `least` to `most`; `where` is what errors call it."""
    plain = cell.isascii() and cell.isdecimal() and len(cell) <= 10
    if not plain or not least <= int(cell) <= most:
        raise ValueError(f"{where} must be an integer in [{least}, {most}], got {cell!r:.40}")
    return int(cell)


def _floats(cells: list[str]) -> Floats[np.float64]:
    """Return cells as numbers, True as 1, NaN where one is no number."""
    if written_plainly("".join(cells)):
        try:
            return np.array(cells, np.float64)
        except ValueError:
            pass
    return np.array([_number(cell) for cell in cells])


def _number(cell: str) -> float:
    try:
        return float(cell) if written_plainly(cell) else np.nan
    except ValueError:
        truth = TRUTH.get(cell.casefold())
        return np.nan if truth is None else float(truth)


def may_have_weights(path: FilePath, titles: str | None = None) -> bool:
    """Say whether a table of edges may have a column of weights, by its first line."""
    _, first = next(table_lines(path))
    return titles != "no" and any(normal(cell) in WEIGHTS for cell in first)


class EdgeTable:
    """A table of edges between the nodes of a NodeTable, read in blocks.

    Parameters
    ----------
    path : str or Path
    nodes : NodeTable
    chosen : Chosen
    titles : {"yes", "no"}, optional
        Whether the first line has titles. Default: as `_has_titles` finds.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, or it is no such table; it is named.
    """

    def __init__(
        self, path: FilePath, nodes: NodeTable, chosen: Chosen, titles: str | None = None
    ) -> None:
        self.path, self.nodes = Path(path), nodes
        _, first = next(table_lines(path))
        if len(first) < 2:
            raise ValueError(f"{path} must have two columns, got {', '.join(map(repr, first))}")
        self.titled = self._has_titles(first, chosen) if titles is None else titles == "yes"
        columns = first if self.titled else [str(i + 1) for i in range(len(first))]
        *ends, self.weight = edge_columns(str(path), columns, chosen)
        self.ends = [columns.index(end) for end in ends]
        self.at = None if self.weight is None else columns.index(self.weight)

    def _has_titles(self, first: list[str], chosen: Chosen) -> bool:
        """Whether a cell of the first line is a known title, or none is a node."""
        wanted = {normal(title) for title in chosen.ends or ()}
        titled = any(normal(cell) in END_TITLES | wanted for cell in first)
        node = next((cell for cell in first if cell in self.nodes.known), None)
        if node is None:
            return True
        fault = f"{self.path}: its first line, {','.join(first)!r:.80}, may be an edge or titles"
        if titled:
            fault += f", as {node!r:.40} is a node as well"
        raise Unclear(
            fault,
            "titles='no' if it is an edge, titles='yes' if not",
            "--titles no or --titles yes",
        )

    def pairs(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield the numbers of both ends of edges, in blocks; their weights too, if it has any."""
        lines = table_lines(self.path)
        empty = True
        if self.titled:
            next(lines)
        for block in blocks_of(lines):
            empty = False
            ends = tuple(self._numbers(block, i) for i in self.ends)
            weights = () if self.at is None else (_floats([line[self.at] for _, line in block]),)
            yield ends + weights
        if empty:
            raise ValueError(f"{self.path} must have at least one edge, and has titles only")

    def _numbers(self, block: list[Line], i: int) -> Positions:
        try:
            return self.nodes.number([line[i] for _, line in block], str(self.path))
        except ValueError:
            number, name = next((n, row[i]) for n, row in block if row[i] not in self.nodes.known)
            raise ValueError(
                f"{self.path} must name nodes only, but {name!r:.80} is none (line {number}): "
                f"{self.nodes.path} has a line for each node"
            ) from None


def blocks_of(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Yield lists of some lines at a time."""
    while block := list(islice(lines, LINES)):
        yield block
