"""The options of a run: their defaults, what they apply to, and what the library makes of them."""

import argparse
import importlib
import inspect
from pathlib import Path
from typing import Any, NamedTuple

from refimpl import __all__ as contract
from refimpl import _check
from refimpl.app.errors import UserError, user_errors
from refimpl.samplers.sampling import KERNELS
from refimpl.training.config import METHODS, MODELS, TrainConfig, scaled_sampler
from refimpl.training.datasets.loading import BUILT_IN

DEFAULTS = TrainConfig()
DTYPES = ("float32", "float64")
SAMPLERS = {name.replace("_", "-"): name for name in KERNELS}

# The sampler's parameter behind an option.
PARAMETERS = {"frontier": "m", "budget": "n", "eta": "eta", "degree_cap": "deg_cap"}


def data_source(text):
    """Return a built-in name as it is, and a folder as an absolute path."""
    return text if text in BUILT_IN else str(Path(text).resolve())


class Option(NamedTuple):
    """An option of a run; `shown` describes a default that depends on the data."""

    help: str
    default: Any = None
    shown: str | None = None
    type: Any = str
    choices: tuple[str, ...] | None = None
    metavar: str | None = None


OPTIONS = {
    "data": Option(
        f"data set: {' or '.join(BUILT_IN)} (built in), or a folder in GraphSAINT's or "
        "Planetoid's format",
        "communities",
        type=data_source,
        metavar="FOLDER|NAME",
    ),
    "impl": Option(
        "implementation, by its import name: fastimpl (to run) or refimpl (to read)",
        "fastimpl",
        metavar="MODULE",
    ),
    "method": Option(
        "train on sampled subgraphs, or on the full training graph at once",
        DEFAULTS.method,
        choices=METHODS,
    ),
    "model": Option(
        "GraphSAGE, or the same stack without the graph, as a control",
        DEFAULTS.model,
        choices=MODELS,
    ),
    "layers": Option("number of layers", DEFAULTS.layers, type=int, metavar="L"),
    "hidden": Option(
        "width of a layer: both halves together, neighbours and self",
        DEFAULTS.hidden,
        type=int,
        metavar="WIDTH",
    ),
    "sampler": Option(
        "how the nodes of a subgraph are drawn; both have one law: frontier is the plain "
        "algorithm, pin-tile draws from a Dashboard",
        "pin-tile",
        choices=tuple(SAMPLERS),
    ),
    "frontier": Option(
        "m: size of the sampler's frontier", shown="an eighth of N", type=int, metavar="M"
    ),
    "budget": Option(
        "n: a subgraph has at most N nodes",
        shown="a fifth of the training nodes, at most 8000",
        type=int,
        metavar="N",
    ),
    "eta": Option(
        "length of the Dashboard over the expected number of entries in use, above 1; "
        "pin-tile only",
        shown=str(inspect.signature(KERNELS["pin_tile"]).parameters["eta"].default),
        type=float,
    ),
    "degree_cap": Option(
        "a node competes in the frontier as if it had at most this degree",
        shown="no cap",
        type=int,
        metavar="DEGREE",
    ),
    "epochs": Option(
        "length of the run; an epoch ends when as many nodes were seen as the training graph has",
        DEFAULTS.epochs,
        type=int,
        metavar="E",
    ),
    "lr": Option("learning rate of Adam", DEFAULTS.lr, type=float, metavar="RATE"),
    "pool": Option(
        "subgraphs sampled at a time, in parallel; never changes a result",
        DEFAULTS.pool,
        type=int,
        metavar="COUNT",
    ),
    "classifier_relu": Option(
        "put the ReLU that the papers print before the classifier's softmax or sigmoid",
        DEFAULTS.classifier_relu,
        type=bool,
    ),
    "dtype": Option("precision of features and weights", DTYPES[0], choices=DTYPES),
    "seed": Option(
        "seed of initial weights and of sampling; the built-in data sets do not depend on it",
        DEFAULTS.rng,
        type=int,
    ),
    "threads": Option(
        "number of threads; never changes a result", shown="all", type=int, metavar="COUNT"
    ),
}


def flag(name):
    """Return an option's name as the user types it."""
    return "--" + name.replace("_", "-")


def add_options(parser, names, **defaults):
    """Add the options `names` to `parser`; with `defaults` in place of the usual ones.

    What the user does not give is left out of the namespace, so that it can be told from what
    was given with the value of the default.
    """
    for name in names:
        option = OPTIONS[name]
        default = defaults.get(name, option.default)
        shown = "off" if default is False else option.shown or default
        form = {"help": f"{option.help} (default: {shown})", "default": argparse.SUPPRESS}
        if option.type is bool:
            parser.add_argument(flag(name), action="store_true", **form)
        else:
            parser.add_argument(
                flag(name),
                type=option.type,
                choices=option.choices,
                metavar=option.metavar,
                **form,
            )


def check_applicable(settings, given):
    """Refuse options in `given` that the method or the sampler of `settings` does not use."""
    if settings["method"] == "full":
        unused, because = {"sampler", "pool", *PARAMETERS}, "--method full"
    else:
        kernel = KERNELS[SAMPLERS[settings["sampler"]]]
        known = inspect.signature(kernel).parameters
        unused = {name for name, parameter in PARAMETERS.items() if parameter not in known}
        because = f"--sampler {settings['sampler']}"
    for name in given:
        if name in unused:
            raise UserError(f"{flag(name)} does not apply with {because}")


def load_implementation(name):
    """Return the module `name`, once it is clear that it is an implementation."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"--impl must be an import name, got {name!r}")
    try:
        gnn = importlib.import_module(name)
    except ImportError as error:
        raise UserError(f"--impl {name} cannot be imported: {error}") from error
    missing = [function for function in contract if not hasattr(gnn, function)]
    if missing:
        raise UserError(f"--impl {name} is no implementation: it has no {missing[0]}")
    return gnn


def resolve(settings, train_graph):
    """Return (TrainConfig, settings) with every default that depends on the data filled in.

    Settings that do not apply become None.
    """
    resolved = dict(settings)
    sampler = None
    with user_errors():
        _check.word("seed", settings["seed"])
        if settings["method"] == "full":
            resolved.update(dict.fromkeys(("sampler", "pool", *PARAMETERS)))
        else:
            options = {
                parameter: settings[name]
                for name, parameter in PARAMETERS.items()
                if settings[name] is not None
            }
            sampler = scaled_sampler(train_graph, SAMPLERS[settings["sampler"]], **options)
            for name, parameter in PARAMETERS.items():
                resolved[name] = sampler.options.get(parameter)
        config = TrainConfig(
            sampler=sampler,
            rng=settings["seed"],
            pool=DEFAULTS.pool if settings["pool"] is None else settings["pool"],
            **{
                name: settings[name]
                for name in ("method", "model", "layers", "hidden", "epochs", "lr")
            },
            classifier_relu=settings["classifier_relu"],
        )
    return config, resolved
