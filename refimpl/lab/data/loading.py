"""One door to every data set."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from refimpl.lab.data.communities import communities
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.graphsaint import load_graphsaint
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.data.planetoid import load_planetoid, planetoid_names
from refimpl.lab.data.typed import FILES, load_typed, typed_communities

BUILT_IN: dict[str, Callable[..., Dataset]] = {
    "communities": communities,
    "communities-multilabel": partial(communities, multilabel=True),
    "karate": karate_dataset,
    "typed": typed_communities,
}
HINT = f"; built-in data sets: {', '.join(BUILT_IN)}"


def load_dataset(source, *, rng=0, dtype="float32", scaling=None):
    """Return a data set by name, or from a folder.

    Not in the papers, whose data sets can be read from folders.

    Parameters
    ----------
    source : str or Path
        ``communities``, ``communities-multilabel`` or ``typed`` (made on the spot; the last has
        relations), ``karate`` (a real graph of 34 nodes), or a folder: with ``adj_full.npz`` in
        GraphSAINT's format, and ``edge_types.npy`` where it has relations (see `load_typed`), with
        ``ind.NAME.x`` in Planetoid's. A folder called like a built-in data set is reached as
        ``./communities``.
    rng : int in [0, 2**64), numpy.random.Generator or None
        For the three made on the spot; the others have nothing random.
    dtype : float32 or float64
        Of features and labels.
    scaling : (mean, std), optional
        Scale the features by this mean and std, two (f,) float64 arrays such as a model has
        kept, and not by those of the training rows.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or a file is missing in it.
    ValueError
        If the folder holds no data set, or several, or a file is bad, or `scaling` is of
        another width.
    TypeError
        If an argument is of the wrong type.
    OverflowError
        If a folder's graph has more than 2**31 - 1 nodes.
    MemoryError
        If a file takes more memory than there is; it is named.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"source must be a str or a Path, got {type(source).__name__}")
    if isinstance(source, str) and source in BUILT_IN:
        return BUILT_IN[source](rng, dtype=dtype, scaling=scaling)
    folder = Path(source)
    if not folder.exists():
        raise FileNotFoundError(f"no folder {str(source)!r}, and no data set of that name{HINT}")
    if (folder / "adj_full.npz").exists():
        load = load_typed if (folder / FILES[0]).exists() else load_graphsaint
        return load(folder, dtype, scaling=scaling)
    names = planetoid_names(folder)
    if len(names) > 1:
        raise ValueError(f"{folder} must hold one data set, got files of {', '.join(names)}")
    if names:
        return load_planetoid(folder, names[0], dtype, scaling=scaling)
    raise ValueError(
        f"{folder} must be a folder with adj_full.npz (GraphSAINT's format) or ind.NAME.x "
        f"(Planetoid's), and has neither{HINT}"
    )
