"""Saving a run so that it can go on to the same bits."""

import json
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np

from refimpl.training.trainer import EpochRecord, TrainState

FORMAT = "minibatch-gnn-checkpoint/1"
GROUPS = ("weights", "m", "v", "best_weights")
DAMAGE = (  # what NumPy, zipfile and json raise on a damaged file
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    OSError,
    RuntimeError,  # and NotImplementedError, which is one
    zipfile.BadZipFile,
    zlib.error,
)
NUMBERS = {"best_val_f1": float, "best_epoch": int, "iterations": int}


def save_checkpoint(path, state, settings):
    """Write `state` and `settings` to `path`, whole or not at all.

    Parameters
    ----------
    path : str or Path
        An .npz file: arrays ``weights/NAME``, ``m/NAME``, ``v/NAME`` (Adam's means),
        ``best_weights/NAME``, and the rest as JSON in ``meta``.
    state : TrainState
    settings : dict
        JSON data; given back by `load_checkpoint`.
    """
    path = Path(path)
    arrays = {
        f"{group}/{name}": array
        for group in GROUPS
        for name, array in getattr(state, group).items()
    }
    meta = {
        "format": FORMAT,
        "settings": settings,
        "history": [record._asdict() for record in state.history],
        **{name: getattr(state, name) for name in NUMBERS},
    }
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, meta=json.dumps(meta), **arrays)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load_checkpoint(path):
    """Return (TrainState, settings) from a file that `save_checkpoint` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not a whole checkpoint.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "meta"}
            meta = json.loads(file["meta"].item())
        if meta["format"] != FORMAT:
            raise ValueError(f"format {meta['format']!r}, expected {FORMAT!r}")
        groups = {
            group: {
                name.removeprefix(group + "/"): array
                for name, array in arrays.items()
                if name.startswith(group + "/")
            }
            for group in GROUPS
        }
        shapes = [{name: a.shape for name, a in group.items()} for group in groups.values()]
        if any(other != shapes[0] for other in shapes):
            raise ValueError(f"{', '.join(GROUPS)} differ in names or shapes")
        history = [EpochRecord(**record) for record in meta["history"]]
        weights, m, v, best_weights = groups.values()
        state = TrainState(weights, m, v, best_weights, history=history)
        for name, kind in NUMBERS.items():
            setattr(state, name, kind(meta[name]))
        return state, dict(meta["settings"])
    except DAMAGE as error:
        raise ValueError(f"{path} is not a whole checkpoint: {error}") from error
