"""All experiments, by what the papers call them."""

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

from bench.figures.experiment import Experiment, crossed
from refimpl.lab.apps.errors import UserError
from refimpl.lab.training.config import suggestion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = "bench.figures.experiments"
PARTS = "measure", "table", "verdicts", "plot"
ABOUT: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("experiments.toml").read_text(encoding="utf-8")
)


def known():
    """Return all experiments, a dict of `Experiment` by id, in the papers' order."""
    return {id: load(id) for id in ABOUT}


@cache
def load(id):
    """Return the `Experiment` with an id of `ABOUT`, always the same one."""
    about = dict(ABOUT[id])
    module = importlib.import_module(f"{PACKAGE}.{about.pop('module')}")
    axes = about.pop("cells", None)
    parts = {part: getattr(module, part) for part in PARTS}
    parts["cells"] = module.cells if axes is None else lambda lab: crossed(lab, *axes)
    return Experiment(id=id, **about, **parts)


def find(words):
    """Return the experiments that a user names; ``["all"]`` are all of them.

    Raises
    ------
    UserError
        If there is no such figure.
    """
    figures = known()
    if words == ["all"]:
        return list(figures.values())
    names = {
        name.lower(): figure for figure in figures.values() for name in (figure.id, *figure.also)
    }
    for word in words:
        if word.lower() not in names:
            close = suggestion(word.lower(), names)
            raise UserError(f"there is no figure {word!r}{close}; python -m bench figure list")
    return list({figure.id: figure for figure in (names[word.lower()] for word in words)}.values())
