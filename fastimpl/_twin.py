"""Ties each fast function to its reference."""

import importlib
import inspect


def twin(fast):
    """Give `fast` the reference's annotations and docstring; the parameters must match."""
    place = fast.__module__.replace("fastimpl", "refimpl", 1)
    reference = getattr(importlib.import_module(place), fast.__name__)
    own = inspect.signature(fast)
    _annotate(inspect.unwrap(fast), inspect.unwrap(reference))
    fast.__annotations__ = dict(reference.__annotations__)
    if inspect.signature(fast) != inspect.signature(reference):
        raise TypeError(f"{fast.__name__}{own} differs from refimpl")
    fast.__doc__ = reference.__doc__
    return fast


def _annotate(fast, reference):
    """Copy annotations, and what they name: `typing.get_type_hints` looks for it beside `fast`."""
    fast.__annotations__ = dict(reference.__annotations__)
    for annotation in reference.__annotations__.values():
        for name in compile(annotation, reference.__module__, "eval").co_names:
            if name in reference.__globals__:
                fast.__globals__.setdefault(name, reference.__globals__[name])
