"""Induced subgraphs and the transpose by permutation; what `as_graph` reads and sorts is shared."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from bench import inputs, work

pytestmark = [pytest.mark.serial, pytest.mark.sizes("tiny", "small", "large")]


def test_as_graph(case):
    """Reading and sorting, the same in both packages: what kernels that take a Graph are spared."""
    graph = inputs.layer_graph(case.size)
    pairs = np.stack([np.repeat(np.arange(graph.n), graph.degrees()), graph.indices], axis=1)
    shuffled = np.random.default_rng(inputs.SEED).permutation(pairs)
    done = work.stream(shuffled.nbytes + graph.indices.nbytes + graph.indptr.nbytes)
    case.describe("as_graph (shared)", inputs.graph_text(graph), done)
    got = case.run(case.gnn.as_graph, shuffled, n=graph.n)
    order = np.lexsort((shuffled[:, 1], shuffled[:, 0]))
    assert_array_equal(got.indices, shuffled[order, 1])
    assert_array_equal(np.diff(got.indptr), np.bincount(shuffled[:, 0], minlength=graph.n))


def test_induced_subgraph(case):
    graph = inputs.parent(case.size)
    rng = np.random.default_rng(inputs.SEED)
    # both ends of random edges: nodes of high degree are in, as in a sampled subgraph
    nodes = np.unique(graph.indices[rng.integers(0, graph.e, case.scale.n)])
    rows = graph.to_scipy(np.arange(1, graph.e + 1))[nodes]
    expected = sp.csr_array(rows[:, nodes])
    expected.sort_indices()

    text = f"{len(nodes):,} nodes of {inputs.graph_text(graph)}"
    subgraph = case.gnn.induced_subgraph(graph, nodes)
    case.describe("induced_subgraph", text, work.induced(graph, subgraph))
    got = case.run(case.gnn.induced_subgraph, graph, nodes)
    assert_array_equal(got.nodes, nodes)
    assert_array_equal(got.graph.indptr, expected.indptr)
    assert_array_equal(got.graph.indices, expected.indices)
    assert_array_equal(got.edge_ids, expected.data - 1)
    assert_array_equal(got.transpose_perm, np.argsort(expected.indices, kind="stable"))


def test_transpose_perm(case):
    graph = inputs.layer_graph(case.size)
    case.describe("transpose_perm", inputs.graph_text(graph), work.transpose(graph))
    got = case.run(case.gnn.transpose_perm, graph)
    assert_array_equal(got, np.argsort(graph.indices, kind="stable"))
