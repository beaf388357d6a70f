"""What type checkers say of scripts: nothing of right ones, something of each mistake."""

from pathlib import Path

import checkers
import pytest

pytestmark = pytest.mark.runs

CHECKED = Path(__file__).parent / "checked"
MISTAKES = {path.stem: path.read_text() for path in sorted(CHECKED.glob("*.py"))}
PAGES = checkers.scripts_of_pages()

needs_mypy = pytest.mark.skipif(not checkers.HAS_MYPY, reason="mypy is not installed")
needs_pyright = pytest.mark.skipif(not checkers.PYRIGHT, reason="pyright is not installed")


def check_pages(says, tmp_path, **options):
    canary = {"canary": 'import refimpl\nrefimpl.load_dataset("karate", setting="inductiv")\n'}
    found = says({**PAGES, **canary}, tmp_path, **options)
    assert [(name, line) for name, line, _ in found if name == "canary"] == [("canary", 2)]
    assert [one for one in found if one[0] != "canary"] == []


def check_mistakes(says, tmp_path):
    found = says(MISTAKES, tmp_path)
    for name, code in MISTAKES.items():
        told = {line: message for script, line, message in found if script == name}
        assert checkers.marked(code) - told.keys() == set(), "mistakes that were not found"
        assert {k: v for k, v in told.items() if k not in checkers.marked(code)} == {}


@needs_mypy
def test_mypy_has_nothing_to_say_of_the_pages_and_examples(tmp_path):
    check_pages(checkers.mypy_says, tmp_path, lenient=True)


@needs_pyright
def test_pyright_has_nothing_to_say_of_the_pages_and_examples(tmp_path):
    check_pages(checkers.pyright_says, tmp_path)


@needs_mypy
def test_mypy_finds_every_mistake(tmp_path):
    check_mistakes(checkers.mypy_says, tmp_path)


@needs_pyright
def test_pyright_finds_every_mistake(tmp_path):
    check_mistakes(checkers.pyright_says, tmp_path)


def test_code_of_pages_is_found():
    assert {"README_1", "docs_tutorial_0", "examples_torch_dataset"} <= PAGES.keys()
    assert any("gnn.train(" in code for code in PAGES.values())
    assert checkers.free_names("import a.b as c\nfor x in c: print(x, y)") == {"y"}
