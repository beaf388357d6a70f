"""What objects that hold arrays look like at a prompt: a line, with shapes for numbers."""

from dataclasses import fields, is_dataclass

import numpy as np

FEW = 6  # numbers, or other things, that are shown themselves
LONG = 100  # characters of an object inside another


def shown(value):
    """Return a value in a few words: a large array by dtype and shape, a long list by length."""
    if isinstance(value, np.ndarray):
        if value.size <= FEW:
            return f"{value.tolist()}"
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, dict):
        parts = [f"{name}: {shown(one)}" for name, one in list(value.items())[:FEW]]
        return f"{{{', '.join([*parts, *(['..'] if len(value) > FEW else [])])}}}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if len(value) > FEW or any(hasattr(one, "_fields") for one in value):
            return f"<{len(value)} of {type(value[0]).__name__}>"
        inside = ", ".join(map(shown, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    words = repr(value)
    return words if len(words) <= LONG else f"{type(value).__name__}(..)"


def short_repr(self):
    """Return the repr of a NamedTuple or a dataclass, its values in a few words each."""
    names = [one.name for one in fields(self) if one.repr] if is_dataclass(self) else self._fields
    parts = [f"{name}={shown(getattr(self, name))}" for name in names]
    return f"{type(self).__name__}({', '.join(parts)})"


def score(value):
    """Return an F1 as people read it; "-" for that of no nodes."""
    return "-" if value is None else f"{value:.4f}"
