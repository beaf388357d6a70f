"""The parts of a data set: what is trained on, what validates, what is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support import require
from refimpl._support.foreign_graphs import as_array, is_missing
from refimpl._support.user_warnings import warn
from refimpl.lab.data.preparation import scaling_of
from refimpl.loader.gathering import check_scaling
from refimpl.streams import DATA, key, pick_without_replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from refimpl.hints import Mask, Positions

    Place: TypeAlias = Callable[[int], str]

VALIDATION = 500  # nodes, where a split is asked for by a number
PARTS = ("train", "val", "test")
WORDS = {  # what the parts are called in tables, in any case
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}
SHARES = (60, 20, 20)  # % of the nodes with a class, for each part, where nobody says otherwise
FEW, SHUFFLED = 32, 33  # what the draws are for
TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def drawn_parts(nodes: NDArray[Any], seed: int) -> list[Positions]:
    """Return parts of the nodes, drawn: 60%, 20% and 20%."""
    order = nodes[pick_without_replacement(key(seed, DATA, SHUFFLED), 0, len(nodes), len(nodes))]
    cuts = np.cumsum(SHARES)[:2] * len(nodes) // 100
    return [np.sort(part) for part in np.split(order, cuts)]


def parts_masked(
    masks: Mapping[str, Any],
    options: Container[str],
    where: str = "graph",
    called: Callable[[str], str] = "{}_mask".format,
) -> dict[str, Any]:
    """Return parts from their masks, by name, None for one that is not there.

    Masks are ignored where `options` has parts. `where` is what messages call the source, and
    `called` returns what they call the mask of a part.

    Raises
    ------
    ValueError
        If there are masks, but not that of the training nodes.
    """
    there = {part: mask for part, mask in masks.items() if mask is not None}
    if not there:
        return {}
    if any(part in options for part in PARTS):
        for part in there:
            warn(f"ignored {called(part)} of {where}: the parts are given as arguments")
        return {}
    if "train" not in there:
        found = " and ".join(called(part) for part in there)
        raise ValueError(f"{where} has {found}, and must have {called('train')} as well")
    for part in PARTS:
        if part not in there:
            warn(f"there is no {called(part)} in {where}: the data set has no {part} nodes")
    return {part: as_array(mask) for part, mask in there.items()}


def parts_named(found: Iterable[Any], where: str, place: Place) -> dict[str, Any]:
    """Return masks of the parts, by name, from the word that names that of each node.

    A missing or empty word stands for no part.

    Parameters
    ----------
    found : sequence
    where : str
        What errors call the column.
    place : callable
        Returns what errors call the i-th entry.

    Raises
    ------
    ValueError
        If a word is unknown, or no node is for training.
    """
    parts = np.array([_part(value, where, place, i) for i, value in enumerate(found)], object)
    if not (parts == "train").any():
        raise ValueError(f"{where} must be 'train' for at least one node")
    return {part: parts == part for part in PARTS}


def _part(value: Any, where: str, place: Place, i: int) -> str | None:
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    part = WORDS.get(value.strip().casefold()) if isinstance(value, str) else None
    if part is None:
        raise ValueError(
            f"{where} must be train, val or test, or empty, but {place(i)} is {value!r:.40}"
        )
    return part


def mask_of(found: Sequence[Any], where: str, place: Place) -> Mask:
    """Return a mask of what a column says of each node: 0 and 1, or True and False.

    Raises
    ------
    ValueError
        If an entry is anything else; `where` and `place` are as for `parts_named`.
    """
    values = [TRUTH.get(str(value).strip().casefold()) for value in found]
    if None in values:
        at = values.index(None)
        raise ValueError(
            f"{where} must be 0 and 1, or True and False, but {place(at)} is {found[at]!r:.40}"
        )
    return np.array(values, np.bool_)


def node_ids(name: str, value: Any, n: int) -> Positions:
    """Return the nodes that ids or a mask name, ascending.

    Raises
    ------
    TypeError, ValueError
        If they are neither, are out of range, or name a node twice.
    """
    value = require.array(name, value)
    if value.ndim != 1:
        hint = f": choose one split, such as {name}[:, 0]" if value.shape[:1] == (n,) else ""
        raise ValueError(f"{name} must be 1-D, ids or a mask, got shape {value.shape}{hint}")
    if value.dtype == np.bool_:
        return np.flatnonzero(require.mask(name, value, n))
    if n > 2 and len(value) == n and value.dtype.kind in "iu" and np.isin(value, (0, 1)).all():
        raise ValueError(
            f"{name} must be ids or a mask of bools, but has {n} integers 0 and 1: give a mask as "
            f"{name}.astype(bool)"
        )
    out = value[(value < 0) | (value >= n)] if value.dtype.kind in "iu" else value[:0]
    if out.size:
        raise ValueError(f"{name} must have nodes in [0, {n}), got {out[0]}")
    nodes = np.sort(require.ids(name, value, 0, n, np.int64))
    twice = nodes[1:][nodes[1:] == nodes[:-1]]
    if twice.size:
        raise ValueError(f"{name} must have each node once, but has {twice[0]} twice")
    return nodes


def few_of_each_class(dataset: Any, count: int, seed: int, rescale: bool = True) -> Any:
    """Return a data set with another split: `count` training nodes of each class.

    As the public split of Planetoid's data sets: 500 other nodes are for validation, at most half
    of those that are left, the others that have a class for test. All are drawn.

    Parameters
    ----------
    dataset : Dataset
        Of nodes with one class each.
    count : int
    seed : int in [0, 2**64)
    rescale : bool
        Scale the features by the new training rows.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If nodes have several classes, or a class has fewer nodes.
    """
    parts = parts_of_few(dataset.labels, dataset.classes, count, seed) | {"induced": None}
    train = parts["train"]
    if rescale and isinstance(dataset.scaling, tuple):
        parts["scaling"] = check_scaling(scaling_of(dataset.features, train))
    return dataset._changed(**parts)


def parts_of_few(labels: NDArray[Any], classes: int, count: int, seed: int) -> dict[str, Any]:
    """Return the parts of `few_of_each_class`, by name, for these labels."""
    if labels.ndim == 2:
        raise ValueError("split must be left out where nodes may have several classes")
    n = len(labels)
    order = pick_without_replacement(key(seed, DATA, FEW), 0, n, n)
    labels = labels[order]
    of_class = [order[labels == c][:count] for c in range(classes)]
    for c, nodes in enumerate(of_class):
        if len(nodes) < count:
            raise ValueError(f"split must be at most {len(nodes)}, as class {c} has nodes")
    train = np.concatenate(of_class)
    rest = order[(labels >= 0) & ~np.isin(order, train)]
    val = min(VALIDATION, len(rest) // 2)
    parts = {"train": train, "val": rest[:val], "test": rest[val:]}
    return {name: np.sort(nodes).astype(np.int64) for name, nodes in parts.items()}
