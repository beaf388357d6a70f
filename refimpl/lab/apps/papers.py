"""The papers' names and letters, and the marks in the code that say which of their lines it is.

A comment that is nothing but marks (`# 7-9 E-B3`) gives the lines of an algorithm that a line of
code is, and the errata that touch them. "J8:10" is line 10 of JPDC'21 Algorithm 8, "I3:" stands for
IPDPS'19 Algorithm 3, "V1:" for VLDB'24 Algorithm 1; such a prefix holds until the next. Without
one the algorithm is that of the function, see docs/algorithms.toml.
"""

import io
import re
import tokenize
from functools import cache
from typing import NamedTuple

TITLES = {"ipdps19": "IPDPS'19", "jpdc21": "JPDC'21", "vldb24": "VLDB'24"}
LETTERS = {"ipdps19": "I", "jpdc21": "J", "vldb24": "V"}  # in marks, and in docs/errata.md

MARK = re.compile(r"(?:(?P<prefix>[IJV]\d+):)?(?P<lines>\d+(?:-\d+)?)|(?P<erratum>E-[A-Z]\d+)")


class Marks(NamedTuple):
    """A comment that is nothing but marks.

    Attributes
    ----------
    row, column : int
        Where it begins in the source, from 1 and from 0.
    lines : tuple of (str or None, str)
        The prefix that holds, such as "J8", and the lines, such as "13-14".
    errata : tuple of str
    """

    row: int
    column: int
    lines: tuple[tuple[str | None, str], ...]
    errata: tuple[str, ...]


@cache
def marks_in(source):
    """Return the Marks in Python source, a tuple, in their order."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        words = token.string.lstrip("# ").split() if token.type == tokenize.COMMENT else []
        matches = [match for word in words if (match := MARK.fullmatch(word))]
        if not words or len(matches) < len(words):
            continue
        lines, errata, prefix = [], [], None
        for match in matches:
            if match["erratum"]:
                errata.append(match["erratum"])
            else:
                prefix = match["prefix"] or prefix
                lines.append((prefix, match["lines"]))
        found.append(Marks(*token.start, tuple(lines), tuple(errata)))
    return tuple(found)


def algorithm_of(prefix):
    """Return the algorithm that the prefix of a mark names: "jpdc21:8" for "J8"."""
    (paper,) = (paper for paper, letter in LETTERS.items() if letter == prefix[0])
    return f"{paper}:{prefix[1:]}"


def algorithm_text(id):
    """Return "jpdc21:3" as "JPDC'21 Algorithm 3"."""
    paper, number = id.split(":")
    return f"{TITLES[paper]} Algorithm {number}"
