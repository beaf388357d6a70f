"""LABOR and dependent minibatches against their definitions, with another normal distribution."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import cos, pi, sin
from statistics import NormalDist

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chi2, kstest, multivariate_normal
from strategies import KEYS, directed_graphs, draws_of_a_law, even_graph, graph_from_edges, graphs

from refimpl.samplers.labor import cos_sin, normal_quantile, variates_of_hop

LABOR = 22  # the domain
DRAWS = draws_of_a_law(2000, 20000)
LEVEL = 0.01 / 8
NORMAL = NormalDist()
STAR = graph_from_edges(14, {(0, v) for v in range(1, 13)})  # twelve leaves; 13 is isolated
EVEN = even_graph(2000, 40)
FANOUTS = st.lists(st.sampled_from([-1, 0, 1, 2, 3, 5]), max_size=3)
KAPPAS = st.integers(1, 7) | st.just(2**31 - 1)
MODES = pytest.mark.parametrize("mode", ["labor", "labor_exact"])


def variate(node, name, layer, kappa):
    """Return r_t, by its definition."""
    seed, epoch, batch = name
    group, place = divmod(batch, kappa)
    now, later = (
        oracles.split_mix(
            (oracles.stream_key(seed, LABOR, epoch, g, layer) + oracles.GOLD * (node + 1)) % 2**64
        )
        for g in (group, group + 1 if place else group)
    )
    draws = [max((word >> 11) / 2**53, 2.0**-54) for word in (now, later)]
    if place == 0:
        return draws[0]
    angle = place / kappa * pi / 2
    n, n_later = map(NORMAL.inv_cdf, draws)
    return NORMAL.cdf(cos(angle) * n + sin(angle) * n_later)


def written_out(graph, v, fanout, r, mode):
    """Return the positions that node v draws."""
    row = list(range(graph.indptr[v], graph.indptr[v + 1]))
    if fanout == -1 or len(row) <= fanout:
        return row
    if mode == "labor":
        return [j for j in row if r(graph.indices[j]) < fanout / len(row)]
    return sorted(sorted(row, key=lambda j: r(graph.indices[j]))[:fanout])


def sample(gnn, graph, roots, fanouts, name, mode, kappa=1):
    seed, epoch, batch = name
    return gnn.sample_mfg(
        graph,
        roots,
        fanouts,
        seed=seed,
        epoch=epoch,
        batch=batch,
        mode=mode,
        batch_dependency=kappa,
    )


def rows_of(mfg, layer):
    """Return what each destination of a layer draws, a list of positions."""
    block = mfg.blocks[layer - 1]
    bounds = zip(block.start, block.end, strict=True)
    return [block.edge_ids[a:b].tolist() for a, b in bounds]


@MODES
@given(
    graph=graphs(max_nodes=12) | directed_graphs(),
    fanouts=FANOUTS,
    name=st.tuples(KEYS, KEYS, KEYS | st.integers(0, 20)),
    kappa=KAPPAS,
    data=st.data(),
)
def test_rows_are_what_is_written_out(gnn, mode, graph, fanouts, name, kappa, data):
    roots = data.draw(st.permutations(range(graph.n)))[: data.draw(st.integers(0, graph.n))]
    mfg = sample(gnn, graph, np.array(roots, np.int64), fanouts, name, mode, kappa)
    for layer, fanout in zip(range(len(fanouts), 0, -1), fanouts, strict=True):
        r = {t: variate(t, name, layer, kappa) for t in range(graph.n)}
        want = [written_out(graph, v, fanout, r.get, mode) for v in mfg.nodes[layer].tolist()]
        assert rows_of(mfg, layer) == want


def test_an_entry_is_kept_with_its_chance_and_independently_of_other_sources(gnn):
    """Each leaf with fan-out / degree; how many are kept is binomial."""
    draws, n, fanout = DRAWS[gnn.__name__], 12, 5
    kept, sizes, p = np.zeros(14), Counter(), Fraction(fanout, n)
    for b in range(draws):
        (row,) = rows_of(sample(gnn, STAR, [0], (fanout,), (5, 0, b), "labor"), 1)
        kept[STAR.indices[row]] += 1
        sizes[len(row)] += 1
    excess = kept[1:13] - draws * float(p)
    statistic = (excess**2).sum() / (draws * float(p * (1 - p)))
    assert chi2.sf(statistic, n) > LEVEL
    law = {k: oracles.math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}
    assert oracles.chi_square_p(sizes, law) > LEVEL


# Nodes 0, 1 and 2 have 3, 5 and 9 of the nodes 3 to 11 as neighbours; all have 3, 4 and 5.
NESTED = graph_from_edges(
    12,
    {(0, v) for v in range(3, 6)} | {(1, v) for v in range(3, 8)} | {(2, v) for v in range(3, 12)},
)


def test_destinations_keep_a_common_source_together(gnn):
    """(t, s) and (t, s') are both kept with probability min(c_s, c_s'), for two sources at once."""
    fanout, chances = 2, sorted([Fraction(2, 3), Fraction(2, 5), Fraction(2, 9)])
    seen, law = Counter(), {}
    one = {
        i: high - low
        for i, (low, high) in enumerate(zip([0, *chances], [*chances, 1], strict=True))
    }
    for i, p in one.items():  # r_t is below 3 - i of the bounds
        law |= {(3 - i, 3 - j): p * q for j, q in one.items()}
    for b in range(DRAWS[gnn.__name__]):
        drawn = rows_of(sample(gnn, NESTED, [0, 1, 2], (fanout,), (3, 1, b), "labor"), 1)
        kept = [set(NESTED.indices[row].tolist()) for row in drawn]
        for t in (3, 4):  # whoever has the lower bound keeps what the others keep
            assert [t in row for row in kept] == sorted((t in row for row in kept), reverse=True)
        seen[tuple(sum(t in row for row in kept) for t in (3, 4))] += 1
    assert oracles.chi_square_p(seen, law) > LEVEL


def test_exactly_k_are_any_k_and_the_same_for_equal_rows(gnn):
    twins = graph_from_edges(8, {(u, v) for u in (0, 1) for v in range(2, 8)})
    seen = Counter()
    for b in range(DRAWS[gnn.__name__]):
        mfg = sample(gnn, twins, [0, 1], (3,), (4, 0, b), "labor_exact")
        first, second = (tuple(twins.indices[row].tolist()) for row in rows_of(mfg, 1))
        assert first == second
        seen[first] += 1
    law = dict.fromkeys(combinations(range(2, 8), 3), Fraction(1, 20))
    assert oracles.chi_square_p(seen, law) > LEVEL


@pytest.mark.runs
def test_the_horvitz_thompson_sum_is_unbiased(gnn):
    x, fanout, draws = np.random.default_rng(1).normal(size=14), 4, DRAWS[gnn.__name__]
    c = fanout / 12
    sums = [
        x[STAR.indices[rows_of(sample(gnn, STAR, [0], (fanout,), (6, 0, b), "labor"), 1)[0]]].sum()
        / c
        for b in range(draws)
    ]
    deviation = np.sqrt((x[1:13] ** 2).sum() * (1 / c - 1))
    assert abs(np.mean(sums) - x[1:13].sum()) < 3.5 * deviation / np.sqrt(draws)


def test_labor_loads_fewer_nodes_at_the_same_mean_degree(gnn):
    roots = np.arange(0, 2000, 10)
    plain = sample(gnn, EVEN, roots, (10, 5), (1, 0, 0), "layered")
    for mode in ("labor", "labor_exact"):
        mfg = sample(gnn, EVEN, roots, (10, 5), (1, 0, 0), mode)
        assert len(mfg.nodes[0]) < 0.8 * len(plain.nodes[0])
        for ours, theirs in zip(mfg.blocks, plain.blocks, strict=True):
            assert ours.degrees().mean() == pytest.approx(theirs.degrees().mean(), rel=0.15)


@MODES
def test_kappa_of_1_and_the_first_of_a_group_are_independent_draws(gnn, mode):
    for b in (0, 3, 11):
        alone = gnn.sample_mfg(EVEN, [0, 5], (3, 2), seed=1, epoch=2, batch=b, mode=mode)
        for kappa in (1, 4, 64):
            first = sample(gnn, EVEN, [0, 5], (3, 2), (1, 2, b * kappa), mode, kappa)
            for ours, theirs in zip(first.blocks, alone.blocks, strict=True):
                assert_array_equal(ours.edge_ids, theirs.edge_ids)


@pytest.mark.runs
@pytest.mark.parametrize(("i", "j"), [(0, 1), (1, 2), (1, 3), (3, 4), (2, 5)])
def test_two_batches_keep_an_entry_together_by_the_bivariate_normal_law(gnn, i, j):
    """Their normal variates have the correlation of the formula; kappa is 4."""
    kappa, fanout, n = 4, 4, 12
    (g, a), (h, b) = divmod(i, kappa), divmod(j, kappa)
    a, b = a / kappa * pi / 2, b / kappa * pi / 2
    rho = cos(a - b) if g == h else sin(a) * cos(b)
    bound = NORMAL.inv_cdf(fanout / n)
    both = multivariate_normal.cdf([bound, bound], cov=[[1, rho], [rho, 1]])
    law = {(1, 1): both, (1, 0): fanout / n - both, (0, 1): fanout / n - both}
    law[0, 0] = 1 - sum(law.values())
    seen = Counter()
    for epoch in range(DRAWS[gnn.__name__] // 4):
        rows = [
            set(rows_of(sample(gnn, STAR, [0], (fanout,), (9, epoch, q), "labor", kappa), 1)[0])
            for q in (i, j)
        ]
        seen.update((int(t in rows[0]), int(t in rows[1])) for t in range(n))
    draws = sum(seen.values())
    statistic = sum((seen[x] - draws * p) ** 2 / (draws * p) for x, p in law.items())
    assert chi2.sf(statistic, 3) > LEVEL


@pytest.mark.parametrize("batch", [0, 1, 13, 32, 63])
def test_each_variate_is_uniform_and_two_are_correlated_as_the_formula_says(batch):
    kappa, nodes = 64, np.arange(20000)

    def normal(b):
        variates = variates_of_hop((7, 0, b), 1, "labor", kappa)
        drawn = variates.ordering(nodes)
        return drawn if variates.sin else normal_quantile(drawn)

    z = normal(batch)
    assert kstest(z, "norm").pvalue > LEVEL
    for other in (batch + 1, batch + 20):
        (g, i), (h, j) = divmod(batch, kappa), divmod(other, kappa)
        a, b = i / kappa * pi / 2, j / kappa * pi / 2
        rho = cos(a - b) if g == h else sin(a) * cos(b)
        error = (1 - rho**2) / np.sqrt(len(nodes)) + 1e-12
        assert abs(np.corrcoef(z, normal(other))[0, 1] - rho) < 4 * error


@given(st.floats(2.0**-54, 1 - 2.0**-53))
def test_the_quantile_is_that_of_another_program(p):
    assert normal_quantile(p) == pytest.approx(NORMAL.inv_cdf(p), rel=1e-13, abs=1e-15)
    assert normal_quantile(0.0) == normal_quantile(2.0**-54)


@given(st.floats(0, pi / 2))
def test_cosine_and_sine(x):
    assert cos_sin(x) == pytest.approx((cos(x), sin(x)), rel=0, abs=4e-16)


@pytest.mark.parametrize(
    ("mode", "kappa", "error", "message"),
    [
        ("layered", 2, ValueError, 'must be 1 where mode is "layered", got 2'),
        ("shared", 64, ValueError, 'must be 1 where mode is "shared"'),
        ("labor", 0, ValueError, "must be at least 1, got 0"),
        ("labor", 2**31, ValueError, "must be at most 2147483647"),
        ("labor_exact", 1.5, TypeError, "batch_dependency must be an integer"),
    ],
)
def test_bad_dependencies_are_refused(gnn, mode, kappa, error, message):
    with pytest.raises(error, match=message):
        sample(gnn, STAR, [0], (2,), (0, 0, 0), mode, kappa)
    with pytest.raises(error, match=message):
        gnn.samplers.sample_mfg_many(
            STAR, [[0]], (2,), seed=0, epoch=0, mode=mode, batch_dependency=kappa
        )
