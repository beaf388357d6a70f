"""Random graphs of any size, and the karate club."""

import zlib
from functools import reduce

import networkx as nx
import numpy as np
import pytest

import fastimpl
import refimpl
from refimpl import Graph, load_dataset, streams
from refimpl.lab.backend import find
from refimpl.lab.data import generators, karate, kronecker, power_law
from refimpl.streams import below, key, uniform

pytestmark = pytest.mark.runs

MAKERS = {
    "kronecker": lambda seed=0: kronecker(10, 16, seed),
    "sparse kronecker": lambda seed=0: kronecker(9, 0.75, seed),
    "power law": lambda seed=0: power_law(1001, 7, seed),
    "flat power law": lambda seed=0: power_law(500, 4.5, seed, exponent=6.0),
}
EDGES = {"kronecker": 8192, "sparse kronecker": 192, "power law": 3504, "flat power law": 1125}


@pytest.fixture(params=MAKERS)
def name(request):
    return request.param


def same(a, b):
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)


def size_biased(graph):
    degrees = graph.degrees()
    return (degrees**2).sum() / degrees.sum()


def test_the_number_of_edges_is_met_and_the_graph_is_whole(name):
    graph = MAKERS[name]()
    checked = Graph(graph.indptr, graph.indices)  # checks offsets, and that rows ascend
    assert checked.symmetric and graph.symmetric
    assert graph.e == 2 * EDGES[name]
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)
    assert not graph.indptr.flags.writeable and not graph.indices.flags.writeable
    same_in_networkx = graph.to_networkx()
    assert same_in_networkx.number_of_edges() == EDGES[name]
    assert nx.number_of_selfloops(same_in_networkx) == 0


def test_the_seed_decides_and_the_size_of_a_batch_does_not(name, monkeypatch):
    graph = MAKERS[name](3)
    assert same(MAKERS[name](3), graph)
    assert not same(MAKERS[name](4), graph)
    seed = refimpl.streams.as_seed(np.random.default_rng(5))
    assert same(MAKERS[name](np.random.default_rng(5)), MAKERS[name](seed))
    monkeypatch.setattr(generators, "BLOCK", 7)
    monkeypatch.setattr(generators, "LEAST", 1)
    assert same(MAKERS[name](3), graph)
    monkeypatch.setattr(generators, "BLOCK", 100_000)
    monkeypatch.setattr(generators, "LEAST", 50_000)  # one round: the surplus is dropped
    assert same(MAKERS[name](3), graph)


def test_every_machine_makes_these_graphs():
    crc = [zlib.crc32(make().indices.astype("<i4")) for make in MAKERS.values()]
    assert crc == [3355904008, 990052442, 913759863, 464818873]


def test_draws_are_from_streams_of_the_data_domain_only(name, monkeypatch):
    keys = []
    make = streams.key
    monkeypatch.setattr(streams, "key", lambda *parts: keys.append(parts) or make(*parts))
    monkeypatch.setattr(np.random, "default_rng", None)
    MAKERS[name](3)
    assert {parts[:2] for parts in keys} == {(3, streams.DATA)}
    assert len(set(keys)) == len(keys) == 2


def test_kronecker_is_its_definition_draw_by_draw():
    """R-MAT by a loop over edges and levels, the quadrants by intervals of twentieths."""
    scale, count = 5, 60  # mean degree 60 * 2 / 32
    quadrants, names = (key(8, streams.DATA, use) for use in (8, 10))
    edges, draw = [], 0
    while len(edges) < count:
        u = v = 0
        for levels in (4, 1):
            side = below(quadrants, draw, 20**levels)
            draw += 1
            digits = [side // 20**i % 20 for i in range(levels)]
            for digit in reversed(digits):
                u = 2 * u + (digit >= 14)
                v = 2 * v + (9 <= digit < 14 or digit == 19)
        if u != v and {u, v} not in edges:
            edges.append({u, v})
    name = sorted(range(32), key=lambda i: uniform(names, i)).__getitem__
    expected = refimpl.as_graph([tuple(map(name, e)) for e in edges], n=32, symmetrize=True)
    assert same(kronecker(scale, 2 * count / 32, 8), expected)


def test_a_draw_has_the_law_of_four_quadrants():
    sides = np.bincount(generators._descents(), minlength=256).reshape(16, 16)
    assert np.array_equal(sides, reduce(np.kron, [np.array([[9, 5], [5, 1]])] * 4))
    first = np.bincount(generators._descents()[:20], minlength=256).reshape(16, 16)
    assert np.array_equal(first[:2, :2], [[9, 5], [5, 1]]) and first.sum() == 20


def test_power_law_is_its_definition_draw_by_draw():
    n, count = 40, 50
    ends, names = (key(8, streams.DATA, use) for use in (9, 10))
    weights = [int(1000 * ((i + 0.5) / n) ** -0.5) for i in range(n)]  # exponent 3
    tickets = np.repeat(np.arange(n), weights)
    edges, draw = [], 0
    while len(edges) < count:
        pair = {int(tickets[below(ends, draw + i, len(tickets))]) for i in (0, 1)}
        draw += 2
        if len(pair) == 2 and pair not in edges:
            edges.append(pair)
    name = sorted(range(n), key=lambda i: uniform(names, i)).__getitem__
    expected = refimpl.as_graph([tuple(map(name, e)) for e in edges], n=n, symmetrize=True)
    assert same(power_law(n, 2.5, 8, exponent=3), expected)


def test_degrees_are_skewed():
    graph = kronecker(14, 16)
    assert size_biased(graph) > 5 * 16
    assert 0.05 * graph.n < np.count_nonzero(graph.degrees() == 0) < 0.4 * graph.n
    steep, flat = (power_law(20_000, 16, exponent=exponent) for exponent in (2.5, 6.0))
    assert size_biased(steep) > 8 * 16
    assert 16 < size_biased(flat) < 2 * 16
    random = nx.gnm_random_graph(2000, 16_000, seed=1)  # and a graph without a heavy tail
    assert size_biased(refimpl.as_graph(random)) < 1.2 * 16


@pytest.mark.parametrize("exponent", [2.2, 2.5, 3.0])
def test_the_tail_has_the_exponent_asked_for(exponent):
    degrees = np.sort(power_law(50_000, 20, exponent=exponent).degrees())[::-1]
    rank = np.arange(1, degrees.size + 1)
    tail = (degrees > 60) & (degrees < 1000)  # beyond, the largest hubs run out of partners
    slope = np.polyfit(np.log(degrees[tail]), np.log(rank[tail]), 1)[0]
    assert slope == pytest.approx(1 - exponent, abs=0.15)


def test_small_graphs_can_be_complete():
    assert kronecker(1, 1).e == 2
    assert kronecker(2, 3).e == 12
    assert power_law(2, 1).e == 2
    assert power_law(5, 4, exponent=50).e == 20
    assert power_law(5, 0.1).e == 0  # rounds to no edge


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: kronecker(0, 1), ValueError, r"scale must be in \[1, 30\], got 0"),
        (lambda: kronecker(31, 1), ValueError, r"scale must be in \[1, 30\], got 31"),
        (lambda: kronecker(4.0, 1), TypeError, "scale must be an integer"),
        (lambda: kronecker(4, 0), ValueError, "mean_degree must be finite and above 0"),
        (lambda: kronecker(4, float("nan")), ValueError, "mean_degree must be finite"),
        (lambda: kronecker(4, 15.5), ValueError, "mean_degree must be at most 15"),
        (lambda: kronecker(4, "2"), TypeError, "mean_degree must be a real number"),
        (lambda: kronecker(9, 511), ValueError, "mean_degree is too large for 512 nodes"),
        (lambda: kronecker(4, 2, -1), ValueError, "rng must be in"),
        (lambda: power_law(1, 1), ValueError, r"n must be in \[2, "),
        (lambda: power_law(9, 9), ValueError, "mean_degree must be at most 8"),
        (lambda: power_law(9, 2, exponent=2), ValueError, "exponent must be finite and above 2"),
        (lambda: power_law(9, 2, exponent=None), TypeError, "exponent must be a real number"),
        (lambda: power_law(300, 299, exponent=2.01), ValueError, "mean_degree is too large"),
    ],
)
def test_bad_arguments_are_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_both_packages_have_the_generators():
    for name in ("kronecker", "power_law", "karate"):
        assert find(fastimpl, name) is find(refimpl, name)


def test_karate_club():
    expected = nx.karate_club_graph()
    assert {frozenset(e) for e in karate().to_networkx().edges} == {
        frozenset(e) for e in expected.edges
    }
    data = load_dataset("karate", dtype="float64")
    officers = [v for v in expected if expected.nodes[v]["club"] == "Officer"]
    assert np.array_equal(np.flatnonzero(data.labels), officers)
    assert data.name == "karate" and not data.multilabel and data.features.shape == (34, 34)
    assert [len(part) for part in (data.train, data.val, data.test)] == [18, 6, 10]
    assert np.linalg.matrix_rank(data.features) > 30  # the features tell the nodes apart
    expected = karate().to_scipy()[data.train][:, data.train]
    assert (expected != data.train_graph.to_scipy()).nnz == 0
    assert data.inputs().dtype == data.targets().dtype == np.float64
    assert load_dataset("karate", rng=9).inputs().dtype == np.float32


def test_training_on_the_karate_club_finds_the_two_sides(gnn):
    config = gnn.TrainConfig(method="full", hidden=16, epochs=60, lr=0.02)
    assert gnn.train(load_dataset("karate"), config).test_f1 >= 0.8
