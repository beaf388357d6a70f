"""Choosing some of many: shuffles, samples and a table to draw from."""

import math

from forms import WORD, is_array, is_integer, is_word
from streams import below


def pick_without_replacement(k, c, N, m):
    moved = {}  # deck[j] where it is not j: a deck of 2**31 cards is not kept
    picked = []
    for i in range(m):
        j = i + below(k, (c + i) % WORD, N - i)
        picked.append(moved.get(j, j))  # deck[j] goes to the front ..
        moved[j] = moved.get(i, i)  # .. and what stood there takes its place
    return picked


def permutation(key, n):
    return pick_without_replacement(key, 0, n, n)


def floyd(key, n, f):
    chosen = set()
    for c in range(f):
        last = n - f + c
        t = below(key, c, last + 1)
        if t in chosen:
            chosen.add(last)  # it is larger than all that could be drawn so far
        else:
            chosen.add(t)
    return sorted(chosen)


def alias_build(weights):
    k = len(weights)
    total = left_to_right_sum(weights)
    part = []
    for w in weights:
        part.append(w / total * k)  # in this order; the parts add up to k, but for rounding
    prob = [1.0] * k
    alias = list(range(k))
    small = []
    large = []
    for i in range(k):
        if part[i] < 1:
            small.append(i)
        else:
            large.append(i)
    while small and large:
        low = small.pop()  # the one that was put there last
        high = large.pop()
        prob[low] = part[low]
        alias[low] = high
        part[high] = (part[high] + part[low]) - 1
        if part[high] < 1:
            small.append(high)
        else:
            large.append(high)
    return {"prob": prob, "alias": alias}


def left_to_right_sum(numbers):
    total = 0.0
    for x in numbers:
        total += x
    return total


def check_pick_without_replacement(k, c, N, m):
    whole = is_integer(k) and is_integer(c) and is_integer(N) and is_integer(m)
    yield "type", "`k`, `c`, `N` or `m` is no integer", not whole
    yield "value", "`k` or `c` is not in [0, 2**64)", not (is_word(k) and is_word(c))
    yield "value", "not 0 <= `N` < 2**31", not 0 <= N < 2**31
    yield "value", "not 0 <= `m` <= `N`", not 0 <= m <= N


def check_permutation(key, n):
    yield "type", "`key` or `n` is no integer", not (is_integer(key) and is_integer(n))
    yield "value", "`key` is not in [0, 2**64)", not is_word(key)
    yield "value", "not 0 <= `n` < 2**31", not 0 <= n < 2**31


def check_floyd(key, n, f):
    whole = is_integer(key) and is_integer(n) and is_integer(f)
    yield "type", "`key`, `n` or `f` is no integer", not whole
    yield "value", "`key` is not in [0, 2**64)", not is_word(key)
    yield "value", "not 0 <= `n` < 2**31", not 0 <= n < 2**31
    yield "value", "not 0 <= `f` <= `n`", not 0 <= f <= n


def check_alias_build(weights):
    floats = is_array(weights) and weights.dtype in ("float32", "float64")
    yield "type", "`weights` is no array of float32 or float64", not floats
    yield (
        "value",
        "`weights` is not one-dimensional, or is empty",
        len(weights.shape) != 1 or not weights,
    )
    least, most = min(weights), max(weights)
    broken = any(math.isnan(w) for w in weights)
    yield "value", "a weight is negative, infinite or NaN", broken or least < 0 or math.isinf(most)
    total = left_to_right_sum(weights)
    yield "value", "the sum of the weights is 0 or infinite", total == 0 or math.isinf(total)
