"""Theorem 2 of both papers: memory traffic of feature propagation with only the features cut.

The model (IPDPS'19 Equation 3, JPDC'21 Equation 13): the nodes are cut into Q_v sets, the f
columns of the features into Q_f parts, and each of the Q_v Q_f pieces reads its edges and the
features of its sources once. n and d are nodes and mean degree of the subgraph. Left out: row
pointers, and what does not stay in a cache that it fits in.

Arguments are numbers or arrays, which broadcast; results are float64.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl.cost_models import _arguments
from refimpl.hints import FloatOrArray, Numbers

PARTS = ("real", "whole", "padded", "columns")


class TrafficBound(NamedTuple):
    """The premises of Theorem 2, and how far from the least traffic its choice is.

    Attributes
    ----------
    premise_p : bool, or bool array of any shape
        index p n d <= word n f, the printed p <= 4 f / d
    premise_cache : bool, or bool array of any shape
        index n d <= s_cache, the printed 2 n d <= S_cache
    premise_columns : bool, or bool array of any shape
        A whole column fits in the cache, and Q_f <= f; not printed (E-C8).
    Qf : number of parts of the features; of the nodes there is one
    g : traffic in bytes
    lower_bound : no Q_v and Q_f have less
    ratio : g / lower_bound
    """

    premise_p: FloatOrArray
    premise_cache: FloatOrArray
    premise_columns: FloatOrArray
    Qf: FloatOrArray
    g: FloatOrArray
    lower_bound: FloatOrArray
    ratio: FloatOrArray


@_arguments.model
def g_comp(n: Numbers, d: Numbers, f: Numbers) -> FloatOrArray:
    """Return the multiply-adds of a feature propagation, n d f, whatever the parts.

    IPDPS'19 Equation 3, JPDC'21 Equation 13.

    Parameters
    ----------
    n : whole number >= 1
        Nodes.
    d : number >= 0
        Mean degree.
    f : whole number >= 1
        Columns of the features.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    n, d, f = _sizes(n, d, f)
    return n * d * f


@_arguments.model
def g_comm(
    Qv: Numbers,
    Qf: Numbers,
    n: Numbers,
    d: Numbers,
    f: Numbers,
    gamma: Numbers,
    *,
    index: Numbers = 2,
    word: Numbers = 8,
    edge_word: Numbers = 0,
    out: bool = False,
) -> FloatOrArray:
    """Return the traffic of a feature propagation, index Q_f n d + word Q_v n f gamma, in bytes.

    IPDPS'19 Equation 3, JPDC'21 Equation 13 (there "computation and computation", E-C7).

    Parameters
    ----------
    Qv, Qf : numbers >= 1
        Parts of the nodes and of the columns.
    n : whole number >= 1
        Nodes.
    d : number >= 0
        Mean degree.
    f : whole number >= 1
        Columns of the features.
    gamma : number in [0, 1]
        Sources of a part of the nodes over n, the mean over all parts (E-C8). The printed
        bound 1 / Q_v is that of a graph with self-loops; without, an isolated node is no
        part's source, and the bound is 1 / Q_v times the share of the others (E-A6).
    index, word : numbers above 0
        Bytes of a node index, and of a feature.
    edge_word : number >= 0
        Bytes of an edge's value; the papers leave it out (E-C9).
    out : bool
        Add the writing of the result, word n f, which the papers leave out (E-C9).

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    Qv, Qf = _arguments.at_least("Qv", Qv, 1), _arguments.at_least("Qf", Qf, 1)
    n, d, f = _sizes(n, d, f)
    gamma = _arguments.at_least("gamma", gamma, 0)
    if np.any(gamma > 1):
        raise ValueError(f"gamma must be at most 1, got {gamma.max()}")
    edge, word = _bytes(index, word, edge_word)
    require.switch("out", out)
    return edge * Qf * n * d + word * Qv * n * f * gamma + (word * n * f if out else 0)


@_arguments.model
def theorem2_Qf(
    n: Numbers,
    f: Numbers,
    p: Numbers,
    s_cache: Numbers,
    *,
    word: Numbers = 8,
    parts: Literal["real", "whole", "padded", "columns"] = "real",
) -> FloatOrArray:
    """Return how many parts of the features Theorem 2 takes, max(p, word n f / s_cache).

    The choice of Theorem 2 of both papers.

    Parameters
    ----------
    n, f : whole numbers >= 1
        Nodes, and columns of the features.
    p : whole number >= 1
        Lanes.
    s_cache : number above 0
        Bytes of a lane's own cache.
    word : number above 0
        Bytes of a feature.
    parts : {"real", "whole", "padded", "columns"}
        What Q_f may be (E-C8). "real": as printed. "whole": rounded up. "padded": rounded up to
        a multiple of p, as the loops of Algorithms 6 and 7 want. "columns": as many as there
        must be if a part is some whole columns, at least one.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or `parts` is another one.
    """
    n, f, p = _arguments.whole("n", n), _arguments.whole("f", f), _arguments.whole("p", p)
    s_cache = _arguments.above("s_cache", s_cache, 0)
    word = _arguments.above("word", word, 0)
    if require.choice("parts", parts, PARTS) == "columns":
        widest = np.maximum(1, np.floor(s_cache / (word * n)))
        return np.maximum(p, np.ceil(f / widest))
    Qf = np.maximum(p, word * n * f / s_cache)
    if parts == "real":
        return Qf
    return np.ceil(Qf) if parts == "whole" else p * np.ceil(Qf / p)


@_arguments.model
def theorem2(
    n: Numbers,
    d: Numbers,
    f: Numbers,
    p: Numbers,
    s_cache: Numbers,
    *,
    parts: Literal["real", "whole", "padded", "columns"] = "real",
    index: Numbers = 2,
    word: Numbers = 8,
    edge_word: Numbers = 0,
    out: bool = False,
) -> TrafficBound:
    """Return the premises of Theorem 2 and the ratio that it bounds, for one subgraph.

    Theorem 2 of both papers. Where the first two premises hold, the ratio is at most 2 with "real"
    and "whole" parts and 3 with "padded" ones; with the third as well it is below 3 with "columns".
    The tests store a witness that each passes 2 otherwise (E-C8). The lower bound is one reading of
    the edges and one of the features, for a graph in which every node is a source (E-A6). The
    printed one is without the edges: too low for "whole" parts.

    The premises are about traffic. That 136 lanes pass them does not say that a machine has the
    bandwidth for them (E-C10).

    Parameters
    ----------
    n : whole number >= 1
        Nodes.
    d : number >= 0
        Mean degree of the subgraph.
    f : whole number >= 1
        Columns of the features.
    p, s_cache, parts
        As in `theorem2_Qf`.
    index, word, edge_word, out
        As in `g_comm`; premises and bound count the same bytes.

    Returns
    -------
    TrafficBound
        The premises bool, the rest float64.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or `parts` is another one.
    """
    Qf = theorem2_Qf(n, f, p, s_cache, word=word, parts=parts)
    if not np.isfinite(Qf).all():
        raise ValueError("s_cache must be so large that the number of parts is finite")
    g, least = (
        g_comm(1, q, n, d, f, 1, index=index, word=word, edge_word=edge_word, out=out)
        for q in (Qf, 1)
    )
    n, d, f = _sizes(n, d, f)
    p, s_cache = np.asarray(p), np.asarray(s_cache)
    edge, word = _bytes(index, word, edge_word)
    return TrafficBound(
        edge * p * d <= word * f,
        edge * n * d <= s_cache,
        (word * n <= s_cache) & (Qf <= f),
        Qf,
        g,
        least,
        g / least,
    )


def _sizes(n, d, f):
    return _arguments.whole("n", n), _arguments.at_least("d", d, 0), _arguments.whole("f", f)


def _bytes(index, word, edge_word):
    """Return the bytes of an edge and of a feature, checked."""
    index, word = _arguments.above("index", index, 0), _arguments.above("word", word, 0)
    return index + _arguments.at_least("edge_word", edge_word, 0), word
