"""Building a graph, from everything one can be built from, against SciPy."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from oracles import dense, rows
from scipy import sparse
from strategies import directed_graphs, graph_from_edges, graphs

PATH = graph_from_edges(3, {(0, 1), (1, 2)})
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20)


def pattern(edges, n):
    """Return SciPy's matrix of ones at `edges`, duplicates merged."""
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    matrix = sparse.coo_array((np.ones(len(u)), (u, v)), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def assert_is(graph, matrix):
    """Check that `graph` has the pattern of SciPy's `matrix`, in canonical form."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    assert_array_equal(graph.indptr, matrix.indptr)
    assert_array_equal(graph.indices, matrix.indices)
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.int32
    assert (graph.n, graph.e) == (matrix.shape[0], matrix.nnz)
    assert graph.symmetric == ((matrix != matrix.T).nnz == 0)


@given(edges=PAIRS, extra=st.integers(0, 2), loops=st.booleans(), symmetrize=st.booleans())
def test_as_graph_from_every_source(gnn, edges, extra, loops, symmetrize):
    n = max((max(edge) for edge in edges), default=0) + 1 + extra
    want = pattern(edges, n)
    if symmetrize:
        want = (want + want.T > 0).astype(float)
    if not loops:
        want.setdiag(0)
        want.eliminate_zeros()
    digraph = nx.DiGraph()
    digraph.add_nodes_from(range(n))
    digraph.add_edges_from(edges)
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    unmerged = sparse.coo_array((np.ones(len(u), np.bool_), (u, v)), shape=(n, n))
    order = np.argsort(u, kind="stable")[::-1]  # rows descending: as_graph has to sort
    by_row = order[np.argsort(u[order], kind="stable")]
    csr_pair = (np.concatenate(([0], np.cumsum(np.bincount(u, minlength=n)))), v[by_row])
    options = {"self_loops": loops, "symmetrize": symmetrize}
    for source in (unmerged, unmerged.tocsc(), sparse.coo_matrix(unmerged), digraph, csr_pair):
        assert_is(gnn.as_graph(source, **options), want)
    assert_is(gnn.as_graph(edges or np.zeros((0, 2), int), n=n, **options), want)
    assert_is(gnn.graph.from_edges(u.astype(np.int16), v, n, **options), want)
    if len(edges) != 2:  # else it is refused
        for source in (np.array(edges, np.int32).reshape(-1, 2), np.stack([u, v]).tolist()):
            assert_is(gnn.as_graph(source, n=n, **options), want)


def test_as_graph_of_a_graph(gnn):
    assert gnn.as_graph(PATH) is PATH
    with pytest.raises(ValueError, match="n must be None unless source is a list of edges"):
        gnn.as_graph(PATH, n=9)


def test_undirected_networkx_gives_both_directions_in_its_node_order(gnn):
    source = nx.Graph([("c", "a"), ("a", "b")])
    assert_array_equal(gnn.as_graph(source).to_scipy().todense(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_explicit_zero_is_an_edge_and_two_entries_are_one(gnn):
    source = sparse.coo_array(([0.0, 1.0, -1.0], ([0, 1, 1], [1, 0, 0])), shape=(2, 2))
    with pytest.warns(UserWarning, match="those in 'data' of source are dropped"):
        graph = gnn.as_graph(source)
    assert_array_equal(graph.indptr, [0, 1, 2])
    assert_array_equal(graph.indices, [1, 0])


def test_number_of_nodes_of_an_edge_list(gnn):
    assert gnn.as_graph([(0, 3)]).n == 4
    assert gnn.as_graph([(0, 3)], n=9).n == 9
    assert gnn.as_graph(np.zeros((0, 2), np.int64)).n == 0


def test_as_graph_leaves_its_source_alone_and_keeps_no_view(gnn):
    indptr, indices = np.array([0, 2, 3]), np.array([1, 0, 0])
    graph = gnn.as_graph((indptr, indices))
    assert_array_equal(indices, [1, 0, 0])
    indices[:] = 7
    assert_array_equal(graph.indices, [0, 1, 0])


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ([(0, 1, 2)], {}, ValueError),
        ([0, 1], {}, ValueError),
        ([(0, -1)], {}, ValueError),
        ([(0, 5)], {"n": 5}, ValueError),
        ([(0, 1)], {"n": -1}, ValueError),
        ([(0, 1)], {"n": 2.0}, TypeError),
        ([(0.0, 1.0)], {}, TypeError),
        (sparse.coo_array((2, 3)), {}, ValueError),
        ((np.array([0, 1]), np.array([5])), {}, ValueError),
        ((np.array([0, 2]), np.array([0])), {}, ValueError),
        ((np.array([1, 1]), np.array([0])), {}, ValueError),
        ((np.array([0, 2, 1, 3]), np.array([0, 1, 2])), {}, ValueError),
        ((np.array([0, 1]), np.array([0.0])), {}, TypeError),
        (None, {}, TypeError),
        ("graph", {}, TypeError),
        (7, {}, (TypeError, ValueError)),
    ],
)
def test_as_graph_rejects(gnn, source, options, error):
    with pytest.raises(error):
        gnn.as_graph(source, **options)


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": np.array([[0, 1]]), "n": 2**31},
        {"source": np.array([[0, 2**31 - 1]])},
        {"source": sparse.coo_array(([], ([], [])), shape=(2**31, 2**31))},
    ],
    ids=["n", "largest id", "scipy"],
)
def test_too_many_nodes(gnn, arguments):
    with pytest.raises(OverflowError):
        gnn.as_graph(**arguments)


@pytest.mark.parametrize(
    ("indptr", "indices", "error"),
    [
        ([0, 2], [1, 0], ValueError),  # a neighbour that is no node
        ([0, 2, 2], [1, 0], ValueError),  # not ascending
        ([0, 2, 2], [1, 1], ValueError),  # twice the same
        ([0, 1, 2], [1, -1], ValueError),
        ([0, 1, 2], [1, 2], ValueError),
        ([1, 1, 2], [0, 1], ValueError),
        ([0, 2, 1], [0, 1], ValueError),
        ([0, 2, 1, 3], [0, 1, 2], ValueError),
        ([0, 1, 1], [0, 1], ValueError),
        ([0, 1, 3], [0, 1], ValueError),
        (np.zeros(0, int), np.zeros(0, int), ValueError),
        ([[0, 1]], [0], ValueError),
        ([0, 1], [[0]], ValueError),
        ([0.0, 1.0], [0], TypeError),
        ([0, 1], [0.0], TypeError),
        ([False, True], [0], TypeError),
        (["0", "1"], [0], TypeError),
        ([0, 1], ["0"], TypeError),
        (None, [0], (TypeError, ValueError)),
    ],
)
def test_graph_rejects(gnn, indptr, indices, error):
    with pytest.raises(error):
        gnn.Graph(np.array(indptr), np.array(indices))


@given(graph=directed_graphs())
def test_graph_is_frozen_and_converts_back(gnn, graph):
    for array in (graph.indptr, graph.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    with pytest.raises((AttributeError, TypeError)):
        graph.indptr = np.zeros(1, np.int64)
    assert_array_equal(graph.to_scipy().toarray(), dense(graph))
    assert_is(gnn.as_graph(graph.to_networkx()), graph.to_scipy())
    assert_is(gnn.as_graph(graph.to_scipy()), graph.to_scipy())


@given(graph=graphs(), cap=st.none() | st.integers(1, 5))
def test_degrees_and_their_sum(graph, cap):
    want = dense(graph).sum(axis=1)
    assert_array_equal(graph.degrees(), want)
    assert graph.weight_sum(cap) == np.minimum(want, np.inf if cap is None else cap).sum()


DIRECTED = [(0, 1), (1, 2), (2, 1)]
NEEDS_SYMMETRY = {
    "induced_subgraph": lambda gnn, g: gnn.induced_subgraph(g, np.array([0, 1])),
    "transpose_perm": lambda gnn, g: gnn.transpose_perm(g),
    "row_norm": lambda gnn, g: gnn.adjacency.row_norm(g),
    "frontier": lambda gnn, g: gnn.frontier(g, 1, 2, m=1, n=2),
    "pin_tile": lambda gnn, g: gnn.pin_tile(g, 1, 2, m=1, n=2),
    "sample_many": lambda gnn, g: gnn.sample_many(g, gnn.Sampler("frontier", m=1, n=2), 0, 0, 1),
}


@pytest.mark.parametrize("name", NEEDS_SYMMETRY)
def test_directed_graph_is_refused(gnn, name):
    NEEDS_SYMMETRY[name](gnn, gnn.as_graph(DIRECTED, symmetrize=True))
    with pytest.raises(ValueError, match="undirected|directed|symmetric"):
        NEEDS_SYMMETRY[name](gnn, gnn.as_graph(DIRECTED))


@given(graph=graphs(), data=st.data())
def test_induced_subgraph_is_the_dense_slice(gnn, graph, data):
    """Entries, order, ids of nodes and of edges."""
    nodes = sorted(data.draw(st.sets(st.integers(0, max(graph.n - 1, 0)), max_size=graph.n)))
    nodes = np.array(nodes, np.int32)
    nodes.flags.writeable = False
    sub = gnn.induced_subgraph(graph, nodes)
    assert_array_equal(sub.nodes, nodes)
    assert_array_equal(dense(sub.graph), dense(graph)[np.ix_(nodes, nodes)])
    assert sub.graph.symmetric
    inner = np.diff(sub.graph.indices)[np.diff(rows(sub.graph)) == 0]
    assert (inner > 0).all()
    assert_array_equal(graph.indices[sub.edge_ids], nodes[sub.graph.indices])
    assert_array_equal(rows(graph)[sub.edge_ids], nodes[rows(sub.graph)])
    assert_array_equal(sub.transpose_perm, gnn.transpose_perm(sub.graph))
    assert sub.counters == gnn.graph.Counters()
    dtypes = [sub.nodes.dtype, sub.edge_ids.dtype, sub.transpose_perm.dtype]
    assert dtypes == [np.int32, np.int64, np.int32]


@pytest.mark.parametrize(
    ("nodes", "error"),
    [
        ([2, 0, 1], ValueError),  # shuffled
        ([0, 0], ValueError),
        ([0, 3], ValueError),
        ([-1, 0], ValueError),
        ([[0, 1]], ValueError),
        ([0.0], TypeError),
        ([True, False, True], TypeError),
    ],
)
def test_induced_subgraph_rejects(gnn, nodes, error):
    with pytest.raises(error):
        gnn.induced_subgraph(PATH, np.array(nodes))


@given(graph=graphs(), seed=st.integers(0, 99))
def test_transpose_perm_moves_values_as_the_dense_transpose(gnn, graph, seed):
    """Whatever the values are; applied twice, it changes nothing."""
    perm = gnn.transpose_perm(graph)
    data = np.random.default_rng(seed).permutation(graph.e) + 1.0
    assert perm.dtype == np.int32
    assert_array_equal(dense(graph, data[perm]), dense(graph, data).T)
    assert_array_equal(perm[perm], np.arange(graph.e))


@given(graph=graphs(), dtype=st.sampled_from([np.float32, np.float64]))
def test_row_norm_takes_the_mean_at_the_receiver(gnn, graph, dtype):
    """Rows add up to 1, or to 0; the transpose holds 1 / deg(u) at (v, u)."""
    A = gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph), dtype=dtype)
    assert A.data.dtype == A.data_t.dtype == dtype
    matrix, degree = dense(graph), dense(graph).sum(axis=1)
    inverse = np.divide(1, degree, out=np.zeros(graph.n), where=degree > 0).astype(dtype)
    assert_array_equal(dense(graph, A.data), matrix.astype(dtype) * inverse[:, None])
    assert_array_equal(dense(graph, A.data_t), matrix.astype(dtype) * inverse[None, :])
    sums = dense(graph, A.data.astype(float)).sum(axis=1)
    np.testing.assert_allclose(sums, degree > 0, atol=0, rtol=graph.n * np.finfo(dtype).eps)
    assert gnn.adjacency.row_norm(graph).data_t is None


@pytest.mark.parametrize(
    ("perm", "dtype", "error"),
    [
        (np.arange(3), float, ValueError),
        (np.zeros((4, 1), int), float, ValueError),
        (np.array([0, 1, 2, 9]), float, ValueError),
        (np.array([0, 1, 2, -1]), float, ValueError),
        (np.zeros(4), float, TypeError),
        (None, np.float16, (TypeError, ValueError)),
        (None, int, (TypeError, ValueError)),
    ],
)
def test_row_norm_rejects(gnn, perm, dtype, error):
    with pytest.raises(error):
        gnn.adjacency.row_norm(PATH, perm, dtype=dtype)
