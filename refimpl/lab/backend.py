"""Code written once for both packages takes the implementation as its first argument."""

import functools
import inspect
from typing import Any


def bind(function, gnn):
    """Return `function` with its first argument, the package `gnn`, filled in.

    The result shows the remaining signature, and the original as its attribute `unbound`.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def bound_function(*args, **kwargs):
        return function(gnn, *args, **kwargs)

    bound: Any = bound_function
    bound.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    bound.unbound = function
    return bound
