"""GraphSAINT's subgraphs as PyG's samplers yield them: their laws, and norms without bias."""

import numpy as np
import pytest

from refimpl.streams import SAINT

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.utils import degree, scatter, subgraph  # noqa: E402

MANY = 3000  # subgraphs
KINDS = {
    "GraphSAINTNodeSampler": {"batch_size": 6},
    "GraphSAINTEdgeSampler": {"batch_size": 4},
    "GraphSAINTRandomWalkSampler": {"batch_size": 3, "walk_length": 2},
}


@pytest.fixture
def club(gnn):
    """The karate club, whose degrees are 1 to 17, with a loop; edges stand in any order."""
    graph = gnn.lab.data.karate()
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    edge_index = torch.tensor(np.stack([graph.indices.astype(np.int64), rows]))
    edge_index = torch.cat([edge_index, torch.tensor([[5], [5]])], 1)
    order = torch.from_numpy(np.random.default_rng(2).permutation(graph.e + 1))
    data = Data(edge_index=edge_index[:, order], x=torch.arange(34.0)[:, None], words="club")
    data.edge_weight = 1 / degree(data.edge_index[1])[data.edge_index[1]]
    data.n_id, data.e_id = torch.arange(34), torch.arange(graph.e + 1)
    return data


def make(gnn, data, kind="GraphSAINTRandomWalkSampler", **options):
    given = {"seed": 1, "num_steps": 4} | KINDS[kind] | options
    return getattr(gnn.lab.pyg, kind)(data, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_a_subgraph_has_all_edges_between_its_nodes(gnn, club, kind):
    made = make(gnn, club, kind, num_steps=5)
    assert len(made) == 5
    for batch in made:
        mask = torch.zeros(34, dtype=torch.bool)
        mask[batch.n_id] = True
        want = subgraph(mask, club.edge_index)[0]
        ends = batch.n_id[batch.edge_index]
        assert torch.equal(ends, club.edge_index[:, batch.e_id])
        assert set(map(tuple, ends.T.tolist())) == set(map(tuple, want.T.tolist()))
        assert len(batch.e_id) == want.shape[1]
        assert torch.equal(batch.x, club.x[batch.n_id])
        assert torch.equal(batch.edge_weight, club.edge_weight[batch.e_id])
        assert "node_norm" not in batch and "edge_norm" not in batch and batch.validate()


@pytest.mark.parametrize("kind", ["GraphSAINTNodeSampler", "GraphSAINTEdgeSampler"])
def test_a_node_is_drawn_by_its_degree_or_by_its_edges(gnn, club, kind):
    """Edges {u, v} are drawn by 1 / deg(u) + 1 / deg(v), a loop by 1 / deg(u)."""
    made = make(gnn, club, kind, num_steps=MANY)
    met = sum(torch.bincount(batch.n_id, minlength=34) for batch in made).numpy()
    share = degree(club.edge_index[0]).numpy() / club.num_edges
    if kind == "GraphSAINTEdgeSampler":
        u, v = club.edge_index
        parts = 1 / degree(u)
        both = torch.where(u == v, parts[u], parts[u] + parts[v])
        share = (scatter(both, u, 0, 34) / both[u <= v].sum()).numpy()
    chance = 1 - (1 - share) ** KINDS[kind]["batch_size"]  # that a draw has this node
    z = (met - MANY * chance) / np.sqrt(MANY * chance * (1 - chance))
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("kind", KINDS)
def test_norms_are_ratios_of_counts(gnn, club, kind):
    made = make(gnn, club, kind, num_steps=2, sample_coverage=30)
    graph = gnn.as_graph(club.edge_index)
    N = gnn.estimate_counts(graph, made._sampler, 1, coverage=30).subgraphs
    nodes, edges = np.zeros(34), {}
    for sub in gnn.sample_many(graph, made._sampler, 1, 0, N, domain=SAINT):
        nodes[sub.nodes] += 1
        for v in range(sub.graph.n):
            for u in sub.graph.indices[sub.graph.start[v] : sub.graph.end[v]]:
                ends = int(sub.nodes[u]), int(sub.nodes[v])
                edges[ends] = edges.get(ends, 0) + 1
    assert nodes.sum() >= 30 * 34
    for batch in made:
        want = N / (34 * np.maximum(nodes[batch.n_id], 0.1))
        np.testing.assert_allclose(batch.node_norm, want, rtol=1e-6)
        pairs = map(tuple, batch.n_id[batch.edge_index].T.tolist())
        want = [max(nodes[v], 0.1) / max(edges.get((u, v), 0), 0.1) for u, v in pairs]
        np.testing.assert_allclose(batch.edge_norm, np.clip(want, 1, 1e4), rtol=1e-6)
        assert batch.node_norm.dtype == batch.edge_norm.dtype == torch.float32


def test_sums_have_the_right_expectation_and_with_pygs_norm_they_would_not(club):
    """Given that v is met, its weights add up to 1 on average: neighbours' mean has no bias."""
    import fastimpl

    made = make(fastimpl, club, num_steps=MANY, sample_coverage=1000)
    met, losses = torch.zeros(34), []
    sums = {"ours": torch.zeros(34), "pyg": torch.zeros(34)}
    counts = 1 / made.node_norm
    for batch in made:
        source, target = batch.edge_index
        by_source = batch.edge_norm * (counts[batch.n_id][source] / counts[batch.n_id][target])
        met[batch.n_id] += 1
        losses.append(float((batch.node_norm * batch.x[:, 0]).sum()))
        for name, norm in (("ours", batch.edge_norm), ("pyg", by_source)):
            sums[name][batch.n_id] += scatter(norm * batch.edge_weight, target, 0, len(batch.n_id))
    bias = {name: (total / met - 1).abs().max().item() for name, total in sums.items()}
    assert bias["ours"] < 0.12 and bias["pyg"] > 1
    assert np.mean(losses) == pytest.approx(club.x.mean().item(), rel=0.05)


def test_a_graph_without_edges_has_empty_subgraphs(gnn):
    alone = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    for kind in ("GraphSAINTNodeSampler", "GraphSAINTEdgeSampler"):
        (batch,) = getattr(gnn.lab.pyg, kind)(alone, 2)
        assert (batch.num_nodes, batch.num_edges) == (0, 0)
    (batch,) = gnn.lab.pyg.GraphSAINTRandomWalkSampler(alone, 2, 2)
    assert (batch.num_nodes, batch.num_edges) == (2, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_arguments_are_pygs(gnn, club, kind):
    """By position too; a batch has PyG's attributes, and no others."""
    sizes = tuple(KINDS[kind].values())
    made = getattr(gnn.lab.pyg, kind)(club, *sizes, 3, 2, None, False, shuffle=True, seed=1)
    assert isinstance(made, getattr(pyg.loader, kind)) and len(made) == 3
    for batch in made:
        assert set(batch.keys()) == {*club.keys(), "num_nodes", "node_norm", "edge_norm"}
        assert batch.words == "club" and len(batch.node_norm) == batch.num_nodes


@pytest.mark.parametrize("kind", KINDS)
def test_subgraphs_are_numbered_through_all_epochs_for_any_number_of_workers(club, kind):
    import fastimpl as gnn

    def drawn(**options):
        made = make(gnn, club, kind, sample_coverage=3, **options)
        return [str(batch.to_dict()) for _ in range(2) for batch in made]

    want = drawn()
    assert len(set(want)) == 8
    assert drawn(num_workers=2) == want == drawn(num_workers=2, persistent_workers=True)
    made = make(gnn, club, kind)
    graph = gnn.as_graph(club.edge_index)
    every = gnn.sample_many(graph, made._sampler, 1, 4, 4)
    made.epoch = 1
    assert [sub.nodes.tolist() for sub in every] == [batch.n_id.tolist() for batch in made]


def test_the_seed_comes_from_torch(gnn, club):
    def drawn(seed=None):
        return [batch.n_id.tolist() for batch in make(gnn, club, seed=seed)]

    torch.manual_seed(8)
    want = drawn()
    torch.manual_seed(8)
    assert drawn() == want != drawn()
    assert drawn(torch.Generator().manual_seed(8)) == want


def test_norms_are_saved_and_read(gnn, club, tmp_path, monkeypatch):
    options = {"sample_coverage": 5, "save_dir": str(tmp_path)}
    first = make(gnn, club, **options)
    (path,) = tmp_path.iterdir()
    assert path.name == "graphsaintrandomwalksampler_2_5.pt"
    monkeypatch.setattr(gnn, "estimate_counts", None)
    again = make(gnn, club, seed=2, **options)
    assert torch.equal(again.node_norm, first.node_norm)
    assert torch.equal(again.edge_norm, first.edge_norm)
    ring = torch.stack([torch.arange(9), (torch.arange(9) + 1) % 9])
    other = Data(edge_index=torch.cat([ring, ring.flip(0)], 1), num_nodes=9)
    with pytest.raises(ValueError, match=f"save_dir has norms of other data: remove {path.name}"):
        make(gnn, other, **options)


def test_a_subclass_may_draw_nodes_itself(club):
    """With torch's generator, which the number of a subgraph sets, and gets back as it was."""
    import fastimpl as gnn

    class Uniform(gnn.lab.pyg.GraphSAINTSampler):
        def _sample_nodes(self, batch_size):
            return torch.randint(0, self.N, (batch_size,))

    def drawn(workers):
        made = Uniform(club, 5, 6, 30, seed=1, num_workers=workers)
        return [str(batch.to_dict()) for _ in range(2) for batch in made]

    found = drawn(0)
    assert len(set(found)) == 12 and found == drawn(2)
    torch.manual_seed(0)
    want = torch.rand(1)
    torch.manual_seed(0)
    assert len(Uniform(club, 5, 6, seed=1)[2][0]) and torch.rand(1) == want
    norm = Uniform(club, 5, 6, 900, seed=1).node_norm
    chance = 1 - (1 - 1 / 34) ** 5
    assert (norm - 1 / (34 * chance)).abs().max() < 0.03


def test_what_does_not_fit_is_named(gnn, club):
    one_way = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    twice = Data(edge_index=torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]]), num_nodes=2)
    for data, error, message in (
        (3, TypeError, "data must be a torch_geometric.data.Data, got int"),
        (Data(x=torch.ones(3, 1)), ValueError, "data must have an edge_index"),
        (one_way, ValueError, "data must be undirected: see torch_geometric.transforms"),
        (twice, ValueError, "data must have no edge twice"),
        (club.clone().update({"edge_norm": 1}), ValueError, "not have the attribute edge_norm"),
    ):
        with pytest.raises(error, match=message):
            make(gnn, data)
    for options, error, message in (
        ({"batch_size": 0}, ValueError, "batch_size must be in"),
        ({"batch_size": 35}, ValueError, "must be at most|in"),
        ({"walk_length": -1}, ValueError, "walk_length must be in"),
        ({"num_steps": 0}, ValueError, "num_steps must be in"),
        ({"sample_coverage": -1}, ValueError, "sample_coverage must be finite and at least 0"),
        ({"log": 3}, TypeError, "log must be"),
        ({"seed": 0.5}, TypeError, "rng must be an integer"),
    ):
        with pytest.raises(error, match=message):
            next(iter(make(gnn, club, **options)))
