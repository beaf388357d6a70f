"""Saving a run so that it can go on to the same bits."""

from refimpl.lab.training.npz import reading_npz, write_npz
from refimpl.lab.training.trainer import EpochRecord, TrainState

FORMAT = "minibatch-gnn-checkpoint/2"
GROUPS = ("weights", "m", "v", "best_weights")
NUMBERS = {"best_val_f1": float, "best_epoch": int, "iterations": int}


def save_checkpoint(path, state, settings):
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
    OSError
        If the file cannot be written; the one of before is whole then.
    """
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
        **{name: getattr(state, name) for name in NUMBERS},
    }
    write_npz(path, meta, arrays)


def load_checkpoint(path):
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
    """
    with reading_npz(path, "checkpoint") as (meta, arrays):
        if meta["format"] != FORMAT:
            raise ValueError(f"format {meta['format']!r}, expected {FORMAT!r}")
        groups = {group: _group(arrays, group) for group in GROUPS}
        shapes = [{name: a.shape for name, a in group.items()} for group in groups.values()]
        if any(other != shapes[0] for other in shapes):
            raise ValueError(f"{', '.join(GROUPS)} differ in names or shapes")
        history = [EpochRecord(**record) for record in meta["history"]]
        weights, m, v, best_weights = groups.values()
        state = TrainState(weights, m, v, best_weights, history=history, loads=meta["loads"])
        state.cache = _group(arrays, "cache") or None
        for name, kind in NUMBERS.items():
            setattr(state, name, kind(meta[name]))
        return state, dict(meta["settings"])


def _group(arrays, group):
    """Return the arrays whose names begin with ``group/``, by the rest of their names."""
    prefix = group + "/"
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
