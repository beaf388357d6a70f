"""Scramble a 64-bit integer."""

MASK = 2**64 - 1


def mix(x):
    """Return the integer `x` scrambled: each bit of the result depends on all bits of `x`."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)
