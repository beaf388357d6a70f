"""FreshGNN's cache as a whole: a few iterations of one, and what one update does to it."""

import copy
from functools import cache

import numpy as np

from bench import inputs
from bench.answers import alike, same
from bench.case import Bench, Task, timed
from bench.test_history import embeddings, held, lower_half, some, text_of
from refimpl import BidirectionalCache
from refimpl.lab.backend import find

STEPS = 4
WIDTHS = {"tiny": 4, "medium": 16, "large": 32}
BEFORE, NOW = 3, 7  # iterations: of what is held, and of the update


@cache
def order(size):
    """Return the nodes in the order in which they are asked for, and how many at a time."""
    n = inputs.SIZES[size].parent
    return np.random.default_rng(inputs.SEED).permutation(n).astype(np.int32), n // 20


@cache
def calls(size):
    """Return what a cache is asked in turn: in each step for nodes of which half are new."""
    ids, some = order(size)
    X, hotness = inputs.normal((len(ids), WIDTHS[size]), 1), inputs.normal(len(ids), 2, "float64")
    found = [["fill", {"X": X, "hotness": hotness}]]
    for i in range(STEPS):
        asked = ids[i * some : (i + 2) * some]
        found += [
            ["fetch_features", {"ids": asked}],
            ["lookup", {"layer": 1, "ids": asked, "i": i}],
        ]
        if i:
            found.append(["read", {"slots": np.arange((i - 1) * some, i * some, dtype=np.int32)}])
        values = inputs.normal((some, WIDTHS[size]), 3 + i)
        found.append(["admit", {"layer": 1, "ids": asked[some:], "values": values, "i": i}])
    return found


def run_tasks(size):
    """Yield a cache that is made, filled and used: nothing in it is old or evicted."""
    (ids, _), width = order(size), WIDTHS[size]
    n, room = len(ids), len(ids) // 2
    given = {"n": n, "d": width, "h": width, "layers": 1, "floats": room * width, "t_stale": None}

    def check(got, args, other):
        alike(got, answers(size, room))

    text = f"{STEPS} steps, n={n:,} d={width} h={width} room for {room:,} float32"
    yield Task(text, {**given, "calls": calls(size)}, check, call=run)


def run(gnn, calls, **arguments):
    """Return what the methods of a new cache return."""
    made = find(gnn, "BidirectionalCache")(**arguments)
    return [getattr(made, name)(**rest) for name, rest in calls]


@cache
def answers(size, room):
    """Return what a cache answers: each new embedding takes the next row from the coldest node."""
    some, used, values = order(size)[1], 0, None
    found: list = []
    for name, rest in calls(size):
        if name == "fill":
            X = rest["X"]
            rank = np.argsort(np.argsort(-rest["hotness"]))
            found.append(None)
        elif name == "fetch_features":
            hit = rank[rest["ids"]] < room - used
            found.append((np.where(hit[:, None], X[rest["ids"]], np.float32(0)), hit))
        elif name == "lookup":
            slots = np.full(2 * some, -1, np.int32)
            slots[:some] = np.arange(used - some, used) if used else -1
            found.append(slots)
        elif name == "read":
            found.append(values)
        else:
            used, values = used + some, rest["values"]
            found.append(some)
    return found


@cache
def half_full(size):
    """Return a cache that holds every second of `some` nodes."""
    n, count, h = held(size)
    made = BidirectionalCache(n, 1, h, 1, 2 * count * h, t_stale=None)
    made.admit(1, some(size)[0][::2], embeddings(size)[::2], BEFORE)
    return made


def update_tasks(size):
    """Yield an update: of the nodes held and as many new ones half are stable."""
    ids, _ = some(size)
    new = np.arange(len(ids)) % 2 == 1
    score = inputs.normal(len(ids), 3, "float64")
    rows = {"ids": ids, "score": score, "comp": new, "values": embeddings(size)}
    low = lower_half(ids, score)

    def check(got, args, other):
        counts, *maps = got
        alike(tuple(counts), tuple(int(x.sum()) for x in (low, low & new, ~low & ~new)), "counts")
        for name, at, want in zip(MAPS, maps, updated(size, low, new), strict=True):
            same(f"the cache's {name}", at, want)

    def turn(i):
        return {"cache": copy.deepcopy(half_full(size))}

    args = {"layer": 1, **rows, "i": NOW, "p": 0.5}
    yield Task(f"half of {text_of(size)}", args, check, turn=turn, call=update)


MAPS = "rows", "slot_of", "back", "stamp"


def update(gnn, cache, **rows):
    """Update a cache, as one of this implementation; return the counts and what it holds then."""
    kind = find(gnn, "BidirectionalCache")
    own = object.__new__(kind)
    own.__setstate__(cache.__getstate__())
    return find(gnn, "cache_update")(own, **rows), *own.entries


def updated(size, low, new):
    """Return the maps after an update: the stable new nodes take what is free, then new slots."""
    ids, _ = some(size)
    rows, slot_of, back, stamp = (array.copy() for array in half_full(size).entries)
    out, into = ids[~low & ~new], ids[low & new]
    free = np.sort(slot_of[0, out])
    back[free], slot_of[0, out] = -1, -1
    used = len(ids) - len(ids) // 2
    slots = np.concatenate([free, np.arange(used, used + len(into))])[: len(into)]
    rows[slots], back[slots], stamp[slots] = embeddings(size)[low & new], into, NOW
    slot_of[0, into] = slots
    return rows, slot_of, back, stamp


test_cache = timed(Bench("BidirectionalCache", run_tasks), Bench("cache_update", update_tasks))
