"""Fetching the features of some nodes from the parts that hold them.

VLDB'24 section 6, the data loader. `refimpl.loader.distributed` does the same between processes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Float, Int, Integers, Matrix, Positions
from refimpl.loader.files import still_whole
from refimpl.loader.store import FeatureStore

ID_BYTES = 8  # of a row's number in a message
KINDS = ("idx", "data", "sync")


class FetchPlan(NamedTuple):
    """Where the rows of a fetch are, and where they go: `plan_fetch` makes it.

    Attributes
    ----------
    store : FeatureStore
    me : int
        The part that is at hand; the others are remote.
    n : int
        Rows of the result.
    rows : tuple of (any,) int64 arrays
        For each part the rows to read, each once, ascending.
    positions : tuple of (any,) int64 arrays
        Where each of them goes in the result.
    copies : (2, any) int64 array
        Row ``copies[0]`` of the result is row ``copies[1]`` again.
    """

    store: FeatureStore
    me: int
    n: int
    rows: tuple[Positions, ...]
    positions: tuple[Positions, ...]
    copies: np.ndarray[tuple[int, int], np.dtype[np.int64]]


class Message(NamedTuple):
    """What one part sends to another in a fetch.

    A part of the trace of `fetch_one_sided` and `fetch_two_sided`.

    Attributes
    ----------
    source, target : int
        Numbers of the parts.
    bytes : int
    kind : {"idx", "data", "sync"}
        Row numbers, rows, or nothing but the waiting.
    """

    source: int
    target: int
    bytes: int
    kind: Literal["idx", "data", "sync"]


class Trace(NamedTuple):
    """What a fetch moved: in the result of `fetch_one_sided` and `fetch_two_sided`.

    Attributes
    ----------
    messages : tuple of Messages
    packed : int
        Bytes that owners gathered into buffers first: a pass over memory more.
    rounds : int
        How often the reader waited for a remote part.
    """

    messages: tuple[Message, ...]
    packed: int
    rounds: int

    def bytes(self, kind: Literal["idx", "data", "sync"] | None = None) -> int:
        """Return the bytes of all messages, or of those of one kind."""
        if kind is not None:
            require.choice("kind", kind, KINDS)
        return sum(m.bytes for m in self.messages if kind in (None, m.kind))


class Fetched(NamedTuple):
    """The rows of a fetch, and the trace of their way.

    What `fetch_one_sided` and `fetch_two_sided` return.

    Attributes
    ----------
    rows : (n, d) float32 array
    trace : Trace
    """

    rows: Matrix[np.float32]
    trace: Trace


def split_arguments(store, ids, me):
    """Check the arguments of `plan_fetch`; return them."""
    require.instance("store", store, (FeatureStore,), "a FeatureStore")
    ids = require.ids("ids", ids, 0, store.n, np.int64)
    return store, ids, require.integer("me", me, 0, len(store.parts) - 1)


@checked_by(split_arguments)
def plan_fetch(store: FeatureStore, ids: Integers, me: Int = 0) -> FetchPlan:
    """Say which rows a fetch reads from which part. O(n log n) time.

    For the data loader of FreshGNN section 6.

    Parameters
    ----------
    store : FeatureStore
    ids : (n,) integer array
        Nodes in any order. A node named twice is read once.
    me : int
        The part that is at hand.

    Returns
    -------
    FetchPlan

    Raises
    ------
    TypeError, ValueError
        If `store` is no FeatureStore, an id is not in [0, store.n), or `me` is no part.
    """
    return FetchPlan(store, int(me), len(ids), *store.ownership.split(np.asarray(ids)))


def plan_arguments(plan):
    """Check the argument of a fetch; return it, a FetchPlan of copies."""
    if not isinstance(plan, FetchPlan):
        raise TypeError(f"plan must be a FetchPlan (see plan_fetch), got {type(plan).__name__}")
    plan = require.record("plan", plan, FetchPlan)
    store = require.instance("plan.store", plan.store, (FeatureStore,), "a FeatureStore")
    sizes = store.ownership.sizes
    me = require.integer("plan.me", plan.me, 0, len(sizes) - 1)
    listed = {}
    for name in ("rows", "positions"):
        listed[name] = require.listed(f"plan.{name}", getattr(plan, name), "arrays")
        if len(listed[name]) != len(sizes):
            raise ValueError(f"plan must have rows and positions for {len(sizes)} parts")
    copies = require.array("plan.copies", plan.copies)
    if copies.shape[:1] != (2,):
        raise ValueError("plan.copies must have two rows")
    n = require.integer("plan.n", plan.n, 0)
    for part in store.parts:
        still_whole(part)
    pairs = zip(listed["rows"], sizes, strict=True)
    rows = tuple(require.ids("plan.rows", r, 0, k, np.int64) for r, k in pairs)
    positions = tuple(require.ids("plan.positions", p, 0, n, np.int64) for p in listed["positions"])
    both = copies.reshape(-1) if copies.ndim == 2 else copies[0]  # else refused
    copies = require.ids("plan.copies", both, 0, n, np.int64).reshape(2, -1)
    if list(map(len, rows)) != list(map(len, positions)):
        raise ValueError("plan.positions must be as long as plan.rows")
    to = np.concatenate([*positions, copies[0]])
    fetched = np.zeros(to.size, bool)  # not n: `n` is not checked yet
    once = n == to.size and np.all(np.bincount(to, minlength=n) == 1)
    if once:
        fetched[np.concatenate(positions)] = True
    if not once or not fetched[copies[1]].all():
        raise ValueError("plan must write each row of the result once")
    return (FetchPlan(store, me, n, rows, positions, copies),)


@checked_by(plan_arguments)
def fetch_one_sided(plan: FetchPlan) -> Fetched:
    """Read rows straight from where they are: no row number is sent, no owner takes part.

    VLDB'24 section 6, one-sided communication. O(n d) time.

    Parameters
    ----------
    plan : FetchPlan

    Returns
    -------
    Fetched
        The same rows as `fetch_two_sided`, in a trace of r d b bytes for r remote rows.

    Raises
    ------
    TypeError, ValueError
        If `plan` is no FetchPlan, or names rows that are not there.
    OSError
        If a part is mapped from a file that has become shorter.
    """
    store, me, n, rows, positions, copies = plan
    out = np.empty((n, store.d), np.float32)
    for p in store.ownership.parts:
        out[positions[p]] = store.parts[p][rows[p]]
    out[copies[0]] = out[copies[1]]
    return Fetched(out, one_sided_trace(me, rows, store.row_bytes))


@checked_by(plan_arguments)
def fetch_two_sided(plan: FetchPlan) -> Fetched:
    """Ask each owner for rows: it packs them into a buffer, and sends that.

    VLDB'24 section 6, the naive way. This process plays the owners too. O(n d) time.

    Parameters
    ----------
    plan : FetchPlan

    Returns
    -------
    Fetched
        The same rows as `fetch_one_sided`, in a trace of r (8 + d b) bytes for r remote rows,
        with one more wait and one more pass over the rows.

    Raises
    ------
    TypeError, ValueError
        If `plan` is no FetchPlan, or names rows that are not there.
    OSError
        If a part is mapped from a file that has become shorter.
    """
    store, me, n, rows, positions, copies = plan
    out = np.empty((n, store.d), np.float32)
    for p in store.ownership.parts:
        packed = store.parts[p][rows[p]]  # by the owner
        out[positions[p]] = packed  # by the reader
    out[copies[0]] = out[copies[1]]
    return Fetched(out, two_sided_trace(me, rows, store.row_bytes))


def one_sided_trace(me, rows, row_bytes, rounds=1):
    """Return the trace of a fetch of so many rows from each part, without the owners' help."""
    remote = [p for p in range(len(rows)) if p != me and len(rows[p])]
    messages = tuple(Message(p, me, len(rows[p]) * row_bytes, "data") for p in remote)
    return Trace(messages, 0, rounds if messages else 0)


def two_sided_trace(me, rows, row_bytes):
    """Return the trace of a fetch of so many rows from each part, with the owners' help."""
    messages = []
    for data in one_sided_trace(me, rows, row_bytes).messages:
        asked = Message(me, data.source, len(rows[data.source]) * ID_BYTES, "idx")
        messages += [asked, Message(data.source, me, 0, "sync"), data]
    trace = Trace(tuple(messages), 0, 2 if messages else 0)
    return trace._replace(packed=trace.bytes("data"))


def seconds_arguments(n, row_bytes, latency, bandwidth, rest, name, strict):
    """Check the arguments of a model of time, the last of which is called `name`; return them."""
    most = 2**63 - 1
    n, row_bytes = (
        require.integer("n", n, 0, most),
        require.integer("row_bytes", row_bytes, 1, most),
    )
    latency = require.real("latency", latency, 0)
    bandwidth = require.real("bandwidth", bandwidth, 0, strict=True)
    return n, row_bytes, latency, bandwidth, require.real(name, rest, 0, strict=strict)


def one_sided_arguments(n, row_bytes, latency, bandwidth, half_row):
    """Check the arguments of `one_sided_seconds`; return them."""
    return seconds_arguments(n, row_bytes, latency, bandwidth, half_row, "half_row", False)


def two_sided_arguments(n, row_bytes, latency, bandwidth, memory):
    """Check the arguments of `two_sided_seconds`; return them."""
    return seconds_arguments(n, row_bytes, latency, bandwidth, memory, "memory", True)


@checked_by(one_sided_arguments)
def one_sided_seconds(
    n: Int, row_bytes: Int, *, latency: Float = 2e-6, bandwidth: Float = 16e9, half_row: Float = 256
) -> float:
    """Return the time of a model: latency + n (s + half_row) / bandwidth for rows of s bytes.

    Small rows use a link badly: half of it where a row has `half_row` bytes. The defaults are
    round numbers for a PCIe 3 link, fitted to nothing. Not in the papers.

    Parameters
    ----------
    n : int, at least 0
        Rows.
    row_bytes : int, at least 1
        Bytes of a row.
    latency : float, at least 0
        Seconds before the first byte arrives.
    bandwidth : float above 0
        Of the link, in bytes a second.
    half_row : float, at least 0
        Bytes of a row that uses half of the link.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    TypeError, ValueError
        If `n` or `row_bytes` is no integer from 0 or 1, or another number is not above 0.
    """
    return float(latency + n * (row_bytes + half_row) / bandwidth)


@checked_by(two_sided_arguments)
def two_sided_seconds(
    n: Int, row_bytes: Int, *, latency: Float = 2e-6, bandwidth: Float = 16e9, memory: Float = 100e9
) -> float:
    """Return the time of a model: two latencies, 8-byte numbers there, packing, rows back.

    The defaults are round numbers for a PCIe 3 link and a server's memory, fitted to nothing.
    Not in the papers.

    Parameters
    ----------
    n : int, at least 0
        Rows.
    row_bytes : int, at least 1
        Bytes of a row.
    latency : float, at least 0
        Seconds before the first byte arrives.
    bandwidth : float above 0
        Of the link, in bytes a second.
    memory : float above 0
        The rate at which an owner packs, in bytes a second.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    TypeError, ValueError
        If `n` or `row_bytes` is no integer from 0 or 1, or another number is not above 0.
    """
    packing = n * row_bytes / memory
    return float(2 * latency + n * (ID_BYTES + row_bytes) / bandwidth + packing)
