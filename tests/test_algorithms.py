"""docs/algorithms.toml: every printed line has its mark in the reference, every mark its line."""

import re
from pathlib import Path

import pytest
from docs_ext import DOCS, ROOT, paper_lines

ALGORITHMS = paper_lines.load_algorithms()
PAPERS = {"ipdps19": 6, "jpdc21": 8, "vldb24": 1}  # how many numbered algorithms each has
ERRATA = paper_lines.read_errata()
TESTS = Path(__file__).parent


def test_every_numbered_algorithm_is_listed():
    listed = sorted((a["paper"], a["number"]) for a in ALGORITHMS.values())
    assert listed == [(p, i + 1) for p, count in sorted(PAPERS.items()) for i in range(count)]


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_line_has_a_mark_and_every_mark_a_line(key):
    """Or it is silent: "end for" and the like. A restated algorithm has the other's code."""
    lines = paper_lines.paper_lines(key)
    assert [line.number for line in lines] == list(range(1, ALGORITHMS[key]["lines"] + 1))
    assert all(line.code or line.number in ALGORITHMS[key]["silent"] for line in lines)


def test_lines_stand_in_the_papers_order():
    """A line may stand elsewhere only where an erratum says why."""
    for algorithm in ALGORITHMS.values():
        for place in algorithm.get("functions", ()):
            latest = 0
            for mark in paper_lines.marks(paper_lines.source_of(place)[2]):
                if mark.prefix is None and not mark.errata:
                    assert mark.lines[0] >= latest, f"{place}: line {mark.lines[0]} after {latest}"
                    latest = mark.lines[-1]


def test_a_restated_algorithm_maps_to_lines_with_code():
    for algorithm in ALGORITHMS.values():
        if "same_as" in algorithm:
            other = ALGORITHMS[f"jpdc21:{algorithm['same_as']}"]
            there = {line for _, line in algorithm["line_pairs"]}
            assert there <= set(range(1, other["lines"] + 1)) - set(other["silent"])


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


def test_a_lost_mark_is_noticed(monkeypatch):
    """The checks above can fail: take one mark away, or add one too many."""
    source_of = paper_lines.source_of
    path, row, source = source_of("refimpl.graph:transpose_perm")
    numbers = [n for mark in paper_lines.marks(source) for n in mark.lines]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8, 11]
    for changed, message in (
        (source.replace("  # 7 E-A3", ""), r"lines without a mark: \[7\]"),
        (source.replace("  # 7 E-A3", "  # 7 12"), r"marks without a line: \[12\]"),
    ):
        monkeypatch.setattr(paper_lines, "source_of", lambda place, s=changed: (path, row, s))
        with pytest.raises(ValueError, match=message):
            paper_lines.paper_lines("jpdc21:6")


def test_marks():
    marks = paper_lines.marks("x = 1  # J8:10 E-F9\ny = 2  # 3 of them\nz = 3  # 4-5 I3:6 7\n")
    assert [tuple(mark) for mark in marks] == [
        (1, "J8", [10], ["E-F9"]),
        (3, None, [4, 5], []),
        (3, "I3", [6, 7], []),
    ]


def gat_equations():
    """Return the (number, equation) pairs of docs/models.md, and those of `gat_backward`."""
    section = (DOCS / "models.md").read_text().split("\n### GAT\n")[1].split("\n### ")[0]
    code = paper_lines.source_of("refimpl.layers.gat:gat_backward")[2]
    return (
        re.findall(r"^\| GAT\.(\d+) \| `(.+?)` \| .+ \|$", section, re.M),
        re.findall(r"  # GAT\.(\d+): (.+)$", code, re.M),
    )


def test_each_line_of_gat_backward_is_an_equation_of_the_page():
    """The same equations under the same numbers, in order, each on a line of code."""
    page, code = gat_equations()
    assert [int(number) for number, _ in page] == list(range(1, 20))
    assert code == page


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_algorithm_has_its_page(key):
    """With its code, its table of lines, its errata and an example that is worked there."""
    target = f"({key.replace(':', '-')})="
    pages = [p.read_text() for p in (DOCS / "learn").glob("*.md")]
    (page,) = [text for text in pages if re.search(f"^{re.escape(target)}$", text, re.M)]
    assert re.search(rf"^```{{algorithm-lines}} {key}$", page, re.M)
    errata = [line.split() for line in re.findall(r"^```{errata-of} (.*)$", page, re.M)]
    assert any(key in keys for keys in errata)
    assert "```{worked-example}" in page
    algorithm = ALGORITHMS[key]
    if "same_as" in algorithm:
        algorithm = ALGORITHMS[f"jpdc21:{algorithm['same_as']}"]
    shown = " ".join(re.findall(r"^```{reference-code} (.*)$", page, re.M)).split()
    for place in algorithm["functions"]:
        assert any(
            place == s or place.startswith(f"{s}.") or s.startswith(f"{place}.") for s in shown
        )
