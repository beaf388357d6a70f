"""The equations and theorems of the papers: docs/equations.toml, and who names them."""

import ast
import re

from paper_lines import DOCS, tomllib, whole_reference

from refimpl.lab.apps import papers

STATEMENT = re.compile(
    r"(IPDPS'19|JPDC'21|VLDB'24|FreshGNN) (Equation|Theorem)s? (\d+(?:(?:, | and )\d+)*)"
)
OF_BOTH = re.compile(r"(Equation|Theorem) (\d+) of both papers")  # the first two


def load_statements():
    """Return docs/equations.toml: (how many of each kind a paper has, entries by their key).

    A key is (paper, "equation" or "theorem", number).
    """
    found = tomllib.loads((DOCS / "equations.toml").read_text())
    return found["printed"], {
        (entry["paper"], kind, entry["number"]): entry
        for kind in ("equation", "theorem")
        for entry in found[kind]
    }


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
    for path, source in whole_reference():
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
