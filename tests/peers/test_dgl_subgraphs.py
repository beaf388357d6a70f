"""Subgraphs as DGL's graphs, and data sets that go over to DGL and come back."""

import numpy as np
import pytest

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
from refimpl._torch import with_dgl  # noqa: E402

try:
    _, dgl = with_dgl()
except ImportError:
    pytest.skip("DGL is not installed, or does not run beside this torch", allow_module_level=True)


@pytest.fixture(params=[("_N", "_E", "_N"), ("member", "meets", "member")], ids=lambda t: t[0])
def club(gnn, request):
    plain = gnn.load_dataset("karate").to_dgl()
    graph = dgl.heterograph({request.param: plain.edges(order="eid")}, {request.param[0]: 34})
    for name, data in plain.ndata.items():
        graph.ndata[name] = data
    graph.edata["w"] = torch.arange(graph.num_edges()).float()
    return graph


def ends_of(sub):
    """Return the ends of each edge, by its number in the whole graph."""
    u, v = (ids.tolist() for ids in sub.edges(order="eid"))
    return dict(zip(sub.edata[dgl.EID].tolist(), zip(u, v, strict=True), strict=True))


@pytest.mark.parametrize("ids", [torch.int64, torch.int32])
def test_a_subgraph_is_that_between_its_nodes_by_dgl(gnn, club, ids):
    club = club.int() if ids == torch.int32 else club
    made = gnn.lab.dgl.SubgraphDataLoader(club, gnn.Sampler("edge", b=6), 5, seed=3)
    seen = set()
    for sub in made:
        nodes = sub.ndata[dgl.NID]
        want = dgl.node_subgraph(club, nodes)
        assert sub.idtype == nodes.dtype == ids and torch.equal(nodes, nodes.unique())
        assert ends_of(sub) == ends_of(want) != {}
        assert sub.canonical_etypes == want.canonical_etypes and sub.ntypes == want.ntypes
        assert torch.equal(sub.ndata["feat"], want.ndata["feat"])
        assert torch.equal(sub.edata["w"], club.edata["w"][sub.edata[dgl.EID].long()])
        seen.add(tuple(nodes.tolist()))
    assert len(seen) == len(made) == 5


def test_the_same_subgraphs_for_any_number_of_workers(gnn, club):
    def drawn(workers):
        sampler = gnn.Sampler("frontier", m=3, n=12)
        made = gnn.lab.dgl.SubgraphDataLoader(club, sampler, 6, num_workers=workers, seed=2)
        return [sub.ndata[dgl.NID].tolist() for _ in range(2) for sub in made]

    want = drawn(0)
    assert drawn(2) == drawn(5) == want and len(set(map(tuple, want))) > 6


def test_subgraphs_are_those_that_sample_many_draws(gnn, club):
    sampler = gnn.Sampler("random_walk", r=4, h=2)
    made = gnn.lab.dgl.SubgraphDataLoader(club, sampler, 2, seed=7)
    list(made)
    want = gnn.sample_many(gnn.load_dataset("karate").graph, sampler, 7, 2, 2)
    assert [sub.ndata[dgl.NID].tolist() for sub in made] == [s.nodes.tolist() for s in want]


def test_what_does_not_fit_is_named(gnn, club):
    kind, sampler = gnn.lab.dgl.SubgraphDataLoader, gnn.Sampler("edge", b=3)
    one_way = dgl.graph((torch.tensor([0]), torch.tensor([1])))
    for arguments, error, message in (
        ((club, 3), TypeError, "sampler must be a Sampler, got int"),
        ((one_way, sampler), ValueError, "graph must have each edge both ways"),
        ((club, sampler, 0), ValueError, "num_steps must be in"),
    ):
        with pytest.raises(error, match=message):
            kind(*arguments)
    assert repr(kind(club, sampler, 3, seed=1)) == (
        "SubgraphDataLoader(3 batches an epoch, seed=1)"
    )


@pytest.mark.parametrize("several", [False, True])
def test_a_data_set_goes_over_and_comes_back(gnn, several):
    source = gnn.load_dataset("communities-multilabel" if several else "karate")
    graph = source.to_dgl()
    ends = zip(*map(torch.Tensor.tolist, graph.edges()), strict=True)
    assert sorted(ends) == sorted(
        zip(*map(np.ndarray.tolist, source.graph.to_scipy().nonzero()), strict=True)
    )
    np.testing.assert_array_equal(graph.ndata["feat"], source.inputs())
    assert graph.ndata["label"].dtype == (torch.float32 if several else torch.int64)
    for part in ("train", "val", "test"):
        mask = graph.ndata[f"{part}_mask"]
        assert mask.nonzero()[:, 0].tolist() == getattr(source, part).tolist()
    back = gnn.Dataset.from_dgl(graph, scaling="none")
    np.testing.assert_array_equal(back.inputs(), source.inputs())
    np.testing.assert_array_equal(back.labels, source.labels)
    np.testing.assert_array_equal(back.graph.indices, source.graph.indices)


def test_dgls_layers_take_the_graph_and_give_its_gradients(gnn, club):
    """Sums over neighbours and their gradients are products with the dense adjacency matrix."""
    x = torch.randn(34, 3, requires_grad=True)
    w = torch.rand(club.num_edges(), requires_grad=True)
    layer = dgl.nn.GraphConv(3, 3, norm="none", weight=False, bias=False)
    y = layer(club, x, edge_weight=w)
    up = torch.randn(34, 3)
    y.backward(up)
    u, v = (ids.long() for ids in club.edges(order="eid"))
    dense = torch.zeros(34, 34)
    dense[v, u] = w.detach()
    torch.testing.assert_close(y, dense @ x)
    torch.testing.assert_close(x.grad, dense.T @ up)
    torch.testing.assert_close(w.grad, (x[u] * up[v]).sum(1).detach())
