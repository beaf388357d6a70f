"""refimpl/history/entries.py on kernels."""

import numpy as np

from fastimpl._buffers import empty
from fastimpl._twin import twin
from fastimpl.history import _entries
from refimpl._support import require
from refimpl.history.entries import (
    admit_arguments,
    checked,
    fetch_arguments,
    lookup_arguments,
    read_arguments,
)


def as_bytes(array):
    """Return the same memory as rows of bytes: a copy does not depend on the dtype."""
    return array.view(np.uint8)


@twin
def cache_lookup(entries, layer, ids, oldest):
    entries = checked(entries)
    given = entries, layer, ids, oldest
    if not _looks_up(*given):
        _, layer, ids, oldest = lookup_arguments(*given)
    n, slots = entries.slot_of.shape[1], empty((len(ids),), np.int32)
    tables = entries.slot_of[layer - 1], entries.back, entries.stamp
    if not _entries.lookup(*tables, ids, (layer - 1) * n, oldest, slots):
        lookup_arguments(*given)  # says what is wrong
    return slots


def _looks_up(entries, layer, ids, oldest):
    """Return whether `lookup_arguments` would change nothing, if `ids` are in range.

    The kernel finds out whether they are.
    """
    return (
        type(layer) is type(oldest) is int
        and 1 <= layer <= len(entries.slot_of)
        and -(2**63) <= oldest < 2**63
        and type(ids) is np.ndarray
        and ids.dtype == np.int32
        and ids.ndim == 1
        and require.is_plain(ids)
    )


@twin
def cache_read(rows, slots, *, computed=None):
    if not _joins(rows, slots, computed):
        rows, slots, computed = read_arguments(rows, slots, computed)
    read = empty((len(slots), rows.shape[1]), rows.dtype)
    if read.size and computed is None:
        _entries.gather(as_bytes(rows), slots, as_bytes(read))
    elif read.size:
        at = empty((len(slots),), np.int64)
        if not _entries.join(as_bytes(rows), slots, as_bytes(computed), at, as_bytes(read)):
            read_arguments(rows, slots, computed)  # says what is wrong
    return read


def _joins(rows, slots, computed):
    """Return whether `read_arguments` would change nothing, if `slots` are in range.

    The kernel, which is called if there is something to read, finds out whether they are.
    """
    return (
        type(rows) is type(slots) is type(computed) is np.ndarray
        and slots.dtype == np.int32
        and slots.ndim == 1
        and slots.size > 0
        and rows.dtype == computed.dtype in require.FLOATS
        and rows.ndim == computed.ndim == 2
        and rows.shape[1] == computed.shape[1] > 0
        and all(map(require.is_plain, (rows, slots, computed)))
    )


@twin
def cache_admit(entries, layer, ids, values, slots, i, *, take=None):
    entries, layer, ids, values, slots, i, take = admit_arguments(
        entries, layer, ids, values, slots, i, take
    )
    if len(ids) == 0:
        return
    rows, slot_of, back, stamp = entries
    if rows.shape[1]:
        _entries.scatter(as_bytes(values), take, as_bytes(rows), slots)
    first_key = (layer - 1) * slot_of.shape[1]
    _entries.enter(slot_of[layer - 1], back, stamp, ids, slots, first_key, i)


@twin
def cache_fetch(features, rank, ids, held):
    features, rank, ids, held = fetch_arguments(features, rank, ids, held)
    rows = empty((len(ids), features.shape[1]), features.dtype)
    hit = np.empty(len(ids), np.bool_)
    _entries.fetch(
        features.reshape(-1).view(np.uint8),
        rank,
        ids,
        held,
        len(features),
        rows.reshape(-1).view(np.uint8),
        hit.view(np.uint8),
    )
    return rows, hit
