"""Directives of the reference: every public name, by topic.

    api          the names in it, one a line: a table of them, then the documentation of each;
                 `every_sampler` stands for all samplers
    api-table    the table alone, of the page docs/reference/NAME.md

In Markdown, `name` in backticks becomes a link if it is a public name that has a capital letter
or an underscore: others are words too.
"""

import inspect
import re

from docutils import nodes
from generated import ancestors, extension
from listed_names import DOCS, names_in
from sphinx import addnodes

import refimpl
from refimpl.lab.backend import find, homes

FENCE = re.compile(r"^```\{api\}\n(.*?)^```\s*$", re.M | re.S)
SPECIAL = {name for name in homes() if "_" in name or not name.islower()}


def names_of_topic(topic):
    """Return the names in the api directives of docs/reference/TOPIC.md, in order."""
    text = (DOCS / "reference" / f"{topic}.md").read_text()
    return [name for block in FENCE.findall(text) for name in names_in(block)]


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
    names = names_in(content)
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


setup = extension(api, api_table, doctree_read=link_names)
