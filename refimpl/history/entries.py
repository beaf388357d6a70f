"""Embeddings in slots: finding, reading and writing them, the kernels of FreshGNN's cache."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.distinct import distinct
from refimpl.hints import F, Ids, Int, Integers, Mask, Matrix, Positions
from refimpl.history.policy import MOST, layer_ids, rows_taken

STALENESS = ("stamp", "header_only")
ANY_AGE = 0  # no stamp is lower
INT32, INT64 = (np.dtype(np.int32),), (np.dtype(np.int64),)
KINDS = (require.FLOATS, 2), (INT32, 2), (INT64, 1), (INT32, 1)  # of `Entries`: dtypes, ndim


class Entries(NamedTuple):
    """Embeddings in slots, and which slot holds which node's; the kernels write to it.

    The key of node v in layer l is ``(l - 1) n + v``. Its entry is in slot
    ``s = slot_of[l - 1, v]`` only if ``back[s]`` is the key: nobody tells a key that its slot
    went to another. The buffer of FreshGNN section 4.2.

    Attributes
    ----------
    rows : (slots, h) float32 or float64
    slot_of : (layers, n) int32
        -1: no entry.
    back : (slots,) int64
        Key of the entry; -1: none.
    stamp : (slots,) int32
        Iteration in which the entry was written.
    """

    rows: Matrix
    slot_of: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    back: Positions
    stamp: Ids


def lookup_arguments(entries, layer, ids, oldest) -> tuple[Entries, int, np.ndarray, int]:
    """Check the arguments of `cache_lookup`; return them."""
    entries = checked(entries)
    layers, n = entries.slot_of.shape
    layer, ids = layer_ids(layers, n, layer, ids)
    return entries, layer, ids, require.integer("oldest", oldest, -(2**63), 2**63 - 1)


@checked_by(lookup_arguments)
def cache_lookup(entries: Entries, layer: Int, ids: Integers, oldest: Int) -> Ids:
    """Return the slots of the entries of some nodes that are valid. O(len(ids)) time.

    FreshGNN Algorithm 1 line 7, in the buffer of section 4.2.

    Parameters
    ----------
    entries : Entries
    layer : int
        From 1.
    ids : (k,) integer array
    oldest : int
        The lowest stamp of a valid entry.

    Returns
    -------
    (k,) int32 array
        -1 where there is no valid entry.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    first_key = (layer - 1) * entries.slot_of.shape[1]
    slots = np.full(len(ids), -1, np.int32)
    for j, node in enumerate(map(int, ids)):
        s = entries.slot_of[layer - 1, node]
        known = 0 <= s < len(entries.back) and entries.back[s] == first_key + node
        if known and entries.stamp[s] >= oldest:
            slots[j] = s
    return slots


def read_arguments(rows, slots, computed) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Check the arguments of `cache_read`; return them."""
    rows = require.floats("rows", rows, (None, None))
    least = 0 if computed is None else -1
    slots = require.ids("slots", slots, least, min(len(rows), MOST), np.int32)
    if computed is not None:
        missing = int(np.count_nonzero(slots < 0))
        computed = require.floats("computed", computed, (missing, rows.shape[1]), rows.dtype)
    return rows, slots, computed


@checked_by(read_arguments)
def cache_read(rows: Matrix[F], slots: Integers, *, computed: Matrix[F] | None = None) -> Matrix[F]:
    """Return some rows of a matrix, copied. O(k h) time.

    FreshGNN Algorithm 1 line 13, from the buffer of section 4.2.

    Parameters
    ----------
    rows : (slots, h) float32 or float64 array
    slots : (k,) integer array
        With `computed`, -1 stands for a row that is not in the buffer.
    computed : (number of -1, h) array of the same dtype, optional
        The rows that are not in the buffer, in order.

    Returns
    -------
    (k, h) array of the same dtype
        Row j is ``rows[slots[j]]``, or the next row of `computed` where ``slots[j]`` is -1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    slots = np.asarray(slots)
    if computed is None:
        return rows[slots]
    h, cached = np.empty((len(slots), rows.shape[1]), rows.dtype), slots >= 0
    h[cached], h[~cached] = rows[slots[cached]], computed
    return h


def admit_arguments(
    entries, layer, ids, values, slots, i, take
) -> tuple[Entries, int, np.ndarray, np.ndarray, np.ndarray, int, np.ndarray | None]:
    """Check the arguments of `cache_admit`; return them."""
    entries = checked(entries)
    layers, n = entries.slot_of.shape
    layer, ids = layer_ids(layers, n, layer, ids)
    if not all(array.flags.writeable for array in entries):
        raise ValueError("entries must be writeable: they are changed in place")
    places, h = entries.rows.shape
    values, take = rows_taken(values, (len(ids), h), entries.rows.dtype, take)
    slots = require.ids("slots", slots, 0, places, np.int32)
    if slots.size != len(ids):
        raise ValueError(f"slots must have shape ({len(ids)},) like ids, got {slots.shape}")
    if not ascending(slots) and len(distinct(slots)) < len(slots):
        raise ValueError("slots must be distinct")
    return entries, layer, ids, values, slots, require.integer("i", i, 0, MOST), take


@checked_by(admit_arguments)
def cache_admit(
    entries: Entries,
    layer: Int,
    ids: Integers,
    values: Matrix[F],
    slots: Integers,
    i: Int,
    *,
    take: Integers | None = None,
) -> None:
    """Write entry j of a list to slot ``slots[j]``. O(k h) time, O(k log k) if slots descend.

    A node that stands in the list twice gets the later slot; the earlier entry is lost. FreshGNN
    Algorithm 1 line 20, in the buffer of section 4.2.

    Parameters
    ----------
    entries : Entries
        Changed in place.
    layer : int
        From 1.
    ids : (k,) integer array
    values : (k, h) array of the dtype of ``entries.rows``, or (any, h) with `take`
    slots : (k,) integer array
        Each slot once.
    i : int
        The stamp.
    take : (k,) integer array, optional
        Row of `values` for each node.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    n = entries.slot_of.shape[1]
    for j, (node, s) in enumerate(zip(map(int, ids), map(int, slots), strict=True)):
        entries.rows[s] = values[j if take is None else take[j]]
        entries.back[s] = (layer - 1) * n + node
        entries.stamp[s] = i
        entries.slot_of[layer - 1, node] = s


def fetch_arguments(features, rank, ids, held) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Check the arguments of `cache_fetch`; return them."""
    features = require.floats("features", features, (None, None))
    rank = require.array("rank", rank) if isinstance(rank, np.ndarray) else rank
    if not isinstance(rank, np.ndarray) or rank.dtype != np.int32 or rank.ndim != 1:
        raise TypeError("rank must be a 1-D int32 array")
    ids = require.ids("ids", ids, 0, len(rank), np.int32)
    held = require.integer("held", held, 0, len(features))
    return features, require.plain(rank), ids, held


@checked_by(fetch_arguments)
def cache_fetch(
    features: Matrix[F], rank: Integers, ids: Integers, held: Int
) -> tuple[Matrix[F], Mask]:
    """Return the features of some nodes as far as they are held. O(k d) time.

    FreshGNN Algorithm 1 line 11, from the buffer of section 4.2.

    Parameters
    ----------
    features : (most, d) float32 or float64 array
        The row of rank r is row ``most - 1 - r``: the hottest stands last.
    rank : (n,) int32 array
    ids : (k,) integer array
    held : int
        Ranks below this are held; at most `most`.

    Returns
    -------
    rows : (k, d) array of the same dtype
        Zeros where the features are not held.
    hit : (k,) bool array

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    at = np.asarray(rank)[np.asarray(ids)]
    hit = (at >= 0) & (at < held)
    rows = np.zeros((len(ids), features.shape[1]), features.dtype)
    rows[hit] = features[len(features) - 1 - at[hit]]
    return rows, hit


def oldest_stamp(i, t_stale, staleness):
    """Return the lowest stamp of an entry that is valid in iteration `i` (E-V6).

    With staleness "header_only" none is too low, as in the public code (E-V11).
    """
    if t_stale is None or staleness == "header_only":
        return ANY_AGE
    return i - t_stale


def is_valid(entries, slots, oldest):
    """Return which of some slots hold an entry with a stamp of at least `oldest`, bool.

    `slots` is an index: numbers of slots, or a slice. A slot whose entry was taken out, or whose
    node was written elsewhere since, has no key.
    """
    return (entries.back[slots] >= 0) & (entries.stamp[slots] >= oldest)


def vacate(gnn, entries, layer, ids):
    """Free the slots of a `layer`'s entries of `ids`, each given once, of any age; return them."""
    slots = gnn.history.cache_lookup(entries, layer, ids, ANY_AGE)
    slots = slots[slots >= 0]
    entries.back[slots] = -1
    return slots


def take_out(gnn, entries, layer, ids, oldest):
    """Take a `layer`'s entries of `ids` out; return how many had a stamp of at least `oldest`."""
    slots = vacate(gnn, entries, layer, ids)
    entries.slot_of[layer - 1, ids] = -1
    return int(np.count_nonzero(entries.stamp[slots] >= oldest))


def ascending(slots):
    """Return whether each slot is above the one before."""
    return bool((slots[1:] > slots[:-1]).all())


def checked(entries):
    """Return Entries that a kernel may index, as plain arrays on the same memory, or raise."""
    if not isinstance(entries, Entries):
        raise TypeError(f"entries must be Entries, got {type(entries).__name__}")
    given = require.record("entries", entries, Entries)
    parts = []
    for name, part, (dtypes, ndim) in zip(Entries._fields, given, KINDS, strict=True):
        known = isinstance(part, np.ndarray) and not isinstance(part, np.matrix)
        array: Any = require.array(name, part) if known else None
        wanted = known and array.dtype in dtypes and array.ndim == ndim
        if not wanted or not require.is_plain(array):
            raise TypeError(f"entries.{name} is no array of the kind that Entries says")
        parts.append(array)
    rows, _, back, stamp = parts
    if not len(rows) == len(back) == len(stamp) <= MOST:
        raise ValueError("entries must have a row, a key and a stamp for each slot")
    return Entries(*parts)
