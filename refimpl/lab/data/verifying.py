"""Looking at everything in a folder of `Dataset.save`: checksums, and whether it is a data set."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.untrusted_files import naming
from refimpl.lab.data.preparation import check_finite
from refimpl.loader.packed import check_rows
from refimpl.streams import mix
from refimpl.typed import MOST_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from refimpl.hints import Ids, Positions

ROWS, ENTRIES = 2**16, 2**20  # looked at at a time
BYTES = 2**24


def verify_folder(folder: Path, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Raise a ValueError that names a file of the folder unless all in it is as it has to be.

    O(n f + e) time; memory for a block of rows.

    Parameters
    ----------
    folder : Path
    meta : dict
    arrays : dict
        By name, of the kinds and lengths that `meta` says.

    Raises
    ------
    ValueError
    """
    for name, array in arrays.items():
        with naming(folder / f"{name}.npy"):
            if checksum(array) != meta["arrays"][name]["blake2b"]:
                raise ValueError("it has another checksum than meta.json says")
    _verify_graph(folder, "", meta["graph"], arrays)
    if meta["induced"] is not None:
        _verify_graph(folder, "induced_", meta["induced"], arrays)
    check_finite(folder / "features.npy", arrays["features"])
    if "feature_rows" in arrays:
        with naming(folder / "feature_rows.npy"):
            check_rows(arrays["feature_rows"], meta["graph"]["nodes"])
    with naming(folder / "labels.npy"):
        least, most = (0, 1) if meta["multilabel"] else (-1, meta["classes"] - 1)
        labels = arrays["labels"]
        _check_range(labels.view(np.uint8) if labels.dtype == np.bool_ else labels, least, most)
    if "known" in arrays:
        with naming(folder / "known.npy"):
            _check_range(arrays["known"].view(np.uint8), 0, 1)
    if "node_types" in arrays:
        with naming(folder / "node_types.npy"):
            _verify_node_types(arrays["node_types"], meta, arrays["train"])
    if "node_names" in arrays and arrays["node_names"].dtype.kind == "U":
        with naming(folder / "node_names.npy"):
            _check_text(arrays["node_names"])


def checksum(array: NDArray[Any]) -> str:
    """Return the checksum of an array's data, as `ArrayFile` makes it."""
    found = hashlib.blake2b(digest_size=16)
    step = max(1, BYTES // max(1, array[:1].nbytes))
    for first in range(0, len(array), step):
        block = np.ascontiguousarray(array[first : first + step])
        found.update(block.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _verify_node_types(types: NDArray[Any], meta: dict[str, Any], train: NDArray[Any]) -> None:
    found = {"graph": _check_range(types, 0, MOST_TYPES - 1) + 1}
    found["induced"] = int(types[train[(train >= 0) & (train < len(types))]].max(initial=-1)) + 1
    for part, kinds in found.items():
        facts = meta[part]
        if facts is not None and facts.get("kinds", kinds) != kinds:
            raise ValueError(f"kinds of {part} is {facts['kinds']} in meta.json, but {kinds}")


def _verify_graph(
    folder: Path, prefix: str, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Check the rows of a graph, the facts about it, and that it is undirected."""
    indptr, indices = arrays[f"{prefix}indptr"], arrays[f"{prefix}indices"]
    with naming(folder / f"{prefix}indptr.npy"):
        longest = 0
        _check_range(indptr, 0, len(indices))
        for first in range(0, len(indptr), ROWS):
            degrees = np.diff(indptr[first : first + ROWS + 1])
            if degrees.min(initial=0) < 0:
                raise ValueError("it must rise")
            longest = max(longest, int(degrees.max(initial=0)))
        if longest != facts["max_degree"]:
            raise ValueError(f"max_degree is {facts['max_degree']} in meta.json, but {longest}")
    loops = False
    with naming(folder / f"{prefix}indices.npy"):
        for rows, columns in entries_in_blocks(indptr, indices):
            _check_range(columns, 0, facts["nodes"] - 1)
            if np.any((np.diff(columns) <= 0) & (np.diff(rows) == 0)):
                raise ValueError("each row must ascend strictly")
            loops = loops or bool(np.any(rows == columns))
        forth, back = sums_of(indptr, indices)
        if forth != back:
            raise ValueError("the graph must be undirected")
        if loops != facts["self_loops"]:
            raise ValueError(f"self_loops is {facts['self_loops']} in meta.json, but {loops}")
    name = f"{prefix}edge_types"
    if name in arrays:
        with naming(folder / f"{name}.npy"):
            _check_range(arrays[name], 0, facts["relations"] - 1)
    name = f"{prefix}edge_weights"
    if name in arrays:
        with naming(folder / f"{name}.npy"):
            _verify_weights(indptr, indices, arrays[name], facts)


def _verify_weights(
    indptr: Positions, indices: Ids, weights: NDArray[Any], facts: dict[str, Any]
) -> None:
    for first in range(0, len(weights), BYTES // 8):
        some = weights[first : first + BYTES // 8]
        if not (np.isfinite(some).all() and (some > 0).all()):
            raise ValueError("weights must be positive and finite")
    if facts["self_loops"]:
        raise ValueError("a graph with weights must have no self-loops")
    forth, back = sums_of(indptr, indices, weights)
    if forth != back:
        raise ValueError("weights must be the same in both directions of an edge")


def sums_of(indptr: Positions, indices: Ids, weights: NDArray[Any] | None = None) -> list[int]:
    """Return the sums of a number for each entry (u, v), and for each (v, u), modulo 2**64.

    With `weights` each number is multiplied by the bits of its entry's.

    They are alike if the graph is undirected, and otherwise by chance, with probability 2**-64:
    the numbers follow from a secret that is drawn now, so no file can be made to have such sums.
    """
    secret = [np.uint64(secrets.randbits(64)) for _ in range(2)]
    sums, done = [0, 0], 0
    for rows, columns in entries_in_blocks(indptr, indices):
        u, v = rows.astype(np.uint64), columns.astype(np.uint64)
        factor = np.uint64(1)
        if weights is not None:
            factor = np.ascontiguousarray(weights[done : done + len(rows)]).view(np.uint64)
        done += len(rows)
        for i, (high, low) in enumerate(((u, v), (v, u))):
            entry = (high << np.uint64(32)) | low
            number = mix(mix(entry + secret[0]) ^ secret[1])
            sums[i] += int((number * factor).sum(dtype=np.uint64))
    return [total % 2**64 for total in sums]


def entries_in_blocks(indptr: Positions, indices: Ids) -> Iterator[tuple[Positions, Ids]]:
    """Yield (rows, columns) of the entries of some whole rows at a time, in order."""
    first, n = 0, len(indptr) - 1
    while first < n:
        last = int(np.searchsorted(indptr, indptr[first] + ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), n, first + ROWS)
        ends = indptr[first : last + 1]
        rows = np.repeat(np.arange(first, last), np.diff(ends))
        yield rows, indices[ends[0] : ends[-1]]
        first = last


def _check_range(values: NDArray[Any], least: int, most: int) -> int:
    """Raise ValueError unless all values are in [least, most]; return the largest, or -1."""
    largest = -1
    for first in range(0, len(values), ENTRIES):
        block = values[first : first + ENTRIES]
        if block.size:
            if int(block.min()) < least or int(block.max()) > most:
                raise ValueError(f"it must hold numbers in [{least}, {most}]")
            largest = max(largest, int(block.max()))
    return largest


def _check_text(names: NDArray[Any]) -> None:
    """Raise ValueError unless every character is one."""
    for first in range(0, len(names), ROWS):
        codes = np.ascontiguousarray(names[first : first + ROWS]).view(np.uint32)
        if codes.size and (codes.max() > 0x10FFFF):
            raise ValueError("it must hold text")
