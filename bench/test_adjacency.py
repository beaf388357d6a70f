"""Normalised matrices, with the values of their transposes."""

from functools import partial

import numpy as np
import scipy.sparse as sp

from bench import inputs
from bench.answers import as_other, near
from bench.case import Bench, Task, timed
from bench.work import Part


def scaled(matrix, kind):
    """Return what SciPy makes of a 0/1 matrix: means over rows, or with loops and symmetric."""
    if kind == "row_norm":
        return sp.diags_array(1 / np.maximum(matrix.sum(axis=1), 1)) @ matrix
    looped = ((matrix + sp.eye_array(matrix.shape[0])) > 0).astype(np.float64)
    half = sp.diags_array(1 / np.sqrt(looped.sum(axis=1)))
    return half @ looped @ half


def norm_tasks(kind, size):
    """Yield the input of `row_norm` or `sym_norm`."""

    graph = inputs.layer_graph(size)
    args = {"graph": graph, "dtype": np.float32}
    nbytes, random = 8 * graph.e + 8 * graph.n, 0
    if kind == "row_norm":  # read perm, write data_t as well
        args["transpose_perm"] = inputs.transpose_of(size)
        nbytes, random = 16 * graph.e + 8 * graph.n, graph.e

    def check(got, args, other):
        want = sp.csr_array(scaled(graph.to_scipy(), kind))
        want.sort_indices()
        near("result.data", got.data, want.data, rtol=1e-6)
        x = inputs.normal(graph.n, 1, "float64")
        turned = got.graph.to_scipy(np.asarray(got.data_t, np.float64)) @ x
        near("result.data_t times numbers", turned, want.T @ x, atol=1e-4)

    done = [Part(nbytes, nbytes, random=random, table=4 * graph.e)]
    yield Task(f"{inputs.graph_text(graph)} float32", args, check, done)


def loop_tasks(size):
    """Yield the pattern with loops, for attention."""
    graph = inputs.layer_graph(size)
    args = {"graph": graph, "dtype": np.float32}
    yield Task(f"{inputs.graph_text(graph)} float32", args, as_other("loop_norm"))


def block_tasks(size):
    """Yield means over sampled neighbours."""
    block = inputs.neighbours(size, 10).blocks[0]
    args = {"kind": "row", "block": block, "dtype": np.float32}
    text = f"row, {block.n_dst:,} x {block.n_src:,} e={block.e:,} float32"
    yield Task(text, args, as_other("block_norm"))


test_adjacency = timed(
    Bench("row_norm", partial(norm_tasks, "row_norm")),
    Bench("sym_norm", partial(norm_tasks, "sym_norm")),
    Bench("loop_norm", loop_tasks),
    Bench("block_norm", block_tasks),
)
