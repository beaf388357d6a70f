"""What objects that hold arrays look like at a prompt: a line, with shapes for numbers."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

FEW = 6  # numbers that are shown themselves
LONG = 100  # characters of an object inside another
ROOMS = (LONG, 60, 30)  # characters of each value, the first with which the whole is short enough
LONGEST = 300  # characters of the whole


def shown(value: Any, room: int = LONG) -> str:
    """Return a value in a few words: a large array by dtype and shape, a long list by length."""
    if isinstance(value, np.ndarray):
        words = f"{value.tolist()}" if value.size <= FEW else ""
        shape = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
        return words if value.size <= FEW and len(words) <= room else shape
    if isinstance(value, dict):
        parts = (f"{name}: {shown(one, room)}" for name, one in value.items())
        return _listed(parts, value.values(), "{}", room)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if len(value) > FEW or any(hasattr(one, "_fields") for one in value):
            return f"<{len(value)} of {type(value[0]).__name__}>"
        ends = "[]" if isinstance(value, list) else "()"
        return _listed((shown(one, room) for one in value), value, ends, room)
    if isinstance(value, float | np.floating) and len(repr(float(value))) > 8:
        return f"{value:.6g}"
    words = str(value) if isinstance(value, np.generic | np.dtype) else repr(value)
    return words if len(words) <= room else f"{type(value).__name__}(..)"


def _listed(parts: Iterable[str], values: Collection[Any], ends: str, room: int) -> str:
    """Return as many parts as there is room for; where there is none for the first, the length."""
    inside: list[str] = []
    for part in parts:
        if len(inside) == FEW or len(", ".join([*inside, part])) > room - 2:
            inside.append("..")
            break
        inside.append(part)
    if inside[:1] == [".."]:
        return f"<{len(values)} of {type(next(iter(values))).__name__}>"
    return f"{ends[0]}{', '.join(inside)}{ends[1]}"


def line(name: str, values: dict[str, Any]) -> str:
    """Return ``name(..)`` with the values by name, in at most `LONGEST` characters."""
    for room in ROOMS:
        parts = [f"{key}={shown(value, room)}" for key, value in values.items()]
        if len(words := f"{name}({', '.join(parts)})") <= LONGEST:
            return words
    while len(words := f"{name}({', '.join([*parts, '..'])})") > LONGEST:
        parts.pop()
    return words


def one_line(text: object) -> str:
    """Return `text` in one line: a character that would move a cursor is written as its escape."""
    return "".join(x if x.isprintable() else ascii(x)[1:-1] for x in str(text))


def short_repr(self: Any) -> str:
    """Return the repr of a named tuple or a dataclass, its values in a few words each.

    What is None unless it is given is left out where it is.
    """
    if is_dataclass(self):
        defaults = {one.name: one.default for one in fields(self) if one.repr}
    else:
        defaults = dict.fromkeys(self._fields, ...) | self._field_defaults
    values = {name: getattr(self, name) for name in defaults}
    given = {name: one for name, one in values.items() if one is not None or defaults[name]}
    return line(type(self).__name__, given)


def showing(*names: str) -> Callable[[Any], str]:
    """Return a ``__repr__`` that shows these attributes in a few words each."""

    def __repr__(self: Any) -> str:
        return line(type(self).__name__, {name: getattr(self, name) for name in names})

    return __repr__


def score(value: float | None) -> str:
    """Return an F1 as people read it; "-" for that of no nodes."""
    return "-" if value is None else f"{value:.4f}"
