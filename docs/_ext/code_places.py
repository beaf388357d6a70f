"""Where the code of a line, an equation or a theorem is, in both packages.

The reference is found by `paper_lines`. Lines of kernels are found by their marks. A mark is a
comment with the algorithm and the line (`# J4:17`), or an equation of docs/models.md (`# GAT.5`). A
prefix holds until the next, as in the reference.
"""

import re
from functools import cache
from typing import NamedTuple

from kernel_lines import Place, fast, place_of
from paper_lines import (
    PACKAGES,
    TITLES,
    innermost,
    load_algorithms,
    load_paraphrases,
    marked_lines,
    source_of,
)
from paper_statements import load_statements

from refimpl.lab.apps import papers

SUFFIXES = ".pyx", ".pxd", ".h"
COMMENT = re.compile(
    r"(?:#|/\*) (?P<words>(?:(?:[IJV]\d+:|GAT\.)?\d+(?:-\d+)?(?: |$))+)(?:\*/.*)?$", re.M
)
HEAD = re.compile(r"^(?:cdef|cpdef|def)\b.*?\b(\w+)\(")  # of a function in a .pyx or .pxd file
EQUATIONS = "refimpl.layers.gat:gat_backward"  # each of its lines is an equation of docs/models.md


class KernelMark(NamedTuple):
    """The lines of one algorithm that a row of a kernel is."""

    place: Place  # its name is that of the function around it
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


def check_marks(found):
    """Raise ValueError unless each KernelMark names lines that are printed and not silent."""
    printed = {"GAT": (set(gat_rows()), set(gat_rows()))}
    for algorithm in load_algorithms().values():
        lines = set(range(1, algorithm["lines"] + 1))
        printed[prefix_of(algorithm)] = lines, lines - set(algorithm["silent"])
    for mark in found:
        where = f"{mark.place.path}:{mark.place.row}"
        if mark.prefix not in printed:
            raise ValueError(f"{where}: lines {mark.lines} of no algorithm")
        lines, said = printed[mark.prefix]
        if not lines.issuperset(mark.lines) or not said.intersection(mark.lines):
            raise ValueError(f"{where}: {mark.prefix} has no lines {mark.lines}")


def prefix_of(algorithm):
    """Return the prefix of the marks of an entry of docs/algorithms.toml."""
    return f"{papers.LETTERS[algorithm['paper']]}{algorithm['number']}"


@cache
def gat_rows():
    """Return the Place and the words of each equation of the reference's `gat_backward`."""
    path, first, source = source_of(EQUATIONS)
    name = EQUATIONS.partition(":")[2]
    return {
        int(number): (Place(path, first + row, name), words)
        for row, text in enumerate(source.splitlines())
        for number, words in re.findall(r"  # GAT\.(\d+): (.+)$", text)
    }


class Found(NamedTuple):
    """What was looked for, and where it is."""

    title: str
    reference: list[Place]
    kernels: list[Place]  # empty: fastimpl runs the reference's code


def find_code(key):
    """Return the Found of "vldb24:1:13" (a line), "GAT.5" or "jpdc21:theorem:2".

    Raises
    ------
    ValueError
        If the papers have no such line, or no code has its mark.
    """
    try:
        found = _equation(key) if key.startswith("GAT.") else _line_or_statement(*key.split(":"))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no line, equation or theorem {key!r}") from error
    if not found.reference:
        raise ValueError(f"no code of the reference has a mark of {key!r}")
    return found


def _equation(key):
    number = int(key.removeprefix("GAT."))
    place, words = gat_rows()[number]
    return Found(
        f"GAT, equation {number} of the gradient: `{words}`", [place], marked("GAT", number)
    )


def _line_or_statement(paper, which, number):
    number = int(number)
    if which in ("equation", "theorem"):
        entry = load_statements()[1][paper, which, number]
        title = f"{TITLES[paper]} {which.capitalize()} {number}: {entry['name']}"
        places = entry["functions"]
        kernels = [at for place in places if not is_shared(place) for at in fast(place)]
        return Found(title, [place_of(place) for place in places], kernels)
    algorithm = load_algorithms()[f"{paper}:{which}"]
    words = load_paraphrases()[f"{paper}:{which}"][str(number)]
    title = f"{TITLES[paper]} Algorithm {which}, line {number}: {words}"
    reference = [
        Place(code.path, code.row, innermost((PACKAGES / code.path).read_text(), code.row))
        for code in marked_lines(algorithm).get(number, ())
    ]
    return Found(title, reference, marked(prefix_of(algorithm), number))


def marked(prefix, number):
    """Return the Places of the kernels that are a line."""
    return [mark.place for mark in kernel_marks() if mark.prefix == prefix and number in mark.lines]


def is_shared(place):
    """Return whether fastimpl has no twin of a function of the reference, but the same one."""
    module = place.partition(":")[0].replace("refimpl", "fastimpl", 1)
    return not (PACKAGES / f"{module.replace('.', '/')}.py").is_file()
