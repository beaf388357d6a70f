"""Folders in geom-gcn's format (Pei et al. 2020), such as Cornell, Texas and Chameleon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.untrusted_files import naming, read_npz, reading, real_name
from refimpl._support.user_warnings import warn
from refimpl.graph import from_edges
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.splits import PARTS
from refimpl.lab.data.table_files import finite_numbers, table_lines, whole_number
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from refimpl.hints import FilePath, FloatDtype, Rng
    from refimpl.lab.hints import SomeScaling

NODES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"
NODE_TITLES, EDGE_TITLES = ["node_id", "feature", "label"], ["node_id", "node_id"]


def is_geom_gcn(folder: FilePath) -> bool:
    """Say whether a folder has the file of edges."""
    return Path(folder, EDGES).is_file()


def load_geom_gcn(
    folder: FilePath,
    split: str | None = None,
    dtype: FloatDtype = "float32",
    *,
    scaling: SomeScaling = "standard",
    rng: Rng = 0,
) -> Dataset:
    """Return the data set of such a folder, transductive; parts are drawn if it has no split.

    Parameters
    ----------
    folder : str or Path
    split : str, optional
        The name of a file of masks without ``.npz``. Default: the only one.
    dtype, scaling, rng
        As for `load_attributed`.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing or damaged, or there are several splits; it is named.
    """
    nodes, edges = Path(folder, NODES), Path(folder, EDGES)
    found, classes = {}, {}
    for at, (name, features, label) in _lines(nodes, NODE_TITLES):
        v = whole_number(name, f"{nodes}: line {at}: node_id")
        if v in found:
            raise ValueError(f"{nodes}: line {at} has the node {v} again")
        found[v] = finite_numbers(features.split(","), f"{nodes}: line {at}: feature")
        classes[v] = whole_number(label, f"{nodes}: line {at}: label")
        if len(found[v]) != len(next(iter(found.values()))):
            raise ValueError(
                f"{nodes}: line {at} must have as many features as line 2, got {len(found[v])} "
                "(Film has positions of words instead: make rows of 0 and 1 of them)"
            )
    n = len(found)
    missing = next((v for v in range(n) if v not in found), None)
    if missing is not None or not n:
        raise ValueError(f"{nodes} must have the nodes 0, 1, .., but has no {missing or 0}")
    ends = []
    for at, names in _lines(edges, EDGE_TITLES):
        ends.append(
            [whole_number(name, f"{edges}: line {at}: node_id", most=n - 1) for name in names]
        )
    u, v = np.array(ends, np.int64).reshape(-1, 2).T
    warn_of_loops(u[u == v], edges)
    graph = from_edges(u, v, n, symmetrize=True, self_loops=False)
    with naming(nodes):
        return Dataset.from_arrays(
            graph,
            np.array([found[v] for v in range(n)]),
            np.array([classes[v] for v in range(n)]),
            name=real_name(folder),
            scaling=scaling,
            dtype=dtype,
            rng=rng,
            **_parts(folder, split, n),
        )


def _lines(path: Path, titles: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of the lines after that of titles, which must be these."""
    lines = table_lines(path)
    _, found = next(lines)
    if found != titles:
        raise ValueError(
            f"{path}: line 1 must be the titles {', '.join(titles)}, got {found!r:.80}"
        )
    return lines


def _parts(folder: FilePath, split: str | None, n: int) -> dict[str, Any]:
    """Return the masks of a split, by name; {} where the folder has none."""
    places = Path(folder), Path(folder, "splits")
    found = sorted(path for place in places for path in place.glob("*_split_*.npz"))
    paths = {path.stem: path for path in found}
    if len(paths) < len(found):
        raise ValueError(f"{folder} must have each split once, in itself or in {places[1].name}")
    if split is None and len(paths) > 1:
        raise ValueError(f"{folder} has several splits: give split, one of {', '.join(paths)}")
    if split is None and not paths:
        return {}
    path = paths.get(split) if split is not None else next(iter(paths.values()))
    if path is None:
        raise ValueError(f"{folder} must have the split {split!r:.80}, got {', '.join(paths)}")
    with reading(path, "masks of a split") as file:
        masks = read_npz(file)
        parts: dict[str, Any] = {part: masks.pop(f"{part}_mask", None) for part in PARTS}
        for part, mask in parts.items():
            if mask is None or mask.shape != (n,) or not np.isin(mask, (0, 1)).all():
                raise ValueError(f"its {part}_mask must be 0 and 1, or booleans, of {n} nodes")
    if masks:
        warn(f"ignored {', '.join(sorted(masks))} of {path}")
    return {part: mask.astype(np.bool_) for part, mask in parts.items()}
