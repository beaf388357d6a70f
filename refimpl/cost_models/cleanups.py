"""How often a Dashboard is cleaned up, and how much that moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support.numpy_warnings import quiet
from refimpl.cost_models import _arguments
from refimpl.cost_models._arguments import weights as pop_weights
from refimpl.graph import Graph
from refimpl.hints import FloatOrArray, Int, Numbers


class Cleanups(NamedTuple):
    """Clean-ups of one subgraph, and the entries that they move for each pop.

    A part of what `cleanups_from_graph` returns.

    Attributes
    ----------
    cleanups : float
    moved : float
        Entries for each pop.
    """

    cleanups: float
    moved: float


class CleanupModels(NamedTuple):
    """Three predictions, each with one premise fewer.

    Attributes
    ----------
    printed : the papers'
    corrected : nodes added in proportion to their degree (E-C1)
    refined : and a frontier that a cap makes heavier, and room that is too small for a node
    """

    printed: Cleanups
    corrected: Cleanups
    refined: Cleanups


@quiet
def size_biased_degree(graph: Graph, deg_cap: Int | None = None) -> FloatOrArray:
    """Return the expected weight of a node popped or added: sum of deg^2 over sum of deg (E-C1).

    The chain of frontiers of a connected graph is stationary where a frontier's weight is
    proportional to the sum of its degrees; there, nodes are popped and added in proportion to
    their degree, while a frontier of m nodes has m - 1 of the mean degree and one of this. With
    a cap, pops stay in proportion to the degree, so the result is the mean of
    min(deg, deg_cap) by degree.

    Parameters
    ----------
    graph : Graph
        Undirected, with at least one edge.
    deg_cap : int, optional

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If the graph is directed or has no edge, or the cap is below 1.
    """
    weights, degrees = pop_weights(graph, deg_cap)
    return np.average(weights, weights=degrees)


@_arguments.model
def predicted_cleanups(
    eta: Numbers, d: Numbers, n: Numbers, m: Numbers, d_e: Numbers | None = None
) -> FloatOrArray:
    """Return how often a Dashboard is cleaned up: ``(n - m) d_e / ((eta - 1) m d)``.

    IPDPS'19 section IV-C and JPDC'21 section 4.3 print it with d_e = d (E-C1). After a clean-up
    about m d entries are in use, and (eta - 1) m d more fill the rest, d_e with each addition.
    Leaves out what `cleanups_from_graph` adds.

    Parameters
    ----------
    eta : number above 1
    d : number above 0
        Mean degree of the graph (mean weight, with a cap).
    n, m : whole numbers, n >= m >= 1
    d_e : number above 0, optional
        From `size_biased_degree`; default: d, which gives the printed form.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    eta, d = _arguments.above("eta", eta, 1), _arguments.above("d", d, 0)
    d_e = d if d_e is None else _arguments.above("d_e", d_e, 0)
    return _arguments.pops(n, m) * d_e / ((eta - 1) * np.asarray(m, np.float64) * d)


@_arguments.model
def predicted_moves(eta: Numbers, d: Numbers, d_e: Numbers | None = None) -> FloatOrArray:
    """Return the entries that clean-ups move for each pop: ``d_e / (eta - 1)``.

    The clean-up term of IPDPS'19 Equation 2 (which counts three slots an entry) and JPDC'21
    Equation 9, printed with d_e = d (E-C1). Premises as for `predicted_cleanups`, each clean-up
    moving m d entries.

    Parameters
    ----------
    eta : number above 1
    d : number above 0
    d_e : number above 0, optional
        As in `predicted_cleanups`.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    eta, d = _arguments.above("eta", eta, 1), _arguments.above("d", d, 0)
    return (d if d_e is None else _arguments.above("d_e", d_e, 0)) / (eta - 1)


@quiet
def cleanups_from_graph(
    graph: Graph, eta: Numbers, n: Numbers, m: Numbers, *, deg_cap: Int | None = None
) -> CleanupModels:
    """Return how often sampling on `graph` cleans up, by three models.

    Printed and corrected are `predicted_cleanups` and `predicted_moves`, with the mean weight.
    Refined, for a frontier that has forgotten its roots:

    * With a cap, a node v stays in the frontier deg(v) / min(deg(v), deg_cap) times longer than
      without, so that the frontier holds m d_f entries, where d_f is the sum of degrees over
      the sum of those times, and eta m d - m d_f are left to fill.
    * The node that does not fit starts the next period. On average half its size-biased weight,
      ``E[x^2] / (2 E[x])`` over the weights x of nodes added, then stays free.

    Leaves out truncation. Printed in IPDPS'19 section IV-C and JPDC'21 section 4.3 (E-C1); the
    refinement is not in the papers.

    Parameters
    ----------
    graph : Graph
        Undirected, with at least one edge.
    eta : number above 1
    n, m : whole numbers, n >= m >= 1
    deg_cap : int, optional
        The sampler's.

    Returns
    -------
    CleanupModels
        `refined` is NaN where nothing is left to fill.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or the graph has no edge.
    """
    weights, degrees = pop_weights(graph, deg_cap)
    held = {"eta": eta, "n": n, "m": m}
    eta, n, m = {**held, **_arguments.broadcasting(**held)}.values()
    pops, m = _arguments.pops(n, m), np.asarray(m, np.float64)
    d, d_e = weights.mean(), np.average(weights, weights=degrees)
    stay = np.divide(degrees, weights, out=np.zeros(graph.n), where=degrees > 0)
    d_f = np.count_nonzero(degrees) / graph.n * (degrees.sum() / stay.sum())
    unused = np.average(weights**2.0, weights=degrees) / (2 * d_e)
    room = m * (_arguments.above("eta", eta, 1) * d - d_f) - unused
    room = np.where(room > 0, room, np.nan)
    return CleanupModels(
        Cleanups(predicted_cleanups(eta, d, n, m), predicted_moves(eta, d)),
        Cleanups(predicted_cleanups(eta, d, n, m, d_e), predicted_moves(eta, d, d_e)),
        Cleanups(pops * d_e / room, d_e * m * d_f / room),
    )
