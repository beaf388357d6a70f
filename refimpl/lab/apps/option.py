"""An option of the command line, and what its help says of where it applies."""

from typing import Any, NamedTuple

from refimpl.lab.training.config import APPLIES, TrainConfig

DEFAULTS = TrainConfig()


class Option(NamedTuple):
    """An option of a run; `shown` describes a default that depends on the data."""

    help: str
    default: Any = None
    shown: str | None = None
    type: Any = str
    choices: tuple[str, ...] | None = None
    metavar: str | None = None


def methods_of(setting):
    """Return the methods that a setting of `TrainConfig` applies to, for the help."""
    *others, last = APPLIES[setting]["method"]
    return f"--method {', '.join(others)} and {last}" if others else f"--method {last}"
