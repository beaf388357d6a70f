"""What the cost models' two kinds of memory operation cost on the running machine."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl.hints import Int, bound
from refimpl.streams import CALIBRATION, key


class Calibration(NamedTuple):
    """Seconds of the operations that the models count, on this machine: `calibrate` measures them.

    Attributes
    ----------
    draw : one random number
    access : one random 4-byte read
    write : one 4-byte write in a row
    """

    draw: float
    access: float
    write: float

    @property
    def c_rand(self) -> float:
        """Seconds of a probe: a random number and a random read."""
        return self.draw + self.access

    @property
    def c_mem(self) -> float:
        """Seconds of an entry written."""
        return self.write


@bound
def calibrate(gnn, *, entries: Int = 60_000, repeats: Int = 9) -> Calibration:
    """Measure what a probe and an entry written cost on this machine.

    For comparison with the papers' c_rand = c_mem (IPDPS'19 section IV-C). Each is the fastest of
    `repeats` passes over many elements, so that the time of a call does not count; reads that do
    not depend on each other overlap, as in probing by lanes.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl: whose random numbers.
    entries : int
        Length of the Dashboard, eta m d; 60,000 is the papers' example. 4 bytes each: whether
        they fit in a cache decides what a random read costs.
    repeats : int

    Returns
    -------
    Calibration

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer or out of range.
    """
    entries = require.integer("entries", entries, 1, 2**31 - 1)
    repeats = require.integer("repeats", repeats, 1, 2**31 - 1)
    table = np.zeros(entries, np.int32)
    count = 2**19
    draws, found = np.arange(count, dtype=np.uint64), np.empty(count, np.int32)
    k = key(0, CALIBRATION)
    places = (gnn.streams.uniform(k, draws) * entries).astype(np.int64)
    rewrites = -(-count // entries)  # a small table is written many times, in its cache

    def write():
        for value in range(rewrites):
            table.fill(value)

    passes = (
        (lambda: gnn.streams.uniform(k, draws), count),
        (lambda: np.take(table, places, out=found, mode="wrap"), count),
        (write, rewrites * entries),
    )
    return Calibration(*(_fastest(work, repeats) / size for work, size in passes))


def _fastest(work, repeats):
    seconds = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        seconds.append(perf_counter() - begin)
    return min(seconds)
