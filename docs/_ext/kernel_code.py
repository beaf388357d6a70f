"""The pseudo-code of docs/kernels, as the pages and the tests read it.

A page a stage, docs/kernels/STAGE.md, with a section a kernel; docs/kernels/code/STAGE.py has the
code, which conforms. `adapter.py` there says how a kernel and its checks are written.
"""

import ast
import importlib
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
    value = value_of(name)
    return Path(inspect.getsourcefile(value)).name, inspect.getsource(value).rstrip("\n")


def value_of(name):
    """Return a function or class of docs/kernels/code, by its name or what a file calls it.

    Raises
    ------
    KeyError
        If no file has it.
    """
    for path in sorted(CODE.glob("*.py")):
        value = vars(importlib.import_module(path.stem)).get(name)
        ours = inspect.isroutine(value) or inspect.isclass(value)
        if ours and Path(inspect.getsourcefile(value)).parent == CODE:
            return value
    raise KeyError(name)


def shown_at():
    """Return a dict from each name that a page shows the code of to (page, place on it).

    Where several pages do, its own section comes first, then the first page.
    """
    places = {}
    for path in sorted(PAGES.glob("*.md")):
        place = ""
        for line in path.read_text().splitlines():
            if line.startswith("## "):
                place = re.sub(r"[^\w -]", "", line[3:]).lower().replace(" ", "-")
            elif line.startswith("```{kernel-code} "):
                for name in line.split()[1:]:
                    if name not in places or place == name.lower():
                        places[name] = path.stem, place
    return places


@cache
def uses_of(name):
    """Return the functions and classes of docs/kernels/code that one uses, in their order."""
    tree = ast.parse(textwrap.dedent(source_of_name(name)[1]))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    own = {node.id for node in found if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = dict.fromkeys(node.id for node in found if node.id not in own)
    return [other for other in names if other != name and is_ours(other)]


def is_ours(name):
    """Say whether a file of docs/kernels/code has a function or class of this name."""
    try:
        value_of(name)
    except KeyError:
        return False
    return True


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
