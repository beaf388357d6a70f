"""Questions that are no conformance vectors, in their form: of what is no kernel by itself."""

import numpy as np

from refimpl.history.policy import cache_update
from refimpl.lab.apps.conformance.case import EXACT, FLAGS, Case
from refimpl.lab.apps.conformance.encode import encode

POLICY_FLAGS = {
    "ALLOW": "The policy for performance leaves out some rows: they are not admitted.",
    "CACHED": "Some rows came from the cache: a stable one stays there as it is.",
    "FLOOR": "The count is floor(p m + 1e-9): a product just below an integer counts as that.",
    "KEEP": "Unstable rows are left in the cache, as in the public code.",
    "UNSTABLE_NEW": "A row that was computed now is unstable: an older entry of it is evicted.",
}


def rows(score, ids, comp, p, **others):
    """Return the arguments of `policy`; `comp` and `allow` as lists of 0 and 1."""
    allow = others.pop("allow", None)
    return {
        "ids": np.array(ids, np.int64),
        "score": np.array(score, np.float64),
        "comp": np.array(comp, np.bool_),
        "p": p,
        "gradient_evict": others.pop("gradient_evict", True),
        "allow": None if allow is None else np.array(allow, np.bool_),
    }


def named(admit, evict):
    """Return a result of `policy`."""
    return {"admit": np.array(admit, np.int64), "evict": np.array(evict, np.int64)}


FOUR = [3, 1, 1, 2], [5, 9, 4, 0], [1, 0, 1, 1], 0.75
FOUR_WORKING = (
    "floor(0.75 4) = 3 rows are stable: by score, rows 1 and 2 with 1 each, then row 3 with 2. Row "
    "1 came from the cache and stays. Rows 2 and 3 are new. Row 0, node 5, is unstable"
)
POLICY = (
    Case(
        "by_hand",
        rows(*FOUR),
        ("WORKED", "CACHED", "UNSTABLE_NEW"),
        named([2, 3], [5]),
        f"{FOUR_WORKING}.",
    ),
    Case(
        "not_allowed",
        rows(*FOUR, allow=[1, 1, 0, 1]),
        ("WORKED", "CACHED", "UNSTABLE_NEW", "ALLOW"),
        named([3], [5]),
        f"{FOUR_WORKING}. Row 2 may not be admitted; it is stable all the same, so not evicted.",
    ),
    Case(
        "keep",
        rows(*FOUR, gradient_evict=False),
        ("WORKED", "CACHED", "UNSTABLE_NEW", "KEEP"),
        named([2, 3], []),
        f"{FOUR_WORKING}, but nothing is evicted.",
    ),
    Case("all_new", rows([0.5, 4, 0.25, 2], [7, 3, 1, 8], [1] * 4, 0.5), ("UNSTABLE_NEW",)),
    Case("all_cached", rows([0.5, 4, 0.25, 2], [7, 3, 1, 8], [0] * 4, 0.5), ("CACHED",)),
    Case("everything", rows([2, 1, 3], [0, 1, 2], [1, 0, 1], 1.0), ("CACHED",)),
    Case("nothing", rows([2, 1, 3], [0, 1, 2], [0, 1, 0], 0.0), ("CACHED", "UNSTABLE_NEW")),
    Case("tie", rows([1] * 4, [9, 2, 7, 5], [1] * 4, 0.5), ("TIE", "UNSTABLE_NEW")),
    Case(
        "just_below_29",
        rows([0] * 100, range(100), [1] * 100, 0.29),
        ("FLOOR", "TIE", "UNSTABLE_NEW"),
    ),
    Case("no_rows", rows([], [], [], 0.5), ("EMPTY",)),
)


class Recorder:
    """A cache that remembers what it was asked to take in and to give up."""

    def __init__(self):
        self.admitted, self.evicted = (np.zeros(0, np.int64) for _ in range(2))

    def admit(self, layer, ids, values, i, take):
        """Remember the rows."""
        self.admitted = np.asarray(take, np.int64)
        return len(take)

    def evict(self, layer, ids, i):
        """Remember the nodes."""
        self.evicted = np.asarray(ids, np.int64)
        return len(ids)


def policy_reference(ids, score, comp, p, gradient_evict, allow):
    """Return what `cache_update` of refimpl asks of a cache."""
    cache, values = Recorder(), np.zeros((len(ids), 1))
    options = {"p": p, "gradient_evict": gradient_evict, "allow": allow}
    cache_update(cache, 1, ids, score, comp, values, 0, **options)
    return named(cache.admitted, cache.evicted)


def policy():
    """Return the questions of the exercise `policy`."""
    cases = [_written(case, policy_reference(**case.args)) for case in POLICY]
    known = {**FLAGS, **POLICY_FLAGS}
    used = sorted({flag for case in POLICY for flag in case.flags})
    return {
        "function": "policy",
        "source": {"paper": "vldb24", "place": "section 4.1"},
        "compare": {"rule": EXACT.rule},
        "writes": [],
        "flags": {flag: known[flag] for flag in used},
        "cases": cases,
    }


def _written(case, result):
    worked = {"working": case.working} if case.working else {}
    args = {name: encode(value) for name, value in case.args.items()}
    return {
        "id": case.id,
        "flags": list(case.flags),
        **worked,
        "args": args,
        "result": encode(result),
    }


OWN = {"policy": policy}
