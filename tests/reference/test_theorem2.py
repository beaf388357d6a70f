"""Traffic counted piece by piece, Theorem 2 by enumeration, and what breaks it."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import graph_from_edges, graphs

from refimpl.lab.backend import find

PARTS = ("real", "whole", "padded", "columns")
KIB = 1024


# The model.


def pieces(graph, part_of, widths):
    """Yield (edges, sources, columns) of every piece: a set of nodes and some columns."""
    for i in range(max(part_of) + 1):
        near = [oracles.neighbours(graph, v) for v in range(graph.n) if part_of[v] == i]
        edges, sources = sum(map(len, near)), set().union(*near)
        for width in widths:
            yield edges, len(sources), width


@st.composite
def partitioned(draw, self_loops=False):
    """Draw a Graph, a set of nodes for each node, all sets used, and widths of parts."""
    graph = draw(graphs(min_nodes=1))
    if self_loops:
        edges = {(v, u) for v in range(graph.n) for u in [v, *oracles.neighbours(graph, v)]}
        graph = graph_from_edges(graph.n, edges)
    Qv = draw(st.integers(1, graph.n), label="Qv")
    rest = st.lists(st.integers(0, Qv - 1), min_size=graph.n - Qv, max_size=graph.n - Qv)
    part_of = draw(st.permutations([*range(Qv), *draw(rest)]), label="part of each node")
    return graph, part_of, draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))


def mean_gamma(graph, part_of):
    """Return the sources of a part over n, the mean over the parts."""
    sources = [count for _, count, _ in pieces(graph, part_of, [1])]
    return Fraction(sum(sources), len(sources) * graph.n)


@given(partitioned(), st.sampled_from([2, 4]), st.sampled_from([4, 8]), st.integers(0, 8))
def test_traffic_is_the_sum_over_the_pieces(gnn, drawn, index, word, edge_word):
    """E-C7 and E-C9: bytes read of edges and features, with values of edges and the result."""
    graph, part_of, widths = drawn
    f, Qv, Qf = sum(widths), max(part_of) + 1, len(widths)
    d, gamma = graph.e / graph.n, float(mean_gamma(graph, part_of))
    counted = sum(
        (index + edge_word) * edges + word * sources * width
        for edges, sources, width in pieces(graph, part_of, widths)
    )
    options = {"index": index, "word": word, "edge_word": edge_word}
    got = gnn.cost_models.g_comm(Qv, Qf, graph.n, d, f, gamma, **options)
    assert got == pytest.approx(counted, rel=1e-12)
    got = gnn.cost_models.g_comm(Qv, Qf, graph.n, d, f, gamma, **options, out=True)
    assert got == pytest.approx(counted + word * graph.n * f, rel=1e-12)


def test_printed_traffic_is_the_default(gnn):
    assert gnn.cost_models.g_comm(3, 5, 10, 4, 7, 0.5) == 2 * 5 * 10 * 4 + 8 * 3 * 10 * 7 * 0.5


@given(graphs(min_nodes=1), st.integers(1, 9), st.integers(1, 5))
def test_multiply_adds_do_not_depend_on_the_parts(gnn, graph, f, p):
    plan = gnn.partition.partition_plan(graph.n, f, p, 64)
    with gnn.profiling.Meter() as profile:
        gnn.feature_propagate(graph, np.ones(graph.e), np.ones((graph.n, f)), plan, p)
    want = gnn.cost_models.g_comp(graph.n, graph.e / graph.n, f)
    assert profile.macs["sparse"] == graph.e * f == pytest.approx(want)


@given(st.integers(1, 99), st.floats(0, 50), st.integers(1, 99), st.data())
def test_traffic_never_falls_with_more_parts(gnn, n, d, f, data):
    low = [
        data.draw(st.floats(1, 40), label="Qv"),
        data.draw(st.floats(1, 40), label="Qf"),
        data.draw(st.floats(0, 1), label="gamma"),
    ]
    for i, high in enumerate([41, 41, 1]):
        more = [*low[:i], data.draw(st.floats(low[i], high)), *low[i + 1 :]]
        less, greater = (gnn.cost_models.g_comm(Qv, Qf, n, d, f, g) for Qv, Qf, g in (low, more))
        assert less <= greater * (1 + 1e-12)
    assert gnn.cost_models.g_comm(2, 3, n, 2, f, 0.5) < gnn.cost_models.g_comm(2, 4, n, 2, f, 0.5)
    assert gnn.cost_models.g_comm(2, 3, n, 2, f, 0.5) < gnn.cost_models.g_comm(3, 3, n, 2, f, 0.5)
    assert gnn.cost_models.g_comm(2, 3, n, 2, f, 0.5) < gnn.cost_models.g_comm(2, 3, n, 2, f, 0.6)


@given(partitioned())
def test_sources_cover_what_is_not_isolated(gnn, drawn):
    """E-A6: without self-loops the mean of gamma is 1 / Q_v times the share of the others."""
    graph, part_of, _ = drawn
    others = sum(1 for v in range(graph.n) if oracles.neighbours(graph, v))
    assert mean_gamma(graph, part_of) >= Fraction(others, graph.n * (max(part_of) + 1))


@given(partitioned(self_loops=True))
def test_sources_of_a_graph_with_self_loops_cover_it(gnn, drawn):
    graph, part_of, _ = drawn
    assert mean_gamma(graph, part_of) >= Fraction(1, max(part_of) + 1)


def test_one_part_may_have_few_sources(gnn):
    """E-C8: the leaves of a star have one source; the bound is on the mean, not on each part."""
    star = graph_from_edges(6, {(0, v) for v in range(1, 6)})
    gammas = [Fraction(count, 6) for _, count, _ in pieces(star, [0, 1, 1, 1, 1, 1], [1])]
    assert gammas == [Fraction(5, 6), Fraction(1, 6)]
    assert min(gammas) < Fraction(1, 2) <= mean_gamma(star, [0, 1, 1, 1, 1, 1])


# Theorem 2.


@st.composite
def subgraphs(draw, most_nodes=4000, most_columns=600):
    """Draw (n, d, f, p, s_cache) within the printed premises, at their edge often."""
    n = draw(st.integers(1, most_nodes), label="n")
    f = draw(st.integers(1, most_columns), label="f")
    p = draw(st.integers(1, 200), label="p")
    s_cache = draw(st.integers(1, 20 * n), label="s_cache")
    most = int(8 * min(Fraction(4 * f, p), Fraction(s_cache, 2 * n)))
    eighths = draw(st.one_of(st.just(most), st.integers(0, most)), label="8 d")
    return n, eighths / 8, f, p, s_cache


def parts_by_hand(n, f, p, s_cache, parts):
    """Return Q_f as a Fraction."""
    if parts == "columns":
        width = max([w for w in range(1, f + 1) if 8 * n * w <= s_cache], default=1)
        return Fraction(max(p, -(-f // width)))
    Qf = max(Fraction(p), Fraction(8 * n * f, s_cache))
    if parts == "real":
        return Qf
    whole = -(-Qf.numerator // Qf.denominator)
    return Fraction(whole if parts == "whole" else -(-whole // p) * p)


def traffic(Qf, n, d, f):
    return 2 * Qf * n * Fraction(d) + 8 * n * f


@given(subgraphs(), st.sampled_from(PARTS))
def test_theorem_2(gnn, subgraph, parts):
    n, d, f, p, s_cache = subgraph
    Qf = parts_by_hand(n, f, p, s_cache, parts)
    got = gnn.cost_models.theorem2(n, d, f, p, s_cache, parts=parts)
    assert got.premise_p
    assert got.premise_cache
    assert got.premise_columns == (8 * n <= s_cache and f >= Qf)
    assert (
        gnn.cost_models.theorem2_Qf(n, f, p, s_cache, parts=parts)
        == got.Qf
        == pytest.approx(float(Qf))
    )
    assert got.g == pytest.approx(float(traffic(Qf, n, d, f)), rel=1e-12)
    assert got.lower_bound == pytest.approx(float(traffic(1, n, d, f)), rel=1e-12)
    exact = traffic(Qf, n, d, f) / traffic(1, n, d, f)
    assert got.ratio == pytest.approx(float(exact), rel=1e-12)
    if parts in ("real", "whole"):
        assert exact <= 2
    elif parts == "padded" or got.premise_columns:
        assert exact <= 3
    if parts == "real":
        assert traffic(Qf, n, d, f) <= 2 * 8 * n * f  # as printed


@given(subgraphs(most_nodes=40, most_columns=60))
def test_no_partition_has_half_the_traffic(gnn, subgraph):
    """Against every whole Q_v and Q_f that Equation 14 allows, at the least gamma there is."""
    n, d, f, p, s_cache = subgraph
    Qv, Qf = np.arange(1, n + 1)[:, None], np.arange(1, f + 1)
    allowed = (Qv * Qf >= p) & (8 * n * f <= s_cache * Qv * Qf)
    traffic_of_all = gnn.cost_models.g_comm(Qv, Qf, n, d, f, 1 / Qv)
    assert traffic_of_all.shape == (n, f)
    least = np.min(traffic_of_all, where=allowed, initial=np.inf)
    got = gnn.cost_models.theorem2(n, d, f, p, s_cache, parts="whole")
    assert got.lower_bound <= least * (1 + 1e-12)
    assert got.g <= 2 * least * (1 + 1e-12)


def test_padding_breaks_the_bound(gnn):
    """E-C8: 128 parts fit, but 127 lanes want 254; the premises hold, and the ratio is near 3."""
    padded = gnn.cost_models.theorem2(4000, 16, 512, 127, 128_000, parts="padded")
    assert padded[:3] == (True, True, True)
    assert padded.Qf == 254
    assert padded.ratio == pytest.approx(float(1 + Fraction(253 * 2 * 16, 2 * 16 + 8 * 512)))
    assert padded.ratio > 2.9
    whole = gnn.cost_models.theorem2(4000, 16, 512, 127, 128_000, parts="whole")
    assert whole.Qf == 128
    assert whole.ratio < 2


def test_whole_columns_break_the_bound(gnn):
    """E-C8: a cache that almost holds two columns holds one, so Q_f is almost doubled."""
    n, d, f, s_cache = 1000, 7.9375, 512, 15_875
    got = gnn.cost_models.theorem2(n, d, f, 1, s_cache, parts="columns")
    assert got[:3] == (True, True, True)
    assert got.Qf == 512
    assert 2.9 < got.ratio < 3
    assert gnn.cost_models.theorem2(n, d, f, 1, s_cache, parts="whole").ratio < 2


def test_whole_parts_need_the_sharper_bound(gnn):
    """E-C8: against 8 n f, the bound of the proof, rounding Q_f up is too much."""
    got = gnn.cost_models.theorem2(4000, 16, 511, 1, 128_000, parts="whole")
    assert got[:3] == (True, True, True)
    assert got.g > 2 * 8 * 4000 * 511
    assert got.ratio < 2


@pytest.mark.parametrize("parts", ["real", "whole"])
@pytest.mark.parametrize(
    ("subgraph", "dropped"),
    [((100, 64, 8, 8, 10**6), "premise_p"), ((1000, 64, 1024, 64, 16_000), "premise_cache")],
)
def test_each_premise_is_needed(gnn, subgraph, dropped, parts):
    got = gnn.cost_models.theorem2(*subgraph, parts=parts)
    failed = [name for name in got._fields if name.startswith("premise") and not getattr(got, name)]
    assert failed == [dropped]
    assert got.ratio > 5


def test_columns_that_do_not_fit_leave_no_plan(gnn):
    """E-C8: the premise that is not printed. The ratio is fine, but no such parts exist."""
    n, d, f, s_cache = 4000, 1, 512, 16_000
    got = gnn.cost_models.theorem2(n, d, f, 1, s_cache, parts="whole")
    assert got[:3] == (True, True, False)
    assert got.ratio < 2
    assert got.Qf > f
    for mode in ("columns", "paper"):
        assert not gnn.partition.partition_plan(n, f, 1, s_cache, mode=mode).fits
    assert not gnn.cost_models.theorem2(
        4000, 0, 8, 9, 10**6
    ).premise_columns  # more lanes than columns


def test_the_example_of_theorem_2(gnn):
    """8000 nodes, 512 columns, 256 KiB."""
    S = 256 * KIB
    assert gnn.cost_models.theorem2_Qf(8000, 512, 40, S) == 125
    assert gnn.cost_models.theorem2_Qf(8000, 512, 40, S, parts="columns") == 128
    assert gnn.cost_models.theorem2_Qf(8000, 512, 40, S, parts="padded") == 160
    balanced = gnn.partition.partition_plan(8000, 512, 40, S, mode="paper")
    assert 8000 * 8 * int(np.diff(balanced.starts).max()) == 320_000 > S


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 12), st.integers(1, 6000))
def test_whole_columns_are_those_of_a_plan(gnn, n, f, p, s_cache):
    """The fewest parts of whole columns that fit: `partition_plan` has at least as many."""
    Qf = gnn.cost_models.theorem2_Qf(n, f, p, s_cache, parts="columns")
    plan = gnn.partition.partition_plan(n, f, p, s_cache, line=8)
    if p <= f:
        assert len(plan.starts) - 1 >= Qf
    if p == 1:
        assert len(plan.starts) - 1 == Qf


def test_136_lanes_are_a_premise(gnn):
    """E-C10: 4 f / d = 136.5 bounds the traffic of the example; it says nothing about time."""
    got = gnn.cost_models.theorem2(8000, 15, 512, [136, 137], 256 * KIB)
    assert got.premise_p.tolist() == [True, False]
    assert (got.ratio < 2).all()


@pytest.mark.parametrize(
    ("index", "word", "edge_word", "most_p"), [(2, 8, 0, 125), (2, 8, 8, 25), (4, 4, 0, 31)]
)
def test_values_of_edges_narrow_the_premises(gnn, index, word, edge_word, most_p):
    """E-C9: 8 bytes of an edge's value leave p <= 0.8 f / d and 10 n d <= S."""
    n, d, f = 800, 16, 500
    read = (index + edge_word) * n * d
    p, S = np.array([most_p, most_p + 1]), np.array([[read], [read - 1]])
    options = {"index": index, "word": word, "edge_word": edge_word}
    got = gnn.cost_models.theorem2(n, d, f, p, S, **options)
    assert got.premise_p.tolist() == [True, False]
    assert got.premise_cache.tolist() == [[True], [False]]
    assert got.ratio.shape == (2, 2)
    assert got.ratio[0, 0] <= 2
    out = gnn.cost_models.theorem2(n, d, f, p, S, **options, out=True)
    np.testing.assert_allclose(out.g - got.g, word * n * f)
    assert out.lower_bound - got.lower_bound == word * n * f


def test_printed_choice_fails_with_values_of_edges(gnn):
    """E-C9: 100 lanes pass the printed premises, and move more than twice the least."""
    printed, counted = (
        gnn.cost_models.theorem2(800, 16, 500, 100, 128_000, edge_word=size) for size in (0, 8)
    )
    assert printed[:3] == (True, True, True)
    assert printed.ratio <= 2 < counted.ratio


BAD = [
    ("g_comp", (0, 1, 1), {}, "n must be at least 1"),
    ("g_comp", (1, -1, 1), {}, "d must be at least 0"),
    ("g_comp", (1, 1, 1.5), {}, "f must be whole numbers"),
    ("g_comm", (0.5, 1, 1, 1, 1, 1), {}, "Qv must be at least 1"),
    ("g_comm", (1, 0, 1, 1, 1, 1), {}, "Qf must be at least 1"),
    ("g_comm", (1, 1, 1, 1, 1, 1.5), {}, "gamma must be at most 1, got 1.5"),
    ("g_comm", (1, 1, 1, 1, 1, -1), {}, "gamma must be at least 0"),
    ("g_comm", (1, 1, 1, 1, 1, 1), {"index": 0}, "index must be above 0"),
    ("g_comm", (1, 1, 1, 1, 1, 1), {"word": 0}, "word must be above 0"),
    ("g_comm", (1, 1, 1, 1, 1, 1), {"edge_word": -1}, "edge_word must be at least 0"),
    ("theorem2_Qf", (1, 1, 0, 1), {}, "p must be at least 1"),
    ("theorem2_Qf", (1, 1, 1, 0), {}, "s_cache must be above 0"),
    ("theorem2_Qf", (1, "1", 1, 1), {}, "f must be real numbers"),
    ("theorem2_Qf", (1, 1, 1, 1), {"parts": "half"}, "parts must be one of 'real', 'whole'"),
    ("theorem2", (1.5, 1, 1, 1, 1), {}, "n must be whole numbers"),
    ("theorem2", (1, np.nan, 1, 1, 1), {}, "d must be finite"),
    ("theorem2", (1, 1, 1, 1, 1), {"parts": None}, "parts must be one of"),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "message"), BAD, ids=lambda x: str(x)[:20])
def test_theorem_2_rejects(gnn, name, args, kwargs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find(gnn, name)(*args, **kwargs)
