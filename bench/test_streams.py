"""Draws by key and counter, and choosing without replacement."""

from functools import partial

import numpy as np

from bench import inputs
from bench.answers import as_other, same
from bench.case import Bench, Task, timed
from bench.work import Part, stream
from refimpl import streams
from refimpl.lab.backend import find

KEY = streams.key(inputs.SEED, streams.CALIBRATION)
COUNTS = {"tiny": 100, "medium": 100_000, "large": 4_000_000}


def words(size, value):
    """Return different words, and a check: about fifty of them must give their `value`."""
    counters = np.arange(COUNTS[size], dtype=np.uint64)
    some = range(0, counters.size, max(1, counters.size // 50))

    def check(got, args, other):
        want = np.array([value(int(counters[i])) for i in some], got.dtype)
        same("result", got[list(some)], want)

    return counters, check


def plain_mix(x):
    """Return the mixed word by the contract of docs/kernels/streams.md, in Python integers."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def plain_uniform(k, c):
    """Return draw c of key k, in Python integers."""
    return (plain_mix((k + 0x9E3779B97F4A7C15 * (c + 1)) % 2**64) >> 11) / 2**53


def draws(name, value, size, **args):
    """Yield the input of a kernel of words or counters; `value` is what one of them gives."""

    counters, check = words(size, value)
    which = {"mix": "x"}.get(name, "c")
    given = {**args, which: counters}
    yield Task(f"{counters.size:,} draws", given, check, stream(16 * counters.size))


def plain_key(*parts):
    """Return the key of some integers, in Python integers."""
    key = 0
    for part in parts:
        key = plain_mix((key + 0x9E3779B97F4A7C15 + part) % 2**64)
    return key


def key_tasks(size):
    """Yield the keys of the streams of many subgraphs."""
    parts = inputs.SEED, streams.SAMPLE
    counters, check = words(size, partial(plain_key, *parts))
    args, done = {"parts": [*parts, counters]}, stream(16 * counters.size)
    yield Task(f"{counters.size:,} keys", args, check, done, call=key_of)


def key_of(gnn, parts):
    """Return the keys of parts in a list."""
    return find(gnn, "key")(*parts)


def pick_tasks(size):
    """Yield choosing m of N in order."""
    N, m = {"tiny": (100, 10), "medium": (100_000, 1_000), "large": (2_000_000, 50_000)}[size]
    # at least two look-ups a pick, in a table of positions and values
    work = [Part(4 * m, 4 * m, random=2 * m, table=8 * m)]

    def check(got, args, other):
        deck = list(range(N))  # the whole deck, where the packages keep what moved
        for i in range(m):
            j = i + int(plain_uniform(KEY, i) * (N - i))
            deck[i], deck[j] = deck[j], deck[i]
        same("result", got, np.array(deck[:m], got.dtype))

    yield Task(f"{m:,} of {N:,}", {"k": KEY, "c": 0, "N": N, "m": m}, check, work)


def floyd_tasks(size):
    """Yield choosing f of n as a set."""
    n, f = {"tiny": (100, 10), "medium": (100_000, 1_000), "large": (2_000_000, 50_000)}[size]
    yield Task(f"{f:,} of {n:,}", {"key": KEY, "n": n, "f": f}, as_other("floyd"))


def permutation_tasks(size):
    """Yield a random order."""
    n = {"tiny": 100, "medium": 100_000, "large": 1_000_000}[size]
    yield Task(f"{n:,} numbers", {"key": KEY, "n": n}, as_other("permutation"))


def alias_tasks(size):
    """Yield the table for drawing by weight."""
    n = {"tiny": 100, "medium": 10_000, "large": 1_000_000}[size]
    weights = np.random.default_rng(inputs.SEED).random(n)
    yield Task(f"{n:,} weights", {"weights": weights}, as_other("alias_build"), stream(20 * n))


UPPER = 1_000
test_streams = timed(
    Bench("key", key_tasks, serial=True),
    Bench("mix", partial(draws, "mix", plain_mix), serial=True),
    Bench("uniform", partial(draws, "uniform", partial(plain_uniform, KEY), k=KEY), serial=True),
    Bench(
        "below",
        partial(draws, "below", lambda c: int(plain_uniform(KEY, c) * UPPER), k=KEY, n=UPPER),
        serial=True,
    ),
    Bench("pick_without_replacement", pick_tasks, serial=True),
    Bench("floyd", floyd_tasks, serial=True),
    Bench("permutation", permutation_tasks, serial=True),
    Bench("alias_build", alias_tasks, serial=True),
)
