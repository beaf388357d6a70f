"""The papers' cost models of frontier sampling on a Dashboard, as functions with their premises.

IPDPS'19 ("ipdps") counts three slots an entry of the Dashboard, JPDC'21 ("jpdc") one. Both count
memory operations of one subgraph on p lanes: random probes, which cost c_rand each, and entries
written in a row, which cost c_mem each. They leave out: the choice of the neighbour, the set of
sampled nodes, filling the Dashboard at the start (about m d entries), tiles, barriers, the
reading half of every move, probes of entries in use beyond the first, and induction.

Arguments are numbers or arrays, which broadcast; results are float64.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.numpy_warnings import quiet
from refimpl.cost_models import _arguments
from refimpl.graph import Graph
from refimpl.hints import FloatOrArray, Int, Numbers

VERSIONS = ("ipdps", "jpdc")


class OperationCosts(NamedTuple):
    """The cost of a subgraph as the papers print it, and with size-biased degrees (E-C1).

    What `sample_cost_from_graph` returns.

    Attributes
    ----------
    printed : float
    corrected : float
    """

    printed: float
    corrected: float


@_arguments.model
def expected_rounds(p: Numbers, eta: Numbers) -> FloatOrArray:
    """Return the expected rounds of a pop, ``R(p) = 1 / (1 - (1 - 1/eta)^p)``.

    The first term of IPDPS'19 Equation 2 and JPDC'21 Equation 9; the former's text writes alpha
    for eta once (E-C4). A round probes p entries at once.

    Parameters
    ----------
    p : whole number >= 1
        Lanes.
    eta : number above 1
        Premise: one entry in eta is in use at any time. Probes over the whole Dashboard meet
        that on average; probes of its filled part need fewer rounds.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.

    Examples
    --------
    >>> round(float(expected_rounds(p=8, eta=2)), 4)
    1.0039
    """
    p, eta = _arguments.whole("p", p), _arguments.above("eta", eta, 1)
    return 1 / (1 - (1 - 1 / eta) ** p)


@_arguments.model
def memory_factor(eta: Numbers, version: Literal["ipdps", "jpdc"]) -> FloatOrArray:
    """Return K, entries written for a pop over the degree: 4 + 3/(eta-1), or 2 + 1/(eta-1).

    IPDPS'19 Equation 2 and JPDC'21 Equation 9. A pop clears 1 slot an entry, the addition
    writes 3 (or 1), and the clean-ups move 3 (or 1) over eta - 1. Premises as for
    `predicted_cleanups`.

    Parameters
    ----------
    eta : number above 1
    version : {"ipdps", "jpdc"}

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or no version.

    Examples
    --------
    >>> float(memory_factor(3, "ipdps")), float(memory_factor(3, "jpdc"))
    (5.5, 2.5)
    """
    eta = _arguments.above("eta", eta, 1)
    require.choice("version", version, VERSIONS)
    return 4 + 3 / (eta - 1) if version == "ipdps" else 2 + 1 / (eta - 1)


@_arguments.model
def sample_cost(
    p: Numbers,
    eta: Numbers,
    d: Numbers,
    n: Numbers,
    m: Numbers,
    version: Literal["ipdps", "jpdc"],
    *,
    c_rand: Numbers = 1.0,
    c_mem: Numbers = 1.0,
    lanes_exact: bool = False,
    index_scan: bool = False,
) -> FloatOrArray:
    """Return the cost of sampling one subgraph, ``(c_rand R(p) + c_mem K d/p) (n - m)``.

    IPDPS'19 Equation 2 and JPDC'21 Equation 9. See the module for what they leave out.

    Parameters
    ----------
    p : whole number >= 1
        Lanes.
    eta : number above 1
        Length of the Dashboard over the expected number of entries in use.
    d : number >= 0
        Degree of a node popped or added. The papers put the mean degree, which is too small on
        any graph but a regular one: see `size_biased_degree` (E-C1).
    n, m : whole numbers, n >= m >= 1
        Budget and frontier: there are n - m pops.
    version : {"ipdps", "jpdc"}
    c_rand, c_mem : numbers >= 0
        Cost of a probe and of an entry; equal in the papers. `calibrate` measures them.
    lanes_exact : bool
        Count ceil(d / p) steps of whole lanes in place of d / p: for nodes that all have the
        whole degree d. For others average the result over degrees, as `sample_cost_from_graph`.
    index_scan : bool
        Add what the papers neglect, reading the index array in every clean-up: eta / (eta - 1)
        columns a pop, one after another (E-C6).

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    p, d = _arguments.whole("p", p), _arguments.at_least("d", d, 0)
    steps = np.ceil(d / p) if require.switch("lanes_exact", lanes_exact) else d / p
    eta = _arguments.above("eta", eta, 1)
    columns = eta / (eta - 1) if require.switch("index_scan", index_scan) else 0.0
    return _cost(p, eta, steps, columns, _arguments.pops(n, m), version, c_rand, c_mem)


def _cost(p, eta, steps, columns, pops, version, c_rand, c_mem):
    c_rand, c_mem = _arguments.at_least("c_rand", c_rand, 0), _arguments.at_least("c_mem", c_mem, 0)
    written = memory_factor(eta, version) * steps + columns
    return (c_rand * expected_rounds(p, eta) + c_mem * written) * pops


@quiet
def sample_cost_from_graph(
    graph: Graph,
    p: Numbers,
    eta: Numbers,
    n: Numbers,
    m: Numbers,
    version: Literal["ipdps", "jpdc"],
    *,
    deg_cap: Int | None = None,
    c_rand: Numbers = 1.0,
    c_mem: Numbers = 1.0,
    lanes_exact: bool = False,
    index_scan: bool = False,
) -> OperationCosts:
    """Return `sample_cost` for a graph, as printed and with size-biased degrees.

    Printed: d is the mean degree. Corrected: pops and additions handle nodes in proportion to
    their degree (E-C1), for a frontier that has forgotten its roots. In both d is the mean
    weight, capped degrees where there is a cap. With `lanes_exact`, the mean of ceil(weight / p).
    With a cap, or eta near 1, clean-ups are more than both count: see `cleanups_from_graph`.

    Parameters
    ----------
    graph : Graph
        Undirected, with at least one edge.
    p, eta, n, m, version, c_rand, c_mem, lanes_exact, index_scan
        As in `sample_cost`, but p and eta are single numbers.
    deg_cap : int, optional
        The sampler's.

    Returns
    -------
    OperationCosts

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or out of range, or the graph has no edge.
    """
    held = {"n": n, "m": m, "c_rand": c_rand, "c_mem": c_mem}
    n, m, c_rand, c_mem = {**held, **_arguments.broadcasting(**held)}.values()
    weights, degrees = _arguments.weights(graph, deg_cap)
    p = float(require.integer("p", p, 1, 2**53))
    eta = require.real("eta", eta, 1, strict=True)
    require.switch("lanes_exact", lanes_exact)
    require.switch("index_scan", index_scan)
    d, d_e = weights.mean(), np.average(weights, weights=degrees)
    steps = np.ceil(weights / p) if lanes_exact else weights / p

    def cost(law, degree):
        # A clean-up reads m columns in use and those added since: (eta - 1) m d / degree.
        columns = 1 + degree / ((eta - 1) * d) if index_scan else 0.0
        mean_steps = np.average(steps, weights=law)
        return _cost(p, eta, mean_steps, columns, _arguments.pops(n, m), version, c_rand, c_mem)

    return OperationCosts(cost(None, d), cost(degrees, d_e))
