"""Make the key of a stream of random numbers from its parts."""

from refimpl.streams import mix

GOLD = 0x9E3779B97F4A7C15


def key(*parts):
    """Return one 64-bit integer for the integers `parts`, which name a stream of draws."""
    a = 0
    for p in parts:
        a = mix((a + GOLD + p) % 2**64)
    return a
