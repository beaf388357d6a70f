"""From the options of a run to its settings: which apply, and what the library makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refimpl._support import require
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import flag
from refimpl.lab.apps.options import RUN
from refimpl.lab.apps.sampler_options import sampler_of, sampler_settings
from refimpl.lab.training.config import PARTS, TrainConfig, config_from
from refimpl.lab.training.paper_defaults import printed_choices
from refimpl.lab.training.settings import settings_of

if TYPE_CHECKING:
    from refimpl.lab.apps.option import Chosen, Option, Options
    from refimpl.lab.data.dataset import Dataset


def asked(options: Options, given: Chosen) -> Chosen:
    """Return the settings that a new run is asked for, by name.

    Those that are left out have the library's defaults; they are filled in here only for the run
    itself, and where it depends on them which options apply. With ``as_printed`` they are what
    the papers print.

    Raises
    ------
    UserError
        If one that is given does not apply.
    """
    settings = with_defaults(options, given)
    check_applicable(options, given, settings)
    return with_printed(options, given, settings)


def with_defaults(options: Options, given: Chosen) -> Chosen:
    """Return the settings that are given, by name, and defaults of what decides which apply."""
    deciding = {other for option in options.values() for other in option.only}
    settings = {
        option.name: option.default
        for option in options.values()
        if option.group == RUN or option.name in deciding
    }
    return settings | {options[key].name: value for key, value in given.items()}


def with_printed(options: Options, given: Chosen, settings: Chosen) -> Chosen:
    """Return settings with what the papers print where nothing is `given`, if that is asked for."""
    if not settings["as_printed"]:
        return settings
    found = printed_choices(settings, [options[key].name for key in given])
    applying = {one.name for one in options.values() if unmet(one, settings) is None}
    return settings | {name: value for name, value in found.items() if name in applying}


def unmet(option: Option, settings: Chosen) -> str | None:
    """Return the first setting with which an option does not apply, or None."""
    conditions = option.only.items()
    return next((name for name, values in conditions if settings.get(name) not in values), None)


def has_what_it_needs(option: Option, settings: Chosen) -> bool:
    """Whether the setting without which an option says nothing is set: neither off nor "none"."""
    return option.needs is None or settings.get(option.needs) not in (None, False, "none")


def check_applicable(options: Options, given: Chosen, settings: Chosen) -> None:
    """Refuse options in `given`, by key, that do not apply with the others of `settings`."""
    for option in (options[key] for key in given):
        other = unmet(option, settings)
        if other is not None:
            value = options[other].as_typed(settings.get(other))
            raise UserError(f"{option.flag} does not apply with {flag(other)} {value}")
        if not has_what_it_needs(option, settings):
            switch = next(one for one in options.values() if one.name == option.needs)
            raise UserError(f"{option.flag} does not apply without {switch.flag}")


def own_settings(settings: Chosen) -> list[str]:
    """Return the names of the TrainConfig's settings that apply with the model and the method."""
    classes = [TrainConfig, *(known[settings[part]] for part, known in PARTS.items())]
    return list(dict.fromkeys(name for cls in classes for name in settings_of(cls)))


def names_of(options: Options, settings: Chosen) -> set[str]:
    """Return the names of all settings that apply: those that `recorded` has."""
    applying = [option.name for option in options.values() if unmet(option, settings) is None]
    return {*own_settings(settings), *applying}


def config_of(settings: Chosen, dataset: Dataset) -> TrainConfig:
    """Return the TrainConfig that settings ask for, with all that the data set decides."""
    flat = {name: settings[name] for name in own_settings(settings) if name in settings}
    with user_errors():
        if "rng" in flat:
            require.word("seed", flat["rng"])
        if "sampler" in flat:
            flat["sampler"] = sampler_of(settings, dataset.train_graph)
        return config_from(flat).fitted(dataset)


def recorded(options: Options, settings: Chosen, config: TrainConfig) -> Chosen:
    """Return the settings that apply as JSON can hold them: of the run, and of its TrainConfig."""
    flat = config.flat()
    if "sampler" in flat:
        flat |= sampler_settings(flat["sampler"])
    run = {
        option.name: settings[option.name]
        for option in options.values()
        if option.group == RUN and unmet(option, settings) is None
    }
    return {**run, **flat}
