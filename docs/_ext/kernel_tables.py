"""What the pages of docs/kernels and their test read: sections, vectors, refusals."""

import re
from functools import cache
from pathlib import Path

from refimpl.lab.apps.conformance import requirements, vectors

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

PAGES = Path(__file__).parents[1] / "kernels"
REFUSALS = requirements.HERE / "refusals.toml"
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


def refusals():
    """Return a dict from the name of a kernel to rows [error, when, cases]."""
    return tomllib.loads(REFUSALS.read_text(encoding="utf-8"))
