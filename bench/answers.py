"""Whether an answer is right: against another method where there is one, else another package."""

import dataclasses

import numpy as np

from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.backend import find

FLOATS = {"float32": 1e-4, "float64": 1e-10}  # relative to the largest number of an array


class Differs(AssertionError):
    """An answer that is wrong: where, what was wanted and what came, in a line."""


def same(at, got, want):
    """Refuse an array, or a number, that is not the wanted one in each entry, shape and dtype."""
    _compare(at, got, want, lambda a, b: (a == b) | ((a != a) & (b != b)))


def near(at, got, want, *, rtol=0.0, atol=0.0):
    """Refuse numbers that are further from the wanted than ``atol + rtol * abs(want)``."""
    _compare(at, got, want, lambda a, b: np.isclose(a, b, rtol, atol, equal_nan=True), kinds=True)


def exactly(want):
    """Return a check of a result that must be this array: see `same`."""
    return lambda got, _args, _other: same("result", got, want)


def within(want, **tolerance):
    """Return a check of a result that must be near this array: see `near`."""
    return lambda got, _args, _other: near("result", got, want, **tolerance)


def near_norm(at, got, want, rtol, least=0.0):
    """Refuse an array further from the wanted one than `rtol` of its norm, or of `least`."""
    error = np.linalg.norm(got - want) / max(np.linalg.norm(want), least)
    if not error < rtol:
        raise Differs(f"{at}: {error:.1e} away, relative")


def _compare(at, got, want, equal, kinds=False):
    """Refuse an array; `kinds`: another dtype of the same kind will do."""
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape:
        raise Differs(f"{at}: want shape {list(b.shape)}, got {list(a.shape)}")
    wanted = isinstance(want, np.ndarray | np.generic)
    if wanted and (a.dtype.kind != b.dtype.kind or not kinds and a.dtype != b.dtype):
        raise Differs(f"{at}: want dtype {b.dtype}, got {a.dtype}")
    wrong = ~np.asarray(equal(a, b))
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), wrong.shape)
        where = "[" + ", ".join(map(str, map(int, place))) + "]" if place else ""
        raise Differs(f"{at}{where}: want {short(b[place])}, got {short(a[place])}")


def alike(got, want, at="result"):
    """Refuse a value unlike another of the same form: integers equal, floats but for rounding.

    Fields that are not in `want` are not looked at.
    """
    names = fields_of(want)
    if names:
        for name in names:
            if not hasattr(got, name):
                raise Differs(f"{at}: has no {name}, got {short(got)}")
            alike(getattr(got, name), getattr(want, name), f"{at}.{name}")
    elif isinstance(want, list | tuple):
        if not isinstance(got, list | tuple) or len(got) != len(want):
            raise Differs(f"{at}: want {len(want)} items, got {short(got)}")
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            alike(a, b, f"{at}[{i}]")
    elif isinstance(want, np.ndarray | np.floating | float):
        _alike_numbers(at, got, want)
    elif got is not want and got != want:
        raise Differs(f"{at}: want {short(want)}, got {short(got)}")


def _alike_numbers(at, got, want):
    b = np.asarray(want)
    if b.dtype.kind != "f":
        return same(at, got, want)
    finite = np.abs(b[np.isfinite(b)])
    rtol = FLOATS.get(str(b.dtype), 0.0)
    return near(at, got, want, rtol=rtol, atol=rtol * float(finite.max(initial=0)))


def fields_of(value):
    """Return the names of the parts of a value that has named ones."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value._fields
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value) if field.init)
    return ()


def restored(value, before):
    """Give a value the numbers of its copy `before` back, in place; return whether it had others.

    Arrays, lists, dicts, and what is made of them.
    """
    if isinstance(value, np.ndarray):
        changed = value.dtype.hasobject or value.tobytes() != before.tobytes()
        if changed:
            value[...] = before
        return changed
    if isinstance(value, list) and len(value) != len(before):
        value[:] = before
        return True
    if isinstance(value, dict) and value.keys() != before.keys():
        value.clear()
        value.update(before)
        return True
    names = fields_of(value)
    if names:
        pairs = [(getattr(value, name), getattr(before, name)) for name in names]
    elif isinstance(value, dict):
        pairs = [(value[name], before[name]) for name in value]
    elif isinstance(value, list | tuple):
        pairs = list(zip(value, before, strict=True))
    else:
        return False
    return sum(restored(a, b) for a, b in pairs) > 0  # all of them, not the first only


def as_other(kernel):
    """Return a check of a kernel that changes no argument: another implementation's answer."""
    answers = {}

    def check(result, args, other):
        if other is None:
            return
        if other.__name__ not in answers:
            answers[other.__name__] = find(other, kernel)(**args)
        alike(result, answers[other.__name__])

    return check
