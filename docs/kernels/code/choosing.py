"""Choosing some of many: shuffles, samples and a table to draw from."""

from forms import WORD, is_integer, is_word
from streams import below


def pick_without_replacement(k, c, N, m):
    moved = {}  # deck[j] where it is not j: a deck of 2**31 cards is not kept
    picked = []
    for i in range(m):
        j = i + below(k, (c + i) % WORD, N - i)
        picked.append(moved.get(j, j))  # deck[j] goes to the front ..
        moved[j] = moved.get(i, i)  # .. and what stood there takes its place
    return picked


def check_pick_without_replacement(k, c, N, m):
    yield "type", "`k`, `c`, `N` or `m` is no integer", not all(map(is_integer, (k, c, N, m)))
    yield "value", "`k` or `c` is not in [0, 2**64)", not (is_word(k) and is_word(c))
    yield "value", "not 0 <= `N` < 2**31", not 0 <= N < 2**31
    yield "value", "not 0 <= `m` <= `N`", not 0 <= m <= N
