"""What the cache refuses, and the state from which it goes on."""

import numpy as np
import pytest
from cache_cases import N, admit, embeddings, features, valid


@pytest.mark.parametrize("header", ["continue", "cycle"])
def test_going_on_in_the_middle_of_a_cycle(gnn, header):
    """Every array and counter is that of a run without the break, whatever comes next."""

    def run(cache, iterations):
        for i in iterations:
            cache.begin_update(i)
            cache.evict(1, [i % N], i)
            admit(cache, 1 + i % 2, [(5 * i + k) % N for k in range(i % 4)], i, i)

    options = {"t_stale": 5, "refill": True, "header": header}
    whole = gnn.BidirectionalCache(N, 3, 2, 2, 20, **options)
    whole.fill(features(N, 3), np.arange(N))
    run(whole, range(23))
    for at in range(23):
        first = gnn.BidirectionalCache(N, 3, 2, 2, 20, **options)
        first.fill(features(N, 3), np.arange(N))
        run(first, range(at))
        second = gnn.BidirectionalCache(N, 3, 2, 2, 20, **options)
        second.fill(features(N, 3), np.arange(N))
        second.load_state_dict(first.state_dict())
        run(second, range(at, 23))
        want, got = whole.state_dict(), second.state_dict()
        assert want.keys() == got.keys()
        for name in want:
            assert got[name].tobytes() == want[name].tobytes(), (at, name)


def test_a_state_of_other_options_is_refused(gnn):
    make = gnn.BidirectionalCache
    state = make(N, 1, 2, 1, 20, t_stale=3).state_dict()
    cache = make(N, 1, 2, 1, 20, t_stale=4)
    with pytest.raises(ValueError, match="same options"):
        cache.load_state_dict(state)
    wide = make(N, 1, 2, 1, 20, t_stale=3, dtype="float64")
    with pytest.raises(ValueError, match="must hold"):
        wide.load_state_dict(state)
    split = gnn.history.StaticSplitCache(N, 1, 2, 1, 20, t_stale=3)
    with pytest.raises(ValueError, match="same options"):
        split.load_state_dict(state)


@pytest.mark.parametrize("missing", [["stamp"], ["options", "rank"], ["numbers", "embeddings"]])
def test_a_state_of_something_else_is_refused(gnn, missing):
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 20, t_stale=3)
    admit(cache, 1, [3], 0)
    state = {name: a for name, a in cache.state_dict().items() if name not in missing}
    with pytest.raises(ValueError, match=f"^state must hold {', '.join(missing)}$"):
        cache.load_state_dict(state)
    assert list(valid(cache, 1)) == [(1, 3)]


def test_a_state_is_a_copy(gnn):
    cache = gnn.BidirectionalCache(N, 1, 2, 1, 20, t_stale=3)
    admit(cache, 1, [3], 0)
    state = cache.state_dict()
    admit(cache, 1, [3, 4], 1, 9)
    cache.load_state_dict(state)
    assert list(valid(cache, 1)) == [(1, 3)] and cache.admitted == 1
    assert np.array_equal(cache.read([0]), embeddings([3], 2, 0))


GOOD = {"n": N, "d": 3, "h": 2, "layers": 1, "floats": 20, "t_stale": 2}


@pytest.mark.parametrize(
    "change",
    [
        {"n": -1},
        {"n": 2**31},
        {"d": 0},
        {"h": 0},
        {"layers": -1},
        {"floats": -1},
        {"floats": 2**33},
        {"t_stale": -1},
        {"t_stale": 1.5},
        {"header": "back"},
        {"overflow": "raise"},
        {"staleness": "none"},
        {"start_iter": -1},
        {"refill": 1},
        {"dtype": "float16"},
    ],
    ids=repr,
)
def test_bad_options(gnn, change):
    with pytest.raises((TypeError, ValueError), match=f"^{next(iter(change))} must"):
        gnn.BidirectionalCache(**{**GOOD, **change})


@pytest.mark.parametrize("split", [-0.1, 1.1, "half"])
def test_bad_split(gnn, split):
    with pytest.raises((TypeError, ValueError), match="^split must"):
        gnn.history.StaticSplitCache(**GOOD, split=split)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda c: c.lookup(2, [0], 0), "layer"),
        (lambda c: c.lookup(1, [N], 0), "ids"),
        (lambda c: c.lookup(1, [0], -1), "i must"),
        (lambda c: c.read([10]), "slots"),
        (lambda c: c.read([-1]), "slots"),
        (lambda c: c.admit(1, [0], np.ones((1, 2)), 0), "values"),
        (lambda c: c.admit(1, [0], np.ones((2, 2), np.float32), 0), "values"),
        (lambda c: c.admit(1, [0], np.ones((1, 3), np.float32), 0), "values"),
        (lambda c: c.admit(1, [0], np.ones((1, 2), np.float32), 0, take=[1]), "take"),
        (lambda c: c.admit(1, [0], np.ones((1, 2), np.float32), 0, take=[0, 0]), "take"),
        (lambda c: c.admit(1, [0], np.ones((1, 2), np.float32), 2**31), "i must"),
        (lambda c: c.evict(1, [-1], 0), "ids"),
        (lambda c: c.feature_mask([N]), "ids"),
        (lambda c: c.fetch_features([N]), "ids"),
        (lambda c: c.fill(np.ones((N, 2)), np.ones(N)), "X"),
        (lambda c: c.fill(np.ones((N, 3), int), np.ones(N)), "X"),
        (lambda c: c.fill(int, np.ones(N)), "X must be an array or callable, got type"),
        (lambda c: c.fill(lambda ids: None, np.ones(N)), r"X\(ids\) must be an array"),
        (lambda c: c.fill(lambda ids: np.ones(3), np.ones(N)), r"X\(ids\) must be \(\d+, 3\)"),
        (lambda c: c.fill(lambda ids: np.ones((len(ids), 3), int), np.ones(N)), "X"),
        (lambda c: c.fill(np.ones((N, 3)), np.ones(2)), "hotness"),
        (lambda c: c.fill(np.ones((N, 3)), np.full(N, np.nan)), "hotness"),
        (lambda c: c.fill(np.ones((N, 3)), np.full(N, "a")), "hotness"),
    ],
)
def test_bad_calls(gnn, call, message):
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        call(gnn.BidirectionalCache(**GOOD))
