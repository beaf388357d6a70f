"""A cache that holds what was used last: its misses, for all sizes at once.

In a fully associative cache that throws out what was not used for longest, an access hits if and
only if fewer different lines were met since the last access to its own line than the cache has
room for (Mattson et al. 1970). So one pass over the accesses gives the misses of every size.
"""

import numpy as np

FIRST = np.iinfo(np.int64).max  # of a line that was not met before


def stack_distances(lines):
    """Return how many different lines were met since each access's line was met before.

    The accesses between two to one line that meet another line for the first time in between are
    those whose own last access is before both: all accesses so far with an earlier last access,
    less those up to the first of the two. O(n log n) time.

    Parameters
    ----------
    lines : (n,) integer array
        The numbers of the lines, in the order of the accesses.

    Returns
    -------
    (n,) int64 array
        `FIRST` where the line was not met before.
    """
    lines = np.asarray(lines)
    count = len(lines)
    order = np.argsort(lines, kind="stable")
    last = np.full(count, -1, np.int64)
    again = lines[order[1:]] == lines[order[:-1]]
    last[order[1:][again]] = order[:-1][again]
    rank = np.empty(count, np.int64)
    rank[np.argsort(last, kind="stable")] = np.arange(count)
    return np.where(last < 0, FIRST, earlier_and_smaller(rank) - last - 1)


def earlier_and_smaller(rank):
    """Return, for each number of a permutation of 0 .. n - 1, how many before it are smaller.

    From the highest bit down, numbers that agree in all higher bits stand together, in their
    order; one with a 1 then has before it, and smaller, those of them with a 0. O(n log n) time.

    Returns
    -------
    (n,) int64 array
    """
    count, found = len(rank), np.zeros(len(rank), np.int64)
    place, numbers = np.arange(count), rank
    for bit in reversed(range(max(count - 1, 0).bit_length())):
        ones = (numbers >> bit & 1).astype(bool)
        group = numbers >> (bit + 1)
        zeros = np.concatenate([[0], np.cumsum(~ones)])
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        start_of = np.repeat(starts, np.diff(starts, append=count))
        found[place[ones]] += (zeros[:-1] - zeros[start_of])[ones]
        inside = np.lexsort((ones, start_of))  # stable: zeros first in each group
        place, numbers = place[inside], numbers[inside]
    return found


def misses(distances, counted, room):
    """Return how many of the counted accesses miss in a cache with room for so many lines."""
    return int(np.count_nonzero(distances[counted] >= room))
