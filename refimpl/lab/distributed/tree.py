"""Sums over the workers of a step along one binary tree, whoever adds which part of it.

Floating-point sums depend on their order. So the order is fixed by the workers' numbers alone: the
sum over workers lo .. hi - 1 is that over lo .. mid - 1 plus that over mid .. hi - 1, where mid is
lo and the largest power of two below hi - lo. A rank adds up what lies wholly within its own
workers; the sums above that are added where the parts of several ranks meet.
"""


def halves(lo, hi):
    """Return where the tree cuts the workers lo .. hi - 1, at least two."""
    return lo + (1 << (hi - lo - 1).bit_length() - 1)


def total(lo, hi, part):
    """Return the sum of ``part(w)`` over the workers w = lo .. hi - 1; they are called in order.

    `part` returns arrays, or numbers; the result is a new one, unless it is of one worker.
    """
    if hi - lo == 1:
        return part(lo)
    mid = halves(lo, hi)
    left = total(lo, mid, part)
    return left + total(mid, hi, part)


def within(first, last, lo, hi):
    """Return the largest parts (lo, hi) of a tree that have no worker but first .. last - 1.

    In order; (lo, hi) is the tree. There are at most two for each of its levels.
    """
    if first <= lo and hi <= last:
        return [(lo, hi)]
    if hi <= first or last <= lo:
        return []
    mid = halves(lo, hi)
    return within(first, last, lo, mid) + within(first, last, mid, hi)


def total_of_parts(lo, hi, parts):
    """Return the sum over the workers lo .. hi - 1 from those over parts of the tree."""
    if (lo, hi) in parts:
        return parts[lo, hi]
    mid = halves(lo, hi)
    return total_of_parts(lo, mid, parts) + total_of_parts(mid, hi, parts)
