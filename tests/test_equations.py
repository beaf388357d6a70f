"""docs/equations.csv: every numbered equation and theorem has its function, or a reason."""

import ast
import re
from pkgutil import resolve_name

import pytest
from docs_ext import DOCS, paper_lines

from refimpl.lab.apps import papers

STATEMENTS = paper_lines.load_statements()
NUMBERS = {  # in the papers
    "ipdps19": {"equation": 4, "theorem": 2},
    "jpdc21": {"equation": 14, "theorem": 2},
    "vldb24": {"equation": 2, "theorem": 0},
}
IDS = ["{}-{}-{}".format(*key) for key in STATEMENTS]
KINDS = {"Eq": "equation", "Theorem": "theorem"}  # in docs/errata.md

STATEMENT = re.compile(
    r"(IPDPS'19|JPDC'21|VLDB'24|FreshGNN) (Equation|Theorem)s? (\d+(?:(?:, | and )\d+)*)"
)
OF_BOTH = re.compile(r"(Equation|Theorem) (\d+) of both papers")  # the first two


def statements_named(docstring):
    """Return the keys of the equations and theorems of the papers that a docstring names."""
    text, named = " ".join((docstring or "").split()), set()
    papers_of = {title: paper for paper, title in papers.TITLES.items()} | {"FreshGNN": "vldb24"}
    for title, kind, numbers in STATEMENT.findall(text):
        named |= {(papers_of[title], kind.lower(), int(n)) for n in re.findall(r"\d+", numbers)}
    for kind, number in OF_BOTH.findall(text):
        named |= {(paper, kind.lower(), int(number)) for paper in ("ipdps19", "jpdc21")}
    return named


def docstrings():
    """Yield ("module:name", docstring) of every class and function of refimpl that has one."""
    for path, source in paper_lines.whole_reference():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name, docstring in docstrings_in(ast.parse(source).body):
            yield f"{module}:{name}", docstring


def docstrings_in(body):
    """Yield (qualified name, docstring) of the classes and functions of a body that have one."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if docstring := ast.get_docstring(node):
                yield node.name, docstring
            for name, docstring in docstrings_in(node.body):
                yield f"{node.name}.{name}", docstring


def places_of(entry):
    """Return all places of an entry: what is it, and what is a part of it."""
    return [*entry["functions"], *entry["parts"]]


def test_every_number_is_listed_once():
    rows = (DOCS / "equations.csv").read_text().splitlines()
    assert len(rows) == 1 + len(STATEMENTS)
    assert sorted(STATEMENTS) == sorted(
        (paper, kind, number + 1)
        for paper, counts in NUMBERS.items()
        for kind, count in counts.items()
        for number in range(count)
    )


@pytest.mark.parametrize("key", STATEMENTS, ids=IDS)
def test_each_has_functions_that_name_it_or_a_reason(key):
    entry = STATEMENTS[key]
    places = places_of(entry)
    assert entry["functions"] or len(entry["why"].split()) > 4, "functions, or why there are none"
    assert len(places) == len(set(places))
    for place in places:
        found = resolve_name(place)
        assert key in statements_named(found.__doc__), place


def test_whatever_names_one_is_listed():
    """And there is no number that the papers do not have."""
    for place, docstring in docstrings():
        for key in statements_named(docstring):
            assert place in places_of(STATEMENTS[key]), (place, key)


def test_names_in_docstrings():
    named = statements_named
    assert named("JPDC'21 Equations 4 and 6, as IPDPS'19\n    Equation 1.") == {
        ("jpdc21", "equation", 4),
        ("jpdc21", "equation", 6),
        ("ipdps19", "equation", 1),
    }
    assert named("What Theorem 1 of both papers bounds; VLDB'24 Equation 2") == {
        ("ipdps19", "theorem", 1),
        ("jpdc21", "theorem", 1),
        ("vldb24", "equation", 2),
    }
    assert named("Kipf and Welling 2017, Equation 2") == named(None) == set()


def test_a_lost_number_is_noticed(monkeypatch):
    """The check above can fail."""
    entry = STATEMENTS["jpdc21", "equation", 3]
    monkeypatch.setitem(entry, "functions", ["refimpl.losses:softmax_cross_entropy"])
    with pytest.raises(AssertionError, match="sigmoid_cross_entropy"):
        test_whatever_names_one_is_listed()
    monkeypatch.setitem(entry, "functions", ["refimpl.layers.sage:sage_forward"])
    with pytest.raises(AssertionError, match="sage_forward"):
        test_each_has_functions_that_name_it_or_a_reason(("jpdc21", "equation", 3))


def named_by_place(where):
    """Return the keys that the place of an erratum names: "J Eq 12 against Eq 1" has two."""
    letters = {letter: paper for paper, letter in paper_lines.LETTERS.items()}
    found, letter = set(), None
    both = re.match(r"Theorem (\d), I and J", where)
    if both:
        return {(paper, "theorem", int(both[1])) for paper in ("ipdps19", "jpdc21")}
    for word, kind, number in re.findall(r"\b([IJV])\b|\b(Eq|Theorem) (\d+)", where):
        letter = word or letter
        if kind:
            found.add((letters[letter], KINDS[kind], int(number)))
    return found


def test_errata_of_an_equation_are_listed_with_it():
    """Those whose place names it; others may be there too, if they are errata at all."""
    text = (DOCS / "errata.md").read_text()
    known = set(re.findall(r"^(?:\||-) (E-[A-Z]\d+)\b", text, re.M))
    for entry in STATEMENTS.values():
        assert set(entry["errata"]) <= known
    assert named_by_place("J Eq 12 against Eq 1") == {
        ("jpdc21", "equation", 12),
        ("jpdc21", "equation", 1),
    }
    for erratum in paper_lines.read_errata():
        for key in named_by_place(erratum.where):
            assert erratum.id in STATEMENTS[key]["errata"], (erratum.id, key)


def test_the_page_has_the_table():
    assert ":file: equations.csv\n" in (DOCS / "algorithms.md").read_text()
