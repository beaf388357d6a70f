"""Compute a layer of GraphSAGE."""

import numpy as np

from refimpl.layers.sage import SageOutput
from refimpl.propagation import matmul, spmm


def sage_forward(A, X, W_neigh, W_self, order, *, b=None, relu=True, concat="neigh_first"):
    """Return the output of a GraphSAGE layer: ReLU([A X W_neigh || X W_self] + b).

    JPDC'21 Equation 1. A node's neighbours are averaged (A X) and multiplied by W_neigh, its own
    features by W_self; the two products stand side by side, the neighbours' first. The product
    A X W_neigh can be computed in two orders, which cost differently: (A X) W_neigh, or
    A (X W_neigh).

    Parameters
    ----------
    A : Adjacency
        A.graph is its pattern, A.data its values; A.graph.n_dst rows.
    X : (n_src, f) array
        Its first n_dst rows are those of the receiving nodes themselves: of a sampled block there
        are more sources than receivers.
    W_neigh, W_self : (f, h_neigh) and (f, h_self) arrays
    order : ProductOrders
        Where order.forward is 1, compute (A X) W_neigh, and keep A X; else A (X W_neigh).
    b : array, optional
        Added to each row of the output, before the ReLU.
    relu : bool
        Whether negative numbers become 0 at the end.
    concat : {"neigh_first", "self_first", "sum"}
        Which half stands first; with "sum" the two are added.

    Returns
    -------
    SageOutput
        Of X_out, and of A X where it was computed, else None.
    """
    AX = None
    if order.forward == 1:
        AX = spmm(A.graph, A.data, X)
        neighbours = matmul(AX, W_neigh)
    else:
        neighbours = spmm(A.graph, A.data, matmul(X, W_neigh))
    own = matmul(X[: A.graph.n_dst], W_self)
    if concat == "sum":
        out = neighbours + own
    elif concat == "neigh_first":
        out = np.concatenate([neighbours, own], axis=1)
    else:
        out = np.concatenate([own, neighbours], axis=1)
    if b is not None:
        out = out + b
    return SageOutput(np.maximum(out, 0) if relu else out, AX)


# ---- what follows is the course's ----

PAGE = "learn/training"
REFERENCE = "refimpl.layers.sage:sage_forward"
BESIDE = "The reference is the same; `activate` is its bias and ReLU in one."
HINTS = (
    "`spmm(A.graph, A.data, X)` is A X; `matmul` multiplies dense matrices.",
    "Side by side: `np.concatenate([neighbours, own], axis=1)`.",
    "`np.maximum(out, 0)` is the ReLU. Add the bias before it.",
)
MISTAKES = (
    (
        "np.concatenate([neighbours, own], axis=1)",
        "np.concatenate([own, neighbours], axis=1)",
        "puts the node's own half first, where Equation 1 has the neighbours' first",
        "The columns are right, but stand in another order",
    ),
    (
        "matmul(X[: A.graph.n_dst], W_self)",
        "matmul(X, W_self)",
        "multiplies all rows of X by W_self, those of sources that receive nothing too",
        "A rectangular pattern",
    ),
    (
        "np.maximum(out, 0) if relu else out",
        "np.maximum(out, 0)",
        "applies the ReLU even where it is switched off",
        "No ReLU: negative results stay",
    ),
    (
        "    if b is not None:\n"
        "        out = out + b\n"
        "    return SageOutput(np.maximum(out, 0) if relu else out, AX)",
        "    out = np.maximum(out, 0) if relu else out\n"
        "    return SageOutput(out if b is None else out + b, AX)",
        "adds the bias after the ReLU",
        "A bias, added before the ReLU",
    ),
    (
        "        neighbours = matmul(AX, W_neigh)\n    else:",
        "        neighbours = matmul(AX, W_neigh)\n        AX = None\n    else:",
        "does not keep A X, which the backward pass needs",
        "Yours is None",
    ),
)
