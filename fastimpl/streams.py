"""refimpl/streams.py on kernels."""

import numpy as np

from fastimpl import _streams
from fastimpl._twin import twin
from refimpl._support import require


@twin
def mix(x):
    x = require.word_or_words("x", x)
    if isinstance(x, int):
        return _streams.mix_one(x)
    return _over_words(_streams.mix_many, x, np.uint64)


@twin
def key(*parts):
    k = 0
    for p in parts[:-1]:
        k = _streams.absorb_one(k, require.word("parts", p))
    for p in parts[-1:]:
        p = require.word_or_words("parts", p)
        if not isinstance(p, int):
            return _over_words(_streams.absorb_many, p, np.uint64, k)
        k = _streams.absorb_one(k, p)
    return k


@twin
def uniform(k, c):
    k, c = require.word("k", k), require.word_or_words("c", c)
    if isinstance(c, int):
        return _streams.uniform_one(k, c)
    return _over_words(_streams.uniform_many, c, np.float64, k)


@twin
def below(k, c, n):
    n = require.integer("n", n, 1, 2**53 - 1)
    k, c = require.word("k", k), require.word_or_words("c", c)
    if isinstance(c, int):
        return _streams.below_one(k, c, n)
    out = np.empty(c.shape, np.int64)
    _streams.below_many(k, require.plain(c).reshape(-1), n, out.reshape(-1))
    return out


@twin
def pick_without_replacement(k, c, N, m):
    k, c = require.word("k", k), require.word("c", c)
    N = require.integer("N", N, 0, 2**31 - 1)
    picked = np.empty(require.integer("m", m, 0, N), np.int32)
    _streams.pick_without_replacement(k, c, N, picked)
    return picked


@twin
def floyd(key, n, f):
    key = require.word("key", key)
    n = require.integer("n", n, 0, 2**31 - 1)
    chosen = np.empty(require.integer("f", f, 0, n), np.int32)
    if not _streams.floyd(key, n, chosen):
        chosen.sort()
    return chosen


@twin
def permutation(key, n):
    key = require.word("key", key)
    deck = np.arange(require.integer("n", n, 0, 2**31 - 1), dtype=np.int32)
    _streams.permute(key, deck)
    return deck


def _over_words(kernel, words, dtype, *leading):
    out = np.empty(words.shape, dtype)
    kernel(*leading, require.plain(words).reshape(-1), out.reshape(-1))
    return out
