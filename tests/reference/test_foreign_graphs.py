"""Graphs of other libraries, each by the library itself where it is installed."""

import sys
import warnings

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import refimpl
from refimpl._support import foreign_graphs

PAIRS = np.array([(0, 1), (1, 2), (3, 1), (3, 3)])
DIRECTED = {(0, 1), (1, 2), (3, 1), (3, 3)}
BOTH_WAYS = DIRECTED | {(v, u) for u, v in DIRECTED}
NAMES = ["d", "a", ("c", 1), 7]


def entries(graph):
    return set(zip(np.repeat(np.arange(graph.n), graph.degrees()), graph.indices, strict=True))


class OfDGL:
    """What `as_graph` uses of a DGLGraph, as DGL's documentation has it."""

    is_homogeneous = True

    def __init__(self, u, v, n):
        self.ends, self.n, self.edata = (np.array(u), np.array(v)), n, {}

    def edges(self):
        return self.ends

    def num_nodes(self):
        return self.n

    def nodes(self):
        return np.arange(self.n)


OfDGL.__module__ = "dgl.heterograph"


def of_networkx(u, v, n, weights=None):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    rows = zip(u.tolist(), v.tolist(), [1] * len(u) if weights is None else weights, strict=True)
    graph.add_weighted_edges_from(rows)
    return graph


def of_igraph(u, v, n, weights=None):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(n, list(zip(u.tolist(), v.tolist(), strict=True)), directed=True)
    if weights is not None:
        graph.es["weight"] = weights
    return graph


def of_pandas(u, v, n, weights=None):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"target": v, "source": u, "note": "x"})
    return table if weights is None else table.assign(weight=weights)


def of_dgl(u, v, n, weights=None):
    graph = OfDGL(u, v, n)
    if weights is not None:
        graph.edata["w"] = weights
    return graph


def of_scipy(u, v, n, weights=None):
    values = np.ones(len(u)) if weights is None else weights
    return sparse.coo_array((values, (u, v)), shape=(n, n))


MADE = [of_networkx, of_igraph, of_pandas, of_dgl, of_scipy]


@pytest.mark.parametrize("make", MADE)
def test_a_graph_of_another_library(gnn, make):
    n = 4 if make is of_pandas else 5
    graph = gnn.as_graph(make(*PAIRS.T, n))
    assert entries(graph) == DIRECTED and graph.n == n and not graph.symmetric
    undirected = gnn.as_graph(make(*PAIRS.T, n), symmetrize=True, self_loops=False)
    assert entries(undirected) == BOTH_WAYS - {(3, 3)} and undirected.symmetric
    with pytest.raises(ValueError, match="n must be|must be in"):
        gnn.as_graph(make(*PAIRS.T, n), n=2)
    with pytest.raises(ValueError, match="dense must be False|square matrix"):
        gnn.as_graph(make(*PAIRS.T, n), dense=True)


@pytest.mark.parametrize("make", MADE)
def test_weights_that_are_dropped_are_said_once(gnn, make):
    with pytest.warns(UserWarning, match="has no weights: those in .* dropped") as said:
        graph = gnn.as_graph(make(*PAIRS.T, 4, [1, 2.5, 1, 1]))
    assert len(said) == 1 and said[0].filename == __file__
    assert entries(graph) == DIRECTED
    gnn.as_graph(make(*PAIRS.T, 4, [1, 1, 1, 1]))  # nothing to say: no warning, which would raise


def test_no_library_is_imported_that_the_graph_is_not_of(monkeypatch):
    """Nor is any asked for that is not there: a class is told by its own module's name."""
    for library in ("networkx", "igraph", "dgl", "torch_geometric", "pandas"):
        monkeypatch.setitem(sys.modules, library, None)  # importing it fails
    assert refimpl.as_graph(OfDGL(*PAIRS.T, 5)).e == 4
    assert refimpl.as_graph(of_networkx(*PAIRS.T, 4)).e == 4


def test_names_of_networkx(gnn):
    source = nx.path_graph(4)
    source = nx.relabel_nodes(source, dict(enumerate(NAMES)))
    graph, names = gnn.graph.graph_and_names(source)
    assert names.tolist() == list(source) == NAMES
    got = {frozenset({names[u], names[v]}) for u, v in entries(graph)}
    assert got == {frozenset(edge) for edge in source.edges}
    assert gnn.graph.graph_and_names([(0, 1)])[1] is None
    for many in (nx.MultiGraph(source), nx.MultiDiGraph(source)):
        assert entries(gnn.as_graph(many)) == entries(graph)
    assert gnn.as_graph(nx.Graph()).n == 0


def test_names_of_igraph(gnn):
    igraph = pytest.importorskip("igraph")
    source = igraph.Graph.TupleList([("b", "a"), ("a", "c")])
    graph, names = gnn.graph.graph_and_names(source)
    assert names.tolist() == ["b", "a", "c"]
    assert entries(graph) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert gnn.graph.graph_and_names(igraph.Graph.Ring(3))[1] is None


@pytest.mark.parametrize(
    ("u", "v", "want"),
    [
        (["b", "a"], ["c", "b"], ["a", "b", "c"]),
        ([30, 10], [10, 20], [10, 20, 30]),
        ([-1, 2**40], [5, -1], [-1, 5, 2**40]),
        (["b", 1], [1, "a"], ["b", 1, "a"]),  # no order: as they come
        ([0, 1], ["x", "y"], [0, 1, "x", "y"]),
    ],
)
def test_names_in_a_table(gnn, u, v, want):
    pandas = pytest.importorskip("pandas")
    graph, names = gnn.graph.graph_and_names(pandas.DataFrame({"one": u, "other": v}))
    assert names.tolist() == want
    got = {(names[i], names[j]) for i, j in entries(graph)}
    assert got == set(zip(u, v, strict=True))


def test_a_table_with_the_number_of_nodes_has_ids(gnn):
    table = of_pandas(*PAIRS.T, None)
    assert gnn.as_graph(table, n=9).n == 9
    with pytest.raises(ValueError, match="source must be in"):
        gnn.as_graph(table, n=3)
    with pytest.raises(TypeError, match="integers"):
        gnn.as_graph(table.astype({"source": str}), n=9)


def test_tables_that_are_refused(gnn):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(
        ValueError, match="two columns, or those of one pair named 'source' and 'target'"
    ):
        gnn.as_graph(pandas.DataFrame({"a": [1], "b": [2], "c": [3]}))
    for missing in (None, np.nan):
        table = pandas.DataFrame({"a": [1, missing], "b": [2, 3]})
        with pytest.raises(ValueError, match="both ends, but 'a' of row 1"):
            gnn.as_graph(table)


def test_a_dense_table_has_names(gnn):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[0, 1], [0, 0]], index=["x", "y"], columns=["x", "y"])
    graph, names = gnn.graph.graph_and_names(table, dense=True)
    assert names.tolist() == ["x", "y"] and entries(graph) == {(0, 1)}
    with pytest.raises(ValueError, match="same names"):
        gnn.as_graph(table.rename(columns={"x": "z"}), dense=True)


def test_edge_index(gnn):
    assert entries(gnn.as_graph(PAIRS.T)) == DIRECTED
    assert entries(gnn.as_graph(PAIRS.T.tolist(), n=9)) == DIRECTED
    assert gnn.as_graph(np.zeros((2, 0), int), n=3).n == 3


@pytest.mark.parametrize(
    "source", [PAIRS[:2], PAIRS[:2].tolist(), ((0, 1), (1, 2)), ([0, 1], [1, 2])]
)
def test_two_by_two_is_refused_with_its_readings(gnn, source):
    with pytest.raises(ValueError, match="two edges .*an edge_index .*a dense matrix"):
        gnn.as_graph(source)
    assert entries(gnn.graph.from_edges([0, 1], [1, 2])) == {(0, 1), (1, 2)}
    assert entries(gnn.as_graph([(0, 1), (1, 2)])) == {(0, 1), (1, 2)}
    with pytest.warns(UserWarning, match="no weights"):
        assert entries(gnn.as_graph(source, dense=True)) == {(0, 1), (1, 0), (1, 1)}


def test_dense_matrices(gnn):
    matrix = np.zeros((5, 5))
    matrix[tuple(PAIRS.T)] = 1
    for source in (matrix, matrix.astype(bool), matrix.tolist()):
        assert entries(gnn.as_graph(source, dense=True)) == DIRECTED
        with pytest.raises(ValueError, match="dense=True"):
            gnn.as_graph(source)
    with pytest.raises(ValueError, match="NaN"):
        gnn.as_graph(matrix * np.nan, dense=True)
    with pytest.raises(ValueError, match="square"):
        gnn.as_graph(matrix[:3], dense=True)
    with pytest.raises(TypeError, match="numbers"):
        gnn.as_graph(np.array([["a"]]), dense=True)
    with pytest.raises(TypeError, match="dense must be True or False"):
        gnn.as_graph(matrix, dense=1)
    with pytest.raises(ValueError, match="n must be None"):
        gnn.as_graph(matrix, dense=True, n=5)


def test_from_edges_refuses(gnn):
    for u, v, error in (
        ([0, 1], [1], ValueError),
        ([[0]], [0], ValueError),
        ([0.5], [0], TypeError),
        ([-1], [0], ValueError),
        (["a"], [0], TypeError),
    ):
        with pytest.raises(error):
            gnn.graph.from_edges(u, v)
    with pytest.raises(OverflowError):
        gnn.graph.from_edges([2**31 - 1], [0])
    with pytest.raises(ValueError, match="two|one type"):
        several = OfDGL(*PAIRS.T, 5)
        several.is_homogeneous = False
        gnn.as_graph(several)


def test_numbers_of_names():
    names = np.array(["x", ("y", 1), 3], dtype=object)
    assert_array_equal(foreign_graphs.numbers_of(names, [3, "x", 3], "edges"), [2, 0, 2])
    with pytest.raises(ValueError, match="edges must name nodes only, but 'z' is none"):
        foreign_graphs.numbers_of(names, ["z"], "edges")
    with pytest.raises(ValueError, match="distinct"):
        foreign_graphs.numbers_of(["a", "a"], ["a"], "edges")


def test_a_warning_can_be_an_error(gnn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            gnn.as_graph(sparse.csr_array(np.diag([2.0, 1.0])))


def test_symmetry_is_found_out_once_and_kept(gnn, monkeypatch):
    graph = gnn.graph.from_edges([0, 1], [1, 2])
    assert ("symmetric" in vars(graph)) == (gnn is not refimpl)
    assert not graph.symmetric and "symmetric" in vars(graph)
    monkeypatch.setattr(refimpl._support.edge_sources, "symmetric", None)  # no longer called
    assert not graph.symmetric
    assert gnn.graph.from_edges([0, 1], [1, 2], symmetrize=True).symmetric
