"""docs/errata.md: every erratum has its row, its words at the line, and its test."""

import io
import re
import tokenize
from pathlib import Path

import pytest
from docs_ext import DOCS, ROOT, paper_lines

from refimpl.lab.apps.papers import marks_in

ALGORITHMS = paper_lines.load_algorithms()
ERRATA = paper_lines.read_errata()
TESTS = Path(__file__).parent


def sources():
    """Yield (path, text) of all code and pages in which errata are named."""
    for folder, pattern in (
        ("refimpl", "*.py"),
        ("fastimpl", "*.py*"),
        ("tests", "*.py"),
        ("docs", "*.md"),
    ):
        for path in sorted((ROOT / folder).rglob(pattern)):
            if path.suffix in (".py", ".pyx", ".md") and path.name != Path(__file__).name:
                yield path, path.read_text()


def comments_with_errata():
    """Yield (path, row, comment) of each comment of the reference that names an erratum."""
    for path, source in paper_lines.whole_reference():
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and paper_lines.ERRATUM.search(token.string):
                yield path, token.start[0], token.string


def says_its_gist(comment):
    """Whether each erratum of a mark has two words; those in a sentence have its words."""
    marks = marks_in(comment)
    said = [words for mark in marks for _, words in mark.errata] if marks else [comment]
    return all(len(re.findall(r"\w+", paper_lines.ERRATUM.sub("", text))) >= 2 for text in said)


def test_errata_are_told_in_words_at_the_line():
    comments = list(comments_with_errata())
    assert len(comments) > 60
    mute = [f"{path}:{row} {text}" for path, row, text in comments if not says_its_gist(text)]
    assert not mute


def test_an_erratum_without_words_is_noticed():
    assert says_its_gist('# 23 E-B8: without the printed "+ 1"')
    assert says_its_gist("# 4 E-B4: n nodes in all; E-B5: no node twice")
    assert says_its_gist("# only isolated nodes are left (E-B26)")
    for mute in (
        "# 23 E-B8",
        "# 23 E-B8: printed",
        "# 2 E-B4: n nodes in all; E-B5",
        "# 4-5 7 E-B9",
    ):
        assert not says_its_gist(mute)


def test_every_erratum_that_is_named_has_one_row():
    """Or stands in the list of those without a consequence, if only pages name it."""
    ids = [erratum.id for erratum in ERRATA]
    others = re.findall(r"^- (E-[A-Z]\d+), ", (DOCS / "errata.md").read_text(), re.M)
    assert len({*ids, *others}) == len(ids) + len(others)
    named = {}
    for path, text in sources():
        for erratum in paper_lines.ERRATUM.findall(text):
            if path.suffix != ".md" or erratum not in others:
                named.setdefault(erratum, path)
    assert len(named) > 50
    assert not {e: path for e, path in named.items() if e not in ids}, "not in docs/errata.md"


def test_every_row_of_the_errata_is_whole():
    """Five cells, none empty; the place says which paper; no table row but these."""
    text = (DOCS / "errata.md").read_text()
    assert len(ERRATA) == sum(line.startswith("| E-") for line in text.splitlines())
    for erratum in ERRATA:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", erratum.row)[1:-1]]
        assert len(cells) == 5 and all(cells), erratum.id
        assert re.match(r"[IJV]\d*\b|Theorem|all$|the authors' code$", cells[1]), erratum.id


def test_errata_name_lines_that_are_printed():
    """ "J3:19" must be a line of that algorithm."""
    for erratum in ERRATA:
        for letter, number, first, last in re.findall(
            r"\b([IJV])(\d+):(\d+)(?:-(\d+))?", erratum.where
        ):
            (paper,) = (p for p, known in paper_lines.LETTERS.items() if known == letter)
            printed = ALGORITHMS[f"{paper}:{number}"]["lines"]
            assert 1 <= int(first) <= int(last or first) <= printed, erratum.id


def test_errata_name_tests_that_exist():
    written = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    missing = {
        erratum.id: test
        for erratum in ERRATA
        for test in re.findall(r"`(test_\w+)`", erratum.row) or ["no test at all"]
        if f"def {test}(" not in written
    }
    assert ERRATA and not missing


def test_errata_of_algorithms():
    """Those that the paper's place names, and those that only the code names."""
    ids = [erratum.id for erratum in paper_lines.errata_of(["jpdc21:3", "jpdc21:4"])]
    assert {"E-B8", "E-B11", "E-B22", "E-B26"} <= set(ids)
    assert not {"E-B14", "E-A3", "E-V1"} & set(ids)
    with pytest.raises(ValueError, match="jpdc21:9"):
        paper_lines.errata_of(["jpdc21:9"])
