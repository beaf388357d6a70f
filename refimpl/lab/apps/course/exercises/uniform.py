"""Draw a random number by key and counter, without a state."""

from refimpl.streams import mix

GOLD = 0x9E3779B97F4A7C15


def uniform(k, c):
    """Return draw number `c` of the stream with key `k`: a multiple of 2**-53 in [0, 1).

    A generator with a state must be asked for draw 0 before draw 1. Here every draw is a function
    of (k, c), so that any thread can compute any draw, in any order. Draw c is made of the 64-bit
    integer mix(k + GOLD (c + 1)), the argument modulo 2**64: its upper 53 bits, as many as a
    float64 can hold, times 2**-53.

    Parameters
    ----------
    k : int in [0, 2**64)
    c : int in [0, 2**64), or a uint64 array of any shape

    Returns
    -------
    float, or float64 array of the shape of `c`
    """
    if not isinstance(c, int):
        # arithmetic on uint64 arrays is modulo 2**64 by itself
        return (mix(k + GOLD * (c + 1)) >> 11) * 2.0**-53
    return (mix((k + GOLD * (c + 1)) % 2**64) >> 11) * 2.0**-53


# ---- what follows is the course's ----

PAGE = "learn/pool"
REFERENCE = "refimpl.streams:uniform"
BESIDE = (
    "The reference writes `& MASK` for modulo 2**64, which is right for integers and arrays, and "
    "so needs one line."
)
HINTS = (
    "Three steps: the integer that is mixed, its upper 53 bits, the product with 2.0**-53.",
    "The upper 53 of 64 bits: shift to the right by 11.",
    "Counters begin at 0, and draw 0 mixes k + GOLD: hence c + 1. A sum above 2**64 must be cut "
    "before `mix` sees it: `% 2**64`.",
)
MISTAKES = (
    (
        "mix((k + GOLD * (c + 1)) % 2**64)",
        "mix((k + GOLD * c) % 2**64)",
        "multiplies by c in the place of c + 1, so that each draw is the one before",
        "",
    ),
    (
        "(mix((k + GOLD * (c + 1)) % 2**64) >> 11) * 2.0**-53",
        "mix((k + GOLD * (c + 1)) % 2**64) * 2.0**-64",
        "divides all 64 bits by 2**64: a float64 has 53, so it rounds, up to 1.0 even",
        "They differ by rounding only",
    ),
    (
        "return (mix((k + GOLD * (c + 1)) % 2**64)",
        "return (mix(k + GOLD * (c + 1))",
        "does not take the sum modulo 2**64",
        "A sum or a product passes 2**64",
    ),
    (
        "    if not isinstance(c, int):\n"
        "        # arithmetic on uint64 arrays is modulo 2**64 by itself\n"
        "        return (mix(k + GOLD * (c + 1)) >> 11) * 2.0**-53\n",
        "    c = int(c)\n",
        "takes one counter only, and no array of them",
        "c is an array",
    ),
)
