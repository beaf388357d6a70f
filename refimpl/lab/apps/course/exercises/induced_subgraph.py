"""Take the subgraph on some nodes, with all edges between them."""

import numpy as np

from refimpl.graph import Graph, Subgraph, transpose_perm


def induced_subgraph(graph, nodes):
    """Return the subgraph on `nodes` with every edge of `graph` between two of them.

    The last line of every sampling algorithm (JPDC'21 Algorithm 2 line 9). In the subgraph, node
    nodes[i] is called i. Its row has the neighbours that are in `nodes` too, by their new numbers,
    in the order of the old row.

    Parameters
    ----------
    graph : Graph
        Undirected; node v's neighbours are graph.indices[graph.indptr[v] : graph.indptr[v + 1]].
    nodes : (s,) int32 array, ascending

    Returns
    -------
    Subgraph
        Of `nodes`, the new Graph(indptr, indices), edge_ids (where each new entry stood in
        graph.indices), and transpose_perm of the new graph. The line that makes it is written.
    """
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


# ---- what follows is the course's ----

PAGE = "learn/frontier"
REFERENCE = "refimpl.graph.subgraph:induced_subgraph"
BESIDE = "The reference is the same loop; it also refuses nodes that do not ascend."
GIVEN = ("made",)
HINTS = (
    "Make a dict from the old number of a node to the new one; `u in local` then says whether u is "
    "one of `nodes`.",
    "Four lists or less: indptr begins as [0], and gets the length of `indices` after each row.",
    "For each v of `nodes`, for each j of its row: where `graph.indices[j]` is in the dict, append "
    "its new number to `indices` and j to `edge_ids`. End with "
    "`return made(nodes, indptr, indices, edge_ids)`.",
)
MISTAKES = (
    (
        "edge_ids.append(j)",
        "edge_ids.append(len(edge_ids))",
        "numbers the entries anew in `edge_ids`, where their places in the whole graph are meant",
        "edge_ids",
    ),
    (
        "edge_ids.append(j)",
        "edge_ids.append(j - graph.indptr[v])",
        "counts `edge_ids` from the beginning of each row, and not of the array",
        "edge_ids",
    ),
    (
        "indices.append(local[u])",
        "indices.append(u)",
        "keeps the old numbers of the neighbours",
        "raised ValueError",
    ),
    (
        "            if u in local:\n",
        "            if u in local and u != v:\n",
        "drops edges from a node to itself",
        "An edge (v, v) is one entry",
    ),
    (
        "        indptr.append(len(indices))\n",
        "        if len(indices) > indptr[-1]:\n            indptr.append(len(indices))\n",
        "leaves out the row of a node that keeps no neighbour",
        "Yours has",
    ),
)
