"""Ties each fast function to its reference."""

import importlib
import inspect


def twin(fast):
    """Give `fast` the reference's docstring after checking that the signatures match."""
    place = fast.__module__.replace("fastimpl", "refimpl", 1)
    reference = getattr(importlib.import_module(place), fast.__name__)
    if inspect.signature(fast) != inspect.signature(reference):
        raise TypeError(f"{fast.__name__}{inspect.signature(fast)} differs from refimpl")
    fast.__doc__ = reference.__doc__
    return fast
