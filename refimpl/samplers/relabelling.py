"""Local numbers for the nodes of a batch, in one tree or in several trees.

Not in the three papers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Ids, Integers, Positions


class Relabelled(NamedTuple):
    """Codes and their places: what `relabel` returns.

    Attributes
    ----------
    codes : (k + m,) int64
        The k codes that were known, then the m new ones, in the order of their first appearance.
    places : (c,) int32
        For each code that was met, where it is in `codes`.
    """

    codes: Positions
    places: Ids


def relabel_arguments(known, met):
    """Check the arguments of `relabel`; return them."""
    known = require.ids("known", known, -(2**63), 2**63, np.int64)
    met = require.ids("met", met, -(2**63), 2**63, np.int64)
    if len(known) + len(met) >= 2**31:
        raise OverflowError("known and met must have fewer than 2**31 codes together")
    return known, met


@checked_by(relabel_arguments)
def relabel(known: Integers, met: Integers) -> Relabelled:
    """Number the codes that a hop meets behind those that are known.

    A code stands for a node; where each root has a tree of its own, a code stands for a node in a
    tree, such as ``tree * n + node``. Not in the papers. O(k + c) time and memory.

    Parameters
    ----------
    known : (k,) integer array
        Codes of earlier hops. Where a code is repeated, its first place counts.
    met : (c,) integer array
        Codes that the hop meets, in any order, perhaps repeated.

    Returns
    -------
    Relabelled

    Raises
    ------
    TypeError, ValueError
        If an argument is not an array of integers.
    OverflowError
        If there are 2**31 codes or more.

    Examples
    --------
    >>> codes, places = relabel([40, 20], [20, 70, 40, 70, 10])
    >>> codes.tolist(), places.tolist()
    ([40, 20, 70, 10], [1, 2, 0, 2, 3])
    """
    codes = [int(code) for code in known]
    place: dict[int, int] = {}
    for i, code in enumerate(codes):
        place.setdefault(code, i)
    for code in map(int, met):
        if code not in place:
            place[code] = len(codes)
            codes.append(code)
    places = [place[int(code)] for code in met]
    return Relabelled(np.array(codes, np.int64), np.array(places, np.int32))
