"""Scramble a 64-bit integer."""

MASK = 2**64 - 1


def mix(x):
    """Return the integer `x` scrambled: each bit of the result depends on all bits of `x`.

    SplitMix64's last step (Steele, Lea and Flood 2014), which all random numbers here end with.
    With all arithmetic modulo 2**64:

    - x becomes (x xor (x >> 30)) times 0xBF58476D1CE4E5B9
    - x becomes (x xor (x >> 27)) times 0x94D049BB133111EB
    - the result is x xor (x >> 31)

    Parameters
    ----------
    x : int in [0, 2**64), or a uint64 array of any shape
        The integers of Python have no end, so a product must be cut to 64 bits (`MASK`); those of
        a uint64 array are cut by themselves. One line can do both.

    Returns
    -------
    int, or uint64 array of the shape of `x`
    """
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


# ---- what follows is the course's ----

PAGE = "learn/pool"
REFERENCE = "refimpl.streams:mix"
BESIDE = "The reference is the same three lines; it also refuses what is no integer in range."
HINTS = (
    "In Python `^` is exclusive or, `>>` shifts to the right, `&` keeps the bits that both have. "
    "`x & MASK` is x modulo 2**64.",
    "`*` is done before `&`, so `(x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK` needs no more "
    "brackets.",
    "Three statements: two like `x = (x ^ (x >> a)) * b & MASK`, then `return x ^ (x >> 31)`.",
)
MISTAKES = (
    (
        "* 0xBF58476D1CE4E5B9 & MASK",
        "* 0xBF58476D1CE4E5B9",
        "cuts the second product to 64 bits, but not the first",
        "x is 2**53 or more",
    ),
    (
        "return x ^ (x >> 31)",
        "return x",
        "leaves out the last fold, x xor (x >> 31)",
        "The upper 31 of 64 bits are right",
    ),
    (
        "(x ^ (x >> 27)) * 0x94D049BB133111EB",
        "(x ^ (x >> 30)) * 0x94D049BB133111EB",
        "shifts by 30 both times",
        "",
    ),
)
