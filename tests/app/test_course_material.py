"""What the site has for a course: its sheets and answers, its pages as notebooks."""

import importlib
import re
from types import SimpleNamespace

import pytest
from docs_ext import DOCS

from refimpl.lab.apps.course.exercises import find, names

pytest.importorskip("sphinx", reason="sphinx is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytestmark = pytest.mark.runs

notebooks = importlib.import_module("learn_pages")
INCLUDE = re.compile(r"\{include\} \.\./(.+)\n:start-after: '(.*)'\n:end-before: '(.*)'\n")


def parts(page):
    """Yield (what is in a section of a page of sheets, what it includes)."""
    for section in (DOCS / "lectures" / f"{page}.md").read_text().split("\n## ")[1:]:
        file, begin, end = INCLUDE.search(section).groups()
        whole = (DOCS / file).read_text()
        assert f"\n# {section.splitlines()[0]}\n" in f"\n{whole}"
        yield section, whole.partition(begin)[2].partition(end)[0]


def test_the_sheets_have_every_exercise_and_no_answer():
    found = []
    for (_, questions), (below, answer) in zip(parts("sheets"), parts("answers"), strict=True):
        numbered = [len(re.findall(r"^\d\. ", part, re.M)) for part in (questions, answer)]
        assert numbered[0] == numbered[1] > 0 and answer not in questions
        asked = re.findall(r"exercises\.md#exercise-(\w+)", questions)
        assert asked == re.findall(r"\*\*`(\w+)`\*\*", below)
        files = re.findall(r"^```\{literalinclude\} (.+)$", below, re.M)
        solved = dict.fromkeys(find(name).code for name in asked)
        assert list(solved) == [(DOCS / "lectures" / file).read_text() for file in files]
        found += asked
    assert sorted(found) == sorted(names())


def test_a_notebook_keeps_the_words_and_the_code():
    text = (
        "# T\n\nA {term}`root <x>`, {doc}`../data`, [](pool.md), [b](why.md), $x$.\n\n"
        "```{worked-example}\n:shows: y\n\ny = 1\n```\n\n"
        "<details><summary>More</summary>\n\nHidden.\n\n</details>\n\n"
        "<details><summary>Code</summary>\n\n```{worked-example}\nz = 2\n```\n\n</details>\n\n"
        "```{drawing} transpose\nC.\n```\n(a)=\n## H\n"
    )
    made = notebooks.notebook_of("learn/t", text)
    nbformat.validate(made)
    said = [(cell.cell_type[:4], cell.source) for cell in made.cells[2:]]
    assert said == [
        ("mark", "A root, “Data”, “The pool of subgraphs”, b, $x$."),
        ("code", "y = 1"),
        ("mark", "<details><summary>More</summary>\n\nHidden.\n\n</details>\n\n**Code**"),
        ("code", "z = 2"),
        ("mark", "## H"),
    ]


def test_a_page_leads_to_its_notebook():
    nodes = importlib.import_module("docutils.nodes")
    utils = importlib.import_module("docutils.utils")
    doctree = utils.new_document("x")
    doctree += nodes.section("", nodes.title("", "T"), nodes.paragraph("", "P"))
    for page in ("learn/frontier", "learn/notation", "data"):
        notebooks.add_links(SimpleNamespace(env=SimpleNamespace(docname=page)), doctree)
    (link,) = doctree.findall(nodes.raw)
    assert 'href="../notebooks/frontier.ipynb" download' in link.astext()
    assert isinstance(doctree[0][0], nodes.title)


@pytest.mark.parametrize("page", notebooks.runnable())
def test_the_pages_run_as_notebooks(page, tmp_path, run_notebook):
    notebook = notebooks.runnable()[page]
    left = [one for one in notebook.cells if one.cell_type == "markdown"]
    assert not [one.source for one in left if re.search(r"\{[\w-]+\}`|`{3}\{", one.source)]
    run_notebook(notebook)
    steppers = re.findall(r"^```\{stepper\} (\w+)$", (DOCS / f"{page}.md").read_text(), re.M)
    assert sorted(path.stem for path in tmp_path.glob("*.html")) == sorted(steppers)
