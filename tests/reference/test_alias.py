"""The alias method: the table against its law, a table by hand, and the draws."""

from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import KEYS

WEIGHT = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(0, 1e6), st.floats(0, 1e-300))


def law_of_table(table):
    """Return the probability of every outcome, as Fractions."""
    k = len(table.prob)
    law = [Fraction(p) / k for p in table.prob.tolist()]
    for p, other in zip(table.prob.tolist(), table.alias.tolist(), strict=True):
        law[other] += (1 - Fraction(p)) / k
    return law


@given(weights=st.lists(WEIGHT, min_size=1, max_size=60).filter(any))
def test_table_is_the_law(gnn, weights):
    """To rounding, and an outcome of weight 0 cannot be drawn."""
    table = gnn.samplers.alias_build(np.array(weights))
    assert (table.prob.dtype, table.alias.dtype) == (np.float64, np.int64)
    assert ((table.prob >= 0) & (table.prob <= 1)).all()
    assert ((table.alias >= 0) & (table.alias < len(weights))).all()
    total = sum(map(Fraction, weights))
    for got, w in zip(law_of_table(table), weights, strict=True):
        assert abs(got - Fraction(w) / total) < 1e-12
        assert w or not got


def test_table_by_hand(gnn):
    """Shares 0.5 1.5 1.5 0.5: the tops of the stacks meet first, 3 with 2, then 0 with 2."""
    table = gnn.samplers.alias_build(np.array([1.0, 3.0, 3.0, 1.0]))
    assert table.prob.tolist() == [0.5, 1.0, 0.5, 0.5]
    assert table.alias.tolist() == [2, 1, 1, 2]


def test_rounding_follows_the_stated_order(gnn):
    """The sum from left to right, (p_l + p_s) - 1, each operation rounded on its own."""
    weights = (1 / np.arange(1, 200)).tolist()
    total = 0.0
    for w in weights:
        total = total + w
    shares = [w / total * len(weights) for w in weights]
    prob, alias = [1.0] * len(weights), list(range(len(weights)))
    below = [i for i, p in enumerate(shares) if p < 1]
    others = [i for i, p in enumerate(shares) if p >= 1]
    while below and others:
        s, big = below.pop(), others.pop()
        prob[s], alias[s] = shares[s], big
        joined = shares[big] + shares[s]
        shares[big] = joined - 1.0
        [others, below][shares[big] < 1].append(big)
    table = gnn.samplers.alias_build(np.array(weights))
    assert table.prob.tolist() == prob
    assert table.alias.tolist() == alias


@pytest.mark.parametrize(
    "weights", [[5.0], [0.0, 0.0, 2.0], [1e308, 1e-308], [1e-320, 2e-320], [1.0] * 7]
)
def test_extreme_weights(gnn, weights):
    law = law_of_table(gnn.samplers.alias_build(np.array(weights)))
    total = sum(map(Fraction, weights))
    assert all(abs(p - Fraction(w) / total) < 1e-12 for p, w in zip(law, weights, strict=True))


def test_float32_weights_are_taken_as_they_are(gnn):
    weights = np.array([0.1, 0.7, 0.2], np.float32)
    single, double = (
        gnn.samplers.alias_build(weights),
        gnn.samplers.alias_build(weights.astype(np.float64)),
    )
    assert single.prob.tolist() == double.prob.tolist()
    assert single.alias.tolist() == double.alias.tolist()


@given(k=KEYS, c=KEYS, size=st.integers(1, 9))
def test_draw_takes_two_numbers(gnn, k, c, size):
    table = gnn.samplers.alias_build(np.arange(1.0, size + 1))
    draws = oracles.Draws(k)
    draws.count = c
    i = draws.below(size)
    want = i if draws.uniform() < table.prob[i] else table.alias[i]
    got = gnn.samplers.alias_draw(table, k, c)
    assert got == want
    assert isinstance(got, int)


def test_draws_have_the_law(gnn):
    weights = [3.0, 0.0, 1.0, 7.0, 2.0, 2.0, 5.0, 0.5, 9.0, 4.0, 6.0, 1.5, 8.0]
    table = gnn.samplers.alias_build(np.array(weights))
    seen = Counter(gnn.samplers.alias_draw(table, gnn.streams.key(11), 2 * c) for c in range(8000))
    law = {i: Fraction(w) / Fraction(sum(weights)) for i, w in enumerate(weights)}
    assert seen[1] == 0
    assert oracles.chi_square_p(seen, law) > 0.001
    flat = dict.fromkeys(range(len(weights)), Fraction(1, len(weights)))
    assert oracles.chi_square_p(seen, flat) < 1e-6


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        (np.array([]), ValueError),
        (np.zeros(3), ValueError),
        (np.array([1.0, -1.0]), ValueError),
        (np.array([1.0, np.nan]), ValueError),
        (np.array([1.0, np.inf]), ValueError),
        (np.array([1e308, 1e308]), ValueError),  # the sum is not finite
        (np.ones((2, 2)), ValueError),
        (np.ones(3, np.int64), TypeError),
        (["a"], TypeError),
        (None, TypeError),
    ],
)
def test_alias_build_rejects(gnn, weights, error):
    with pytest.raises(error, match="weights"):
        gnn.samplers.alias_build(weights)


def test_alias_draw_rejects(gnn):
    table = gnn.samplers.alias_build(np.ones(2))
    with pytest.raises(TypeError, match="table"):
        gnn.samplers.alias_draw(tuple(table), 0, 0)
    for k, c in ((-1, 0), (0, 2**64)):
        with pytest.raises(ValueError, match="must be in"):
            gnn.samplers.alias_draw(table, k, c)
    with pytest.raises(TypeError):
        gnn.samplers.alias_draw(table, 0.5, 0)
