"""PyG's NeighborLoader with our sampler: what a batch holds, and training on it."""

import numpy as np
import pytest
from strategies import power_law_graph

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.nn import GraphSAGE  # noqa: E402
from torch_geometric.utils import k_hop_subgraph  # noqa: E402

N, CLASSES = 600, 4
ROOTS = torch.arange(0, N, 4)
PROCESSES = ("persistent_workers", "multiprocessing_context")  # options that 0 workers refuse


@pytest.fixture(scope="module")
def data():
    """A directed graph whose edges stand in any order, with something for nodes and for edges."""
    graph = power_law_graph(N)
    receivers = np.repeat(np.arange(N), graph.degrees())
    edge_index = np.stack([graph.indices.astype(np.int64), receivers])
    rng = np.random.default_rng(1)
    kept = rng.permutation(graph.e)[: graph.e * 3 // 4]  # not all of them go both ways
    return Data(
        x=torch.tensor(rng.normal(size=(N, 8)), dtype=torch.float32),
        y=torch.tensor(rng.integers(0, CLASSES, N)),
        edge_index=torch.tensor(edge_index[:, kept]),
        edge_weight=torch.tensor(rng.random(len(kept))),
        name="made",
    )


def contents(batch):
    """Return all that a batch holds, comparable."""
    return {
        name: value.numpy().tobytes() if isinstance(value, torch.Tensor) else value
        for name, value in batch
        if name != "adjs"
    }


def of_epochs(made, epochs):
    """Return what the batches of some epochs hold; roots are shuffled by torch's generator."""
    torch.manual_seed(3)
    return [[contents(batch) for batch in made] for _ in range(epochs)]


def loader(gnn, data, fanouts=(4, 3), **options):
    options = {"input_nodes": ROOTS, "batch_size": 32, "seed": 5} | options
    return gnn.lab.pyg.NeighborLoader(data, fanouts, **options)


def assert_is_part(batch, data):
    """Everything in a batch is what the data has of its nodes and edges, and can be written to."""
    assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
    assert torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.y, data.y[batch.n_id])
    for name in ("n_id", "e_id", "edge_index"):
        assert batch[name].dtype == torch.int64
    for name, value in batch:
        if isinstance(value, torch.Tensor):
            assert value.numpy().flags.writeable and value.is_contiguous(), name
    assert len(torch.unique(batch.n_id)) == len(batch.n_id)
    assert len(torch.unique(batch.e_id)) == len(batch.e_id)
    assert batch.validate()


def test_a_batch_has_what_its_nodes_and_edges_have(gnn, data):
    before = contents(data)
    batches = list(loader(gnn, data))
    assert [len(batch.input_id) for batch in batches] == [32, 32, 32, 32, 22]
    for number, batch in enumerate(batches):
        assert_is_part(batch, data)
        assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])
        assert batch.name == "made"
        assert torch.equal(batch.input_id, torch.arange(32 * number, min(32 * number + 32, 150)))
        assert torch.equal(batch.n_id[: batch.batch_size], ROOTS[batch.input_id])
        batch.x += 1  # is the batch's own
    assert contents(data) == before


@pytest.mark.parametrize("fanouts", [(4, 3), (2, -1, 1), (0,), (1000,)])
def test_every_node_draws_once_in_the_hop_after_it_was_met(gnn, data, fanouts):
    degrees = torch.bincount(data.edge_index[1], minlength=N)
    for batch in loader(gnn, data, fanouts):
        nodes = np.cumsum([0, *batch.num_sampled_nodes])
        edges = np.cumsum([0, *batch.num_sampled_edges])
        assert (nodes[-1], edges[-1]) == (batch.num_nodes, batch.num_edges)
        for hop, fanout in enumerate(fanouts):
            source, target = batch.edge_index[:, edges[hop] : edges[hop + 1]]
            drew = torch.bincount(target, minlength=batch.num_nodes)
            may = degrees[batch.n_id]
            want = may if fanout < 0 else may.clamp(max=fanout)
            want[: nodes[hop]] = want[nodes[hop + 1] :] = 0
            assert torch.equal(drew, want)
            new = set(source.tolist()) - set(range(nodes[hop + 1]))
            assert new == set(range(nodes[hop + 1], nodes[hop + 2]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": True},
        {"persistent_workers": True},
        {"filter_per_worker": True, "shuffle": True},
        {"multiprocessing_context": "spawn", "persistent_workers": True, "adjs": True},
        {"disjoint": True, "replace": True},
    ],
    ids=" ".join,
)
def test_the_same_batches_for_any_number_of_workers(data, options):
    import fastimpl

    def drawn(workers):
        own = options if workers else {k: v for k, v in options.items() if k not in PROCESSES}
        return of_epochs(loader(fastimpl, data, num_workers=workers, **own), 2)

    want = drawn(0)
    for workers in [1] if "multiprocessing_context" in options else [1, 2]:  # spawning takes long
        assert drawn(workers) == want
    first, second = ({batch["n_id"] for batch in epoch} for epoch in want)
    assert not first & second  # every epoch draws anew


def test_both_packages_draw_the_same(data):
    import fastimpl
    import refimpl

    for options in ({"shuffle": True}, {"disjoint": True}, {"replace": True}):
        one, other = (of_epochs(loader(gnn, data, **options), 1) for gnn in (refimpl, fastimpl))
        assert one == other


def test_the_seed_comes_from_torch_and_the_epoch_can_be_set(gnn, data):
    def epoch_2(**options):
        made = loader(gnn, data, **options)
        made.epoch = 2
        found = [contents(batch) for batch in made]
        assert made.epoch == made.node_sampler.epoch == 3
        return found

    torch.manual_seed(8)
    want = epoch_2(seed=None)
    torch.manual_seed(8)
    assert epoch_2(seed=None) == want != epoch_2(seed=None)
    assert epoch_2(seed=torch.Generator().manual_seed(8)) == want
    made = loader(gnn, data, seed=torch.Generator().manual_seed(8))
    assert of_epochs(made, 3)[2] == want
    for number in (-1, 2**31, 1.0, None):
        with pytest.raises((TypeError, ValueError), match="epoch must be"):
            made.epoch = number


def test_roots_as_masks_and_repeated(gnn, data):
    mask = torch.zeros(N, dtype=torch.bool)
    mask[ROOTS] = True
    for want, got in zip(loader(gnn, data), loader(gnn, data, input_nodes=mask), strict=True):
        assert torch.equal(got.n_id, want.n_id)
    assert torch.equal(got.input_id, ROOTS[128:])  # as PyG has it for masks
    twice = torch.tensor([7, 3, 7])
    (batch,) = loader(gnn, data, (-1,), input_nodes=twice)
    assert torch.equal(batch.n_id[:3], twice)
    for root in range(3):  # each has its edges, as in PyG
        edges = batch.e_id[batch.edge_index[1] == root]
        want = (data.edge_index[1] == twice[root]).nonzero()[:, 0]
        assert sorted(edges.tolist()) == want.tolist()
    assert len(batch.n_id.unique()) == len(batch.n_id) - 1


def trained(data, epochs):
    """Return the losses of PyG's GraphSAGE on epochs of batches (x, edge_index, rows, labels)."""
    torch.manual_seed(0)
    model = GraphSAGE(data.num_node_features, 16, num_layers=2, out_channels=CLASSES)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.02), []
    for epoch in epochs:
        for x, edge_index, rows, labels in epoch:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x, edge_index)[rows], labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert len(losses) == 15 and np.mean(losses[-5:]) < np.mean(losses[:5])
    return losses


def of(batches):
    """Yield what `trained` takes of batches of either loader."""
    for batch in batches:
        rows = slice(batch.batch_size)
        yield batch.x, batch.edge_index, rows, batch.y[rows]


def test_the_loss_is_that_of_the_same_samples_by_pyg(gnn, data):
    """The edges of each batch, chosen from the whole data by PyG's own `edge_subgraph`."""

    def replayed(batches):
        for batch in batches:
            mask = torch.zeros(data.num_edges, dtype=torch.bool)
            mask[batch.e_id] = True
            whole, roots = data.edge_subgraph(mask), ROOTS[batch.input_id]
            yield whole.x, whole.edge_index, roots, whole.y[roots]

    ours, again = loader(gnn, data, shuffle=True, num_workers=2), loader(gnn, data, shuffle=True)
    got = trained(data, (of(ours) for _ in range(3)))
    np.testing.assert_allclose(got, trained(data, (replayed(again) for _ in range(3))), rtol=1e-5)


def test_the_loss_with_all_neighbours_is_that_of_whole_hops(gnn, data):
    def whole_hops(batches):
        for roots in ROOTS.split(32):
            nodes, edge_index, rows, _ = k_hop_subgraph(roots, 2, data.edge_index, True, N)
            yield data.x[nodes], edge_index, rows, data.y[roots]

    ours = loader(gnn, data, (-1, -1))
    got = trained(data, (of(ours) for _ in range(3)))
    np.testing.assert_allclose(got, trained(data, (whole_hops(ours) for _ in range(3))), rtol=1e-5)


def test_layers_may_be_trimmed_to_what_the_roots_need(gnn, data):
    torch.manual_seed(0)
    model = GraphSAGE(data.num_node_features, 16, num_layers=2, out_channels=CLASSES)
    for batch in loader(gnn, data):
        whole = model(batch.x, batch.edge_index)
        trimmed = model(
            batch.x,
            batch.edge_index,
            num_sampled_nodes_per_hop=batch.num_sampled_nodes,
            num_sampled_edges_per_hop=batch.num_sampled_edges,
        )
        assert len(trimmed) == sum(batch.num_sampled_nodes[:2]) < len(whole)
        roots = slice(batch.batch_size)
        torch.testing.assert_close(trimmed[roots], whole[roots])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_neighbors": [-2]}, ValueError, "num_neighbors must be in"),
        ({"num_neighbors": [2.5]}, TypeError, "num_neighbors must be an integer"),
        ({"adjs": 1}, TypeError, "adjs must be True or False"),
        ({"adjs": True, "subgraph_type": "induced"}, ValueError, "adjs=True needs subgraph_type"),
        ({"seed": 0.5}, TypeError, "rng must be an integer, got float"),
        ({"weight_attr": "no"}, ValueError, "weight_attr='no' is no attribute"),
        (
            {"disjoint": True, "subgraph_type": "induced"},
            ValueError,
            'disjoint=True does not go with subgraph_type="induced"',
        ),
        (
            {"data": Data(edge_index=torch.tensor([[2], [0]]), num_nodes=2)},
            ValueError,
            r"the sources in edge_index must be in \[0, 2\)",
        ),
        (
            {"data": Data(edge_index=torch.tensor([[0], [5]]), num_nodes=2)},
            ValueError,
            r"the targets in edge_index must be in \[0, 2\)",
        ),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_what_does_not_fit_is_named(gnn, data, options, error, message):
    options = {"data": data, "num_neighbors": [2]} | options
    with pytest.raises(error, match=message):
        gnn.lab.pyg.NeighborLoader(**options)


def test_roots_out_of_range_are_named(gnn, data):
    with pytest.raises(ValueError, match="input_nodes must be in"):
        list(loader(gnn, data, input_nodes=torch.tensor([N])))
    sampler = gnn.lab.pyg.NeighborSampler(data, [2])
    with pytest.raises(ValueError, match="seed must be left out beside neighbor_sampler"):
        loader(gnn, data, neighbor_sampler=sampler)


@pytest.mark.parametrize("several", [False, True])
def test_a_data_set_goes_over_and_comes_back(gnn, several):
    source = gnn.load_dataset("communities-multilabel" if several else "karate")
    data = source.to_pyg()
    ends = set(map(tuple, data.edge_index.T.tolist()))
    assert len(ends) == source.graph.e and ends == set(
        zip(*map(np.ndarray.tolist, source.graph.to_scipy().nonzero()), strict=True)
    )
    assert data.is_sorted(sort_by_row=False) and data.validate()
    np.testing.assert_array_equal(data.x, source.inputs())
    assert data.y.dtype == (torch.float32 if several else torch.int64)
    for part in ("train", "val", "test"):
        assert data[f"{part}_mask"].nonzero()[:, 0].tolist() == getattr(source, part).tolist()
    if not several:
        back = gnn.Dataset.from_pyg(data, scaling="none")
        np.testing.assert_array_equal(back.inputs(), source.inputs())
        np.testing.assert_array_equal(back.labels, source.labels)
        np.testing.assert_array_equal(back.graph.indices, source.graph.indices)
