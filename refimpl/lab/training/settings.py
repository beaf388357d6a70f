"""Settings that check themselves: each field says what it accepts and how a command line asks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from math import inf, isinf
from typing import Any, ClassVar, TypeAlias

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import line

Check: TypeAlias = Callable[[str, Any], Any]

MOST = 2**31 - 1
DEEPEST = 4  # lists in lists in JSON: more than any setting has
MOST_BYTES = 2**62
UNITS = {"": 1, "b": 1} | {
    prefix + unit: thousand**power
    for unit, thousand in (("b", 1000), ("ib", 1024))
    for power, prefix in enumerate("kmgt", 1)
}


@dataclass(frozen=True)
class Setting:
    """What is known of one field of a `Settings` class.

    Attributes
    ----------
    check : callable
        ``check(name, value)`` returns the value in its final form, or raises.
    help : str
        For the user: a phrase without its default.
    parse : callable
        Makes a value of what a user typed; raises ValueError if it cannot.
    metavar : str or None
    choices : tuple of str or None
    shown : str or None
        The default as the user is told, where its value does not say it.
    flag : str or None
        The option's name where it is not the field's; "" if the command line has none.
    needs : str or None
        The switch beside it without which it says nothing.
    free : bool
        Whether it may change when a run is resumed: it changes no result.
    computes : bool
        Whether it says what a model computes, and not only how it is trained; of the settings
        that all models have. Such a setting that is added must have a default that computes what
        model files without it were saved for.
    """

    check: Check
    help: str
    parse: Callable[[str], Any] = str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    shown: str | None = None
    flag: str | None = None
    needs: str | None = None
    free: bool = False
    computes: bool = False


class Settings:
    """A base for frozen dataclasses whose fields `integer`, `real`, `choice`, .. make.

    Every value is checked, and brought into its final form, when an object is made. A plain field
    is a setting too, which is not checked and has no option on the command line.
    """

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for one, setting in settings_of(type(self)).items():
            object.__setattr__(self, one, setting.check(one, getattr(self, one)))

    def __eq__(self, other: object) -> bool:
        """Whether both have the same class and settings; for classes with arrays among them."""
        names = settings_of(type(self))
        return type(self) is type(other) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = Settings.__repr__  # type: ignore[method-assign]  # not the dataclass's

    def __repr__(self) -> str:  # what is not as it is by default
        default: dict[str, Any] = {}  # of a base class, which has no fields
        if is_dataclass(self):
            default = {one.name: one.default for one in fields(self)}
        values = {name: getattr(self, name) for name in default}
        kept = [name for name in values if np.array_equal(values[name], default[name])]
        return line(type(self).__name__, {k: v for k, v in values.items() if k not in kept})

    def __hash__(self) -> int:
        values = (getattr(self, name) for name in settings_of(type(self)))
        return hash((type(self), *(None if isinstance(v, np.ndarray) else v for v in values)))

    def values(self) -> dict[str, Any]:
        """Return the settings by name, as JSON can hold them and `from_json` takes them.

        A sampler and a partition, which the command line does not ask for, stay as they are.
        """
        return {name: to_json(getattr(self, name)) for name in settings_of(type(self))}


PLAIN = Setting(check=lambda name, value: value, help="", flag="")  # of a field that has no other


def settings_of(cls: type) -> dict[str, Setting]:
    """Return the `Setting` of every field of a dataclass, by name, in order."""
    return {f.name: f.metadata.get("setting", PLAIN) for f in fields(cls)}


def integer(
    default: int | None,
    help: str,
    low: int = 1,
    high: int = MOST,
    *,
    metavar: str = "COUNT",
    **more: Any,
) -> Any:
    """Make a field for an int in [low, high]; for None too where that is the default."""
    check = _or_none(default, lambda name, value: require.integer(name, value, low, high))
    return _field(default, check, help, **{"parse": int, "metavar": metavar, **more})


def real(
    default: float | None,
    help: str,
    low: float = 0,
    high: float = inf,
    *,
    strict: bool = False,
    metavar: str = "NUMBER",
    **more: Any,
) -> Any:
    """Make a field for a float of at least (above, if strict) `low` and at most `high`, or None."""

    def number(name: str, value: Any) -> float:
        return require.real(name, value, low, strict=strict, high=high)

    check = _or_none(default, number)
    return _field(default, check, help, **{"parse": float, "metavar": metavar, **more})


def switch(default: bool, help: str, **more: Any) -> Any:
    """Make a field for True or False."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False")
        return value

    return _field(default, check, help, bool, None, **more)


def choice(default: str, help: str, choices: tuple[str, ...], **more: Any) -> Any:
    """Make a field for one of some words; a user may write "-" for "_"."""

    def check(name: str, value: Any) -> Any:
        return require.choice(name, value, choices)

    return _field(default, check, help, _underscored, None, choices=choices, **more)


def integers(
    default: tuple[int, ...] | None,
    help: str,
    low: int = 1,
    high: int = MOST,
    *,
    metavar: str = "COUNT,..",
    **more: Any,
) -> Any:
    """Make a field for a tuple of ints in [low, high], or None."""

    def check(name: str, value: Any) -> tuple[int, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise TypeError(f"{name} must be a tuple of ints, got {type(value).__name__}")
        return tuple(require.integer(name, number, low, high) for number in value)

    return _field(default, check, help, parsed_integers, metavar, **more)


def size(default: int, help: str, shown: str, low: int = 0, **more: Any) -> Any:
    """Make a field for a number of bytes; a user may give it a unit. `shown` is the default."""
    return custom(default, bytes_from(low), help, parsed_size, "SIZE", shown=shown, **more)


def bytes_from(low: int) -> Check:
    """Return the check of a number of bytes of at least `low`."""
    return lambda name, value: require.integer(name, value, low, MOST_BYTES)


def custom(
    default: Any,
    check: Check,
    help: str,
    parse: Callable[[str], Any] = str,
    metavar: str | None = None,
    **more: Any,
) -> Any:
    """Make a field with a check and a parser of its own."""
    return _field(default, check, help, parse, metavar, **more)


def _field(
    default: Any,
    check: Check,
    help: str,
    parse: Callable[[str], Any],
    metavar: str | None = None,
    **more: Any,
) -> Any:
    setting = Setting(check=check, help=help, parse=parse, metavar=metavar, **more)
    return field(default=default, metadata={"setting": setting})


def _or_none(default: Any, check: Check) -> Check:
    if default is not None:
        return check
    return lambda name, value: None if value is None else check(name, value)


def _underscored(text: str) -> str:
    return text.replace("-", "_")


def parsed_integer(text: str) -> int:
    """Return an integer in decimal digits; Python also takes 1_0 for 10."""
    if not re.fullmatch(r"\s*[+-]?\d+\s*", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def parsed_integers(text: str) -> tuple[int, ...]:
    """Return numbers that commas separate, as a tuple."""
    return tuple(parsed_integer(number) for number in text.split(","))


def parsed_size(text: str) -> int:
    """Return bytes: a number alone, or with a unit as in 256MB (10^6) or 1.5GiB (2^30)."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", text, re.ASCII)
    if found is None or found[2].lower() not in UNITS or ("." in found[1] and not found[2]):
        raise ValueError(text)
    return int(Fraction(found[1]) * UNITS[found[2].lower()])


def to_json(value: Any) -> Any:
    """Return a setting's value as JSON holds it: tuples as lists, infinity as "inf"."""
    if isinstance(value, tuple):
        return [to_json(one) for one in value]
    return "inf" if isinstance(value, float) and isinf(value) else value


def from_json(value: Any, depth: int = DEEPEST) -> Any:
    """Return what `to_json` was given; a list in too many others stays, to be refused."""
    if isinstance(value, list) and depth:
        return tuple(from_json(one, depth - 1) for one in value)
    return inf if isinstance(value, str) and value == "inf" else value
