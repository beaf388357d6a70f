"""Going on from a checkpoint: what may be changed, and what has to be as it was."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.options import PACKAGES, RUN
from refimpl.lab.apps.settings import check_applicable, names_of, unmet
from refimpl.lab.training.checkpoints import load_checkpoint
from refimpl.lab.training.config import PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from refimpl.lab.apps.option import Chosen, Option, Options


class Before:
    """The run in a checkpoint that `train` is to go on with.

    What fixes the data and which settings apply is compared at once, the others when the data
    has filled in what it decides.
    """

    def __init__(self, checkpoint: Path, options: Options, given: Chosen) -> None:
        self.checkpoint, self.options, self.given = checkpoint, options, given
        with user_errors():
            self.state, self.settings = load_checkpoint(checkpoint)
        self.facts = self.settings.pop("dataset", None)
        if not self._is_ours():
            raise UserError(f"{checkpoint} was not written by this version of the program")
        changed = {options[key].name: value for key, value in given.items() if options[key].free}
        check_applicable(options, given, {**self.settings, **changed})
        package = self.settings["impl"]
        if package not in PACKAGES and "impl" not in given:  # a file decides on no import
            raise UserError(f"{checkpoint} needs --impl {package}: give it to resume")
        self.asked = {**self.settings, **{options[key].name: v for key, v in given.items()}}
        for option in options.values():
            if option.group == RUN and unmet(option, self.asked) is None:
                self.asked.setdefault(option.name, option.default)
        deciding = {other for option in options.values() for other in option.only}
        for option in (options[key] for key in given):
            if option.group == RUN or option.name in deciding:
                self._compare(option, self.asked)

    def _is_ours(self) -> bool:
        for part, known in PARTS.items():
            if self.settings.get(part) not in tuple(known):  # it may be of any type
                return False
        own = [option for option in self.options.values() if option.group == RUN]
        if not all(_fits(one, self.settings.get(one.name, one.default)) for one in own):
            return False
        kinds = {  # of what is used before all are checked
            "data": (str,),
            "epochs": (int,),
            "labels": (str, type(None)),
            "columns": (dict, type(None)),
            "titles": (str, type(None)),
            "minus_one": (str, type(None)),
            "features": (str, type(None)),
            "split": (str, int, type(None)),
        }
        if not all(isinstance(self.settings.get(name), kind) for name, kind in kinds.items()):
            return False
        return isinstance(self.facts, dict) and self.settings.keys() == names_of(
            self.options, self.settings
        )

    def check_data(self, facts: dict[str, Any]) -> None:
        """Refuse data of another size or digest."""
        if facts != self.facts:
            differing = [name for name in facts if facts[name] != self.facts.get(name)]
            raise UserError(
                f"--resume: the data set has changed since the run began ({', '.join(differing)}): "
                f"{self.settings['data']}"
            )

    def check_settings(self, settings: Chosen) -> None:
        """Refuse what was given and is not as in the checkpoint, but for what may change."""
        for key in self.given:
            self._compare(self.options[key], settings)

    def _compare(self, option: Option, settings: Chosen) -> None:
        stored, value = self.settings.get(option.name), settings[option.name]
        longer = option.name == "epochs" and value > stored
        if value == stored or option.free or longer:
            return
        more = "; it can only be raised" if option.name == "epochs" else ""
        raise UserError(
            f"--resume: {option.flag} is {option.as_typed(stored)} in {self.checkpoint}, "
            f"got {option.as_typed(value)}{more}"
        )


@contextmanager
def naming_it(before: Before | None) -> Iterator[None]:
    """Let a UserError name the checkpoint that the settings are of, if they are of one."""
    try:
        yield
    except UserError as error:
        if before is None:
            raise
        raise UserError(f"{before.checkpoint}: {error}") from error


def _fits(option: Option, value: object) -> bool:
    """Say whether a value that a file gives an option of the run is of its kind."""
    if option.sets is not None:
        return isinstance(value, bool)
    return option.choices is None or value in (option.default, *option.choices)
