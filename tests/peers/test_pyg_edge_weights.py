"""GCN and GraphSAGE with weights of edges beside torch_geometric's `edge_weight`."""

import numpy as np
import pytest
from comparison import RTOL
from numpy.testing import assert_allclose
from strategies import power_law_graph

from refimpl.scheduling import ProductOrders

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
peer = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")

F_IN, F_OUT = 7, 12


def weighted_data(gnn, dtype):
    """Return a data set with weights, and it as torch_geometric has it."""
    graph, rng = power_law_graph(150, 3), np.random.default_rng(3)
    row = np.repeat(np.arange(graph.n), graph.degrees())
    low, high = np.minimum(row, graph.indices), np.maximum(row, graph.indices)
    pairs, back = np.unique(low * graph.n + high, return_inverse=True)
    # multiples of 1 / 16 are the same numbers in both precisions
    weighted = gnn.graph.WeightedGraph(graph, rng.integers(1, 64, pairs.size)[back] / 16)
    X = rng.standard_normal((graph.n, F_IN)).astype(dtype)
    labels = np.arange(graph.n) % 3
    data = gnn.Dataset.from_arrays(weighted, X, labels, scaling="none", dtype=dtype)
    return data, data.to_pyg()


def matrix(gnn, kind, data):
    model = {"gcn": gnn.models.Gcn, "sage": gnn.models.Sage}[kind]()
    perm = gnn.transpose_perm(data.graph)
    return model.adjacency(gnn, data.graph, perm, data.dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("order", [ProductOrders(1, 1, 2), ProductOrders(2, 2, 1)])
def test_gcn(gnn, dtype, order):
    data, given = weighted_data(gnn, dtype)
    rng = np.random.default_rng(5)
    W = rng.standard_normal((F_IN, F_OUT)).astype(dtype)
    G = rng.standard_normal((data.graph.n, F_OUT)).astype(dtype)
    A = matrix(gnn, "gcn", data)
    out = gnn.gcn_forward(A, data.features, W, order)
    back = gnn.gcn_backward(A, data.features, W, out, G, order)

    conv = peer.GCNConv(F_IN, F_OUT, bias=False)
    conv.lin.weight.data = torch.tensor(W.T.copy())
    x = given.x.clone().requires_grad_()
    theirs = conv(x, given.edge_index, given.edge_weight).relu()
    theirs.backward(torch.tensor(G))
    for ours, wanted in (
        (out.X_out, theirs.detach().numpy()),
        (back.W, conv.lin.weight.grad.numpy().T),
        (back.X, x.grad.numpy()),
    ):
        assert_allclose(
            ours, wanted, rtol=RTOL[ours.dtype], atol=RTOL[ours.dtype] * abs(wanted).max()
        )
    plain = conv(given.x, given.edge_index).relu().detach().numpy()
    assert abs(plain - out.X_out).max() > 0.1  # the weights count


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_sage(gnn, dtype):
    """The weighted mean: torch_geometric's sum of rows times weights, over the sum of weights."""
    data, given = weighted_data(gnn, dtype)
    rng = np.random.default_rng(6)
    W_neigh, W_self = rng.standard_normal((2, F_IN, F_OUT)).astype(dtype)
    G = rng.standard_normal((data.graph.n, F_OUT)).astype(dtype)
    A, order = matrix(gnn, "sage", data), ProductOrders(1, 1, 2)
    options = {"concat": "sum"}
    out = gnn.sage_forward(A, data.features, W_neigh, W_self, order, **options)
    back = gnn.sage_backward(A, data.features, W_neigh, W_self, out, G, order, **options)

    conv = peer.GraphConv(F_IN, F_OUT, aggr="add", bias=False)
    conv.lin_rel.weight.data = torch.tensor(W_neigh.T.copy())
    conv.lin_root.weight.data = torch.tensor(W_self.T.copy())
    x = given.x.clone().requires_grad_()
    sums = torch.zeros(data.graph.n, dtype=given.edge_weight.dtype)
    sums.index_add_(0, given.edge_index[1], given.edge_weight)
    theirs = conv(x, given.edge_index, given.edge_weight / sums[given.edge_index[1]]).relu()
    theirs.backward(torch.tensor(G))
    for ours, wanted in (
        (out.X_out, theirs.detach().numpy()),
        (back.W_neigh, conv.lin_rel.weight.grad.numpy().T),
        (back.W_self, conv.lin_root.weight.grad.numpy().T),
        (back.X, x.grad.numpy()),
    ):
        assert_allclose(
            ours, wanted, rtol=RTOL[ours.dtype], atol=RTOL[ours.dtype] * abs(wanted).max()
        )


def test_edge_weight_goes_there_and_back(gnn):
    data, given = weighted_data(gnn, np.float32)
    again = gnn.Dataset.from_pyg(given, scaling="none")
    np.testing.assert_array_equal(again.graph.weights, data.graph.weights)
    np.testing.assert_array_equal(again.graph.indices, data.graph.indices)
