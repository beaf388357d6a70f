"""ShaDow's subgraphs as PyG's loader yields them, against plain Python."""

from collections import Counter

import pytest
from scipy import stats

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data  # noqa: E402


@pytest.fixture(scope="module")
def plain():
    """A directed graph with edges that repeat, loops, and nodes without edges."""
    made = torch.Generator().manual_seed(1)
    edge_index = torch.randint(30, (2, 70), generator=made)
    data = Data(x=torch.arange(35.0)[:, None], edge_index=edge_index, y=torch.arange(35) * 10)
    data.number, data.name = torch.arange(70), "plain"
    return data


def within(data, root, depth):
    """Return (nodes, edges): what leads to a root in `depth` steps, and all edges between."""
    ends = data.edge_index.T.tolist()
    nodes = {root}
    for _ in range(depth):
        nodes |= {u for u, v in ends if v in nodes}
    nodes = sorted(nodes)
    edges = [(u, v, e) for e, (u, v) in enumerate(ends) if u in nodes and v in nodes]
    return nodes, sorted(edges)


def loader(gnn, data, depth=2, num_neighbors=2, **options):
    given = {"seed": 3, "batch_size": 8} | options
    return gnn.lab.pyg.ShaDowKHopSampler(data, depth, num_neighbors, **given)


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("many", [-1, 70])
def test_with_all_neighbours_a_root_has_its_whole_neighbourhood(gnn, plain, depth, many):
    roots = torch.randperm(35, generator=torch.Generator().manual_seed(2))
    made = loader(gnn, plain, depth, many, node_idx=roots)
    assert len(made) == 5
    for batch, own in zip(made, roots.split(8), strict=True):
        assert batch.num_graphs == len(own) and batch.name == "plain"
        assert batch.y.tolist() == plain.y[own].tolist()
        nodes, edges = [], []
        for tree, root in enumerate(own.tolist()):
            first = len(nodes)
            own_nodes, own_edges = within(plain, root, depth)
            assert batch.ptr[tree] == first
            assert batch.root_n_id[tree] == first + own_nodes.index(root)
            place = {v: first + i for i, v in enumerate(own_nodes)}
            nodes += own_nodes
            edges += [(place[u], place[v], e) for u, v, e in own_edges]
        assert batch.x[:, 0].tolist() == nodes and batch.ptr[-1] == len(nodes)
        assert batch.batch.bincount(minlength=len(own)).tolist() == batch.ptr.diff().tolist()
        got = torch.cat([batch.edge_index, batch.number[None]]).T.tolist()
        assert list(map(tuple, got)) == sorted(edges)


def test_a_subgraph_has_the_edges_between_the_nodes_that_were_drawn(gnn, plain):
    """As many nodes as can be drawn at most, each on a path of drawn nodes to the root."""
    for batch in loader(gnn, plain, 2, 2):
        nodes = batch.x[:, 0].long()
        for tree, root in enumerate(nodes[batch.root_n_id].tolist()):
            own = nodes[batch.ptr[tree] : batch.ptr[tree + 1]].tolist()
            assert len(own) <= 1 + 2 + 4 and set(own) <= set(within(plain, root, 2)[0])
            ends = enumerate(plain.edge_index.T.tolist())
            want = [e for e, (u, v) in ends if u in own and v in own]
            assert sorted(batch.number[batch.batch[batch.edge_index[1]] == tree].tolist()) == want


@pytest.mark.parametrize("replace", [False, True])
def test_neighbours_are_uniform(gnn, replace):
    leaves = torch.arange(1, 6)
    star = Data(edge_index=torch.stack([leaves, torch.zeros_like(leaves)]), num_nodes=6)
    star.who = torch.arange(6)
    one = loader(gnn, star, 1, 2, node_idx=torch.tensor([0]), replace=replace)
    drawn = Counter(tuple(batch.who[1:].tolist()) for _ in range(800) for batch in one)
    pairs = {(i, j): 2 for i in range(1, 6) for j in range(i + 1, 6)}
    want = pairs | ({(i,): 1 for i in range(1, 6)} if replace else {})
    assert drawn.keys() == want.keys()
    expected = [800 * share / sum(want.values()) for share in want.values()]
    assert stats.chisquare([drawn[p] for p in want], expected).pvalue > 1e-4


def test_each_root_draws_by_itself(gnn):
    """Two roots reach one node, which draws anew in each of their subgraphs."""
    targets = torch.tensor([0, 1, 2, 2, 2])
    data = Data(edge_index=torch.stack([torch.tensor([2, 2, 3, 4, 5]), targets]), num_nodes=6)
    data.who = torch.arange(6)
    one = loader(gnn, data, 2, 1, node_idx=torch.tensor([0, 1]))
    both = Counter(tuple(b.who[b.who > 2].tolist()) for _ in range(800) for b in one)
    assert len(both) == 9 and stats.chisquare(list(both.values())).pvalue > 1e-4


def test_the_same_batches_for_any_number_of_workers(plain):
    import fastimpl

    def drawn(workers, **options):
        made = loader(fastimpl, plain, num_workers=workers, **options)
        return [batch.number.tolist() for _ in range(2) for batch in made]

    want = drawn(0)
    assert drawn(2) == want == drawn(2, persistent_workers=True)
    assert want[:5] != want[5:]


def test_the_seed_comes_from_torch_and_the_epoch_can_be_set(gnn, plain):
    def drawn(epoch=0, **options):
        made = loader(gnn, plain, **options)
        made.epoch = epoch
        return [batch.number.tolist() for batch in made]

    torch.manual_seed(8)
    want = drawn(seed=None)
    torch.manual_seed(8)
    assert drawn(seed=None) == want != drawn(seed=None)
    made = loader(gnn, plain)
    assert list(made) and made.epoch == 1
    assert drawn(epoch=1) == [batch.number.tolist() for batch in made] != drawn()


def test_roots_may_be_a_mask_and_batches_as_torchs_loader_makes_them(gnn, plain):
    mask = plain.y % 20 == 0
    made = loader(gnn, plain, node_idx=mask, batch_size=4, drop_last=True, shuffle=True)
    assert len(made) == 4
    roots = torch.cat([batch.y for batch in made]).tolist()
    assert len(set(roots)) == 16 and set(roots) <= set(plain.y[mask].tolist())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"depth": -1}, ValueError, "depth must be in"),
        ({"num_neighbors": -2}, ValueError, "num_neighbors must be in"),
        ({"num_neighbors": [2, 2]}, TypeError, "num_neighbors must be an integer"),
        ({"node_idx": torch.tensor([35])}, ValueError, "node_idx must be in"),
        ({"node_idx": torch.ones(34, dtype=torch.bool)}, ValueError, "node_idx must have shape"),
        ({"node_idx": [1]}, TypeError, "node_idx must be a tensor, got list"),
        ({"replace": 1}, TypeError, "replace must be"),
        ({"data": Data(x=torch.ones(3, 1))}, ValueError, "data must have an edge_index"),
        (
            {"data": Data(edge_index=torch.tensor([[0], [2]]), num_nodes=2)},
            ValueError,
            r"the targets in edge_index must be in \[0, 2\)",
        ),
    ],
)
def test_what_does_not_fit_is_named(gnn, plain, options, error, message):
    with pytest.raises(error, match=message):
        loader(gnn, **{"data": plain} | options)
