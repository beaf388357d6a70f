"""Valid calls of every public callable: the conformance vectors', those of ``starts.toml``."""

import copy
import dataclasses
import functools
import inspect

import refimpl
from fuzz import written
from fuzz.by_hand import WRITES
from fuzz.values import value_of
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.backend import find, homes


def checks_nothing(value):
    """Whether a public name is a plain record: what it is given is checked where it is used."""
    if not inspect.isclass(value):
        return False
    plain = dataclasses.is_dataclass(value) and not hasattr(value, "__post_init__")
    return issubclass(value, tuple) or plain


@functools.cache
def starts():
    """Return {name: {start: function of a package that returns arguments by name}}.

    Raises
    ------
    LookupError
        If a public callable has no valid call to start from.
    """
    given = written("starts")
    left_out = given.pop("left_out")
    callables = {n for n in homes() if callable(find(refimpl, n)) and n not in left_out}
    callables -= {n for n in callables if checks_nothing(find(refimpl, n))}
    found: dict = {}
    for place in ("models", "methods"):  # the settings, by default
        names = callables & vars(getattr(refimpl, place)).keys()
        classes = {n for n in names if inspect.isclass(find(refimpl, n))}
        given |= {name: f"**vars(gnn.{place}.{name}())" for name in classes}
    for name, calls in given.items():
        calls = {"by hand": calls} if isinstance(calls, str) else calls
        found[name] = {start: functools.partial(evaluated, text) for start, text in calls.items()}
    for kernel in kernels().values():
        for case in kernel.cases:
            if case.error is None:
                start = functools.partial(copied, case.args)
                found.setdefault(kernel.name, {})[case.id] = start
    if callables != found.keys():
        raise LookupError(f"no valid call of {sorted(callables ^ found.keys())}")
    return found


def evaluated(text, gnn):
    """Return the arguments in the text of a call."""
    return value_of(f"dict({text})", gnn=gnn)


def copied(args, gnn):
    """Return a copy of the arguments of a test vector."""
    return copy.deepcopy(args)


@functools.cache
def writes():
    """Return {name: the arguments that a call changes}, of those callables that change some."""
    return {k.name: k.writes for k in kernels().values() if k.writes} | WRITES
