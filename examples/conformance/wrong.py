"""`tiny_lists` with one line wrong: the transposition forgets line 8 of Algorithm 6.

PYTHONPATH=examples/conformance minibatch-gnn conformance --impl wrong
"""

from itertools import accumulate

from tiny_lists import *  # noqa: F403
from tiny_lists import neighbours


def transpose_perm(graph):
    rows = neighbours(graph)
    starts = [0, *accumulate(map(len, rows))]
    perm, j = [None] * starts[-1], 0
    for row in rows:
        for u in row:
            perm[starts[u]] = j  # line 8, `starts[u] += 1`, should follow
            j += 1
    return perm
