"""Loaders that yield DGL's blocks: what a batch holds, who draws it, and training on it."""

import numpy as np
import pytest
from strategies import power_law_graph

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
from refimpl._torch import with_dgl  # noqa: E402

try:
    _, dgl = with_dgl()
except ImportError:
    pytest.skip("DGL is not installed, or does not run beside this torch", allow_module_level=True)

N, CLASSES, BATCH = 600, 4, 32
ROOTS = torch.arange(0, N, 4)
FEATURES = ["feat"]


PLAIN, NAMED = ("_N", "_E", "_N"), ("user", "follows", "user")


@pytest.fixture(
    scope="module",
    params=[(torch.int64, PLAIN), (torch.int32, PLAIN), (torch.int64, NAMED)],
    ids=["int64", "int32", "named"],
)
def graph(request):
    """A directed graph whose edges stand in any order, with data on nodes and edges."""
    ours = power_law_graph(N)
    receivers = np.repeat(np.arange(N), ours.degrees())
    rng = np.random.default_rng(1)
    kept = rng.permutation(ours.e)[: ours.e * 3 // 4]  # not all of them go both ways
    ends = (torch.tensor(array[kept]) for array in (ours.indices.astype(np.int64), receivers))
    ids, kind = request.param
    made = dgl.heterograph({kind: tuple(ends)}, {kind[0]: N}, idtype=ids)
    made.ndata["feat"] = torch.tensor(rng.normal(size=(N, 8)), dtype=torch.float32)
    made.ndata["label"] = torch.tensor(rng.integers(0, CLASSES, N))
    made.edata["w"] = torch.tensor(rng.random(len(kept)), dtype=torch.float32)
    return made


def loader(gnn, graph, fanouts=(3, 4), names=None, **options):
    sampler = gnn.lab.dgl.NeighborSampler(fanouts, **(names or {}))
    options = {"batch_size": BATCH, "seed": 5} | options
    indices = options.pop("indices", ROOTS)
    return gnn.lab.dgl.DataLoader(graph, indices, sampler, **options)


def contents(batch):
    """Return all that a batch holds, comparable."""
    inputs, outputs, blocks = batch
    found = [inputs.tolist(), outputs.tolist()]
    for block in blocks:
        ends = [ids.tolist() for ids in block.edges(order="eid")]
        data = [dict(part) for part in (block.srcdata, block.dstdata, block.edata)]
        found += [ends, [{name: t.tolist() for name, t in part.items()} for part in data]]
    return found


def test_a_batch_is_what_the_graph_has_of_its_nodes_and_edges(gnn, graph):
    ends = torch.stack(graph.edges(order="eid")).long()
    for number, (inputs, outputs, blocks) in enumerate(loader(gnn, graph)):
        assert torch.equal(outputs, ROOTS[number * BATCH :][:BATCH].to(graph.idtype))
        assert torch.equal(inputs, blocks[0].srcdata[dgl.NID])
        assert torch.equal(outputs, blocks[-1].dstdata[dgl.NID])
        assert torch.equal(blocks[0].dstdata[dgl.NID], blocks[1].srcdata[dgl.NID])
        for block in blocks:
            src, dst = (data[dgl.NID].long() for data in (block.srcdata, block.dstdata))
            u, v = (ids.long() for ids in block.edges(order="eid"))
            e_id = block.edata[dgl.EID].long()
            assert torch.equal(src[: len(dst)], dst) and len(src.unique()) == len(src)
            assert torch.equal(torch.stack([src[u], dst[v]]), ends[:, e_id])
            assert len(e_id.unique()) == len(e_id)
            assert torch.equal(block.srcdata["feat"], graph.ndata["feat"][src])
            assert torch.equal(block.dstdata["label"], graph.ndata["label"][dst])
            assert torch.equal(block.edata["w"], graph.edata["w"][e_id])
            assert {block.idtype, inputs.dtype, block.edata[dgl.EID].dtype} == {graph.idtype}


@pytest.mark.parametrize("fanouts", [(3, 4), (1, -1, 2), (0,), (1000,)])
def test_a_destination_draws_anew_in_each_layer_by_that_layers_number(gnn, graph, fanouts):
    again = False
    for _, _, blocks in loader(gnn, graph, fanouts):
        assert len(blocks) == len(fanouts)
        for block, fanout in zip(blocks, fanouts, strict=True):
            may = graph.in_degrees(block.dstdata[dgl.NID]).long()
            want = may if fanout < 0 else may.clamp(max=fanout)
            assert torch.equal(block.in_degrees().long(), want)
            met = block.edges()[0].long().unique()
            assert met[met >= block.num_dst_nodes()].tolist() == list(
                range(block.num_dst_nodes(), block.num_src_nodes())
            )
        of_roots = [edges_of_roots(block, len(blocks[-1].dstdata[dgl.NID])) for block in blocks]
        again |= any(not drawn <= of_roots[0] for drawn in of_roots)
    assert again == (len(fanouts) > 1)


def edges_of_roots(block, count):
    """Return the edges of the graph that lead to the first destinations of a block."""
    return set(block.edata[dgl.EID][block.edges(order="eid")[1] < count].tolist())


def test_the_edges_of_a_node_are_drawn_equally_often(gnn, graph):
    node = int(graph.in_degrees().argmax())
    degree = int(graph.in_degrees(node))
    one = loader(gnn, graph, [degree // 2], indices=[node])
    times = torch.zeros(graph.num_edges())
    for _ in range(600):
        ((_, _, (block,)),) = one
        times[block.edata[dgl.EID].long()] += 1
    drawn = times[graph.in_edges(node, form="eid").long()]
    assert drawn.sum() == 600 * (degree // 2) == times.sum()
    share = (degree // 2) / degree
    assert (drawn / 600 - share).abs().max() < 5 * (share * (1 - share) / 600) ** 0.5


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_same_batches_for_any_number_of_workers(gnn, graph, workers):
    def drawn(num_workers):
        names = {"prefetch_node_feats": FEATURES, "prefetch_edge_feats": ["w"]}
        one = loader(gnn, graph, names=names, shuffle=True, num_workers=num_workers)
        return [contents(batch) for _ in range(2) for batch in one]

    want = drawn(0)
    assert drawn(workers) == want and len(want) == 10
    assert len({tuple(batch[1]) for batch in want}) == 10


def test_both_packages_draw_the_same(graph):
    import fastimpl
    import refimpl

    one, other = (list(loader(gnn, graph, shuffle=True)) for gnn in (refimpl, fastimpl))
    assert list(map(contents, one)) == list(map(contents, other))


def test_the_seed_comes_from_torch_and_the_epoch_can_be_set(gnn, graph):
    def third(**options):
        made = loader(gnn, graph, shuffle=True, **options)
        made.epoch = 2
        return list(map(contents, made))

    torch.manual_seed(8)
    want = third(seed=None)
    torch.manual_seed(8)
    assert third(seed=None) == want != third(seed=None)
    made = loader(gnn, graph, shuffle=True, seed=torch.Generator().manual_seed(8))
    assert [list(map(contents, made)) for _ in range(3)][2] == want and made.epoch == 3


def test_roots_as_masks_and_the_last_batch(gnn, graph):
    mask = torch.zeros(N, dtype=torch.bool)
    mask[ROOTS] = True
    want = list(map(contents, loader(gnn, graph)))
    for indices in (mask, ROOTS.int(), ROOTS.tolist()):
        assert list(map(contents, loader(gnn, graph, indices=indices))) == want
    assert list(map(contents, loader(gnn, graph, drop_last=True))) == want[:4]
    assert len(loader(gnn, graph)) == 5 and len(loader(gnn, graph, drop_last=True)) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_that_are_named_are_copied_when_the_batch_is_made(gnn, graph, workers):
    names = {
        "prefetch_node_feats": FEATURES,
        "prefetch_labels": ["label"],
        "prefetch_edge_feats": ["w"],
    }
    changing = graph.clone()
    for name, data in (("feat", changing.ndata), ("label", changing.ndata), ("w", changing.edata)):
        data[name] = data[name].clone()
    ((_, _, early),) = loader(
        gnn, changing, names=names, batch_size=N, num_workers=workers, indices=ROOTS[:32]
    )
    ((_, _, late),) = loader(gnn, changing, batch_size=N, num_workers=workers, indices=ROOTS[:32])
    for data in (changing.ndata["feat"], changing.ndata["label"], changing.edata["w"]):
        data += 7
    pairs = [
        (early[0].srcdata, late[0].srcdata, "feat"),
        (early[1].dstdata, late[1].dstdata, "label"),
    ]
    pairs += [(one.edata, other.edata, "w") for one, other in zip(early, late, strict=True)]
    for one, other, name in pairs:
        torch.testing.assert_close(one[name] + 7, other[name])
    assert torch.equal(early[1].srcdata["feat"], late[1].srcdata["feat"])  # not named there


class Sage(torch.nn.Module):
    """Two layers of DGL's own."""

    def __init__(self):
        super().__init__()
        self.first = dgl.nn.SAGEConv(8, 16, "mean")
        self.second = dgl.nn.SAGEConv(16, CLASSES, "mean")

    def forward(self, blocks, x):
        x = self.first(blocks[0], (x, x[: blocks[0].num_dst_nodes()])).relu()
        return self.second(blocks[1], (x, x[: blocks[1].num_dst_nodes()]))


def trained(epochs):
    """Return the losses on epochs of batches, as a loader of DGL yields them."""
    torch.manual_seed(0)
    model = Sage()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.02), []
    for batches in epochs:
        for _, _, blocks in batches:
            logits = model(blocks, blocks[0].srcdata["feat"])
            loss = torch.nn.functional.cross_entropy(logits, blocks[-1].dstdata["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert len(losses) == 15 and np.mean(losses[-5:]) < np.mean(losses[:5])
    return losses


@pytest.mark.filterwarnings("ignore:Dataloader CPU affinity opt")
def test_the_loss_with_all_neighbours_is_that_of_dgls_loader(gnn, graph):
    sampler = dgl.dataloading.NeighborSampler([-1, -1], fused=False)
    theirs = dgl.dataloading.DataLoader(
        graph, ROOTS.to(graph.idtype), sampler, batch_size=BATCH, shuffle=False
    )
    ours = loader(gnn, graph, (-1, -1), num_workers=2)
    np.testing.assert_allclose(trained([ours] * 3), trained([theirs] * 3), rtol=1e-5)
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one[1], other[1])
        assert set(one[0].tolist()) == set(other[0].tolist())
        for block, its in zip(one[2], other[2], strict=True):
            assert block.canonical_etypes == its.canonical_etypes == graph.canonical_etypes
            assert (block.srctypes, block.dsttypes) == (its.srctypes, its.dsttypes)
            assert set(block.edata[dgl.EID].tolist()) == set(its.edata[dgl.EID].tolist())
            assert block.srcdata.keys() == its.srcdata.keys()
            assert block.edata.keys() == its.edata.keys()


def by_dgl(graph, batch):
    """Return a batch with the same draws, whose blocks DGL has made of its own graph."""
    _, outputs, blocks = batch
    nodes, made = outputs, []
    for block in reversed(blocks):
        drawn = dgl.edge_subgraph(graph, block.edata[dgl.EID], relabel_nodes=False)
        made.insert(0, dgl.to_block(drawn, nodes))
        made[0].edata[dgl.EID] = drawn.edata[dgl.EID][made[0].edata[dgl.EID].long()]
        nodes = made[0].srcdata[dgl.NID]
    return nodes, outputs, made


def test_the_loss_is_that_of_the_same_draws_in_dgls_blocks(gnn, graph):
    ours, again = (loader(gnn, graph, shuffle=True, num_workers=n) for n in (2, 0))
    replayed = ([by_dgl(graph, batch) for batch in again] for _ in range(3))
    np.testing.assert_allclose(trained([ours] * 3), trained(replayed), rtol=1e-5)


LAYERS = {
    "GraphConv": lambda: dgl.nn.GraphConv(8, 5, allow_zero_in_degree=True),
    "weighted": lambda: dgl.nn.GraphConv(8, 5, norm="none", allow_zero_in_degree=True),
    "GATConv": lambda: dgl.nn.GATConv(8, 5, 2, allow_zero_in_degree=True),
    "max": lambda: dgl.nn.SAGEConv(8, 5, "pool"),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_and_their_gradients_are_those_on_dgls_blocks(gnn, graph, kind):
    batch = next(iter(loader(gnn, graph, [4])))
    found = []
    for _, _, (block,) in (batch, by_dgl(graph, batch)):
        torch.manual_seed(3)
        layer = LAYERS[kind]()
        X, w = (data.clone().requires_grad_() for data in (graph.ndata["feat"], graph.edata["w"]))
        x, of_edges = X[block.srcdata[dgl.NID].long()], w[block.edata[dgl.EID].long()]
        options = {"edge_weight": of_edges} if kind == "weighted" else {}
        y = layer(block, (x, x[: block.num_dst_nodes()]), **options)
        (y * torch.arange(y.numel()).reshape(y.shape).cos()).sum().backward()
        assert X.grad.any() and (not options or w.grad.any())
        found.append([y, X.grad, w.grad, *(p.grad for p in layer.parameters())])
    for one, other in zip(*found, strict=True):
        if one is not None or other is not None:
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fanouts": []}, ValueError, "fanouts must have a number for each layer"),
        ({"fanouts": 5}, TypeError, "fanouts must be a sequence of integers, got int"),
        ({"fanouts": "5"}, TypeError, "fanouts must be a sequence of integers, got '5'"),
        ({"fanouts": [-2]}, ValueError, "fanouts must be in"),
        ({"names": {"prefetch_labels": "label"}}, TypeError, "prefetch_labels must be a sequence"),
        ({"names": {"prefetch_labels": [3]}}, TypeError, "prefetch_labels must be a sequence of"),
        ({"names": {"prefetch_labels": 3}}, TypeError, "prefetch_labels must be a sequence of na"),
        (
            {"names": {"prefetch_node_feats": ["x"]}},
            ValueError,
            "prefetch_node_feats must be names of the graph's data: 'feat', 'label', got 'x'",
        ),
        (
            {"names": {"prefetch_edge_feats": ["feat"]}},
            ValueError,
            "prefetch_edge_feats must be names of the graph's data: 'w', got 'feat'",
        ),
        ({"indices": [1, 1]}, ValueError, "indices must be distinct"),
        ({"indices": [N]}, ValueError, "indices must be in"),
        ({"batch_size": 0}, ValueError, "batch_size must be in"),
        ({"shuffle": 1}, TypeError, "shuffle must be True or False"),
        ({"drop_last": "no"}, TypeError, "drop_last must be True or False"),
        ({"num_workers": -1}, ValueError, "num_workers must be in"),
        ({"transform": 3}, TypeError, "transform must be callable, got int"),
    ],
)
def test_what_does_not_fit_is_named(gnn, graph, options, error, message):
    with pytest.raises(error, match=message):
        loader(gnn, graph, **options)


def test_a_graph_that_does_not_fit_is_named(gnn, graph):
    twice = dgl.graph((torch.tensor([0, 0]), torch.tensor([1, 1])), num_nodes=N)
    pairs = torch.tensor([0]), torch.tensor([1])
    typed = dgl.heterograph({("a", "to", "a"): pairs, ("a", "from", "a"): pairs})
    block = dgl.to_block(twice)
    for source, error, message in (
        (3, TypeError, "graph must be a dgl.DGLGraph, got int"),
        (twice, ValueError, "graph must have no edge twice: see dgl.to_simple"),
        (typed, ValueError, "graph must have one type of nodes and of edges"),
        (block, ValueError, "graph must have one type of nodes and of edges, and be no block"),
    ):
        with pytest.raises(error, match=message):
            loader(gnn, source)
    theirs = dgl.dataloading.NeighborSampler([3])
    with pytest.raises(TypeError, match="graph_sampler must be a NeighborSampler of this package"):
        gnn.lab.dgl.DataLoader(graph, ROOTS, theirs)


def test_loaders_are_shown_in_a_line(gnn, graph):
    made = loader(gnn, graph, names={"prefetch_node_feats": FEATURES})
    assert repr(made) == "DataLoader(5 batches an epoch, seed=5)"
    assert repr(made.graph_sampler) == (
        "NeighborSampler(fanouts=[3, 4], prefetch_node_feats=['feat'], prefetch_labels=[], "
        "prefetch_edge_feats=[])"
    )


def test_transform_takes_the_place_of_a_batch(gnn, graph):
    counted = loader(gnn, graph, num_workers=2, transform=lambda batch: len(batch[1]))
    assert list(counted) == [32, 32, 32, 32, 22]
