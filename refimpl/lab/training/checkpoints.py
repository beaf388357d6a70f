"""Saving a run so that it can go on to the same bits."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import read_npz, reading
from refimpl._support.whole_files import replacing
from refimpl.hints import FilePath
from refimpl.lab.training.methods.base import LoadCounts
from refimpl.lab.training.state import EpochRecord, TrainState
from refimpl.loader.lookahead_features import ReadCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from refimpl.lab.hints import Weights

FORMAT = "minibatch-gnn-checkpoint/2"
GROUPS = ("weights", "m", "v", "best_weights")
NUMBERS = ("best_val_f1", "best_epoch", "iterations")
FACTS = {"format", "settings", "history", "loads", "reads", *NUMBERS}  # in `meta`
MOST = 2**30  # iterations: a run may go on for as many
OWN = ("epoch", "iterations", "loss", "val_f1", "val_loss")  # of a record: with checks of their own
READ = set(asdict(ReadCounts()))
REAL = tuple(name for name in EpochRecord._fields if name not in OWN)


def save_checkpoint(path: FilePath, state: TrainState, settings: dict[str, Any]) -> None:
    """Write `state` and `settings` to `path`, whole or not at all.

    This project's format, not in the papers.

    Parameters
    ----------
    path : str or Path
        An .npz file: arrays ``weights/NAME``, ``m/NAME``, ``v/NAME`` (Adam's means),
        ``best_weights/NAME``, ``cache/NAME`` (if there is one), and the rest as JSON in ``meta``.
    state : TrainState
    settings : dict
        JSON data; given back by `load_checkpoint`.

    Raises
    ------
    TypeError, ValueError
        If `path` is no path, `state` no TrainState, or `settings` no JSON data.
    OSError
        If the file cannot be written; the one of before is whole then.
    """
    if not isinstance(state, TrainState):
        raise TypeError(f"state must be a TrainState, got {type(state).__name__}")
    _check_json(settings)
    arrays = {
        f"{group}/{name}": array
        for group in GROUPS
        for name, array in getattr(state, group).items()
    }
    if state.cache is not None:
        arrays |= {f"cache/{name}": array for name, array in state.cache.state_dict().items()}
    meta = {
        "format": FORMAT,
        "settings": settings,
        "history": [record._asdict() for record in state.history],
        "loads": state.loads,
        "reads": state.reads,
        **{name: getattr(state, name) for name in NUMBERS},
    }
    write_npz(path, meta, arrays)


def _check_json(settings: object) -> None:
    """Raise unless `settings` is a dict that JSON can hold."""
    if not isinstance(settings, dict):
        raise TypeError(f"settings must be a dict, got {type(settings).__name__}")
    try:
        json.dumps(settings)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"settings must be JSON data: {error}") from None


def load_checkpoint(path: FilePath) -> tuple[TrainState, dict[str, Any]]:
    """Return what a file that `save_checkpoint` wrote holds.

    This project's format, not in the papers.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    state : TrainState
    settings : dict

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a whole checkpoint.
    TypeError
        If `path` is no path, or a part of it is of the wrong kind.
    MemoryError
        If it takes more memory than there is; it is named.
    """
    with reading_npz(path, "checkpoint") as (meta, arrays):
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        meta.setdefault("reads", [])  # older checkpoints lack them
        if meta.keys() != FACTS:
            raise ValueError(f"meta must have the entries {', '.join(sorted(FACTS))}")
        if not isinstance(meta["settings"], dict):
            raise ValueError("settings must be a JSON object")
        unknown = [name for name in arrays if name.partition("/")[0] not in (*GROUPS, "cache")]
        if unknown:
            raise ValueError(f"it has {unknown[0]!r:.40}, which is no part of a checkpoint")
        weights, m, v, best_weights = _weights(arrays)
        history, loads = _history(meta), _loads(meta)
        state = TrainState(weights, m, v, best_weights, history=history, loads=loads)
        state.reads = _reads(meta)
        state.cache = _group(arrays, "cache") or None
        for name in NUMBERS:
            setattr(state, name, meta[name])
        return state, meta["settings"]


def _weights(arrays: Weights) -> Iterable[Weights]:
    """Return the weights and what Adam has of each, after checking that all are of one kind."""
    groups = {group: _group(arrays, group) for group in GROUPS}
    first = groups[GROUPS[0]]
    if any(other.keys() != first.keys() for other in groups.values()):
        raise ValueError(f"{', '.join(GROUPS)} differ in names")
    dtype = None
    for group, parts in groups.items():
        for name, array in parts.items():
            parts[name] = require.floats(f"{group}/{name}", array, first[name].shape, dtype)
            dtype = array.dtype
            if not np.isfinite(array).all():
                raise ValueError(f"{group}/{name} must be finite")
    for name, array in groups["v"].items():
        if (array < 0).any():
            raise ValueError(f"v/{name} must not be below 0")
    return groups.values()


def _history(meta: dict[str, Any]) -> list[EpochRecord]:
    """Return the EpochRecords in `meta`, after checking them and the numbers beside them."""
    iterations = require.integer("iterations", meta["iterations"], 0, MOST)
    records, before = [], 0
    for number, record in enumerate(_list(meta, "history"), start=1):
        record = _named(EpochRecord, record)
        before = require.integer("iterations of an epoch", record.iterations, before, iterations)
        if record.epoch != number:
            raise ValueError(f"epoch {number} of the history has number {record.epoch!r:.40}")
        real = {"loss": _number("loss", record.loss)}
        if record.val_loss is not None:
            real["val_loss"] = _number("val_loss", record.val_loss)
        real |= {name: require.real(name, getattr(record, name), 0) for name in REAL}
        if record.val_f1 is not None:
            real["val_f1"] = require.real("val_f1", record.val_f1, 0, high=1)
        records.append(record._replace(**real))
    require.integer("best_epoch", meta["best_epoch"], 0, len(records))
    meta["best_val_f1"] = require.real("best_val_f1", meta["best_val_f1"], -1, high=1)
    return records


def _number(name: str, value: Any) -> float:
    """Return a number that may be anything, infinite or NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, got {type(value).__name__}")
    return float(value)


def _loads(meta: dict[str, Any]) -> list[dict[str, int]]:
    """Return the counts of each epoch in `meta`, after checking them."""
    loads = _list(meta, "loads")
    for counts in loads:
        for name, count in _named(LoadCounts, counts)._asdict().items():
            require.integer(f"{name} of an epoch", count, 0)
    if len(loads) not in (0, len(meta["history"])):
        raise ValueError(f"loads must be of {len(meta['history'])} epochs, got {len(loads)}")
    return loads


def _reads(meta: dict[str, Any]) -> list[dict[str, float]]:
    """Return what each epoch in `meta` read, after checking the counts."""
    reads = _list(meta, "reads")
    for counts in reads:
        if counts.keys() != READ:
            raise ValueError(f"reads of an epoch must have the entries {', '.join(sorted(READ))}")
        for name in READ - {"waiting"}:  # what was read in vain may be used an epoch later
            require.integer(f"{name} of an epoch", counts[name], -(2**62) * (name == "in_vain"))
        require.real("waiting of an epoch", counts["waiting"], 0)
    if len(reads) not in (0, len(meta["history"])):
        raise ValueError(f"reads must be of {len(meta['history'])} epochs, got {len(reads)}")
    return reads


def _named(kind: Any, found: dict[str, Any]) -> Any:
    """Return a NamedTuple of the entries of a JSON object; those with a default may be missing."""
    optional = kind._field_defaults.keys()
    if not set(kind._fields) - optional <= found.keys() <= set(kind._fields):
        raise ValueError(f"{kind.__name__} must have the entries {', '.join(kind._fields)}")
    return kind(**found)


def _list(meta: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the list of JSON objects under a name."""
    if not isinstance(meta[name], list) or not all(isinstance(one, dict) for one in meta[name]):
        raise ValueError(f"{name} must be a list of JSON objects")
    return meta[name]


def _group(arrays: Weights, group: str) -> Weights:
    """Return the arrays whose names begin with ``group/``, by the rest of their names."""
    prefix = group + "/"
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def write_npz(path: FilePath, meta: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write arrays by name, and JSON data as ``meta``, to `path`: whole or not at all."""
    path = require.path("path", path)
    with replacing(path) as file:
        np.savez(file, meta=json.dumps(meta), **arrays)


@contextmanager
def reading_npz(path: FilePath, what: str) -> Iterator[tuple[Any, Weights]]:
    """Give (meta, arrays) of a file of `write_npz`; nothing in it is ever unpickled.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, or the block finds that it is not a whole `what`.
    """
    path = require.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"no {what} at {path}")
    with reading(path, f"a whole {what}", "is not") as file:
        arrays = read_npz(file)
        meta = arrays.pop("meta", None)
        if meta is None or meta.shape != () or meta.dtype.kind != "U":
            raise ValueError("it has no JSON text as meta")
        yield json.loads(meta.item()), arrays
