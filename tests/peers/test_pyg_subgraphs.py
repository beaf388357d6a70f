"""Subgraphs of any sampler that are yielded as PyG's Data."""

import gc
import threading

import numpy as np
import pytest

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.utils import degree  # noqa: E402


@pytest.fixture
def club(gnn):
    """The karate club, whose degrees are 1 to 17; edges stand in any order."""
    graph = gnn.lab.data.karate()
    rows = np.repeat(np.arange(graph.n), graph.degrees())
    edge_index = torch.tensor(np.stack([graph.indices.astype(np.int64), rows]))
    order = torch.from_numpy(np.random.default_rng(2).permutation(graph.e))
    data = Data(edge_index=edge_index[:, order], x=torch.arange(34.0)[:, None])
    data.edge_weight = 1 / degree(data.edge_index[1])[data.edge_index[1]]
    return data


def test_subgraphs_are_numbered_through_all_epochs(gnn, club):
    sampler = gnn.Sampler("frontier", m=2, n=9)
    made = gnn.lab.pyg.SubgraphLoader(club, sampler, 3, seed=4)
    got = [batch.n_id.tolist() for _ in range(2) for batch in made]
    graph = gnn.as_graph(club.edge_index)
    assert got == [sub.nodes.tolist() for sub in gnn.sample_many(graph, sampler, 4, 0, 6)]


def test_what_does_not_fit_is_named(gnn, club):
    kinds, sampler = gnn.lab.pyg, gnn.Sampler("edge", b=3)
    one_way = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    with pytest.raises(ValueError, match="data must be undirected: see torch_geometric.trans"):
        kinds.SubgraphLoader(one_way, sampler)
    with pytest.raises(TypeError, match="sampler must be a Sampler, got str"):
        kinds.SubgraphLoader(club, "edge")
    with pytest.raises(ValueError, match="data must not have the attribute node_norm already"):
        kinds.SubgraphLoader(club.clone().update({"node_norm": torch.ones(34)}), sampler)
    with pytest.raises(ValueError, match="num_steps must be in"):
        kinds.SubgraphLoader(club, sampler, 0)
    with pytest.raises(ValueError, match="sample_coverage must be finite and at least 0"):
        kinds.SubgraphLoader(club, sampler, 1, -1)


def subgraphs(gnn, data, **options):
    usual = {"sampler": gnn.Sampler("frontier", m=2, n=9), "num_steps": 6, "seed": 5}
    return gnn.lab.pyg.SubgraphLoader(data, **usual | options)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_same_subgraphs_for_any_number_of_threads(gnn, club, workers):
    def drawn(num_workers):
        options = {"num_workers": num_workers, "prefetch_factor": 1 + num_workers % 2}
        made = subgraphs(gnn, club, sample_coverage=3, **options)
        return [str(batch.to_dict()) for _ in range(2) for batch in made]

    want = drawn(0)
    assert drawn(workers) == want and len(set(want)) == 12


def test_a_loop_that_is_left_ends_its_threads(gnn, club):
    def threads():
        return [t for t in threading.enumerate() if t.name.startswith("minibatch-gnn-prefetch")]

    for count in subgraphs(gnn, club, num_workers=2, transform=lambda batch: batch.num_nodes):
        assert count and threads()
        break
    gc.collect()
    for thread in threads():
        thread.join(30)
    assert not threads()

    def refuse(batch):
        raise RuntimeError("not this one")

    with pytest.raises(RuntimeError, match="not this one"):
        next(iter(subgraphs(gnn, club, num_workers=2, transform=refuse)))


def test_the_seed_of_subgraphs_comes_from_torch_and_the_epoch_can_be_set(gnn, club):
    def epoch_2(**options):
        made = subgraphs(gnn, club, **options)
        made.epoch = 2
        assert repr(made) == f"SubgraphLoader(6 batches an epoch, seed={made.seed})"
        return [batch.n_id.tolist() for batch in made]

    torch.manual_seed(8)
    want = epoch_2(seed=None)
    torch.manual_seed(8)
    assert epoch_2(seed=None) == want != epoch_2(seed=None)
    assert epoch_2(seed=torch.Generator().manual_seed(8)) == want


@pytest.mark.parametrize("epoch", [-1, 2**31, 1.0, "1", None])
def test_an_epoch_that_is_no_number_is_named_before_a_subgraph_is_made(gnn, club, epoch):
    made = subgraphs(gnn, club)
    made.epoch = epoch
    with pytest.raises((TypeError, ValueError), match="epoch must be"):
        iter(made)
    assert made.epoch == epoch


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_workers": -1}, ValueError, "num_workers must be in"),
        ({"prefetch_factor": 0}, ValueError, "prefetch_factor must be in"),
        ({"transform": 3}, TypeError, "transform must be callable, got int"),
        ({"seed": 0.5}, TypeError, "rng must be an integer, got float"),
        ({"data": 3}, TypeError, "data must be a torch_geometric.data.Data, got int"),
        ({"data": Data(x=torch.ones(3, 1))}, ValueError, "data must have an edge_index"),
        (
            {"data": Data(edge_index=torch.tensor([[0, 0], [1, 1]]), num_nodes=2)},
            ValueError,
            r"data must have no edge twice: call data = data\.coalesce\(\)",
        ),
        (
            {"data": Data(edge_index=torch.tensor([[0], [2]]), num_nodes=2)},
            ValueError,
            r"data.edge_index must be in \[0, 2\)",
        ),
        (
            {"data": Data(edge_index=torch.ones(3, 4, dtype=torch.long), num_nodes=2)},
            ValueError,
            "data.edge_index must have shape",
        ),
    ],
)
def test_what_a_loader_of_subgraphs_cannot_take_is_named(gnn, club, options, error, message):
    with pytest.raises(error, match=message):
        subgraphs(gnn, **{"data": club} | options)


def test_what_belongs_to_edges_or_nodes_is_cut_where_pyg_cuts_it(gnn):
    """Along the last dimension of what is called an index; arrays, lists and strings too."""
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    pairs = torch.stack([torch.arange(4) + 10, torch.arange(4) + 20])
    data = Data(edge_index=edge_index, num_nodes=5, pair_index=pairs, x=torch.eye(5))
    data.words, data.names = list("abcde"), np.array(list("abcde"))
    for batch in subgraphs(gnn, data, sampler=gnn.Sampler("edge", b=1)):
        assert batch.pair_index.tolist() == pairs[:, batch.e_id].tolist()
        assert batch.words == [data.words[i] for i in batch.n_id]
        assert batch.names.tolist() == data.names[batch.n_id].tolist()
