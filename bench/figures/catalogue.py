"""All experiments, by what the papers call them."""

import importlib
from dataclasses import fields
from functools import cache

from bench.figures.experiment import ABOUT, Experiment, crossed
from refimpl.lab.apps.errors import UserError
from refimpl.lab.training.config import suggestion

PACKAGE = "bench.figures.experiments"
PARTS = "measure", "table", "verdicts", "plot"
FIELDS = {one.name for one in fields(Experiment)}


def known():
    """Return all experiments, a dict of `Experiment` by id, in the papers' order."""
    return {id: load(id) for id in ABOUT}


@cache
def load(id):
    """Return the `Experiment` with an id of `ABOUT`, always the same one."""
    about = ABOUT[id]
    module = importlib.import_module(f"{PACKAGE}.{about['module']}")
    parts = {part: getattr(module, part) for part in PARTS}
    forms = about.get("cells")
    parts["cells"] = module.cells if forms is None else lambda lab: crossed(lab, forms)
    described = {key: value for key, value in about.items() if key in FIELDS - {"cells"}}
    return Experiment(id=id, **described, **parts)


def find(words):
    """Return the experiments that a user names, or refuse; ``["all"]`` are all of them."""
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
