"""One door to every data set."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import naming
from refimpl.hints import FilePath, FloatDtype, Int, Rng
from refimpl.lab.data.attributed import load_attributed
from refimpl.lab.data.communities import communities
from refimpl.lab.data.dataset import SETTINGS, Dataset
from refimpl.lab.data.folder import is_folder, open_folder
from refimpl.lab.data.graphsaint import load_graphsaint
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.data.ogb import is_ogb
from refimpl.lab.data.other_formats import refuse_other_folders, refuse_other_formats
from refimpl.lab.data.planetoid import VALIDATION, load_planetoid, planetoid_names
from refimpl.lab.data.preparation import scaling_of
from refimpl.lab.data.table_files import is_table
from refimpl.lab.data.tables import Chosen, Unclear
from refimpl.lab.data.typed import FILES, load_typed, typed_communities
from refimpl.lab.hints import Setting, SomeScaling
from refimpl.loader.gathering import check_scaling
from refimpl.streams import DATA, as_seed, key, pick_without_replacement

BUILT_IN: dict[str, Callable[..., Dataset]] = {
    "communities": communities,
    "communities-multilabel": partial(communities, multilabel=True),
    "karate": karate_dataset,
    "typed": typed_communities,
}
SPLIT = 32  # what the draws are for
DTYPE: FloatDtype = "float32"  # where nobody says otherwise
HINT = f"; built-in data sets: {', '.join(BUILT_IN)}"


def load_dataset(
    source: FilePath,
    *,
    rng: Rng = 0,
    dtype: FloatDtype | None = None,
    scaling: SomeScaling | None = None,
    setting: Setting | None = None,
    split: Int | str | None = None,
    features: FilePath | None = None,
    labels: str | None = None,
    columns: dict[str, Any] | None = None,
    titles: str | None = None,
    minus_one: str | None = None,
    verify: bool = False,
) -> Dataset:
    """Return a data set by name, or from a folder.

    Not in the papers, whose data sets can be read from folders.

    Parameters
    ----------
    source : str or Path
        ``communities``, ``communities-multilabel`` or ``typed`` (made on the spot; the last has
        relations), ``karate`` (a real graph of 34 nodes), or a folder: with ``adj_full.npz`` in
        GraphSAINT's format, and ``edge_types.npy`` where it has relations (see `load_typed`), with
        ``ind.NAME.x`` in Planetoid's, with ``raw`` and ``split`` in the Open Graph Benchmark's,
        with ``meta.json`` one of `Dataset.save`, whose arrays are mapped into memory; an .npz file
        of Shchur et al. 2018 (see `load_attributed`), or a .csv or .tsv file of edges, perhaps
        with .gz. A folder called like a built-in data set is reached as ``./communities``.
    rng : int in [0, 2**64), numpy.random.Generator or None
        For the three made on the spot; the others have nothing random.
    dtype : float32 or float64, optional
        What a model computes in. Default: float32, or as a data set had it that was saved.
    scaling : {"standard", "rows", "none"} or (mean, std), optional
        How models read the features: by mean and std of the training rows; each row over its sum,
        for bags of words; as they are; or by two (f,) float64 arrays such as a model has kept.
        Default: "rows" for Planetoid's files, as it was for a data set that was saved, "standard"
        for the others.
    setting : {"transductive", "inductive"}, optional
        See `Dataset`. Default: inductive for what is made on the spot and for GraphSAINT's
        folders, as their ``adj_train.npz`` says; as it was for a data set that was saved;
        transductive for the others.
    split : int or str, optional
        "public" or "fastgcn", for Planetoid's files (see `load_planetoid`; default: "fastgcn"); a
        name, where a folder of the Open Graph Benchmark has several. A
        number stands for so many training nodes of each class, drawn with `rng`, 500 more
        nodes for validation, and all others with a class for test; for nodes of one class. Default:
        the split that the data has.
    features : str or Path, optional
        The file of nodes that goes with a .csv file of edges; see `Dataset.from_csv`.
    labels : str, optional
        The title of its column of classes. Default: "label", "labels", "y" or "class".
    columns : dict, optional
        Titles of other columns of the two files: "id", "split", and a list "ignore" of the file
        of nodes, "source" and "target" of the file of edges. Default: by known titles.
    titles : {"yes", "no"}, optional
        As for `Dataset.from_csv`.
    minus_one : {"unknown", "class"}, optional
        As for `Dataset.from_arrays`; for tables.
    verify : bool
        Read all of a data set that was saved, and check it: for folders of strangers. Other files
        are read and checked anyway.

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
    if setting is not None:
        require.choice("setting", setting, SETTINGS)
    a_class = None
    if split is not None and not isinstance(split, str):
        a_class, split = require.integer("split", split, 1, 2**31 - 1), None
    check_tables(source, features, labels, columns, titles, minus_one)
    if features is not None:
        refuse_split(source, split)
        more: dict[str, Any] = {} if scaling is None else {"scaling": scaling}
        more |= {"dtype": dtype or DTYPE, "rng": as_seed(rng), "minus_one": minus_one}
        chosen = Chosen.read(labels, columns)._asdict()
        dataset = Dataset.from_csv(source, features, titles=titles, **chosen, **more)
    else:
        dataset = _loaded(source, as_seed(rng), dtype, scaling, split, verify)
    if a_class is not None:
        dataset = few_of_each_class(
            dataset, a_class, as_seed(rng), not isinstance(scaling, tuple | list)
        )
    return dataset if setting in (None, dataset.setting) else dataset.with_setting(setting)


def _loaded(source, seed, dtype, scaling, split, verify):
    """Return the data set of a source, in its own setting."""
    more = {} if scaling is None else {"scaling": scaling}
    if not (isinstance(source, str) and source in BUILT_IN) and is_folder(source):
        refuse_split(source, split)
        return open_folder(source, dtype=dtype, scaling=scaling, verify=verify)
    dtype = DTYPE if dtype is None else dtype
    if isinstance(source, str) and source in BUILT_IN:
        refuse_split(source, split)
        return BUILT_IN[source](seed, dtype=dtype, **more)
    folder = Path(source)
    if not folder.exists():
        raise FileNotFoundError(f"no folder {str(source)!r}, and no data set of that name{HINT}")
    refuse_other_formats(folder)
    if folder.suffix == ".npz":
        refuse_split(source, split)
        return load_attributed(folder, dtype, rng=seed, **more)
    if (folder / "adj_full.npz").exists():
        refuse_split(folder, split)
        load = load_typed if (folder / FILES[0]).exists() else load_graphsaint
        return load(folder, dtype, **more)
    if is_ogb(folder):
        with naming(folder):
            return Dataset.from_ogb(folder, split, dtype=dtype, **more)
    refuse_other_folders(folder)
    names = planetoid_names(folder)
    if len(names) > 1:
        raise ValueError(f"{folder} must hold one data set, got files of {', '.join(names)}")
    if names:
        more |= {} if split is None else {"split": split}
        return load_planetoid(folder, names[0], dtype, **more)
    raise ValueError(
        f"{folder} must be a folder with adj_full.npz (GraphSAINT's format), ind.NAME.x "
        f"(Planetoid's), raw/edge.csv.gz or raw/data.npz (OGB's) or meta.json (of Dataset.save), "
        f"and has none of them{HINT}"
    )


def check_tables(source, features, labels, columns, titles, minus_one):
    """Raise ValueError unless what is said of tables goes with a source that is one."""
    if is_table(source) != (features is not None):
        raise Unclear(
            f"{source} is a table of edges, which needs a table of nodes"
            if features is None
            else f"features is for a table of edges, which {source} is not",
            "features=NODES.csv" if features is None else "a .csv or .tsv file as source",
            "--features NODES.csv" if features is None else "a .csv or .tsv file as --data",
        )
    said = {"labels": labels, "columns": columns, "titles": titles, "minus_one": minus_one}
    for name, value in said.items():
        if features is None and value is not None:
            raise ValueError(f"{name} must be left out where {source} is no table")


def refuse_split(source, split):
    """Raise ValueError if a split by name is asked for where there is none."""
    if split is not None:
        raise ValueError(f"split must be a number, or left out, for {source}, got {split!r:.40}")


def few_of_each_class(dataset, count, seed, rescale=True):
    """Return a data set with another split: `count` training nodes of each class.

    As the public split of Planetoid's data sets: 500 other nodes are for validation, at most half
    of those that are left, the others that have a class for test. All are drawn.

    Parameters
    ----------
    dataset : Dataset
        Of nodes with one class each.
    count : int
    seed : int in [0, 2**64)
    rescale : bool
        Scale the features by the new training rows.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If nodes have several classes, or a class has fewer nodes.
    """
    parts = parts_of_few(dataset.labels, dataset.classes, count, seed) | {"induced": None}
    train = parts["train"]
    if rescale and isinstance(dataset.scaling, tuple):
        parts["scaling"] = check_scaling(scaling_of(dataset.features, train))
    return dataset._changed(**parts)


def parts_of_few(labels, classes, count, seed):
    """Return the parts of `few_of_each_class`, by name, for these labels."""
    if labels.ndim == 2:
        raise ValueError("split must be left out where nodes may have several classes")
    n = len(labels)
    order = pick_without_replacement(key(seed, DATA, SPLIT), 0, n, n)
    labels = labels[order]
    of_class = [order[labels == c][:count] for c in range(classes)]
    for c, nodes in enumerate(of_class):
        if len(nodes) < count:
            raise ValueError(f"split must be at most {len(nodes)}, as class {c} has nodes")
    train = np.concatenate(of_class)
    rest = order[(labels >= 0) & ~np.isin(order, train)]
    val = min(VALIDATION, len(rest) // 2)
    parts = {"train": train, "val": rest[:val], "test": rest[val:]}
    return {name: np.sort(nodes).astype(np.int64) for name, nodes in parts.items()}
