"""Writing a data set as a folder of plain .npy files and meta.json; `folder` reads it."""

import errno
import hashlib
import json
import os
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from refimpl import _check
from refimpl._files import about, sync_folder
from refimpl._reading import MAGIC
from refimpl.lab.data.preparation import induced
from refimpl.typed import TypedGraph

META = "meta.json"
FORMAT, VERSION = "minibatch-gnn data set", 1
PARTS = ("train", "val", "test")
HEADER = 128  # bytes, as NumPy's own are
CHUNK = 2**24  # bytes written at a time, about
# Every array that there may be: its dtype (None: as it comes) and its number of axes (None: any).
ARRAYS = {
    "indptr": (np.int64, 1),
    "indices": (np.int32, 1),
    "features": (None, 2),
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
    "induced_indptr": (np.int64, 1),
    "induced_indices": (np.int32, 1),
    "induced_edge_types": (np.int16, 1),
}


class ArrayFile:
    """A .npy file that grows row by row, with a checksum of its data.

    Parameters
    ----------
    path : Path
        Of a file that is not there.
    dtype : dtype
    tail : tuple of int
        The shape of a row.
    """

    def __init__(self, path, dtype, tail=()):
        self.path, self.tail, self.rows = Path(path), tuple(tail), 0
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.hash = hashlib.blake2b(digest_size=16)
        self.file = self.path.open("xb")
        self.file.write(bytes(HEADER))

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.file.close()

    def append(self, rows):
        """Write some rows more, as the file's dtype."""
        rows = np.ascontiguousarray(rows, self.dtype)
        data = rows.reshape(-1).view(np.uint8).data
        self.hash.update(data)
        self.file.write(data)
        self.rows += len(rows)

    def finish(self):
        """End the file, on disk; return what meta.json says of it."""
        shape = (self.rows, *self.tail)
        text = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}"
        room = HEADER - len(MAGIC) - 4
        self.file.seek(0)
        self.file.write(MAGIC + b"\1\0" + room.to_bytes(2, "little"))
        self.file.write(f"{text:<{room - 1}}\n".encode("latin1"))
        self.file.flush()
        os.fsync(self.file.fileno())
        return {
            "file": self.path.name,
            "dtype": self.dtype.str,
            "shape": list(shape),
            "blake2b": self.hash.hexdigest(),
        }


def write_array(folder, name, values, progress=None):
    """Write an array as ``folder/name.npy``, in blocks of rows; return what meta.json says."""
    step = max(1, CHUNK // max(1, values[:1].nbytes))
    dtype = ARRAYS[name][0] or values.dtype
    with ArrayFile(folder / f"{name}.npy", dtype, values.shape[1:]) as file:
        for first in range(0, len(values), step):
            block = values[first : first + step]
            file.append(block)
            if progress is not None:
                progress(len(block))
        return file.finish()


@contextmanager
def new_folder(path, overwrite):
    """Give a folder to write in, which stands at `path` once the block has ended without an error.

    What is at `path` is always whole, or nothing for the moment between two renamings.

    Raises
    ------
    FileExistsError
        If something is at `path`: without `overwrite` anything, with it what is no data set.
    OSError
        Whatever went wrong in writing; it names `path`.
    """
    path = _check.path("folder", path).absolute()
    _check.switch("overwrite", overwrite)
    check_free(path, overwrite)
    mark = f"{path.name}.{secrets.token_hex(8)}"
    temporary, old = path.with_name(f"{mark}.tmp"), path.with_name(f"{mark}.old.tmp")
    try:
        temporary.mkdir()
        yield temporary
        sync_folder(temporary)
        check_free(path, overwrite)
        if path.exists():
            path.rename(old)
        temporary.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith(str(temporary)):
            raise
        raise about(path, error) from error
    finally:
        for folder in (temporary, old):
            shutil.rmtree(folder, ignore_errors=True)


def check_free(path, overwrite):
    """Raise FileExistsError unless a data set may be written to `path`."""
    if not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir())):
        return
    if not (path / META).is_file() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, "it is no data set, so it is not replaced", str(path))
    known = {META, *(f"{name}.npy" for name in ARRAYS)}
    others = sorted(one.name for one in path.iterdir() if one.name not in known)
    if others:
        text = f"it holds other files too ({others[0]}), so it is not replaced"
        raise FileExistsError(errno.EEXIST, text, str(path))
    if not overwrite:
        text = "a data set is there already, which overwrite (--overwrite) replaces"
        raise FileExistsError(errno.EEXIST, text, str(path))


def save_dataset(dataset, folder, *, overwrite=False, progress=None):
    """Write a Dataset: see `Dataset.save`. `progress` is told of rows of features written."""
    with new_folder(folder, overwrite) as place:
        graph, arrays, inner = dataset.graph, {}, inner_graph(dataset)

        def write(name, values):
            if values is not None:
                arrays[name] = write_array(place, name, values)

        arrays["features"] = write_array(place, "features", dataset.features, progress)
        write_graph(write, "", graph)
        write("labels", dataset.labels)
        write_small(write, dataset)
        if inner is not None:
            write_graph(write, "induced_", inner)
        write_meta(place, dataset, arrays, facts_of(graph), inner and facts_of(inner))


def inner_graph(dataset):
    """Return the graph between training nodes that is stored with a data set, or None."""
    if dataset.induced is None and dataset.inductive:
        return induced(dataset.graph, dataset.train)
    return dataset.induced


def write_graph(write, prefix, graph):
    """Write the arrays of a graph."""
    write(f"{prefix}indptr", graph.indptr)
    write(f"{prefix}indices", graph.indices)
    if isinstance(graph, TypedGraph):
        write(f"{prefix}edge_types", graph.edge_types)
        if not prefix:  # those of training nodes are some of these
            write("node_types", graph.node_types)


def write_small(write, dataset):
    """Write what is neither graph, features nor labels."""
    for name in PARTS:
        write(name, getattr(dataset, name))
    write("known", dataset.known)
    if isinstance(dataset.scaling, tuple):
        for name, values in zip(("mean", "std"), dataset.scaling, strict=True):
            write(name, values)
    names = dataset.node_names
    if names is not None and names.dtype.kind != "U":
        whole = names.dtype.kind in "iu" and np.can_cast(names.dtype, np.int64)
        names = names.astype(np.int64 if whole else np.str_)
    write("node_names", names)


def facts_of(graph):
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


def write_meta(place, dataset, arrays, facts, inner):
    """Write meta.json: it says what the arrays are of.

    Parameters
    ----------
    place : Path
    dataset : Dataset, or anything with its name, setting, dtype, classes, names and scaling
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
    with (place / META).open("x", encoding="utf-8") as file:
        json.dump(meta, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
