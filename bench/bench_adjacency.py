"""Row normalisation, with the values of the transpose."""

import numpy as np
from numpy.testing import assert_allclose

from bench import inputs
from bench.work import Part


def test_row_norm(case):
    graph = inputs.layer_graph(case.size)
    perm = np.argsort(graph.indices, kind="stable")
    nbytes = 16 * graph.e + 8 * graph.n  # read perm, write data and data_t
    done = [Part(nbytes, nbytes, random=graph.e, table=4 * graph.e)]
    case.describe("row_norm", f"{inputs.graph_text(graph)} float32", done)
    A = case.run(case.gnn.adjacency.row_norm, graph, perm, dtype=np.float32)
    means = graph.to_scipy(1 / np.repeat(graph.degrees(), graph.degrees()))
    assert_allclose(A.data, means.data, rtol=1e-7)
    x = inputs.normal(graph.n, 1, "float64")
    assert_allclose(graph.to_scipy(A.data_t.astype(np.float64)) @ x, means.T @ x, atol=1e-4)
