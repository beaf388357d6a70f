"""Ties each fast function to its reference."""

import inspect

import refimpl


def twin(fast):
    """Give `fast` the reference's docstring after checking that the signatures match."""
    reference = getattr(refimpl, fast.__name__)
    if inspect.signature(fast) != inspect.signature(reference):
        raise TypeError(f"{fast.__name__}{inspect.signature(fast)} differs from refimpl")
    fast.__doc__ = reference.__doc__
    return fast
