"""A matrix for each relation, for R-GCN."""

from __future__ import annotations

import numpy as np

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.graph import Graph
from refimpl.hints import FloatDtype, Int, Integers, bound
from refimpl.typed import relation_blocks


def norms_arguments(gnn, pattern, edge_types, relations, dtype):
    """Check the arguments of `relation_norms` that no kernel checks; return all."""
    return gnn, pattern, edge_types, relations, require.float_dtype("dtype", dtype)


@bound
@checked_by(norms_arguments)
def relation_norms(
    gnn,
    pattern: Graph | Block,
    edge_types: Integers,
    relations: Int,
    *,
    dtype: FloatDtype = np.float64,
) -> tuple[Adjacency, ...]:
    """Return the matrices that take the mean over each node's sources in each relation.

    Those of R-GCN (Schlichtkrull et al. 2018, Equation 2, with c_(i,r) the number of sources).
    O(e + R (n_dst + n_src)) time for R relations and e entries.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    pattern, edge_types, relations
        As for `relation_blocks`.
    dtype : float32 or float64

    Returns
    -------
    tuple of Adjacency
        One a relation, each as `block_norm` makes it: with `graph_t` and `perm`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or shape.
    """
    blocks = relation_blocks(pattern, edge_types, relations)
    return tuple(gnn.adjacency.block_norm("row", block, dtype=dtype) for block in blocks)
