"""What a layer costs, and what layer sampling costs beside graph sampling, as the papers count.

Work is multiply-adds of the forward pass: aggregation, then one dense product a layer. Sampling
is left out, and so is the backward pass. Arguments are numbers or arrays, which broadcast;
results are float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refimpl._support import require
from refimpl._support.numpy_warnings import quiet
from refimpl.cost_models import _arguments
from refimpl.hints import FloatOrArray, Floats, Int, Integers, Numbers

MOST_LAYERS = 2**16  # more are no network, and would be summed one by one


@quiet
def forward_work(nodes: Numbers, edges: Numbers, widths: Numbers) -> FloatOrArray:
    """Return the work of one minibatch: the sum over l of ``e_l f_(l-1) + s_l f_(l-1) f_l``.

    IPDPS'19 Equation 1, printed with l from 0, where no edges are defined (E-G1). Exact for any
    kind of sampling, with what was sampled put in.

    Parameters
    ----------
    nodes, edges : numbers >= 0, or (L,) arrays
        Output nodes s_l of each layer l = 1, .., L, and entries e_l that it aggregates. With
        graph sampling both are one number.
    widths : (L + 1,) array, numbers >= 0
        f_0, the width of the features, then each layer's. L is at least 1.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number, out of range, or of another length.
    """
    widths = _arguments.at_least("widths", widths, 0)
    if widths.ndim != 1 or len(widths) < 2:
        raise ValueError(f"widths must be 1-D with at least 2 entries, got {widths.shape}")
    layers = len(widths) - 1
    nodes, edges = _a_layer("nodes", nodes, layers), _a_layer("edges", edges, layers)
    return np.sum(edges * widths[:-1] + nodes * widths[:-1] * widths[1:])


def _a_layer(name, value, layers):
    array = _arguments.at_least(name, value, 0)
    if array.shape not in ((), (layers,)):
        raise ValueError(f"{name} must be a number or have shape ({layers},), got {array.shape}")
    return array


@_arguments.model
def graph_sampling_work(layers: Numbers, s: Numbers, f: Numbers, d: Numbers) -> FloatOrArray:
    """Return ``L s f (f + d)``: JPDC'21 Equation 8, for all widths equal.

    Parameters
    ----------
    layers : whole number L >= 1
    s : number >= 0
        Nodes of the subgraph; for an epoch, nodes of the training graph.
    f : number >= 0
        Width of every layer.
    d : number >= 0
        Mean degree of the subgraph.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    layers, f = _arguments.whole("layers", layers), _arguments.at_least("f", f, 0)
    return layers * _arguments.at_least("s", s, 0) * f * (f + _arguments.at_least("d", d, 0))


@_arguments.model
def layer_sampling_work(
    layers: Int, n: Numbers, f: Numbers, fanout: Numbers, batch: Numbers
) -> FloatOrArray:
    """Return the work of an epoch of layer sampling, between the two cases of the papers.

    ``n / b`` batches; layer l of each computes ``min(b d'^(L - l), n)`` nodes at f (f + d')
    each. Falls as the batch grows, from case 1 to case 2 of `layer_sampling_cases` (IPDPS'19
    section III-B, JPDC'21 section 3.2).

    Parameters
    ----------
    layers : int L >= 1
    n : whole number >= 1
        Nodes of the training graph.
    f : number >= 0
        Width of every layer.
    fanout : whole number d' >= 1
        Premise: every node has so many neighbours, all nodes of a layer being different until
        there are n. The destinations themselves, which a self path needs too, are not counted.
    batch : whole number b, 1 <= b <= n
        Roots of a minibatch.

    Returns
    -------
    float64

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    layers = require.integer("layers", layers, 1, MOST_LAYERS)
    n, f = _arguments.whole("n", n), _arguments.at_least("f", f, 0)
    fanout, batch = _arguments.whole("fanout", fanout), _arguments.whole("batch", batch)
    if np.any(batch > n):
        raise ValueError("batch must be at most n")
    computed = sum(np.minimum(batch * fanout**hop, n) for hop in range(layers))
    return n / batch * computed * f * (f + fanout)


class WorkBounds(NamedTuple):
    """Work of an epoch of layer sampling at either end.

    Attributes
    ----------
    small : case 1, small batches: ``n f (f + d') (1 + d' + .. + d'^(L - 1))``
    small_printed : the papers' case 1, ``d'^L n f (f + d')``: above it for d' >= 2 (E-G2)
    large : case 2, one batch of all nodes: ``L n f (f + d')``
    """

    small: FloatOrArray
    small_printed: FloatOrArray
    large: FloatOrArray


@_arguments.model
def layer_sampling_cases(layers: Int, n: Numbers, f: Numbers, fanout: Numbers) -> WorkBounds:
    """Return cases 1 and 2 of the work of an epoch (JPDC'21 section 3.2, IPDPS'19 III-B).

    The text has layer l evaluated ``d'^(L - l)`` times for l >= 1, so the largest term of case 1
    is ``d'^(L - 1)``. The papers print ``d'^L``, which is the right order only where the weight
    is applied before the aggregation, on the nodes of layer l - 1 (E-G2).

    Parameters
    ----------
    layers, n, f, fanout
        As in `layer_sampling_work`.

    Returns
    -------
    WorkBounds

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number or out of range.
    """
    layers = require.integer("layers", layers, 1, MOST_LAYERS)
    n, f = _arguments.whole("n", n), _arguments.at_least("f", f, 0)
    fanout = _arguments.whole("fanout", fanout)
    one = n * f * (f + fanout)
    small = sum(fanout**hop for hop in range(layers)) * one
    return WorkBounds(small, fanout**layers * one, layers * one)


@quiet
def unique_nodes(n: Int, r: Int, fanouts: Integers) -> Floats[np.float64]:
    """Return how many distinct nodes `layer_sample` is expected to meet, hop by hop.

    ``u_0 = r`` and ``u_(k+1) = n (1 - (1 - u_k / n) (1 - 1 / n)^(u_k s_k))``: each of u_k s_k
    draws meets any one node with probability 1 / n, and destinations stay (E-G6).

    Parameters
    ----------
    n : int >= 1
        Nodes of the graph.
    r : int, 0 <= r <= n
        Roots.
    fanouts : sequence of ints >= 0
        Roots first, as in `layer_sample`. Premise: every node has many more neighbours than that,
        and is a neighbour of about equally many. On a graph with hubs there are far fewer.

    Returns
    -------
    (len(fanouts) + 1,) float64 array

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, or out of range.
    """
    n = require.integer("n", n, 1, 2**53)
    counts = [float(require.integer("r", r, 0, n))]
    for fanout in require.sequence("fanouts", fanouts):
        u, draws = counts[-1], counts[-1] * require.integer("fanouts", fanout, 0, 2**31 - 1)
        counts.append(n * (1 - (1 - u / n) * (1 - 1 / n) ** draws))
    return np.array(counts)
