"""FreshGNN's step: what a cache changes and what it must not, its gradients, what it counts."""

import numpy as np
import pytest
from fresh_cases import (
    COUNTED,
    LAYERS,
    Watched,
    config_of,
    counted_step,
    dense_forward,
    masks_of,
    trajectory,
    watched,
)
from numpy.testing import assert_allclose, assert_array_equal
from oracles import differences
from strategies import dataset_on

import refimpl
from refimpl.lab.training.methods.base import LoadCounts
from refimpl.streams import NODE_DROPOUT, key

pytestmark = pytest.mark.runs

EACH_MODEL = pytest.mark.parametrize("model", sorted(LAYERS))
LIVE_HITS = "no live row was read from the cache: this shows nothing"


# A cache of what would be computed anyway.


@EACH_MODEL
@pytest.mark.parametrize("layers", [2, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_cache_of_the_exact_rows_changes_no_logit(gnn, dataset, model, layers, dropout):
    """Same logits, same gradients above, others below. Masks go by node, not by row."""
    options = {"model": model, "layers": layers, "dropout": dropout, "p_grad": 1.0}
    options |= {"attention_dropout": dropout} if model == "gat" else {}
    plain = watched(gnn, dataset, config_of(**{**options, "cache_layers": ()}), 1)
    trainer = watched(gnn, dataset, config_of(**options))
    rng = np.random.default_rng(2)
    for layer in range(1, layers):
        ids, order = plain.nodes[layer], plain.live.order[layer]
        some = np.flatnonzero(rng.random(len(ids)) < 0.5)
        assert_array_equal(order, np.arange(len(ids)))
        trainer.cache.admit(layer, ids[some], plain.H[layer][some], 0)
    trainer.step()
    assert trainer.live_hits(layers - 1), LIVE_HITS
    assert len(trainer.nodes[0]) < len(plain.nodes[0])
    for layer in range(layers + 1):
        assert_allclose(trainer.H[layer], plain.H[layer][trainer.live.order[layer]], rtol=1e-9)
    assert_allclose(trainer.H[-1], plain.H[-1], rtol=1e-9, atol=1e-12)
    top = trainer.live.order[layers - 1]
    assert_allclose(trainer.G[layers - 1], plain.G[layers - 1][top], rtol=1e-9, atol=1e-14)
    for name, want in plain.gradients.items():
        same = np.allclose(trainer.gradients[name], want, rtol=1e-9, atol=1e-13)
        assert same == (name.startswith((f"layer{layers}.", "classifier."))), name


def test_dropout_masks_go_by_node(gnn, dataset):
    """Node v's mask before layer l + 1 is the stream (seed, NODE_DROPOUT, iteration, l, v)."""
    with watched(gnn, dataset, config_of(dropout=0.4), 3) as trainer:
        ids = np.array([5, 100, 7], np.int32)
        passes = trainer.run.passes()
        passes.classify(np.ones((3, 4)), ids)
        _, masked, _, _ = passes.kept[4]
        for row, v in zip(masked, ids.tolist(), strict=True):
            u = gnn.streams.uniform(key(6, NODE_DROPOUT, 3, 3, v), np.arange(4, dtype=np.uint64))
            assert_allclose(row, (u >= 0.4) / 0.6)


# The gradients.


def reads_and_computes(trainer, layers):
    """Return whether all layers but the last had rows from the cache, and others, in a step."""
    below = range(1, layers)
    return all(trainer.live_hits(x) and trainer.live.computed[x - 1].any() for x in below)


@EACH_MODEL
@pytest.mark.parametrize(
    ("layers", "dropout", "classifier"),
    [(1, 0.0, "dense"), (2, 0.0, "dense"), (3, 0.0, "dense"), (3, 0.2, "dense"), (3, 0.0, "layer")],
)
def test_gradients_with_cached_rows_held_constant(gnn, dataset, model, layers, dropout, classifier):
    """And the compact forward pass: all by dense algebra on the graph before pruning.

    Biases keep rows of zeros away from the kink of the ReLU.
    """
    options = {"batch_size": 6, "p_grad": 0.8, "bias": True, "hidden": 6, "lr": 0.01}
    common = {"layers": layers, "dropout": dropout, "classifier": classifier}
    config = config_of(model=model, **common, **options)
    rng = np.random.default_rng(4)
    with watched(gnn, dataset, config) as trainer:
        for W in trainer.state.weights.values():
            W += 0.3 * rng.normal(size=W.shape)
        trajectory(trainer, 30)
        while not reads_and_computes(trainer, layers) and trainer.state.iterations < 60:
            trainer.step()
        weights, masks = trainer.weights, masks_of(trainer)
        H, _ = dense_forward(trainer, weights, masks)
    assert reads_and_computes(trainer, layers), LIVE_HITS
    for layer in range(layers + 1):
        assert_allclose(trainer.H[layer], H[layer][trainer.live.order[layer]], rtol=1e-9)
    assert_allclose(trainer.H[-1], H[-1], rtol=1e-9, atol=1e-12)
    for name, W in weights.items():
        slopes = differences(lambda: dense_forward(trainer, weights, masks)[1], W)
        assert_allclose(trainer.gradients[name], slopes, rtol=1e-5, atol=1e-8, err_msg=name)
    shift, of_cached = [np.zeros_like(rows) for rows in H], 0.0
    for layer in range(1, layers):
        slopes = differences(lambda: dense_forward(trainer, weights, masks, shift)[1], shift[layer])
        order = trainer.live.order[layer]
        assert_allclose(trainer.G[layer], slopes[order], rtol=1e-5, atol=1e-8)
        of_cached += np.abs(trainer.G[layer][~trainer.live.computed[layer - 1]]).sum()
    assert of_cached or layers == 1, "the gradient of cached rows is lost"


# What must not be read.


@EACH_MODEL
def test_features_of_dead_nodes_are_never_read(gnn, dataset, model):
    """NaN in every feature that the next step does not need."""
    config = config_of(model=model)
    clean, poisoned = (watched(gnn, dataset, config, 8) for _ in range(2))
    want = trajectory(clean, 1)
    needed = np.zeros(dataset.graph.n, np.bool_)
    needed[dataset.train[clean.nodes[0]]] = True
    dead = clean.mfg.nodes[0][~needed[dataset.train[clean.mfg.nodes[0]]]]
    assert len(dead), "no node is dead: this shows nothing"
    poisoned.run.features = np.where(needed[:, None], dataset.inputs(), np.nan)[dataset.train]
    assert trajectory(poisoned, 1) == want


def test_contents_of_invalid_slots_are_never_used(gnn, dataset):
    """NaN in every slot that no lookup of this iteration may give."""
    config = config_of(t_stale=4)
    clean, poisoned = (watched(gnn, dataset, config, 12) for _ in range(2))
    nodes = np.arange(dataset.train_graph.n, dtype=np.int32)
    valid = np.concatenate([poisoned.cache.lookup(layer, nodes, 12) for layer in (1, 2)])
    rows = poisoned.cache.entries.rows
    invalid = np.setdiff1d(np.arange(len(rows)), valid[valid >= 0])
    assert len(np.intersect1d(invalid, np.arange(poisoned.cache.hwm)))
    rows[invalid] = np.nan
    want = trajectory(clean, 1)
    assert clean.live_hits(1) and clean.live_hits(2), LIVE_HITS
    assert trajectory(poisoned, 1) == want


def test_every_row_is_computed_cached_or_dead(gnn, dataset):
    """And is counted as such."""
    with watched(gnn, dataset, config_of(), 10) as trainer:
        for _ in range(5):
            counts = counted_step(trainer)
            hits = lookups = 0
            for layer in range(1, 4):
                order, computed = trainer.live.order[layer], trainer.live.computed[layer - 1]
                assert len(np.unique(order)) == len(order) <= len(trainer.mfg.nodes[layer])
                assert_array_equal(computed, ~trainer.hit[layer - 1][order])
                hits += (~computed).sum()
                lookups += len(order) if layer < 3 else 0
            assert (counts.hits, counts.lookups) == (hits, lookups)
            assert_array_equal(trainer.nodes[3], trainer.mfg.nodes[3])
            assert not trainer.hit[2].any()


# What is counted.


def test_loads_are_counted_before_the_update(gnn, dataset):
    """The I/O that is saved, with embeddings that grow over the features meanwhile."""
    config = config_of(hotness="degree", buffer=8 * 12 * 100, t_stale=6)
    every = np.arange(dataset.train_graph.n, dtype=np.int32)
    loaded, inputs, displaced = [], [], 0
    with watched(gnn, dataset, config) as trainer:
        for _ in range(20):
            held = trainer.cache.feature_mask(every)
            counts = counted_step(trainer)
            ids = trainer.nodes[0]
            assert counts.inputs == len(trainer.mfg.nodes[0])
            assert counts.live == len(ids) and counts.feature_hits == held[ids].sum()
            assert counts.loaded == (~held[ids]).sum() <= counts.live <= counts.inputs
            displaced += (held != trainer.cache.feature_mask(every)).sum()
            loaded.append(counts.loaded)
            inputs.append(counts.inputs)
        assert displaced and 0 < sum(loaded) < sum(inputs)
        total = trainer.counts_of_epoch
    assert total.io_saving == gnn.history.io_saving(np.array(loaded), np.array(inputs))
    assert np.isnan(LoadCounts().io_saving)


def test_an_epoch_records_its_own_loads(gnn, dataset):
    with watched(gnn, dataset, config_of()) as trainer:
        trainer.epoch()
        trainer.epoch()
        first, second = trainer.state.loads
        assert second == trainer.counts_of_epoch._asdict()
    assert first["hits"] < second["hits"] and set(COUNTED) <= second.keys()


def test_gradients_evict(gnn, dataset):
    """Trap 2: if cached rows lost their gradients, nothing would ever be evicted."""
    by_share = {}
    for p in (0.5, 1.0):
        with watched(gnn, dataset, config_of(p_grad=p), 20) as trainer:
            by_share[p] = trainer.counts_of_epoch.evicted
    assert by_share[0.5] > 0 == by_share[1.0]


def test_evaluation_reads_no_cache(gnn, dataset):
    with watched(gnn, dataset, config_of(), 10) as trainer:
        parts = dataset.val, dataset.test
        want = trainer.scores(trainer.state.weights, *parts)
        trainer.cache.arena[:] = np.nan
        assert trainer.scores(trainer.state.weights, *parts) == want
    with watched(gnn, dataset, config_of("neighbor")) as trainer_without:
        assert trainer_without.scores(trainer.state.weights, *parts) == want


def test_a_cache_is_refused_where_there_is_none(gnn, dataset):
    with watched(gnn, dataset, config_of(), 1) as trainer:
        pass
    with pytest.raises(ValueError, match="state.cache must be None"):
        Watched(gnn, dataset, config_of("neighbor"), trainer.state)


# Settings.


@pytest.mark.parametrize(("batch_size", "age"), [(1, 6), (3, 2), (5, 1), (40, 1)])
def test_the_default_age_is_a_sixth_of_an_epoch(batch_size, age):
    """Of 36 nodes; the paper's 200 would be many epochs."""
    data = dataset_on(refimpl.as_graph([(i, i + 1) for i in range(35)], symmetrize=True))
    for t_stale, expected in ((None, age), (200, 200), (0, 0)):
        method = refimpl.methods.Fresh(batch_size=batch_size, t_stale=t_stale)
        assert refimpl.TrainConfig(method=method).fitted(data).method.t_stale == expected


def test_roots_are_looked_up_or_not(gnn, dataset):
    """The roots stand first in every layer."""
    hits = {}
    for lookup_roots in (True, False):
        config = config_of(lookup_roots=lookup_roots, p_grad=1.0)
        with watched(gnn, dataset, config, 14) as trainer:
            roots = len(trainer.mfg.nodes[-1])
            hits[lookup_roots] = [found[:roots].sum() for found in trainer.hit[:-1]]
            assert trainer.live_hits(2), LIVE_HITS
    assert min(hits[True]) > 0 == max(hits[False])


def test_only_the_layers_asked_for_are_cached(gnn, dataset):
    for chosen, want in (((1,), {1}), ([2], {2}), (None, {1, 2}), ((2, 1), {1, 2}), ((), set())):
        with watched(gnn, dataset, config_of(cache_layers=chosen), 14) as trainer:
            assert {layer for layer in (1, 2) if trainer.hit[layer - 1].any()} == want


def test_settings_of_the_policy_reach_it(gnn, dataset):
    """Each of them changes the run, and `gradient_evict=False` evicts nothing."""
    runs = {}
    for name, value in (
        ("control", "gradient"),
        ("control", "anti"),
        ("control", "random"),
        ("rank_base", "new"),
        ("gradient_evict", False),
        ("sample_mode", "shared"),
        ("sample_mode", "labor"),
        ("sample_mode", "labor_exact"),
        ("sample_mode", "labor_1"),
        ("sample_mode", "labor_2"),
        ("batch_dependency", 4),
    ):
        options = {name: value, "p_grad": 0.5}
        if name == "batch_dependency":
            options["sample_mode"] = "labor"
        with watched(gnn, dataset, config_of(**options), 12) as trainer:
            runs[name, value] = trainer.counts_of_epoch
    assert runs["gradient_evict", False].evicted == 0 < runs["control", "gradient"].evicted
    assert len(set(runs.values())) == len(runs)


def test_the_header_alone_serves_entries_of_any_age(gnn, dataset):
    """In a run: with stamps nothing is older than t_stale."""
    oldest = {}
    for staleness in ("stamp", "header_only"):
        with watched(gnn, dataset, config_of(staleness=staleness, t_stale=3)) as trainer:
            ages = [0]
            for i in range(40):
                for layer in (1, 2):
                    nodes = np.arange(dataset.train_graph.n, dtype=np.int32)
                    slots = trainer.cache.lookup(layer, nodes, i)
                    ages += (i - trainer.cache.entries.stamp[slots[slots >= 0]]).tolist()
                trainer.step()
            oldest[staleness] = max(ages)
    assert oldest["stamp"] == 3 < oldest["header_only"]


def test_a_cycle_begins_with_the_warm_up_and_every_t_stale_iterations(gnn, dataset):
    head = 0
    with watched(gnn, dataset, config_of(warmup=2, t_stale=3, header="cycle")) as trainer:
        for i in range(12):
            admitted = counted_step(trainer).admitted
            assert (admitted > 0) == (i >= 2)
            head = admitted if i % 3 == 2 else head + admitted
            assert trainer.cache.head == head


def test_the_plan_for_performance_only_admits_less(gnn, dataset):
    """What the policy for performance does not allow is never cached."""
    options = {"hotness": "profile", "buffer": 8 * 12 * 60, "t_stale": 5, "overflow": "drop"}
    with watched(gnn, dataset, config_of(performance=True, **options), 20) as trainer:
        ok, cached = trainer.iterations.performance.ok, trainer.cache.entries.slot_of >= 0
        assert trainer.counts_of_epoch.hits and ok.any() and not ok.all()
        assert not (cached & ~ok).any()
        for layer, density in enumerate(trainer.iterations.performance.density, start=1):
            slots = trainer.cache.lookup(layer, np.arange(130), 20)
            new = np.flatnonzero((slots >= 0) & (trainer.cache.entries.stamp[slots] == 19))
            assert len(new) > 2
            if slots[new].max() - slots[new].min() < len(new):  # the header met free slots only
                assert (np.diff(density[new[np.argsort(slots[new])]]) <= 0).all()  # densest first
        assert_array_equal(
            trainer.cache.rank[np.argsort(-trainer.iterations.performance.hotness, kind="stable")],
            np.arange(dataset.train_graph.n),
        )
    with watched(gnn, dataset, config_of(**options), 20) as trainer:
        assert ((trainer.cache.entries.slot_of >= 0) & ~ok).any()
    with watched(gnn, dataset, config_of(performance=True, **options, p_grad=0.0), 1) as trainer:
        assert trainer.iterations.performance is None


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"cache_layers": (0,)}, ValueError, "cache_layers"),
        ({"cache_layers": (3,)}, ValueError, "below the last of 3 layers, got 3"),
        ({"cache_layers": (1, 1)}, ValueError, "distinct"),
        ({"cache_layers": 1}, TypeError, "tuple of ints, got int"),
        ({"cache_layers": (1.5,)}, TypeError, "cache_layers"),
        ({"lookup_roots": 1}, TypeError, "lookup_roots must be True or False"),
        ({"gradient_evict": None}, TypeError, "gradient_evict must be True or False"),
        ({"rank_base": "old"}, ValueError, "rank_base"),
        ({"staleness": "never"}, ValueError, "staleness"),
        ({"sample_mode": "both"}, ValueError, "sample_mode"),
        (
            {"sample_mode": "labor_1", "model": "gat"},
            ValueError,
            "must not be labor_1 for model gat",
        ),
        ({"batch_dependency": 2}, ValueError, "must be 1 where sample_mode is layered, got 2"),
        (
            {"performance": True},
            ValueError,
            'performance must be False where hotness is not "profile"',
        ),
        (
            {"method": "neighbor", "hotness": "degree"},
            ValueError,
            'hotness is no setting where .*method is "neighbor"',
        ),
    ],
)
def test_refused(change, error, message):
    with pytest.raises(error, match=message):
        config_of(**change)
