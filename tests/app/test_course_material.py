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

material = importlib.import_module("course")
notebooks = importlib.import_module("learn_pages")


def test_the_sheets_have_every_exercise_and_no_answer():
    sheets, answers = material.exercise_sheets(), material.sheet_answers()
    asked = re.findall(r"minibatch-gnn exercise start (\w+)", sheets)
    assert sorted(asked) == sorted(names())
    assert len(list(material.sheets())) == 11
    for _, _, _, questions, answer in material.sheets():
        numbered = [len(re.findall(r"^\d\. ", part, re.M)) for part in (questions, answer)]
        assert numbered[0] == numbered[1] > 0
        assert questions in sheets and answer in answers and answer not in sheets
    for name in names():
        assert find(name).code.rstrip() in answers and find(name).code.rstrip() not in sheets


def test_every_headline_claim_is_under_its_outcome():
    gallery = importlib.import_module("results")
    made = gallery.claims_by_outcome()
    found = re.findall(r"^\*\*(.*): (\d+) of (\d+)\.\*\*$", made, re.M)
    claims = gallery.known()["headlines"]
    assert sum(int(number) for _, number, _ in found) == len(claims) == made.count("\n- ")
    assert {int(total) for _, _, total in found} == {len(claims)}


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
