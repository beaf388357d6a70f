"""HGT's budget sampling against plain Python that follows the paper's Algorithms 1 and 2."""

from collections import Counter
from itertools import permutations

import pytest
from scipy import stats

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.sampler import NodeSamplerInput  # noqa: E402

TO, BACK, LIKES = ("a", "to", "b"), ("b", "rev_to", "a"), ("a", "likes", "a")


@pytest.fixture(scope="module")
def typed():
    """Two types of nodes that have edges, some of them twice, and one that has none."""
    made, data = torch.Generator().manual_seed(2), HeteroData()
    data["a"].x, data["b"].x = torch.arange(30.0)[:, None], torch.arange(50.0)[:, None]
    data["alone"].num_nodes = 3
    ends = [torch.randint(n, (90,), generator=made) for n in (30, 50)]
    data[TO].edge_index, data[BACK].edge_index = torch.stack(ends), torch.stack(ends[::-1])
    data[LIKES].edge_index = torch.randint(30, (2, 25), generator=made)
    for number, kind in enumerate(data.edge_types):
        data[kind].number = torch.arange(data[kind].num_edges) + 1000 * number
    return data


def few():
    """Return a graph that is small enough to list all that may be drawn."""
    data = HeteroData()
    data["a"].num_nodes, data["b"].num_nodes = 6, 3
    data[TO].edge_index = torch.tensor([[2, 3, 4, 5, 3], [0, 0, 1, 1, 2]])
    data[BACK].edge_index = torch.tensor([[0, 1, 2, 0, 1], [0, 0, 0, 1, 2]])
    data[LIKES].edge_index = torch.tensor([[2, 3, 3, 4, 5, 4, 5], [0, 0, 1, 2, 2, 3, 3]])
    return data


def loader(gnn, data, num_samples, kind="b", **options):
    given = {"input_nodes": kind, "batch_size": 7, "seed": 1} | options
    return gnn.lab.pyg.HGTLoader(data, num_samples, **given)


def assert_has_all_edges(batch, data):
    """A batch has exactly the edges of the data between its nodes, and their rows."""
    for kind in data.edge_types:
        source, target = batch[kind[0]].n_id, batch[kind[-1]].n_id
        rows, columns = data[kind].edge_index
        want = torch.isin(rows, source) & torch.isin(columns, target)
        got = batch[kind]
        assert sorted(got.number.tolist()) == data[kind].number[want].tolist()
        ends = torch.stack([source[got.edge_index[0]], target[got.edge_index[1]]])
        assert torch.equal(ends, data[kind].edge_index[:, got.e_id])
    for kind in ("a", "b"):
        assert batch[kind].x[:, 0].tolist() == batch[kind].n_id.tolist()


def reached(data, roots, kind, hops):
    """Return {(type, node)} of what leads to the roots in so many hops."""
    met = {(kind, v) for v in roots}
    for _ in range(hops):
        met |= {
            (k[0], u)
            for k in data.edge_types
            for u, v in data[k].edge_index.T.tolist()
            if (k[-1], v) in met
        }
    return met


@pytest.mark.parametrize("kind", ["a", "b", "alone"])
@pytest.mark.parametrize("hops", [0, 1, 3])
def test_with_all_nodes_a_batch_has_the_whole_neighbourhood(gnn, typed, kind, hops):
    for batch in loader(gnn, typed, [99] * hops, kind):
        roots = batch[kind].n_id[: batch[kind].batch_size]
        assert torch.equal(roots, batch[kind].input_id)
        got = [(k, v) for k in typed.node_types for v in batch[k].n_id.tolist()]
        assert len(got) == len(set(got)) and set(got) == reached(typed, roots.tolist(), kind, hops)
        assert_has_all_edges(batch, typed)


def test_each_type_gets_its_number_of_nodes_in_each_hop(gnn, typed):
    samples = {"a": [2, 0, 4], "b": [1, 3, 0], "alone": [5, 5, 5]}
    for batch in loader(gnn, typed, samples, num_workers=0):
        assert (batch["a"].num_nodes, batch["alone"].num_nodes) == (6, 0)
        assert batch["b"].num_nodes == batch["b"].batch_size + 3  # no "a" at first
        assert_has_all_edges(batch, typed)


def chances(weights, many):
    """Return {ordered nodes: probability} of drawing by weight without replacement."""
    found = {}
    for nodes in permutations(weights, min(many, len(weights))):
        left, chance = sum(weights.values()), 1.0
        for v in nodes:
            chance, left = chance * weights[v] / left, left - weights[v]
        found[nodes] = chance
    return found


def law(data, samples, sampled, budget, newest, hop=0):
    """Return {what is sampled, in order: probability}, by Algorithms 1 and 2 of the paper."""
    if hop == len(samples["a"]):
        return {tuple(sampled.items()): 1.0}
    budget = {kind: dict(own) for kind, own in budget.items()}
    for kind in data.edge_types:
        source, target = kind[0], kind[-1]
        for t in newest[target]:
            of_t = [u for u, v in data[kind].edge_index.T.tolist() if v == t]
            for s in of_t:
                if s not in sampled[source]:
                    budget[source][s] = budget[source].get(s, 0) + 1 / len(of_t)
    found = Counter()
    squares = {k: {s: b**2 for s, b in own.items()} for k, own in budget.items()}
    for of_a, chance_a in chances(squares["a"], samples["a"][hop]).items():
        for of_b, chance_b in chances(squares["b"], samples["b"][hop]).items():
            new = {"a": of_a, "b": of_b}
            left = {k: {s: b for s, b in budget[k].items() if s not in new[k]} for k in "ab"}
            both = {k: sampled[k] + new[k] for k in "ab"}
            for what, chance in law(data, samples, both, left, new, hop + 1).items():
                found[what] += chance * chance_a * chance_b
    return dict(found)


@pytest.mark.parametrize("samples", [{"a": [1, 2], "b": [1, 1]}, {"a": [2, 1], "b": [0, 1]}])
def test_the_law_is_that_of_the_paper(gnn, samples):
    """Chi-square over all outcomes, with their order, in 1,500 epochs."""
    data, roots = few(), {"a": (0, 1), "b": ()}
    want = law(data, samples, roots, {"a": {}, "b": {}}, roots)
    assert abs(sum(want.values()) - 1) < 1e-12 and len(want) > 9
    sampler = gnn.lab.pyg.HGTSampler(data, samples, seed=5)
    inputs, drawn = NodeSamplerInput(None, torch.tensor([0, 1]), input_type="a"), Counter()
    for _ in range(1500):
        sampler.begin_epoch()
        node = sampler.sample_from_nodes(inputs).node
        drawn[tuple((kind, tuple(node[kind].tolist())) for kind in "ab")] += 1
    assert drawn.keys() <= want.keys()
    rare = [what for what, chance in want.items() if chance < 5 / 1500]
    often = [what for what in want if what not in rare]
    expected = [1500 * want[what] for what in often] + [1500 - 1500 * sum(want[w] for w in often)]
    observed = [drawn[what] for what in often] + [sum(drawn[what] for what in rare)]
    if not rare:
        expected, observed = expected[:-1], observed[:-1]
    assert stats.chisquare(observed, expected, sum_check=False).pvalue > 1e-4


def test_roots_that_repeat_are_met_once(gnn, typed):
    twice, once = (torch.tensor(nodes) for nodes in ([4, 9, 4], [4, 9]))
    (got,) = loader(gnn, typed, [99], input_nodes=("b", twice))
    (want,) = loader(gnn, typed, [99], input_nodes=("b", once))
    assert sorted(got["a"].n_id.tolist()) == sorted(want["a"].n_id.tolist())
    assert got["b"].n_id[:3].tolist() == [4, 9, 4]
    assert 2 not in got[BACK].edge_index[0]
    (one,) = loader(gnn, typed, [1], input_nodes=("b", twice[:1]))
    assert one["a"].num_nodes == 1


def test_roots_that_repeat_add_to_budgets_once(gnn):
    """Otherwise source 1 of the two roots would have 4 times the chance of source 0."""
    data = HeteroData()
    data["a"].num_nodes, data["b"].num_nodes = 2, 2
    data[TO].edge_index = torch.tensor([[0, 1], [0, 1]])
    sampler = gnn.lab.pyg.HGTSampler(data, [1], seed=5)
    inputs = NodeSamplerInput(None, torch.tensor([0, 1, 1]), input_type="b")
    drawn = Counter()
    for _ in range(400):
        sampler.begin_epoch()
        out = sampler.sample_from_nodes(inputs)
        assert out.node["b"].tolist() == [0, 1, 1]
        drawn[out.node["a"].item()] += 1
    assert stats.chisquare([drawn[0], drawn[1]]).pvalue > 1e-4


def test_the_same_batches_for_any_number_of_workers_and_another_in_each_epoch(typed):
    import fastimpl

    def drawn(workers):
        made = loader(fastimpl, typed, [3, 2], num_workers=workers)
        found = [[batch[k].n_id.tolist() for k in "ab"] for _ in range(2) for batch in made]
        assert made.epoch == 2
        return found

    want = drawn(0)
    assert drawn(2) == want and want[:8] != want[8:]


def test_both_packages_draw_the_same(typed):
    import fastimpl
    import refimpl

    for one, other in zip(*(loader(g, typed, [3, 2]) for g in (refimpl, fastimpl)), strict=True):
        for kind in "ab":
            assert torch.equal(one[kind].n_id, other[kind].n_id)


def test_the_seed_comes_from_torch_and_edges_may_be_sorted_already(gnn, typed):
    def drawn(data=typed, seed=None, **options):
        return [batch["a"].n_id.tolist() for batch in loader(gnn, data, [2], seed=seed, **options)]

    torch.manual_seed(8)
    want = drawn()
    torch.manual_seed(8)
    assert drawn() == want != drawn()
    in_order = typed.clone()
    for kind in typed.edge_types:
        columns = typed[kind].edge_index[1].argsort(stable=True)
        in_order[kind].edge_index = typed[kind].edge_index[:, columns]
    assert drawn(in_order, 3, is_sorted=True) == drawn(typed, 3)


def test_transforms_are_pygs(gnn, typed):
    options = {"transform": lambda batch: batch["b"].num_nodes, "filter_per_worker": True}
    assert list(loader(gnn, typed, [0], **options)) == [7] * 7 + [1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_samples": [-1]}, ValueError, "num_samples must be in"),
        ({"num_samples": 3}, TypeError, "num_samples must be"),
        ({"num_samples": {"a": [1], "b": [2]}}, ValueError, "num_samples must have the node types"),
        (
            {"num_samples": {"a": [1], "b": [2, 3], "alone": [1]}},
            ValueError,
            "num_samples must have as many numbers for each node type",
        ),
        ({"data": Data(edge_index=torch.ones(2, 1).long())}, NotImplementedError, "type"),
        ({"seed": 0.5}, TypeError, "rng must be an integer"),
    ],
)
def test_what_does_not_fit_is_named(gnn, typed, options, error, message):
    with pytest.raises(error, match=message):
        loader(gnn, **{"data": typed, "num_samples": [2]} | options)


def test_an_edge_or_root_out_of_range_is_named(gnn):
    data = few()
    data[TO].edge_index[1, 0] = 3
    with pytest.raises(ValueError, match=r"the targets in edge_index must be in \[0, 3\)"):
        loader(gnn, data, [2])
    with pytest.raises(ValueError, match=r"input_nodes must be in \[0, 3\)"):
        next(iter(loader(gnn, few(), [2], input_nodes=("b", torch.tensor([3])))))
