"""What type checkers say of scripts: nothing of right ones, something of each mistake."""

from pathlib import Path

import checkers
import pytest
from language_server import Editor

import refimpl
from refimpl.lab.backend import homes

pytestmark = pytest.mark.runs

CHECKED = Path(__file__).parent / "checked"
MISTAKES = {path.stem: path.read_text() for path in sorted(CHECKED.glob("*.py"))}
PAGES = checkers.scripts_of_pages()

needs_mypy = pytest.mark.skipif(not checkers.HAS_MYPY, reason="mypy is not installed")


@pytest.fixture(scope="module")
def pyright():
    if not checkers.pyright_runs():
        pytest.skip("pyright is not installed, or does not run")
    return checkers.pyright_says


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


def test_pyright_has_nothing_to_say_of_the_pages_and_examples(pyright, tmp_path):
    check_pages(pyright, tmp_path)


@needs_mypy
def test_mypy_finds_every_mistake(tmp_path):
    check_mistakes(checkers.mypy_says, tmp_path)


def test_pyright_finds_every_mistake(pyright, tmp_path):
    check_mistakes(pyright, tmp_path)


def every_public_name():
    """Return a script that uses every public name of both packages, in its topic and at the top."""
    names = [f"{topic}.{name}" for name, topic in homes().items()] + refimpl.__all__
    uses = [f"print({package}.{name})" for package in ("refimpl", "fastimpl") for name in names]
    return {"names": "\n".join(["import fastimpl", "import refimpl", *uses])}


@needs_mypy
def test_mypy_knows_every_public_name(tmp_path):
    assert checkers.mypy_says(every_public_name(), tmp_path) == []


def test_pyright_knows_every_public_name(pyright, tmp_path):
    assert pyright(every_public_name(), tmp_path) == []


@pytest.mark.usefixtures("pyright")
@pytest.mark.parametrize("package", ["refimpl", "fastimpl"])
def test_an_editor_offers_what_there_is(package, tmp_path):
    start = f"import {package} as gnn\n"
    with Editor(tmp_path) as editor:
        assert editor.completions(f"{start}gnn.") >= set(refimpl.__all__)
        assert editor.completions(f"{start}gnn.methods.") >= set(refimpl.methods.__all__)
        assert editor.completions(f"{start}gnn.train(") >= {"dataset", "config", "after_epoch"}
        assert "gnn" not in editor.completions(f"import {package}\n{package}.train(")
        settings = editor.completions(f'{start}gnn.TrainConfig(model="gat").')
        assert settings >= {"model", "hidden", "flat", "epochs"}
        words = editor.completions(f'{start}gnn.load_dataset("karate", setting="')
        assert words >= {'"transductive"', '"inductive"'}


def test_code_of_pages_is_found():
    assert {"README_1", "docs_tutorial_0", "examples_torch_dataset"} <= PAGES.keys()
    assert any("gnn.train(" in code for code in PAGES.values())
    assert checkers.free_names("import a.b as c\nfor x in c: print(x, y)") == {"y"}
