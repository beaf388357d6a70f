"""Reading edges, induced subgraphs, transposes; what `as_graph` sorts is shared by packages."""

from functools import partial

import numpy as np

from bench import inputs, work
from bench.answers import alike, as_other, exactly, same
from bench.case import Bench, Task, timed
from bench.checks import check_induced

READING = "as_graph", "graph_and_names", "from_edges"


def reading_tasks(name, size):
    """Yield pairs to read and to sort: kernels that take a Graph are spared it."""

    graph = inputs.layer_graph(size)
    pairs = np.stack([np.repeat(np.arange(graph.n), graph.degrees()), graph.indices], axis=1)
    shuffled = np.random.default_rng(inputs.SEED).permutation(pairs)
    done = work.stream(shuffled.nbytes + graph.indices.nbytes + graph.indptr.nbytes)

    def check(got, args, other):
        if name == "graph_and_names":
            got, names = got
            alike(names, None, "result[1]")
        order = np.lexsort((shuffled[:, 1], shuffled[:, 0]))
        degrees = np.bincount(shuffled[:, 0], minlength=graph.n)
        same("result.indices", got.indices, shuffled[order, 1].astype(np.int32))
        same("result.indptr", got.indptr, np.concatenate([[0], np.cumsum(degrees)]))

    args = {"source": shuffled}
    if name == "from_edges":
        args = {"u": shuffled[:, 0], "v": shuffled[:, 1]}
    yield Task(inputs.graph_text(graph), {**args, "n": graph.n}, check, done)


def induced_tasks(size):
    """Yield the graph among both ends of random edges: nodes of high degree are in."""
    graph = inputs.parent(size)
    rng = np.random.default_rng(inputs.SEED)
    nodes = np.unique(graph.indices[rng.integers(0, graph.e, inputs.SIZES[size].n)])

    def check(got, args, other):
        same("result.nodes", got.nodes, nodes)
        check_induced(graph, got)

    text = f"{len(nodes):,} nodes of {inputs.graph_text(graph)}"
    done = work.induced(graph, nodes, graph.to_scipy()[nodes][:, nodes].nnz)
    yield Task(text, {"graph": graph, "nodes": nodes}, check, done)


def transpose_tasks(size):
    """Yield the permutation of a graph's entries that transposes it."""
    graph = inputs.layer_graph(size)
    check, done = exactly(inputs.transpose_of(size)), work.transpose(graph.n, graph.e)
    yield Task(inputs.graph_text(graph), {"graph": graph}, check, done)


def transpose_block_tasks(size):
    """Yield the transpose of sampled neighbours."""
    block = inputs.neighbours(size, 10).blocks[0]
    text = f"{block.n_dst:,} x {block.n_src:,} e={block.e:,}"
    yield Task(text, {"block": block}, as_other("transpose_block"))


def add_self_loops_tasks(size):
    """Yield a graph with a loop at each node."""
    graph = inputs.layer_graph(size)
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    loops = np.arange(graph.n) * (graph.n + 1)
    pairs = np.unique(np.concatenate([rows * graph.n + graph.indices, loops]))

    def check(got, args, other):
        same("result.indices", got.indices, (pairs % graph.n).astype(np.int32))
        ends = np.cumsum(np.bincount(pairs // graph.n, minlength=graph.n))
        same("result.indptr", got.indptr, np.concatenate([[0], ends]))

    yield Task(inputs.graph_text(graph), {"graph": graph}, check, work.stream(8 * graph.e))


test_graph = timed(
    *(Bench(name, partial(reading_tasks, name), serial=True) for name in READING),
    Bench("induced_subgraph", induced_tasks, serial=True),
    Bench("transpose_perm", transpose_tasks, serial=True),
    Bench("transpose_block", transpose_block_tasks),
    Bench("add_self_loops", add_self_loops_tasks, serial=True),
)
