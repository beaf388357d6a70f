"""One door to every data set."""

from __future__ import annotations

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
    """Return a built-in data set, or read one from a folder or file. Not in the papers.

    Parameters
    ----------
    source : str or Path
        A built-in name: ``communities``, ``communities-multilabel``, ``typed`` (with relations) or
        ``karate`` (a real graph of 34 nodes). Or the path of a folder or file in one of the formats
        that the page Data lists. The arrays of a folder of `Dataset.save` are mapped into memory.
        If a folder has a built-in name, write ``./communities``.
    rng : int in [0, 2**64), numpy.random.Generator or None
        Seed of random splits and of the built-in data sets except ``karate``.
    dtype : float32 or float64, optional
        The precision of a model. Default: the saved data set's, otherwise float32.
    scaling : {"standard", "rows", "none"} or (mean, std), optional
        How models scale the features. "standard" uses mean and std of the training rows, "rows"
        divides each row by its sum, and "none" changes nothing. Or give two (f,) float64 arrays,
        such as those of a model. Default: the saved data set's, "rows" for Planetoid's files,
        otherwise "standard".
    setting : {"transductive", "inductive"}, optional
        See `Dataset`. Default: the saved data set's, "inductive" for built-in data and for
        GraphSAINT's folders, otherwise "transductive".
    split : int or str, optional
        For Planetoid's files "public" or "fastgcn" (default; see `load_planetoid`). For folders of
        the Open Graph Benchmark or geom-gcn the name of one of their splits. A number draws this
        many training nodes of each class, 500 other nodes for validation, and all others with a
        class for test; each node must have one class. Default: the data's split.
    features : str or Path, optional
        The table of nodes, for a file of edges; see `Dataset.from_csv`.
    labels : str, optional
        The title of the column of classes in `features`. Default: "label", "labels", "y" or
        "class".
    columns : dict, optional
        Titles of other columns: "id", "split" and a list "ignore" for the table of nodes, "source"
        and "target" for the file of edges. Default: known titles.
    titles : {"yes", "no"}, optional
        Whether the first line has titles, as for `Dataset.from_csv`.
    minus_one : {"unknown", "class"}, optional
        The meaning of the label -1 in a table, as for `Dataset.from_arrays`.
    verify : bool
        Read and check every file of a saved data set. Use it for folders that you did not make
        yourself. Other formats are always checked.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the folder does not exist, or lacks a file.
    ValueError
        If the folder has no data set or several, a file is bad, or `scaling` has another width.
    TypeError
        If an argument has the wrong type.
    OverflowError
        If a folder's graph has more than 2**31 - 1 nodes.
    MemoryError
        If a file does not fit in memory; the error names the file.
    """
    require.path("source", source)
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


def check_tables(
    source: FilePath,
    features: FilePath | None,
    labels: str | None,
    columns: dict[str, Any] | None,
    titles: str | None,
    minus_one: str | None,
) -> None:
    """Raise ValueError unless what is said of tables goes with a source that is one."""
    if needs_nodes(source) != (features is not None):
        raise Unclear(
            f"{source} is a file of edges, which needs a table of nodes"
            if features is None
            else f"features is for a file of edges, which {source} is not",
            "features=NODES.csv" if features is None else "a .csv or .mtx file as source",
            "--features NODES.csv" if features is None else "a .csv or .mtx file as --data",
        )
    if features is not None:
        require.path("features", features)
    said = {"labels": labels, "columns": columns, "titles": titles, "minus_one": minus_one}
    for name, value in said.items():
        if features is None and value is not None:
            raise ValueError(f"{name} must be left out where {source} has no table of nodes")
