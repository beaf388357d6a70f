"""Tables of settings, made from the code: of a class, and of what the papers print.

```{settings} refimpl.lab.training.methods.fresh:Fresh
```

```{printed-choices}
```
"""

from dataclasses import fields
from importlib import import_module

from generated import directive, plain, table

from refimpl.lab.apps.option import hyphenated
from refimpl.lab.apps.options import option_of, train_options
from refimpl.lab.training.paper_defaults import PRINTED, default_of
from refimpl.lab.training.settings import settings_of
from refimpl.samplers.sampling import KERNELS

TITLES = ("field", "option", "default", "what it does")
PRINTED_TITLES = ("erratum", "where", "option", "printed", "default", "applies with")


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


def settings_table(place):
    """Return a table of the settings of "module:Class"."""
    lines = [
        (f"`{name}`", f"`{option}`" if option else "", plain(default), plain(text))
        for name, option, default, text in rows_of(place)
    ]
    return table(TITLES, lines, (3, 3, 3, 8))


def printed_rows():
    """Return (erratum, where, option, printed, default, applies with) of each printed choice."""
    options = {option.name: option for option in train_options().values()}
    found = []
    for one in PRINTED:
        option, default = options[one.name], default_of(one.name)
        value, usual = (
            option.shown if v is None else typed(option, v) for v in (one.value, default)
        )
        found.append(
            (
                one.erratum,
                one.where,
                option.flag,
                value,
                usual,
                " and ".join(condition(options[other], of) for other, of in one.only.items()),
            )
        )
    return found


def typed(option, value):
    """Return a value as the user would write it, that of a switch as on or off."""
    if option.sets is None:
        return option.as_typed(value)
    return "on" if value == option.sets else "off"


def condition(option, values):
    """Return with which values of another option one applies, as a reader is told."""
    if values == (False,):
        return f"without {option.flag}"
    if set(values) == set(KERNELS):
        return "any sampler"
    return f"{option.flag} {', '.join(map(hyphenated, values))}"


def printed_choices():
    """Return a table of what the papers print where it is not the default."""
    lines = [
        [f"`{cell}`" if cell.startswith("--") else plain(cell) for cell in cells]
        for cells in printed_rows()
    ]
    return table(PRINTED_TITLES, lines, (2, 3, 4, 3, 4, 6))


def setup(app):
    app.add_directive("settings", directive(settings_table))
    app.add_directive("printed-choices", directive(printed_choices))
    return {"parallel_read_safe": True}
