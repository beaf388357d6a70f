"""The papers' settings by name: what a preset chooses for the settings that are not given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from refimpl._support.require import shown
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.training.config import TrainConfig, config_from, suggestion
from refimpl.lab.training.methods.graph import scaled_sampler

PRESETS: dict[str, dict[str, Any]] = {
    "freshgnn": {  # V section 7.1, with the cache of section 4.2; t_stale as by default (E-V21)
        "model": "sage",
        "method": "fresh",
        "layers": 3,
        "hidden": 256,
        "batch_size": 1000,
        "fanouts": (20, 15, 10),
        "p_grad": 0.9,
        "hotness": "profile",
        "performance": True,
    },
    "graphsaint": {  # J section 4.4, which leaves the sampler's sizes open (E-B30)
        "model": "sage",
        "method": "graph",
        "sampler": "random_walk",
        "normalize": "both",
    },
    "sgc": {  # Wu et al. 2019
        "model": "sign",
        "method": "prepropagation",
        "layers": 1,
        "classifier": "layer",
        "powers": "last",
    },
    "sign": {"model": "sign", "method": "prepropagation"},  # Frasca et al. 2020
}
OF_THE_PAPERS = ("freshgnn", "graphsaint")  # the three papers that this project builds
ONLY = {  # what a preset chooses for a setting holds only with these values of another
    "fanouts": ("layers", (3,)),
    "performance": ("hotness", ("profile",)),
    "normalize": ("model", ("sage", "mlp")),
    "powers": ("model", ("sign",)),
}


def preset_settings(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a preset chooses for the settings that are not `given`, by name."""
    chosen = {one: value for one, value in PRESETS[name].items() if one not in given}
    values = {**chosen, **given}
    return {one: value for one, value in chosen.items() if _holds(ONLY.get(one), values)}


def _holds(condition: tuple[str, Collection[Any]] | None, values: Mapping[str, Any]) -> bool:
    return condition is None or values.get(condition[0]) in condition[1]


def preset(name: str, dataset: Dataset | None = None, **settings: Any) -> TrainConfig:
    """Return the configuration of a preset: "freshgnn", "graphsaint", "sgc" or "sign".

    "freshgnn" is VLDB'24 section 7.1: GraphSAGE of 3 layers and width 256, batches of 1000 nodes,
    fan-outs 20, 15 and 10, and the bidirectional cache with the performance policy. "graphsaint" is
    JPDC'21 section 4.4: subgraphs of random walks, with normalised aggregation and loss. "sgc" is a
    linear classifier on features that are propagated over 2 hops (Wu et al. 2019), "sign" layers on
    the features of 0, 1 and 2 hops (Frasca et al. 2020).

    Parameters
    ----------
    name : {"freshgnn", "graphsaint", "sgc", "sign"}
    dataset : Dataset, optional
        The data set to train on. "graphsaint" needs it, unless `settings` has a sampler: the sizes
        of the sampler are in proportion to the training graph.
    **settings : objects
        Any settings of the model, the method and the run. They override the preset. With other
        `layers` the fan-outs are the default; with another `hotness` there is no performance
        policy; with a model other than "sage" or "mlp" there is no normalisation; with one
        other than "sign" there are no powers.

    Returns
    -------
    TrainConfig

    Raises
    ------
    TypeError, ValueError
        If there is no such preset, or a setting does not apply or is out of range.

    Examples
    --------
    >>> preset("freshgnn", hidden=128).method.fanouts
    (20, 15, 10)
    """
    if not isinstance(name, str) or name not in PRESETS:
        close = suggestion(name, PRESETS) if isinstance(name, str) else ""
        raise ValueError(f"name must be one of {', '.join(PRESETS)}, got {shown(name)}{close}")
    if dataset is not None and not isinstance(dataset, Dataset):
        raise TypeError(f"dataset must be a Dataset, got {type(dataset).__name__}")
    flat = {**preset_settings(name, settings), **settings}
    if isinstance(flat.get("sampler"), str):
        if dataset is None:
            raise ValueError(f'dataset must be given for the sampler "{flat["sampler"]}", got None')
        flat["sampler"] = scaled_sampler(dataset.train_graph, flat["sampler"])
    return config_from(flat)
