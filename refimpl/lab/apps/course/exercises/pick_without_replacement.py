"""Draw m distinct integers below N, in the time that m takes."""

import numpy as np

from refimpl.streams import below


def pick_without_replacement(k, c, N, m):
    """Return `m` distinct integers of [0, N), in the order in which they are drawn."""
    for value in (N, m):
        if not isinstance(value, int):
            raise TypeError("N and m must be integers")
    if not 0 <= m <= N < 2**31:
        raise ValueError("N must be below 2**31, and m must be in [0, N]")
    moved = {}  # place -> its card, where that is another number
    picked = np.empty(m, np.int32)
    for i in range(m):
        j = i + below(k, (c + i) % 2**64, N - i)
        picked[i] = moved.get(j, j)
        moved[j] = moved.get(i, i)
    return picked
