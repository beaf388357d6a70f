"""The matrices that layers aggregate with: values for the entries of a pattern."""

import math

from arrays import (
    FLOATS,
    all_within,
    entries,
    entry_count,
    has_shape,
    is_integers,
    named,
    row_count,
)
from forms import (
    Graph,
    as_dtype,
    degree,
    has_one_way_edge,
    is_graph,
    is_named,
    neighbours,
    node_count,
)
from structure import transpose_block, transpose_perm


def row_norm(graph, transpose_perm, dtype):
    data = means(graph, dtype)
    data_t = None
    if transpose_perm is not None:
        data_t = [data[j] for j in transpose_perm]
    return adjacency(graph, data, data_t, graph, None)


def means(graph, dtype):
    """For each entry 1 over the length of its row."""
    data = []
    for v in range(node_count(graph)):
        for _ in neighbours(graph, v):
            data.append(as_dtype(dtype, 1 / degree(graph, v)))
    return data


def adjacency(pattern, data, data_t, pattern_t, perm):
    return {
        "graph": pattern,
        "data": data,
        "data_t": data_t,
        "graph_t": pattern_t,
        "perm": perm,
    }


def add_self_loops(graph):
    indptr = [0]
    indices = []
    for v in range(node_count(graph)):
        indices += sorted(set(neighbours(graph, v)) | {v})
        indptr.append(len(indices))
    return Graph(indptr, indices)


def sym_norm(graph, dtype):
    looped = add_self_loops(graph)
    data = []
    for v in range(node_count(looped)):
        for u in neighbours(looped, v):
            product = degree(looped, v) * degree(looped, u)  # with the loops
            data.append(as_dtype(dtype, 1 / math.sqrt(product)))
    return adjacency(looped, data, data, looped, None)  # its own transpose


def loop_norm(graph, dtype):
    looped = add_self_loops(graph)
    data = means(looped, dtype)
    perm = transpose_perm(looped)
    return adjacency(looped, data, [data[j] for j in perm], looped, perm)


def block_norm(kind, block, degrees, dtype):
    start, end, indices, data = [], [], [], []
    for v in range(row_count(block)):
        sources = [block.indices[j] for j in entries(block, v)]
        if kind != "row":  # the node itself, first in its row and there only
            sources = [v] + [u for u in sources if u != v]
        start.append(len(indices))
        for u in sources:
            indices.append(u)
            value = 1 / len(sources)
            if kind == "sym":
                value = estimate(v, u, len(sources) - 1, degrees)
            data.append(as_dtype(dtype, value))
        end.append(len(indices))
    pattern = named(
        "Block", start=start, end=end, indices=indices, n_src=block.n_src, edge_ids=None
    )
    pattern_t, perm = transpose_block(pattern)
    return adjacency(pattern, data, [data[k] for k in perm], pattern_t, perm)


def estimate(v, u, sampled, degrees):
    """Entry (v, u) of `sym_norm`, times the degree of v over how many were sampled."""
    if u == v:
        return 1 / (degrees[v] + 1)
    return degrees[v] / sampled / math.sqrt((degrees[u] + 1) * (degrees[v] + 1))


def check_add_self_loops(graph):
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)


def check_sym_norm(graph, dtype):
    yield "type", "`graph` is no graph", not is_graph(graph)
    yield "type", "`dtype` is not `float32` or `float64`", dtype not in FLOATS
    yield "value", "an edge (u, v) stands without (v, u)", has_one_way_edge(graph)


def check_loop_norm(graph, dtype):
    yield from check_sym_norm(graph, dtype)


def check_row_norm(graph, transpose_perm, dtype):
    given = transpose_perm is not None
    yield from check_sym_norm(graph, dtype)
    yield (
        "type",
        "`transpose_perm` is neither null nor an array of integers",
        given and not is_integers(transpose_perm),
    )
    yield (
        "value",
        "`transpose_perm` has not one position for each entry",
        given and not has_shape(transpose_perm, entry_count(graph)),
    )
    yield (
        "value",
        "a position of `transpose_perm` is no entry",
        given and not all_within(transpose_perm, 0, entry_count(graph)),
    )


def check_block_norm(kind, block, degrees, dtype):
    yield "type", "`block` is no block", not is_named(block, "Block")
    yield "type", "`dtype` is not `float32` or `float64`", dtype not in FLOATS
    yield (
        "type",
        "`kind` is `sym`, and `degrees` is neither null nor an array of integers",
        kind == "sym" and degrees is not None and not is_integers(degrees),
    )
    yield "value", "`kind` is not `row`, `sym` or `loop`", kind not in ("row", "sym", "loop")
    yield (
        "value",
        "`kind` is not `row`, and `block` has more destinations than sources",
        kind != "row" and row_count(block) > block.n_src,
    )
    yield "value", "`kind` is `sym`, and `degrees` is null", kind == "sym" and degrees is None
    yield (
        "value",
        "`kind` is `sym`, and `degrees` has not one number for each source",
        kind == "sym" and not has_shape(degrees, block.n_src),
    )
    yield (
        "value",
        "`kind` is `sym`, and a degree is not in [0, 2**31)",
        kind == "sym" and not all_within(degrees, 0, 2**31),
    )
