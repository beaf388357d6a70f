"""Random numbers by key and counter: SplitMix64 as a function, not as a state.

Draw number c of the stream with key k is ``uniform(k, c)``: anyone can compute any draw, in any
order, on any thread, in any language. Keys and counters are integers modulo 2**64. Source:
Steele, Lea and Flood 2014 (SplitMix64); the keyed form is this project's own contract.

The public functions check their arguments once, then call the core of the same name with a ``_``
in front, which checks nothing. Whoever draws in a loop takes a `Stream`, which calls the core.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from refimpl._support import require
from refimpl.hints import Floats, Ids, Int, Rng, Values, Words

__all__ = [
    "as_seed",
    "below",
    "floyd",
    "key",
    "mix",
    "permutation",
    "pick_without_replacement",
    "uniform",
]

BLOCK = 2**18  # words in one call of NumPy: between two calls, Ctrl-C is noticed
GOLD = 0x9E3779B97F4A7C15
MASK = 2**64 - 1


class Domain(NamedTuple):
    """What some draws are for: the keys of no two domains are alike."""

    name: str
    number: int
    follows: tuple  # the parts of a key behind (seed, number)
    drawn: str


# Every key is (seed, domain, ..): all domains, what follows, and what is drawn.
DOMAINS = (
    Domain("SAMPLE", 0, ("subgraph", "stream"), "a subgraph; stream 0 is main, 1 is probe"),
    Domain("SAINT", 1, ("subgraph", "stream"), "the same for GraphSAINT's normalisation"),
    Domain("INIT", 2, ("layer", "matrix"), "initial weights; the entry counts"),
    Domain("DROPOUT", 3, ("iteration", "input"), "a mask of dropout; the element counts"),
    Domain("LAYER", 4, ("epoch", "batch"), "all that a batch of layer sampling draws, in order"),
    Domain("SHUFFLE", 5, ("epoch",), "the order of an epoch's nodes or clusters"),
    Domain("DATA", 6, ("use",), "a data set; each use has a number of its own"),
    Domain("CONTROL", 7, ("iteration", "layer"), "scores at random; the node counts"),
    Domain("CLUSTERS", 8, (), "where clusters begin to grow"),
    Domain("NODES", 9, ("epoch",), "the order of an epoch's nodes, for neighbour sampling"),
    Domain("NEIGHBOR", 10, ("epoch", "batch", "layer", "node"), "a node's neighbours"),
    Domain("SHARED", 11, ("epoch", "batch", "node"), "a node's neighbours, once for all layers"),
    Domain(
        "RELATION",
        12,
        ("epoch", "batch", "layer", "relation", "node"),
        "a node's neighbours in one relation",
    ),
    Domain("NODE_DROPOUT", 13, ("iteration", "input", "node"), "a node's mask; the column counts"),
    Domain("STRUCTURE", 14, (), "the nodes whose clustering is estimated"),
    Domain("CALIBRATION", 15, (), "the places of random reads that are timed"),
    Domain(
        "ATTENTION",
        16,
        ("iteration", "layer", "node"),
        "what is dropped of a row's attention, that of a node or of a subgraph; entry and head "
        "count",
    ),
    Domain("WORKER", 17, ("number",), "the seed of a worker, and from that one of each epoch's"),
    Domain("PARTS", 18, ("epoch",), "which nodes change places, by node; epoch 0: clusters begin"),
    Domain(
        "HOP",
        19,
        ("epoch", "batch", "hop", "relation", "row"),
        "edges that a row of a hop draws for PyG",
    ),
    Domain(
        "REPLACED", 20, ("epoch", "batch", "hop", "relation", "row"), "the same, with replacement"
    ),
    Domain("NEGATIVES", 21, ("epoch", "batch"), "pairs of nodes without an edge, for PyG"),
    Domain("LABOR", 22, ("epoch", "group", "layer"), "what LABOR orders nodes by; the node counts"),
    Domain("BUDGET", 23, ("epoch", "batch", "hop", "type"), "HGT's nodes; the node counts"),
)
SAMPLE, SAINT, INIT, DROPOUT, LAYER, SHUFFLE, DATA, CONTROL, CLUSTERS = range(9)
NODES, NEIGHBOR, SHARED, RELATION, NODE_DROPOUT, STRUCTURE, CALIBRATION, ATTENTION = range(9, 17)
WORKER, PARTS, HOP, REPLACED, NEGATIVES, LABOR, BUDGET = range(17, 24)
PROFILE_EPOCH = 2**31  # of trial runs: training ends before an epoch of this number


@overload
def mix(x: Int) -> int: ...
@overload
def mix(x: Words) -> Words: ...
def mix(x: Int | Words) -> int | Words:
    """Return SplitMix64's finaliser of `x`, a bijection of the 64-bit integers.

    Steele, Lea and Flood 2014. O(1) time an element.

    Parameters
    ----------
    x : int in [0, 2**64), or uint64 array of any shape

    Returns
    -------
    int, or uint64 array of the shape of `x`

    Raises
    ------
    TypeError, ValueError
        If `x` is not an integer, or not in range.

    Examples
    --------
    >>> hex(mix(1))
    '0x5692161d100b05e5'
    """
    return _each(_mix, require.word_or_words("x", x), np.uint64)


def _each(core, words, dtype):
    """Return what `core` makes of an int, or of each word of an array."""
    if isinstance(words, int):
        return core(words)
    made = np.empty(words.shape, dtype)
    flat, out = words.reshape(-1), made.reshape(-1)
    for i in range(0, flat.size, BLOCK):
        out[i : i + BLOCK] = core(flat[i : i + BLOCK])
    return made


def _mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


@overload
def key(*parts: Int) -> int: ...
@overload
def key(*parts: Int | Words) -> Any: ...
def key(*parts: Int | Words) -> int | Words:
    """Return the key of the stream named by the integers `parts`: (seed, domain, ..).

    This project's contract, not in the papers: ``a = mix(a + GOLD + part)`` from a = 0, part by
    part. `DOMAINS` says what follows each domain. O(number of parts) time.

    Parameters
    ----------
    *parts : ints in [0, 2**64)
        The last may be a uint64 array of any shape: a key for each of its elements.

    Returns
    -------
    int in [0, 2**64), or uint64 array of the shape of the last part

    Raises
    ------
    TypeError, ValueError
        If a part is not an integer, or not in range.

    Examples
    --------
    >>> hex(key(7, 1, 2, 3))
    '0xe9fba137853dae22'
    """
    a = 0
    for p in parts[:-1]:
        a = _absorb(a, require.word("parts", p))
    for p in parts[-1:]:
        a = _each(partial(_absorb, a), require.word_or_words("parts", p), np.uint64)
    return a


def _absorb(a, part):
    return _mix((a + GOLD & MASK) + part & MASK)


@overload
def uniform(k: Int, c: Int) -> float: ...
@overload
def uniform(k: Int, c: Words) -> Values[np.float64]: ...
def uniform(k: Int, c: Int | Words) -> float | Values[np.float64]:
    """Return draw number `c` of the stream with key `k`: a multiple of 2**-53 in [0, 1).

    Draw c of SplitMix64 seeded with k (Steele, Lea and Flood 2014). O(1) time an element.

    Parameters
    ----------
    k : int in [0, 2**64)
    c : int in [0, 2**64), or uint64 array of any shape
        Counters from 0.

    Returns
    -------
    float, or float64 array of the shape of `c`

    Raises
    ------
    TypeError, ValueError
        If `k` or `c` is not an integer, or not in range.

    Examples
    --------
    >>> [uniform(key(7, 1, 2, 3), c) for c in range(2)]
    [0.16154805001137196, 0.46206577479289324]
    """
    k = require.word("k", k)
    return _each(partial(_uniform, k), require.word_or_words("c", c), np.float64)


def _uniform(k, c):
    return (_mix(k + GOLD * (c + 1 & MASK) & MASK) >> 11) * 2.0**-53


@overload
def below(k: Int, c: Int, n: Int) -> int: ...
@overload
def below(k: Int, c: Words, n: Int) -> np.ndarray[tuple[Any, ...], np.dtype[np.int64]]: ...
def below(k: Int, c: Int | Words, n: Int) -> int | np.ndarray[tuple[Any, ...], np.dtype[np.int64]]:
    """Return ``floor(uniform(k, c) * n)``: an integer in [0, n), uniform up to n / 2**53.

    No clamp is needed: the product rounds below n for every n < 2**53. Not in the papers,
    which only say "random". O(1) time an element.

    Parameters
    ----------
    k : int in [0, 2**64)
    c : int in [0, 2**64), or uint64 array of any shape
    n : int in [1, 2**53)

    Returns
    -------
    int, or int64 array of the shape of `c`

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, or not in range.

    Examples
    --------
    >>> [below(key(7, 1, 2, 3), c, 10) for c in range(8)]
    [1, 4, 9, 6, 7, 8, 9, 2]
    """
    n = require.integer("n", n, 1, 2**53 - 1)
    k, c = require.word("k", k), require.word_or_words("c", c)
    if isinstance(c, int):
        return _below(k, c, n)
    return _each(lambda words: (_uniform(k, words) * n).astype(np.int64), c, np.int64)


def _below(k, c, n):
    return int(_uniform(k, c) * n)


def pick_without_replacement(k: Int, c: Int, N: Int, m: Int) -> Ids:
    """Return `m` distinct integers of [0, N), in the order drawn: a partial Fisher-Yates shuffle.

    Draws c, c+1, .., c+m-1 of the stream with key `k`, one per pick. Durstenfeld 1964,
    Algorithm 235, ended early. O(m) time and memory.

    Parameters
    ----------
    k, c : ints in [0, 2**64)
    N, m : ints, 0 <= m <= N < 2**31

    Returns
    -------
    (m,) int32 array

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, or not in range.

    Examples
    --------
    >>> pick_without_replacement(key(7, 1, 2, 3), 0, 10, 4)
    array([1, 5, 9, 7], dtype=int32)
    """
    k, c = require.word("k", k), require.word("c", c)
    N = require.integer("N", N, 0, 2**31 - 1)
    return _pick_without_replacement(k, c, N, require.integer("m", m, 0, N))


def _pick_without_replacement(k, c, N, m):
    moved: dict[int, int] = {}  # position -> value where they differ; an array would take O(N)
    picked = np.empty(m, np.int32)
    for i in range(m):
        j = i + _below(k, c + i, N - i)
        picked[i] = moved.get(j, j)
        moved[j] = moved.get(i, i)
    return picked


def floyd(key: Int, n: Int, f: Int) -> Ids:
    """Return `f` distinct integers of [0, n), ascending: Floyd's algorithm.

    Draw c of the stream `key` picks one of the first n - f + c + 1 integers, or the last of them
    where that one is chosen already. Every subset has the same chance. O(f log f) time and O(f)
    memory.

    Parameters
    ----------
    key : int in [0, 2**64)
    n, f : ints, 0 <= f <= n < 2**31

    Returns
    -------
    (f,) int32 array

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, or not in range.

    References
    ----------
    Bentley and Floyd 1987, "Programming pearls: a sample of brilliance".

    Examples
    --------
    >>> floyd(key(7, 1, 2, 3), 30, 10)
    array([ 2,  3,  6, 10, 15, 19, 21, 22, 26, 29], dtype=int32)
    """
    key = require.word("key", key)
    n = require.integer("n", n, 0, 2**31 - 1)
    return np.array(_floyd(key, n, require.integer("f", f, 0, n)), np.int32)


def _floyd(key, n, f):
    chosen: set[int] = set()
    for c in range(f):
        last = n - f + c
        t = _below(key, c, last + 1)
        chosen.add(last if t in chosen else t)
    return sorted(chosen)


def permutation(key: Int, n: Int) -> Ids:
    """Return the integers of [0, n) shuffled, draw i of the stream `key` choosing the i-th.

    Fisher and Yates, from the front (Durstenfeld 1964, Algorithm 235, goes from the back): all of
    ``pick_without_replacement(key, 0, n, n)``. O(n) time and memory.

    Parameters
    ----------
    key : int in [0, 2**64)
    n : int in [0, 2**31)

    Returns
    -------
    (n,) int32 array

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, or not in range.

    Examples
    --------
    >>> permutation(key(7, 1, 2, 3), 6)
    array([0, 3, 5, 4, 2, 1], dtype=int32)
    """
    key = require.word("key", key)
    n = require.integer("n", n, 0, 2**31 - 1)
    deck = list(range(n))
    for i in range(n):
        j = i + _below(key, i, n - i)
        deck[i], deck[j] = deck[j], deck[i]
    return np.array(deck, np.int32)


class Stream:
    """The draws of one key in order; `c` is the number of the next one. Nothing is checked."""

    def __init__(self, k: Int, c: Int = 0) -> None:
        self.k, self.c = k, c

    def of(self, part: Int) -> Stream:
        """Return the Stream whose key has one part more: a node's, where `k` names a batch."""
        return Stream(_absorb(self.k, part))

    def uniform(self) -> float:
        """Return the next multiple of 2**-53 in [0, 1)."""
        self.c += 1
        return _uniform(self.k, self.c - 1)

    def uniforms(self, n: Int) -> Floats[np.float64]:
        """Return the next n of them as an array."""
        self.c += n
        return _uniform(self.k, np.arange(self.c - n, self.c, dtype=np.uint64))

    def below(self, n: Int) -> int:
        """Return the next integer in [0, n)."""
        self.c += 1
        return _below(self.k, self.c - 1, n)

    def pick_without_replacement(self, N: Int, m: Int) -> Ids:
        """Return the next m distinct integers of [0, N), as they are drawn."""
        self.c += m
        return _pick_without_replacement(self.k, self.c - m, N, m)

    def floyd(self, n: Int, f: Int) -> list[int]:
        """Return f distinct integers of [0, n), ascending: the function `floyd` as a list."""
        return _floyd(self.k, n, f)


def as_seed(rng: Rng) -> int:
    """Return `rng` as a 64-bit seed.

    This project's convention, not in the papers.

    Parameters
    ----------
    rng : int in [0, 2**64), numpy.random.Generator or None
        An int is its own seed. A Generator gives one draw. None takes fresh entropy.

    Returns
    -------
    int in [0, 2**64)

    Raises
    ------
    TypeError, ValueError
        If `rng` is of another type, or out of range.
    """
    if rng is None:
        rng = np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(0, 2**64, dtype=np.uint64))
    return require.word("rng", rng)
