"""The figures of the documentation, made from the real code when it is built.

Each module of this folder has DRAWINGS, a dict from names to functions that return a `Drawing`.
The directive ``{drawing} NAME`` shows one; its options are keyword arguments of the function.
"""

import importlib
import pkgutil


def drawings():
    """Return name -> function of all drawings, sorted by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for name, function in getattr(importlib.import_module(module.name), "DRAWINGS", {}).items():
            if name in found:
                raise ValueError(f"two drawings are called {name!r}")
            found[name] = function
    return dict(sorted(found.items()))
