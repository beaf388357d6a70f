"""From any data set to a folder of plain arrays, in bounded memory: ``minibatch-gnn convert``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl.lab.data.building import Target
from refimpl.lab.data.dataset import SETTINGS
from refimpl.lab.data.formats import BUILT_IN, Request, format_of
from refimpl.lab.data.journal import Journal, Untrusted, identity_of, refused
from refimpl.lab.data.loading import check_tables, load_dataset
from refimpl.lab.data.tables import Chosen
from refimpl.lab.data.writing import new_folder
from refimpl.streams import as_seed

if TYPE_CHECKING:
    from collections.abc import Callable

    from refimpl.hints import FilePath, Int, Rng
    from refimpl.lab.hints import Setting, SomeScaling

MEMORY = 2**28
KINDS = ("float16", "float32", "float64")


def convert(
    source: FilePath,
    folder: FilePath,
    *,
    rng: Rng = 0,
    scaling: SomeScaling | None = None,
    setting: Setting | None = None,
    split: Int | str | None = None,
    features: FilePath | None = None,
    labels: str | None = None,
    columns: dict[str, Any] | None = None,
    titles: str | None = None,
    minus_one: str | None = None,
    verify: bool = False,
    feature_dtype: str | None = None,
    memory: Int = MEMORY,
    pack: bool = False,
    overwrite: bool = False,
    progress: Callable[[str, float], object] | None = None,
    say: Callable[[str], object] | None = None,
) -> None:
    """Write any data set as a folder of plain .npy files, which `load_dataset` opens in no time.

    The folder holds what `load_dataset` returns for the source. Edges and features are read in
    blocks, edges sorted by files in the folder to be: 16 bytes for each edge. Memory is taken for
    blocks, the nodes of the split and, of some formats, for what is text: ``class_map.json`` and
    ``role.json``, names and classes in tables. Planetoid's, LINQS', geom-gcn's, Matrix Market's and
    NetworkX's files, and tables of edges with weights, are held whole. A `split` that is a number
    takes 20 bytes a node. O(n f + e log e) time. Not in the papers.

    After a kill or Ctrl-C, a call with the same arguments and unchanged files resumes the work;
    the folder is the same to the bit. Size, time and both ends of a file tell whether it changed.

    Parameters
    ----------
    source, rng, scaling, setting, split, features, labels, columns, titles, minus_one, verify
        As for `load_dataset`.
    folder : str or Path
        There is a whole data set there afterwards, or what was there before.
    feature_dtype : {"float16", "float32", "float64"}, optional
        What features are stored in. Default: as in the source, if it is one of them, or float32.
    memory : int
        Bytes that sorting edges takes, about; and then packing.
    pack : bool
        Write the features in an order in which rows that training reads together lie together:
        breadth-first from the training nodes. A file says which row is whose; no result changes.
        It takes up to 18 bytes a node, and the features are on storage twice meanwhile.
    overwrite : bool
        Replace a data set in `folder`.
    progress : callable, optional
        Called with what is being done, the share of it that is done, how many of its rows or edges
        are done, and "rows" or "edges".
    say : callable, optional
        Called with a sentence if a conversion to `folder` that was killed is resumed, or if it
        is not and why.

    Raises
    ------
    FileExistsError
        If something is at `folder`: without `overwrite` anything, with it what is no data set.
    FileNotFoundError, TypeError, ValueError, OverflowError, MemoryError
        As `load_dataset`.
    OSError
        If the folder cannot be written.
    """
    memory = require.integer("memory", memory, 1)
    require.switch("pack", pack)
    seed = as_seed(rng)
    if feature_dtype is not None:
        require.choice("feature_dtype", feature_dtype, KINDS)
    if setting is not None:
        require.choice("setting", setting, SETTINGS)
    count = None
    if split is not None and not isinstance(split, str):
        count = require.integer("split", split, 1, 2**31 - 1)
    target = Target(
        place=None,
        scaling=scaling,
        setting=setting,
        count=count,
        seed=seed,
        kind=None if feature_dtype is None else np.dtype(feature_dtype),
        memory=memory,
        pack=pack,
        progress=progress or (lambda *told: None),
    )
    path, folder = require.path("source", source), require.path("folder", folder).absolute()
    check_tables(source, features, labels, columns, titles, minus_one)
    options: dict[str, Any] = {
        "rng": seed,
        "scaling": scaling,
        "setting": setting,
        "split": split,
        "features": features,
        "labels": labels,
        "columns": columns,
        "titles": titles,
        "minus_one": minus_one,
        "verify": verify,
    }
    asked = options | {"memory": memory, "feature_dtype": feature_dtype, "pack": pack}
    files = [] if features is None else [Path(features)]
    found: Any = None  # Streamed, or a Dataset
    if not (isinstance(source, str) and source in BUILT_IN):
        files.append(path)
        name: Any = split if count is None else None  # a str or None
        request = Request(
            seed,
            split=name,
            features=features,
            chosen=Chosen.read(labels, columns),
            titles=titles,
            minus_one=minus_one,
        )
        found = format_of(path, name).stream(path, request)
    identity = identity_of(asked | {"source": str(path)}, files, folder)
    if found is None:
        found = load_dataset(source, **options)
    say = say or (lambda line: None)
    with new_folder(folder, overwrite, partial(_resumed, identity, say)) as target.place:
        target.journal = Journal(target.place, identity)
        if target.journal.where:
            say(f"resumes a conversion that was interrupted: {target.journal.where}")
        try:
            target.write_any(found)
        except Untrusted as fault:
            say(f"begins anew instead: {fault}")
            target.journal.path.unlink()
            target.journal = Journal(target.place, identity)
            target.write_any(found)


def _resumed(identity: dict[str, Any], say: Callable[[str], object], place: Path) -> bool:
    """Say whether a folder that was left is resumed; tell the user why not."""
    reason = refused(place, identity)
    if reason:
        say(f"begins anew; a conversion that was interrupted cannot be resumed: {reason}")
    return reason is None
