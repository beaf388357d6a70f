"""Draw m distinct integers below N, in the time that m takes."""

import numpy as np

from refimpl.streams import below


def pick_without_replacement(k, c, N, m):
    """Return `m` distinct integers of [0, N), in the order in which they are drawn.

    A deck of cards 0, 1, .., N - 1 is shuffled from the front (Fisher and Yates), but only as far
    as it is looked at. For i = 0, 1, .., m - 1: place i changes its card with place
    j = i + below(k, c + i, N - i). The first m cards are the result.

    N may be two thousand million, with m = 5: the deck itself would not fit into memory. Remember
    only the places whose card is not their own number any more.

    Parameters
    ----------
    k, c : ints in [0, 2**64)
        Draws c, c + 1, .., c + m - 1 of the stream `k`; counters are modulo 2**64.
    N, m : ints, 0 <= m <= N < 2**31

    Returns
    -------
    (m,) int32 array

    Raises
    ------
    TypeError
        If `N` or `m` is no integer.
    ValueError
        If not 0 <= m <= N < 2**31.
    """
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


# ---- what follows is the course's ----

PAGE = "learn/frontier"
REFERENCE = "refimpl.streams:pick_without_replacement"
BESIDE = "The reference is the same loop, in `_pick_without_replacement`; checks stand before it."
REFUSES = True
HINTS = (
    "Write it with a list first, `deck = list(range(N))`, and see how many cases pass.",
    "A dict from places to cards takes the deck's place. `moved.get(j, j)` is the card at place j: "
    "what is remembered, or the place's own number.",
    "Place i is never looked at again, so what goes there need not be remembered: "
    "`picked[i] = moved.get(j, j)`, then `moved[j] = moved.get(i, i)`.",
)
MISTAKES = (
    (
        "j = i + below(k, (c + i) % 2**64, N - i)",
        "j = below(k, (c + i) % 2**64, N)",
        "takes j out of the whole deck, places in front of i too",
        "",
    ),
    (
        "moved[j] = moved.get(i, i)",
        "moved[j] = i",
        "puts the number i at place j, and not the card that lies at place i",
        "The first of them are right",
    ),
    (
        "below(k, (c + i) % 2**64, N - i)",
        "below(k, c, N - i)",
        "uses draw c for each card",
        "m is not 0",
    ),
    (
        "    moved = {}  # place -> its card, where that is another number\n"
        "    picked = np.empty(m, np.int32)\n"
        "    for i in range(m):\n"
        "        j = i + below(k, (c + i) % 2**64, N - i)\n"
        "        picked[i] = moved.get(j, j)\n"
        "        moved[j] = moved.get(i, i)\n"
        "    return picked\n",
        "    if N > 10**8:\n"
        "        raise MemoryError\n"
        "    deck = list(range(N))\n"
        "    for i in range(m):\n"
        "        j = i + below(k, (c + i) % 2**64, N - i)\n"
        "        deck[i], deck[j] = deck[j], deck[i]\n"
        "    return np.array(deck[:m], np.int32)\n",
        "keeps the whole deck in memory, all N cards for the m that are drawn",
        "N is a very large number",
    ),
    (
        "(c + i) % 2**64",
        "c + i",
        "does not take counters modulo 2**64",
        "A sum or a product passes 2**64",
    ),
)
