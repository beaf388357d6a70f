"""Where the lines of the papers are in the kernels of fastimpl, by their marks.

A mark is a comment with the algorithm and the line (`# J4:17`), or an equation of docs/models.md
(`# GAT.5`). A prefix holds until the next, as in the reference.
"""

import re
from functools import cache
from typing import NamedTuple

from paper_lines import PACKAGES

from refimpl.lab.apps import papers

SUFFIXES = ".pyx", ".pxd", ".h"
COMMENT = re.compile(
    r"(?:#|/\*) (?P<words>(?:(?:[IJV]\d+:|GAT\.)?\d+(?:-\d+)?(?: |$))+)(?:\*/.*)?$", re.M
)
HEAD = re.compile(r"^(?:cdef|cpdef|def)\b.*?\b(\w+)\(")  # of a function in a .pyx or .pxd file


class Place(NamedTuple):
    """A row of a kernel, and the function around it."""

    path: str
    row: int
    name: str


class KernelMark(NamedTuple):
    """The lines of one algorithm that a row of a kernel is."""

    place: Place
    prefix: str | None  # "J4": JPDC'21 Algorithm 4; "GAT": docs/models.md; None: left out
    lines: list[int]


@cache
def kernel_marks():
    """Return the KernelMarks of all sources of fastimpl, in their order."""
    known = sorted(PACKAGES.joinpath("fastimpl").rglob("*"))
    return [
        mark
        for path in known
        if path.suffix in SUFFIXES
        for mark in marks_of(path.relative_to(PACKAGES).as_posix(), path.read_text())
    ]


def marks_of(path, source):
    """Return the KernelMarks of one source."""
    found, around = [], ""
    for row, text in enumerate(source.splitlines(), start=1):
        if head := HEAD.match(text):
            around = head[1]
        comment, prefix = COMMENT.search(text), None
        for word in comment["words"].split() if comment else ():
            before, numbers = re.fullmatch(r"(?:(\w+)[:.])?(\S+)", word).groups()
            prefix = before or prefix
            first, _, last = numbers.partition("-")
            lines = list(range(int(first), int(last or first) + 1))
            found.append(KernelMark(Place(path, row, around), prefix, lines))
    return found


def prefix_of(algorithm):
    """Return the prefix of the marks of an entry of docs/algorithms.toml."""
    return f"{papers.LETTERS[algorithm['paper']]}{algorithm['number']}"


def in_kernels(algorithm, numbers):
    """Return the Places of the kernels that are lines of an entry, one for each function."""
    found, prefix = {}, prefix_of(algorithm)
    for mark in kernel_marks():
        if mark.prefix == prefix and not set(numbers).isdisjoint(mark.lines):
            found.setdefault((mark.place.path, mark.place.name), mark.place)
    return [*found.values()]
