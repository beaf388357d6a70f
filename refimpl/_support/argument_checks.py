"""The decorator that checks the arguments of a reference function before its body runs.

A reference function holds its algorithm and nothing else. Its checks are a function of their own,
which fastimpl calls too:

    def double_arguments(x):
        return (require.integer("x", x, 0),)

    @checked_by(double_arguments)
    def double(x: Int) -> int:
        return 2 * x

The checks take the parameters of the function. They return a value for each parameter, in the same
order, as a tuple. The body runs with these values.
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
        signature = inspect.signature(body)

        @functools.wraps(body)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                call = signature.bind(*args, **kwargs)
            except TypeError:
                call = None
            if call is None:
                return body(*args, **kwargs)  # Python says which argument is missing or unknown
            call.apply_defaults()
            values = checks(*call.args, **call.kwargs)
            call.arguments = dict(zip(signature.parameters, values, strict=True))
            return body(*call.args, **call.kwargs)

        checked.checks = checks  # type: ignore[attr-defined]
        return checked

    return decorate
