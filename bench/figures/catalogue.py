"""All figures, by what the papers call them."""

import importlib

from refimpl.lab.apps.errors import UserError
from refimpl.lab.training.config import suggestion

PACKAGE = "bench.figures.experiments"
MODULES = {
    "I-tab1": "datasets",
    "I-fig2": "time_to_accuracy",
    "I-fig3": "scaling",
    "I-fig4": "sampler_scaling",
    "I-tab2": "depth",
    "I-thm2": "partition",
    "J-tab3": "cpu_gpu",
    "J-fig5": "synthetic",
    "J-fig6": "cache_misses",
    "J-fig7": "nodes_a_layer",
    "V-fig1": "history_error",
    "V-fig3": "stability",
    "V-fig10": "epoch_time",
    "V-fig11": "devices",
    "V-tab2": "methods",
    "V-fig13": "thresholds",
    "V-fig14": "policies",
    "V-tab3": "warm_up",
    "V-fig15": "generator",
    "V-fig16": "depth_io",
    "V-fig17": "topologies",
    "V-fig18": "exchange",
    "V-fig19": "heterogeneous",
}


def known():
    """Return all figures, a dict of `Figure` by id, in the papers' order."""
    return {id: load(id) for id in MODULES}


def load(id):
    """Return the `Figure` with an id of `MODULES`."""
    return importlib.import_module(f"{PACKAGE}.{MODULES[id]}").FIGURE


def find(words):
    """Return the figures that a user names; ``["all"]`` are all of them.

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
