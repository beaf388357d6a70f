"""FreshGNN's cache as a whole: what a run of calls returns, and its arrays after each."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from refimpl import BidirectionalCache
from refimpl.hints import Matrix
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import ids
from refimpl.lab.apps.conformance.worked import worked

HAND = worked("cache_runs")

FLAGS = {
    "CYCLE": "As printed: a new cycle takes the header back to slot 0, over entries of any age.",
    "DROP": "A full buffer refuses embeddings.",
    "FREE": "The header takes a slot again that no later iteration could read.",
    "GHOST": "The map names a slot that went to another node since: no entry.",
    "GROWN_OVER": "Embeddings have overwritten features: those are no longer held.",
    "HEADER_ONLY": "Ages are not checked, as in the public code: old entries are served.",
    "LOST": "An entry is overwritten that the next iteration could have read.",
    "PASSED": "The header passes over an entry that the next iteration can read.",
    "REFILL": "At the end of a cycle features come back, and what they overwrite is no entry.",
    "STALE": "An entry is older than t_stale: none; one just as old is valid.",
    "WRAP": "A buffer full of valid entries overwrites those that the header comes to.",
}

Call: TypeAlias = list[Any]  # a method and its arguments by name


def floats(*rows: Sequence[float]) -> Matrix[np.float32]:
    """Return rows of float32."""
    return np.array(rows, np.float32)


def options(
    n: int,
    d: int,
    h: int,
    layers: int,
    size: int,
    t_stale: int | None,
    calls: list[Call],
    **others: Any,
) -> dict[str, Any]:
    """Return the arguments of a cache, and the calls that follow."""
    sizes = {"n": n, "d": d, "h": h, "layers": layers, "floats": size, "t_stale": t_stale}
    return {**sizes, **others, "calls": calls}


def fill(n: int, d: int) -> Call:
    """Return a call of `fill` with features that are all different; node n - 1 is the hottest."""
    X = np.arange(1, n * d + 1, dtype=np.float32).reshape(n, d) / 8
    return ["fill", {"X": X, "hotness": np.arange(n)}]


def lookup(layer: int, nodes: Iterable[int], i: int) -> Call:
    return ["lookup", {"layer": layer, "ids": ids(*nodes), "i": i}]


def admit(layer: int, nodes: Sequence[int], i: int, h: int = 1) -> Call:
    """Return a call of `admit` whose values name the layer, the node and the iteration."""
    values = [[100 * layer + 10 * v + i + k / 4 for k in range(h)] for v in nodes]
    nodes, values = ids(*nodes), floats(*values).reshape(-1, h)
    return ["admit", {"layer": layer, "ids": nodes, "values": values, "i": i}]


def evict(layer: int, nodes: Iterable[int], i: int) -> Call:
    return ["evict", {"layer": layer, "ids": ids(*nodes), "i": i}]


def features(*nodes: int) -> Call:
    return ["fetch_features", {"ids": ids(*nodes)}]


def begin(i: int) -> Call:
    return ["begin_update", {"i": i}]


def read(*slots: int) -> Call:
    return ["read", {"slots": ids(*slots)}]


def run_of(n: int, iterations: int, layers: int, h: int) -> list[Call]:
    """Return calls like those of a training run: every node is asked for and written in turn."""
    calls = [fill(n, 2)]
    for i in range(iterations):
        calls += [lookup(1 + i % layers, range(n), i), features(*range(0, n, 2)), begin(i)]
        for layer in range(1, layers + 1):
            calls.append(admit(layer, [(i + layer) % n, (3 * i + 1) % n][:layer], i, h))
        calls += [evict(1, [i % n], i)]
    return calls


BY_HAND = HAND["BidirectionalCache"][0].args
ERRORS: dict[str, dict[str, Any]] = {
    "no_features": {"d": 0},
    "negative_floats": {"floats": -1},
    "negative_staleness": {"t_stale": -1},
    "unknown_header": {"header": "back"},
    "unknown_overflow": {"overflow": "grow"},
    "unknown_staleness": {"staleness": "none"},
    "a_layer_too_many": {"calls": [lookup(2, [0], 0)]},
    "no_such_node": {"calls": [evict(1, [4], 0)]},
    "wide_values": {"calls": [admit(1, [0], 0, h=2)]},
    "before_the_start": {"start_iter": 3, "calls": [begin(2)]},
}
FULL = [fill(5, 2), begin(0), admit(1, [0, 1, 2], 0, 2), admit(1, [3, 4], 1, 2), features(3, 4)]
FULL += [lookup(1, range(5), 1), begin(3), admit(1, [1], 3, 2), lookup(1, range(5), 3), read(0)]


def states(calls: list[Call], **arguments: Any) -> list[dict[str, Any]]:
    """Return the cache before the first call and after each: no entry has key and stamp -1."""
    cache = BidirectionalCache(**arguments)
    found = []
    for method, rest in [(None, None), *calls]:
        if method is not None:
            getattr(cache, method)(**rest)
        found.append(
            copy.deepcopy(
                {
                    "head": cache.head,
                    "feature_rows": cache.feature_rows,
                    "slot_of": cache.entries.slot_of,
                    "back": cache.entries.back,
                    "stamp": np.where(cache.entries.back >= 0, cache.entries.stamp, -1),
                    "admitted": cache.admitted,
                    "dropped": cache.dropped,
                    "lost": cache.lost,
                }
            )
        )
    return found


LATER = [fill(6, 2), begin(5), admit(2, [3], 5, 3), begin(7), admit(2, [4], 7, 3)]
LATER += [begin(8), admit(1, [5], 8, 3), lookup(2, [3, 4], 8), lookup(2, [3, 4], 9)]
NO_ROOM = [fill(3, 2), begin(0), admit(1, [0], 0, 4), lookup(1, [0], 0), features(2, 1)]
REFILL = [*FULL, begin(6), features(1, 2, 3, 4), lookup(1, range(5), 6)]
RUN = run_of(6, 7, 2, 3)

CASES = (
    *HAND["BidirectionalCache"],
    Case("wrap", options(5, 2, 2, 1, 8, 3, FULL), ("WRAP", "LOST", "FREE", "GROWN_OVER")),
    Case(
        "wrap_cycle",
        options(5, 2, 2, 1, 8, 3, FULL, header="cycle"),
        ("WRAP", "LOST", "CYCLE", "GROWN_OVER"),
    ),
    Case("drop", options(5, 2, 2, 1, 8, 3, FULL, overflow="drop"), ("DROP", "FREE", "GROWN_OVER")),
    Case(
        "drop_cycle",
        options(5, 2, 2, 1, 8, 3, FULL, overflow="drop", header="cycle"),
        ("DROP", "CYCLE", "GROWN_OVER"),
    ),
    Case(
        "header_only",
        options(5, 2, 2, 1, 8, 1, FULL, staleness="header_only", header="cycle"),
        ("HEADER_ONLY", "CYCLE", "LOST"),
    ),
    Case("refill", options(5, 2, 2, 1, 8, 3, REFILL, refill=True), ("REFILL", "FREE")),
    Case(
        "refill_cycle",
        options(5, 2, 2, 1, 8, 3, REFILL, refill=True, header="cycle"),
        ("REFILL", "CYCLE"),
    ),
    Case("run", options(6, 2, 3, 2, 20, 2, RUN), ("FREE", "GHOST")),
    Case("run_cycle", options(6, 2, 3, 2, 20, 2, RUN, header="cycle"), ("CYCLE", "GHOST")),
    Case("any_age", options(6, 2, 3, 2, 20, None, RUN), ("WRAP", "LOST", "GHOST")),
    Case("of_one_iteration", options(6, 2, 3, 2, 20, 0, RUN[:25]), ("STALE", "FREE")),
    Case("later_start", options(6, 2, 3, 2, 40, 3, LATER, start_iter=5), ("PASSED",)),
    Case(
        "later_start_cycle",
        options(6, 2, 3, 2, 40, 3, LATER, start_iter=5, header="cycle"),
        ("CYCLE",),
    ),
    Case("no_room", options(3, 2, 4, 1, 3, 1, NO_ROOM), ("EMPTY", "DROP")),
    *(
        Case(name, {**BY_HAND, "calls": [], **changed}, error="value")
        for name, changed in ERRORS.items()
    ),
    Case("real_width", {**BY_HAND, "h": 1.0, "calls": []}, error="type"),
)

KERNELS = (
    Kernel("BidirectionalCache", "vldb24", "section 4.2", CASES, flags=FLAGS, states=states),
)
