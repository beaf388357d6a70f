"""The order of matrix-chain products (JPDC'21 section 6.1), and what each order costs.

Costs are multiply-adds of one layer on a subgraph, forward and backward, as the layers count
them in ``Meter.macs``.
"""

from __future__ import annotations

from itertools import product
from numbers import Integral
from typing import NamedTuple

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Int, Integers

__all__ = [
    "ProductOrders",
    "Macs",
    "chain_macs",
    "chain_order",
    "dense_macs",
    "gat_macs",
    "mixhop_depth",
    "mixhop_macs",
]


class ProductOrders(NamedTuple):
    """Which of two orders evaluates each three-matrix product of a GraphSAGE or GCN layer.

    What `chain_order` returns.

    Attributes
    ----------
    forward : 1 for (A X) W, 2 for A (X W)
    dw : 1 for (A X)^T G, 2 for X^T (A^T G)
    dx : 1 for (A^T G) W^T, 2 for A^T (G W^T), 0 where it is not computed
    """

    forward: int
    dw: int
    dx: int


SPARSE_ORDER = ProductOrders(2, 2, 0)  # of a first layer whose input is sparse


class Macs(NamedTuple):
    """Multiply-add operations of the sparse and of the dense products.

    What `chain_macs` and its like return.

    Attributes
    ----------
    sparse : int
    dense : int
    """

    sparse: int
    dense: int


def order_arguments(f1, f3, first, reuse):
    """Check the arguments of `chain_order`; return them."""
    f1, f3 = require.integer("f1", f1, 0), require.integer("f3", f3, 0)
    return f1, f3, require.switch("first", first), require.switch("reuse", reuse)


@checked_by(order_arguments)
def chain_order(f1: Int, f3: Int, *, first: bool, reuse: bool = True) -> ProductOrders:
    """Return the cheapest orders for a GraphSAGE layer (JPDC'21 Equation 1; E-F1), or a GCN.

    Both orders of a product do the same dense work, so the width of the sparse product decides
    (JPDC'21 section 6.1; for GraphSAGE it is that of the neighbour weight, E-F3, whose gradient
    is meant where the paper prints that of the other, E-F2). The paper looks at each product
    alone. With `reuse`, A X of the forward pass serves again for the gradient of the weights, or
    A^T G of that gradient for the gradient of the input (E-F4); a first layer has no input
    gradient, so there A X costs f1 once where A (X W) costs f3 twice.

    Parameters
    ----------
    f1 : int
        Width of the layer's input.
    f3 : int
        Width of its neighbour half, h_neigh, or of the whole output of a GCN.
    first : bool
        No gradient of the input is needed.
    reuse : bool

    Returns
    -------
    ProductOrders

    Raises
    ------
    TypeError, ValueError
        If a width is not an integer, or negative.

    Examples
    --------
    >>> chain_order(500, 128, first=False)
    ProductOrders(forward=2, dw=2, dx=1)
    >>> chain_order(100, 128, first=False)
    ProductOrders(forward=1, dw=1, dx=2)
    """
    if reuse:
        if f1 <= 2 * f3 if first else f1 < f3:
            return ProductOrders(1, 1, 0 if first else 2)
        return ProductOrders(2, 2, 0 if first else 1)
    narrow = 1 if f1 < f3 else 2
    return ProductOrders(narrow, narrow, 0 if first else (1 if f3 < f1 else 2))


ORDERS = {ProductOrders(*numbers) for numbers in product((1, 2), (1, 2), (0, 1, 2))}


def checked_order(order):
    """Return an order of products, its numbers as ints, or raise."""
    if type(order) is ProductOrders and [*map(type, order)] == [int] * 3 and order in ORDERS:
        return order
    if not isinstance(order, ProductOrders):
        raise TypeError(f"order must be a ProductOrders, got {type(order).__name__}")
    numbers = require.record("order", order, ProductOrders)
    integral = all(isinstance(number, Integral) for number in numbers)
    made = ProductOrders(*map(int, numbers)) if integral else None
    if made is None or not (1 <= made.forward <= 2 and 1 <= made.dw <= 2 and 0 <= made.dx <= 2):
        raise ValueError(f"order must be as chain_order returns it, got {require.shown(order)}")
    return made


def chain_arguments(order, s, e, f1, h_neigh, h_self, reuse):
    """Check the arguments of `chain_macs`; return them."""
    order = checked_order(order)
    sizes = {"s": s, "e": e, "f1": f1, "h_neigh": h_neigh, "h_self": h_self}
    sizes = [require.integer(name, size, 0) for name, size in sizes.items()]
    return order, *sizes, require.switch("reuse", reuse)


@checked_by(chain_arguments)
def chain_macs(
    order: ProductOrders, s: Int, e: Int, f1: Int, h_neigh: Int, h_self: Int, *, reuse: bool = True
) -> Macs:
    """Return the multiply-adds of one GraphSAGE or GCN layer, forward and backward.

    By the counts of JPDC'21 section 6.1.

    Parameters
    ----------
    order : ProductOrders
    s, e : int
        Nodes and directed edges of the subgraph.
    f1 : int
        Width of the layer's input.
    h_neigh, h_self : int
        Widths of the two halves of its output; a GCN has no self half, 0.
    reuse : bool
        Count A X, or A^T G, once where two products share it.

    Returns
    -------
    Macs

    Raises
    ------
    TypeError, ValueError
        If `order` is no ProductOrders, or a size is not an integer, or negative.
    """
    widths = [f1 if order.forward == 1 else h_neigh]
    if not (reuse and order.forward == order.dw == 1):
        widths.append(f1 if order.dw == 1 else h_neigh)
    if order.dx and not (reuse and order.dw == 2 and order.dx == 1):
        widths.append(h_neigh if order.dx == 1 else f1)
    products = _weight_products(first=order.dx == 0)
    return Macs(e * sum(widths), products * s * f1 * (h_neigh + h_self))


def _mixhop_widths(f1, widths):
    f1, given = require.integer("f1", f1, 0), require.sequence("widths", widths)
    widths = [require.integer(f"widths[{k}]", w, 0) for k, w in enumerate(given)]
    if not widths:
        raise ValueError("widths must not be empty: it begins with that of power 0")
    return f1, widths


def depth_arguments(f1, widths, first):
    """Check the arguments of `mixhop_depth`; return them."""
    f1, widths = _mixhop_widths(f1, widths)
    return f1, widths, require.switch("first", first)


@checked_by(depth_arguments)
def mixhop_depth(f1: Int, widths: Integers, *, first: bool = False) -> int:
    """Return the cheapest split depth J of a MixHop layer.

    The layer computes A^k X at full width for k up to J, and multiplies by the weights before
    the rest of the powers. JPDC'21 gives no rule (E-F4). The sparse work of an inner
    layer is twice that of its forward pass, J f1 + sum over k of max(k - J, 0) w_k columns; a
    first layer does the J f1 once. Where depths cost the same, the smallest. O(K^2) time.

    Parameters
    ----------
    f1 : int
        Width of the layer's input.
    widths : sequence of int
        Output widths w_0, .., w_K of the K + 1 branches; a branch may have none.
    first : bool
        No gradient of the input is needed.

    Returns
    -------
    int
        In 0, .., K.

    Raises
    ------
    TypeError, ValueError
        If a width is not an integer, or negative, or there is none.
    """

    def columns(J):
        return (1 if first else 2) * J * f1 + 2 * _narrow_columns(J, widths)

    return min(range(len(widths)), key=columns)


def mixhop_arguments(depth, s, e, f1, widths, first):
    """Check the arguments of `mixhop_macs`; return them."""
    f1, widths = _mixhop_widths(f1, widths)
    s, e = require.integer("s", s, 0), require.integer("e", e, 0)
    depth = require.integer("depth", depth, 0, len(widths) - 1)
    return depth, s, e, f1, widths, require.switch("first", first)


@checked_by(mixhop_arguments)
def mixhop_macs(depth: Int, s: Int, e: Int, f1: Int, widths: Integers, *, first: bool) -> Macs:
    """Return the multiply-adds of one MixHop layer, forward and backward.

    By the counts of JPDC'21 section 6.1, for Equation 5 (E-F4).

    Parameters
    ----------
    depth : int
        The split depth J, in 0, .., K.
    s, e : int
        Nodes of the subgraph, and entries of its adjacency with self-loops.
    f1 : int
        Width of the layer's input.
    widths : sequence of int
        Output widths w_0, .., w_K of the K + 1 branches.
    first : bool
        No gradient of the input is computed.

    Returns
    -------
    Macs

    Raises
    ------
    TypeError, ValueError
        If a size is not an integer, or out of range, or there is no width.
    """
    columns = (1 if first else 2) * depth * f1 + 2 * _narrow_columns(depth, widths)
    return Macs(e * columns, _weight_products(first) * s * f1 * sum(widths))


def gat_arguments(s, e, f1, f_out, heads, first):
    """Check the arguments of `gat_macs`; return them."""
    s, e = require.integer("s", s, 0), require.integer("e", e, 0)
    f1, f_out = require.integer("f1", f1, 0), require.integer("f_out", f_out, 0)
    require.switch("first", first)
    heads = require.integer("heads", heads, 1)
    if f_out % heads:
        f_out, heads = require.shown(f_out), require.shown(heads)
        raise ValueError(f"heads must divide f_out, {f_out}, got {heads}")
    return s, e, f1, f_out, heads, first


@checked_by(gat_arguments)
def gat_macs(s: Int, e: Int, f1: Int, f_out: Int, *, heads: Int = 1, first: bool) -> Macs:
    """Return the multiply-adds of one GAT layer, forward and backward.

    The layer aggregates H = X W, which it has for its scores; (P X) W, which needs them as
    X (W a), is not offered (E-F4). Sparse are P H and P^T G, and the gradient of P, an inner
    product of f_out columns for each entry of its pattern. Dense are the products with W, and
    with the attention vectors: the two scores forward, two gradients of a vector and two rank-one
    terms backward. The softmax, O(e heads), is not counted.

    Parameters
    ----------
    s, e : int
        Nodes of the subgraph, and entries of its adjacency with self-loops.
    f1, f_out : int
        Widths of the layer's input and output.
    heads : int
        Each has ``f_out / heads`` columns; their number does not change the count.
    first : bool
        No gradient of the input is computed.

    Returns
    -------
    Macs

    Raises
    ------
    TypeError, ValueError
        If a size is not an integer, or negative, or `heads` does not divide f_out.
    """
    return Macs(3 * e * f_out, _weight_products(first) * s * f1 * f_out + 6 * s * f_out)


def dense_arguments(s, f1, f2, first):
    """Check the arguments of `dense_macs`; return them."""
    sizes = (require.integer(name, size, 0) for name, size in (("s", s), ("f1", f1), ("f2", f2)))
    return *sizes, require.switch("first", first)


@checked_by(dense_arguments)
def dense_macs(s: Int, f1: Int, f2: Int, *, first: bool) -> Macs:
    """Return the multiply-adds of a layer without a graph, forward and backward.

    By the counts of JPDC'21 section 6.1 (E-F5).

    Parameters
    ----------
    s : int
        Nodes of the subgraph.
    f1, f2 : int
        Widths of the layer's input and output.
    first : bool
        No gradient of the input is computed.

    Returns
    -------
    Macs

    Raises
    ------
    TypeError, ValueError
        If a size is not an integer, or negative.
    """
    return Macs(0, _weight_products(first) * s * f1 * f2)


def _weight_products(first):
    """Return how many products have the size of X W: X W, X^T G and, but for the first, G W^T."""
    return 2 if first else 3


def _narrow_columns(depth, widths):
    """Return the columns that a pass multiplies by A after, or before, the weights."""
    return sum(max(k - depth, 0) * w for k, w in enumerate(widths))
