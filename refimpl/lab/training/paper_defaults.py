"""What the papers print, where the project by default does what is right: a table of settings."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from refimpl.lab.data.dataset import Dataset
from refimpl.lab.training.config import PARTS, TrainConfig, config_from
from refimpl.lab.training.methods.graph import scaled_sampler
from refimpl.lab.training.settings import settings_of, to_json
from refimpl.samplers.frontier import frontier
from refimpl.samplers.nodes import KERNELS
from refimpl.samplers.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Printed(NamedTuple):
    """A setting whose default is not what a paper prints.

    Attributes
    ----------
    erratum : str
        Its row of docs/errata.md, which says why.
    where : str
        Where in the papers.
    name : str
        The setting's, or the parameter's of a sampler.
    value : object
        As printed.
    only : dict
        The values of other settings, by name, with which it applies.
    """

    erratum: str
    where: str
    name: str
    value: Any
    only: dict[str, tuple[Any, ...]]


FRESH = {"method": ("fresh",)}
FRONTIERS = tuple(
    name for name, kernel in KERNELS.items() if "include" in inspect.signature(kernel).parameters
)
# The only list of them. A row may look at what the rows before it have chosen.
PRINTED = (
    Printed("E-B1", "I2:7, J2:7", "include", "popped", {"sampler": FRONTIERS}),
    Printed("E-D5", "J8:5, J section 6.2", "clip", 16, {"sampler": tuple(KERNELS)}),
    Printed("E-E6", "J Eq 7", "attention", "none", {"model": ("gat",)}),
    Printed(
        "E-V23",
        "V1:16",
        "classifier",
        "layer",
        {
            **FRESH,
            "model": ("sage", "gcn", "gat", "rgcn"),  # the paper's
            "row_l2": (False,),
            "classifier_relu": (False,),
        },
    ),
    Printed("E-E8", "J Eq 2, J1:12", "classifier_relu", True, {"classifier": ("dense",)}),
    Printed("E-V27", "V1:5-9", "draw_all", True, FRESH),
    Printed("E-V8", "V section 4.1.1", "rank_base", "new", FRESH),
    Printed("E-V11", "V section 4.2", "staleness", "header_only", FRESH),
    Printed("E-V20", "V section 4.2", "header", "cycle", FRESH),
    Printed("E-V21", "V section 7.1", "t_stale", 200, FRESH),
)


def default_of(name: str) -> Any:
    """Return the default of a setting, or of a sampler's parameter."""
    for cls in (TrainConfig, *(one for known in PARTS.values() for one in known.values())):
        if name in settings_of(cls):
            return getattr(cls, name)
    parameters = {**inspect.signature(frontier).parameters, **inspect.signature(Sampler).parameters}
    return parameters[name].default


def printed_choices(settings: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Return what the papers print for the settings that apply with others, by name.

    Parameters
    ----------
    settings : dict
        What the others are: the names of model, method and sampler, and whatever has not its
        default.
    given : collection of str
        The settings that keep their value.

    Returns
    -------
    dict
    """
    found: dict[str, Any] = {}
    for row in PRINTED:
        known = {**settings, **found}
        applies = all(known.get(n, default_of(n)) in values for n, values in row.only.items())
        if applies and row.name not in given:
            found[row.name] = row.value
    return found


def as_printed(config: TrainConfig, dataset: Dataset | None = None) -> TrainConfig:
    """Return a configuration with the papers' literal choices, where they are not the defaults.

    docs/as_printed.md lists them, with what of the papers each one is and the erratum that says why
    it is not the default. A setting that has not its default stays as it is; where one is to have
    it, put it back with `dataclasses.replace`. Not in the papers.

    Parameters
    ----------
    config : TrainConfig
    dataset : Dataset, optional
        What it is to be trained on: needed for the method "graph" where it has no sampler yet.

    Returns
    -------
    TrainConfig

    Raises
    ------
    TypeError
        If an argument is of another type.
    ValueError
        If the data set is needed and not given.

    Examples
    --------
    >>> from refimpl import methods
    >>> config = as_printed(TrainConfig(model="gat", method=methods.Fresh(t_stale=5)))
    >>> config.model.attention, config.method.header, config.method.t_stale
    ('none', 'cycle', 5)
    """
    if not isinstance(config, TrainConfig):
        raise TypeError(f"config must be a TrainConfig, got {type(config).__name__}")
    if dataset is not None and not isinstance(dataset, Dataset):
        raise TypeError(f"dataset must be a Dataset, got {type(dataset).__name__}")
    flat = config.flat()
    values, sampler = dict(flat), None
    if "sampler" in flat:
        sampler = flat["sampler"] or _sampler_for(config, dataset)
        values |= {**sampler.options, "clip": sampler.clip, "sampler": _name_of(sampler)}
    names = [row.name for row in PRINTED if row.name in values]
    given = [name for name in names if values[name] != to_json(default_of(name))]
    found = {n: v for n, v in printed_choices(values, given).items() if n in values}
    if sampler is not None:
        options = {**sampler.options, "clip": sampler.clip}
        options |= {name: found.pop(name) for name in list(found) if name in options}
        flat["sampler"] = Sampler(sampler.function or sampler.name, **options)
    return config_from(flat | found)


def _sampler_for(config: TrainConfig, dataset: Dataset | None) -> Sampler:
    """Return the sampler that a method without one would get."""
    if dataset is None:
        raise ValueError(
            f'dataset must be given where method is "{config.method.name}" without a sampler, '
            "got None"
        )
    return scaled_sampler(dataset.train_graph, parts=config.parts)


def _name_of(sampler: Sampler) -> str:
    """Return a sampler's name, "" for a function of somebody's own."""
    return "" if sampler.function else sampler.name
