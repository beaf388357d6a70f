"""From the lines of a paper's algorithm to the lines of code that bear their numbers.

docs/algorithms.toml lists the algorithms; marks in the code, see `refimpl.lab.apps.papers`, say
which lines a line of code is. In a kernel of fastimpl a mark is a comment with the algorithm and
the line (`# J4:17`), or an equation of docs/models.md (`# GAT.5`); a prefix holds until the next.
The pages and the tests both read them here; nothing here needs Sphinx.
"""

import ast
import csv
import inspect
import re
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import refimpl
from refimpl.lab.apps import papers
from refimpl.lab.apps.papers import LETTERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parents[1]
PACKAGES = Path(refimpl.__file__).parents[1]  # the folder that refimpl and fastimpl stand in
TITLES = {**papers.TITLES, "vldb24": "FreshGNN"}  # the documentation calls it by its system
ERRATUM = re.compile(r"\bE-[A-Z]\d+\b")
PLACE = re.compile(r"\{source\}`([^`]+)`")
SUFFIXES = ".pyx", ".pxd", ".h"
COMMENT = re.compile(
    r"(?:#|/\*) (?P<words>(?:(?:[IJV]\d+:|GAT\.)?\d+(?:-\d+)?(?: |$))+)(?:\*/.*)?$", re.M
)
HEAD = re.compile(r"^(?:cdef|cpdef|def)\b.*?\b(\w+)\(")  # of a function in a .pyx or .pxd file
MOST_ROWS = 5  # of a statement that is shown whole
NUMBERED = re.compile(r"\b([IJV]\d+)\b")  # an algorithm, in docs/errata.md


class Mark(NamedTuple):
    """The lines of one algorithm that a line of code is, and the errata that touch it."""

    row: int  # of the source, from 1
    prefix: str | None  # "J8": JPDC'21 Algorithm 8; None: the algorithm of the function
    lines: list[int]
    errata: list[papers.Gist]


class CodeLine(NamedTuple):
    """A line of the reference that is a line of the paper."""

    path: str  # "refimpl/samplers/frontier.py"
    row: int
    code: str  # without its mark
    errata: list[papers.Gist]


class Erratum(NamedTuple):
    """A row of docs/errata.md."""

    id: str
    where: str
    row: str  # as it stands in the file


def load_algorithms():
    """Return the entries of docs/algorithms.toml by key, as "jpdc21:3"."""
    entries = tomllib.loads((DOCS / "algorithms.toml").read_text())["algorithm"]
    return {f"{entry['paper']}:{entry['number']}": entry for entry in entries}


def prefix_of(algorithm):
    """Return the prefix of the marks of an entry of docs/algorithms.toml."""
    return f"{LETTERS[algorithm['paper']]}{algorithm['number']}"


def load_paraphrases():
    """Return docs/paraphrases.toml: by algorithm, then by line, what the line says."""
    return tomllib.loads((DOCS / "paraphrases.toml").read_text())


def load_statements():
    """Return the functions, parts and errata of each row of docs/equations.csv, and its "why".

    A key is (paper, "equation" or "theorem", number). The cell of the functions may say why there
    are none.
    """
    with (DOCS / "equations.csv").open(encoding="utf-8", newline="") as file:
        rows = [[*row.values()] for row in csv.DictReader(file)]
    found, papers_of = {}, {title: paper for paper, title in TITLES.items()}
    for title, place, _, why, parts, errata in rows:
        kind, number = place.lower().split()
        entry = {"functions": PLACE.findall(why), "parts": PLACE.findall(parts), "why": why}
        entry["errata"] = ERRATUM.findall(errata)
        found[papers_of[title], kind, int(number)] = entry
    return found


def read_errata():
    """Return the rows of docs/errata.md in their order."""
    rows = re.findall(r"^\| (E-[A-Z]\d+) \|(.*)$", (DOCS / "errata.md").read_text(), re.M)
    return [Erratum(id_, cells.split(" | ")[0].strip(), f"| {id_} |{cells}") for id_, cells in rows]


@cache
def marks(source):
    """Return a Mark for each algorithm in each comment that is nothing but marks."""
    found, above = [], []
    rows = source.splitlines()
    for comment in papers.marks_in(source):
        if not rows[comment.row - 1][: comment.column].strip():
            above += comment.errata
            continue
        lines = defaultdict(list)
        for prefix, text in comment.lines:
            first, _, last = text.partition("-")
            lines[prefix] += range(int(first), int(last or first) + 1)
        for prefix, numbers in lines.items():
            found.append(Mark(comment.row, prefix, numbers, above + list(comment.errata)))
        above = [] if lines else above
    return found


def source_of(place):
    """Return (path, first row, source) of "module:name", dedented enough to stand alone."""
    found = resolve_name(place)
    lines, row = inspect.getsourcelines(found)
    path = Path(inspect.getsourcefile(inspect.unwrap(found))).relative_to(PACKAGES)
    return path.as_posix(), max(row, 1), inspect.cleandoc("\n" + "".join(lines)) + "\n"


@cache
def whole_reference():
    """Return (path, source) of every module of refimpl, solutions of exercises apart."""
    known = sorted(Path(refimpl.__file__).parent.rglob("*.py"))
    files = [path for path in known if path.parent.name != "exercises"]
    return [(path.relative_to(PACKAGES).as_posix(), path.read_text()) for path in files]


def marked_lines(algorithm):
    """Return a dict from line numbers of an algorithm to the CodeLines that bear them.

    Bare marks count in the algorithm's functions, those with its prefix anywhere.
    """
    found = defaultdict(dict)

    def collect(prefix, path, first_row, source):
        rows = source.splitlines()
        for mark in marks(source):
            if mark.prefix == prefix:
                code = re.sub(r"\s*#[^#]*$", "", rows[mark.row - 1]).strip()
                line = CodeLine(path, first_row + mark.row - 1, code, mark.errata)
                for number in mark.lines:
                    found[number][path, line.row] = line

    for place in algorithm["functions"]:
        collect(None, *source_of(place))
    for path, source in whole_reference():
        collect(prefix_of(algorithm), path, 1, source)
    return {number: list(lines.values()) for number, lines in sorted(found.items())}


class PaperLine(NamedTuple):
    """A line of a printed algorithm: the code that is it, or why there is none."""

    number: int
    code: list[CodeLine]  # empty if the line only ends a block or comments
    same_as: list[int]  # the lines of JPDC'21's algorithm that it restates, if it does


def paper_lines(key):
    """Return the PaperLines of an algorithm, or raise ValueError if one is without a mark."""
    algorithms = load_algorithms()
    if key not in algorithms:
        raise ValueError(f"{key!r} is not in docs/algorithms.toml")
    algorithm = algorithms[key]
    printed = set(range(1, algorithm["lines"] + 1))
    if "same_as" in algorithm:
        there = {line.number: line for line in paper_lines(f"jpdc21:{algorithm['same_as']}")}
        pairs = defaultdict(list)
        for here, other in algorithm["line_pairs"]:
            pairs[here].append(other)
        missing_there = {other for others in pairs.values() for other in others} - set(there)
        code = {
            here: [line for other in others if other in there for line in there[other].code]
            for here, others in pairs.items()
        }
        if missing_there:
            raise ValueError(f"{key}: line_pairs name lines that do not exist: {missing_there}")
    else:
        pairs, code = {}, marked_lines(algorithm)
    silent, known = set(algorithm["silent"]), {number for number, lines in code.items() if lines}
    for what, lines in (
        ("lines without a mark", printed - silent - known),
        ("marks without a line", known - printed),
        ("silent lines out of range", silent - printed),
    ):
        if lines:
            raise ValueError(f"{key}: {what}: {sorted(lines)}")
    return [PaperLine(n, code.get(n, []), pairs.get(n, [])) for n in sorted(printed)]


class BesideRow(NamedTuple):
    """Lines of a paper that are the same code, and that code."""

    lines: list[PaperLine]
    code: list[CodeLine]
    errata: list[papers.Gist]


def beside_code(key):
    """Return the BesideRows of an algorithm, in the paper's order, without silent lines.

    Code that stands for more than two lines is shown with the first of them, and with another only
    if that has no other code. Lines that follow each other with the same code are one row.
    """
    lines, silent = paper_lines(key), load_algorithms()[key]["silent"]
    serves = Counter((code.path, code.row) for line in lines for code in line.code)
    told = {gist.id for line in lines for code in line.code for gist in code.errata}
    rows: list[BesideRow] = []
    seen: set = set()
    for line in lines:
        if line.number in silent:
            continue
        places = {(code.path, code.row): code for code in line.code}
        code = [one for at, one in places.items() if at not in seen or serves[at] < 3]
        code = code or line.code
        seen |= set(places)
        errata = dict.fromkeys(gist for one in code for gist in one.errata)
        errata |= dict.fromkeys(
            papers.Gist(id, "") for id in errata_at(key, line) if id not in told
        )
        if rows and rows[-1].code == code:
            rows[-1].lines.append(line)
            rows[-1].errata[:] = dict.fromkeys([*rows[-1].errata, *errata])
        else:
            rows.append(BesideRow([line], code, list(errata)))
    return rows


def errata_at(key, line):
    """Return the ids of the errata whose place in the paper is, or begins at, this line."""
    place = rf"\b{prefix_of(load_algorithms()[key])}:{line.number}\b"
    return [erratum.id for erratum in read_errata() if re.search(place, erratum.where)]


def statement(path, row):
    """Return the rows of a statement that begins in a row, without their comments.

    For a loop, a branch or a function these are the rows before its body. The indentation of the
    function or class around the statement is taken away. Only the first row of a long statement is
    shown.
    """
    source = dict(whole_reference())[path]
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= row <= (node.end_lineno or row)
    ]
    here, body = around[-1], getattr(around[-1], "body", None)
    last = body[0].lineno - 1 if body else here.end_lineno or row
    shown = [re.sub(r"\s*  # .*$", "", text) for text in source.splitlines()[row - 1 : last]]
    outer = [node for node in around[:-1] if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    base = max((node.body[0].col_offset for node in outer), default=0)
    if len(shown) > MOST_ROWS:
        shown = [f"{shown[0]} .."]
    return "\n".join(text[base:] for text in shown).rstrip()


def errata_of(keys):
    """Return the Errata that touch one of these algorithms."""
    algorithms = load_algorithms()
    unknown = set(keys) - set(algorithms)
    if unknown:
        raise ValueError(f"not in docs/algorithms.toml: {sorted(unknown)}")
    return [one for one in read_errata() if any(touches(one, algorithms[key]) for key in keys)]


def touches(erratum, algorithm):
    """Return whether an erratum is about an algorithm.

    It names the algorithm; or it names none of this paper and is marked in the algorithm's code.
    """
    named = NUMBERED.findall(erratum.where)
    if prefix_of(algorithm) in named:
        return True
    if any(name[0] == LETTERS[algorithm["paper"]] for name in named):
        return False
    sources = (source_of(place)[2] for place in algorithm.get("functions", ()))
    return any(erratum.id in ERRATUM.findall(source) for source in sources)


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


def in_kernels(algorithm, numbers):
    """Return the Places of the kernels that are lines of an entry, one for each function."""
    found, prefix = {}, prefix_of(algorithm)
    for mark in kernel_marks():
        if mark.prefix == prefix and not set(numbers).isdisjoint(mark.lines):
            found.setdefault((mark.place.path, mark.place.name), mark.place)
    return [*found.values()]
