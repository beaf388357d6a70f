"""The public names and their arguments, against the list in public_api.txt.

A change of the list is a change of the interface: write a line in CHANGELOG.md, then run
``python tests/test_public_api.py > tests/public_api.txt``.
"""

import inspect
import sys
from difflib import unified_diff
from pathlib import Path

import refimpl
from refimpl.lab.backend import find, homes

LIST = Path(__file__).with_name("public_api.txt")


def shown(default):
    """Return a default value, without the address that a function or an object has."""
    if default is None or isinstance(default, bool | int | float | str | tuple):
        return repr(default)
    name = getattr(default, "__name__", type(default).__name__)
    return "<made>" if name.startswith("_") else f"<{name}>"


def arguments(function):
    """Return the names, kinds and defaults of a function's arguments, as in its definition."""
    parameters = inspect.signature(function).parameters
    bare = [one.replace(annotation=one.empty, default=one.empty) for one in parameters.values()]
    names = str(inspect.Signature(bare))[1:-1].split(", ")
    defaults = {
        name: one.default for name, one in parameters.items() if one.default is not one.empty
    }
    return ", ".join(
        f"{name}={shown(defaults[name])}" if name in defaults else name for name in names
    )


def members(kind):
    """Return the public methods and properties that a class of the packages defines or inherits."""
    names = {
        name
        for base in kind.__mro__
        if base.__module__.startswith("refimpl")
        for name in vars(base)
        if not name.startswith("_")
    }
    for name in sorted(names):
        member = inspect.getattr_static(kind, name)
        callable_ = isinstance(member, staticmethod | classmethod) or inspect.isfunction(member)
        yield f"{name}({arguments(getattr(kind, name))})" if callable_ else name


def public_api():
    """Return a line for each public name, with its arguments, and for each member of a class."""
    lines = []
    for name, topic in sorted(homes().items(), key=lambda item: item[::-1]):
        value = find(refimpl, name)
        top = " *" if name in refimpl.__all__ else ""
        lines.append(f"{topic}.{name}({arguments(value)}){top}")
        if inspect.isclass(value):
            lines += [f"    .{member}" for member in members(value)]
    return lines


def test_the_public_api_is_as_listed():
    want, got = LIST.read_text().splitlines()[2:], public_api()
    changes = unified_diff(want, got, LIST.name, "the package", n=0, lineterm="")
    assert want == got, "\n".join([*changes, __doc__])


if __name__ == "__main__":
    sys.stdout.write(
        "# Public names of refimpl and fastimpl; * also at the top of the package.\n\n"
    )
    sys.stdout.writelines(f"{line}\n" for line in public_api())
