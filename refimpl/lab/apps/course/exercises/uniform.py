"""Draw a random number by key and counter, without a state."""

from refimpl.streams import mix

GOLD = 0x9E3779B97F4A7C15


def uniform(k, c):
    """Return draw number `c` of the stream with key `k`: a multiple of 2**-53 in [0, 1)."""
    if not isinstance(c, int):
        # arithmetic on uint64 arrays is modulo 2**64 by itself
        return (mix(k + GOLD * (c + 1)) >> 11) * 2.0**-53
    return (mix((k + GOLD * (c + 1)) % 2**64) >> 11) * 2.0**-53
