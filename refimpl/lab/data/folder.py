"""A data set as a folder of plain .npy files and meta.json: opened in no time, whatever its size.

    meta.json                   name, setting, classes, ..; facts about the graph; of each array
                                its file, dtype, shape, and a checksum (BLAKE2b) of its data
    indptr, indices             int64, int32: the graph, CSR, undirected
    features                    float16, float32 or float64, (n, f)
    feature_rows                int32 (n,): of a packed folder, the row of each node in features
    labels                      integers (n,), -1 where unknown; or 0 and 1, (n, classes)
    train, val, test            int64, ascending
    known                       bool (n,): where rows of several classes are known
    mean, std                   float64 (f,): how models read the features
    node_names                  int64 or text (n,)
    edge_types, node_types      int16: of a typed graph
    edge_weights                float64: of a graph with weights
    induced_indptr, ..          the graph between training nodes, likewise

All is little-endian. `Dataset.save` and ``minibatch-gnn convert`` write it.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.untrusted_files import map_npy, naming, reading
from refimpl.graph import Graph, WeightedGraph
from refimpl.lab.data.dataset import (
    KEPT,
    SETTINGS,
    Dataset,
    check_classes,
    checked_names,
    checked_parts,
)
from refimpl.lab.data.preparation import chosen_scaling
from refimpl.lab.data.splits import PARTS
from refimpl.lab.data.verifying import verify_folder
from refimpl.lab.data.writing import ARRAYS, FEATURES, FORMAT, META, VERSION
from refimpl.loader.gathering import check_scaling
from refimpl.loader.packed import ROWS_FILE, PackedFeatures
from refimpl.typed import MOST_TYPES, TypedGraph

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from numpy.typing import NDArray

    from refimpl.hints import FilePath, FloatDtype, Mask, Positions
    from refimpl.lab.hints import SomeScaling

    Arrays: TypeAlias = dict[str, NDArray[Any]]

NEEDED = ("indptr", "indices", "features", "labels", *PARTS)
KINDS = {
    "format": str,
    "version": int,
    "name": str,
    "setting": str,
    "dtype": str,
    "classes": int,
    "multilabel": bool,
    "class_names": (list, type(None)),
    "scaling": str,
    "graph": dict,
    "induced": (dict, type(None)),
    "arrays": dict,
}
FACTS = {"nodes": int, "entries": int, "symmetric": bool, "self_loops": bool, "max_degree": int}
TYPED = {"relations": int, "kinds": int}
ENTRY = {"file": str, "dtype": str, "shape": list, "blake2b": str}


def is_folder(path: FilePath) -> bool:
    """Say whether a folder holds a data set in this format."""
    return (Path(path) / META).is_file()


def open_folder(
    folder: FilePath,
    *,
    dtype: FloatDtype | None = None,
    scaling: SomeScaling | None = None,
    verify: bool = False,
) -> Dataset:
    """Return the data set in a folder of `Dataset.save`, its arrays mapped into memory, read-only.

    Reads meta.json, headers and the parts of the split: nothing in proportion to the graph. What
    stands in the other arrays is trusted like a program's own data, unless `verify`.

    Parameters
    ----------
    folder : str or Path
    dtype : float32 or float64, optional
        What a model computes in. Default: as the data set had it.
    scaling : {"standard", "rows", "none"} or (mean, std), optional
        See `load_dataset`. Default: as the data set had it.
    verify : bool
        Compare the checksums, and check all that a `Dataset` has to be: every array is read.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is damaged or does not fit the others; it is named.
    """
    folder = Path(folder)
    require.switch("verify", verify)
    dtype = None if dtype is None else require.float_dtype("dtype", dtype)
    meta = _read_meta(folder / META)
    arrays = {name: _mapped(folder, name, entry) for name, entry in meta["arrays"].items()}
    if "feature_rows" not in arrays and (folder / ROWS_FILE).exists():
        raise ValueError(f"{folder / ROWS_FILE} is there, but {META} says that no rows are packed")
    with naming(folder / META):
        _check_together(meta, arrays)
    if verify:
        verify_folder(folder, meta, arrays)
    dataset = _dataset(folder, meta, arrays)
    changes: dict[str, Any] = {} if dtype is None else {"dtype": dtype}
    if scaling is not None:
        changes["scaling"] = chosen_scaling(scaling, dataset.features, dataset.train)
        if changes["scaling"] is not None:
            changes["scaling"] = check_scaling(changes["scaling"], dataset.features.shape[1])
    return dataset._changed(**changes)


def _dataset(folder: Path, meta: dict[str, Any], arrays: Arrays) -> Dataset:
    """Return the Dataset of arrays that fit each other."""
    labels, known = arrays["labels"], arrays.get("known")
    n = len(labels)

    def unknown(nodes: Positions) -> Mask:
        if labels.ndim == 1:
            return labels[nodes] < 0
        return np.zeros(len(nodes), np.bool_) if known is None else ~known[nodes]

    with naming(folder):
        parts = checked_parts({name: arrays[name] for name in PARTS}, n, unknown)
        names = checked_names(meta["class_names"], meta["classes"], arrays.get("node_names"), n)
    graph = _graph(meta["graph"], arrays, "", arrays.get("node_types"))
    inner = meta["induced"]
    if inner is not None:
        types = arrays.get("node_types")
        inner = _graph(inner, arrays, "induced_", types if types is None else types[parts["train"]])
    scaling, features = meta["scaling"], arrays["features"]
    if "feature_rows" in arrays:
        features = PackedFeatures(features, arrays["feature_rows"])
    if scaling == "standard":
        with naming(folder / "std.npy"):
            scaling = check_scaling((arrays["mean"], arrays["std"]), features.shape[1])
    return Dataset._trusted(
        name=meta["name"],
        graph=graph,
        features=features,
        labels=labels,
        setting=meta["setting"],
        scaling=None if scaling == "none" else scaling,
        dtype=np.dtype(meta["dtype"]),
        induced=inner,
        known=known,
        classes=meta["classes"],
        feature_names=tuple(meta[FEATURES]) if FEATURES in meta else None,
        checksums={name: entry["blake2b"] for name, entry in meta["arrays"].items()},
        **parts,
        **names,
    )


def _graph(
    facts: dict[str, Any], arrays: Arrays, prefix: str, node_types: NDArray[Any] | None
) -> Graph:
    """Return a graph of which everything is known."""
    known = {name: facts[name] for name in ("self_loops", "max_degree")}
    indptr, indices = arrays[f"{prefix}indptr"], arrays[f"{prefix}indices"]
    graph = Graph._trusted(indptr, indices, True, **known)
    if f"{prefix}edge_weights" in arrays:
        return WeightedGraph._with_weights(graph, arrays[f"{prefix}edge_weights"])
    if "relations" not in facts:
        return graph
    types = arrays[f"{prefix}edge_types"]
    graph = TypedGraph._with_types(graph, types, facts["relations"], node_types)
    graph.__dict__["kinds"] = facts["kinds"]
    return graph


def _read_meta(path: Path) -> dict[str, Any]:
    """Return what meta.json holds, every value of its kind."""
    with reading(path, "the description of a data set") as file:
        meta: dict[str, Any] = json.load(file)
        _check_kinds("it", meta, KINDS | ({FEATURES: list} if FEATURES in meta else {}))
        if (meta["format"], meta["version"]) != (FORMAT, VERSION):
            raise ValueError(f"its format must be {FORMAT!r}, version {VERSION}")
        require.choice("setting", meta["setting"], SETTINGS)
        require.choice("dtype", meta["dtype"], ("float32", "float64"))
        require.choice("scaling", meta["scaling"], ("standard", "rows", "none"))
        for part in ("graph", "induced"):
            facts = meta[part]
            if facts is not None:
                _check_kinds(part, facts, FACTS | (TYPED if "relations" in facts else {}))
                if not facts["symmetric"]:
                    raise ValueError(f"{part} must be symmetric")
        for name, entry in meta["arrays"].items():
            if name not in ARRAYS:
                raise ValueError(f"there is no array {name!r:.40} in a data set")
            _check_kinds(name, entry, ENTRY)
            if entry["file"] != f"{name}.npy":  # no path leads out of the folder
                raise ValueError(f"the file of {name} must be {name}.npy")
        missing = [name for name in NEEDED if name not in meta["arrays"]]
        if missing:
            raise ValueError(f"it lacks {missing[0]}")
        return meta


def _check_kinds(what: str, table: Any, kinds: Mapping[str, Any]) -> None:
    """Raise ValueError unless a table has just these entries, each of its kind."""
    if not isinstance(table, dict) or table.keys() != kinds.keys():
        raise ValueError(f"{what} must have the entries {', '.join(kinds)}")
    for name, kind in kinds.items():
        value = table[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{what} has a {name!r} of another kind")
        if kind is int and not 0 <= value < 2**63:
            raise ValueError(f"{what} must have {name!r} from 0")


def _mapped(folder: Path, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    """Return the array of a file, mapped, of the dtype and shape that meta.json says."""
    path = folder / f"{name}.npy"
    with reading(path, "an array of a data set") as file:
        array = map_npy(file)
        if (array.dtype.str, list(array.shape)) != (entry["dtype"], entry["shape"]):
            raise ValueError(
                f"{META} says {entry['dtype']:.20} of shape {entry['shape']}, but it has "
                f"{array.dtype} of shape {list(array.shape)}"
            )
        dtype, axes = ARRAYS[name]
        if (dtype is not None and array.dtype != dtype) or axes not in (None, array.ndim):
            raise ValueError(f"{name} must not be {array.dtype} of {array.ndim} axes")
        if not array.flags.c_contiguous or not array.flags.aligned:
            raise ValueError("it must be stored row by row, and aligned")
    if name == "features" and isinstance(array.base, mmap.mmap) and hasattr(mmap, "MADV_RANDOM"):
        array.base.madvise(mmap.MADV_RANDOM)
    return array if name == "features" else np.asarray(array)


def _check_together(meta: dict[str, Any], arrays: Arrays) -> None:
    """Raise ValueError unless kinds and shapes fit each other and what meta.json says."""
    n, width, classes = meta["graph"]["nodes"], arrays["features"].shape[1], meta["classes"]
    if arrays["features"].dtype not in KEPT or not width:
        raise ValueError("features must be float16, float32 or float64, with at least one column")
    titles = meta.get(FEATURES, [""] * width)
    if len(titles) != width or not all(isinstance(title, str) for title in titles):
        raise ValueError(f"{FEATURES} must be {width} texts, one for each column of features")
    labels = arrays["labels"]
    axes = 2 if meta["multilabel"] else 1
    if labels.dtype.kind not in "iub" or labels.ndim != axes:
        raise ValueError(f"labels must be integers of {axes} axes")
    check_classes(classes, n)
    if axes == 2 and labels.shape[1] != classes:
        raise ValueError(f"classes must be {labels.shape[1]} as in labels, got {classes}")
    if ("known" in arrays) and axes == 1:
        raise ValueError("known is for labels of several classes")
    _check_graph("graph", meta["graph"], arrays, "")
    _check_lengths(
        arrays, {"features": n, "feature_rows": n, "labels": n, "known": n, "node_names": n}
    )
    if "node_names" in arrays and arrays["node_names"].dtype.kind not in "iU":
        raise ValueError("node_names must be integers or text")
    scaled = meta["scaling"] == "standard"
    if ("mean" in arrays, "std" in arrays) != (scaled, scaled):
        raise ValueError("mean and std must be there where scaling is standard, and only there")
    _check_lengths(arrays, {"mean": width, "std": width})
    inner = meta["induced"]
    if (inner is None) == ("induced_indptr" in arrays):
        raise ValueError("induced must say what the induced graph is, where there is one")
    if inner is not None:
        if inner["nodes"] != len(arrays["train"]):
            raise ValueError("induced must have as many nodes as train")
        if ("relations" in inner) != ("relations" in meta["graph"]):
            raise ValueError("induced must have relations where graph has")
        if ("induced_edge_weights" in arrays) != ("edge_weights" in arrays):
            raise ValueError("induced must have weights where graph has")
        _check_graph("induced", inner, arrays, "induced_")


def _check_graph(what: str, facts: dict[str, Any], arrays: Arrays, prefix: str) -> None:
    """Raise ValueError unless the arrays of a graph are as long as the facts about it say."""
    n, e = facts["nodes"], facts["entries"]
    typed = "relations" in facts
    if any(f"{prefix}{name}" not in arrays for name in ("indptr", "indices")):
        raise ValueError(f"{what} must have indptr and indices")
    if (f"{prefix}edge_types" in arrays) != typed:
        raise ValueError(f"{what} must have types of edges where it has relations")
    if typed and f"{prefix}edge_weights" in arrays:
        raise ValueError(f"{what} must have relations or weights, not both")
    if n >= 2**31 or (typed and not 0 < facts["relations"] <= MOST_TYPES):
        raise ValueError(f"{what} has too many nodes or relations")
    if typed and "node_types" not in arrays and facts["kinds"]:
        raise ValueError(f"{what} must have no kinds where nodes have no types")
    wanted = {"indptr": n + 1, "indices": e, "edge_types": e, "edge_weights": e, "node_types": n}
    _check_lengths(arrays, {f"{prefix}{name}": count for name, count in wanted.items()})
    indptr = arrays[f"{prefix}indptr"]
    if indptr[0] != 0 or indptr[-1] != e or facts["max_degree"] > n:
        raise ValueError(f"{what} must have an indptr from 0 to {e}, and max_degree at most {n}")


def _check_lengths(arrays: Arrays, lengths: dict[str, int]) -> None:
    for name, length in lengths.items():
        if name in arrays and len(arrays[name]) != length:
            raise ValueError(f"{name} must have length {length}, got {len(arrays[name])}")
