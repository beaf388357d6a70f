"""An option of the command line, written down or made of a setting."""

from __future__ import annotations

import argparse
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from refimpl._support.require import shown
from refimpl.lab.apps.errors import UserError
from refimpl.lab.training.config import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONGEST_INTEGER = 4000  # digits: Python reads no more than 4300


class Option(NamedTuple):
    """An option of the command line.

    Attributes
    ----------
    name : str
        What the settings call it.
    help : str
        For the user, without the default.
    default : object
        None where it depends on the data.
    shown : str or None
        The default as the user is told, where its value does not say it.
    parse : callable
    metavar : str or None
    choices : tuple of str or None
        The user may write "-" for "_" in them.
    word : str or None
        The flag without its hyphens, where it is not the name.
    sets : bool or None
        What a switch sets; None for an option with a value.
    only : dict
        The values of other settings, by name, with which it applies.
    needs : str or None
        A switch without which it says nothing.
    free : bool
        Whether it may change when a run is resumed: it changes no result.
    group : str
        Heading in the help; "" for none.
    """

    name: str
    help: str
    default: Any = None
    shown: str | None = None
    parse: Any = str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    word: str | None = None
    sets: bool | None = None
    only: Any = {}
    needs: str | None = None
    free: bool = False
    group: str = ""

    @property
    def key(self) -> str:
        """What is unique among the options of a command: the flag, without its hyphens."""
        return self.word or self.name

    @property
    def flag(self) -> str:
        """The option as the user types it."""
        return flag(self.key)

    def as_typed(self, value: object) -> str:
        """Return a value as the user would write it."""
        if self.sets is not None:
            return str(value == self.sets)
        if isinstance(value, str) and self.choices:
            return hyphenated(value)
        if isinstance(value, dict):
            return ",".join(f"{key}={one}" for key, one in value.items())
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    def typed(self, value: object) -> str:
        """Return the words with which the user gives a value."""
        return self.flag if self.sets is not None else f"{self.flag} {self.as_typed(value)}"

    def default_shown(self) -> str:
        """Return the default as the help tells it."""
        if self.sets is not None:
            return "off"
        if self.shown is not None:
            return self.shown
        return "none" if self.default is None else self.as_typed(self.default)


Options: TypeAlias = dict[str, Option]  # by key
Chosen: TypeAlias = dict[str, Any]  # values of options by key, or settings by name


def flag(name: str) -> str:
    """Return an option's name as the user types it."""
    return "--" + hyphenated(name)


def hyphenated(word: str) -> str:
    """Return a word as the user types it."""
    return word.replace("_", "-")


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def flags_of(options: Options, parameters: dict[str, str]) -> dict[str, str]:
    """Return the flags of options, by key, by the words that an error may begin with.

    `parameters` are the names that functions have for some of them. An error that begins with
    "graph" is about the data.
    """
    found = list(options.values())
    words = {parameters.get(option.name, option.name): option.flag for option in found}
    words |= {option.key: option.flag for option in found}
    words |= {option.name: option.flag for option in found}
    return {word: flag for word, flag in words.items() if word != "graph"}


@contextmanager
def naming_flags(flags: dict[str, str]) -> Iterator[None]:
    """Let a UserError that begins with the name of a setting begin with the option's flag."""
    try:
        yield
    except UserError as error:
        word, space, rest = str(error).partition(" ")
        if space and word in flags:
            error.args = (f"{flags[word]} {rest}",)
        raise


def add_options(
    parser: argparse.ArgumentParser, options: Options, groups: dict[str, str] | None = None
) -> dict[str, argparse._ArgumentGroup]:
    """Add options to a parser, each under the heading of its group.

    What the user does not give is left out of the namespace, so that it can be told from what
    was given with the value of the default.

    Parameters
    ----------
    parser : ArgumentParser
    options : dict of Option
    groups : dict of str to str, optional
        The headings in their order, with what they are explained by.

    Returns
    -------
    dict
        The argument groups by heading.
    """
    used = {option.group for option in options.values()}
    made = {
        title: parser.add_argument_group(title, text or None)
        for title, text in (groups or {}).items()
        if title in used
    }
    for key, option in options.items():
        target = made.get(option.group, parser)
        text = option.help.replace("%", "%%")
        shown = option.default_shown().replace("%", "%%")
        form: dict[str, Any] = {
            "dest": key,
            "default": argparse.SUPPRESS,
            "help": f"{text} (default: {shown})",
        }
        if option.sets is not None:
            target.add_argument(option.flag, action="store_const", const=option.sets, **form)
            continue
        metavar = option.metavar
        if option.choices:
            metavar = "{" + ",".join(map(hyphenated, option.choices)) + "}"
        target.add_argument(option.flag, type=reader_of(option), metavar=metavar, **form)
    return made


def reader_of(option: Option) -> Callable[[str], Any]:
    """Return what makes an option's value of what the user typed; argparse reports its errors."""
    if option.choices:
        return _chooser(option.choices)
    if option.parse in TYPED:
        return TYPED[option.parse]

    def read(text: str) -> Any:
        try:
            return option.parse(text)
        except (ValueError, TypeError, OverflowError) as error:
            form = f", not {option.metavar}" if option.metavar else ""
            form += ", such as 1000000, 256MB or 1GiB" if option.metavar == "SIZE" else ""
            raise argparse.ArgumentTypeError(f"invalid value: {shown(text)}{form}") from error

    return read


def typed_integer(text: str) -> int:
    """Return the integer that a user typed; argparse reports its errors, and names the option."""
    if not re.fullmatch(rf"[+-]?\d{{1,{LONGEST_INTEGER}}}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"must be an integer, got {shown(text)}")
    return int(text)


def typed_real(text: str) -> float:
    """Return the number that a user typed; argparse reports its errors, and names the option."""
    try:
        if re.fullmatch(r"[\w.+-]+", text, re.ASCII) and "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"must be a number, got {shown(text)}")


TYPED: dict[Any, Callable[[str], Any]] = {int: typed_integer, float: typed_real, str: str}


def _chooser(choices: tuple[str, ...]) -> Callable[[str], str]:
    def choose(text: str) -> str:
        for word in (text, text.replace("-", "_")):
            if word in choices:
                return word
        words = [hyphenated(word) for word in choices]
        close = suggestion(hyphenated(text), words)
        raise argparse.ArgumentTypeError(
            f"invalid choice: {shown(text)} (choose from {', '.join(words)}){close}"
        )

    return choose
