"""Batches by time and by weight, as PyG documents them, against plain Python."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pyg = pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
from torch_geometric.data import Data, HeteroData  # noqa: E402

CITES, WRITES, BACK = ("p", "cites", "p"), ("a", "writes", "p"), ("p", "rev_writes", "a")
RUNS = 1500


@pytest.fixture(scope="module")
def plain():
    """A directed graph with edges that repeat, loops, isolated nodes, and equal times."""
    made = torch.Generator().manual_seed(1)
    edge_index = torch.randint(30, (2, 200), generator=made)
    return Data(
        x=torch.arange(35.0)[:, None],
        edge_index=edge_index,
        time=torch.randint(12, (35,), generator=made),
        edge_time=torch.randint(12, (200,), generator=made),
        weight=torch.randint(4, (200,), generator=made).float(),
    )


@pytest.fixture(scope="module")
def typed():
    """Papers and authors with times; `when` is the time of edges, which one type lacks."""
    made, data = torch.Generator().manual_seed(2), HeteroData()
    data["p"].x, data["a"].x = torch.arange(40.0)[:, None], torch.arange(25.0)[:, None]
    data["p"].time = torch.randint(12, (40,), generator=made)
    data["a"].time = torch.randint(12, (25,), generator=made)
    ends = torch.stack([torch.randint(n, (150,), generator=made) for n in (25, 40)])
    data[WRITES].edge_index, data[BACK].edge_index = ends, ends.flip(0)
    data[CITES].edge_index = torch.randint(40, (2, 200), generator=made)
    for kind, count in ((WRITES, 150), (CITES, 200)):
        data[kind].when = torch.randint(12, (count,), generator=made)
    return data


def loader(gnn, data, fanouts, **options):
    return gnn.lab.pyg.NeighborLoader(data, fanouts, **{"seed": 1, "batch_size": 6} | options)


def edges_of(data, time_attr):
    """Return [(type, source type, target type, [(source, target, time or None), ..])]."""
    kinds = data.edge_types if isinstance(data, HeteroData) else [None]
    found = []
    for kind in kinds:
        store = data[kind] if kind else data
        node_store = data[kind[0]] if kind else data
        ends = store.edge_index.T.tolist()
        times = [None] * len(ends)
        if kind is None and time_attr == "edge_time" or kind and time_attr in store:
            times = store[time_attr].tolist()
        elif time_attr in node_store and time_attr != "edge_time":
            times = [node_store[time_attr][u].item() for u, _ in ends]
        found.append(
            (kind, kind and kind[0], kind and kind[-1],
             [(u, v, t) for (u, v), t in zip(ends, times, strict=True)])
        )  # fmt: skip
    return found


def tree_of(data, time_attr, root, until, hops, kind=None):
    """Return ({(type, node)}, {(edge type, edge)}): all that a root reaches up to its time."""
    newest, nodes, edges = {(kind, root)}, {(kind, root)}, set()
    for _ in range(hops):
        reached = set()
        for which, source, target, own in edges_of(data, time_attr):
            for number, (u, v, t) in enumerate(own):
                if (target, v) in newest and (t is None or t <= until):
                    edges.add((which, number))
                    reached.add((source, u))
        newest = reached - nodes
        nodes |= newest
    return nodes, edges


def trees(batch, once=True):
    """Return {tree: ({(type, node)}, {(edge type, edge)})} of a batch, and check its edges.

    The two ends of a link have trees of their own, which bear one number: not each node is there
    `once`.
    """
    typed = isinstance(batch, HeteroData)
    found: dict = {}
    for kind in batch.node_types if typed else [None]:
        own = batch[kind] if kind else batch
        for node, tree in zip(own.n_id.tolist(), own.batch.tolist(), strict=True):
            nodes, _ = found.setdefault(tree, (set(), set()))
            assert not once or (kind, node) not in nodes, "a tree has a node twice"
            nodes.add((kind, node))
    for kind in batch.edge_types if typed else [None]:
        own = batch[kind] if kind else batch
        source, target = (batch[kind[0]], batch[kind[-1]]) if kind else (batch, batch)
        rows, columns = own.edge_index
        assert torch.equal(source.batch[rows], target.batch[columns])
        for edge, tree in zip(own.e_id.tolist(), target.batch[columns].tolist(), strict=True):
            found[tree][1].add((kind, edge))
    return found


@pytest.mark.parametrize("strategy", ["uniform", "last"])
@pytest.mark.parametrize("given", [False, True], ids=["times of roots", "input_time"])
def test_all_neighbours_up_to_a_time(gnn, plain, typed, strategy, given):
    """Node times, in plain and typed graphs: exactly the trees of plain Python."""
    for data, kind in ((plain, None), (typed, "p")):
        store = data[kind] if kind else data
        roots = torch.arange(store.num_nodes)
        times = torch.arange(store.num_nodes) % 13 if given else store.time
        options = {"input_nodes": (kind, roots) if kind else roots, "temporal_strategy": strategy}
        if given:
            options["input_time"] = times
        for batch in loader(gnn, data, [-1, -1], time_attr="time", **options):
            own = batch[kind] if kind else batch
            for tree, got in trees(batch).items():
                root = own.n_id[tree].item()
                assert got == tree_of(data, "time", root, times[root].item(), 2, kind)
            if given:
                assert torch.equal(own.input_time if "input_time" in own else own.seed_time,
                                   times[own.input_id])  # fmt: skip


def test_times_of_edges(gnn, plain, typed):
    """A type of edges without times is drawn from whole."""
    for data, kind, attr in ((plain, None, "edge_time"), (typed, "p", "when")):
        roots = torch.arange(20)
        options = {"input_nodes": (kind, roots) if kind else roots, "input_time": roots % 7 + 2}
        for batch in loader(gnn, data, [-1, -1], time_attr=attr, **options):
            own = batch[kind] if kind else batch
            for tree, got in trees(batch).items():
                root = own.n_id[tree].item()
                assert got == tree_of(data, attr, root, root % 7 + 2, 2, kind)


@pytest.mark.parametrize("replace", [False, True])
def test_the_last_are_the_latest_edges(gnn, plain, replace):
    roots = torch.arange(30)
    options = {"input_nodes": roots, "input_time": roots % 10, "replace": replace}
    made = loader(gnn, plain, [3], time_attr="edge_time", temporal_strategy="last", **options)
    for batch in made:
        for tree, (_, edges) in trees(batch).items():
            root = batch.n_id[tree].item()
            times = plain.edge_time[plain.edge_index[1] == root]
            want = sorted(times[times <= root % 10].tolist())[-3:]
            got = sorted(plain.edge_time[e].item() for _, e in edges)
            assert set(got) <= set(want) if replace else got == want


def test_fanouts_bound_what_a_time_leaves(gnn, typed):
    """min(fan-out, admissible) distinct edges of each type for each node that draws."""
    fanouts = {CITES: [2, 1], WRITES: [1, 3], BACK: [2, 2]}
    options = {"input_nodes": ("p", torch.arange(40)), "time_attr": "time", "batch_size": 40}
    (batch,) = loader(gnn, typed, fanouts, **options)
    roots = typed["p"].time
    for kind, source, target, ends in edges_of(typed, "time"):
        own, drawing = batch[kind], batch[target]
        hops = torch.arange(3).repeat_interleave(torch.tensor(drawing.num_sampled_nodes))
        drew = Counter(own.edge_index[1].tolist())
        pairs = list(zip(own.edge_index[1].tolist(), own.e_id.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        for local, (node, tree, hop) in enumerate(
            zip(drawing.n_id.tolist(), drawing.batch.tolist(), hops.tolist(), strict=True)
        ):
            admissible = sum(v == node and t <= roots[tree] for _, v, t in ends)
            assert drew[local] == (min(fanouts[kind][hop], admissible) if hop < 2 else 0), source


def test_the_law_of_a_time_is_uniform(gnn):
    """Chi-square over the pairs of edges up to a time, in 1,500 epochs."""
    leaves = torch.arange(1, 8)
    star = Data(edge_index=torch.stack([leaves, torch.zeros(7).long()]), num_nodes=8)
    star.time = torch.tensor([0, 3, 1, 9, 2, 8, 3, 0])
    options = {"input_nodes": torch.tensor([0]), "input_time": torch.tensor([3])}
    one = loader(gnn, star, [2], time_attr="time", **options)
    pairs = Counter(tuple(sorted(b.e_id.tolist())) for _ in range(RUNS) for b in one)
    assert set(pairs) == {(i, j) for i in (0, 1, 3, 5, 6) for j in (0, 1, 3, 5, 6) if i < j}
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-4


@pytest.mark.parametrize("kind", [None, "v"])
@pytest.mark.parametrize("replace", [False, True])
def test_the_law_of_weights(gnn, kind, replace):
    """Chi-square against all orders of two draws."""
    weights = [1.0, 0.0, 4.0, 2.0, 3.0]
    edge_index = torch.stack([torch.arange(1, 6), torch.zeros(5).long()])
    if kind:
        star = HeteroData()
        star["v"].num_nodes = 6
        star["v", "to", "v"].edge_index = edge_index
        star["v", "to", "v"].w = torch.tensor(weights)
    else:
        star = Data(edge_index=edge_index, num_nodes=6, w=torch.tensor(weights))
    nodes = torch.tensor([0])
    options = {"input_nodes": (kind, nodes) if kind else nodes, "replace": replace}
    one = loader(gnn, star, [2], weight_attr="w", **options)
    law: Counter = Counter()
    for i, j in [(i, i) for i in range(5)] * replace + list(permutations(range(5), 2)):
        left = 10 if replace else 10 - weights[i]
        law[min(i, j), max(i, j)] += (
            Fraction(weights[i]) / 10 * Fraction(weights[j]) / Fraction(left)
        )
    law = {pair: p for pair, p in law.items() if p}
    assert sum(law.values()) == 1
    batches = (batch["v", "to", "v"] if kind else batch for _ in range(RUNS) for batch in one)
    seen = Counter(tuple(sorted(batch.e_id.tolist())) for batch in batches)
    assert set(seen) <= set(law)
    got, want = zip(*((seen[pair], float(RUNS * p)) for pair, p in law.items()), strict=True)
    assert stats.chisquare(got, want).pvalue > 1e-4


def test_the_documented_example_of_weights(gnn):
    """Of two edges a node draws the one that has a weight, hop after hop."""
    chain = Data(
        num_nodes=5,
        edge_index=torch.tensor([[1, 3, 0, 4], [2, 2, 1, 3]]),
        edge_weight=torch.tensor([0.0, 1.0, 0.0, 1.0]),
    )
    options = {"input_nodes": torch.tensor([2]), "weight_attr": "edge_weight"}
    (batch,) = loader(gnn, chain, [1, 1], **options)
    assert batch.n_id.tolist() == [2, 3, 4]
    assert batch.n_id[batch.edge_index].tolist() == [[3, 4], [2, 3]]


def test_edges_of_weight_zero(gnn, plain):
    """They are drawn only where all are asked for."""
    options = {"input_nodes": torch.arange(30), "batch_size": 30, "weight_attr": "weight"}
    (every,) = loader(gnn, plain, [-1], **options)
    assert sorted(every.e_id.tolist()) == list(range(200))
    (some,) = loader(gnn, plain, [99], **options)
    assert sorted(some.e_id.tolist()) == torch.nonzero(plain.weight)[:, 0].tolist()


def test_weights_up_to_a_time(gnn, plain):
    """Only edges up to the time that have a weight, as many as the fan-out where there are."""
    roots = torch.arange(30)
    options = {"input_nodes": roots, "input_time": roots % 9, "weight_attr": "weight"}
    for batch in loader(gnn, plain, [2], time_attr="edge_time", **options):
        for tree, (_, edges) in trees(batch).items():
            root = batch.n_id[tree].item()
            may = (plain.edge_index[1] == root) & (plain.edge_time <= root % 9) & (plain.weight > 0)
            assert {e for _, e in edges} <= set(torch.nonzero(may)[:, 0].tolist())
            assert len(edges) == min(2, int(may.sum()))


@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
def test_links_up_to_a_time(gnn, plain, typed, mode):
    """Both ends of an edge see its time; so do negatives, which are no later than it."""
    cases = [(plain, None, "edge_time"), (plain, None, "time")]
    for data, kind, attr in [*cases, (typed, CITES, "time"), (typed, WRITES, "time")]:
        index = (data[kind] if kind else data).edge_index
        times = torch.arange(index.shape[1]) % 12 + 3
        made = gnn.lab.pyg.LinkNeighborLoader(
            data, [-1, -1], edge_label_index=(kind, index) if kind else index,
            edge_label_time=times, time_attr=attr, neg_sampling=mode, batch_size=25, seed=3,
        )  # fmt: skip
        for batch in made:
            own = batch[kind] if kind else batch
            until = times[own.input_id]
            assert own.input_id.tolist() == sorted(own.input_id.tolist())
            for tree, (_, edges) in trees(batch, once=False).items():
                for which, _, _, ends in edges_of(data, attr):
                    found = [ends[e][2] for k, e in edges if k == which]
                    assert all(t is None or t <= until[tree] for t in found)
            count = max(int(b.max()) + 1 for b in (
                [batch[k].batch for k in batch.node_types] if kind else [batch.batch]))  # fmt: skip
            assert count == len(until)


def test_links_with_last(gnn, plain):
    made = gnn.lab.pyg.LinkNeighborLoader(
        plain, [2], edge_label_index=plain.edge_index, edge_label_time=plain.edge_time,
        time_attr="edge_time", temporal_strategy="last", batch_size=200, seed=3,
    )  # fmt: skip
    (batch,) = made
    for end in (0, 1):
        for link in range(200):
            local = batch.edge_label_index[end, link].item()
            node = batch.n_id[local].item()
            times = plain.edge_time[plain.edge_index[1] == node]
            want = sorted(times[times <= plain.edge_time[link]].tolist())[-2:]
            drew = batch.edge_index[1] == local
            assert sorted(batch.edge_time[drew].tolist()) == want


def test_batches_are_the_same_for_any_number_of_workers(typed):
    import fastimpl

    typed = typed.clone()
    for kind in typed.edge_types:
        count = typed[kind].num_edges
        typed[kind].w = torch.arange(count) % 5 + 0.5
    options = {
        "input_nodes": ("p", None), "time_attr": "time", "weight_attr": "w", "batch_size": 10,
    }  # fmt: skip
    made = [loader(fastimpl, typed, [2, 2], num_workers=w, **options) for w in (0, 2)]
    for got, want in zip(*made, strict=True):
        for kind in typed.edge_types:
            assert torch.equal(got[kind].edge_index, want[kind].edge_index)
            assert torch.equal(got[kind].e_id, want[kind].e_id)


def test_both_packages_draw_the_same(plain, typed):
    import fastimpl
    import refimpl

    for data, kind in ((plain, None), (typed, "p")):
        options = {"input_nodes": kind and (kind, None), "time_attr": "time"}
        if kind is None:
            options["weight_attr"] = "weight"
        for one, other in zip(
            loader(refimpl, data, [3, 2], **options), loader(fastimpl, data, [3, 2], **options),
            strict=True,
        ):  # fmt: skip
            assert str(one.to_dict()) == str(other.to_dict())


def test_stores_that_are_sorted_by_time(gnn):
    from torch_geometric.data.graph_store import EdgeAttr, EdgeLayout
    from torch_geometric.testing import MyFeatureStore, MyGraphStore

    made = torch.Generator().manual_seed(5)
    data = HeteroData()
    data["v"].x, data["v"].time = torch.rand(50, 2), torch.arange(50, 0, -1)
    sources, targets = torch.randint(50, (2, 400), generator=made)
    order = (targets * 51 + data["v"].time[sources]).argsort(stable=True)
    data["v", "to", "v"].edge_index = torch.stack([sources, targets])[:, order]

    def batches(sorted_edges):
        features, graph = MyFeatureStore(), MyGraphStore()
        for name in ("x", "time"):
            features.put_tensor(data["v"][name], group_name="v", attr_name=name, index=None)
        where = EdgeAttr(("v", "to", "v"), EdgeLayout.COO, is_sorted=True, size=(50, 50))
        graph.put_edge_index(tuple(sorted_edges), where)
        own = {"input_nodes": ("v", torch.arange(50)), "time_attr": "time", "batch_size": 25}
        return list(loader(gnn, (features, graph), [-1, 2], **own))

    own = {"input_nodes": ("v", torch.arange(50)), "time_attr": "time", "batch_size": 25}
    for got, want in zip(
        batches(data["v", "to", "v"].edge_index), loader(gnn, data, [-1, 2], **own), strict=True
    ):
        assert torch.equal(got["v"].n_id, want["v"].n_id)
        assert torch.equal(got["v", "to", "v"].edge_index, want["v", "to", "v"].edge_index)
    unsorted = torch.stack([sources, targets])[:, targets.argsort(stable=True)]
    with pytest.raises(ValueError, match=r"'time' of the edges of .*: times must ascend"):
        batches(unsorted)


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({"weight": torch.full((200,), -1.0)}, {"weight_attr": "weight"}, ValueError,
         "'weight' of the edges: weights must be finite and not negative"),
        ({"weight": torch.full((200,), np.nan)}, {"weight_attr": "weight"}, ValueError,
         "'weight' of the edges: weights must be finite and not negative"),
        ({"weight": torch.ones(199)}, {"weight_attr": "weight"}, (ValueError, IndexError),
         "weights must have shape|out of bounds"),
        ({"weight": [1.0] * 200}, {"weight_attr": "weight"}, TypeError, "weight_attr='weight'"),
        ({}, {"weight_attr": "other"}, ValueError, "weight_attr='other' is no attribute"),
        ({"time": torch.rand(35)}, {"time_attr": "time"}, TypeError,
         "time_attr must hold integers"),
        (
            {},
            {"weight_attr": "other", "time_attr": "time"},
            ValueError,
            "weight_attr='other' is no attribute",
        ),
        ({}, {"time_attr": "other"}, ValueError, "time_attr='other' is no attribute"),
        ({}, {"time_attr": "time", "temporal_strategy": "first"}, ValueError,
         "temporal_strategy must be one of 'uniform', 'last'"),
        ({}, {"time_attr": "time", "subgraph_type": "induced"}, ValueError,
         "time_attr does not go with"),
        ({}, {"input_time": torch.arange(35)}, ValueError, "'input_time' is set"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(gnn, plain, change, options, error, message):
    data = plain.clone()
    for name, value in change.items():
        data[name] = value
    with pytest.raises(error, match=message):
        loader(gnn, data, [2], **options)


def test_times_that_are_missing_are_named(gnn, plain, typed):
    with pytest.raises(ValueError, match="input_time must be given for roots: only edges"):
        next(iter(loader(gnn, plain, [2], time_attr="edge_time")))
    less = typed.clone()
    del less["p"].time
    with pytest.raises(ValueError, match="input_time must be given for roots of the type 'p'"):
        next(iter(loader(gnn, less, [2], time_attr="time", input_nodes=("p", None))))
    sampler = gnn.lab.pyg.NeighborSampler(plain, [2])
    made = gnn.lab.pyg.NodeLoader(plain, sampler, torch.arange(3), input_time=torch.arange(3))
    with pytest.raises(ValueError, match="input_time needs time_attr"):
        next(iter(made))


def test_pygs_flag_is_as_before(gnn, plain):
    before = pyg.typing.WITH_EDGE_TIME_NEIGHBOR_SAMPLE
    gnn.lab.pyg.NeighborSampler(plain, [2], time_attr="edge_time")
    with pytest.raises(ValueError, match="time_attr='other' is no attribute"):
        gnn.lab.pyg.NeighborSampler(plain, [2], time_attr="other")
    assert before is pyg.typing.WITH_EDGE_TIME_NEIGHBOR_SAMPLE


def test_edges_that_are_sorted_already(gnn, plain):
    order = (plain.edge_index[1] * 100 + plain.edge_time).argsort(stable=True)
    ends = {"edge_index": plain.edge_index[:, order], "edge_time": plain.edge_time[order]}
    data = Data(num_nodes=35, weight=plain.weight[order], **ends)
    options = {
        "input_time": torch.arange(35) % 9,
        "time_attr": "edge_time",
        "weight_attr": "weight",
    }
    made = [loader(gnn, data, [3, 2], is_sorted=known, **options) for known in (True, False)]
    for got, want in zip(*made, strict=True):
        assert got.n_id.tolist() == want.n_id.tolist()
        assert torch.equal(got.edge_time, want.edge_time)
    data.edge_time = data.edge_time.flip(0)
    with pytest.raises(ValueError, match="'edge_time' of the edges: times must ascend"):
        loader(gnn, data, [3], is_sorted=True, **options)


def test_weights_of_edges_that_are_followed_backward(gnn, typed):
    if "sample_direction" not in pyg.sampler.NeighborSampler.__init__.__code__.co_varnames:
        pytest.skip("this version of PyG has no sample_direction")
    typed = typed.clone()
    for kind in typed.edge_types:
        typed[kind].w = (torch.arange(typed[kind].num_edges) % 3).float()
    options = {"sample_direction": "backward", "weight_attr": "w"}
    sampler = gnn.lab.pyg.NeighborSampler(typed, [99], **options)
    (batch,) = gnn.lab.pyg.NodeLoader(typed, sampler, ("p", torch.arange(40)), batch_size=40)
    for kind in (CITES, BACK):
        want = torch.nonzero(typed[kind].w)[:, 0].tolist()
        assert sorted(batch[kind].e_id.tolist()) == want
