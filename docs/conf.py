"""Sphinx configuration."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

project = "minibatch-gnn"
copyright = "2026, the minibatch-gnn authors"
version = release = installed_version("minibatch-gnn")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "minibatch-gnn"
numpydoc_show_class_members = False
autodoc_member_order = "bysource"

PAPERS = {"ipdps19": "IPDPS'19", "jpdc21": "JPDC'21", "vldb24": "FreshGNN"}


def write_algorithms_table():
    """Turn algorithms.toml into the table of algorithms.md."""
    here = Path(__file__).parent
    algorithms = tomllib.loads((here / "algorithms.toml").read_text())["algorithm"]
    lines = ["| paper | algorithm | name | reference |", "| --- | --- | --- | --- |"]
    for a in algorithms:
        where = ", ".join(f"`{place.replace(':', '.')}`" for place in a.get("functions", []))
        if "same_as" in a:
            where = f"as JPDC'21 Algorithm {a['same_as']}"
        lines.append(
            f"| {PAPERS[a['paper']]} | {a['number']} | {a['name']} | {where or 'not built yet'} |"
        )
    table = here / "_build" / "algorithms_table.md"
    table.parent.mkdir(exist_ok=True)
    table.write_text("\n".join(lines) + "\n")


write_algorithms_table()
