"""Which kernels a line of an algorithm calls, and where fastimpl has them.

docs/algorithms.toml says which, as "module:name" of the reference; from there to the Cython
function is read from the code of fastimpl.
"""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from paper_lines import PACKAGES, load_algorithms, marked_lines, source_of


class Place(NamedTuple):
    """A function in a file of refimpl or fastimpl."""

    path: str
    row: int
    name: str


class KernelLine(NamedTuple):
    """A kernel that a line of the paper calls."""

    line: int
    reference: list  # CodeLines: where the line stands
    kernel: Place  # of refimpl
    fast: list[Place]  # its twin in fastimpl, and the functions of .pyx files that do its work


def kernel_lines(key):
    """Return a KernelLine for each kernel that docs/algorithms.toml names, in its order."""
    algorithm = load_algorithms()[key]
    where = marked_lines(algorithm)
    return [
        KernelLine(entry["line"], where[entry["line"]], place_of(kernel), fast(kernel))
        for entry in algorithm["kernels"]
        for kernel in entry["calls"]
    ]


def place_of(place):
    """Return the Place of "module:name"."""
    path, row, _ = source_of(place)
    return Place(path, row, place.partition(":")[2])


def fast(place):
    """Return the Places of fastimpl's twin of "module:name" and of what it calls in Cython.

    It may call that through helpers in Python.
    """
    twin = place.replace("refimpl", "fastimpl", 1)
    module, _, name = twin.partition(":")
    found, seen = {}, set()

    def visit(function):
        if function in seen:
            return
        seen.add(function)
        known = function.__globals__
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = known.get(node.value.id)
                if isinstance(owner, ModuleType) and (head := cython_head(owner, node.attr)):
                    found.setdefault(head)
            elif isinstance(node, ast.Name):
                other = inspect.unwrap(known.get(node.id, visit))
                if inspect.isfunction(other) and other.__module__.startswith("fastimpl"):
                    visit(other)

    visit(inspect.unwrap(getattr(importlib.import_module(module), name)))
    return [place_of(twin), *found]


def cython_head(module, name):
    """Return the Place of a function in the .pyx file of a module; None if there is none."""
    path = Path(*module.__name__.split(".")).with_suffix(".pyx")
    if not (PACKAGES / path).is_file():
        return None
    head = re.compile(rf"(?:def|cpdef\b.*?) {name}\(")
    for row, text in enumerate((PACKAGES / path).read_text().splitlines(), start=1):
        if head.match(text):
            return Place(path.as_posix(), row, name)
    return None
