"""The sampler that PyG's own loaders take, against plain Python: every argument of PyG's pages."""

from collections import Counter
from types import SimpleNamespace

import pytest
from scipy import stats

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data, HeteroData  # noqa: E402

from refimpl.lab.pyg.sampler import check_hook  # noqa: E402

TO, BACK, LIKES = ("a", "to", "b"), ("b", "rev_to", "a"), ("a", "likes", "a")
FEWER = {TO: [3, 2], BACK: [2, -1], LIKES: [0, 1]}


@pytest.fixture(scope="module")
def plain():
    """A directed graph with edges that repeat, loops, and nodes without edges."""
    made = torch.Generator().manual_seed(1)
    edge_index = torch.randint(40, (2, 150), generator=made)
    return Data(x=torch.arange(45.0)[:, None], edge_index=edge_index, edge_attr=torch.arange(150))


@pytest.fixture(scope="module")
def typed():
    """Two types of nodes that have edges, and one that has none."""
    made, data = torch.Generator().manual_seed(2), HeteroData()
    data["a"].x, data["b"].x = torch.arange(30.0)[:, None], torch.arange(50.0)[:, None]
    data["alone"].num_nodes = 3
    ends = [torch.randint(n, (200,), generator=made) for n in (30, 50)]
    data[TO].edge_index = torch.stack(ends)
    data[BACK].edge_index = torch.stack(ends[::-1])
    data[LIKES].edge_index = torch.randint(30, (2, 60), generator=made)
    return data


def edges_of(data):
    """Return {(type, source type, target type): [(source, target), ..]}."""
    if isinstance(data, HeteroData):
        return {
            kind: (kind[0], kind[-1], data[kind].edge_index.T.tolist()) for kind in data.edge_types
        }
    return {None: (None, None, data.edge_index.T.tolist())}


def oracle(data, roots, hops, kind=None):
    """Return (nodes by hop, edges by hop) with all neighbours: {(type, node)}, {(type, edge)}."""
    nodes, edges = [{(kind, root) for root in roots}], []
    met = set(nodes[0])
    for _ in range(hops):
        drawn = {
            (which, number): (source_kind, source)
            for which, (source_kind, target_kind, ends) in edges_of(data).items()
            for number, (source, target) in enumerate(ends)
            if (target_kind, target) in nodes[-1]
        }
        edges.append(set(drawn))
        nodes.append(set(drawn.values()) - met)
        met |= nodes[-1]
    return nodes, edges


def stores(batch):
    """Return (nodes, edges): what a batch has for each type."""
    if isinstance(batch, HeteroData):
        return (
            {k: batch[k] for k in batch.node_types},
            {k: batch[k] for k in batch.edge_types},
        )
    return {None: batch}, {None: batch}


def assert_is_part(batch, data):
    """The edges of a batch are edges of the data, and rows are those of their nodes."""
    nodes, edges = stores(batch)
    for kind, (source, target, ends) in edges_of(data).items():
        own = edges[kind]
        rows, columns = own.edge_index
        pairs = torch.stack([nodes[source].n_id[rows], nodes[target].n_id[columns]], 1)
        assert pairs.tolist() == [ends[e] for e in own.e_id.tolist()]
    for kind, own in nodes.items():
        if "x" in own:
            assert own.x[:, 0].tolist() == own.n_id.tolist(), kind


def by_hop(counts, ids):
    """Cut ids where the hops end."""
    return [part.tolist() for part in torch.as_tensor(ids).split(list(counts))]


def loader(gnn, data, fanouts, **options):
    return gnn.lab.pyg.NeighborLoader(data, fanouts, **{"seed": 1, "batch_size": 7} | options)


@pytest.mark.parametrize("kind", [None, "a", "b"])
def test_all_neighbours_are_those_of_plain_python(gnn, plain, typed, kind):
    data = typed if kind else plain
    for batch in loader(gnn, data, [-1, 99, -1], input_nodes=kind and (kind, None)):
        assert_is_part(batch, data)
        nodes, edges = stores(batch)
        roots = nodes[kind].n_id[: nodes[kind].batch_size].tolist()
        want_nodes, want_edges = oracle(data, roots, 3, kind)
        for hop, want in enumerate(want_nodes):
            got = {
                (k, v)
                for k, own in nodes.items()
                for v in by_hop(own.num_sampled_nodes, own.n_id)[hop]
            }
            assert got == want
        for hop, want in enumerate(want_edges):
            got = [
                (k, e)
                for k, own in edges.items()
                for e in by_hop(own.num_sampled_edges, own.e_id)[hop]
            ]
            assert set(got) == want and len(got) == len(want)


@pytest.mark.parametrize("options", [{}, {"replace": True}, {"disjoint": True}], ids=str)
def test_a_node_draws_as_many_as_each_type_may(gnn, typed, options):
    """min(fan-out, degree) distinct edges, or with replacement the fan-out."""
    degrees = {kind: Counter(e[1] for e in ends) for kind, (_, _, ends) in edges_of(typed).items()}
    batch = next(iter(loader(gnn, typed, FEWER, input_nodes=("b", None), **options)))
    assert_is_part(batch, typed)
    nodes, edges = stores(batch)
    for kind, fanouts in FEWER.items():
        own, targets = edges[kind], nodes[kind[-1]]
        hop_of = torch.arange(2 + 1).repeat_interleave(torch.tensor(targets.num_sampled_nodes))
        drew = Counter(own.edge_index[1].tolist())
        for local, (node, hop) in enumerate(
            zip(targets.n_id.tolist(), hop_of.tolist(), strict=True)
        ):
            degree = degrees[kind][node]
            may = fanouts[hop] if hop < 2 else 0
            whole = may < 0 or (may > degree and not options.get("replace"))
            assert drew[local] == (degree if whole else may if degree else 0)
        if not options.get("replace"):
            pairs = list(zip(own.e_id.tolist(), own.edge_index[1].tolist(), strict=True))
            assert len(set(pairs)) == len(pairs)


def test_trees_are_those_of_each_root_alone(gnn, plain, typed):
    for data, kind in ((plain, None), (typed, "b")):
        own = loader(gnn, data, [-1, -1], input_nodes=kind and (kind, None), disjoint=True)
        batch = next(iter(own))
        assert_is_part(batch, data)
        nodes, edges = stores(batch)
        for tree, root in enumerate(nodes[kind].n_id[: nodes[kind].batch_size].tolist()):
            want_nodes, want_edges = oracle(data, [root], 2, kind)
            got = [(k, v) for k, own in nodes.items() for v in own.n_id[own.batch == tree].tolist()]
            assert set(got) == set.union(*want_nodes) and len(got) == len(set(got))
            got = [
                (k, e)
                for k, own in edges.items()
                for e in own.e_id[nodes[k and k[-1]].batch[own.edge_index[1]] == tree].tolist()
            ]
            assert set(got) == set.union(*want_edges) and len(got) == len(set(got))


@pytest.mark.parametrize("subgraph_type", ["induced", "bidirectional"])
def test_subgraphs_have_the_edges_of_their_kind(gnn, plain, typed, subgraph_type):
    for data, kind in ((plain, None), (typed, "b")):
        options = {"input_nodes": kind and (kind, None), "batch_size": 5}
        made = loader(gnn, data, [2, 1], subgraph_type=subgraph_type, **options)
        one, drawn = next(iter(made)), next(iter(loader(gnn, data, [2, 1], **options)))
        (nodes, edges), (_, directed) = stores(one), stores(drawn)
        for which, (source, target, ends) in edges_of(data).items():
            met = [nodes[end].n_id.tolist() for end in (source, target)]
            if subgraph_type == "induced":
                got = edges[which].e_id.tolist()
                want = [e for e, (u, v) in enumerate(ends) if u in met[0] and v in met[1]]
                assert sorted(got) == want
                continue
            got = set(map(tuple, edges[which].edge_index.T.tolist()))
            other = BACK if which == TO else TO if which == BACK else which
            want = set(map(tuple, directed[which].edge_index.T.tolist()))
            assert got == want | set(map(tuple, directed[other].edge_index.flip(0).T.tolist()))
        if subgraph_type == "induced":
            assert_is_part(one, data)


def test_edges_may_be_followed_backward(gnn, plain, typed):
    turned = Data(x=plain.x, edge_index=plain.edge_index.flip(0))
    if "sample_direction" not in pyg.sampler.NeighborSampler.__init__.__code__.co_varnames:
        pytest.skip("this version of PyG has no sample_direction")
    make = gnn.lab.pyg.NeighborSampler
    backward = make(plain, [-1, -1], sample_direction="backward")
    (batch,) = gnn.lab.pyg.NodeLoader(plain, backward, torch.tensor([3, 5]), batch_size=2)
    assert_is_part(batch, plain)
    assert set(batch.e_id.tolist()) == {e for _, e in set.union(*oracle(turned, [3, 5], 2)[1])}
    backward = make(typed, [-1], sample_direction="backward")
    (batch,) = gnn.lab.pyg.NodeLoader(typed, backward, ("a", torch.tensor([4])))
    assert_is_part(batch, typed)
    assert batch[BACK].num_edges == 0
    assert batch[TO].num_edges == sum(typed[TO].edge_index[0] == 4)


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"replace": True}], ids=str)
def test_the_law_is_uniform(gnn, options):
    """Chi-square over the pairs of edges that the root of a star draws, in 1,500 epochs."""
    leaves = torch.arange(1, 6)
    star = Data(edge_index=torch.stack([leaves, torch.zeros_like(leaves)]), num_nodes=6)
    one = loader(gnn, star, [2], input_nodes=torch.tensor([0]), **options)
    pairs = Counter(tuple(sorted(batch.e_id.tolist())) for _ in range(1500) for batch in one)
    even = {(i, j): 2 - (i == j) for i in range(5) for j in range(i, 5)}
    want = even if "replace" in options else {p: 1 for p in even if p[0] != p[1]}
    assert pairs.keys() == want.keys()
    total = sum(want.values())
    expected = [1500 * share / total for share in want.values()]
    assert stats.chisquare([pairs[p] for p in want], expected).pvalue > 1e-4


def test_the_law_of_a_typed_graph_is_uniform(gnn, typed):
    (node, degree), *_ = Counter(typed[TO].edge_index[1].tolist()).most_common(1)
    one = loader(gnn, typed, {TO: [1], BACK: [0], LIKES: [0]}, input_nodes=("b", [node]))
    drawn = Counter(batch[TO].e_id.item() for _ in range(1000) for batch in one)
    assert len(drawn) == degree and stats.chisquare(list(drawn.values())).pvalue > 1e-4


def links(gnn, data, workers=0, **options):
    given = {"edge_label_index": data.edge_index, "batch_size": 60, "seed": 4} | options
    return gnn.lab.pyg.LinkNeighborLoader(data, [3, 2], num_workers=workers, **given)


@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_links_lead_to_nodes_of_the_batch(gnn, plain, mode, disjoint):
    negatives = mode and {"mode": mode, "amount": 2}
    for batch in links(gnn, plain, neg_sampling=negatives, disjoint=disjoint):
        assert_is_part(batch, plain)
        want = plain.edge_index[:, batch.input_id]
        if mode == "triplet":
            ends = torch.stack([batch.src_index, batch.dst_pos_index])
            assert batch.dst_neg_index.shape == (len(batch.input_id), 2)
            assert batch.dst_neg_index.max() < batch.num_nodes
        else:
            ends = batch.edge_label_index[:, : len(batch.input_id)]
            count = len(batch.input_id) * (3 if mode else 1)
            assert batch.edge_label_index.shape == (2, count)
            if mode:
                assert batch.edge_label.tolist() == [1.0] * len(batch.input_id) + [0.0] * (
                    2 * len(batch.input_id)
                )
        assert torch.equal(batch.n_id[ends], want)
        if disjoint:
            assert torch.equal(batch.batch[ends[0]], batch.batch[ends[1]])


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_links_and_negatives_are_the_same_for_any_number_of_workers(plain, mode):
    import fastimpl

    def drawn(workers):
        made = links(fastimpl, plain, workers, neg_sampling=mode)
        return [str(batch.to_dict()) for _ in range(2) for batch in made]

    torch.set_printoptions(threshold=10**6)
    want = drawn(0)
    assert drawn(1) == want == drawn(2)
    assert want[:3] != want[3:]
    torch.set_printoptions(profile="default")


def test_negatives_take_nothing_from_torchs_generator(gnn, plain):
    made = iter(links(gnn, plain, neg_sampling="binary"))
    torch.manual_seed(0)
    want = torch.rand(3)
    torch.manual_seed(0)
    next(made)
    assert torch.equal(torch.rand(3), want)


def test_typed_batches_are_the_same_for_any_number_of_workers(typed):
    import fastimpl

    options = {"input_nodes": ("b", None), "batch_size": 20}
    one, other = (loader(fastimpl, typed, FEWER, num_workers=w, **options) for w in (0, 2))
    for got, want in zip(one, other, strict=True):
        for kind in typed.edge_types:
            assert torch.equal(got[kind].edge_index, want[kind].edge_index)
            assert torch.equal(got[kind].e_id, want[kind].e_id)


def test_typed_links(gnn, typed):
    for mode in ("binary", "triplet"):
        own = {"edge_label_index": TO, "neg_sampling": mode, "batch_size": 30, "seed": 1}
        batch = next(iter(gnn.lab.pyg.LinkNeighborLoader(typed, FEWER, **own)))
        assert_is_part(batch, typed)
        if mode == "binary":
            ends = batch[TO].edge_label_index[:, :30]
        else:
            ends = torch.stack([batch["a"].src_index, batch["b"].dst_pos_index])
        for end, kind, want in zip(ends, "ab", typed[TO].edge_index[:, :30], strict=True):
            assert torch.equal(batch[kind].n_id[end], want)


def test_stores_give_the_batches_of_their_data(gnn, plain):
    from torch_geometric.data.graph_store import EdgeAttr, EdgeLayout
    from torch_geometric.testing import MyFeatureStore, MyGraphStore

    features, graph = MyFeatureStore(), MyGraphStore()
    features.put_tensor(plain.x, group_name=None, attr_name="x", index=None)
    coo = EdgeAttr(None, EdgeLayout.COO, size=(45, 45))
    graph.put_edge_index(tuple(plain.edge_index), coo)
    (got,) = loader(gnn, (features, graph), [2, 2], input_nodes=torch.arange(7))
    (want,) = loader(gnn, plain, [2, 2], input_nodes=torch.arange(7))
    assert torch.equal(got.x, want.x) and torch.equal(got.edge_index, want.edge_index)


def test_without_a_warning_and_with_another_loader(gnn, plain, recwarn):
    sampler = gnn.lab.pyg.NeighborSampler(plain, [2, 2], seed=3)
    assert not recwarn.list
    theirs = pyg.loader.NodeLoader(plain, sampler, torch.arange(7), batch_size=7)
    ours = gnn.lab.pyg.NodeLoader(plain, sampler, torch.arange(7), batch_size=7)
    (first,), (again,) = theirs, theirs
    assert torch.equal(first.e_id, again.e_id)  # nobody counts epochs
    sampler.epoch = 1
    (second,) = theirs
    assert not torch.equal(first.e_id, second.e_id)
    (counted,), (after,) = ours, ours
    assert torch.equal(counted.e_id, second.e_id) and not torch.equal(after.e_id, second.e_id)


def test_enabled_pygs_own_loaders_draw_as_ours(gnn, plain, monkeypatch):
    monkeypatch.setattr(pyg.typing, "WITH_PYG_LIB", False)
    monkeypatch.setattr(pyg.typing, "WITH_TORCH_SPARSE", False)
    peer = pyg.loader
    places = (pyg.sampler, peer.neighbor_loader, peer.link_neighbor_loader)
    before = [vars(place)["NeighborSampler"] for place in places]
    assert gnn.lab.pyg.enable() and gnn.lab.pyg.enable()
    try:
        options = {"input_nodes": torch.arange(20), "batch_size": 10}
        torch.manual_seed(5)
        theirs = peer.NeighborLoader(plain, [2, 1], **options)
        got = [batch.e_id.tolist() for _ in range(2) for batch in theirs]
        torch.manual_seed(5)
        ours = loader(gnn, plain, [2, 1], seed=None, **options)
        assert got == [batch.e_id.tolist() for _ in range(2) for batch in ours]
        assert got[:2] != got[2:] and ours.epoch == 2
        made = peer.LinkNeighborLoader(plain, [2], edge_label_index=plain.edge_index)
        assert isinstance(made.link_sampler, gnn.lab.pyg.NeighborSampler)
        assert next(iter(made)).num_nodes
    finally:
        gnn.lab.pyg.disable()
    assert [vars(place)["NeighborSampler"] for place in places] == before
    assert "__iter__" not in vars(peer.NodeLoader) | vars(peer.LinkLoader)
    gnn.lab.pyg.disable()


def test_enabling_changes_nothing_beside_pyg_lib(gnn, monkeypatch):
    monkeypatch.setattr(pyg.typing, "WITH_PYG_LIB", True)
    before = pyg.loader.neighbor_loader.NeighborSampler
    assert gnn.lab.pyg.enable() is False
    assert pyg.loader.neighbor_loader.NeighborSampler is before


def test_a_version_with_another_hook_is_refused():
    check_hook()
    renamed = SimpleNamespace(_sample=lambda self, seeds, seed_time=None: None)
    with pytest.raises(ImportError, match=r"torch_geometric 9\.0 is not supported.*\(self, seeds,"):
        check_hook(renamed, "9.0")
    with pytest.raises(ImportError, match=r"takes \(\), not \(self, seed, seed_time, \*\*kwargs"):
        check_hook(SimpleNamespace(), "9.0")


def test_what_a_typed_graph_does_not_have_is_named(gnn, typed):
    with pytest.raises(ValueError, match="Missing number of neighbors"):
        loader(gnn, typed, {TO: [2]}, input_nodes="b")
    with pytest.raises(ValueError, match="num_neighbors must be in"):
        loader(gnn, typed, FEWER | {TO: [2, -7]}, input_nodes="b")
    with pytest.raises(TypeError, match="adjs=True needs a torch_geometric.data.Data"):
        loader(gnn, typed, FEWER, input_nodes="b", adjs=True)
