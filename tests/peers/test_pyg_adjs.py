"""Matrices of layers and of subgraphs: what they hold, and training on them instead of edges."""

import subprocess
import sys

import numpy as np
import pytest
from strategies import power_law_graph

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric import nn  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

N, COLUMNS, CLASSES = 500, 6, 4
ROOTS = torch.arange(0, N, 4)
LAYERS = {
    "mean": lambda a, b: nn.SAGEConv(a, b),
    "sum": lambda a, b: nn.SAGEConv(a, b, aggr="sum"),
    "max": lambda a, b: nn.SAGEConv(a, b, aggr="max"),
    "both": lambda a, b: nn.SAGEConv(a, b, aggr=["mean", "max"]),
    "graph": lambda a, b: nn.GraphConv(a, b),
    "gin": lambda a, b: nn.GINConv(torch.nn.Linear(a, b)),
    "gat": lambda a, b: nn.GATConv(a, b),
    "gatv2": lambda a, b: nn.GATv2Conv(a, b),
    "transformer": lambda a, b: nn.TransformerConv(a, b),
}


@pytest.fixture(scope="module")
def data():
    graph = power_law_graph(N)
    receivers = np.repeat(np.arange(N), graph.degrees())
    rng = np.random.default_rng(1)
    return Data(
        x=torch.tensor(rng.normal(size=(N, COLUMNS))),
        y=torch.tensor(rng.integers(0, CLASSES, N)),
        edge_index=torch.tensor(np.stack([graph.indices.astype(np.int64), receivers])),
    )


def loader(gnn, data, fanouts=(4, 3, 2), **options):
    options = {"input_nodes": ROOTS, "batch_size": 50, "seed": 5, "adjs": True} | options
    return gnn.lab.pyg.NeighborLoader(data, fanouts, **options)


def by_layers(convs, x, adjs):
    """What the page tells users to do."""
    for conv, adj in zip(convs, adjs, strict=True):
        x = conv((x, x[: len(adj)]), adj)
        x = x if conv is convs[-1] else x.relu()
    return x


def by_edges(convs, x, edge_index):
    for conv in convs:
        x = conv(x, edge_index)
        x = x if conv is convs[-1] else x.relu()
    return x


def gradients(convs, out):
    """Return the gradient of each parameter, for some loss."""
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return torch.autograd.grad((weights * out).sum(), [*convs.parameters()])


@pytest.mark.parametrize("fanouts", [(4, 3, 2), (3, -1), (0, 2), (5,)])
def test_a_layer_has_the_edges_into_its_targets_and_no_others(gnn, data, fanouts):
    for batch in loader(gnn, data, fanouts):
        met, hops = np.cumsum(batch.num_sampled_nodes), len(fanouts)
        assert len(batch.adjs) == hops and batch.validate()
        for adj, targets, sources in zip(batch.adjs, met[hops - 1 :: -1], met[:0:-1], strict=True):
            assert adj.layout == torch.sparse_csr and adj.shape == (targets, sources)
            assert adj.dtype == data.x.dtype and adj.col_indices().dtype == torch.int64
            want = torch.zeros(len(batch.x), len(batch.x), dtype=data.x.dtype)
            source, target = batch.edge_index[:, batch.edge_index[1] < targets]
            want[target, source] = 1
            assert torch.equal(adj.to_dense(), want[:targets, :sources])
            assert not want[:targets, sources:].any()
            assert adj.col_indices().data_ptr() == batch.edge_index.data_ptr()


def test_without_them_a_batch_is_the_same_but_for_them(gnn, data):
    for one, other in zip(loader(gnn, data), loader(gnn, data, adjs=False), strict=True):
        assert set(one.keys()) - set(other.keys()) == {"adjs"}
        assert torch.equal(one.edge_index, other.edge_index) and torch.equal(one.x, other.x)
        moved = one.clone().to("cpu")
        assert [len(adj) for adj in moved.adjs] == [len(adj) for adj in one.adjs]


def test_values_are_of_the_type_that_x_has(gnn, data):
    for x, want in ((data.x.float(), torch.float32), (None, torch.get_default_dtype())):
        few = Data(x=x, edge_index=data.edge_index, num_nodes=N)
        assert next(iter(loader(gnn, few))).adjs[0].dtype == want


def test_what_the_user_has_under_the_name_is_not_overwritten(gnn, data):
    named = data.clone()
    named.adjs = ["mine"]
    with pytest.raises(ValueError, match="data must not have the attribute adjs already"):
        loader(gnn, named)
    assert next(iter(loader(gnn, named, adjs=False))).adjs == ["mine"]


@pytest.mark.parametrize("kind", [nn.MFConv, nn.WLConvContinuous])
def test_layers_that_the_page_says_take_no_matrix(gnn, data, kind):
    layer = kind(COLUMNS, CLASSES).double() if kind is nn.MFConv else kind()
    batch = next(iter(loader(gnn, data)))
    adj = batch.adjs[0]
    edges = batch.edge_index[:, : adj.values().numel()]
    pair = batch.x, batch.x[: len(adj)]
    assert len(layer(pair, edges, size=adj.shape[::-1])) == len(adj)
    with pytest.raises(NotImplementedError):
        layer(pair, adj)


@pytest.mark.parametrize("kind", LAYERS)
def test_roots_and_gradients_are_those_of_all_edges(gnn, data, kind):
    torch.manual_seed(0)
    sizes = [COLUMNS, 8, 8, CLASSES]
    convs = torch.nn.ModuleList(map(LAYERS[kind], sizes, sizes[1:])).double()
    batch = next(iter(loader(gnn, data)))
    want = by_edges(convs, batch.x, batch.edge_index)[: batch.batch_size]
    got = by_layers(convs, batch.x, batch.adjs)
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    for one, other in zip(gradients(convs, got), gradients(convs, want), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_losses_are_those_of_all_edges(gnn, data, workers):
    def losses(logits, **options):
        torch.manual_seed(0)
        model = nn.GraphSAGE(COLUMNS, 16, 3, CLASSES)
        optimizer, found = torch.optim.Adam(model.parameters(), lr=0.02), []
        batches = loader(gnn, single, shuffle=True, **options)
        for batch in (batch for _ in range(4) for batch in batches):
            optimizer.zero_grad()
            of_roots = logits(model.convs, batch)[: batch.batch_size]
            loss = torch.nn.functional.cross_entropy(of_roots, batch.y[: batch.batch_size])
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        assert len(found) == 12 and np.mean(found[-3:]) < np.mean(found[:3])
        return found

    single = Data(x=data.x.float(), y=data.y, edge_index=data.edge_index)
    got = losses(lambda convs, batch: by_layers(convs, batch.x, batch.adjs), num_workers=workers)
    want = losses(lambda convs, batch: by_edges(convs, batch.x, batch.edge_index), adjs=False)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_subgraphs_take_the_matrix_of_pygs_own_transform(gnn, data):
    """With PyG's ToSparseTensor in a loader's thread, as the page tells users to do."""
    turned = pyg.transforms.ToUndirected()(Data(x=data.x.float(), edge_index=data.edge_index))
    matrix = pyg.transforms.ToSparseTensor(remove_edge_index=False, layout=torch.sparse_csr)
    options = {"seed": 2, "num_workers": 2, "transform": matrix}
    sampler = gnn.Sampler("frontier", m=8, n=90)
    subgraphs = gnn.lab.pyg.SubgraphLoader(turned, sampler, 3, **options)
    torch.manual_seed(0)
    convs = torch.nn.ModuleList([nn.SAGEConv(COLUMNS, 8), nn.SAGEConv(8, CLASSES)])
    for batch in subgraphs:
        assert torch.equal(batch.n_id[batch.edge_index], turned.edge_index[:, batch.e_id])
        got = by_edges(convs, batch.x, batch.adj_t)
        want = by_edges(convs, batch.x, batch.edge_index)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        for one, other in zip(gradients(convs, got), gradients(convs, want), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_nothing_is_said_of_a_kind_of_tensor_that_is_new(gnn):
    """torch warns once in a process that sparse_csr is in beta; users need not read it."""
    code = (
        f"import {gnn.__name__} as gnn, torch, torch_geometric.data, warnings\n"
        "data = gnn.load_dataset('karate').to_pyg()\n"
        "warnings.simplefilter('error')\n"
        "loader = gnn.lab.pyg.NeighborLoader(data, [2], adjs=True, num_workers=1)\n"
        "print(sum(len(batch.adjs) for batch in loader))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "34\n", done.stderr
