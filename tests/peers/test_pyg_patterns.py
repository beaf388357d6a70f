"""PyG's example programs with this package's loaders, beside samplers in plain Python."""

from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from bench import patterns  # noqa: E402
from bench.__main__ import main  # noqa: E402
from bench.pyg_patterns import PATTERNS  # noqa: E402
from bench.pyg_plain import PlainSampler, node_loader  # noqa: E402
from bench.relational import HORIZON, customers_graph, shop  # noqa: E402

SEEDS, NODES, EPOCHS = 5, 200, 3
CHANCE = {"graphsage": 0.2, "gat": 0.2, "hetero": 0.3, "saint": 0.2, "clusters": 0.2}


@pytest.mark.parametrize("name", PATTERNS)
def test_scores_are_those_of_plain_python(gnn, name):
    ours, others = (
        np.array([patterns.score_of(PATTERNS[name], way, s, NODES, EPOCHS) for s in range(SEEDS)])
        for way in (gnn.lab.pyg, patterns.plain())
    )
    noise = 3.5 * np.sqrt((ours.var(ddof=1) + others.var(ddof=1)) / SEEDS) + 0.01
    assert ours.mean() > others.mean() - noise
    assert ours.mean() < others.mean() + noise or name == "clusters"  # ours cut fewer edges
    assert ours.mean() > CHANCE.get(name, 0.5)


def test_with_all_neighbors_the_batches_of_a_database_are_equal(gnn):
    data = customers_graph(shop(60)[0])
    about = {"input_nodes": ("customers", torch.arange(60)), "time_attr": "time", "batch_size": 20}
    about["input_time"] = torch.arange(60) % 40
    pairs = zip(
        gnn.lab.pyg.NeighborLoader(data, [-1, -1], seed=0, **about),
        node_loader(data, [-1, -1], **about),
        strict=True,
    )
    for ours, plain in pairs:
        for kind in data.node_types:
            assert trees(ours[kind]) == trees(plain[kind])
        for kind in data.edge_types:
            assert edges(ours, kind) == edges(plain, kind)


def trees(store):
    """Return (tree, node) of each node of a type."""
    return sorted(zip(store.batch.tolist(), store.n_id.tolist(), strict=True))


def edges(batch, kind):
    """Return (tree, edge) of each edge of a type."""
    of_tree = batch[kind[0]].batch[batch[kind].edge_index[0]]
    return sorted(zip(of_tree.tolist(), batch[kind].e_id.tolist(), strict=True))


def test_a_database_tells_a_leak(gnn):
    """A loader that shows the orders of the weeks to come has a much higher score."""

    def leaking(*arguments, time_attr, input_time, **options):
        return gnn.lab.pyg.NeighborLoader(*arguments, **options)

    fair, leaked = (
        np.mean([patterns.score_of(PATTERNS["relational"], way, s, 400, 8) for s in range(3)])
        for way in (gnn.lab.pyg, SimpleNamespace(NeighborLoader=leaking))
    )
    assert leaked > fair + 0.03


def test_labels_of_a_task_are_of_the_weeks_after_it():
    database, tasks = shop(100)
    orders, products = database["orders"].df, database["products"].df
    assert len(products) == 20 and orders.week.is_monotonic_increasing
    for task in tasks.values():
        for customer, now in zip(task.customer, task.time, strict=True):
            ahead = orders[(orders.customer == customer) & (orders.week > now)]
            assert (ahead.week <= now + HORIZON).any()


def test_the_plain_sampler_draws_no_neighbor_twice():
    data = customers_graph(shop(60)[0])
    sampler = PlainSampler(data, [3, 3], seed=0)
    out = sampler._sample({"products": torch.arange(20)})
    for kind in data.edge_types:
        found = torch.stack([out.row[kind], out.col[kind]])
        source, target = (out.node[end][ids] for end, ids in zip(kind[::2], found, strict=True))
        whole = data[kind].edge_index[:, out.edge[kind]]
        assert torch.equal(torch.stack([source, target]), whole)
        assert out.edge[kind].unique().numel() == out.edge[kind].numel()
        assert found[1].bincount(minlength=1).max() <= 3


def test_the_command_prints_a_row_for_each_pattern(capsys):
    assert main(["patterns", "--quick", "--seeds", "2"]) == 0
    printed = capsys.readouterr().out
    assert all(f"| {name} | " in printed for name in PATTERNS)


def test_an_unknown_pattern_is_refused(capsys):
    assert main(["patterns", "--only", "gcn"]) == 2
    assert "--only must be of graphsage, gat" in capsys.readouterr().err
