"""Random graphs of any size, for measuring: degrees as skewed as those of real graphs.

A graph holds the first so many distinct edges that its stream of draws gives, so it does not
depend on how many are drawn at a time, and its mean degree is met to the edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refimpl import streams
from refimpl._support import require
from refimpl.graph import Graph
from refimpl.hints import Float, Int, Positions, Rng

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

# Quadrants (row bit, column bit) of an R-MAT step, by the initiator [[.9, .5], [.5, .1]]: it has
# to be normalised (E-H5), which makes its entries twentieths.
QUADRANTS = {(0, 0): 9, (0, 1): 5, (1, 0): 5, (1, 1): 1}
SIDES = sum(QUADRANTS.values())
LEVELS = 4  # that one draw decides: a die of 20^4 sides is four dice of 20 sides, up to 2^-35

BLOCK = 2**15  # edges made at a time, so that they stay in the cache
LEAST = 1000  # edges made in a round: the last few would take many rounds otherwise
PATIENCE = 20  # draws an edge wanted, before the graph counts as too dense to be reached
MAX_SCALE = 30  # a graph has fewer than 2^31 nodes

# What a stream is for: the last part of its key. communities.py has the numbers before these.
QUADRANT, ENDS, NAMES = range(8, 11)


def kronecker(scale: Int, mean_degree: Float, rng: Rng = 0) -> Graph:
    """Return a Kronecker graph by R-MAT: skewed degrees, many isolated nodes.

    JPDC'21 section 7.1. An edge descends `scale` times into a quadrant of the adjacency matrix,
    with probabilities .45, .25, .25 and .05 (the paper's initiator, normalised: E-H5). The nodes
    are then named at random. Self-loops and repetitions do not count: edges are drawn until there
    are mean_degree * 2**scale / 2 distinct ones. One draw decides 4 quadrants.
    O(e (scale + log e)) time.

    Parameters
    ----------
    scale : int in [1, 30]
        The graph has 2**scale nodes.
    mean_degree : real number above 0
        Of all nodes, isolated ones among them.
    rng : int in [0, 2**64), numpy.random.Generator or None
        See `as_seed`.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or the graph is too dense for a
        process that draws the same edges over and over.

    References
    ----------
    Chakrabarti, Zhan and Faloutsos 2004, "R-MAT: a recursive model for graph mining".
    """
    scale = require.integer("scale", scale, 1, MAX_SCALE)
    n = 2**scale
    count = _edge_count(n, mean_degree)
    seed = streams.as_seed(rng)
    table, draws = _descents(), -(-scale // LEVELS)
    stream = streams.key(seed, streams.DATA, QUADRANT)

    def ends(first: int, size: int) -> Iterable[Positions]:
        """Return both ends of edges number first, .., first + size - 1."""
        edge = np.arange(first, first + size, dtype=np.uint64) * np.uint64(draws)
        u, v = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for i in range(draws):
            levels = min(LEVELS, scale - i * LEVELS)
            side = streams.below(stream, edge + np.uint64(i), SIDES**levels)
            bits = table[side]  # unused levels of a short last draw are in quadrant (0, 0)
            u = u << levels | bits >> LEVELS
            v = v << levels | bits & 2**LEVELS - 1
        return u, v

    return _graph(n, _distinct(n, count, ends), seed)


def power_law(n: Int, mean_degree: Float, rng: Rng = 0, *, exponent: Float = 2.5) -> Graph:
    """Return a random graph whose expected degrees follow a power law.

    Node number i has weight ((i + 1/2) / n) ** (-1 / (exponent - 1)); both ends of an edge are
    drawn in proportion to the weights, until there are mean_degree * n / 2 distinct edges without
    self-loops. The nodes are then named at random. O(n log n + e log e) time. Powers are rounded
    to thousandths, so that their last bits, which differ between machines, hardly ever matter.

    Parameters
    ----------
    n : int in [2, 2**31 - 1]
    mean_degree : real number above 0
    rng : int in [0, 2**64), numpy.random.Generator or None
        See `as_seed`.
    exponent : real number above 2 and at most 100
        Of the density of the degrees: the smaller, the larger the hubs.

    Returns
    -------
    Graph

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or the graph is too dense for a
        process that draws the same edges over and over.

    References
    ----------
    Chung and Lu 2002, "Connected components in random graphs with given expected degree
    sequences".
    """
    n = require.integer("n", n, 2, 2**31 - 1)
    count = _edge_count(n, mean_degree)
    exponent = require.real("exponent", exponent, 2, strict=True, high=100)
    seed = streams.as_seed(rng)
    weight = ((np.arange(n) + 0.5) / n) ** (-1 / (exponent - 1))
    bound = np.cumsum((1000 * weight).astype(np.int64))  # integers: no rounded sum decides
    stream = streams.key(seed, streams.DATA, ENDS)

    def ends(first: int, size: int) -> Iterable[Positions]:
        """Return both ends of edges number first, .., first + size - 1."""
        draw = np.arange(2 * first, 2 * (first + size), dtype=np.uint64)
        place = streams.below(stream, draw, int(bound[-1]))
        return np.searchsorted(bound, place, side="right").reshape(size, 2).T

    return _graph(n, _distinct(n, count, ends), seed)


def _edge_count(n: int, mean_degree: Float) -> int:
    """Return the number of undirected edges that gives n nodes this mean degree."""
    mean_degree = require.real("mean_degree", mean_degree, 0, strict=True)
    if mean_degree > n - 1:
        raise ValueError(
            f"mean_degree must be at most {n - 1} in a graph of {n} nodes, got {mean_degree}"
        )
    return round(mean_degree * n / 2)


def _descents() -> NDArray[np.uint8]:
    """Return, for each side of the die of a draw, LEVELS row bits and LEVELS column bits."""
    table = np.zeros(1, np.uint8)
    for level in range(LEVELS):
        steps = [row << LEVELS + level | col << level for row, col in QUADRANTS]
        table = np.concatenate(
            [
                np.tile(table | np.uint8(step), sides)
                for step, sides in zip(steps, QUADRANTS.values(), strict=True)
            ]
        )
    return table


def _distinct(n: int, count: int, ends: Callable[[int, int], Iterable[Positions]]) -> Positions:
    """Return the first `count` distinct edges as sorted integers n * smaller end + larger end."""
    have, drawn = np.empty(0, np.int64), 0
    while missing := count - have.size:
        if drawn >= PATIENCE * max(count, LEAST):
            raise ValueError(
                f"mean_degree is too large for {n} nodes: of {drawn} edges drawn {have.size} were "
                f"distinct, {count} are wanted; accepted is what {PATIENCE} draws an edge reach"
            )
        code = np.empty(max(missing, count // 4, LEAST), np.int64)
        for start in range(0, code.size, BLOCK):
            u, v = ends(drawn + start, min(BLOCK, code.size - start))
            pair = np.minimum(u, v) * n + np.maximum(u, v)
            code[start : start + BLOCK] = np.where(u == v, -1, pair)
        drawn += code.size
        have = np.concatenate([have, _first_new(code, have, missing)])
        have.sort()
    return have


def _first_new(code: Positions, have: Positions, most: int) -> Positions:
    """Return the first `most` distinct values of `code` that are not -1 and not in `have`."""
    new = np.sort(code)
    new = new[np.diff(new, prepend=-1) > 0]
    at = np.searchsorted(have, new)
    known = at < have.size
    known[known] = have[at[known]] == new[known]
    new = new[~known]
    if new.size > most:  # only now does it matter which came first
        order = np.argsort(code, kind="stable")
        first = order[np.searchsorted(code, new, sorter=order)]
        new = new[first <= np.partition(first, most - 1)[most - 1]]
    return new


def _graph(n: int, edges: Positions, seed: int) -> Graph:
    """Return the undirected Graph of sorted, distinct edges, its nodes named at random."""
    draws = streams.uniform(streams.key(seed, streams.DATA, NAMES), np.arange(n, dtype=np.uint64))
    name = np.argsort(draws, kind="stable")
    entries = np.empty((2, edges.size), np.int64)
    for start in range(0, edges.size, BLOCK):
        u, v = np.divmod(edges[start : start + BLOCK], n)
        entries[0, start : start + BLOCK] = name[u] * n + name[v]
        entries[1, start : start + BLOCK] = name[v] * n + name[u]
    entries = entries.ravel()
    entries.sort()
    indices = np.empty(entries.size, np.int32)
    degrees = np.zeros(n, np.int64)
    for start in range(0, entries.size, BLOCK):
        rows, indices[start : start + BLOCK] = np.divmod(entries[start : start + BLOCK], n)
        low = rows[0]
        counts = np.bincount(rows - low)
        degrees[low : low + counts.size] += counts
    return Graph._trusted(np.concatenate([[0], np.cumsum(degrees)]), indices, symmetric=True)
