"""Valid calls of every public callable: the conformance vectors' and those of `by_hand`."""

import dataclasses
import inspect

import refimpl
from fuzz.by_hand import CALLS, LEFT_OUT, WRITES, fixed
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.backend import find, homes


def checks_nothing(value):
    """Whether a public name is a plain record: what it is given is checked where it is used."""
    if not inspect.isclass(value):
        return False
    plain = dataclasses.is_dataclass(value) and not hasattr(value, "__post_init__")
    return issubclass(value, tuple) or plain


def starts():
    """Return {name: {start: function of a package that returns arguments by name}}.

    Raises
    ------
    LookupError
        If a public callable has no valid call to start from.
    """
    found: dict = {name: dict(calls) for name, calls in CALLS.items()}
    for kernel in kernels().values():
        for case in kernel.cases:
            if case.error is None:
                found.setdefault(kernel.name, {})[case.id] = fixed(**case.args)
    callables = {n for n in homes() if callable(find(refimpl, n)) and n not in LEFT_OUT}
    callables -= {n for n in callables if checks_nothing(find(refimpl, n))}
    if callables != found.keys():
        raise LookupError(f"no valid call of {sorted(callables ^ found.keys())}")
    return found


def writes():
    """Return {name: the arguments that a call changes}, of those callables that change some."""
    return {k.name: k.writes for k in kernels().values() if k.writes} | WRITES
