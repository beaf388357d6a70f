"""Neighbour sampling by keys of nodes, written out, its law, and an epoch's batches."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import (
    KEYS,
    directed_graphs,
    draws_of_a_law,
    even_graph,
    graph_from_edges,
    graphs,
    power_law_graph,
)

NODES, NEIGHBOR, SHARED = 9, 10, 11  # the domains
DRAWS = draws_of_a_law(3000, 20000)
LEVEL = 0.01 / 4
HUBS, EVEN = power_law_graph(400), even_graph(2000, 40)
STAR = graph_from_edges(14, {(0, v) for v in range(1, 13)})  # twelve leaves; 13 is isolated
FANOUTS = st.lists(st.sampled_from([-1, 0, 1, 1, 2, 2, 3, 5, 100]), max_size=3)
MODES = pytest.mark.parametrize("mode", ["layered", "shared"])
K = 0xE9FBA137853DAE22  # key(7, 1, 2, 3)


def written_out(graph, roots, fanouts, name, mode):
    """Return (nodes, rows) of the MFG, inputs first: rows[l][i] are positions that i draws."""
    nodes, hops, drawn = [list(roots)], [], {}
    for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
        if mode == "layered":
            drawn = {}
        for v in nodes[-1]:
            row = list(range(graph.indptr[v], graph.indptr[v + 1]))
            if fanout != -1 and len(row) > fanout:
                place = (NEIGHBOR, *name[1:], layer) if mode == "layered" else (SHARED, *name[1:])
                key = oracles.stream_key(name[0], *place, v)
                row = [row[i] for i in oracles.floyd(key, len(row), fanout)]
            drawn.setdefault(v, row)
        hops.append([drawn[v] for v in nodes[-1]])
        met = {int(graph.indices[j]) for row in hops[-1] for j in row}
        nodes.append(nodes[-1] + sorted(met - set(nodes[-1])))
    return nodes[::-1], hops[::-1]


@st.composite
def graph_and_roots(draw):
    graph = draw(graphs(max_nodes=12) | directed_graphs())
    roots = draw(st.permutations(range(graph.n)))[: draw(st.integers(0, graph.n))]
    return graph, np.array(roots, draw(st.sampled_from([np.int32, np.int64])))


NAMES = st.tuples(KEYS, KEYS, KEYS)


def sample(gnn, graph, roots, fanouts, name, mode="layered"):
    seed, epoch, batch = name
    return gnn.sample_mfg(graph, roots, fanouts, seed=seed, epoch=epoch, batch=batch, mode=mode)


def check_mfg(gnn, mfg, graph, roots, fanouts, name, mode):
    """Compare with what is written out, to the last bit."""
    nodes, hops = written_out(graph, list(map(int, roots)), fanouts, name, mode)
    assert isinstance(mfg, gnn.MFG)
    assert [array.tolist() for array in mfg.nodes] == nodes
    assert all(array.dtype == np.int32 for array in mfg.nodes)
    assert len(mfg.blocks) == len(fanouts)
    for block, src, rows in zip(mfg.blocks, nodes, hops, strict=False):
        assert isinstance(block, gnn.Block)
        assert block.n_src == len(src)
        assert_array_equal(block.start, np.cumsum([0, *map(len, rows)])[:-1])
        assert_array_equal(block.degrees(), [len(row) for row in rows])
        assert block.edge_ids.tolist() == [j for row in rows for j in row]
        assert [src[k] for k in block.indices] == graph.indices[block.edge_ids].tolist()
        arrays = block.start, block.end, block.indices, block.edge_ids
        assert [array.dtype.itemsize for array in arrays] == [8, 8, 4, 8]
        assert not any(array.flags.writeable for array in arrays)


@MODES
@given(graph_and_roots=graph_and_roots(), fanouts=FANOUTS, name=NAMES)
def test_sample_mfg_is_what_is_written_out(gnn, mode, graph_and_roots, fanouts, name):
    graph, roots = graph_and_roots
    mfg = sample(gnn, graph, roots, fanouts, name, mode)
    check_mfg(gnn, mfg, graph, roots, fanouts, name, mode)
    assert not np.shares_memory(mfg.nodes[-1], roots)


@MODES
@given(graph_and_roots=graph_and_roots(), fanouts=FANOUTS, name=NAMES, data=st.data())
def test_many_batches_are_those_drawn_one_by_one(gnn, mode, graph_and_roots, fanouts, name, data):
    graph, roots = graph_and_roots
    seed, epoch, first = name
    size = data.draw(st.integers(1, 5))
    batches = [roots[i : i + size] for i in range(0, len(roots), size)]
    first = min(first, 2**64 - 1 - len(batches))
    got = gnn.samplers.sample_mfg_many(
        graph, batches, iter(fanouts), seed=seed, epoch=epoch, first_batch=first, mode=mode
    )
    assert isinstance(got, list)
    assert len(got) == len(batches)
    for b, (mfg, batch) in enumerate(zip(got, batches, strict=True), first):
        check_mfg(gnn, mfg, graph, batch, fanouts, (seed, epoch, b), mode)


@MODES
@pytest.mark.parametrize("fanouts", [(25, 10), (3, 2, 2), (-1, 4), (70, -1), (65,), (2,) * 5])
def test_invariants_on_hundreds_of_nodes(gnn, fanouts, mode):
    """Prefixes, so many distinct true neighbours, no source without a use."""
    for graph, q in ((HUBS, 0), (HUBS, 1), (EVEN, 2)):
        roots = np.random.default_rng(q).permutation(graph.n)[:40]
        mfg = sample(gnn, graph, roots, fanouts, (q, 1, 2), mode)
        assert_array_equal(mfg.nodes[-1], roots)
        met_in = np.full(graph.n, -1)  # in the hop of which fan-out a node was met
        for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
            src, dst, block = mfg.nodes[layer - 1], mfg.nodes[layer], mfg.blocks[layer - 1]
            fresh = dst[met_in[dst] == -1]
            met_in[fresh] = graph.n if fanout < 0 else fanout
            most = met_in[dst] if mode == "shared" else graph.n if fanout < 0 else fanout
            assert (block.n_src, block.n_dst) == (len(src), len(dst))
            assert_array_equal(src[: len(dst)], dst)
            assert len(np.unique(src)) == len(src)
            assert set(range(len(dst), len(src))) <= set(block.indices.tolist())
            want = np.minimum(graph.degrees()[dst], most)
            assert_array_equal(block.degrees(), want)
            row = np.repeat(np.arange(len(dst)), want)
            assert_array_equal(oracles.rows(graph)[block.edge_ids], dst[row])
            assert_array_equal(graph.indices[block.edge_ids], src[block.indices])
            assert (np.diff(block.edge_ids)[row[1:] == row[:-1]] > 0).all()
            arrays = block.start, block.end, block.indices, block.n_src, block.edge_ids
            assert type(block)(*arrays).e == block.e


@MODES
@given(graph_and_roots=graph_and_roots(), hops=st.integers(0, 3), name=NAMES)
def test_all_neighbours_are_the_whole_neighbourhood(gnn, mode, graph_and_roots, hops, name):
    """No draw decides anything, whatever the seed."""
    graph, roots = graph_and_roots
    mfg = sample(gnn, graph, roots, [-1] * hops, name, mode)
    reached = set(roots.tolist())
    for nodes in mfg.nodes[::-1]:
        assert set(nodes.tolist()) == reached
        reached |= {u for v in reached for u in oracles.neighbours(graph, v)}
    most = sample(gnn, graph, roots, [max(graph.max_degree, 1)] * hops, (1, 2, 3), mode)
    for ours, theirs in zip(mfg.nodes, most.nodes, strict=True):
        assert_array_equal(ours, theirs)
    for ours, theirs in zip(mfg.blocks, most.blocks, strict=True):
        assert_array_equal(ours.edge_ids, theirs.edge_ids)


def drawn_sets(mfg, layer):
    """Return {node: positions it draws} of a layer."""
    block = mfg.blocks[layer - 1]
    bounds = zip(block.start, block.end, strict=True)
    rows = (tuple(block.edge_ids[a:b]) for a, b in bounds)
    return dict(zip(mfg.nodes[layer].tolist(), rows, strict=True))


@MODES
def test_what_a_node_draws_depends_neither_on_order_nor_on_others(gnn, mode):
    """In another order, and among other roots where its layer is the same."""
    rng = np.random.default_rng(0)
    for q in range(3):
        roots = rng.permutation(EVEN.n)[:50]
        base = sample(gnn, EVEN, roots, (4, 3), (q, 0, 0), mode)
        turned = sample(gnn, EVEN, roots[::-1], (4, 3), (q, 0, 0), mode)
        half = sample(gnn, EVEN, roots[:25], (4, 3), (q, 0, 0), mode)
        assert_array_equal(turned.nodes[-1], roots[::-1])
        for layer in (1, 2):
            assert drawn_sets(base, layer) == drawn_sets(turned, layer)
        assert drawn_sets(half, 2).items() <= drawn_sets(base, 2).items()


@pytest.mark.parametrize("changed", ["seed", "epoch", "batch"])
def test_every_part_of_the_name_changes_the_draws(gnn, changed):
    name = {"seed": 3, "epoch": 4, "batch": 5}
    roots = np.arange(30)
    one = gnn.sample_mfg(EVEN, roots, (4,), **name)
    other = gnn.sample_mfg(EVEN, roots, (4,), **{**name, changed: 6})
    assert drawn_sets(one, 1) != drawn_sets(other, 1)


def test_a_node_draws_anew_on_every_layer_or_once(gnn):
    roots = np.arange(30)
    layered = sample(gnn, EVEN, roots, (4, 4, 4), (1, 2, 3))
    first, second, third = (drawn_sets(layered, layer) for layer in (3, 2, 1))
    assert all(len({first[v], second[v], third[v]}) == 3 for v in roots.tolist())
    shared = sample(gnn, EVEN, roots, (5, 4, 3), (1, 2, 3), "shared")
    rows = [drawn_sets(shared, layer) for layer in (3, 2, 1)]
    for fewer, more in pairwise(rows):
        assert fewer.items() < more.items()
    assert {len(rows[2][v]) for v in roots.tolist()} == {5}
    for fewer, more in pairwise(shared.blocks[::-1]):
        for name in ("start", "end", "indices", "edge_ids"):
            short, long = getattr(fewer, name), getattr(more, name)
            assert_array_equal(long[: len(short)], short)
            assert np.shares_memory(short, long)


@MODES
def test_no_epoch_has_the_keys_of_another_domain(gnn, mode):
    """An epoch whose number is a domain's, such as 3, must not draw what that domain draws.

    The hub of STAR would: with (seed, 3, b, 1, v), the key of its mask of dropout, for instance.
    """
    for epoch in range(16):
        drawn, others = [], []
        for b in range(5):
            mfg = sample(gnn, STAR, [0], (5,), (6, epoch, b), mode)
            drawn.append(mfg.blocks[0].edge_ids.tolist())
            rest = [1, 0] if mode == "layered" else [0]
            others.append(gnn.streams.floyd(gnn.streams.key(6, epoch, b, *rest), 12, 5).tolist())
        assert drawn != others


@MODES
def test_isolated_seeds_and_stars(gnn, mode):
    """An empty row, still there; the hub draws so many leaves."""
    mfg = sample(gnn, STAR, [13, 0], (5, 2), (1, 1, 1), mode)
    assert mfg.nodes[-1].tolist() == [13, 0]
    assert [block.degrees()[:2].tolist() for block in mfg.blocks[::-1]] == (
        [[0, 5], [0, 5 if mode == "shared" else 2]]
    )
    assert mfg.nodes[0][:2].tolist() == [13, 0]
    alone = sample(gnn, STAR, [13], (5, 2), (1, 1, 1), mode)
    assert [nodes.tolist() for nodes in alone.nodes] == [[13]] * 3


@MODES
def test_nothing_to_draw(gnn, mode):
    empty = graph_from_edges(3, set())
    for graph, roots in ((EVEN, []), (empty, []), (empty, [2, 0]), (graph_from_edges(0, ()), [])):
        mfg = sample(gnn, graph, np.array(roots, int), (2, 3), (0, 0, 0), mode)
        assert [nodes.tolist() for nodes in mfg.nodes] == [roots] * 3
        assert [(b.n_dst, b.n_src, b.e) for b in mfg.blocks] == [(len(roots), len(roots), 0)] * 2
    assert gnn.samplers.sample_mfg_many(EVEN, [], (2,), seed=0, epoch=0, mode=mode) == []
    none = sample(gnn, EVEN, [4, 2], (), (0, 0, 0), mode)
    assert (len(none.nodes), none.blocks) == (1, ())


def test_fanouts_begin_at_the_seeds(gnn):
    ours = sample(gnn, EVEN, np.arange(30), (9, 4), (1, 0, 0))
    assert (ours.blocks[1].e, ours.blocks[0].e) == (30 * 9, 4 * len(ours.nodes[1]))
    theirs = sample(gnn, EVEN, np.arange(30), (9, 4)[::-1], (1, 0, 0))
    assert theirs.blocks[1].e == 30 * 4


@pytest.mark.runs
@pytest.mark.parametrize("fanout", [1, 2, 5, 11])
def test_every_neighbour_has_the_same_chance(gnn, fanout):
    """An inclusion has variance p (1 - p), and sets of a fixed size make them dependent:
    (n - 1) / n of the plain statistic over 1 - p is chi-square with n - 1 degrees of freedom."""
    draws, n = DRAWS[gnn.__name__], 12
    counts = np.zeros(14)
    for b in range(draws):
        mfg = sample(gnn, STAR, [0], (fanout,), (5, 0, b))
        counts[mfg.nodes[0][1:]] += 1
    assert counts.sum() == draws * fanout
    p = fanout / n
    excess = counts[1:13] - draws * p
    statistic = (excess**2).sum() / (draws * p * (1 - p)) * (n - 1) / n
    assert oracles.chi2.sf(statistic, n - 1) > LEVEL


def test_every_subset_has_the_same_chance(gnn):
    seen = Counter(
        tuple(gnn.streams.floyd(gnn.streams.key(8, q), 6, 3).tolist())
        for q in range(DRAWS[gnn.__name__])
    )
    law = dict.fromkeys(combinations(range(6), 3), Fraction(1, 20))
    assert oracles.chi_square_p(seen, law) > LEVEL


@pytest.mark.runs
def test_two_nodes_draw_independently(gnn):
    """Also of one node on two layers: the pairs of what they draw have the product law."""
    path = graph_from_edges(4, {(0, 2), (0, 3), (1, 2), (1, 3)})
    seen = Counter()
    for b in range(DRAWS[gnn.__name__]):
        mfg = sample(gnn, path, [0, 1], (1, 1), (2, 0, b))
        upper, lower = drawn_sets(mfg, 2), drawn_sets(mfg, 1)
        seen[tuple(int(path.indices[d[v][0]]) for d in (upper, lower) for v in (0, 1))] += 1
    law = dict.fromkeys(product((2, 3), repeat=4), Fraction(1, 16))
    assert oracles.chi_square_p(seen, law) > LEVEL


@pytest.mark.runs
def test_the_sampled_mean_is_unbiased(gnn):
    """Over many batches it comes near the full mean, by the error it should have."""
    x = np.random.default_rng(1).normal(size=STAR.n)
    near, fanout, draws = x[1:13], 4, DRAWS[gnn.__name__]
    means = [
        x[sample(gnn, STAR, [0], (fanout,), (6, 0, b)).nodes[0][1:]].mean() for b in range(draws)
    ]
    error = near.std(ddof=1) * np.sqrt((1 - fanout / 12) / fanout / draws)
    assert abs(np.mean(means) - near.mean()) < 3.5 * error
    assert 0.9 < np.std(means) / (error * np.sqrt(draws)) < 1.1


def test_golden_values_of_floyd(gnn):
    assert gnn.streams.floyd(K, 30, 10).tolist() == [2, 3, 6, 10, 15, 19, 21, 22, 26, 29]
    assert gnn.streams.floyd(K, 30, 10).dtype == np.int32


@given(key=KEYS, n=st.integers(0, 300), data=st.data())
def test_floyd_is_what_is_written_out(gnn, key, n, data):
    f = data.draw(st.integers(0, n))
    assert gnn.streams.floyd(key, n, f).tolist() == oracles.floyd(key, n, f)


@pytest.mark.parametrize("f", [15, 16, 17, 32, 33, 48, 63, 64, 65, 1000])
def test_floyd_of_few_and_of_two_thousand_million(gnn, f):
    for n in (f, f + 1, 2 * f, 2**31 - 1):
        for q in range(3):
            assert gnn.streams.floyd(q, n, f).tolist() == oracles.floyd(q, n, f)


@given(key=KEYS, n=st.integers(0, 100))
def test_permutation_is_the_whole_shuffle(gnn, key, n):
    got = gnn.streams.permutation(key, n)
    assert got.dtype == np.int32
    assert got.tolist() == oracles.dense_fisher_yates(oracles.Draws(key), n, n)


def test_every_permutation_has_the_same_chance(gnn):
    seen = Counter(
        tuple(gnn.streams.permutation(gnn.streams.key(9, q), 4).tolist())
        for q in range(DRAWS[gnn.__name__])
    )
    law = dict.fromkeys(permutations(range(4)), Fraction(1, 24))
    assert oracles.chi_square_p(seen, law) > LEVEL


@given(count=st.integers(0, 40), size=st.integers(1, 50), seed=KEYS, epoch=KEYS)
def test_the_batches_of_an_epoch(gnn, count, size, seed, epoch):
    ids = np.arange(count, dtype=np.int64)[::-1] * 7
    batches = gnn.samplers.epoch_batches(ids, size, seed, epoch)
    assert isinstance(batches, list)
    assert len(batches) == -(-count // size)
    assert all(batch.dtype == np.int32 for batch in batches)
    assert all(len(batch) == size for batch in batches[:-1])
    key = oracles.stream_key(seed, NODES, epoch)
    order = oracles.dense_fisher_yates(oracles.Draws(key), count, count)
    assert [v for batch in batches for v in batch.tolist()] == ids[order].tolist()


def test_calls_share_nothing(gnn):
    """One graph after another, after an error, and from several Python threads at once."""
    jobs = [
        (graph, np.arange(q % 5, min(60, graph.n), 7), fanouts, (q, 0, 1), mode)
        for q in range(4)
        for graph in (HUBS, STAR, EVEN)
        for fanouts in ((4, 3), (-1,))
        for mode in ("layered", "shared")
    ]
    want = [written_out(g, roots.tolist(), f, name, mode)[0] for g, roots, f, name, mode in jobs]

    def nodes(job):
        return [array.tolist() for array in sample(gnn, *job).nodes]

    assert [nodes(job) for job in jobs] == want
    with pytest.raises(ValueError, match="distinct"):
        sample(gnn, HUBS, [3, 5, 3], (4, 3), (0, 0, 0))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(nodes, jobs)) == want


GOOD = {"graph": STAR, "roots": [0], "fanouts": [2], "seed": 1, "epoch": 2, "batch": 3}
BAD = {
    "graph": ({"graph": "graph"}, TypeError, "graph must be a Graph"),
    "roots-outside": ({"roots": [14]}, ValueError, "roots must be in"),
    "roots-negative": ({"roots": [-1]}, ValueError, "roots must be in"),
    "roots-twice": ({"roots": [1, 0, 1]}, ValueError, "roots must be distinct"),
    "roots-float": ({"roots": [0.0]}, TypeError, "roots must hold integers"),
    "roots-2d": ({"roots": [[0]]}, ValueError, "roots must be 1-D"),
    "fanouts-int": ({"fanouts": 2}, TypeError, "fanouts must be a sequence"),
    "fanouts-float": ({"fanouts": [2.0]}, TypeError, "fanouts must be an integer"),
    "fanouts-negative": ({"fanouts": [3, -2]}, ValueError, "fanouts must be"),
    "fanouts-large": ({"fanouts": [2**31]}, ValueError, "fanouts must be"),
    "seed-negative": ({"seed": -1}, ValueError, "seed must be"),
    "seed-none": ({"seed": None}, TypeError, "seed must be an integer"),
    "epoch-large": ({"epoch": 2**64}, ValueError, "epoch must be"),
    "batch-float": ({"batch": 1.0}, TypeError, "batch must be an integer"),
    "mode": ({"mode": "both"}, ValueError, "mode must be one of 'layered', 'shared'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused(gnn, case):
    changed, error, message = BAD[case]
    with pytest.raises(error, match=message):
        gnn.sample_mfg(**{**GOOD, **changed})


@pytest.mark.parametrize("n", [9, 2**21 + 9], ids=["array", "table"])  # of the nodes met
@pytest.mark.parametrize("fanouts", [(2,), (0,), ()])
def test_repeated_roots_are_refused_and_leave_nothing(gnn, n, fanouts):
    graph = graph_from_edges(n, {(n - 1, 3), (n - 1, 5)})
    name = {"seed": 0, "epoch": 0, "batch": 0}
    with pytest.raises(ValueError, match="roots must be distinct"):
        gnn.sample_mfg(graph, [n - 1, 4, n - 1], fanouts, **name)
    roots, more = [n - 1, 4], [3, 5] if fanouts == (2,) else []
    assert gnn.sample_mfg(graph, roots, fanouts, **name).nodes[0].tolist() == roots + more


def test_bad_batches_are_refused(gnn):
    many = {"seed": 0, "epoch": 0}
    with pytest.raises(TypeError, match="batches must be a sequence"):
        gnn.samplers.sample_mfg_many(STAR, 3, (2,), **many)
    with pytest.raises(ValueError, match="roots must be distinct"):
        gnn.samplers.sample_mfg_many(STAR, [[1], [2, 2]], (2,), **many)
    with pytest.raises(ValueError, match="first_batch must be in"):
        gnn.samplers.sample_mfg_many(STAR, [[1], [2]], (2,), first_batch=2**64 - 1, **many)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        gnn.samplers.epoch_batches([1, 2], 0, 0, 0)
    with pytest.raises(ValueError, match="ids must be in"):
        gnn.samplers.epoch_batches([1, -2], 1, 0, 0)
    with pytest.raises(ValueError, match="f must be in"):
        gnn.streams.floyd(1, 3, 4)
    with pytest.raises(TypeError, match="key must be an integer"):
        gnn.streams.permutation(0.5, 3)
