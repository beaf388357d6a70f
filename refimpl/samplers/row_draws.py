"""Entries drawn from rows: uniformly or by weight, of all entries or of those up to a time.

Not in the three papers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl._support.numpy_warnings import quiet
from refimpl.graph import Graph
from refimpl.graph.csr import checked
from refimpl.hints import Absent, F, Floats, Ids, Int, Integers, Positions, Words
from refimpl.samplers.alias import alias_build
from refimpl.samplers.weighted_draws import by_alias, by_inversion, without_replacement
from refimpl.streams import Stream


class EntryTable(NamedTuple):
    """What `draw_rows` knows about the entries of a graph: what `build_entry_table` makes.

    Attributes
    ----------
    weights : (e,) float64 array, or None
        The weight of each entry.
    prob : (e,) float64 array, or None
    alias : (e,) int32 array, or None
        The alias table of each row, as `alias_build` makes it; an alias is counted from 0 in its
        row. A row without a weight has ones and zeros.
    times : (e,) int64 array, or None
        The time of each entry, ascending in a row.
    """

    weights: Floats[np.float64] | Absent = None
    prob: Floats[np.float64] | Absent = None
    alias: Ids | Absent = None
    times: Positions | Absent = None


class RowDraws(NamedTuple):
    """The entries that some rows drew: what `draw_rows` returns.

    Attributes
    ----------
    bounds : (r + 1,) int64
        Row i drew ``entries[bounds[i]:bounds[i + 1]]``.
    entries : (bounds[r],) int64
        Positions in ``graph.indices``.
    """

    bounds: Positions
    entries: Positions


def table_arguments(graph, weights, times):
    """Check the arguments of `build_entry_table`; return them."""
    checked(graph)
    if weights is not None:
        weights = require.floats("weights", weights, (graph.e,)).astype(np.float64)
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ValueError("weights must be finite and not negative")
        rows = np.repeat(np.arange(graph.n), graph.degrees())
        if not np.isfinite(np.bincount(rows, weights)).all():
            raise ValueError("weights must have finite sums in each row")
    if times is not None:
        times = require.ids("times", times, -(2**63), 2**63, np.int64)
        if times.shape != (graph.e,):
            raise ValueError(f"times must have shape ({graph.e},), got {times.shape}")
        falls = np.append(times[1:] < times[:-1], False)
        falls[graph.indptr[1:] - 1] = False  # from the end of a row to the next row
        if falls.any():
            raise ValueError("times must ascend in each row")
    return graph, weights, times


def finished(*arrays):
    """Return an EntryTable of arrays that nobody can write to."""
    for array in arrays:
        if array is not None:
            array.flags.writeable = False
    return EntryTable(*arrays)


@checked_by(table_arguments)
@quiet
def build_entry_table(
    graph: Graph,
    *,
    weights: Floats[F] | None = None,
    times: Integers | None = None,
) -> EntryTable:
    """Return what `draw_rows` needs to draw entries by weight or by time.

    Not in the papers. O(n + e) time.

    Parameters
    ----------
    graph : Graph
    weights : (e,) float array, optional
        For each entry of ``graph.indices`` a finite number, not negative. An entry of weight 0 is
        never drawn.
    times : (e,) integer array, optional
        For each entry its time, ascending in each row.

    Returns
    -------
    EntryTable

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or not as above.
    """
    if weights is None:
        return finished(None, None, None, times)
    prob, alias = np.ones(graph.e), np.zeros(graph.e, np.int32)
    for start, end in zip(graph.start.tolist(), graph.end.tolist(), strict=True):
        if np.any(weights[start:end] > 0):
            prob[start:end], alias[start:end] = alias_build(weights[start:end])
    return finished(weights, prob, alias, times)


def draw_arguments(graph, rows, fanout, keys, replace, table, until, last):
    """Check the arguments of `draw_rows`; return them."""
    checked(graph)
    rows = require.ids("rows", rows, 0, graph.n, np.int32)
    fanout = require.integer("fanout", fanout, -1, 2**31 - 1)
    keys = require.word_or_words("keys", keys)
    if np.shape(keys) != rows.shape:
        raise ValueError(f"keys must have shape {rows.shape}, got {np.shape(keys)}")
    require.switch("replace", replace)
    require.switch("last", last)
    table = checked_table(graph, EntryTable() if table is None else table)
    if until is not None:
        until = require.ids("until", until, -(2**63), 2**63, np.int64)
        if until.shape != rows.shape:
            raise ValueError(f"until must have shape {rows.shape}, got {until.shape}")
        if table.times is None:
            raise ValueError("until needs a table with times: see build_entry_table")
    return graph, rows, fanout, require.plain(keys), bool(replace), table, until, bool(last)


def checked_table(graph, table):
    """Return an EntryTable of arrays that kernels may read, or raise."""
    if not isinstance(table, EntryTable):
        raise TypeError(f"table must be an EntryTable, got {type(table).__name__}")
    table = require.record("table", table, EntryTable)
    dtypes = {"weights": np.float64, "prob": np.float64, "alias": np.int32, "times": np.int64}
    for name, dtype in dtypes.items():
        part = getattr(table, name)
        if part is None:
            continue
        plain = require.array(name, part) if isinstance(part, np.ndarray) else None
        if plain is None or plain.dtype != dtype:
            raise TypeError(
                f"table.{name} must be a {np.dtype(dtype)} array: see build_entry_table"
            )
        if plain.shape != (graph.e,):
            raise ValueError(f"table.{name} must have shape ({graph.e},), got {plain.shape}")
        table = table._replace(**{name: require.plain(plain)})
    if not (table.weights is None) == (table.prob is None) == (table.alias is None):
        raise ValueError("table must have weights, prob and alias, or none: see build_entry_table")
    return table


@checked_by(draw_arguments)
def draw_rows(
    graph: Graph,
    rows: Integers,
    fanout: Int,
    keys: Words,
    *,
    replace: bool = False,
    table: EntryTable | None = None,
    until: Integers | None = None,
    last: bool = False,
) -> RowDraws:
    """Draw entries of some rows, each row by a key of its own.

    Not in the papers. What a row draws depends on its number, its key, its time and the fan-out
    alone, not on other rows. A row may be named several times, with another key or time.
    Uniform draws without replacement are Floyd's (`floyd`); weighted ones have the law of
    Efraimidis and Spirakis 2006. O(fan-out + log degree) time for a row. With weights it
    is O(degree log degree) where few entries have most of the weight, or `until` or `last` leaves
    a part of the row.

    Parameters
    ----------
    graph : Graph
        Row v lists the entries that v draws from.
    rows : (r,) integer array
        Nodes in [0, n), in any order, perhaps repeated.
    fanout : int
        How many entries a row draws. -1 is all.
    keys : (r,) uint64 array
        For each row the key of its stream.
    replace : bool
        Draw `fanout` entries of a row, perhaps some of them several times.
    table : EntryTable, optional
        What `build_entry_table` returned for the graph. With weights, an entry is drawn in
        proportion to its weight, and without `replace` from the entries that are left. An entry of
        weight 0 is never drawn. ``fanout=-1`` ignores weights.
    until : (r,) integer array, optional
        For each row the time up to which it may draw: entries later than this are not there.
    last : bool
        A row draws only from its last `fanout` entries, up to its time.

    Returns
    -------
    RowDraws
        The entries of a row ascend, or with `replace` are in the order of the draws.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range.

    References
    ----------
    Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir".
    """
    return _drawn(graph, rows, fanout, keys, replace, table, until, last)


def _drawn(graph, rows, fanout, keys, replace, table, until, last):
    """Return the RowDraws of all rows."""
    drawn = [np.empty(0, np.int64)]
    for i, (row, key) in enumerate(zip(rows.tolist(), keys.tolist(), strict=True)):
        first, stop = graph.indptr[row : row + 2].tolist()
        end = stop
        if until is not None:
            end = first + int(np.searchsorted(table.times[first:stop], until[i], side="right"))
        start = max(first, end - fanout) if last and fanout >= 0 else first
        whole = (start, end) == (first, stop)  # otherwise the row's alias table is of no use
        drawn.append(start + _pick(table, start, end, whole, fanout, replace, Stream(key)))
    bounds = np.cumsum([0, *map(len, drawn[1:])])
    return RowDraws(bounds, np.concatenate(drawn))


def _pick(table, start, end, whole, fanout, replace, stream):
    """Return which of the entries from `start` to `end` a row draws, counted from `start`."""
    n, part = end - start, slice(start, end)
    if fanout < 0 or n == 0:
        return np.arange(n)
    if fanout == 0 or (table.weights is not None and not np.any(table.weights[part] > 0)):
        return np.empty(0, np.int64)
    if table.weights is None and replace:
        return (stream.uniforms(fanout) * n).astype(np.int64)
    if table.weights is None:
        return np.array(stream.floyd(n, min(fanout, n)))
    weights, alias_table = table.weights[part], (table.prob[part], table.alias[part])
    if not replace:
        own = without_replacement(weights, alias_table if whole else None, fanout, stream)
        return np.array(own, np.int64)
    return (
        by_alias(*alias_table, fanout, stream) if whole else by_inversion(weights, fanout, stream)
    )
