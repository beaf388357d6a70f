"""FreshGNN's cache as a whole: what a run of calls returns, and its arrays after each."""

import copy

import numpy as np

from refimpl import BidirectionalCache
from refimpl.lab.apps.conformance.case import Case, Kernel
from refimpl.lab.apps.conformance.graphs import ids

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


def floats(*rows):
    """Return rows of float32."""
    return np.array(rows, np.float32)


def options(n, d, h, layers, size, t_stale, calls, **others):
    """Return the arguments of a cache, and the calls that follow."""
    sizes = {"n": n, "d": d, "h": h, "layers": layers, "floats": size, "t_stale": t_stale}
    return {**sizes, **others, "calls": calls}


def fill(n, d):
    """Return a call of `fill` with features that are all different; node n - 1 is the hottest."""
    X = np.arange(1, n * d + 1, dtype=np.float32).reshape(n, d) / 8
    return ["fill", {"X": X, "hotness": np.arange(n)}]


def lookup(layer, nodes, i):
    return ["lookup", {"layer": layer, "ids": ids(*nodes), "i": i}]


def admit(layer, nodes, i, h=1):
    """Return a call of `admit` whose values name the layer, the node and the iteration."""
    values = [[100 * layer + 10 * v + i + k / 4 for k in range(h)] for v in nodes]
    nodes, values = ids(*nodes), floats(*values).reshape(-1, h)
    return ["admit", {"layer": layer, "ids": nodes, "values": values, "i": i}]


def evict(layer, nodes, i):
    return ["evict", {"layer": layer, "ids": ids(*nodes), "i": i}]


def features(*nodes):
    return ["fetch_features", {"ids": ids(*nodes)}]


def begin(i):
    return ["begin_update", {"i": i}]


def read(*slots):
    return ["read", {"slots": ids(*slots)}]


def run_of(n, iterations, layers, h):
    """Return calls like those of a training run: every node is asked for and written in turn."""
    calls = [fill(n, 2)]
    for i in range(iterations):
        calls += [lookup(1 + i % layers, range(n), i), features(*range(0, n, 2)), begin(i)]
        for layer in range(1, layers + 1):
            calls.append(admit(layer, [(i + layer) % n, (3 * i + 1) % n][:layer], i, h))
        calls += [evict(1, [i % n], i)]
    return calls


BY_HAND = options(
    *(4, 1, 1, 1, 3, 2),
    [
        fill(4, 1),
        features(0, 1, 2, 3),
        begin(0),
        admit(1, [2], 0),
        features(1, 2),
        lookup(1, [2, 3], 2),
        lookup(1, [2, 3], 3),
        begin(2),
        admit(1, [3, 0], 2),
        lookup(1, [2, 3, 0], 2),
        evict(1, [3, 2], 2),
        lookup(1, [2, 3, 0], 2),
        read(1),
    ],
)
BY_HAND_RESULTS = [
    None,
    [[[0], [0.25], [0.375], [0.5]], [False, True, True, True]],
    None,
    1,
    [[[0], [0.375]], [False, True]],
    [0, -1],
    [-1, -1],
    None,
    2,
    [-1, 0, 1],
    1,
    [-1, -1, 1],
    [[102.0]],
]
BY_HAND_WORKING = (
    "3 floats: 3 slots, or 3 features. Features .125 .25 .375 .5; 3 2 1 are the hottest and held, "
    "in floats 2 1 0. 120 for node 2 goes to slot 0, which is float 0: the feature of 1 is gone. "
    "Its stamp is 0, so it is valid in iteration 2 and not in 3. So in the update of iteration 2 "
    "slot 0 is free: 132 for node 3 goes there, 102 for node 0 to slot 1, which is new. Node 2 has "
    "no entry any more, so of 3 and 2 only 3 has one to evict."
)
AGAIN = [begin(1), admit(1, [0], 1), begin(3), admit(1, [3], 3), lookup(1, [0, 3], 4)]
CONTINUE_WORKING = (
    "Ages up to 3: in the update of iteration 3 the entry of node 0, of iteration 1, can be read "
    "in iteration 4. So the header, at slot 1, goes on: node 3 goes there."
)
CYCLE_WORKING = (
    "Iteration 3 begins a cycle, so the header goes back to slot 0. Node 3 goes there, over the "
    "entry of node 0, of iteration 1, which iteration 4 could have read: it is lost."
)
ERRORS: dict[str, dict] = {
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


def states(calls, **arguments):
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
    Case(
        "by_hand",
        BY_HAND,
        ("WORKED", "FREE", "GHOST", "GROWN_OVER", "STALE"),
        BY_HAND_RESULTS,
        BY_HAND_WORKING,
    ),
    Case(
        "by_hand_continue",
        options(4, 1, 1, 1, 10, 3, AGAIN),
        ("WORKED", "PASSED"),
        [None, 1, None, 1, [0, 1]],
        CONTINUE_WORKING,
    ),
    Case(
        "by_hand_cycle",
        options(4, 1, 1, 1, 10, 3, AGAIN, header="cycle"),
        ("WORKED", "CYCLE", "LOST"),
        [None, 1, None, 1, [-1, 0]],
        CYCLE_WORKING,
    ),
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
