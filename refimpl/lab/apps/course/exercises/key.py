"""Make the key of a stream of random numbers from its parts."""

from refimpl.streams import mix

GOLD = 0x9E3779B97F4A7C15


def key(*parts):
    """Return one 64-bit integer for the integers `parts`, which name a stream of draws.

    All parts count, and so does their order: key(7, 1) and key(1, 7) have nothing in common. Begin
    with a = 0. For each part p in turn, a becomes mix(a + GOLD + p), the sum modulo 2**64. The key
    is the last a.

    Parameters
    ----------
    *parts : ints in [0, 2**64)
        Here (seed, what the draws are for, ..); there may be none.

    Returns
    -------
    int in [0, 2**64)
    """
    a = 0
    for p in parts:
        a = mix((a + GOLD + p) % 2**64)
    return a


# ---- what follows is the course's ----

PAGE = "learn/pool"
REFERENCE = "refimpl.streams:key"
BESIDE = "The reference lets the last part be an array, so that many keys are made at once."
HINTS = (
    "It is a loop over `parts` with one statement in it.",
    "`mix` refuses integers of more than 64 bits: take the sum modulo 2**64 before.",
    "`a = mix((a + GOLD + p) % 2**64)`",
)
MISTAKES = (
    (
        "    for p in parts:\n        a = mix((a + GOLD + p) % 2**64)\n    return a",
        "    return mix((GOLD + sum(parts)) % 2**64)",
        "adds all parts up and mixes once, so that their order does not count",
        "parts has 1 item",
    ),
    (
        "mix((a + GOLD + p) % 2**64)",
        "mix((a + p) % 2**64)",
        "leaves out GOLD",
        "parts is not empty",
    ),
    (
        "mix((a + GOLD + p) % 2**64)",
        "mix(a + GOLD + p)",
        "does not take the sum modulo 2**64",
        "raised ValueError",
    ),
)
