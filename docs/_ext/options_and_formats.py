"""Tables that are made from the code: settings of a class, and what data sets may contain.

settings refimpl.lab.training.methods.fresh:Fresh    the fields of a class, and their options
data-formats                                         each format of data sets; the rows of sources
                                                     that are no files are its content
"""

from dataclasses import fields

from generated import extension, plain, row_of, table
from paper_lines import find

from refimpl.lab.apps.options import option_of
from refimpl.lab.data.formats import FORMATS, Contents
from refimpl.lab.training.settings import settings_of


def settings(place):
    """Return a table of the settings of "module:Class"."""
    cls, lines = find(place), []
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


setup = extension(settings, data_formats)
