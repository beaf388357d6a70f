"""The options of the samplers, by their kernels' parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from refimpl.lab.apps.option import Option
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.methods.graph import WALK_LENGTH, scaled_sampler
from refimpl.lab.training.settings import from_json, settings_of
from refimpl.samplers.nodes import KERNELS

if TYPE_CHECKING:
    from refimpl.graph import Graph
    from refimpl.lab.apps.option import Chosen
    from refimpl.samplers.sampling import Sampler

DEFAULT = inspect.signature(scaled_sampler).parameters["name"].default

# The sampler's parameter behind an option; `clip` works on what any sampler draws.
PARAMETERS = {
    "frontier": "m",
    "budget": "n",
    "eta": "eta",
    "degree_cap": "deg_cap",
    "include": "include",
    "lanes": "lanes",
    "probing": "probing",
    "probe_range": "probe_range",
    "overflow": "overflow",
    "edges": "b",
    "edge_method": "method",
    "roots": "r",
    "walk_length": "h",
    "burn": "p_f",
    "clip": "clip",
}


def takers_of(name: str) -> tuple[str, ...]:
    """Return the samplers that take the option `name`."""
    parameter = PARAMETERS[name]
    return tuple(
        sampler
        for sampler, kernel in KERNELS.items()
        if parameter in {"clip", *inspect.signature(kernel).parameters}
    )


def _option(name: str, text: str, shown: str | None = None, **form: Any) -> Option:
    """Return a sampler's option; its default and the samplers that take it are in `text` too."""
    takers = takers_of(name)
    if len(takers) < len(KERNELS):
        text = f"{text}; only for {', '.join(taker.replace('_', '-') for taker in takers)}"
    if shown is None:
        parameters = inspect.signature(KERNELS[takers[0]]).parameters
        shown = str(parameters[PARAMETERS[name]].default)
    return Option(name, text, shown=shown, only={"sampler": takers}, **form)


def described() -> str:
    """Return what each sampler does: the first line of its docstring, without what all say."""
    lines = []
    for name, kernel in KERNELS.items():
        line = (kernel.__doc__ or "").partition("\n")[0]
        words = line.removeprefix("Draw the nodes of a subgraph ").rstrip(".")
        lines.append(f"{name.replace('_', '-')}: {words}")
    return "; ".join(lines)


SAMPLER_OPTIONS = {
    option.key: option
    for option in (
        Option(
            "sampler",
            f"choose how the nodes of a subgraph are drawn. {described()}",
            DEFAULT,
            choices=tuple(KERNELS),
        ),
        _option(
            "frontier",
            "set m, the number of nodes in the frontier or the number of walks",
            "an eighth of N",
            parse=int,
            metavar="M",
        ),
        _option(
            "budget",
            "set n, the largest number of nodes in a subgraph",
            "a fifth of the nodes, at most 8000",
            parse=int,
            metavar="N",
        ),
        _option(
            "eta",
            "set the length of the Dashboard, as a multiple above 1 of the expected number of "
            "used entries",
            parse=float,
        ),
        _option(
            "degree_cap",
            "set deg_cap, the largest degree with which a node competes in the frontier",
            "no cap",
            parse=int,
            metavar="DEGREE",
        ),
        _option(
            "include",
            "choose the node that a step adds to the subgraph. pushed: the node that enters the "
            "frontier; popped: the node that leaves it",
            choices=("pushed", "popped"),
        ),
        _option(
            "lanes",
            "count probes in rounds of this many; the number changes no subgraph",
            parse=int,
            metavar="P",
        ),
        _option(
            "probing",
            "probe one entry at a time, or one entry for each lane at the same time. lanes "
            "needs fastimpl. The choice changes no subgraph",
            choices=("one", "lanes"),
        ),
        _option(
            "probe_range",
            "probe the whole Dashboard, or only its filled part",
            choices=("capacity", "used"),
        ),
        _option(
            "overflow",
            "choose what happens if a node does not fit. truncate: the node gets only the free "
            "entries; grow: the Dashboard becomes longer",
            choices=("truncate", "grow"),
        ),
        _option("edges", "set b, the number of edges drawn", "half of N", parse=int, metavar="B"),
        _option(
            "edge_method",
            "set method, how an edge is drawn. direct: draw a node and one of its neighbours; "
            "alias: use an alias table. Both have the same distribution",
            choices=("direct", "alias"),
        ),
        _option(
            "roots", "set r, the number of walks", "N / (walk length + 1)", parse=int, metavar="R"
        ),
        _option(
            "walk_length",
            "set h, the number of steps of a walk",
            str(WALK_LENGTH),
            parse=int,
            metavar="H",
        ),
        _option(
            "burn",
            "set p_f, the probability that a fire spreads to one more neighbour",
            parse=float,
            metavar="P_F",
        ),
        _option(
            "clip",
            "drop random nodes until their number is a multiple of this",
            "no clipping",
            parse=int,
            metavar="UNIT",
        ),
    )
}


def training_options() -> list[Option]:
    """Return these options for training: with the methods that have a sampler."""
    methods = tuple(name for name, cls in METHODS.items() if "sampler" in settings_of(cls))
    return [
        option._replace(only={"method": methods, **option.only}, group=f"--method {methods[0]}")
        for option in SAMPLER_OPTIONS.values()
    ]


def sampler_of(settings: Chosen, graph: Graph) -> Sampler:
    """Return the Sampler that settings ask for, its sizes in proportion to the graph."""
    options = {parameter: from_json(settings.get(name)) for name, parameter in PARAMETERS.items()}
    parts = settings["workers_a_step"] if settings.get("partition") == "local" else 1
    return scaled_sampler(graph, settings["sampler"], parts=parts, **options)


def sampler_settings(sampler: Sampler) -> Chosen:
    """Return a Sampler's name and all its options, by the names that the user knows."""
    values = {**sampler.options, "clip": sampler.clip}
    found = {name: values.get(PARAMETERS[name]) for name in PARAMETERS}
    taken = {name: found[name] for name in PARAMETERS if sampler.name in takers_of(name)}
    return {"sampler": sampler.name, **taken}
