"""The pseudo-code of docs/kernels, as the pages and the tests read it.

A page a stage, docs/kernels/STAGE.md, with a section a kernel; docs/kernels/code/STAGE.py has the
code, which conforms. `adapter.py` there says how a kernel and its checks are written.
"""

import ast
import inspect
import re
import sys
import textwrap
from functools import cache
from pathlib import Path

from refimpl.lab.apps.conformance import vectors

PAGES = Path(__file__).parents[1] / "kernels"
CODE = PAGES / "code"
sys.path.append(str(CODE))

import adapter  # noqa: E402

SECTION = re.compile(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", re.M | re.S)


@cache
def files():
    """Return a dict from the name of each kernel to its file of vectors."""
    return {file["function"]: file for file in vectors.load()}


def sections():
    """Return a dict from the name of each kernel to (page, the text of its section)."""
    return {
        name: (path.stem, text)
        for path in sorted(PAGES.glob("*.md"))
        for name, text in SECTION.findall(path.read_text())
    }


def source_of_name(name):
    """Return (file, source) of a function or class of docs/kernels/code.

    Raises
    ------
    KeyError
        If no file has it.
    """
    for path in sorted(CODE.glob("*.py")):
        module = __import__(path.stem)
        value = vars(module).get(name)
        if inspect.isroutine(value) or inspect.isclass(value):
            source = Path(inspect.getsourcefile(value))
            if source.parent == CODE:
                return source.name, inspect.getsource(value).rstrip("\n")
    raise KeyError(name)


def error_rows(kernel):
    """Return (kind, words) of each row of a kernel's checks, in order, without running them.

    Raises
    ------
    ValueError
        If the function yields anything but constants and a condition, or other checks.
    """
    return _rows(f"check_{kernel}")


def _rows(name):
    tree = ast.parse(textwrap.dedent(source_of_name(name)[1]))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Yield | ast.YieldFrom):
            found.append(node)
    rows = []
    for node in sorted(found, key=lambda node: node.lineno):
        if isinstance(node, ast.YieldFrom):
            rows += _rows(node.value.func.id)
            continue
        kind, words, _ = node.value.elts
        if kind.value not in vectors.ERRORS:
            raise ValueError(f"{name}: {kind.value!r} is no kind of error")
        rows.append((kind.value, words.value))
    return rows


def refused_by(kernel, case):
    """Return the row of a kernel's checks that refuses a case, or None."""
    _, _, check = adapter.KERNELS[kernel]
    args = {name: adapter.decode(value) for name, value in case["args"].items()}
    return adapter.refusal(check, args)


def cases_by_row(kernel):
    """Return a dict from each row of a kernel's checks to the names of its cases."""
    rows = {row: [] for row in error_rows(kernel)}
    for case in files()[kernel]["cases"]:
        if "error" in case:
            rows[refused_by(kernel, case)].append(case["id"])
    return rows
