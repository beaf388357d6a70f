"""Draw a random integer below n."""

import numpy as np

from refimpl.streams import uniform


def below(k, c, n):
    """Return draw number `c` of the stream `k` as an integer in [0, n): floor(uniform(k, c) n).

    The product is one of float64. It never rounds up to n, for any n below 2**53.

    Parameters
    ----------
    k : int in [0, 2**64)
    c : int in [0, 2**64), or a uint64 array of any shape
    n : int in [1, 2**53)

    Returns
    -------
    int, or int64 array of the shape of `c`

    Raises
    ------
    TypeError
        If `n` is no integer; 2.0 is none, nor is True.
    ValueError
        If `n` is below 1, or 2**53 or more.
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError("n must be an integer")
    if not 1 <= n < 2**53:
        raise ValueError("n must be in [1, 2**53)")
    draw = uniform(k, c)
    return int(draw * n) if isinstance(c, int) else (draw * n).astype(np.int64)


# ---- what follows is the course's ----

PAGE = "learn/frontier"
REFERENCE = "refimpl.streams:below"
BESIDE = (
    "The reference checks its arguments by `refimpl/_support/require.py`; its last two lines "
    "are the algorithm."
)
REFUSES = True
HINTS = (
    "`uniform` takes arrays of counters already, and returns an array then.",
    "`int(x)` rounds a positive number down, `array.astype(np.int64)` does so for each number.",
    "True is an int in Python: `isinstance(True, int)` holds, so ask for bool, too.",
)
MISTAKES = (
    (
        "int(draw * n) if",
        "round(draw * n) if",
        "rounds to the nearest integer, which may be n",
        "Yours is 1 too large",
    ),
    (
        "(draw * n).astype(np.int64)",
        "np.rint(draw * n).astype(np.int64)",
        "rounds arrays to the nearest integer, so that 0 comes half as often as 1",
        "Each of yours is 1 too large",
    ),
    (
        "int(draw * n) if isinstance(c, int) else (draw * n).astype(np.int64)",
        "int(draw * n)",
        "takes one counter only, and no array of them",
        "c is an array",
    ),
    (
        "draw * n).astype",
        "draw * (n - 1)).astype",
        "multiplies by n - 1, so that n - 1 never comes",
        "1 of 3 numbers differ",
    ),
    (
        "if not isinstance(n, int) or isinstance(n, bool):",
        "if not isinstance(n, int):",
        "takes True for an integer",
        "n = true",
    ),
)
