"""The order of matrix-chain products (JPDC'21 section 6.1), and what each order costs."""

from typing import NamedTuple

from refimpl import _check


class SageOrder(NamedTuple):
    """Which of two orders evaluates each three-matrix product of a GraphSAGE layer.

    Attributes
    ----------
    forward : 1 for (A X) W, 2 for A (X W)
    dw : 1 for (A X)^T G, 2 for X^T (A^T G)
    dx : 1 for (A^T G) W^T, 2 for A^T (G W^T), 0 where it is not computed
    """

    forward: int
    dw: int
    dx: int


class Macs(NamedTuple):
    """Multiply-add operations of the sparse and of the dense products."""

    sparse: int
    dense: int


def sage_order(f1, f3, *, first, reuse=True):
    """Return the cheapest orders for a GraphSAGE layer.

    Both orders of a product do the same dense work, so the width of the sparse product decides
    (JPDC'21 section 6.1; the width is that of the neighbour weight, E-F3). The paper looks at
    each product alone. With `reuse`, A X of the forward pass serves again for the gradient of
    the weights, or A^T G of that gradient for the gradient of the input; a first layer has no
    input gradient, so there A X costs f1 once where A (X W) costs f3 twice.

    Parameters
    ----------
    f1 : int
        Width of the layer's input.
    f3 : int
        Width of its neighbour half, h_neigh.
    first : bool
        No gradient of the input is needed.
    reuse : bool

    Returns
    -------
    SageOrder

    Raises
    ------
    TypeError, ValueError
        If a width is not an integer, or negative.
    """
    f1, f3 = _check.integer("f1", f1, 0), _check.integer("f3", f3, 0)
    if reuse:
        if f1 <= 2 * f3 if first else f1 < f3:
            return SageOrder(1, 1, 0 if first else 2)
        return SageOrder(2, 2, 0 if first else 1)
    narrow = 1 if f1 < f3 else 2
    return SageOrder(narrow, narrow, 0 if first else (1 if f3 < f1 else 2))


def sage_macs(order, s, e, f1, h_neigh, h_self, *, reuse=True):
    """Return the multiply-adds of one GraphSAGE layer, forward and backward.

    Parameters
    ----------
    order : SageOrder
    s, e : int
        Nodes and directed edges of the subgraph.
    f1 : int
        Width of the layer's input.
    h_neigh, h_self : int
        Widths of the two halves of its output.
    reuse : bool
        Count A X, or A^T G, once where two products share it.

    Returns
    -------
    Macs

    Raises
    ------
    TypeError, ValueError
        If `order` is no SageOrder, or a size is not an integer, or negative.
    """
    if not isinstance(order, SageOrder):
        raise TypeError(f"order must be a SageOrder, got {type(order).__name__}")
    for name, size in (("s", s), ("e", e), ("f1", f1), ("h_neigh", h_neigh), ("h_self", h_self)):
        _check.integer(name, size, 0)
    widths = [f1 if order.forward == 1 else h_neigh]
    if not (reuse and order.forward == order.dw == 1):
        widths.append(f1 if order.dw == 1 else h_neigh)
    if order.dx and not (reuse and order.dw == 2 and order.dx == 1):
        widths.append(h_neigh if order.dx == 1 else f1)
    products = 3 if order.dx else 2
    return Macs(e * sum(widths), products * s * f1 * (h_neigh + h_self))
