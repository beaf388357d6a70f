"""Graphs of other libraries, told by where their classes come from: none of them is imported.

A reader returns the edges of an object and what its nodes are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from refimpl._support import require
from refimpl.hints import Int, Positions

ENDS = (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"))  # columns of a table
WEIGHTS = ("weight", "weights", "w", "edge_weight")  # names that weights go by
ROW_NUMBERS = ("", "unnamed: 0")  # titles of the index that pandas writes
MISSING = ("NAType", "NaTType")  # pandas' own


class Found(NamedTuple):
    """Edges (u[i], v[i]), the number of nodes (None: as many as the ids need), and their names.

    `weights` are pairs of where weights stand, and the weights.
    """

    u: Any
    v: Any
    n: int | None
    directed: bool = True
    names: NDArray[Any] | None = None
    weights: Iterable[tuple[str, Any]] = ()


Reader: TypeAlias = Callable[[Any, Int | None], Found]


def reader(source: object) -> Reader | None:
    """Return the function that reads an object of another library, or None."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    for library, (mark, read) in READERS.items():
        if library in libraries and hasattr(source, mark):
            return read
    return None


def has_directions(source: Any) -> bool:
    """Say whether a source tells an edge from its reverse: a matrix, or a directed graph."""
    if issparse(source):
        return True
    if isinstance(source, tuple) and all(isinstance(part, np.ndarray) for part in source):
        return len(source) == 2 and source[0].ndim == source[1].ndim == 1
    read = reader(source)
    if read in (read_networkx, read_igraph):
        return bool(source.is_directed())
    return read in (read_dgl, read_pyg)


def from_torch(source: Any) -> Any:
    """Return a torch tensor as an array, or None if `source` is none."""
    if not any(kind.__module__.partition(".")[0] == "torch" for kind in type(source).__mro__):
        return None
    return source.detach().cpu().numpy()


def read_networkx(source: Any, n: Int | None) -> Found:
    names = as_names(source)
    number = {name: v for v, name in enumerate(source)}
    ends = [(number[u], number[v]) for u, v in source.edges()]
    u, v = np.array(ends, np.int64).reshape(-1, 2).T
    weights = (w for _, _, w in source.edges(data="weight", default=1))
    return Found(u, v, len(names), source.is_directed(), names, (("weight", weights),))


def read_igraph(source: Any, n: Int | None) -> Found:
    u, v = np.array(source.get_edgelist(), np.int64).reshape(-1, 2).T
    names = as_names(source.vs["name"]) if "name" in source.vs.attributes() else None
    weights = [(name, source.es[name]) for name in WEIGHTS if name in source.es.attributes()]
    return Found(u, v, source.vcount(), source.is_directed(), names, weights)


def read_dgl(source: Any, n: Int | None) -> Found:
    if not source.is_homogeneous:
        raise ValueError("source must have one type of nodes and of edges: see dgl.to_homogeneous")
    u, v = (as_array(ends) for ends in source.edges())
    weights = [(name, as_array(source.edata[name])) for name in WEIGHTS if name in source.edata]
    return Found(u, v, source.num_nodes(), weights=weights)


def read_pyg(source: Any, n: Int | None) -> Found:
    if source.edge_index is None:
        raise ValueError("source must have an edge_index")
    u, v = as_array(source.edge_index)
    weights = [(name, getattr(source, name, None)) for name in ("edge_weight", "edge_attr")]
    held = [(name, as_array(values)) for name, values in weights if values is not None]
    held = [(name, array[:, 0] if array.shape[1:] == (1,) else array) for name, array in held]
    return Found(u, v, source.num_nodes, weights=held)


def read_pandas(source: Any, n: Int | None) -> Found:
    """Read a table with an edge a row; with `n` given its names are the ids already."""
    u, v = (source[name] for name in ends_of(source.columns))
    for ends in (u, v):
        missing = np.flatnonzero(ends.isna().to_numpy())
        if missing.size:
            raise ValueError(f"source must name both ends, but {ends.name!r} of row {missing[0]}")
    u, v = u.to_numpy(), v.to_numpy()
    weights = [(name, source[name].to_numpy()) for name in WEIGHTS if name in source.columns]
    if n is not None:
        return Found(u, v, require.integer("n", n, 0), weights=weights)
    names, (u, v) = number_names(u, v)
    return Found(u, v, len(names), names=names, weights=weights)


READERS = {  # by library: what a graph of it has, and what reads it
    "networkx": ("adj", read_networkx),
    "igraph": ("get_edgelist", read_igraph),
    "dgl": ("num_nodes", read_dgl),
    "torch_geometric": ("edge_index", read_pyg),
    "pandas": ("columns", read_pandas),
}


def normal(title: Any) -> Any:
    """Return a title of a column without what does not tell titles apart: case, and spaces."""
    return title.strip().casefold() if isinstance(title, str) else title


def is_missing(value: object) -> bool:
    """Say whether a value stands for a missing one: None, NaN, or pandas' NA."""
    if value is None or type(value).__name__ in MISSING:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def ends_of(columns: Iterable[Any], where: str = "source") -> tuple[Any, Any] | list[Any]:
    """Return the names of the two columns of a table that hold the ends of its edges."""
    columns = list(columns)
    known = {normal(column): column for column in columns}
    twice = len(known) < len(columns)
    found = [(known[u], known[v]) for u, v in ENDS if u in known and v in known]
    if len(found) == 1 and not twice:
        return found[0]
    titled = {*ROW_NUMBERS, *WEIGHTS}
    if len(columns) == 2 and not found and not titled & known.keys():
        return columns
    pairs = ", ".join(f"{u!r} and {v!r}" for u, v in ENDS)
    raise ValueError(
        f"{where} must have two columns, or those of one pair named {pairs}, "
        f"got {require.shown(columns)}"
    )


def as_names(names: Iterable[Any]) -> NDArray[Any]:
    """Return names as a 1-D array: of int64 if all are such integers, else of objects."""
    names = list(names)
    if names and all(type(name) is int and -(2**63) <= name < 2**63 for name in names):
        return np.array(names, np.int64)
    return np.fromiter(names, dtype=object, count=len(names))


def number_names(*columns: Iterable[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Number the names in some columns from 0, in ascending order.

    Names that cannot be compared, such as numbers and strings, keep the order in which they come.

    Returns
    -------
    names : array
        By number.
    numbers : list of arrays
        For each column that of each name.
    """
    arrays = [column_of(column) for column in columns]
    if len({array.dtype.kind for array in arrays if array.size}) > 1:
        arrays = [array.astype(object) for array in arrays]
    values = np.concatenate([array for array in arrays if array.size] or arrays[:1])
    if values.dtype != object:
        names, numbers = np.unique(values, return_inverse=True)
    else:
        kept = dict.fromkeys(values.tolist())
        try:
            order = sorted(kept)
        except TypeError:
            order = list(kept)
        names, number = as_names(order), {name: i for i, name in enumerate(order)}
        numbers = np.fromiter((number[name] for name in values.tolist()), np.int64, len(values))
    cuts = np.cumsum([len(array) for array in arrays])[:-1]
    return names, np.split(numbers, cuts)


def numbers_of(names: Iterable[Any], column: Iterable[Any], what: str) -> Positions:
    """Return the numbers of the names in a column, which are to be found in `names`.

    Raises
    ------
    ValueError
        That says `what` the column is, if a name stands twice in `names`, or not at all.
    """
    return numbers_in(names)(column, what)


def numbers_in(names: Iterable[Any]) -> Callable[[Iterable[Any], str], Positions]:
    """Return `numbers_of` for these names and any number of columns."""
    listed = column_of(names).tolist()
    number = {name: i for i, name in enumerate(listed)}
    if len(number) < len(listed):
        twice = next(name for i, name in enumerate(listed) if number[name] != i)
        raise ValueError(
            f"the names of nodes must be distinct, but {require.shown(twice)} is there twice"
        )

    def numbers(column: Iterable[Any], what: str) -> Positions:
        wanted = column_of(column).tolist()
        try:
            return np.fromiter((number[name] for name in wanted), np.int64, len(wanted))
        except KeyError as error:
            unknown = require.shown(error.args[0])
            raise ValueError(f"{what} must name nodes only, but {unknown} is none") from None

    return numbers


def column_of(values: Iterable[Any]) -> Any:
    """Return names as a 1-D array."""
    array = values if isinstance(values, np.ndarray) else as_names(values)
    if array.ndim != 1:
        raise ValueError(f"names must be 1-D, got shape {array.shape}")
    return array


def as_array(tensor: Any, name: str = "source") -> NDArray[Any]:
    """Return a tensor, or anything else, as an array; `name` is what errors call it."""
    array = from_torch(tensor)
    return require.array(name, tensor) if array is None else array
