"""Loaders that yield PyG's Data: what a batch holds, who draws it, and training on it."""

import copy
import gc
import threading

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


@pytest.fixture(scope="module")
def data():
    """A directed graph whose edges stand in any order, with something for nodes and for edges."""
    graph = power_law_graph(N)
    receivers = np.repeat(np.arange(N), graph.degrees())
    edge_index = np.stack([graph.indices.astype(np.int64), receivers])
    rng = np.random.default_rng(1)
    kept = rng.permutation(graph.e)[: graph.e * 3 // 4]  # not all of them go both ways
    made = Data(
        x=torch.tensor(rng.normal(size=(N, 8)), dtype=torch.float32),
        y=torch.tensor(rng.integers(0, CLASSES, N)),
        edge_index=torch.tensor(edge_index[:, kept]),
        edge_weight=torch.tensor(rng.random(len(kept))),
        name="made",
    )
    made.names = np.arange(N) * 10  # of NumPy, as PyG takes it too
    return made


@pytest.fixture(scope="module")
def undirected(data):
    return pyg.transforms.ToUndirected()(Data(x=data.x, y=data.y, edge_index=data.edge_index))


def contents(batch):
    """Return all that a batch holds, comparable."""
    return {
        name: value.numpy().tobytes() if isinstance(value, torch.Tensor) else value
        for name, value in batch
    }


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
        assert batch.names.tolist() == data.names[batch.n_id].tolist() and batch.name == "made"
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


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_same_batches_for_any_number_of_workers(gnn, data, undirected, workers):
    def drawn(num_workers):
        options = {"num_workers": num_workers, "prefetch_factor": 1 + num_workers % 2}
        one = loader(gnn, data, shuffle=True, **options)
        sampler = gnn.Sampler("frontier", m=5, n=60)
        other = gnn.lab.pyg.SubgraphLoader(undirected, sampler, 6, 3, seed=5, **options)
        return [contents(batch) for each in (one, one, other, other) for batch in each]

    want = drawn(0)
    assert drawn(workers) == want and len(want) == 22
    assert len({batch["n_id"] for batch in want}) == 22


def test_both_packages_draw_the_same(data):
    import fastimpl
    import refimpl

    one, other = (list(loader(gnn, data, shuffle=True)) for gnn in (refimpl, fastimpl))
    assert [contents(batch) for batch in one] == [contents(batch) for batch in other]


def test_the_seed_comes_from_torch_and_the_epoch_can_be_set(gnn, data):
    def epochs(**options):
        made = loader(gnn, data, shuffle=True, **options)
        made.epoch = 2
        return [contents(batch) for batch in made]

    torch.manual_seed(8)
    want = epochs(seed=None)
    torch.manual_seed(8)
    assert epochs(seed=None) == want != epochs(seed=None)
    assert epochs(seed=torch.Generator().manual_seed(8)) == want
    made = loader(gnn, data, shuffle=True, seed=torch.Generator().manual_seed(8))
    passed = [list(made) for _ in range(3)]
    assert [contents(batch) for batch in passed[2]] == want
    assert made.epoch == 3
    roots = [torch.cat([batch.input_id for batch in epoch]).tolist() for epoch in passed]
    assert roots[0] != roots[1] and all(sorted(each) == list(range(150)) for each in roots)


def test_roots_as_masks_and_lists(gnn, data):
    mask = torch.zeros(N, dtype=torch.bool)
    mask[ROOTS] = True
    want = list(loader(gnn, data))
    for nodes in (mask, mask.numpy(), mask.tolist()):
        got = list(loader(gnn, data, input_nodes=nodes))
        assert [b.n_id.tolist() for b in got] == [b.n_id.tolist() for b in want]
        assert torch.equal(got[1].input_id, ROOTS[32:64])  # as PyG has it for masks
    for nodes in (ROOTS.tolist(), ROOTS.numpy(), ROOTS.int()):
        got = list(loader(gnn, data, input_nodes=nodes))
        assert [contents(b) for b in got] == [contents(b) for b in want]
    assert (
        len(loader(gnn, data, drop_last=True)) == len(list(loader(gnn, data, drop_last=True))) == 4
    )
    assert len(loader(gnn, data, input_nodes=None, batch_size=N)) == 1


def test_what_the_data_calls_so_already_stays(gnn, data):
    again = next(iter(loader(gnn, data, [-1], input_nodes=None, batch_size=N)))
    kept = copy.copy(again)
    for name in ("input_id", "batch_size", "num_sampled_nodes", "num_sampled_edges"):
        del kept[name]
    batch = next(iter(loader(gnn, kept)))
    assert torch.equal(data.x[batch.n_id], batch.x)  # ids of the first data, as PyG keeps them
    assert torch.equal(data.edge_weight[batch.e_id], batch.edge_weight)


def test_a_loop_that_is_left_ends_its_threads(gnn, data):
    def threads():
        return [t for t in threading.enumerate() if t.name.startswith("minibatch-gnn-prefetch")]

    for batch in loader(gnn, data, num_workers=2, transform=lambda batch: batch.num_nodes):
        assert batch > 32 and threads()
        break
    gc.collect()
    for thread in threads():
        thread.join(30)
    assert not threads()

    def refuse(batch):
        raise RuntimeError("not this one")

    with pytest.raises(RuntimeError, match="not this one"):
        next(iter(loader(gnn, data, num_workers=2, transform=refuse)))


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


needs_backend = pytest.mark.skipif(
    not (pyg.typing.WITH_PYG_LIB or pyg.typing.WITH_TORCH_SPARSE),
    reason="PyG's NeighborLoader needs pyg-lib or torch-sparse",
)


@needs_backend
@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without:UserWarning")
def test_the_loss_with_all_neighbours_is_that_of_pygs_loader(gnn, data):
    names = copy.copy(data)
    del names.names
    theirs = pyg.loader.NeighborLoader(names, [-1, -1], input_nodes=ROOTS, batch_size=32)
    ours = loader(gnn, data, (-1, -1))
    got = trained(data, (of(ours) for _ in range(3)))
    np.testing.assert_allclose(got, trained(data, (of(theirs) for _ in range(3))), rtol=1e-5)
    for one, other in zip(ours, theirs, strict=True):
        assert set(one.n_id.tolist()) == set(other.n_id.tolist())
        assert set(one.e_id.tolist()) == set(other.e_id.tolist())
        assert {"batch", "seed_time", *one.keys()} >= set(other.keys())
        assert torch.equal(one.input_id, other.input_id) and one.batch_size == other.batch_size


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
        ({"num_neighbors": []}, ValueError, "num_neighbors must have a number for each hop"),
        ({"num_neighbors": 5}, TypeError, "num_neighbors must be a sequence of integers, got int"),
        ({"num_neighbors": "5"}, TypeError, "num_neighbors must be a sequence of int.* got '5'"),
        ({"num_neighbors": [2, True]}, TypeError, "num_neighbors must be a sequence of integers"),
        ({"num_neighbors": torch.ones(2)}, TypeError, "num_neighbors must be a sequence of int"),
        ({"num_neighbors": [-2]}, ValueError, "num_neighbors must be in"),
        ({"input_nodes": [1, 1]}, ValueError, "input_nodes must be distinct"),
        ({"input_nodes": [N]}, ValueError, "input_nodes must be in"),
        ({"input_nodes": torch.zeros(3, dtype=torch.bool)}, ValueError, "input_nodes must"),
        ({"batch_size": 0}, ValueError, "batch_size must be in"),
        ({"shuffle": 1}, TypeError, "shuffle must be True or False"),
        ({"drop_last": "no"}, TypeError, "drop_last must be True or False"),
        ({"adjs": 1}, TypeError, "adjs must be True or False"),
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
def test_what_does_not_fit_is_named(gnn, data, options, error, message):
    options = {"data": data, "num_neighbors": [2]} | options
    with pytest.raises(error, match=message):
        gnn.lab.pyg.NeighborLoader(**options)


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


def test_a_loader_is_shown_in_a_line(gnn, data):
    assert repr(loader(gnn, data)) == "NeighborLoader(5 batches an epoch, seed=5)"


def test_what_belongs_to_edges_or_nodes_is_cut_where_pyg_cuts_it(gnn):
    """Along the last dimension of what is called an index; lists and strings too."""
    edge_index = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 2]])
    pairs = torch.stack([torch.arange(5) + 10, torch.arange(5) + 20])
    data = Data(edge_index=edge_index, num_nodes=4, pair_index=pairs, x=torch.eye(4))
    data.words, data.names = list("abcd"), np.array(["a", "b", "c", "d"])
    (batch,) = gnn.lab.pyg.NeighborLoader(data, [-1], [0], seed=0)
    assert batch.e_id.tolist() == [1] and batch.n_id.tolist() == [0, 1]
    assert batch.pair_index.tolist() == [[11], [21]]
    assert batch.words == ["a", "b"] and batch.names.tolist() == ["a", "b"]


def test_numbers_of_neighbours_may_be_an_array_or_a_tensor(gnn, data):
    want = list(map(contents, loader(gnn, data, (4, 3))))
    for fanouts in (np.array([4, 3]), torch.tensor([4, 3])):
        assert list(map(contents, loader(gnn, data, fanouts))) == want


@pytest.mark.parametrize("epoch", [-1, 2**31, 1.0, "1", None])
def test_an_epoch_that_is_no_number_is_named_before_a_batch_is_made(gnn, data, epoch):
    made = loader(gnn, data)
    made.epoch = epoch
    with pytest.raises((TypeError, ValueError), match="epoch must be"):
        iter(made)
    assert made.epoch == epoch
    made.epoch = 2**31 - 1
    assert len(list(made)) == 5 and made.epoch == 2**31
