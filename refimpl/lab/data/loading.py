"""One door to every data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from refimpl._support import require
from refimpl.hints import FilePath, FloatDtype, Int, Rng
from refimpl.lab.data.dataset import SETTINGS, Dataset
from refimpl.lab.data.formats import BUILT_IN, Request, format_of, needs_nodes, refuse_split
from refimpl.lab.data.splits import few_of_each_class
from refimpl.lab.data.tables import Chosen, Unclear
from refimpl.lab.hints import Setting, SomeScaling
from refimpl.streams import as_seed


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
        with ``NAME.content`` in LINQS', with ``out1_graph_edges.txt`` in geom-gcn's, with
        ``meta.json`` one of `Dataset.save`, whose arrays are mapped into memory; an .npz file of
        Shchur et al. 2018 (see `load_attributed`); or a file of edges: .csv or .tsv, perhaps with
        .gz, .mtx or .edgelist. A folder called like a built-in data set is reached as
        ``./communities``.
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
        name, where a folder of the Open Graph Benchmark or geom-gcn has several. A
        number stands for so many training nodes of each class, drawn with `rng`, 500 more
        nodes for validation, and all others with a class for test; for nodes of one class. Default:
        the split that the data has.
    features : str or Path, optional
        The file of nodes that goes with a file of edges; see `Dataset.from_csv`.
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
    request = Request(
        seed=as_seed(rng),
        dtype=dtype,
        scaling=scaling,
        split=split,
        verify=verify,
        features=features,
        chosen=Chosen.read(labels, columns),
        titles=titles,
        minus_one=minus_one,
    )
    if isinstance(source, str) and source in BUILT_IN:
        refuse_split(source, split)
        dataset = BUILT_IN[source](request.seed, **request.options)
    else:
        path = Path(source)
        dataset = format_of(path, split).load(path, request)
    if a_class is not None:
        dataset = few_of_each_class(
            dataset, a_class, request.seed, not isinstance(scaling, tuple | list)
        )
    return dataset if setting in (None, dataset.setting) else dataset.with_setting(setting)


def check_tables(source, features, labels, columns, titles, minus_one):
    """Raise ValueError unless what is said of tables goes with a source that is one."""
    if needs_nodes(source) != (features is not None):
        raise Unclear(
            f"{source} is a file of edges, which needs a table of nodes"
            if features is None
            else f"features is for a file of edges, which {source} is not",
            "features=NODES.csv" if features is None else "a .csv or .mtx file as source",
            "--features NODES.csv" if features is None else "a .csv or .mtx file as --data",
        )
    said = {"labels": labels, "columns": columns, "titles": titles, "minus_one": minus_one}
    for name, value in said.items():
        if features is None and value is not None:
            raise ValueError(f"{name} must be left out where {source} has no table of nodes")
