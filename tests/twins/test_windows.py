"""Windows of minibatches on storage: the same bits for any settings, and rows counted right."""

from functools import partial
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from test_lookahead_twins import late

import refimpl
from refimpl.lab.training.fresh_iterations import expected_inputs
from refimpl.lab.training.methods import Fresh, Gas, GraphFm, Neighbor
from refimpl.loader import window_of

FANOUTS = (4, 3)
N, D = 300, 20  # nodes, features
FRESH = st.builds(
    Fresh,
    batch_size=st.sampled_from([30, 110]),
    fanouts=st.just(FANOUTS),
    sample_mode=st.sampled_from(["layered", "shared", "labor"]),
    workers=st.sampled_from([0, 2]),
    draw_all=st.booleans(),
    t_stale=st.sampled_from([0, 2, 5, inf]),
    warmup=st.sampled_from([0, 3]),
    buffer=st.sampled_from([2000, 10**5]),
    hotness=st.sampled_from(["none", "degree"]),
    lookup_roots=st.booleans(),
    refresh=st.just(0),
) | st.builds(
    Fresh,
    batch_size=st.just(30),
    fanouts=st.just(FANOUTS),
    t_stale=st.sampled_from([4, inf]),
    warmup=st.sampled_from([0, 3]),
    hotness=st.just("none"),
    refresh=st.sampled_from([1, 2]),
)
CLUSTERS = st.builds(Gas, batch_size=st.just(70), refresh=st.sampled_from([0, 2])) | st.builds(
    GraphFm, batch_size=st.just(70)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, rng = tmp_path_factory.mktemp("graph") / "random", np.random.default_rng(4)
    ends = np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1)
    graph = refimpl.as_graph(np.concatenate([ends, rng.integers(0, N, (900, 2))]), symmetrize=True)
    graph = refimpl.as_graph(graph, self_loops=False)
    X = rng.normal(size=(N, D)).astype(np.float32)
    refimpl.Dataset.from_arrays(graph, X, X[:, 0] > 0, dtype=np.float32).save(place)
    return place


def opened(gnn, folder, capacity, window=8, evict="belady"):
    """Return the features of the data set, in a cache of `capacity` rows."""
    memory = 4 * N + (4 * D + 33) * capacity
    features = gnn.loader.LookaheadFeatures(
        folder / "features.npy", memory, window=window, evict=evict
    )
    assert features.capacity == min(capacity, N)
    features.cache[:] = np.nan  # unread memory is no number
    return features


def trained(gnn, folder, method, features=None, workers=1):
    config = gnn.TrainConfig(method=method, epochs=2, hidden=4, workers_a_step=workers)
    return gnn.train(gnn.load_dataset(folder), config, progress=False, features=features)


@pytest.mark.runs
@settings(max_examples=25)
@given(
    FRESH | CLUSTERS,
    st.sampled_from([1, 7, 60, 150, N]),
    st.integers(1, 5),
    st.sampled_from([1, 2]),
    st.sampled_from(["belady", "sieve"]),
)
def test_nothing_that_may_be_chosen_changes_a_bit(
    gnn, folder, method, capacity, window, workers, evict
):
    """With reads that end as late as they may."""
    workers = workers if isinstance(method, Fresh) else 1
    whole = trained(gnn, folder, method, workers=workers)
    with opened(gnn, folder, capacity, window, evict) as features, late(features):
        parts = trained(gnn, folder, method, features, workers)
        counts = features.counts
    assert [one.loss for one in parts.history] == [one.loss for one in whole.history]
    for name, weights in whole.weights.items():
        assert_array_equal(parts.weights[name], weights)
    assert 0 <= counts.in_vain <= counts.rows <= counts.asked


@pytest.mark.runs
@pytest.mark.parametrize("method", [
    Neighbor(batch_size=30, fanouts=FANOUTS),
    Fresh(batch_size=30, fanouts=FANOUTS, t_stale=0, hotness="none"),
    Fresh(batch_size=30, fanouts=FANOUTS, warmup=99, refresh=1),
    Gas(batch_size=30, refresh=2),
    GraphFm(batch_size=30),
], ids=lambda method: method.name)  # fmt: skip
def test_where_no_embedding_is_cached_windows_hold_what_is_needed(gnn, folder, method):
    with opened(gnn, folder, 2 * N) as features:
        trained(gnn, folder, method, features)
        counts = features.counts
    filled = N if getattr(method, "hotness", "none") == "degree" else 0
    assert counts.on_demand == filled and counts.in_vain == 0
    assert counts.rows <= N and (counts.rows or filled)


@pytest.mark.runs
@pytest.mark.parametrize("how", [
    {"draw_all": True},
    {"hotness": "degree", "buffer": 3000},
    {"lookup_roots": False, "refresh": 1, "warmup": 2},
    {"workers_a_step": 2},
], ids=str)  # fmt: skip
def test_a_pass_loads_what_was_expected_right_before_it(gnn, folder, how):
    """Fewer rows than were sampled: those that pruning kills are not expected."""
    settings = {"hotness": "none", "t_stale": inf, **how}
    workers = settings.pop("workers_a_step", 1)
    method = Fresh(batch_size=30, fanouts=FANOUTS, **settings)
    config = gnn.TrainConfig(method=method, hidden=4, workers_a_step=workers)
    with gnn.make_trainer(gnn.load_dataset(folder), config) as trainer:
        iterations, run, expected, loaded = trainer.iterations, trainer.run, [], []
        load, passes = run.load, iterations.passes
        of_pass = partial(expected_inputs, run, iterations.caches, iterations.cached_layers)
        iterations.passes = (expected.append(of_pass(one)) or one for one in passes)
        run.load = lambda nodes: loaded.append(nodes) or load(nodes)
        steps = [trainer.step() for _ in range(14)]
    assert [sorted(nodes) for nodes in expected] == [sorted(nodes) for nodes in loaded]
    sampled = sum(step.counts.inputs for step in steps) * (1 + method.refresh)
    assert sum(map(len, expected)) < 0.9 * sampled


@pytest.mark.runs
def test_windows_of_fresh_gnn_need_fewer_rows_than_those_of_neighbour_sampling(gnn, folder):
    asked = {}
    for t_stale in (0, inf):
        method = Fresh(batch_size=30, fanouts=FANOUTS, t_stale=t_stale, hotness="none")
        with opened(gnn, folder, 200, window=1) as features:
            trained(gnn, folder, method, features)
            asked[t_stale] = features.counts.asked
    assert asked[inf] < 0.8 * asked[0]


@pytest.mark.runs
@pytest.mark.parametrize(
    ("method", "behind"),
    [
        (Fresh(batch_size=30, fanouts=FANOUTS, hotness="none"), 0),
        (Gas(batch_size=30), 1),
        (GraphFm(batch_size=30), 1),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_each_window_is_expected_once_and_gas_knows_one_more(gnn, folder, method, behind):
    with opened(gnn, folder, 200, window=1) as features:
        expect, ends, known = features.expect, [], []

        def noted(window, pinned=None, later=()):
            ends.append(window.end)
            known.append(len(later))
            expect(window, pinned, later)

        features.expect = noted
        trained(gnn, folder, method, features)
    assert len(ends) > 3 and ends == sorted(set(ends))
    assert known == [0] + [behind] * (len(known) - 1)


def test_rows_in_vain_are_counted_until_somebody_asks_for_them(gnn, folder):
    X = np.load(folder / "features.npy")
    windows = [window_of([rows], i) for i, rows in enumerate([[1, 2, 3], [3, 4], [5], [6], [1]])]
    with opened(gnn, folder, 12) as features:
        in_vain = []
        for before, window in zip([None, *windows], windows, strict=False):
            features.expect(window, before)
            features.finish()
            in_vain.append(features.counts.in_vain)
            if window.end == 1:
                features.gather(None, np.array([1]))
        assert in_vain == [0, 0, 1, 3, 4]  # 2 in the third window; 3 is in the second one, too
        assert_array_equal(features.gather(None, np.array([4, 6, 4, 2])), X[[4, 6, 4, 2]])
        assert features.counts.in_vain == 2 and features.counts.on_demand == 0


def test_rows_on_demand_are_read_beside_the_cache(gnn, folder, monkeypatch):
    """Their cost does not depend on the capacity: nothing is planned, and nothing is evicted."""
    X = np.load(folder / "features.npy")
    with opened(gnn, folder, 12) as features:
        features.expect(window_of([[3, 5]], 0))
        features.finish()
        held = features.rows.row_in.copy()
        monkeypatch.setattr(features.rows, "plan", None)
        monkeypatch.setattr("refimpl.loader.lookahead_features.AT_ONCE", 3 * features.row_bytes)
        rows = np.array([9, 3, 299, 9, 0, 5, 17, 8])
        assert_array_equal(features.gather(None, rows), X[rows])
        assert_array_equal(features.rows.row_in, held)
        assert features.counts.on_demand == 5 and features.counts.asked == 2


def test_a_window_has_a_minibatch(gnn, folder):
    with pytest.raises(ValueError, match="window must be"):
        opened(gnn, folder, 12, window=0)
