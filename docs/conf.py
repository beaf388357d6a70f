"""Sphinx configuration."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.append(str(Path(__file__).parents[1]))  # `bench`; the packages stay as installed

from source_code import resolve as linkcode_resolve  # noqa: E402, F401

project = "minibatch-gnn"
copyright = "2026, the minibatch-gnn authors"
version = release = installed_version("minibatch-gnn")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "numpydoc",
    "mathml",
    "source_code",
    "algorithms",
    "api_reference",
    "results",
    "learn_pages",
    "course",
    "examples",
    "drawings",
    "steppers",
    "kernel_pages",
    "lectures",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext", "_drawings", "tutorial_table.md"]
html_theme = "furo"
html_title = "minibatch-gnn"
html_math_renderer = "mathml"
html_css_files = [
    f"{name}.css" for name in ("teaching", "exercises", "drawings", "steppers", "kernels", "site")
]
html_js_files = [(f"{name}.js", {"defer": ""}) for name in ("lit", "steppers", "scrollable")]
if tags.has("versions"):  # noqa: F821  Sphinx defines it; `-t versions` is given by .ci/site
    html_js_files.append(("versions.js", {"defer": ""}))
templates_path = ["_templates"]
html_static_path = ["_static", "playground/page/playground.css"]
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more
default_role = "py:obj"  # `frontier` in a docstring is a link where there is such a name
nitpicky = True
linkcheck_ignore = [r"(?!https?:)"]  # the directives check what they lead to in the site
nitpick_ignore_regex = [
    ("py:obj", r"(?!refimpl\.).*"),  # parameters stand in backticks too
    ("py:class", r"numpy\..*"),
]
