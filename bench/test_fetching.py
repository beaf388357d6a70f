"""Fetching rows of features from the parts that hold them, without the owners' help and with it."""

from functools import cache, partial

import numpy as np

from bench import inputs
from bench.answers import alike, same
from bench.case import Bench, Task, timed
from bench.work import Part
from refimpl.loader import FeatureStore, Message, Trace, plan_fetch

PARTS, ME, WIDEST = 4, 0, 128
ID_BYTES = 8


@cache
def asked(size):
    """Return the features of all nodes, and nodes, many of them twice."""
    scale = inputs.SIZES[size]
    X = inputs.normal((scale.parent, min(scale.f, WIDEST)), 1)
    count = scale.n * (10 if size == "large" else 1)
    return X, np.random.default_rng(inputs.SEED).integers(0, len(X), count)


def messages(X, ids, two_sided):
    """Return the messages of a fetch: of each remote part the rows that are asked, each once."""
    found = []
    bounds = [len(X) * p // PARTS for p in range(PARTS + 1)]
    for p in set(range(PARTS)) - {ME}:
        rows = int(np.count_nonzero((bounds[p] <= ids) & (ids < bounds[p + 1])))
        if not rows:
            continue
        if two_sided:
            found += [Message(ME, p, rows * ID_BYTES, "idx"), Message(p, ME, 0, "sync")]
        found.append(Message(p, ME, rows * X[0].nbytes, "data"))
    return tuple(found)


def tasks_of(name, size):
    """Yield the input of `fetch_one_sided` or `fetch_two_sided`."""
    two_sided = name == "fetch_two_sided"

    X, ids = asked(size)
    sent = messages(X, np.unique(ids), two_sided)
    packed = sum(one.bytes for one in sent if one.kind == "data")
    trace = Trace(sent, packed, 2) if two_sided else Trace(sent, 0, 1)

    def check(got, args, other):
        same("result.rows", got.rows, X[ids])
        alike(got.trace, trace, "result.trace")

    plan = plan_fetch(FeatureStore.of(X, PARTS), ids, ME)
    nbytes = 2 * len(ids) * X[0].nbytes
    text = f"{len(ids):,} of n={len(X):,} in {PARTS} parts f={X.shape[1]} float32"
    yield Task(text, {"plan": plan}, check, [Part(nbytes, X.nbytes)])


test_fetching = timed(
    *(Bench(name, partial(tasks_of, name)) for name in ("fetch_one_sided", "fetch_two_sided"))
)
