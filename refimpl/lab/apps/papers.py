"""The papers' names and letters, and the marks in the code that say which of their lines it is.

A comment that is nothing but marks gives the lines of an algorithm that a line of code is, then the
errata that touch them, each with its gist: `# 7-9 E-B3: a list of m slots`, or two of them,
`# 4 E-B5: distinct nodes; E-B9: long enough for them`. Errata alone in a line belong to the next
lines that are marked. "J8:10" is line 10 of JPDC'21 Algorithm 8, "I3:" stands for IPDPS'19
Algorithm 3, "V1:" for VLDB'24 Algorithm 1; such a prefix holds until the next. Without one the
algorithm is that of the function, see docs/algorithms.toml.
"""

from __future__ import annotations

import io
import re
import tokenize
from functools import cache
from typing import NamedTuple

TITLES = {"ipdps19": "IPDPS'19", "jpdc21": "JPDC'21", "vldb24": "VLDB'24"}
LETTERS = {"ipdps19": "I", "jpdc21": "J", "vldb24": "V"}  # in marks, and in docs/errata.md

LINES = re.compile(r"(?:(?P<prefix>[IJV]\d+):)?(?P<lines>\d+(?:-\d+)?)")
ERRATUM = re.compile(r"(?P<id>E-[A-Z]\d+)(?:: (?P<gist>.+))?")


class Gist(NamedTuple):
    """An erratum at a line of code.

    Attributes
    ----------
    id : str
        Of docs/errata.md, as "E-B3".
    words : str
        What it comes to, in a few words.
    """

    id: str
    words: str

    def __str__(self) -> str:
        return f"{self.id}: {self.words}" if self.words else self.id


class Marks(NamedTuple):
    """A comment that is nothing but marks.

    Attributes
    ----------
    row, column : int
        Where it begins in the source, from 1 and from 0.
    lines : tuple of (str or None, str)
        The prefix that holds, such as "J8", and the lines, such as "13-14".
    errata : tuple of Gist
    """

    row: int
    column: int
    lines: tuple[tuple[str | None, str], ...]
    errata: tuple[Gist, ...]


@cache
def marks_in(source: str) -> tuple[Marks, ...]:
    """Return the Marks in Python source, a tuple, in their order."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        parts = _parts(token.string.lstrip("# ")) if token.type == tokenize.COMMENT else None
        if parts is not None:
            found.append(Marks(*token.start, *parts))
    return tuple(found)


def _parts(comment: str) -> tuple[tuple[tuple[str | None, str], ...], tuple[Gist, ...]] | None:
    """Return the lines and the errata of a comment; None if it is not nothing but marks."""
    first = re.search(r"E-[A-Z]\d", comment)
    start = first.start() if first else len(comment)
    numbers = comment[:start].split()
    parts = re.split(r"; (?=E-)", comment[start:]) if first else []
    words = [found for number in numbers if (found := LINES.fullmatch(number))]
    errata = [found for part in parts if (found := ERRATUM.fullmatch(part))]
    if len(words) + len(errata) < max(len(numbers) + len(parts), 1):
        return None
    lines, prefix = [], None
    for word in words:
        prefix = word["prefix"] or prefix
        lines.append((prefix, word["lines"]))
    return tuple(lines), tuple(Gist(erratum["id"], erratum["gist"] or "") for erratum in errata)


def algorithm_of(prefix: str) -> str:
    """Return the algorithm that the prefix of a mark names: "jpdc21:8" for "J8"."""
    (paper,) = (paper for paper, letter in LETTERS.items() if letter == prefix[0])
    return f"{paper}:{prefix[1:]}"


def algorithm_text(id: str) -> str:
    """Return "jpdc21:3" as "JPDC'21 Algorithm 3"."""
    paper, number = id.split(":")
    return f"{TITLES[paper]} Algorithm {number}"
