"""Draws by key and counter, and sampling without replacement."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import refimpl
from bench import inputs
from bench.work import Part, stream
from refimpl.streams import CALIBRATION

KEY = refimpl.streams.key(inputs.SEED, CALIBRATION)


@pytest.mark.serial
def test_uniform(case):
    counters = np.arange({"small": 100_000, "large": 4_000_000}[case.size], dtype=np.uint64)
    case.describe("uniform", f"{counters.size:,} draws", stream(16 * counters.size))
    got = case.run(case.gnn.streams.uniform, KEY, counters)
    some = range(0, counters.size, counters.size // 50)
    assert_array_equal(got[list(some)], [plain_uniform(KEY, c) for c in some])


def plain_uniform(k, c):
    """Return a draw by the contract of docs/kernels/streams.md, in Python integers."""
    x = (k + 0x9E3779B97F4A7C15 * (c + 1)) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return ((x ^ (x >> 31)) >> 11) / 2**53


@pytest.mark.serial
def test_pick_without_replacement(case):
    N, m = {"small": (100_000, 1_000), "large": (2_000_000, 50_000)}[case.size]
    # at least two look-ups a pick, in a table of positions and values
    work = [Part(4 * m, 4 * m, random=2 * m, table=8 * m)]
    case.describe("pick_without_replacement", f"{m:,} of {N:,}", work)
    got = case.run(case.gnn.streams.pick_without_replacement, KEY, 0, N, m)
    deck = list(range(N))  # the whole deck, where both packages keep what moved
    for i in range(m):
        j = i + int(plain_uniform(KEY, i) * (N - i))
        deck[i], deck[j] = deck[j], deck[i]
    assert_array_equal(got, deck[:m])
