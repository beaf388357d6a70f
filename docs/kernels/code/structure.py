"""Transposes and subgraphs."""

from forms import (
    Graph,
    Named,
    counters,
    has_one_way_edge,
    is_array,
    is_graph,
    is_named,
    node_count,
)


def transpose_perm(graph):
    perm = [-1] * len(graph.indices)  # 2
    free = graph.indptr[:-1]  # 3, a copy: the next free place of each row
    for v in range(node_count(graph)):  # 4
        for j in range(graph.indptr[v], graph.indptr[v + 1]):  # 5
            u = graph.indices[j]  # 6
            perm[free[u]] = j  # 7
            free[u] += 1  # 8
    return perm  # 11


def induced_subgraph(graph, nodes):
    number = {}  # of each node in the subgraph
    for i, v in enumerate(nodes):
        number[v] = i
    indptr = [0]
    indices = []
    edge_ids = []
    for v in nodes:
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            u = graph.indices[j]
            if u in number:
                indices.append(number[u])
                edge_ids.append(j)
        indptr.append(len(indices))
    induced = Graph(indptr, indices)
    return {
        "nodes": list(nodes),
        "graph": induced,
        "edge_ids": edge_ids,
        "transpose_perm": transpose_perm(induced),
        "counters": counters(),
    }


def transpose_block(block):
    count = [0] * block.n_src
    for i in range(len(block.start)):
        for j in range(block.start[i], block.end[i]):
            count[block.indices[j]] += 1
    start = []
    total = 0
    for u in range(block.n_src):
        start.append(total)
        total += count[u]
    end = list(start)  # grows with each entry that is put into its row
    destinations = [-1] * total
    perm = [-1] * total
    for i in range(len(block.start)):
        for j in range(block.start[i], block.end[i]):
            u = block.indices[j]
            destinations[end[u]] = i
            perm[end[u]] = j
            end[u] += 1
    fields = {
        "start": start,
        "end": end,
        "indices": destinations,
        "n_src": len(block.start),
        "edge_ids": None,
    }
    return [Named("Block", fields), perm]


def check_transpose_perm(graph):
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)


def check_induced_subgraph(graph, nodes):
    yield "type", "`graph` is no graph", not is_graph(graph)
    whole = is_array(nodes) and nodes.dtype.startswith(("int", "uint"))
    yield "type", "`nodes` is no array of integers", not whole
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)
    yield "value", "`nodes` is not one-dimensional", len(nodes.shape) != 1
    ascending = all(a < b for a, b in zip(nodes, nodes[1:], strict=False))
    yield "value", "`nodes` does not ascend, or has a node twice", not ascending
    known = all(0 <= v < node_count(graph) for v in nodes)
    yield "value", "one of `nodes` is no node of the graph", not known


def check_transpose_block(block):
    yield "type", "`block` is no block: a graph is none", not is_named(block, "Block")
