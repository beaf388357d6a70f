"""Hotness, fair shares and the policy for performance."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mfgs import mfg_from_rows, mfgs
from numpy.testing import assert_allclose, assert_array_equal
from strategies import directed_from_edges, directed_graphs, even_graph, graphs

from refimpl.history import hotness
from refimpl.history.hotness import SamplingProfile
from refimpl.history.performance import hits_per_admission, knapsack, plan_performance
from refimpl.lab.backend import backend, find
from refimpl.streams import PROFILE_EPOCH

EVEN = even_graph(200, 8)
CHAIN = directed_from_edges(4, {(0, 1), (0, 2), (1, 2), (2, 3)})


# ---- degree and PageRank


def test_degree_is_how_many_neighbours_a_node_has(gnn):
    hot = gnn.history.degree_hotness(CHAIN)
    assert hot.tolist() == [2, 1, 1, 0] and hot.dtype == np.int64
    assert gnn.history.degree_hotness(directed_from_edges(0, set())).size == 0


@given(graph=graphs(min_nodes=1) | directed_graphs(), data=st.data())
def test_pagerank_is_the_iteration_on_dense_matrices(gnn, graph, data):
    if graph.n == 0:
        return
    node = st.integers(0, graph.n - 1)
    train = data.draw(st.lists(node, min_size=1, unique=True), label="train")
    alpha = data.draw(st.sampled_from([0, 0.5, 0.95, 1]), label="alpha")
    steps = data.draw(st.integers(0, 6), label="iterations")
    A = graph.to_scipy().toarray()
    walk = np.divide(A, A.sum(1, keepdims=True), out=np.zeros_like(A), where=A > 0)
    x = w = np.isin(np.arange(graph.n), train) / len(train)
    for _ in range(steps):
        x = (1 - alpha) * w + alpha * walk.T @ x
    got = gnn.history.reverse_pagerank(graph, np.array(train), alpha=alpha, iterations=steps)
    assert_allclose(got, x, rtol=1e-12, atol=1e-15)
    assert got.shape == (graph.n,) and got.sum() < 1 + 1e-12


def test_pagerank_goes_to_the_fixed_point(gnn):
    """On a directed graph: mass moves to whom a node aggregates, and ends at node 3."""
    A = CHAIN.to_scipy().toarray()
    walk = A / np.maximum(A.sum(1, keepdims=True), 1)
    w = np.array([0.5, 0.5, 0, 0])
    want = np.linalg.solve(np.eye(4) - 0.8 * walk.T, 0.2 * w)
    got = gnn.history.reverse_pagerank(CHAIN, np.array([1, 0]), alpha=0.8, iterations=50)
    assert_allclose(got, want, rtol=1e-12)
    assert got[3] > 0 and got[0] == pytest.approx(0.1)


def test_pagerank_is_that_of_networkx(gnn):
    """Which walks from a node to its successors: here, to whom the node aggregates."""
    rng = np.random.default_rng(1)
    pairs = {(v, u) for v in range(30) for u in rng.choice(30, 3, replace=False).tolist()}
    graph = directed_from_edges(30, pairs)
    train = [3, 4, 20]
    want = nx.pagerank(
        nx.DiGraph(sorted(pairs)), alpha=0.85, personalization=dict.fromkeys(train, 1), tol=1e-13
    )
    got = gnn.history.reverse_pagerank(graph, np.array(train), alpha=0.85, iterations=200)
    assert_allclose(got, [want[v] for v in range(30)], rtol=1e-9)


# ---- fair shares


def exact_shares(mfg, needed):
    """Return the charges as fractions, each source handing its own to its consumers."""
    charges = [[Fraction(int(w)) for w in needed]]
    for block in mfg.blocks:
        takers = [[v] if v < block.n_dst else [] for v in range(block.n_src)]
        for v in range(block.n_dst):
            for u in block.indices[block.start[v] : block.end[v]].tolist():
                takers[u].append(v)
        charge = [Fraction(0)] * block.n_dst
        for u, consumers in enumerate(takers):
            for v in consumers:
                charge[v] += charges[-1][u] / len(consumers)
        charges.append(charge)
    return charges


@given(mfg=mfgs(), data=st.data())
def test_fair_share_is_exact(gnn, mfg, data):
    size = len(mfg.nodes[0])
    needed = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), np.bool_)
    got = gnn.history.fair_share(mfg, needed)
    assert len(got) == len(mfg.nodes)
    for a, want in zip(got, exact_shares(mfg, needed), strict=True):
        assert a.dtype == np.float64
        assert_allclose(a, [float(x) for x in want], rtol=1e-14)


@given(graph=graphs(min_nodes=1), seed=st.integers(0, 2**64 - 1), data=st.data())
def test_shares_of_every_layer_add_up_to_the_rows(gnn, graph, seed, data):
    """W2: what is charged is conserved, in whatever a sampler makes."""
    roots = data.draw(st.lists(st.integers(0, graph.n - 1), unique=True), label="roots")
    fanouts = data.draw(st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=3), label="fanouts")
    mfg = gnn.layer_sample(graph, np.array(roots, np.int64), fanouts, seed)
    needed = np.random.default_rng(seed).random(len(mfg.nodes[0])) < 0.7
    for charge in gnn.history.fair_share(mfg, needed):
        assert charge.sum() == pytest.approx(np.count_nonzero(needed), rel=1e-12)


def test_shares_by_hand(gnn):
    """Input 2 has both nodes of layer 1 as consumers, input 0 itself and node 1."""
    mfg = mfg_from_rows(4, [[2], [2, 3, 0]], [[1]])
    shares = gnn.history.fair_share(mfg, np.array([1, 0, 1, 1], np.bool_))
    assert [a.tolist() for a in shares] == [[1, 0, 1, 1], [0.5 + 0.5, 0.5 + 1 + 0.5], [3]]


# ---- count_visits: with samplers that say what they were asked


def implementation(gnn):
    """Return `gnn` with samplers on `layer_sample`, which log the keys they are given."""
    log = []

    def epoch_batches(ids, batch_size, seed, epoch):
        log.append((seed, epoch))
        return [ids[i : i + batch_size] for i in range(0, len(ids), batch_size)]

    def sample_mfg(graph, roots, fanouts, *, seed, epoch, batch, mode):
        log.append((seed, epoch, batch, mode))
        return gnn.layer_sample(graph, roots, fanouts, gnn.streams.key(seed, epoch, batch))

    return backend(gnn, epoch_batches=epoch_batches, sample_mfg=sample_mfg), log


TRAIN = np.arange(3, 30)


def test_profile_counts_every_batch_of_an_epoch(gnn):
    package, log = implementation(gnn)
    needed = np.arange(EVEN.n) % 3 > 0
    met = hotness.count_visits(package, EVEN, TRAIN, (4, 3), 8, seed=5, needed=needed)
    assert log == [(5, PROFILE_EPOCH), *((5, PROFILE_EPOCH, b, "layered") for b in range(4))]
    assert met.batches == 4 and PROFILE_EPOCH == 2**31
    samples = [
        gnn.layer_sample(
            EVEN, TRAIN[8 * b : 8 * b + 8], (4, 3), gnn.streams.key(5, PROFILE_EPOCH, b)
        )
        for b in range(4)
    ]
    for layer in (0, 1):
        for v in range(EVEN.n):
            charges = [
                gnn.history.fair_share(mfg, needed[mfg.nodes[0]])[layer][
                    mfg.nodes[layer] == v
                ].tolist()
                for mfg in samples
            ]
            charges = [a for found in charges for a in found]
            assert met.rho[layer][v] == len(charges) / 4
            assert met.sigma[layer][v] == pytest.approx(np.mean(charges) if charges else 0)


def test_profile_without_batches_or_layers(gnn):
    package, _ = implementation(gnn)
    empty = hotness.count_visits(package, EVEN, TRAIN[:0], (4, 3), 8, seed=5)
    assert empty.batches == 0 and not any(a.any() for a in (*empty.rho, *empty.sigma))
    assert hotness.count_visits(package, EVEN, TRAIN, (), 8, seed=5).rho == ()


# ---- the knapsack


def profile_of(rho, sigma, batches=100):
    return SamplingProfile(
        tuple(np.array(r, float) for r in rho), tuple(np.array(s, float) for s in sigma), batches
    )


@st.composite
def profiles(draw):
    n, depth = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    share = st.integers(0, 20).map(lambda k: k / 20)
    rho = [draw(st.lists(share, min_size=n, max_size=n)) for _ in range(depth)]
    sigma = [
        draw(st.lists(st.integers(0, 40).map(lambda k: k / 8), min_size=n, max_size=n))
        for _ in range(depth)
    ]
    return profile_of(rho, sigma, draw(st.integers(1, 60)))


OPTIONS = {
    "d": st.integers(1, 9),
    "h": st.integers(1, 9),
    "p": st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    "t_stale": st.sampled_from([1, 3, 20, 1000, None]),
}


def sizes(met, d, h, p, t_stale):
    """Return the floats that each embedding takes."""
    T = met.batches if t_stale is None else min(t_stale, met.batches)
    visits = np.array(met.rho[1:]).reshape(-1, met.rho[0].size) * T
    x = visits if p == 1 else p * (1 - p**visits) / (1 - p)
    return T, x, visits * p / (1 + x) * h


@given(met=profiles(), floats=st.integers(0, 200), **OPTIONS)
def test_what_is_chosen_fits_and_is_densest(gnn, met, floats, d, h, p, t_stale):
    plan = knapsack(met, floats=floats, d=d, h=h, p=p, t_stale=t_stale)
    T, x, size = sizes(met, d, h, p, t_stale)
    sigma = np.array(met.sigma[1:]).reshape(x.shape)
    assert_allclose(plan.density, sigma * x / (p * T * h), rtol=1e-9, atol=1e-300)
    assert np.count_nonzero(plan.kept) * d + size[plan.ok].sum() <= floats * (1 + 1e-9)
    assert_array_equal(plan.ok, plan.density > plan.theta)
    assert_array_equal(plan.hotness, met.rho[0])
    feature = met.rho[0] / d
    assert np.all(feature[plan.kept] >= plan.theta) and np.all(feature[~plan.kept] <= plan.theta)
    if plan.theta > 0:  # the next one would not have fitted
        at_cut = size[plan.density == plan.theta].sum() + d * np.sum(feature == plan.theta)
        taken = d * np.sum(feature > plan.theta) + size[plan.ok].sum()
        assert taken + at_cut > floats * (1 - 1e-9)
    assert not np.any(plan.ok[np.array(met.rho[1:]).reshape(x.shape) == 0])


@given(met=profiles(), a=st.integers(0, 200), b=st.integers(0, 200), **OPTIONS)
def test_a_larger_buffer_lowers_the_threshold(gnn, met, a, b, d, h, p, t_stale):
    """W3: nothing that was chosen for the smaller buffer is lost."""
    small, large = (knapsack(met, floats=f, d=d, h=h, p=p, t_stale=t_stale) for f in sorted((a, b)))
    assert large.theta <= small.theta
    assert np.all(small.ok <= large.ok) and np.all(small.kept <= large.kept)


@given(met=profiles(), floats=st.integers(0, 200), t=st.integers(1, 30), c=st.sampled_from([2, 4]))
def test_more_visits_in_a_shorter_time_are_the_same(gnn, met, floats, t, c):
    """W4: rho times c, t / c: an iteration does the work of c, so theta is c times as large."""
    options = {"floats": floats, "d": 3, "h": 2, "p": 0.5}
    scaled = profile_of([r * c for r in met.rho], met.sigma, 100)
    slow = knapsack(met._replace(batches=100 * c), **options, t_stale=t * c)
    fast = knapsack(scaled, **options, t_stale=t)
    assert_array_equal(fast.ok, slow.ok)
    assert_array_equal(fast.kept, slow.kept)
    assert_array_equal(fast.density, c * slow.density)
    assert fast.theta == c * slow.theta


def test_choice_by_hand(gnn):
    """p = 1, T = 10, d = 4, h = 2.

    Features .8 .2 .4 a float .2 .05 .1; embeddings: visits 10 5 0, hits the same, density
    sigma * hits / 20 = .5 .15 0, slots 10/11 5/6 0, floats 20/11 5/3 0. In order: embedding 0
    (1.8), feature 0 (5.8), embedding 1 (7.5), feature 2 (11.5), feature 1 (15.5).
    """
    met = profile_of([[0.8, 0.2, 0.4], [1, 0.5, 0]], [[1, 1, 1], [1, 0.6, 5]], 10)
    options = {"d": 4, "h": 2, "p": 1, "t_stale": None}
    want = {
        0: (0.5, [], []),
        2: (0.2, [0], []),
        6: (0.15, [0], [0]),
        8: (0.1, [0, 1], [0]),
        12: (0.05, [0, 1], [0, 2]),
        16: (0, [0, 1], [0, 1, 2]),
    }
    for floats, (theta, embeddings, features) in want.items():
        plan = knapsack(met, floats=floats, **options)
        assert plan.theta == pytest.approx(theta, rel=1e-12)
        assert np.flatnonzero(plan.ok[0]).tolist() == embeddings
        assert np.flatnonzero(plan.kept).tolist() == features
    assert not knapsack(met, floats=16, cache_layers=(), **options).ok.any()


def test_expected_hits():
    """The law of hits over p; towards p = 1 it is the number of visits."""
    visits = np.array([0, 0.5, 3, 1e9])
    assert_allclose(hits_per_admission(visits, 0.5), 2 * (1 - 0.5**visits), rtol=1e-12)
    assert_array_equal(hits_per_admission(visits, 1), visits)
    assert_allclose(hits_per_admission(visits[:3], 1 - 1e-12), visits[:3], rtol=1e-9)


def test_plan_profiles_again_with_the_features_that_are_kept(gnn):
    package, log = implementation(gnn)
    options = {"floats": 800, "d": 8, "h": 12, "p": 0.9, "t_stale": 3}
    plan = plan_performance(package, EVEN, TRAIN, (4, 3), 8, seed=5, rounds=2, **options)
    assert len(log) == 2 * 5 and log[:5] == log[5:]
    first = knapsack(hotness.count_visits(package, EVEN, TRAIN, (4, 3), 8, seed=5), **options)
    assert 0 < np.count_nonzero(first.kept) < EVEN.n
    second = hotness.count_visits(package, EVEN, TRAIN, (4, 3), 8, seed=5, needed=~first.kept)
    want = knapsack(second, **options)
    assert np.any(want.ok != first.ok)
    for got, expected in zip(plan, want, strict=True):
        assert_array_equal(got, expected)
    assert plan.ok.shape == plan.density.shape == (1, EVEN.n) and plan.ok.any()


def test_only_layers_that_are_cached_take_room(gnn):
    package, _ = implementation(gnn)
    options = {"floats": 300, "d": 8, "h": 4, "p": 0.9, "t_stale": 3, "rounds": 1}
    for layers in ((1,), (2,), (1, 2)):
        plan = plan_performance(
            package, EVEN, TRAIN, (4, 3, 2), 8, seed=5, cache_layers=layers, **options
        )
        assert [layer for layer in (1, 2) if plan.ok[layer - 1].any()] == list(layers)


# ---- errors

FIT = {"floats": 9, "d": 1, "h": 1, "p": 1, "t_stale": None}


@pytest.mark.parametrize(
    "name, arguments, options, error, text",
    [
        ("degree_hotness", ("graph",), {}, TypeError, "graph must be a Graph"),
        ("reverse_pagerank", ("graph", [0]), {}, TypeError, "graph must be a Graph"),
        ("reverse_pagerank", (CHAIN, []), {}, ValueError, "train must hold at least one node"),
        ("reverse_pagerank", (CHAIN, [1, 1]), {}, ValueError, "train must hold at least one node"),
        ("reverse_pagerank", (CHAIN, [4]), {}, ValueError, r"train must be in \[0, 4\)"),
        ("reverse_pagerank", (CHAIN, [0]), {"alpha": 1.1}, ValueError, "alpha must be finite"),
        ("reverse_pagerank", (CHAIN, [0]), {"iterations": -1}, ValueError, "iterations must be"),
        ("fair_share", (CHAIN, [True]), {}, TypeError, "mfg must be an MFG"),
        ("fair_share", (mfg_from_rows(1, [[0]]), [1]), {}, TypeError, "needed must hold bools"),
        ("fair_share", (mfg_from_rows(1, [[0]]), []), {}, TypeError, "needed must hold bools"),
        ("count_visits", ("graph", [0], (1,), 1), {"seed": 0}, TypeError, "graph must be a Graph"),
        (
            "count_visits",
            (CHAIN, [0], (1,), 1),
            {"seed": 0, "needed": np.ones(3, np.bool_)},
            ValueError,
            r"needed must have shape \(4,\)",
        ),
        (
            "plan_performance",
            (CHAIN, [0], (1,), 1),
            {"seed": 0, **FIT, "rounds": 0},
            ValueError,
            "rounds must be",
        ),
    ],
)
def test_refused(gnn, name, arguments, options, error, text):
    with pytest.raises(error, match=text):
        find(gnn, name)(*arguments, **options)


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"floats": -1}, ValueError, r"floats must be in \[0, "),
        ({"d": 0}, ValueError, r"d must be in \[1, "),
        ({"h": 0.5}, TypeError, "h must be an integer"),
        ({"p": 0}, ValueError, "p must be finite and above 0"),
        ({"p": 1.5}, ValueError, "p must be finite"),
        ({"t_stale": 0}, ValueError, "t_stale must be at least 1"),
        ({"cache_layers": (2,)}, ValueError, r"cache_layers must be in \[1, 1\]"),
        ({"cache_layers": 1}, TypeError, "cache_layers must be a sequence"),
    ],
)
def test_plans_refused(options, error, text):
    met = profile_of([[1], [1]], [[1], [1]])
    with pytest.raises(error, match=text):
        knapsack(met, **{**FIT, **options})
