"""Edge, walk and forest fire samplers: their draws written out, their laws, their counts."""

from collections import Counter, deque
from fractions import Fraction
from itertools import permutations

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import (
    KEYS,
    directed_from_edges,
    draws_of_a_law,
    graph_from_edges,
    graphs,
    power_law_graph,
)

from refimpl.lab.backend import find
from refimpl.samplers.edge import edge_weights

DRAWS = draws_of_a_law(3000, 20000)
LEVEL = 0.01 / 10
# A hub with a tail and two loops; node 6 is isolated.
GRAPH = graph_from_edges(
    7, {(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (4, 5), (5, 5), (1, 2), (1, 3), (2, 4), (3, 5)}
)
SMALL = graph_from_edges(5, {(0, 1), (0, 2), (1, 2), (2, 3)})  # node 4 is isolated
HUBS = power_law_graph(80)
EMPTY = graph_from_edges(4, set())


def edge_walk(graph, draws, b):
    """Return (nodes, popped, pushed) of `edge` by its direct method."""
    near = [oracles.neighbours(graph, v) for v in range(graph.n)]
    candidates = [v for v in range(graph.n) if near[v]]
    popped, pushed = [], []
    for _ in range(b if candidates else 0):
        popped.append(candidates[draws.below(len(candidates))])
        pushed.append(near[popped[-1]][draws.below(len(near[popped[-1]]))])
    return {*popped, *pushed}, popped, pushed


def walks(graph, draws, roots, steps):
    """Return (nodes, popped, pushed) of walks of steps[i] steps from the i-th root drawn."""
    nodes = oracles.dense_fisher_yates(draws, graph.n, roots)
    popped, pushed = [], []
    for root, count in zip(list(nodes), steps, strict=True):
        at = root
        for _ in range(count):
            near = oracles.neighbours(graph, at)
            if near:
                popped.append(at)
                at = near[draws.below(len(near))]
                pushed.append(at)
    return {*nodes, *pushed}, popped, pushed


def split(m, n):
    """Return the steps of each walk of `multiple_walks`: one is dealt to each in turn."""
    return [len(range(i, n - m, m)) for i in range(m)]


def fire(graph, draws, n, p_f):
    """Return (nodes, popped, pushed) of forest fire."""
    unburned, burned, popped, pushed = list(range(graph.n)), [], [], []

    def burn(v):
        unburned[unburned.index(v)] = unburned[-1]
        unburned.pop()
        burned.append(v)

    while unburned and len(burned) < n:
        burn(unburned[draws.below(len(unburned))])
        queue = deque(burned[-1:])
        while queue and len(burned) < n:
            u = queue.popleft()
            green = [v for v in oracles.neighbours(graph, u) if v not in burned]
            k = 0
            while k < len(green) and draws.uniform() < p_f:
                k += 1
            for i in oracles.dense_fisher_yates(draws, len(green), min(k, n - len(burned))):
                burn(green[i])
                queue.append(green[i])
                popped.append(u)
                pushed.append(green[i])
    return set(burned), popped, pushed


ORACLES = {
    "edge": edge_walk,
    "random_walk": lambda graph, draws, r, h: walks(graph, draws, r, [h] * r),
    "multiple_walks": lambda graph, draws, m, n: walks(graph, draws, m, split(m, n)),
    "forest_fire": fire,
}


@st.composite
def static_options(draw, graph, name):
    """Draw legal keyword arguments of sampler `name` for a graph with at least one node."""
    roots, more = draw(st.integers(1, graph.n)), draw(st.integers(0, 12))
    return {
        "edge": {"b": more + 1},
        "random_walk": {"r": roots, "h": more},
        "multiple_walks": {"m": roots, "n": roots + more},
        "forest_fire": {"n": more + 1, "p_f": draw(st.sampled_from([0, 0.3, 0.7, 1.0]))},
    }[name]


@pytest.mark.parametrize("name", ORACLES)
@given(graph=graphs(min_nodes=1), main=KEYS, data=st.data())
def test_samplers_are_what_is_written_out(gnn, name, graph, main, data):
    """Nodes, log and number of draws."""
    options = data.draw(static_options(graph, name), label="options")
    draws = oracles.Draws(main)
    nodes, popped, pushed = ORACLES[name](graph, draws, **options)
    got = find(gnn, name)(graph, main, **options)
    assert got.nodes.tolist() == sorted(nodes)
    assert got.popped.tolist() == popped
    assert got.pushed.tolist() == pushed
    assert [a.dtype for a in got[:3]] == [np.int32] * 3
    assert got.counters == gnn.graph.Counters(
        pops=len(popped),
        popped_degree_sum=sum(len(oracles.neighbours(graph, v)) for v in popped),
        added_degree_sum=sum(len(oracles.neighbours(graph, v)) for v in pushed),
        draws=draws.count,
    )


@pytest.mark.parametrize("method", ["direct", "alias"])
@given(graph=graphs(), main=KEYS, b=st.integers(1, 12))
def test_edge_ends_are_edges(gnn, method, graph, main, b):
    sample = gnn.edge(graph, main, b=b, method=method)
    steps = b if graph.e else 0
    assert sample.counters.pops == len(sample.popped) == len(sample.pushed) == steps
    assert sample.counters.draws == 2 * steps
    for u, v in zip(sample.popped.tolist(), sample.pushed.tolist(), strict=True):
        assert v in oracles.neighbours(graph, u)
        assert u <= v or method == "direct"
    assert sample.nodes.tolist() == sorted({*sample.popped.tolist(), *sample.pushed.tolist()})


def exact_edge_law(graph):
    """Return {(u, v): probability}, u <= v, of a uniform neighbour of a uniform node."""
    degrees = graph.degrees().tolist()
    law = Counter()
    for u in range(graph.n):
        for v in oracles.neighbours(graph, u):
            law[min(u, v), max(u, v)] += Fraction(1, degrees[u] * np.count_nonzero(degrees))
    return law


@given(graph=graphs(min_nodes=1))
def test_edge_formula_is_a_neighbour_of_a_node(gnn, graph):
    """The paper's formula adds up to the nodes with neighbours; the table holds its law."""
    degrees = graph.degrees().tolist()
    ends = [(u, v) for u in range(graph.n) for v in oracles.neighbours(graph, u) if u <= v]
    exact = [Fraction(1, degrees[u]) + (Fraction(1, degrees[v]) if u < v else 0) for u, v in ends]
    normaliser = sum(d > 0 for d in degrees)
    assert sum(exact) == normaliser
    law = exact_edge_law(graph)
    assert {e: w / normaliser for e, w in zip(ends, exact, strict=True)} == law
    u, v, weights = edge_weights(graph)
    assert list(zip(u.tolist(), v.tolist(), strict=True)) == ends
    assert_array_equal(weights, [1 / degrees[a] + (a < b and 1 / degrees[b]) for a, b in ends])
    if ends:
        prob, alias = (array.tolist() for array in gnn.samplers.alias_build(weights))
        for i, end in enumerate(ends):
            parts = prob[i] + sum(1 - prob[j] for j in range(len(ends)) if alias[j] == i != j)
            assert parts / len(ends) == pytest.approx(float(law[end]), rel=0, abs=1e-12)


def test_edge_by_alias_is_its_table(gnn):
    u, v, weights = edge_weights(HUBS)
    table = gnn.samplers.alias_build(weights)
    picked = [gnn.samplers.alias_draw(table, 9, 2 * i) for i in range(50)]
    sample = gnn.edge(HUBS, 9, b=50, method="alias")
    assert_array_equal(sample.popped, u[picked])
    assert_array_equal(sample.pushed, v[picked])


@pytest.mark.parametrize("method", ["direct", "alias"])
def test_edges_have_the_exact_law(gnn, method):
    sample = gnn.edge(GRAPH, gnn.streams.key(11), b=4 * DRAWS[gnn.__name__], method=method)
    ends = np.sort([sample.popped, sample.pushed], axis=0).T
    seen = Counter(map(tuple, ends.tolist()))
    assert oracles.chi_square_p(seen, exact_edge_law(GRAPH)) > LEVEL
    degrees = GRAPH.degrees().tolist()
    wrong = {(u, v): Fraction(degrees[u] + degrees[v]) for u, v in seen}  # the sum of degrees
    wrong = {e: w / sum(wrong.values()) for e, w in wrong.items()}
    assert oracles.chi_square_p(seen, wrong) < 1e-6


def walk_law(graph, h):
    """Return {(root, its steps): probability} of one walk from a uniform root."""
    law = {(v,): Fraction(1, graph.n) for v in range(graph.n)}
    for _ in range(h):
        after = Counter()
        for walk, p in law.items():
            near = oracles.neighbours(graph, walk[-1])
            for x in near:
                after[(*walk, x)] += p / len(near)
            if not near:
                after[walk] += p
        law = after
    return law


@pytest.mark.parametrize("h", [1, 2])
def test_walks_have_the_exact_law(gnn, h):
    seen = Counter()
    for q in range(DRAWS[gnn.__name__]):
        sample = gnn.random_walk(GRAPH, gnn.streams.key(11, q), r=1, h=h)
        root = sample.popped[:1].tolist() or sample.nodes.tolist()
        seen[(*root, *sample.pushed.tolist())] += 1
    assert oracles.chi_square_p(seen, walk_law(GRAPH, h)) > LEVEL


def assert_walks_run_on(graph, sample, steps):
    """Check that the log is walks of `steps` steps, one after the other."""
    walk = iter(zip(sample.popped.tolist(), sample.pushed.tolist(), strict=True))
    for count in steps:
        at = None
        for _ in range(count):
            u, v = next(walk)
            assert at is None or u == at
            assert v in oracles.neighbours(graph, u)
            at = v
    assert next(walk, None) is None


@pytest.mark.parametrize(("m", "n"), [(7, 7), (7, 8), (7, 13), (7, 14), (7, 50), (1, 20)])
def test_multiple_walks_share_the_budget(gnn, m, n):
    """Each walk has (n - m) // m steps, and the first (n - m) % m have one more."""
    cycle = graph_from_edges(30, {(v, (v + 1) % 30) for v in range(30)})
    sample = gnn.multiple_walks(cycle, 5, m=m, n=n)
    assert len(sample.popped) == n - m == sample.counters.draws - m
    each, extra = divmod(n - m, m)
    steps = [each + (i < extra) for i in range(m)]
    assert_walks_run_on(cycle, sample, steps)
    roots = gnn.streams.pick_without_replacement(5, 0, 30, m).tolist()
    starts = np.cumsum([0, *steps])[:-1][: m if each else extra]
    assert sample.popped[starts].tolist() == roots[: len(starts)]


def test_equal_walks_are_random_walks(gnn):
    for q in range(5):
        ours = gnn.multiple_walks(HUBS, q, m=6, n=6 * 5)
        theirs = gnn.random_walk(HUBS, q, r=6, h=4)
        for a, b in zip(ours[:3], theirs[:3], strict=True):
            assert_array_equal(a, b)
        assert ours.counters == theirs.counters


@given(graph=graphs(min_nodes=1), main=KEYS, h=st.integers(0, 5), data=st.data())
def test_walks_run_on_along_edges(gnn, graph, main, h, data):
    r = data.draw(st.integers(1, graph.n), label="r")
    sample = gnn.random_walk(graph, main, r=r, h=h)
    roots = gnn.streams.pick_without_replacement(main, 0, graph.n, r).tolist()
    moving = [v for v in roots if oracles.neighbours(graph, v)]
    assert sample.counters.draws == r + h * len(moving)
    assert_walks_run_on(graph, sample, [h] * len(moving))
    assert r <= len(sample.nodes) <= r * (h + 1)
    assert set(roots) <= set(sample.nodes.tolist())


@given(
    graph=graphs(),
    main=KEYS,
    n=st.integers(1, 14),
    p_f=st.one_of(st.sampled_from([0, 1]), st.floats(0, 1)),
)
def test_fire_burns_just_n_nodes(gnn, graph, main, n, p_f):
    """Each node caught fire once, from a burned neighbour, or began a fire."""
    sample = gnn.forest_fire(graph, main, n=n, p_f=p_f)
    assert len(sample.nodes) == min(n, graph.n)
    pushed = sample.pushed.tolist()
    assert len(set(pushed)) == len(pushed)
    burned = set(sample.nodes.tolist()) - set(pushed)
    for u, v in zip(sample.popped.tolist(), pushed, strict=True):
        assert v in oracles.neighbours(graph, u)
        assert u in burned
        burned.add(v)
    assert sorted(burned) == sample.nodes.tolist()


def test_fire_that_never_and_that_always_spreads(gnn):
    never = gnn.forest_fire(HUBS, 3, n=40, p_f=0)
    assert never.counters.pops == 0
    always = gnn.forest_fire(SMALL, 3, n=5, p_f=1)
    assert always.counters.pops == 3  # one component of four nodes, one of one
    pair = graph_from_edges(2, {(0, 1)})
    drawn = gnn.streams.uniform(
        3, 1
    )  # the number that decides whether the second node catches fire
    assert gnn.forest_fire(pair, 3, n=2, p_f=drawn).counters.pops == 0
    assert gnn.forest_fire(pair, 3, n=2, p_f=np.nextafter(drawn, 1)).counters.pops == 1
    alone = gnn.forest_fire(EMPTY, 3, n=3)
    assert alone.counters == gnn.graph.Counters(draws=3)


def fire_law(graph, n, p_f):
    """Return {(set of nodes, edges burned along): probability} by enumeration."""
    outcome = Counter()
    todo = [(Fraction(1), (), (), ())]
    while todo:
        p, burned, queue, log = todo.pop()
        green = [v for v in range(graph.n) if v not in burned]
        if len(burned) == n:
            outcome[frozenset(burned), log] += p
        elif not queue:
            todo += [(p / len(green), (*burned, v), (v,), log) for v in green]
        else:
            u, *rest = queue
            near = [v for v in oracles.neighbours(graph, u) if v in green]
            for k in range(len(near) + 1):
                spread = p * p_f**k * (1 - p_f if k < len(near) else 1)
                chosen = list(permutations(near, min(k, n - len(burned))))
                todo += [
                    (
                        spread / len(chosen),
                        (*burned, *caught),
                        (*rest, *caught),
                        (*log, *((u, v) for v in caught)),
                    )
                    for caught in chosen
                ]
    assert sum(outcome.values()) == 1
    return outcome


def test_fires_have_the_exact_law(gnn):
    seen = Counter()
    for q in range(DRAWS[gnn.__name__]):
        sample = gnn.forest_fire(SMALL, gnn.streams.key(12, q), n=3, p_f=0.25)
        log = tuple(zip(sample.popped.tolist(), sample.pushed.tolist(), strict=True))
        seen[frozenset(sample.nodes.tolist()), log] += 1
    assert oracles.chi_square_p(seen, fire_law(SMALL, 3, Fraction(1, 4))) > LEVEL
    assert oracles.chi_square_p(seen, fire_law(SMALL, 3, Fraction(2, 5))) < 1e-6


def test_graphs_without_edges_or_nodes(gnn):
    for method in ("direct", "alias"):
        for graph in (EMPTY, graph_from_edges(0, set())):
            sample = gnn.edge(graph, 1, b=3, method=method)
            assert len(sample.nodes) == len(sample.popped) == 0
            assert sample.counters == gnn.graph.Counters()
    assert len(gnn.forest_fire(graph_from_edges(0, set()), 1, n=3).nodes) == 0
    for name, options in (("random_walk", {"r": 4, "h": 3}), ("multiple_walks", {"m": 4, "n": 9})):
        sample = find(gnn, name)(EMPTY, 1, **options)
        assert sample.nodes.tolist() == [0, 1, 2, 3]
        assert sample.counters == gnn.graph.Counters(draws=4)
        with pytest.raises(ValueError, match="number of nodes"):
            find(gnn, name)(graph_from_edges(0, set()), 1, **options)


GOOD = {
    "edge": {"b": 3},
    "random_walk": {"r": 3, "h": 2},
    "multiple_walks": {"m": 3, "n": 5},
    "forest_fire": {"n": 5},
}
BAD = [
    ("edge", {"b": 0}, ValueError),
    ("edge", {"b": 2**31}, ValueError),
    ("edge", {"b": 1.0}, TypeError),
    ("edge", {"method": "fast"}, ValueError),
    ("random_walk", {"r": 0}, ValueError),
    ("random_walk", {"r": 8}, ValueError),  # more than there are nodes
    ("random_walk", {"r": 3.0}, TypeError),
    ("random_walk", {"h": -1}, ValueError),
    ("random_walk", {"r": 2, "h": 2**30}, ValueError),  # r (h + 1) is 2**31 + 2
    ("random_walk", {"h": True}, TypeError),
    ("multiple_walks", {"m": 0}, ValueError),
    ("multiple_walks", {"m": 8}, ValueError),
    ("multiple_walks", {"n": 2}, ValueError),  # below m
    ("multiple_walks", {"n": "5"}, TypeError),
    ("forest_fire", {"n": 0}, ValueError),
    ("forest_fire", {"n": 1.5}, TypeError),
    ("forest_fire", {"p_f": -0.1}, ValueError),
    ("forest_fire", {"p_f": 1.1}, ValueError),
    ("forest_fire", {"p_f": float("nan")}, ValueError),
    ("forest_fire", {"p_f": "0.7"}, TypeError),
]


@pytest.mark.parametrize(("name", "change", "error"), BAD)
def test_static_samplers_reject(gnn, name, change, error):
    with pytest.raises(error, match="|".join(change)):
        find(gnn, name)(GRAPH, 0, **{**GOOD[name], **change})


@pytest.mark.parametrize("name", GOOD)
def test_static_samplers_reject_directed_graphs_and_bad_keys(gnn, name):
    with pytest.raises(ValueError, match="undirected"):
        find(gnn, name)(directed_from_edges(7, {(0, 1)}), 0, **GOOD[name])
    with pytest.raises(ValueError, match="main"):
        find(gnn, name)(GRAPH, 2**64, **GOOD[name])
    with pytest.raises(TypeError):
        find(gnn, name)(GRAPH, 0, 1, **GOOD[name])  # there is no second stream
