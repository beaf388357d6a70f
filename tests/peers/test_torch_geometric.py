"""Layers beside those of torch_geometric with the same weights: outputs and every gradient."""

import numpy as np
import pytest
from comparison import RTOL
from numpy.testing import assert_allclose
from strategies import directed_from_edges, power_law_graph

from refimpl import as_graph
from refimpl.scheduling import ProductOrders

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
peer = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")

F_IN, F_OUT = 7, 12
BOTH_DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
BOTH_ORDERS = pytest.mark.parametrize(
    "order", [ProductOrders(1, 1, 2), ProductOrders(2, 2, 1)], ids=["(A X) W", "A (X W)"]
)
WITH_BIAS = pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
SLOPE = 0.2


def undirected_graph(seed):
    """Return a graph with hubs, isolated nodes and a few self-loops."""
    graph = power_law_graph(150, seed)
    row = np.repeat(np.arange(graph.n), graph.degrees())
    edges = np.stack([row, graph.indices], axis=1)
    graph = as_graph(np.concatenate([edges, [(0, 0), (5, 5), (77, 77)]]), n=graph.n)
    assert graph.symmetric and graph.degrees().max() > 30 and 0 in graph.degrees()
    return graph


def sampled_block(gnn, seed):
    """Return a Block with 40 rows and 90 columns; row 3 is empty, row 7 full; rows not sorted.

    No row has its own node: both packages add that one themselves.
    """
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 12, 40)
    counts[[3, 7]] = 0, 89
    rows = [rng.choice(np.delete(np.arange(90), v), counts[v], False) for v in range(40)]
    ends = np.cumsum(counts)
    return gnn.Block(ends - counts, ends, np.concatenate(rows).astype(np.int32), 90)


def edge_index(pattern):
    """Return the entries of a Graph or Block as torch_geometric has them: (source, receiver)."""
    lengths = pattern.end - pattern.start
    rows = np.repeat(np.arange(pattern.n_dst), lengths)
    return torch.tensor(np.stack([pattern.indices.astype(np.int64), rows]))


def normal(shape, seed, dtype):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def bias_of(bias, width, dtype):
    return normal(width, 99, dtype) if bias else None


def leaf(array):
    """Return a tensor with the values of `array`, whose gradient is wanted."""
    return torch.tensor(array, requires_grad=True)


def give(parameter, array):
    """Set a parameter of a torch layer."""
    assert tuple(parameter.shape) == array.shape
    parameter.data = torch.tensor(array)


def bias_gradient(conv):
    """Return the gradient of the bias, or None where there is none."""
    return None if conv.bias is None else conv.bias.grad


def assert_same(got, want):
    """Check named arrays against tensors; a sum that cancels is held against the largest array."""
    assert got.keys() == want.keys()
    want = {name: None if t is None else t.detach().numpy() for name, t in want.items()}
    largest = max(np.abs(array).max(initial=0) for array in want.values() if array is not None)
    assert largest > 0.1
    for name, array in want.items():
        if array is None:
            assert got[name] is None, name
            continue
        assert got[name].dtype == array.dtype, name
        rtol = RTOL[array.dtype]
        assert_allclose(got[name], array, rtol=rtol, atol=rtol * largest, err_msg=name)


@BOTH_DTYPES
@BOTH_ORDERS
@WITH_BIAS
@pytest.mark.parametrize("seed", range(3))
def test_gcn(gnn, dtype, order, bias, seed):
    graph = undirected_graph(seed)
    X, W, G = (
        normal(shape, seed + i, dtype)
        for i, shape in enumerate([(graph.n, F_IN), (F_IN, F_OUT), (graph.n, F_OUT)])
    )
    b = bias_of(bias, F_OUT, dtype)
    A = gnn.adjacency.sym_norm(graph, dtype=dtype)
    out = gnn.gcn_forward(A, X, W, order, b=b)
    back = gnn.gcn_backward(A, X, W, out, G, order, b=b)

    conv = peer.GCNConv(F_IN, F_OUT, bias=bias)
    give(conv.lin.weight, W.T)
    if bias:
        give(conv.bias, b)
    x = leaf(X)
    y = conv(x, edge_index(graph)).relu()
    y.backward(torch.tensor(G))
    want = {"W": conv.lin.weight.grad.T, "X": x.grad, "b": bias_gradient(conv)}
    assert_same({"X_out": out.X_out}, {"X_out": y})
    assert_same(back._asdict(), want)


def sage_case(gnn, rectangular, seed, dtype):
    """Return (pattern, A) of a graph or of a sampled block."""
    if rectangular:
        block = sampled_block(gnn, seed)
        return block, gnn.adjacency.block_norm("row", block, dtype=dtype)
    graph = undirected_graph(seed)
    return graph, gnn.adjacency.row_norm(graph, gnn.transpose_perm(graph), dtype=dtype)


@BOTH_DTYPES
@BOTH_ORDERS
@WITH_BIAS
@pytest.mark.parametrize("concat", ["neigh_first", "self_first"])
@pytest.mark.parametrize("rectangular", [False, True], ids=["graph", "block"])
def test_sage(gnn, dtype, order, bias, concat, rectangular):
    """SAGEConv adds what ours concatenates: its matrices are ours with zeros in the other half."""
    seed = 11
    pattern, A = sage_case(gnn, rectangular, seed, dtype)
    h_neigh = F_OUT - 5
    X, W_neigh, W_self, G = (
        normal(shape, seed + i, dtype)
        for i, shape in enumerate(
            [(pattern.n_src, F_IN), (F_IN, h_neigh), (F_IN, 5), (pattern.n_dst, F_OUT)]
        )
    )
    b = bias_of(bias, F_OUT, dtype)
    out = gnn.sage_forward(A, X, W_neigh, W_self, order, b=b, concat=concat)
    back = gnn.sage_backward(A, X, W_neigh, W_self, out, G, order, b=b, concat=concat)

    neigh = slice(0, h_neigh) if concat == "neigh_first" else slice(5, F_OUT)
    own = slice(h_neigh, F_OUT) if concat == "neigh_first" else slice(0, 5)
    conv = peer.SAGEConv(F_IN, F_OUT, bias=bias)
    for linear, columns, W in ((conv.lin_l, neigh, W_neigh), (conv.lin_r, own, W_self)):
        padded = np.zeros((F_IN, F_OUT), dtype)
        padded[:, columns] = W
        give(linear.weight, padded.T)
    if bias:
        give(conv.lin_l.bias, b)
    x = leaf(X)
    y = conv((x, x[: pattern.n_dst]), edge_index(pattern), size=(pattern.n_src, pattern.n_dst))
    y = y.relu()
    y.backward(torch.tensor(G))
    want = {
        "W_neigh": conv.lin_l.weight.grad.T[:, neigh],
        "W_self": conv.lin_r.weight.grad.T[:, own],
        "X": x.grad,
        "b": bias_gradient(conv.lin_l),
    }
    assert_same({"X_out": out.X_out}, {"X_out": y})
    assert_same(back._asdict(), want)


def gat_case(gnn, rectangular, seed, dtype):
    """Return (pattern, A), A on the pattern with every node's own entry added."""
    if rectangular:
        block = sampled_block(gnn, seed)
        return block, gnn.adjacency.block_norm("loop", block, dtype=dtype)
    graph = undirected_graph(seed)
    return graph, gnn.adjacency.loop_norm(graph, dtype=dtype)


@BOTH_DTYPES
@WITH_BIAS
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("rectangular", [False, True], ids=["graph", "block"])
def test_gat(gnn, dtype, bias, heads, rectangular):
    seed = 23
    pattern, A = gat_case(gnn, rectangular, seed, dtype)
    X, W, a_recv, a_send, G = (
        normal(shape, seed + i, dtype)
        for i, shape in enumerate(
            [
                (pattern.n_src, F_IN),
                (F_IN, F_OUT),
                (heads, F_OUT // heads),
                (heads, F_OUT // heads),
                (pattern.n_dst, F_OUT),
            ]
        )
    )
    b = bias_of(bias, F_OUT, dtype)
    kind = {"norm": "softmax", "form": "joint", "slope": SLOPE, "b": b}
    out = gnn.gat_forward(A, X, W, a_recv, a_send, **kind)
    back = gnn.gat_backward(A, X, W, a_recv, a_send, out, G, need_dx=True, **kind)

    conv = peer.GATConv(F_IN, F_OUT // heads, heads, negative_slope=SLOPE, bias=bias)
    give(conv.lin.weight, W.T)
    give(conv.att_dst, a_recv[None])
    give(conv.att_src, a_send[None])
    if bias:
        give(conv.bias, b)
    x = leaf(X)
    ends = (x, x[: pattern.n_dst]) if rectangular else x
    y, (entries, attention) = conv(ends, edge_index(pattern), return_attention_weights=True)
    y = y.relu()
    y.backward(torch.tensor(G))
    want = {
        "W": conv.lin.weight.grad.T,
        "a_recv": conv.att_dst.grad[0],
        "a_send": conv.att_src.grad[0],
        "X": x.grad,
        "b": bias_gradient(conv),
    }
    assert_same({"X_out": out.X_out}, {"X_out": y})
    assert_same(back._asdict(), want)
    assert_same({"P": in_order(out.P.T, edge_index(A.graph))}, {"P": in_order(attention, entries)})


def in_order(values, entries):
    """Return `values`, one row an entry, by the (receiver, source) of its entry."""
    return values[np.lexsort(entries.numpy())]


@BOTH_DTYPES
@WITH_BIAS
@pytest.mark.parametrize("hops, depth", [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (3, 2)])
def test_mixhop(gnn, dtype, bias, hops, depth):
    seed, width = 31, 4
    graph = undirected_graph(seed)
    A = (gnn.adjacency.sym_norm(graph, dtype=dtype),) * hops
    X = normal((graph.n, F_IN), seed, dtype)
    W = [normal((F_IN, width), seed + k + 1, dtype) for k in range(hops + 1)]
    G = normal((graph.n, width * (hops + 1)), seed + 9, dtype)
    b = bias_of(bias, G.shape[1], dtype)
    out = gnn.mixhop_forward(A, X, W, depth, b=b)
    back = gnn.mixhop_backward(A, X, W, out, G, depth, b=b, need_dx=True)

    conv = peer.MixHopConv(F_IN, width, powers=list(range(hops + 1)), bias=bias)
    for linear, W_k in zip(conv.lins, W, strict=True):
        give(linear.weight, W_k.T)
    if bias:
        give(conv.bias, b)
    x = leaf(X)
    y = conv(x, edge_index(graph)).relu()
    y.backward(torch.tensor(G))
    names = [f"W{k}" for k in range(hops + 1)]
    got = dict(zip(names, back.W, strict=True)) | {"X": back.X, "b": back.b}
    want = {name: linear.weight.grad.T for name, linear in zip(names, conv.lins, strict=True)}
    assert_same({"X_out": out.X_out}, {"X_out": y})
    assert_same(got, want | {"X": x.grad, "b": bias_gradient(conv)})


def test_an_entry_of_edge_index_points_from_source_to_receiver():
    graph = directed_from_edges(3, {(0, 2), (1, 0)})
    assert edge_index(graph).tolist() == [[2, 0], [0, 1]]
