"""What the code itself says: every public name, by topic; settings; formats of data sets.

    api            the names in it, one a line: a table of them, then the documentation of each;
                   `every_sampler` stands for all samplers
    api-table      the table alone, of the page docs/reference/NAME.md
    settings       the fields of a class, and their options: "module:Class"
    data-formats   what each format of data sets may contain; the rows of sources that are no files
                   are its content

In Markdown, `name` in backticks becomes a link if it is a public name that has a capital letter
or an underscore: others are words too.
"""

import inspect
import re
from dataclasses import fields
from pkgutil import resolve_name

from docutils import nodes
from generated import ancestors, extension, plain, row_of, table
from paper_lines import DOCS
from sphinx import addnodes

import refimpl
from refimpl.lab.apps.options import option_of
from refimpl.lab.backend import find, homes
from refimpl.lab.data.formats import FORMATS, Contents
from refimpl.lab.training.settings import settings_of
from refimpl.samplers.nodes import KERNELS

FENCE = re.compile(r"^```\{api\}\n(.*?)^```\s*$", re.M | re.S)
SPECIAL = {name for name in homes() if "_" in name or not name.islower()}


def names_in(content):
    """Return the names of an api directive."""
    words = content.split()
    return [name for word in words for name in (KERNELS if word == "every_sampler" else [word])]


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


def settings(place):
    """Return a table of the settings of "module:Class"."""
    cls, lines = resolve_name(place), []
    defaults = {field.name: field.default for field in fields(cls)}
    for name, setting in settings_of(cls).items():
        option = option_of(cls, name)
        shown = setting.shown or str(defaults[name])
        flag = "" if option is None else f"`{option.flag}`"
        lines.append((f"`{name}`", flag, plain(shown), plain(setting.help)))
    return table(("field", "option", "default", "what it does"), lines, (3, 3, 3, 8))


def data_formats(content):
    """Return the table, which ends in the rows that are `content`."""
    titles = ("format", "recognised by", *Contents._fields)
    lines = [(form.name, form.sign, *form.contents) for form in FORMATS]
    lines += [row.strip("| ").split(" | ") for row in content.splitlines() if row]
    wrong = next((row for row in lines if len(row) != len(titles)), None)
    if wrong is not None:
        raise ValueError(f"a row must have {len(titles)} cells: {row_of(wrong):.80}")
    return table(titles, lines, (3, 3, 5, 5, 4, 4, 4))


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


setup = extension(api, api_table, settings, data_formats, doctree_read=link_names)
