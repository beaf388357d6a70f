"""The decorator that checks the arguments of a reference function before its body runs.

A reference function holds its algorithm and nothing else. Its checks are a function of their own,
which fastimpl calls too:

    def double_arguments(x):
        return (require.integer("x", x, 0),)

    @checked_by(double_arguments)
    def double(x: Int) -> int:
        return 2 * x

The checks take the parameters of the function. They return a value for each parameter, in the same
order, as a tuple. The body runs with these values. The body takes no ``*args`` and no ``**kwargs``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Checks = Callable[..., tuple[Any, ...]]


def checked_by(checks: Checks) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: `checks` reads the arguments, and the body gets what `checks` returns."""

    def decorate(body: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(body).parameters
        names = list(parameters)
        options = [name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY]
        first = names[: len(names) - len(options)]
        defaults = {n: one.default for n, one in parameters.items() if one.default is not one.empty}

        @functools.wraps(body)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            # what `inspect.Signature.bind` does, in a tenth of its time
            given = defaults | dict(zip(first, args, strict=False)) | kwargs
            twice = not kwargs.keys().isdisjoint(first[: len(args)])
            if twice or len(args) > len(first) or given.keys() != parameters.keys():
                return body(*args, **kwargs)  # Python says which argument is missing or unknown
            values = checks(*map(given.get, first), **{name: given[name] for name in options})
            found: Any = dict(zip(names, values, strict=True))
            return body(*map(found.get, first), **{name: found[name] for name in options})

        checked.checks = checks  # type: ignore[attr-defined]
        return checked

    return decorate
