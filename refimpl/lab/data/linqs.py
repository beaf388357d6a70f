"""Folders in LINQS' format (Sen et al. 2008): Cora and CiteSeer as two files of tabs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from refimpl._support.untrusted_files import naming
from refimpl._support.user_warnings import warn
from refimpl.graph import from_edges
from refimpl.lab.data.dataset import Dataset
from refimpl.lab.data.label_encoding import encoded
from refimpl.lab.data.table_files import finite_numbers, table_lines
from refimpl.lab.data.tables import warn_of_loops

if TYPE_CHECKING:
    from refimpl.hints import FilePath, FloatDtype, Positions, Rng
    from refimpl.lab.hints import SomeScaling


def linqs_names(folder: FilePath) -> list[str]:
    """Return every NAME for which the folder has a file ``NAME.content``, sorted."""
    return sorted(path.stem for path in Path(folder).glob("*.content"))


def load_linqs(
    folder: FilePath,
    name: str,
    dtype: FloatDtype = "float32",
    *,
    scaling: SomeScaling = "standard",
    rng: Rng = 0,
) -> Dataset:
    """Return the data set of ``NAME.content`` and ``NAME.cites``, transductive, with drawn parts.

    A line of ``NAME.content`` has the name of a node, its features and its class; one of
    ``NAME.cites`` the names of two nodes. An edge is ignored, with a warning, if ``NAME.content``
    lacks one of its nodes.

    Parameters
    ----------
    folder : str or Path
    name : str
    dtype, scaling, rng
        As for `load_attributed`.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing or damaged; it is named.
    """
    content, cites = (Path(folder, f"{name}.{part}") for part in ("content", "cites"))
    number: dict[str, int] = {}
    rows, words, lines = [], [], []
    for at, cells in table_lines(content):
        if len(cells) < 3:
            raise ValueError(f"{content}: line {at} must have a name, features and a class")
        if not cells[0] or cells[0] in number:
            raise ValueError(f"{content}: line {at} must have another name, got {cells[0]!r:.80}")
        if not cells[-1]:
            raise ValueError(f"{content}: line {at} must have a class at its end, and has none")
        number[cells[0]] = len(number)
        rows.append(finite_numbers(cells[1:-1], f"{content}: line {at}"))
        words.append(cells[-1])
        lines.append(at)
    u, v = _edges(cites, number, content)
    with naming(content):
        labels = encoded(np.array(words, object), "class", "classes", lambda i: f"line {lines[i]}")
        return Dataset.from_arrays(
            from_edges(u, v, len(number), symmetrize=True, self_loops=False),
            np.array(rows),
            labels,
            name=name,
            scaling=scaling,
            dtype=dtype,
            node_names=list(number),
            rng=rng,
        )


def _edges(path: Path, number: dict[str, int], content: Path) -> tuple[Positions, Positions]:
    """Return the numbers of both ends of the edges in a file; name those that are ignored."""
    ends, unknown = [], []
    for at, cells in table_lines(path):
        if len(cells) != 2:
            raise ValueError(
                f"{path}: line {at} must have the names of two nodes, got {len(cells)}"
            )
        missing = [name for name in cells if name not in number]
        if missing:
            unknown.append((at, missing[0]))
        else:
            ends.append([number[name] for name in cells])
    if not ends:
        raise ValueError(f"{path} must have an edge between nodes of {content}")
    if unknown:
        at, name = unknown[0]
        edges = "1 edge" if len(unknown) == 1 else f"{len(unknown)} edges"
        warn(f"ignored {edges} of {path}: {content} lacks nodes, such as {name!r:.40} of line {at}")
    u, v = np.array(ends).T
    warn_of_loops(u[u == v], path)
    return u, v
