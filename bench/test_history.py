"""FreshGNN's cache: finding, reading and writing entries, and pruning."""

from functools import cache, partial
from typing import NamedTuple

import numpy as np

import refimpl
from bench import inputs
from bench.answers import as_other, exactly, same
from bench.case import Bench, Task, timed
from bench.work import Part
from refimpl.history.entries import Entries, cache_admit

STAMP = 7


class Held(NamedTuple):
    """How much a cache holds: `entries` of `n` nodes, a row being `h` numbers wide."""

    n: int
    entries: int
    h: int


LARGE = Held(1_000_000, 200_000, 64)


@cache
def held(size):
    """Return how much: as many nodes as a subgraph has, but many at the largest size.

    An entry of the map of slots is one random read, so few of them take no time.
    """
    scale = inputs.SIZES[size]
    return Held(scale.parent, scale.n, scale.hidden) if size != "large" else LARGE


@cache
def some(size):
    """Return distinct nodes and their slots."""
    n, count, _ = held(size)
    slots = np.arange(count, dtype=np.int32)
    return np.random.default_rng(inputs.SEED).permutation(n)[:count].astype(np.int32), slots


def empty(size):
    """Return Entries without an entry, whose memory was written to."""
    n, count, h = held(size)
    return Entries(
        np.full((2 * count, h), 0, np.float32),
        np.full((1, n), -1, np.int32),
        np.full(2 * count, -1, np.int64),
        np.full(2 * count, 0, np.int32),
    )


@cache
def filled(size):
    """Return Entries that hold `some` nodes."""
    entries, (ids, slots) = empty(size), some(size)
    cache_admit(entries, 1, ids, embeddings(size), slots, STAMP)
    return entries


@cache
def embeddings(size):
    """Return a row for each of `some` nodes."""
    _, count, h = held(size)
    return inputs.normal((count, h), 1)


def text_of(size):
    """Return how the report names them."""
    n, count, h = held(size)
    return f"{count:,} of n={n:,} h={h} float32"


def admit_tasks(size):
    """Yield writing entries, each time into an empty buffer."""
    ids, slots = some(size)
    values, kept = embeddings(size), filled(size)

    def check(got, args, other):
        for name in Entries._fields:
            same(f"entries.{name}", getattr(args["entries"], name), getattr(kept, name))

    args = {"layer": 1, "ids": ids, "values": values, "slots": slots, "i": STAMP}
    done = [Part(2 * values.nbytes, values.nbytes)]
    yield Task(text_of(size), args, check, done, lambda i: {"entries": empty(size)})


def lookup_tasks(size):
    """Yield finding entries: half of the nodes have one."""
    ids, slots = some(size)
    n = held(size).n
    asked = np.concatenate([ids[::2], np.setdiff1d(np.arange(n), ids)])[: len(ids)]
    asked = np.random.default_rng(inputs.SEED).permutation(asked).astype(np.int32)
    where = np.full(n, -1, np.int32)
    where[ids] = slots
    args = {"entries": filled(size), "layer": 1, "ids": asked, "oldest": STAMP}
    yield Task(text_of(size), args, exactly(where[asked]))


def read_tasks(size):
    """Yield reading entries."""
    rows = filled(size).rows
    slots = np.random.default_rng(inputs.SEED).permutation(some(size)[1])
    done = [Part(2 * slots.size * rows.shape[1] * 4, rows.nbytes)]
    yield Task(text_of(size), {"rows": rows, "slots": slots}, exactly(rows[slots]), done)


def fetch_tasks(size):
    """Yield reading features that are held for the hottest half of the nodes."""
    n, _, f = held(size)
    most = n // 2
    features = inputs.normal((most, f), 1)
    rank = np.random.default_rng(inputs.SEED).permutation(n).astype(np.int32)
    ids = some(size)[0]

    def check(got, args, other):
        hit = rank[ids] < most
        want = np.zeros((ids.size, f), np.float32)
        want[hit] = features[most - 1 - rank[ids][hit]]
        rows, hits = got
        same("result.rows", rows, want)
        same("result.hit", hits, hit)

    args = {"features": features, "rank": rank, "ids": ids, "held": most}
    yield Task(f"{ids.size:,} of n={n:,} f={f} float32", args, check)


def stable_tasks(size):
    """Yield the choice of the half with the lowest scores."""
    ids, _ = some(size)
    score = inputs.normal(ids.size, 3, "float64")
    args = {"score": score, "ids": ids, "p": 0.5}
    yield Task(f"half of {ids.size:,}", args, exactly(lower_half(ids, score)))


def lower_half(ids, score):
    """Return which half of some nodes has the lowest scores."""
    low = np.zeros(ids.size, np.bool_)
    low[np.lexsort((ids, score))[: ids.size // 2]] = True
    return low


@cache
def hits(size):
    """Return sampled neighbours, and a third of the inner nodes as cached."""
    mfg = inputs.neighbours(size, 10)
    rng = np.random.default_rng(inputs.SEED)
    hit = [rng.random(len(nodes)) < 1 / 3 for nodes in mfg.nodes[1:-1]]
    return mfg, [*hit, np.zeros(len(mfg.nodes[-1]), np.bool_)]


def prune_tasks(name, size):
    """Yield the input of `prune_mfg` or `prune_layers`."""

    mfg, hit = hits(size)
    yield Task(pruned_text(mfg), {"mfg": mfg, "hit": hit}, as_other(name))


def live_tasks(size):
    """Yield what is left of layers that are pruned."""
    mfg, hit = hits(size)
    pruned = refimpl.prune_mfg(mfg, hit)
    yield Task(pruned_text(mfg), {"pruned": pruned}, as_other("live_layers"))


def pruned_text(mfg):
    """Return how the report names sampled neighbours."""
    return f"{len(mfg.nodes[0]):,} inputs of {len(mfg.nodes[-1]):,} roots"


def share_tasks(size):
    """Yield who pays for which features."""
    mfg, _ = hits(size)
    needed = np.ones(len(mfg.nodes[0]), np.bool_)
    yield Task(pruned_text(mfg), {"mfg": mfg, "needed": needed}, as_other("fair_share"))


test_history = timed(
    Bench("cache_admit", admit_tasks),
    Bench("cache_lookup", lookup_tasks),
    Bench("cache_read", read_tasks),
    Bench("cache_fetch", fetch_tasks),
    Bench("select_stable", stable_tasks),
    Bench("prune_mfg", partial(prune_tasks, "prune_mfg")),
    Bench("prune_layers", partial(prune_tasks, "prune_layers")),
    Bench("live_layers", live_tasks),
    Bench("fair_share", share_tasks),
)
