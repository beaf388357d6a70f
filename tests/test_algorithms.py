"""docs/algorithms.toml: every printed line has its mark in the reference, every mark its line."""

import importlib
import inspect
import io
import pkgutil
import re
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

import pytest

import refimpl

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parents[1] / "docs"
ALGORITHMS = tomllib.loads((DOCS / "algorithms.toml").read_text())["algorithm"]
BUILT = [a for a in ALGORITHMS if "functions" in a]
TOKEN = re.compile(
    r"(?:(?P<prefix>[AIV]\d+):)?(?P<first>\d+)(?:-(?P<last>\d+))?|(?P<erratum>E-[A-Z]\d+)"
)
PREFIXES = {"ipdps19": "I", "jpdc21": "A", "vldb24": "V"}
PAPERS = {"ipdps19": 6, "jpdc21": 8, "vldb24": 1}  # how many numbered algorithms each has


def marks(source):
    """Yield (prefix or None, lines, errata) for each comment that is nothing but marks.

    The prefix "A8" stands for JPDC'21 Algorithm 8, "I3" for IPDPS'19 Algorithm 3, "V1" for
    VLDB'24 Algorithm 1. Several bare marks in one comment may follow a prefix: it holds until
    the next prefix.
    """
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        words = token.string.lstrip("# ").split() if token.type == tokenize.COMMENT else []
        matches = [TOKEN.fullmatch(word) for word in words]
        if not all(matches):
            continue
        lines, errata, prefix = defaultdict(list), [], None
        for match in matches:
            if match["erratum"]:
                errata.append(match["erratum"])
                continue
            prefix = match["prefix"] or prefix
            first = int(match["first"])
            lines[prefix] += range(first, int(match["last"] or first) + 1)
        for prefix, numbers in lines.items():
            yield prefix, numbers, errata


def source_of(place):
    """Return the source of "module:name", dedented enough to be tokenised alone."""
    module, name = place.split(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return inspect.cleandoc("\n" + inspect.getsource(found)) + "\n"


def whole_reference():
    for module in pkgutil.walk_packages(refimpl.__path__, "refimpl."):
        if not module.name.endswith("__main__"):
            yield inspect.getsource(importlib.import_module(module.name)) or "\n"


def marked_lines(algorithm):
    lines = set()
    for place in algorithm["functions"]:
        for prefix, numbers, _ in marks(source_of(place)):
            if prefix is None:
                lines.update(numbers)
    own_prefix = f"{PREFIXES.get(algorithm['paper'])}{algorithm['number']}"
    for source in whole_reference():
        for prefix, numbers, _ in marks(source):
            if prefix == own_prefix:
                lines.update(numbers)
    return lines


def title(algorithm):
    return f"{algorithm['paper']}-{algorithm['number']}"


def test_every_numbered_algorithm_is_listed():
    listed = sorted((a["paper"], a["number"]) for a in ALGORITHMS)
    assert listed == [(p, i + 1) for p, count in sorted(PAPERS.items()) for i in range(count)]


@pytest.mark.parametrize("algorithm", BUILT, ids=title)
def test_every_line_has_a_mark_and_every_mark_a_line(algorithm):
    printed = set(range(1, algorithm["lines"] + 1))
    marked = marked_lines(algorithm)
    assert marked <= printed, f"marks without a line: {sorted(marked - printed)}"
    missing = printed - set(algorithm["silent"]) - marked
    assert not missing, f"lines without a mark: {sorted(missing)}"


@pytest.mark.parametrize("algorithm", BUILT, ids=title)
def test_lines_stand_in_the_papers_order(algorithm):
    """A line may stand elsewhere only where an erratum says why."""
    for place in algorithm["functions"]:
        latest = 0
        for prefix, numbers, errata in marks(source_of(place)):
            if prefix is None and not errata:
                assert numbers[0] >= latest, f"{place}: line {numbers[0]} after {latest}"
                latest = numbers[-1]


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if "same_as" in a], ids=title)
def test_restated_algorithms_map_every_line(algorithm):
    (target,) = [a for a in BUILT if (a["paper"], a["number"]) == ("jpdc21", algorithm["same_as"])]
    here, there = zip(*algorithm["line_pairs"], strict=True)
    assert set(here) == set(range(1, algorithm["lines"] + 1)) - set(algorithm["silent"])
    assert set(there) <= set(range(1, target["lines"] + 1)) - set(target["silent"])


def test_every_erratum_named_in_the_code_is_explained():
    explained = set(re.findall(r"^\| (E-[A-Z]\d+)", (DOCS / "errata.md").read_text(), re.M))
    named = {e for source in whole_reference() for e in re.findall(r"\bE-[A-Z]\d+\b", source)}
    assert named and named <= explained, f"not in docs/errata.md: {sorted(named - explained)}"


def test_errata_name_tests_that_exist():
    tests = Path(__file__).parent
    sources = "".join(path.read_text() for path in tests.rglob("test_*.py"))
    rows = re.findall(r"^\| (E-[A-Z]\d+) .*\| (.*) \|$", (DOCS / "errata.md").read_text(), re.M)
    missing = {
        erratum: test
        for erratum, cell in rows
        for test in re.findall(r"`(test_\w+)`", cell) or [cell]
        if f"def {test}(" not in sources
    }
    assert rows and not missing


def test_a_lost_mark_is_noticed():
    """The checks above can fail: take one mark away, or add one too many."""
    source = source_of("refimpl.graph:transpose_perm")
    numbers = [n for _, lines, _ in marks(source) for n in lines]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8, 11]
    fewer = source.replace("  # 7 E-A3", "")
    assert 7 not in [n for _, lines, _ in marks(fewer) for n in lines]
    assert list(marks("x = 1  # A8:10 E-F9\ny = 2  # 3 of them\nz = 3  # 4-5 I3:6 7\n")) == [
        ("A8", [10], ["E-F9"]),
        (None, [4, 5], []),
        ("I3", [6, 7], []),
    ]
