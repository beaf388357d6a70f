"""Draw a random integer below n."""

import numpy as np

from refimpl.streams import uniform


def below(k, c, n):
    """Return draw number `c` of the stream `k` as an integer in [0, n): floor(uniform(k, c) n)."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError("n must be an integer")
    if not 1 <= n < 2**53:
        raise ValueError("n must be in [1, 2**53)")
    draw = uniform(k, c)
    return int(draw * n) if isinstance(c, int) else (draw * n).astype(np.int64)
