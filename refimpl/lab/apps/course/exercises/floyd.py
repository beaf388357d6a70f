"""Draw f distinct integers below n, as a set."""

import numpy as np

from refimpl.streams import below


def floyd(key, n, f):
    """Return `f` distinct integers of [0, n), ascending: Floyd's algorithm.

    FreshGNN's sampler draws a node's neighbours so. For c = 0, 1, .., f - 1, with
    last = n - f + c: draw t = below(key, c, last + 1), so 0 <= t <= last, and choose t; where t is
    chosen already, choose `last`, which cannot be. Every set of f integers has the same chance.

    Parameters
    ----------
    key : int in [0, 2**64)
    n, f : ints, 0 <= f <= n < 2**31

    Returns
    -------
    (f,) int32 array
        Ascending, not in the order drawn.
    """
    chosen = set()
    for c in range(f):
        last = n - f + c
        t = below(key, c, last + 1)
        chosen.add(last if t in chosen else t)
    return np.array(sorted(chosen), np.int32)


# ---- what follows is the course's ----

PAGE = "learn/fresh_loader"
REFERENCE = "refimpl.streams:floyd"
BESIDE = "The reference is the same loop; it also refuses an f above n."
HINTS = (
    "A Python set holds what is chosen: `t in chosen` asks, `chosen.add(t)` adds.",
    "`last` grows with c: in step c there are n - f + c + 1 integers to choose from, 0 to `last`.",
    "`chosen.add(last if t in chosen else t)`, and `sorted(chosen)` at the end.",
)
MISTAKES = (
    (
        "chosen.add(last if t in chosen else t)",
        "chosen.add(t)",
        "adds t again where it is chosen already, so that there are fewer than f",
        "An integer is drawn that is chosen already",
    ),
    (
        "below(key, c, last + 1)",
        "below(key, c, last)",
        "never draws `last` itself",
        "",
    ),
    (
        "    chosen = set()\n    for c in range(f):",
        "    chosen = set()\n    for c in reversed(range(f)):",
        "goes through the steps from the last to the first",
        "",
    ),
    (
        "    chosen = set()\n"
        "    for c in range(f):\n"
        "        last = n - f + c\n"
        "        t = below(key, c, last + 1)\n"
        "        chosen.add(last if t in chosen else t)\n"
        "    return np.array(sorted(chosen), np.int32)",
        "    chosen = []\n"
        "    for c in range(f):\n"
        "        last = n - f + c\n"
        "        t = below(key, c, last + 1)\n"
        "        chosen.append(last if t in chosen else t)\n"
        "    return np.array(chosen, np.int32)",
        "returns them in the order drawn, not ascending",
        "They are the right numbers in another order",
    ),
    (
        "last if t in chosen else t",
        "t if t not in chosen else t + 1",
        "takes the next integer where t is chosen already: that one may be chosen, too",
        "An integer is drawn that is chosen already",
    ),
)
