"""The alias method: draws from a fixed law in constant time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import F, Floats, Int, Positions
from refimpl.streams import Stream


class AliasTable(NamedTuple):
    """A law over 0, .., k - 1 cut into k equal parts of at most two outcomes each.

    What `alias_build` makes, for `alias_draw`.

    Attributes
    ----------
    prob : (k,) float64
        Share of part i that is outcome i; the rest is outcome ``alias[i]``.
    alias : (k,) int64
    """

    prob: Floats[np.float64]
    alias: Positions


def alias_arguments(weights):
    """Check the argument of `alias_build`; return it."""
    return (summed(weights)[0],)


def summed(weights):
    """Return the weights of an alias table, in float64, and their sum, or raise."""
    weights = require.floats("weights", weights, (None,)).astype(np.float64)
    if len(weights) == 0:
        raise ValueError("weights must not be empty")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("weights must be finite and not negative")
    with np.errstate(over="ignore"):
        total = float(np.cumsum(weights)[-1])  # not np.sum, which adds in another order
    if not 0 < total < np.inf:
        raise ValueError(f"weights must have a finite sum above 0, got {total}")
    return weights, total


@checked_by(alias_arguments)
def alias_build(weights: Floats[F]) -> AliasTable:
    """Return the table from which `alias_draw` draws i in proportion to ``weights[i]``.

    Walker's method in the form of Vose 1991; the papers name it for their static samplers. The
    order of operations is part of the result: the sum runs from left to right, the two stacks
    are filled in ascending order and emptied from the top. O(k) time.

    Parameters
    ----------
    weights : (k,) float array
        Finite, not negative, not all zero.

    Returns
    -------
    AliasTable

    Raises
    ------
    TypeError, ValueError
        If the weights are not floats, or no law.
    """
    k = len(weights)
    p = (weights / np.cumsum(weights)[-1] * k).tolist()
    prob, alias = np.ones(k), np.arange(k)
    small: list[int] = []
    large: list[int] = []
    for i in range(k):
        (small if p[i] < 1 else large).append(i)
    while small and large:
        low, high = small.pop(), large.pop()
        prob[low], alias[low] = p[low], high
        p[high] = (p[high] + p[low]) - 1
        (small if p[high] < 1 else large).append(high)
    return AliasTable(prob, alias)  # what is left on a stack is a whole part, but for rounding


def draw_arguments(table, k, c):
    """Check the arguments of `alias_draw`; return them."""
    if not isinstance(table, AliasTable):
        raise TypeError(f"table must be an AliasTable, got {type(table).__name__}")
    table = require.record("table", table, AliasTable)
    for name, dtype in (("prob", np.float64), ("alias", np.int64)):
        part = getattr(table, name)
        plain = require.array(name, part) if isinstance(part, np.ndarray) else None
        if plain is None or plain.dtype != dtype:
            raise TypeError(f"table.{name} must be a {np.dtype(dtype)} array: see alias_build")
        table = table._replace(**{name: plain})
    if table.prob.ndim != 1 or not table.prob.size or table.alias.shape != table.prob.shape:
        raise ValueError(
            f"table must have prob and alias of one length, from 1, "
            f"got shapes {table.prob.shape} and {table.alias.shape}"
        )
    return table, require.word("k", k), require.word("c", c)


@checked_by(draw_arguments)
def alias_draw(table: AliasTable, k: Int, c: Int) -> int:
    """Return an outcome of `table` from draws c and c + 1 of the stream with key `k`.

    Walker 1977. O(1) time.

    Parameters
    ----------
    table : AliasTable
    k, c : ints in [0, 2**64)

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        If `table` is no AliasTable, or `k` or `c` is not an integer, or not in range.
    """
    return outcome(table, Stream(k, c))


def outcome(table, stream):
    """Return an outcome of `table` from the next two draws of a Stream."""
    i = stream.below(len(table.prob))
    return i if stream.uniform() < table.prob[i] else int(table.alias[i])
