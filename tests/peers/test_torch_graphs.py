"""Graphs of torch_geometric and tensors of torch as sources of `as_graph`."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import refimpl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.runs
EDGE_INDEX = torch.tensor([[0, 1, 3, 3], [1, 2, 1, 3]])


def test_tensors(gnn):
    want = gnn.graph.from_edges(*EDGE_INDEX.numpy())
    for source in (EDGE_INDEX, EDGE_INDEX.T, EDGE_INDEX.int().requires_grad_(False)):
        got = gnn.as_graph(source)
        assert_array_equal(got.indptr, want.indptr)
        assert_array_equal(got.indices, want.indices)
    assert_array_equal(gnn.graph.from_edges(*EDGE_INDEX).indices, want.indices)
    with pytest.raises(ValueError, match="an edge_index"):
        gnn.as_graph(EDGE_INDEX[:, :2])
    with pytest.raises(TypeError, match="source must hold integers"):
        gnn.as_graph(EDGE_INDEX.float())
    assert gnn.as_graph(torch.eye(3), dense=True).e == 3
    with pytest.raises(ValueError, match="source must be"):
        gnn.as_graph(torch.eye(3).to_sparse())


def test_data_of_torch_geometric(gnn):
    data = pytest.importorskip("torch_geometric.data")
    source = data.Data(edge_index=EDGE_INDEX, num_nodes=5, x=torch.zeros(5, 2))
    graph, names = gnn.graph.graph_and_names(source)
    assert graph.n == 5 and names is None
    assert_array_equal(graph.indices, gnn.as_graph(EDGE_INDEX).indices)
    for weights in ({"edge_weight": torch.rand(4)}, {"edge_attr": np.arange(8).reshape(4, 2)}):
        source = data.Data(edge_index=EDGE_INDEX, num_nodes=5, **weights)
        with pytest.warns(UserWarning, match="no weights: those in 'edge_"):
            gnn.as_graph(source)
    gnn.as_graph(data.Data(edge_index=EDGE_INDEX, num_nodes=5, edge_weight=torch.ones(4)))
    with pytest.raises(ValueError, match="must have an edge_index"):
        gnn.as_graph(data.Data(x=torch.zeros(3, 2)))
    with pytest.raises(ValueError, match="source must be"):
        gnn.as_graph(data.HeteroData())
    assert refimpl.as_graph(data.Data(edge_index=EDGE_INDEX[:, :2], num_nodes=3)).e == 2
