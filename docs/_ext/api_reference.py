"""Directives of the reference: every public name, by topic.

    api          the names in it, one a line: a table of them, then the documentation of each
    api-table    the table alone, of the page docs/reference/NAME.md

In Markdown, `name` in backticks becomes a link if it is a public name that has a capital letter
or an underscore: others are words too.
"""

import inspect
import re
from pathlib import Path

from docutils import nodes
from generated import directive
from paper_lines import DOCS, PACKAGES
from paper_lines import find as find_place
from source_pages import link_to
from sphinx import addnodes

import refimpl
from refimpl.lab.backend import find, homes

FENCE = re.compile(r"^```\{api\}\n(.*?)^```\s*$", re.M | re.S)
SPECIAL = {name for name in homes() if "_" in name or not name.islower()}


def names_of_topic(topic):
    """Return the names in the api directives of docs/reference/TOPIC.md, in order."""
    text = (DOCS / "reference" / f"{topic}.md").read_text()
    return [name for block in FENCE.findall(text) for name in block.split()]


def table_of(names):
    """Return a table in reStructuredText: each name, and the first line of its docstring."""
    lines = [".. list-table::", "   :widths: 25 75", "   :class: api", ""]
    for name in names:
        summary = inspect.getdoc(find(refimpl, name)).partition("\n")[0]
        lines += [f"   * - :py:obj:`~{path_of(name)}`", f"     - {summary}"]
    return [*lines, ""]


def path_of(name):
    """Return where a public name stands: "refimpl.cost_models.theorem2"."""
    return f"refimpl.{homes()[name]}.{name}"


def documentation_of(name):
    """Return directives of autodoc for a name, in reStructuredText."""
    if inspect.isclass(find(refimpl, name)):
        return [
            f".. autoclass:: {path_of(name)}",
            "   :members:",
            "   :exclude-members: gnn, unbound",  # of bound classes: see refimpl.lab.backend
            "   :inherited-members: tuple",
            "",
        ]
    return [f".. autofunction:: {path_of(name)}", ""]


def api(content):
    """Return the names that stand in it, in a table and one after the other."""
    names = content.split()
    unknown = [name for name in names if name not in homes()]
    if unknown:
        raise ValueError(f"no public names: {', '.join(unknown)}")
    return markdown(table_of(names) + [line for name in names for line in documentation_of(name)])


def api_table(topic):
    """Return the table of a topic."""
    return markdown(table_of(names_of_topic(topic)))


def markdown(lines):
    """Return reStructuredText as Markdown."""
    return "\n".join(["````{eval-rst}", ".. py:currentmodule:: refimpl", "", *lines, "````"])


def link_names(app, doctree):
    """Make links of the public names that stand in backticks on Markdown pages."""
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        parents = (nodes.reference, nodes.title, addnodes.desc, addnodes.pending_xref)
        if name not in SPECIAL or any(isinstance(above, parents) for above in ancestors(literal)):
            continue
        link = addnodes.pending_xref(
            "",
            refdomain="py",
            reftype="obj",
            reftarget=path_of(name),
            refdoc=app.env.docname,
            refwarn=True,
        )
        literal.replace_self(link)
        link += literal


def link_sources(app, doctree):
    """Put a link to its source behind the signature of everything that is documented."""
    for signature in doctree.findall(addnodes.desc_signature):
        if not signature.get("module"):
            continue
        found = find_place(f"{signature['module']}:{signature['fullname']}")
        found = getattr(found, "unbound", getattr(found, "fget", found))
        try:
            path = Path(inspect.getsourcefile(inspect.unwrap(found))).relative_to(PACKAGES)
            row = inspect.getsourcelines(inspect.unwrap(found))[1]
        except TypeError:  # a field, or compiled
            continue
        link = link_to(app.env, path.as_posix(), row, "[source]")
        link["classes"].append("viewcode-link")
        signature += link


def ancestors(node):
    """Yield the nodes above a node."""
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app):
    app.add_directive("api", directive(api))
    app.add_directive("api-table", directive(api_table))
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", link_sources)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
