"""Sphinx configuration."""

from importlib.metadata import version as installed_version

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
