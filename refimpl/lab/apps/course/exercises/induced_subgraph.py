"""Take the subgraph on some nodes, with all edges between them."""

import numpy as np

from refimpl.graph import Graph, Subgraph, transpose_perm


def induced_subgraph(graph, nodes):
    """Return the subgraph on `nodes` with every edge of `graph` between two of them."""
    local = {int(v): i for i, v in enumerate(nodes)}
    indptr, indices, edge_ids = [0], [], []
    for v in nodes:
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = int(graph.indices[j])
            if u in local:
                indices.append(local[u])
                edge_ids.append(j)
        indptr.append(len(indices))
    return made(nodes, indptr, indices, edge_ids)


def made(nodes, indptr, indices, edge_ids):
    """Return the Subgraph of these lists."""
    small = Graph(np.array(indptr, np.int64), np.array(indices, np.int32))
    return Subgraph(nodes.copy(), small, np.array(edge_ids, np.int64), transpose_perm(small))
