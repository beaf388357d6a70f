"""The directive `settings`: a table of what a class of settings has, made from the class.

```{settings} refimpl.lab.training.methods.fresh:Fresh
```
"""

from dataclasses import fields
from importlib import import_module

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from refimpl.lab.apps.options import option_of
from refimpl.lab.training.settings import settings_of

TITLES = ("field", "option", "default", "what it does")


def rows_of(place):
    """Return (field, option, default, help) of every setting of "module:Class"."""
    module, _, name = place.partition(":")
    cls = getattr(import_module(module), name)
    defaults = {field.name: field.default for field in fields(cls)}
    return [
        (one, option(cls, one), shown(setting, defaults[one]), setting.help)
        for one, setting in settings_of(cls).items()
    ]


def option(cls, name):
    """Return the option of the command line, "" if there is none."""
    made = option_of(cls, name)
    return "" if made is None else made.flag


def shown(setting, default):
    """Return a default as a reader is told of it."""
    return setting.shown or str(default)


class SettingsTable(SphinxDirective):
    """A table of the settings of a class."""

    required_arguments = 1

    def run(self):
        """Return the table."""
        table, group = nodes.table(), nodes.tgroup(cols=len(TITLES))
        table += group
        group += [nodes.colspec(colwidth=width) for width in (3, 3, 3, 8)]
        head, body = nodes.thead(), nodes.tbody()
        head += row([nodes.Text(title) for title in TITLES])
        for name, option, default, text in rows_of(self.arguments[0]):
            code = nodes.literal(text=option) if option else nodes.Text("")
            body += row([nodes.literal(text=name), code, nodes.Text(default), nodes.Text(text)])
        group += [head, body]
        return [table]


def row(cells):
    """Return a row of a table, a cell for each node."""
    line = nodes.row()
    for cell in cells:
        entry, paragraph = nodes.entry(), nodes.paragraph()
        paragraph += cell
        entry += paragraph
        line += entry
    return line


def setup(app):
    """Register the directive."""
    app.add_directive("settings", SettingsTable)
    return {"parallel_read_safe": True}
