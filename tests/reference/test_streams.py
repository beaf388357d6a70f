"""Random streams against the published numbers and an independent shuffle."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import KEYS

from refimpl import streams
from refimpl.lab.backend import find

K = 0xE9FBA137853DAE22  # key(7, 1, 2, 3)


def unmix(x):
    """Invert `mix`, to build the key whose draw is the largest there is."""
    x = (x ^ (x >> 31) ^ (x >> 62)) * pow(0x94D049BB133111EB, -1, 2**64) & oracles.MASK
    x = (x ^ (x >> 27) ^ (x >> 54)) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & oracles.MASK
    return x ^ (x >> 30) ^ (x >> 60)


def test_golden_values(gnn):
    assert gnn.streams.mix(1) == 0x5692161D100B05E5
    assert gnn.streams.key(0, 0, 0) == 0x238275BC38FCBE91
    assert gnn.streams.key(7, 1, 2, 3) == K
    draws = [gnn.streams.uniform(K, c) for c in range(3)]
    assert draws == [0.16154805001137196, 0.46206577479289324, 0.9754276327886726]
    assert [gnn.streams.below(K, c, 10) for c in range(8)] == [1, 4, 9, 6, 7, 8, 9, 2]


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (50,), (3, 5), (2, 0)])
def test_many_words_are_drawn_some_at_a_time(monkeypatch, shape):
    """Ctrl-C is noticed between two calls of NumPy: none has more words than a block."""
    sizes, core = [], streams._mix

    def counted(x):
        sizes.append(np.size(x))
        return core(x)

    monkeypatch.setattr(streams, "BLOCK", 7)
    monkeypatch.setattr(streams, "_mix", counted)
    words = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape)[::-1]
    for function in (
        streams.mix,
        lambda c: streams.key(1, c),
        lambda c: streams.uniform(3, c),
        lambda c: streams.below(3, c, 9),
    ):
        got = function(words)
        assert got.shape == shape
        assert got.ravel().tolist() == [function(int(c)) for c in words.ravel()]
    assert max(sizes) <= 7


def test_golden_sample_of_floyd(gnn):
    chosen = set()
    for c, last in enumerate(range(20, 30)):
        t = gnn.streams.below(K, c, last + 1)
        chosen.add(last if t in chosen else t)
    assert sorted(chosen) == [2, 3, 6, 10, 15, 19, 21, 22, 26, 29]


def test_mix_gives_the_published_splitmix64_sequence(gnn):
    state = [(1234567 + oracles.GOLD * i) & oracles.MASK for i in (1, 2, 3)]
    want = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [gnn.streams.mix(x) for x in state] == want
    assert_array_equal(gnn.streams.mix(np.array(state, np.uint64)), np.array(want, np.uint64))


@given(parts=st.lists(KEYS, max_size=5), c=st.lists(KEYS, min_size=1, max_size=5))
def test_streams_against_python_integers(gnn, parts, c):
    k = gnn.streams.key(*parts)
    assert k == oracles.stream_key(*parts)
    inputs = [(k + oracles.GOLD * (x + 1)) & oracles.MASK for x in c]
    want = [(oracles.split_mix(x) >> 11) * 2.0**-53 for x in inputs]
    assert [gnn.streams.uniform(k, x) for x in c] == want
    assert [gnn.streams.mix(x) for x in inputs] == [oracles.split_mix(x) for x in inputs]


@given(k=KEYS, c=st.lists(KEYS, max_size=6), n=st.integers(1, 2**53 - 1))
def test_arrays_hold_the_scalar_draws(gnn, k, c, n):
    array = np.array(c, np.uint64)
    array.flags.writeable = False
    cases = (
        (gnn.streams.mix(array), [gnn.streams.mix(x) for x in c], np.uint64),
        (gnn.streams.uniform(k, array), [gnn.streams.uniform(k, x) for x in c], np.float64),
        (gnn.streams.below(k, array, n), [gnn.streams.below(k, x, n) for x in c], np.int64),
    )
    for got, want, dtype in cases:
        assert got.dtype == dtype
        assert got.tolist() == want
    table = np.array(c * 2, np.uint64).reshape(2, -1)
    assert gnn.streams.uniform(k, table).shape == table.shape


@given(k=KEYS, n=st.integers(1, 2**53 - 1))
def test_below_is_the_floor_of_the_product(gnn, k, n):
    draw = gnn.streams.below(k, 0, n)
    assert draw == int(gnn.streams.uniform(k, 0) * n)
    assert 0 <= draw < n


def test_below_never_reaches_n_for_the_largest_draw(gnn):
    k = (unmix(2**64 - 1) - oracles.GOLD) & oracles.MASK
    assert gnn.streams.uniform(k, 0) == 1 - 2**-53
    powers = [2**e + d for e in range(2, 53) for d in (-1, 0, 1)]
    for n in [*range(1, 2000), *powers, 2**53 - 1]:
        assert gnn.streams.below(k, 0, n) == n - 1, n


@given(k=KEYS, c=st.integers(0, 1000), N=st.integers(0, 40), data=st.data())
def test_pick_is_a_shuffle_cut_short(gnn, k, c, N, data):
    m = data.draw(st.integers(0, N), label="m")
    draws = oracles.Draws(k)
    draws.count = c
    got = gnn.streams.pick_without_replacement(k, c, N, m)
    assert got.dtype == np.int32
    assert got.tolist() == oracles.dense_fisher_yates(draws, N, m)


def test_pick_from_two_thousand_million(gnn):
    got = gnn.streams.pick_without_replacement(K, 0, 2**31 - 1, 1000)
    assert len(set(got.tolist())) == 1000
    assert got.min() >= 0


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("mix", (-1,), ValueError),
        ("mix", (2**64,), ValueError),
        ("mix", (1.0,), TypeError),
        ("mix", ("1",), TypeError),
        ("mix", (np.array([1.0]),), TypeError),
        ("key", (1, -1), ValueError),
        ("key", (2**64,), ValueError),
        ("key", (0.5,), TypeError),
        ("uniform", (2**64, 0), ValueError),
        ("uniform", (0, -1), ValueError),
        ("uniform", (0, 2**64), ValueError),
        ("uniform", (None, 0), TypeError),
        ("below", (0, 0, 0), ValueError),
        ("below", (0, 0, 2**53), ValueError),
        ("below", (0, 0, 2.0), TypeError),
        ("below", (0, None, 2), TypeError),
        ("pick_without_replacement", (0, 0, 3, 4), ValueError),
        ("pick_without_replacement", (0, 0, 3, -1), ValueError),
        ("pick_without_replacement", (0, 0, -1, -1), ValueError),
        ("pick_without_replacement", (0, 0, 2**31, 1), ValueError),
        ("pick_without_replacement", (0, 0, 3.0, 1), TypeError),
    ],
)
def test_bad_arguments(gnn, function, arguments, error):
    with pytest.raises(error):
        find(gnn, function)(*arguments)


def test_as_seed(gnn):
    assert gnn.streams.as_seed(0) == 0
    assert gnn.streams.as_seed(2**64 - 1) == 2**64 - 1
    first, second = (gnn.streams.as_seed(np.random.default_rng(7)) for _ in range(2))
    assert first == second
    assert 0 <= first < 2**64
    generator = np.random.default_rng(7)
    assert gnn.streams.as_seed(generator) != gnn.streams.as_seed(generator)
    assert gnn.streams.as_seed(None) != gnn.streams.as_seed(None)


@pytest.mark.parametrize(
    ("rng", "error"),
    [
        (-1, ValueError),
        (2**64, ValueError),
        (1.5, TypeError),
        ("7", TypeError),
        (np.random.RandomState(1), TypeError),
    ],
)
def test_as_seed_rejects(gnn, rng, error):
    with pytest.raises(error):
        gnn.streams.as_seed(rng)
