"""The cost models against enumeration, exact chains, and what the samplers count."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import even_graph, graph_from_edges

from refimpl import as_graph
from refimpl.lab.backend import find

VERSIONS = ("ipdps", "jpdc")
FACTORS = {"ipdps": (4, 3), "jpdc": (2, 1)}  # K = first + second / (eta - 1)
ETAS = [Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(7)]
SMALL = graph_from_edges(6, {(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (4, 5), (5, 5)})


# Rounds and costs.


def rounds_by_series(p, eta):
    """Return the mean of ceil(G / p), G geometric with success 1 / eta, term by term."""
    miss = 1 - 1 / float(eta)
    last = math.ceil(-45 / math.log(miss)) if miss else 1
    return sum(-(-t // p) * miss ** (t - 1) / float(eta) for t in range(1, last + p))


def factor(eta, version):
    first, second = FACTORS[version]
    return first + second / (Fraction(eta) - 1)


def cost_by_hand(p, eta, d, version, lanes_exact=False, rho=1):
    """Return the cost of a pop, the rounds by their series."""
    steps = -(-d // p) if lanes_exact else Fraction(d) / p
    return rho * rounds_by_series(p, eta) + float(factor(eta, version) * steps)


@pytest.mark.parametrize("p", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("eta", ETAS)
def test_expected_rounds(gnn, p, eta):
    assert gnn.cost_models.expected_rounds(p, float(eta)) == pytest.approx(
        rounds_by_series(p, eta), rel=1e-12
    )


def test_expected_rounds_of_one_lane_and_of_many(gnn):
    eta = np.array([1.1, 2, 5, 30])
    np.testing.assert_allclose(gnn.cost_models.expected_rounds(1, eta), eta, rtol=1e-12)
    by_lanes = gnn.cost_models.expected_rounds(np.arange(1, 200)[:, None], eta)
    assert by_lanes.shape == (199, 4)
    assert (np.diff(by_lanes, axis=0) <= 0).all()
    assert (np.diff(by_lanes, axis=1) >= 0).all()
    assert by_lanes[-1] == pytest.approx(1, rel=0.002)


@pytest.mark.runs
@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("eta", [2.0, 3.0])
def test_rounds_and_probes_of_the_sampler(gnn, eta, lanes):
    """On a graph so even that one entry in eta is in use all the time."""
    sampler = gnn.Sampler("pin_tile", m=100, n=1500, eta=eta, lanes=lanes)
    drawn = gnn.sample_many(even_graph(2000, 40), sampler, 2, 0, 4)
    pops, probes, rounds = (
        sum(getattr(sub.counters, name) for sub in drawn) for name in ("pops", "probes", "rounds")
    )
    # Four standard deviations of a geometric mean, and 2 % for a frontier that is not even.
    error = 4 * math.sqrt(eta * (eta - 1) / pops) + 0.02
    assert probes / pops == pytest.approx(eta, abs=error)
    assert rounds / pops == pytest.approx(gnn.cost_models.expected_rounds(lanes, eta), abs=error)


@pytest.mark.parametrize("version", VERSIONS)
def test_costs(gnn, version):
    for eta, p, d in product(ETAS, (1, 3, 16), (1, 15, 100)):
        e = float(eta)
        assert gnn.cost_models.memory_factor(e, version) == pytest.approx(
            float(factor(eta, version))
        )
        for exact in (False, True):
            got = gnn.cost_models.sample_cost(
                p, e, d, 90, 20, version, c_rand=7.0, c_mem=2.0, lanes_exact=exact
            )
            want = 70 * 2 * cost_by_hand(p, eta, d, version, exact, rho=3.5)
            assert got == pytest.approx(want, rel=1e-12)
        scan = gnn.cost_models.sample_cost(p, e, d, 90, 20, version, index_scan=True)
        plain = gnn.cost_models.sample_cost(p, e, d, 90, 20, version)
        assert scan - plain == pytest.approx(70 * e / (e - 1), rel=1e-9)


def test_numbers_give_numbers_and_arrays_broadcast(gnn):
    assert isinstance(gnn.cost_models.sample_cost(2, 3, 15, 8, 4, "jpdc"), np.float64)
    assert isinstance(gnn.cost_models.theorem1_pmax(0.5, 3, 15, "jpdc"), np.float64)
    p, d = np.array([1, 2, 4]), np.array([[5], [50]])
    costs = gnn.cost_models.sample_cost(p, 2.0, d, 10, 4, "ipdps")
    assert costs.shape == (2, 3)
    assert costs[1, 2] == gnn.cost_models.sample_cost(4, 2.0, 50, 10, 4, "ipdps")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("deg_cap", [None, 2])
@pytest.mark.parametrize("exact", [False, True])
def test_cost_from_graph(gnn, version, deg_cap, exact):
    degrees = [len(oracles.neighbours(SMALL, v)) for v in range(SMALL.n)]
    weights = oracles.pop_weights(SMALL, deg_cap)
    mean = sum(cost_by_hand(4, 2, w, version, exact) for w in weights) / SMALL.n
    ends = [cost_by_hand(4, 2, weights[v], version, exact) for v in SMALL.indices]
    got = gnn.cost_models.sample_cost_from_graph(
        SMALL, 4, 2.0, 30, 10, version, deg_cap=deg_cap, lanes_exact=exact
    )
    assert got.printed == pytest.approx(20 * mean)
    assert got.corrected == pytest.approx(20 * sum(ends) / sum(degrees))  # ends of random edges
    scan = gnn.cost_models.sample_cost_from_graph(
        SMALL, 4, 2.0, 30, 10, version, deg_cap=deg_cap, lanes_exact=exact, index_scan=True
    )
    d, d_e = sum(weights) / SMALL.n, gnn.cost_models.size_biased_degree(SMALL, deg_cap)
    assert scan.printed - got.printed == pytest.approx(20 * 2)
    assert scan.corrected - got.corrected == pytest.approx(20 * (1 + d_e / d))


def test_index_columns_are_not_few(gnn):
    """E-C6: on a sparse graph, reading them is a large part of the cost, not a neglected one."""
    share = [
        1
        - gnn.cost_models.sample_cost(8, 2.0, d, 2, 1, "jpdc")
        / gnn.cost_models.sample_cost(8, 2.0, d, 2, 1, "jpdc", index_scan=True)
        for d in (3, 300)
    ]
    assert share[0] > 0.45
    assert share[1] < 0.02


# E-C1: the chain of frontiers, solved.


def stationary(graph, m, deg_cap=None):
    """Return every frontier of m slots that the chain visits and its stationary probability."""
    weights = oracles.pop_weights(graph, deg_cap)
    states = list(product(range(graph.n), repeat=m))
    number = {state: i for i, state in enumerate(states)}
    P = np.zeros((len(states), len(states)))
    for state, i in number.items():
        total = sum(weights[v] for v in state)
        for slot, v in enumerate(state):
            near = oracles.neighbours(graph, v)
            for x in near:
                after = (*state[:slot], x, *state[slot + 1 :])
                P[i, number[after]] += weights[v] / total / len(near)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    equations = np.vstack([P.T - np.eye(len(states)), np.ones(len(states))])
    target = np.append(np.zeros(len(states)), 1)
    return states, np.linalg.lstsq(equations, target, rcond=None)[0]


@pytest.mark.parametrize("deg_cap", [None, 1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_popped_degree_is_size_biased(gnn, m, deg_cap):
    states, pi = stationary(SMALL, m, deg_cap)
    degrees = np.array(oracles.pop_weights(SMALL, None))
    weights = oracles.pop_weights(SMALL, deg_cap)
    popped, total = np.zeros(SMALL.n), 0
    for state, probability in zip(states, pi, strict=True):
        weight = sum(weights[v] for v in state)
        total += probability * weight
        for v in state:
            popped[v] += probability * weights[v] / weight
    np.testing.assert_allclose(popped, degrees / degrees.sum(), atol=1e-12)
    assert popped @ weights == pytest.approx(
        gnn.cost_models.size_biased_degree(SMALL, deg_cap), rel=1e-12
    )
    if deg_cap is None:  # the frontier's weight: m - 1 of the mean degree and one size-biased
        by_degree = [sum(weights[v] for v in state) for state in states]
        np.testing.assert_allclose(pi, by_degree / np.sum(by_degree), atol=1e-12)
        want = (m - 1) * degrees.mean() + gnn.cost_models.size_biased_degree(SMALL)
        assert total == pytest.approx(want, rel=1e-12)
        assert gnn.cost_models.size_biased_degree(SMALL) > 1.1 * degrees.mean()


def test_a_cap_makes_the_frontier_heavier(gnn):
    """The premise of the refined model: m d_f entries, more than m times the mean weight."""
    deg_cap, m, eta = 2, 3, 2.0
    states, pi = stationary(SMALL, m, deg_cap)
    weights = np.array(oracles.pop_weights(SMALL, deg_cap))
    degrees = np.array(oracles.pop_weights(SMALL, None))
    # Pi is the weight of the frontier times a product over its slots of deg / weight ..
    law = np.array([weights[list(s)].sum() * np.prod((degrees / weights)[list(s)]) for s in states])
    np.testing.assert_allclose(pi, law / law.sum(), atol=1e-12)
    # .. so slots other than the one to be popped have the mean weight d_f.
    d_f = degrees.sum() / (degrees / weights).sum()
    d_e, unused = (np.average(weights**k, weights=degrees) for k in (1, 2))
    room = m * (eta * weights.mean() - d_f) - unused / (2 * d_e)
    got = gnn.cost_models.cleanups_from_graph(SMALL, eta, 30, m, deg_cap=deg_cap)
    assert d_f > weights.mean()
    assert got.refined.cleanups == pytest.approx(27 * d_e / room)
    assert got.refined.moved == pytest.approx(d_e / room * m * d_f)


# Clean-ups and moves that samplers count.


def hubs(n, mean, exponent, seed):
    """Return a graph whose degrees fall off as a power law of this exponent."""
    weight = np.arange(1, n + 1) ** (-1 / (exponent - 1))
    rng = np.random.default_rng(seed)
    ends = rng.choice(n, size=(n * mean // 2, 2), p=weight / weight.sum())
    return as_graph(ends, n=n, symmetrize=True, self_loops=False)


POWER_LAW = hubs(5000, 12, 2.5, 1)


def counted(gnn, graph, eta, deg_cap=None, n=6000, m=250):
    """Return clean-ups and moves a pop of four subgraphs, and the three models."""
    sampler = gnn.Sampler("pin_tile", m=m, n=n, eta=eta, deg_cap=deg_cap, overflow="grow")
    seen = [sub.counters for sub in gnn.sample_many(graph, sampler, 1, 0, 4)]
    pops, cleanups, moved = (
        sum(getattr(c, name) for c in seen) for name in ("pops", "cleanups", "moved")
    )
    assert pops == 4 * (n - m)
    return (cleanups / 4, moved / pops), gnn.cost_models.cleanups_from_graph(
        graph, eta, n, m, deg_cap=deg_cap
    )


@pytest.mark.runs
@pytest.mark.parametrize("eta", [2.0, 3.0])
def test_corrected_model_predicts_and_the_printed_one_does_not(gnn, eta):
    seen, models = counted(gnn, POWER_LAW, eta)
    assert seen[0] >= 50
    assert seen == pytest.approx(models.corrected, rel=0.15)
    assert seen == pytest.approx(models.refined, rel=0.15)
    for measured, printed in zip(seen, models.printed, strict=True):
        assert measured > 4 * printed
    d, d_e = POWER_LAW.e / POWER_LAW.n, gnn.cost_models.size_biased_degree(POWER_LAW)
    assert models.corrected.cleanups == gnn.cost_models.predicted_cleanups(eta, d, 6000, 250, d_e)
    assert models.corrected.moved == gnn.cost_models.predicted_moves(eta, d, d_e)
    assert models.printed.cleanups == gnn.cost_models.predicted_cleanups(eta, d, 6000, 250)
    assert models.printed.cleanups == pytest.approx(5750 / ((eta - 1) * 250))
    assert models.printed.moved == pytest.approx(gnn.cost_models.predicted_moves(eta, d))


@pytest.mark.runs
@pytest.mark.parametrize("eta", [1.5, 2.0])
def test_refined_model_predicts_with_a_cap_and_the_corrected_one_does_not(gnn, eta):
    seen, models = counted(gnn, POWER_LAW, eta, deg_cap=30)
    assert seen[0] >= 50
    assert seen == pytest.approx(models.refined, rel=0.15)
    assert seen[1] > 1.3 * models.corrected.moved > 1.3 * models.printed.moved


@pytest.mark.runs
def test_all_models_agree_where_degrees_hardly_differ(gnn):
    seen, models = counted(gnn, even_graph(2000, 60), 1.5, m=80)
    assert seen[0] >= 50
    for model in models:
        assert seen == pytest.approx(model, rel=0.15)


def test_no_room_has_no_prediction(gnn):
    pair = gnn.cost_models.cleanups_from_graph(
        graph_from_edges(9, {(0, v) for v in range(1, 9)}), 1.01, 4, 2
    )
    assert np.isnan(pair.refined).all()
    assert np.isfinite(pair.corrected).all()


# Theorem 1.

EPS = st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)])
DEGREES = st.integers(1, 400)


def lanes_up_to(data, most):
    """Draw p in [1, most], the largest often."""
    return data.draw(st.one_of(st.just(most), st.integers(1, most)), label="p")


@given(EPS, st.sampled_from(ETAS), DEGREES, st.sampled_from(VERSIONS), st.data())
def test_theorem_1(gnn, eps, eta, d, version, data):
    """The cost of a pop is summed term by term here, not by the formula of the proof."""
    pmax = gnn.cost_models.theorem1_pmax(float(eps), float(eta), d, version)
    exact = float(eps * d * factor(eta, version) - eta)
    assert math.floor(exact - 1e-9) <= pmax <= math.floor(exact + 1e-9)
    if pmax < 1:
        return
    p = lanes_up_to(data, int(pmax))
    speedup = cost_by_hand(1, eta, d, version) / cost_by_hand(p, eta, d, version)
    assert speedup >= p / (1 + float(eps)) * (1 - 1e-12)
    assert gnn.cost_models.theorem1_speedup(p, float(eta), d, version) == pytest.approx(
        speedup, rel=1e-10
    )


@given(EPS, st.sampled_from(ETAS), DEGREES, st.sampled_from(VERSIONS), st.data())
def test_theorem_1_for_whole_lanes(gnn, eps, eta, d, version, data):
    """The corollary, with ceil(d / p), and a probe that costs rho times an entry."""
    rho = data.draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(8)]), label="rho")
    pmax = gnn.cost_models.theorem1_pmax_lanes(float(eps), float(eta), d, version, rho=float(rho))
    if pmax < 1:
        return
    p = lanes_up_to(data, int(pmax))
    one, many = (cost_by_hand(q, eta, d, version, True, float(rho)) for q in (1, p))
    assert one / many >= p / (1 + float(eps)) * (1 - 1e-12)
    got = gnn.cost_models.theorem1_speedup(
        p, float(eta), d, version, rho=float(rho), lanes_exact=True
    )
    assert got == pytest.approx(one / many, rel=1e-10)


@given(EPS, st.sampled_from(ETAS), DEGREES, st.sampled_from(VERSIONS), st.data())
def test_theorem_1_where_a_probe_costs_more(gnn, eps, eta, d, version, data):
    rho = data.draw(st.sampled_from([Fraction(1, 2), Fraction(8)]), label="rho")
    pmax = gnn.cost_models.theorem1_pmax(float(eps), float(eta), d, version, rho=float(rho))
    if pmax < 1:
        return
    p = lanes_up_to(data, int(pmax))
    one, many = (cost_by_hand(q, eta, d, version, False, float(rho)) for q in (1, p))
    assert one / many >= p / (1 + float(eps)) * (1 - 1e-12)


@pytest.mark.parametrize("version, pmax, lanes", [("ipdps", 38, 6), ("jpdc", 15, 5)])
def test_whole_lanes_break_the_printed_range(gnn, version, pmax, lanes):
    """E-C5: the counter-witness eps = 0.5, eta = 3, d = 15, at the printed bound."""
    assert gnn.cost_models.theorem1_pmax(0.5, 3, 15, version) == pmax
    assert gnn.cost_models.theorem1_pmax_lanes(0.5, 3, 15, version) == lanes
    promised = pmax / 1.5
    real, whole = (
        cost_by_hand(1, 3, 15, version) / cost_by_hand(pmax, 3, 15, version, exact)
        for exact in (False, True)
    )
    assert real >= promised
    assert gnn.cost_models.theorem1_speedup(pmax, 3, 15, version) >= promised
    if version == "ipdps":
        assert whole < 0.6 * promised
        assert (
            gnn.cost_models.theorem1_speedup(pmax, 3, 15, version, lanes_exact=True)
            < 0.6 * promised
        )


def test_more_lanes_than_pins_break_the_printed_range(gnn):
    """E-C5 in JPDC'21: with eps = 3, a hundred lanes share fifteen entries."""
    pmax = int(gnn.cost_models.theorem1_pmax(3, 3, 15, "jpdc"))
    assert pmax == 109
    assert cost_by_hand(1, 3, 15, "jpdc") / cost_by_hand(pmax, 3, 15, "jpdc", True) < pmax / 4
    assert gnn.cost_models.theorem1_speedup(pmax, 3, 15, "jpdc", lanes_exact=True) < pmax / 4


def test_the_example_of_the_text(gnn):
    """E-C3: with eps = 0.5 and eta = 3, IPDPS'19 prints 2.25 d - 3."""
    d = np.arange(4, 400)
    got = gnn.cost_models.theorem1_pmax(0.5, 3, d, "ipdps")
    np.testing.assert_array_equal(got, (11 * d) // 4 - 3)
    assert (got > 2.25 * d - 3).all()
    for eta in (1.1, 2, 10):  # JPDC'21: "at least d - eta"
        assert (gnn.cost_models.theorem1_pmax(0.5, eta, d, "jpdc") >= np.floor(d - eta)).all()


@given(EPS, st.sampled_from(ETAS), DEGREES, st.sampled_from(VERSIONS), st.integers(1, 2000))
def test_steps_of_the_proof(gnn, eps, eta, d, version, p):
    steps = gnn.cost_models.theorem1_steps(p, float(eps), float(eta), d, version)
    K = factor(eta, version)
    assert steps.rounds == pytest.approx(rounds_by_series(p, eta), rel=1e-10)
    assert steps.rational == pytest.approx(float((eta + p) / p))
    assert steps.premise == pytest.approx(float(eps * d * K / p))
    assert (steps.serial, steps.serial_bound) == pytest.approx((float(eta + d * K), float(d * K)))
    slack = 1 + 1e-12
    assert steps.rounds <= steps.exponential * slack  # (a)
    assert steps.exponential <= steps.rational * slack  # (b)
    premise_holds = p <= eps * d * K - eta
    assert (steps.rational <= steps.premise * slack) == premise_holds  # (c)
    assert steps.serial >= steps.serial_bound  # (d)


def test_bound_is_about_the_parallel_sampler(gnn):
    """E-C2: Algorithm 2 is serial; its `rounds` are its pops, whatever the lanes."""
    graph = even_graph(200, 10)
    serial = gnn.frontier(graph, 1, 2, m=10, n=80).counters
    assert serial.rounds == serial.pops
    one, eight = (gnn.pin_tile(graph, 1, 2, m=10, n=80, lanes=p).counters for p in (1, 8))
    assert eight.rounds < one.rounds


# Fits, and bad arguments.


def test_calibrate(gnn):
    """What it measures depends on the machine; that it is a time of one operation does not."""
    got = gnn.cost_models.calibrate(entries=1000, repeats=2)
    assert all(1e-12 < seconds < 1e-5 for seconds in got)
    assert got.c_rand == got.draw + got.access
    assert got.c_mem == got.write


NO_EDGES = graph_from_edges(3, set())
ARROW = as_graph([(0, 1)], n=3)
BAD = [
    ("expected_rounds", (0, 2), {}, "p must be at least 1, got 0"),
    ("expected_rounds", (1.5, 2), {}, "p must be whole numbers"),
    ("expected_rounds", (1, 1), {}, "eta must be above 1, got 1"),
    ("expected_rounds", (1, [2, np.nan]), {}, "eta must be finite"),
    ("expected_rounds", ("1", 2), {}, "p must be real numbers"),
    ("expected_rounds", (True, 2), {}, "p must be real numbers"),
    ("memory_factor", (2, "kdd"), {}, "version must be one of 'ipdps', 'jpdc', got 'kdd'"),
    ("sample_cost", (1, 2, -1, 5, 2, "jpdc"), {}, "d must be at least 0"),
    ("sample_cost", (1, 2, 3, 5, 6, "jpdc"), {}, "n must be at least m"),
    ("sample_cost", (1, 2, 3, 5, 0, "jpdc"), {}, "m must be at least 1"),
    ("sample_cost", (1, 2, 3, 5, 2, "jpdc"), {"c_rand": -1}, "c_rand must be at least 0"),
    ("sample_cost", (1, 2, 3, 5, 2, "jpdc"), {"c_mem": 1j}, "c_mem must be real numbers"),
    ("sample_cost_from_graph", (NO_EDGES, 1, 2, 5, 2, "jpdc"), {}, "at least one edge"),
    ("sample_cost_from_graph", (SMALL, 0, 2, 5, 2, "jpdc"), {}, "p must be"),
    ("sample_cost_from_graph", (SMALL, 1, 2, [5, 6], [2, 2, 2], "jpdc"), {}, "n, m must have"),
    ("sample_cost_from_graph", (SMALL, 1, 1.0, 5, 2, "jpdc"), {}, "eta must be"),
    ("size_biased_degree", (ARROW,), {}, "undirected"),
    ("size_biased_degree", (NO_EDGES,), {}, "at least one edge"),
    ("size_biased_degree", (SMALL, 0), {}, "deg_cap must be"),
    ("predicted_cleanups", (2, 0, 5, 2), {}, "d must be above 0"),
    ("predicted_cleanups", (2, 3, 5, 2, 0), {}, "d_e must be above 0"),
    ("predicted_moves", (0.5, 3), {}, "eta must be above 1"),
    ("cleanups_from_graph", (SMALL, 1, 5, 2), {}, "eta must be above 1"),
    ("cleanups_from_graph", (SMALL, 2, 2, 5), {}, "n must be at least m"),
    ("theorem1_pmax", (0, 3, 15, "jpdc"), {}, "eps must be above 0"),
    ("theorem1_pmax", (1, 3, 15, "jpdc"), {"rho": 0}, "rho must be above 0"),
    ("theorem1_pmax_lanes", (1, 1, 15, "jpdc"), {}, "eta must be above 1"),
    ("theorem1_pmax_lanes", (1, 2, 0, "jpdc"), {}, "d must be above 0"),
    ("theorem1_speedup", (1, 2, 3, "both"), {}, "version must be"),
    ("theorem1_speedup", (0, 2, 3, "jpdc"), {}, "p must be at least 1"),
    ("theorem1_steps", (1, -1, 2, 3, "jpdc"), {}, "eps must be above 0"),
    ("calibrate", (), {"entries": 0}, "entries must be"),
    ("calibrate", (), {"repeats": 0.5}, "repeats must be an integer"),
]


@pytest.mark.parametrize("name, args, kwargs, message", BAD, ids=lambda x: str(x)[:20])
def test_errors(gnn, name, args, kwargs, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find(gnn, name)(*args, **kwargs)
