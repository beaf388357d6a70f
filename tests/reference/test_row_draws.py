"""Draws of rows against exact laws, by enumeration, and against plain Python."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from refimpl.graph import Graph

RUNS = 4000
E = np.empty(0, np.int64)


def one_row(weights=None, times=None, n=None):
    """Return (graph, weights, times) of a graph with a single row of entries that repeat."""
    n = len(weights if weights is not None else times) if n is None else n
    return Graph._trusted(np.array([0, n]), np.zeros(n, np.int32), False)


def drawn(gnn, graph, fanout, runs=RUNS, weights=None, times=None, until=None, seed=5, **how):
    """Return how often a row draws each set of entries, or sequence if `replace`."""
    table = gnn.samplers.build_entry_table(
        graph,
        weights=None if weights is None else np.array(weights, float),
        times=None if times is None else np.array(times, np.int64),
    )
    keys = gnn.streams.key(seed, np.arange(runs, dtype=np.uint64))
    until = None if until is None else np.full(runs, until)
    rows = np.zeros(runs, np.int64)
    bounds, entries = gnn.samplers.draw_rows(
        graph, rows, fanout, keys, table=table, until=until, **how
    )
    assert bounds[0] == 0 and bounds[-1] == len(entries)
    return Counter(map(tuple, (part.tolist() for part in np.split(entries, bounds[1:-1]))))


def successive(weights, f):
    """Return the law of the set that f draws without replacement take, by all their orders."""
    law: Counter = Counter()
    weights = dict(enumerate(map(Fraction, weights)))
    some = [j for j, w in weights.items() if w]
    for order in permutations(some, min(f, len(some))):
        left, chance = sum(weights.values()), Fraction(1)
        for j in order:
            chance *= weights[j] / left
            left -= weights[j]
        law[tuple(sorted(order))] += chance
    return law


def p_value(seen, law):
    """Return the chi-square p-value of counts under a law; cells that expect under 5 are one."""
    assert set(seen) <= set(law), "an outcome that the law excludes"
    total = sum(seen.values())
    large = [x for x, p in law.items() if total * p >= 5]
    cells = [(seen[x], float(total * law[x])) for x in large]
    rest = total - sum(want for _, want in cells)
    if rest > 1e-6:
        cells.append((total - sum(got for got, _ in cells), rest))
    got, want = zip(*cells, strict=True)
    assert len(cells) > 1
    return chisquare(got, want).pvalue


SKEWED = [1, 2, 0, 4, 8, 0.5]
LONG_ROW = [3, 1, 1, 2, 0, 5, 1, 1, 2, 4]


@pytest.mark.parametrize(
    ("weights", "f"),
    [(SKEWED, 1), (SKEWED, 2), (SKEWED, 3), (SKEWED, 4), (LONG_ROW, 2), (LONG_ROW, 3),
     ([100, 100, 1, 1, 1, 1, 1], 3), ([1e6, 1, 1, 1, 1, 1, 1], 3)],
)  # fmt: skip
def test_the_law_of_efraimidis_and_spirakis(gnn, weights, f):
    """Sets of a short row, of a long row, and of one where few entries have most of the weight."""
    law = successive(weights, f)
    assert sum(law.values()) == 1
    seen = drawn(gnn, one_row(weights), f, weights=weights)
    assert p_value(seen, law) > 1e-3
    flat = dict.fromkeys(law, Fraction(1, len(law)))
    assert p_value(seen, flat) < 1e-6


def test_inclusion_probabilities(gnn):
    """P(j is among 2) = p_j + sum over i of p_i p_j / (1 - p_i), from Efraimidis and Spirakis."""
    weights = np.array([1.0, 2, 3, 4])
    p = weights / weights.sum()
    want = [p[j] + sum(p[i] * p[j] / (1 - p[i]) for i in range(4) if i != j) for j in range(4)]
    seen = drawn(gnn, one_row(weights), 2, weights=weights)
    got = [sum(n for pair, n in seen.items() if j in pair) / RUNS for j in range(4)]
    assert np.allclose(got, want, atol=4 * np.sqrt(0.25 / RUNS))


def test_both_ways_without_replacement_have_one_law(gnn, monkeypatch):
    """The same row, once drawn from its alias table and once by a number for each entry."""
    if gnn.__name__ != "refimpl":
        pytest.skip("the switch between the ways is compiled in")
    from refimpl.samplers import weighted_draws

    law = successive(LONG_ROW, 3)
    for long in (0, 10**6):
        monkeypatch.setattr(weighted_draws, "LONG", long)
        seen = drawn(gnn, one_row(LONG_ROW), 3, weights=LONG_ROW)
        assert p_value(seen, law) > 1e-3


@pytest.mark.parametrize("until", [None, 9, 2])
def test_the_law_with_replacement(gnn, until):
    """Pairs in order: by the alias table of the whole row, and by sums of a part of the row."""
    times = [0, 1, 1, 2, 2, 3]
    seen = drawn(gnn, one_row(SKEWED), 2, weights=SKEWED, times=times, until=until, replace=True)
    some = [
        Fraction(w) if until is None or t <= until else 0
        for w, t in zip(SKEWED, times, strict=True)
    ]
    law = {
        (i, j): Fraction(a * b, sum(some) ** 2)
        for i, a in enumerate(some)
        for j, b in enumerate(some)
        if a * b
    }
    assert p_value(seen, law) > 1e-3


@pytest.mark.parametrize("replace", [False, True])
def test_the_law_of_uniform_draws(gnn, replace):
    times = [0, 0, 1, 1, 2, 5]
    seen = drawn(gnn, one_row(times=times), 2, times=times, until=2, replace=replace)
    pairs = [(i, j) for i in range(5) for j in range(5) if replace or i < j]
    assert p_value(seen, dict.fromkeys(pairs, Fraction(1, len(pairs)))) > 1e-3


def test_the_law_of_weighted_draws_up_to_a_time(gnn):
    times = [0, 1, 1, 2, 2, 3, 4, 5, 6, 7]
    law = successive(LONG_ROW[:7], 3)
    seen = drawn(gnn, one_row(LONG_ROW), 3, weights=LONG_ROW, times=times, until=4)
    assert p_value(seen, law) > 1e-3


def test_the_last_are_the_latest(gnn):
    times = [0, 1, 1, 2, 2, 3]
    graph = one_row(times=times)
    for until, want in ((-1, ()), (0, (0,)), (1, (1, 2)), (2, (3, 4)), (9, (4, 5))):
        assert drawn(gnn, graph, 2, 5, times=times, until=until, last=True) == {want: 5}
    assert drawn(gnn, graph, -1, 5, times=times, until=1, last=True) == {(0, 1, 2): 5}
    two = drawn(gnn, graph, 2, times=times, until=2, last=True, replace=True)
    law = dict.fromkeys([(i, j) for i in (3, 4) for j in (3, 4)], Fraction(1, 4))
    assert p_value(two, law) > 1e-3


def test_weights_of_zero(gnn):
    """A row draws the entries that have a weight where those are fewer; -1 is all of them."""
    weights = [0, 2, 0, 1, 0]
    graph = one_row(weights)
    assert drawn(gnn, graph, 4, 9, weights=weights) == {(1, 3): 9}
    assert drawn(gnn, graph, -1, 9, weights=weights) == {(0, 1, 2, 3, 4): 9}
    assert drawn(gnn, graph, 4, 9, weights=[0] * 5) == {(): 9}
    assert drawn(gnn, graph, 4, 9, weights=[0] * 5, replace=True) == {(): 9}
    tiny = drawn(gnn, graph, 2, weights=[5e-324, 1e-310, 0, 0, 1e-310])
    assert set(tiny) <= {(0, 1), (0, 4), (1, 4)} and tiny[1, 4] > RUNS / 3


@given(degrees=st.lists(st.integers(0, 6), min_size=1, max_size=6), data=st.data())
def test_every_row_against_plain_python(gnn, degrees, data):
    """Counts, distinctness, order and times, in rows that repeat."""
    indptr = np.append(0, np.cumsum(degrees))
    e, n = int(indptr[-1]), len(degrees)
    graph = Graph._trusted(indptr, np.zeros(e, np.int32), False)
    numbers = st.integers(0, 4)
    times = np.array(data.draw(st.lists(numbers, min_size=e, max_size=e)), np.int64)
    times = np.concatenate([E, *(np.sort(row) for row in np.split(times, indptr[1:-1]))])
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=8)), np.int64)
    size = len(rows)
    until = np.array(data.draw(st.lists(st.integers(-1, 5), min_size=size, max_size=size)), int)
    fanout = data.draw(st.sampled_from([-1, 0, 1, 2, 9]))
    table = gnn.samplers.build_entry_table(graph, times=times)
    keys = gnn.streams.key(3, np.arange(size, dtype=np.uint64))
    for last in (False, True):
        bounds, entries = gnn.samplers.draw_rows(
            graph, rows, fanout, keys, table=table, until=until, last=last
        )
        for i, (row, time) in enumerate(zip(rows, until, strict=True)):
            own = entries[bounds[i] : bounds[i + 1]].tolist()
            may = [j for j in range(indptr[row], indptr[row + 1]) if times[j] <= time]
            count = len(may) if fanout < 0 else min(fanout, len(may))
            assert set(own) <= set(may) and len(set(own)) == len(own) == count
            assert own == sorted(own)
            if last:
                assert own == may[len(may) - count :]


def test_a_row_does_not_depend_on_the_others(gnn):
    rng = np.random.default_rng(0)
    indptr = np.append(0, np.cumsum(rng.integers(0, 30, 40)))
    graph = Graph._trusted(indptr, np.zeros(indptr[-1], np.int32), False)
    table = gnn.samplers.build_entry_table(graph, weights=rng.random(graph.e))
    rows, keys = rng.integers(0, 40, 90), gnn.streams.key(1, np.arange(90, dtype=np.uint64))
    bounds, entries = gnn.samplers.draw_rows(graph, rows, 5, keys, table=table)
    turned = gnn.samplers.draw_rows(graph, rows[::-1], 5, keys[::-1], table=table)
    for i in range(90):
        other = turned.entries[turned.bounds[89 - i] : turned.bounds[90 - i]]
        assert np.array_equal(entries[bounds[i] : bounds[i + 1]], other)


def test_arrays_of_a_table_are_read_only_copies(gnn):
    weights, times = np.ones(3, np.float32), np.arange(3)
    table = gnn.samplers.build_entry_table(one_row(weights), weights=weights, times=times)
    weights[:] = times[:] = -1
    assert table.weights.tolist() == [1, 1, 1] and table.times.tolist() == [0, 1, 2]
    assert not any(array.flags.writeable for array in table)
    assert table.weights.dtype == np.float64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": np.array([1.0, -1])}, "weights must be finite and not negative"),
        ({"weights": np.array([1.0, np.nan])}, "weights must be finite and not negative"),
        ({"weights": np.array([1e308, 1e308])}, "weights must have finite sums"),
        ({"weights": np.ones(3)}, "weights must have shape"),
        ({"times": np.array([2, 1])}, "times must ascend in each row"),
        ({"times": np.arange(3)}, "times must have shape"),
    ],
)
def test_a_table_refuses(gnn, given, message):
    with pytest.raises(ValueError, match=message):
        gnn.samplers.build_entry_table(one_row(n=2), **given)


def test_times_may_fall_from_row_to_row(gnn):
    graph = Graph._trusted(np.array([0, 0, 2, 2, 3]), np.zeros(3, np.int32), False)
    gnn.samplers.build_entry_table(graph, times=np.array([4, 5, 1]))
    with pytest.raises(ValueError, match="ascend"):
        gnn.samplers.build_entry_table(graph, times=np.array([5, 4, 1]))


@given(
    known=st.lists(st.integers(-3, 9), max_size=9), met=st.lists(st.integers(-3, 9), max_size=20)
)
def test_relabel(gnn, known, met):
    codes, places = gnn.samplers.relabel(known, met)
    codes = codes.tolist()
    new = codes[len(known) :]
    assert codes[: len(known)] == known
    assert new == list(dict.fromkeys(code for code in met if code not in known))
    assert places.tolist() == [codes.index(code) for code in met]


def test_relabel_keeps_large_codes_apart(gnn):
    codes = [2**62, -(2**63), 2**62 + 1, 0, 2**32, 2**62]
    got = gnn.samplers.relabel([], codes)
    assert got.codes.tolist() == codes[:5] and got.places.tolist() == [0, 1, 2, 3, 4, 0]
