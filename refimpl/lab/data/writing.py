"""Writing a data set as a folder of plain .npy files and meta.json; `folder` reads it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.whole_files import about, sync_folder
from refimpl.graph import WeightedGraph
from refimpl.lab.data.arrays import ArrayFile
from refimpl.lab.data.journal import NAME as JOURNAL
from refimpl.lab.data.leftovers import beside, held, released, remove_leftovers
from refimpl.lab.data.rows import write_induced
from refimpl.lab.data.sparse_features import DenseRows
from refimpl.lab.data.splits import PARTS
from refimpl.typed import TypedGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from numpy.typing import NDArray

    from refimpl.graph import Graph
    from refimpl.hints import FilePath

    Write: TypeAlias = Callable[[str, NDArray[Any] | None], None]

META = "meta.json"
FEATURES = "feature_names"  # in it, of tables
FORMAT, VERSION = "minibatch-gnn data set", 1
CHUNK = 2**24  # bytes written at a time, about
# Every array that there may be: its dtype (None: as it comes) and its number of axes (None: any).
ARRAYS: dict[str, tuple[Any, int | None]] = {
    "indptr": (np.int64, 1),
    "indices": (np.int32, 1),
    "features": (None, 2),
    "feature_rows": (np.int32, 1),
    "labels": (None, None),
    "train": (np.int64, 1),
    "val": (np.int64, 1),
    "test": (np.int64, 1),
    "known": (np.bool_, 1),
    "mean": (np.float64, 1),
    "std": (np.float64, 1),
    "node_names": (None, 1),
    "edge_types": (np.int16, 1),
    "node_types": (np.int16, 1),
    "edge_weights": (np.float64, 1),
    "induced_indptr": (np.int64, 1),
    "induced_indices": (np.int32, 1),
    "induced_edge_types": (np.int16, 1),
    "induced_edge_weights": (np.float64, 1),
}


def write_array(folder: Path, name: str, values: NDArray[Any] | DenseRows) -> dict[str, Any]:
    """Write an array as ``folder/name.npy``, in blocks of rows; return what meta.json says."""
    step = max(1, CHUNK // max(1, values[:1].nbytes))
    dtype = ARRAYS[name][0] or values.dtype
    with ArrayFile(folder / f"{name}.npy", dtype, values.shape[1:]) as file:
        for first in range(0, len(values), step):
            file.append(values[first : first + step])
        return file.finish()


def writer(folder: Path, arrays: dict[str, Any]) -> Write:
    """Return a function of a name and an array that writes it and puts what meta.json says of it
    into `arrays`; where there is None for an array, it does nothing.
    """

    def write(name: str, values: NDArray[Any] | None) -> None:
        if values is not None:
            arrays[name] = write_array(folder, name, values)

    return write


@contextmanager
def new_folder(
    path: FilePath, overwrite: bool, resumed: Callable[[Path], bool] | None = None
) -> Iterator[Path]:
    """Give a folder to write in, which stands at `path` once the block has ended without an error.

    What is at `path` is always whole, or nothing for the moment between two renamings. First the
    folders are removed that killed processes left beside `path`: see `remove_leftovers`. The
    first that `resumed` is true of is given instead of a new one. With `resumed`, Ctrl-C
    leaves the folder as a kill does.

    Raises
    ------
    FileExistsError
        If something is at `path`: without `overwrite` anything, with it what is no data set.
    OSError
        Whatever went wrong in writing; it names `path`.
    """
    path = require.path("folder", path).absolute()
    require.switch("overwrite", overwrite)
    found = remove_leftovers(path, resumed)
    temporary, old = beside(path, secrets.token_hex(8))
    lock: int | None = None
    kept = found is not None
    if found is not None:
        (temporary, lock), old = found, found[0].with_suffix(".old.tmp")
    try:
        check_free(path, overwrite)
        kept = False
        if found is None:
            temporary.mkdir()
            lock = held(temporary)
        yield temporary
        sync_folder(temporary)
        check_free(path, overwrite)
        (temporary / JOURNAL).unlink(missing_ok=True)
        if path.exists():
            path.rename(old)
        temporary.rename(path)
        sync_folder(path.parent)
    except KeyboardInterrupt:
        kept = resumed is not None
        raise
    except OSError as error:
        elsewhere = error.filename is not None and not str(error.filename).startswith(
            str(temporary)
        )
        if elsewhere or isinstance(error, FileExistsError):
            raise
        raise about(path, error) from error
    finally:
        if os.path.lexists(old) and not os.path.lexists(path):
            old.rename(path)  # the second renaming failed
        for folder in (old,) if kept else (temporary, old):
            shutil.rmtree(folder, ignore_errors=True)
        released(lock)


def check_free(path: Path, overwrite: bool) -> None:
    """Raise FileExistsError unless a data set may be written to `path`."""
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return
    if not (path / META).is_file() or path.is_symlink():
        raise FileExistsError(f"{path} is there and is no data set, so it is not replaced")
    known = {META, *(f"{name}.npy" for name in ARRAYS)}
    others = sorted(one.name for one in path.iterdir() if one.name not in known)
    if others:
        raise FileExistsError(f"{path} holds other files too ({others[0]}): it is not replaced")
    if not overwrite:
        raise FileExistsError(f"{path} is a data set already, which --overwrite replaces")


def save_dataset(dataset: Any, folder: FilePath, *, overwrite: bool = False) -> None:
    """Write a Dataset: see `Dataset.save`."""
    with new_folder(folder, overwrite) as place:
        X = dataset.features
        X = DenseRows(X) if require.issparse(X) else X
        arrays = {"features": write_array(place, "features", X)}
        write_all_but_features(place, dataset, arrays)


def write_all_but_features(place: Path, dataset: Any, arrays: dict[str, Any]) -> None:
    """Write a Dataset into a folder, with meta.json, where its features are already.

    Parameters
    ----------
    place : Path
    dataset : Dataset
    arrays : dict
        What `ArrayFile.finish` returned, by name, of all that is there.
    """
    write = writer(place, arrays)
    write_graph(write, "", dataset.graph)
    write("labels", dataset.labels)
    write("known", dataset.known)
    inner = None
    if dataset.induced is not None:
        write_graph(write, "induced_", dataset.induced)
        inner = facts_of(dataset.induced)
    elif dataset.inductive:
        found, inner = write_induced(dataset.graph, dataset.train, place)
        arrays |= found
    write_small(write, dataset)
    write_meta(place, dataset, arrays, facts_of(dataset.graph), inner)


def write_graph(write: Write, prefix: str, graph: Graph) -> None:
    """Write the arrays of a graph by what `writer` returned."""
    write(f"{prefix}indptr", graph.indptr)
    write(f"{prefix}indices", graph.indices)
    if isinstance(graph, WeightedGraph):
        write(f"{prefix}edge_weights", graph.weights)
    if isinstance(graph, TypedGraph):
        write(f"{prefix}edge_types", graph.edge_types)
        if not prefix:  # those of training nodes are some of these
            write("node_types", graph.node_types)


def write_small(write: Write, dataset: Any) -> None:
    """Write the parts, the scaling and the names of a Dataset, or of what has them like one."""
    for name in PARTS:
        write(name, getattr(dataset, name))
    if isinstance(dataset.scaling, tuple):
        for name, values in zip(("mean", "std"), dataset.scaling, strict=True):
            write(name, values)
    names = dataset.node_names
    if names is not None and names.dtype.kind != "U":
        whole = names.dtype.kind in "iu" and np.can_cast(names.dtype, np.int64)
        names = names.astype(np.int64 if whole else np.str_)
    write("node_names", names)


def facts_of(graph: Graph) -> dict[str, Any]:
    """Return what takes a pass to find out about a graph."""
    facts = {
        "nodes": graph.n,
        "entries": graph.e,
        "symmetric": bool(graph.symmetric),
        "self_loops": bool(graph.self_loops),
        "max_degree": graph.max_degree,
    }
    if isinstance(graph, TypedGraph):
        facts |= {"relations": graph.relations, "kinds": graph.kinds}
    return facts


def write_meta(
    place: Path,
    dataset: Any,
    arrays: dict[str, Any],
    facts: dict[str, Any],
    inner: dict[str, Any] | None,
) -> None:
    """Write meta.json: it says what the arrays are of.

    Parameters
    ----------
    place : Path
    dataset : Dataset, or anything with its name, setting, dtype, classes, scaling and names
    arrays : dict
        What `ArrayFile.finish` returned, by name.
    facts, inner : dict
        Of the graph, and of that between training nodes or None.
    """
    scaling = dataset.scaling
    names = dataset.class_names
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "name": str(dataset.name),
        "setting": dataset.setting,
        "dtype": np.dtype(dataset.dtype).name,
        "classes": dataset.classes,
        "multilabel": len(arrays["labels"]["shape"]) == 2,
        "class_names": None if names is None else list(names),
        "scaling": "standard" if isinstance(scaling, tuple) else scaling or "none",
        "graph": facts,
        "induced": inner,
        "arrays": arrays,
    }
    if dataset.feature_names is not None:
        meta[FEATURES] = list(dataset.feature_names)
    with (place / META).open("x", encoding="utf-8") as file:
        json.dump(meta, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
