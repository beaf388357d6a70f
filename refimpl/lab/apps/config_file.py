"""Settings of a run from a file: a TOML table of options, or the metrics.json of another run."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.option import hyphenated, reader_of
from refimpl.lab.apps.options import PACKAGES, data_source
from refimpl.lab.apps.settings import (
    check_applicable,
    has_what_it_needs,
    unmet,
    with_defaults,
)
from refimpl.lab.training.config import PARTS, suggestion
from refimpl.lab.training.presets import preset_settings
from refimpl.lab.training.settings import to_json

if TYPE_CHECKING:
    from refimpl.hints import FilePath
    from refimpl.lab.apps.option import Chosen, Option, Options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = ".toml", ".json"
TEXTS = str, data_source  # what reads words, of which a number is none
TYPED_ONLY = "out", "resume", "overwrite", "config", "preset"


def with_file(path: FilePath, options: Options, given: Chosen, known: Options) -> Chosen:
    """Return `given` with what a file says of the options that are not given.

    What of it does not apply with what is given, such as a setting of another method, is left
    out. In a .toml file, which somebody wrote, what does not apply with the rest of it is an error;
    a metrics.json has settings that had no part in its run.

    Parameters
    ----------
    path : str
        A .toml file whose keys are options without their hyphens in front, or a metrics.json.
    options : dict of Option
        Of the command.
    given : dict
        The values that the user gave, by the keys of `options`.
    known : dict of Option
        Options of any command that trains: of these, those that are none here say nothing.

    Returns
    -------
    dict

    Raises
    ------
    UserError
        If the file cannot be read, or something in it cannot be.
    """
    path = Path(path)
    found = _values(path, _read(path), options, known)
    package = found.get("impl", PACKAGES[0])
    if package not in PACKAGES and "impl" not in given:  # a file decides on no import
        raise UserError(
            f"{path}: impl must be {' or '.join(PACKAGES)} in a file, got {package!r}: to import "
            "another package, give --impl on the command line"
        )
    if path.suffix == ".toml":
        try:
            check_applicable(options, found, with_defaults(options, found))
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
    return with_applying(found, options, given)


def with_preset(name: str, options: Options, given: Chosen) -> Chosen:
    """Return `given` with what a preset chooses for the options that are not given and apply."""
    names = {options[key].name: value for key, value in given.items()}
    chosen = {key: to_json(value) for key, value in preset_settings(name, names).items()}
    return with_applying(chosen, options, given)


def with_applying(found: Chosen, options: Options, given: Chosen) -> Chosen:
    """Return `given` with those of other options' values that apply."""
    while True:  # what hangs on something that is left out is left out, too
        merged = with_defaults(options, found | given)
        kept = {key: value for key, value in found.items() if _applies(options[key], merged)}
        if len(kept) == len(found):
            return kept | given
        found = kept


def _applies(option: Option, settings: Chosen) -> bool:
    return unmet(option, settings) is None and has_what_it_needs(option, settings)


def _read(path: Path) -> Chosen:
    """Return the names and values in a file."""
    if path.suffix not in KINDS:
        raise UserError(f"--config must be a {' or '.join(KINDS)} file, got {path}")
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:  # not its language, or lists without end
        raise UserError(f"{path}: {' '.join(str(error).split())}") from error
    if path.suffix == ".toml":
        return found
    settings = found.get("settings") if isinstance(found, dict) else None
    if not isinstance(settings, dict):
        raise UserError(f"--config {path} holds no settings of a run, as metrics.json does")
    return settings


def _values(path: Path, settings: Chosen, options: Options, known: Options) -> Chosen:
    """Return the settings of a file by the keys of options."""
    typed = path.suffix == ".toml"
    chosen = {name.replace("-", "_"): value for name, value in settings.items()}
    deciding = with_defaults(known, {}) | {k: v for k, v in chosen.items() if k in PARTS}
    found, seen = {}, set()
    for raw, value in settings.items():
        name = raw.replace("-", "_")
        key = name if typed and name in known else _key_of(name, known, deciding | chosen)
        if key is None and name not in options:
            if name in TYPED_ONLY:
                raise UserError(f"{path}: --{name} is typed, and not taken from a file")
            close = suggestion(name, options)
            raise UserError(f"{path}: there is no option {hyphenated(name)!r}{close}")
        key = name if key is None else key
        if key in seen:
            raise UserError(f"{path}: {hyphenated(key)} stands there twice, by two names")
        seen.add(key)
        if key not in options or value is None:  # of another command; what a run did not have
            continue
        value = _value(path, options[key], name, value)
        if value is not None:
            found[key] = value
    return found


def _key_of(name: str, options: Options, settings: Chosen) -> str | None:
    """Return the key of the option that is the setting `name`; of several, one that applies."""
    keys = [key for key, option in options.items() if option.name == name]
    applying = [key for key in keys if _applies(options[key], settings)]
    return next(iter(applying + keys), None)


def _value(path: Path, option: Option, word: str, value: Any) -> Any:
    """Return the value of an option as if it were typed; None for a switch that is not set."""
    if option.sets is not None:
        if not isinstance(value, bool):
            raise UserError(f"{path}: {hyphenated(word)} must be true or false, got {value!r}")
        is_set = value == option.sets if word == option.name else value
        return option.sets if is_set else None
    if option.parse in TEXTS and not isinstance(value, str):
        raise UserError(f"{path}: {hyphenated(word)} must be a text, got {value!r}")
    if isinstance(value, str) and (option.choices or option.parse is not str):
        try:
            return to_json(reader_of(option)(value))
        except (ArgumentTypeError, ValueError, TypeError, OverflowError) as error:
            raise UserError(f"{path}: {hyphenated(word)}: {error}") from None
    return value
