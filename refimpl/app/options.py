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
from refimpl.training.config import (
    METHODS,
    MODELS,
    WALK_LENGTH,
    TrainConfig,
    scaled_sampler,
)
from refimpl.training.datasets.loading import BUILT_IN

DEFAULTS = TrainConfig()
DTYPES = ("float32", "float64")
SAMPLERS = {name.replace("_", "-"): name for name in KERNELS}

# The sampler's parameter behind an option; `clip` works on what any sampler draws.
PARAMETERS = {
    "frontier": "m",
    "budget": "n",
    "eta": "eta",
    "degree_cap": "deg_cap",
    "include": "include",
    "lanes": "lanes",
    "probe_range": "probe_range",
    "overflow": "overflow",
    "edges": "b",
    "edge_method": "method",
    "roots": "r",
    "walk_length": "h",
    "burn": "p_f",
    "clip": "clip",
}

# What else applies with --method graph only.
SAMPLING = ("sampler", "pool", "normalize", "coverage")

# What TrainConfig takes as it is.
AS_THEY_ARE = (
    "method",
    "model",
    "layers",
    "hidden",
    "epochs",
    "lr",
    "normalize",
    "classifier_relu",
)


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


def _takers(name):
    """Return the samplers that take the option `name`, as the user calls them."""
    return [
        sampler
        for sampler, kernel in SAMPLERS.items()
        if PARAMETERS[name] in {"clip", *inspect.signature(KERNELS[kernel]).parameters}
    ]


def _sampler_option(name, text, shown=None, **form):
    """Return a sampler's option; its default and the samplers that take it are in `text` too."""
    takers = _takers(name)
    if len(takers) < len(SAMPLERS):
        text = f"{text}; {', '.join(takers)} only"
    if shown is None:
        kernel = inspect.signature(KERNELS[SAMPLERS[takers[0]]])
        shown = str(kernel.parameters[PARAMETERS[name]].default)
    return Option(text, shown=shown, **form)


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
        "how the nodes of a subgraph are drawn. Frontier sampling: frontier is the plain "
        "algorithm, dashboard and pin-tile draw from a Dashboard, bucket from classes of weights, "
        "all with one law. Others: edge (random edges), random-walk, multiple-walks (the "
        "frontier's budget, walked independently), forest-fire",
        "pin-tile",
        choices=tuple(SAMPLERS),
    ),
    "frontier": _sampler_option(
        "frontier", "m: nodes in the frontier, or walkers", "an eighth of N", type=int, metavar="M"
    ),
    "budget": _sampler_option(
        "budget",
        "n: a subgraph has at most N nodes",
        "a fifth of the nodes, at most 8000",
        type=int,
        metavar="N",
    ),
    "eta": _sampler_option(
        "eta",
        "length of the Dashboard over the expected number of entries in use, above 1",
        type=float,
    ),
    "degree_cap": _sampler_option(
        "degree_cap",
        "a node competes in the frontier as if it had at most this degree",
        "no cap",
        type=int,
        metavar="DEGREE",
    ),
    "include": _sampler_option(
        "include",
        "which node of a step joins the subgraph: the one reached, or the one left",
        choices=("pushed", "popped"),
    ),
    "lanes": _sampler_option(
        "lanes",
        "probes are counted in rounds of this many; never changes a subgraph",
        type=int,
        metavar="P",
    ),
    "probe_range": _sampler_option(
        "probe_range",
        "probe the whole Dashboard, or only as far as it was filled",
        choices=("capacity", "used"),
    ),
    "overflow": _sampler_option(
        "overflow",
        "a node that does not fit into the Dashboard gets what is left, or the Dashboard grows",
        choices=("truncate", "grow"),
    ),
    "edges": _sampler_option(
        "edges", "b: number of edges drawn", "half of N", type=int, metavar="B"
    ),
    "edge_method": _sampler_option(
        "edge_method",
        "draw an edge as a node's neighbour, or from an alias table of all edges; one law",
        choices=("direct", "alias"),
    ),
    "roots": _sampler_option(
        "roots", "r: number of walks", "N over walk length + 1", type=int, metavar="R"
    ),
    "walk_length": _sampler_option(
        "walk_length", "h: steps of a walk", str(WALK_LENGTH), type=int, metavar="H"
    ),
    "burn": _sampler_option(
        "burn",
        "probability that the fire goes on to one more neighbour",
        type=float,
        metavar="P_F",
    ),
    "clip": _sampler_option(
        "clip",
        "drop random nodes until their number is a multiple of this",
        "no clipping",
        type=int,
        metavar="UNIT",
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
    "normalize": Option(
        "weight loss and aggregation by how often the sampler picks each node and edge, "
        "estimated before training",
        DEFAULTS.normalize,
        type=bool,
    ),
    "coverage": Option(
        "how often a node is met on average while that is estimated; with --normalize only",
        shown=f"{DEFAULTS.coverage:g}",
        type=float,
        metavar="TIMES",
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


def add_options(parser, names, table=OPTIONS, **defaults):
    """Add the options `names` of `table` to `parser`; with `defaults` in place of the usual ones.

    What the user does not give is left out of the namespace, so that it can be told from what
    was given with the value of the default.
    """
    for name in names:
        option = table[name]
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
        unused, because = {*SAMPLING, *PARAMETERS}, "--method full"
    else:
        unused = {name for name in PARAMETERS if settings["sampler"] not in _takers(name)}
        because = f"--sampler {settings['sampler']}"
    for name in given:
        if name in unused:
            raise UserError(f"{flag(name)} does not apply with {because}")
    if "coverage" in given and not settings["normalize"]:
        raise UserError("--coverage does not apply without --normalize")


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


def resolve_sampler(settings, graph):
    """Return (Sampler, its settings) with every default that depends on the graph filled in.

    Settings that do not apply become None.
    """
    options = {parameter: settings[name] for name, parameter in PARAMETERS.items()}
    with user_errors():
        sampler = scaled_sampler(graph, SAMPLERS[settings["sampler"]], **options)
    values = {**sampler.options, "clip": sampler.clip}
    return sampler, {name: values.get(parameter) for name, parameter in PARAMETERS.items()}


def resolve(settings, train_graph):
    """Return (TrainConfig, settings) with every default that depends on the data filled in.

    Settings that do not apply become None.
    """
    resolved = dict(settings)
    sampler = None
    with user_errors():
        _check.word("seed", settings["seed"])
        if settings["method"] == "full":
            resolved.update(dict.fromkeys((*SAMPLING, *PARAMETERS)), normalize=False)
        else:
            sampler, found = resolve_sampler(settings, train_graph)
            resolved.update(found)
        if settings["normalize"] and settings["coverage"] is None:
            resolved["coverage"] = DEFAULTS.coverage
        config = TrainConfig(
            sampler=sampler,
            rng=settings["seed"],
            pool=DEFAULTS.pool if settings["pool"] is None else settings["pool"],
            coverage=DEFAULTS.coverage if resolved["coverage"] is None else resolved["coverage"],
            **{name: settings[name] for name in AS_THEY_ARE},
        )
    return config, resolved
