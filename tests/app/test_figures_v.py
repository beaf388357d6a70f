"""Figures of FreshGNN's paper: rows, the rules of their verdicts, and what they measure."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from dense_histories import layer, matrix, pattern, small_dataset, weights_of
from figure_labs import experiment_of, lab_of, outcomes, rows_of

import fastimpl
from bench.figures import experiment, plotting, training
from bench.figures.experiment import FAILS, HOLDS, OUTCOMES, UNTESTED, WEAKER
from bench.figures.experiments import (
    epoch_time,
    heterogeneous,
    history_error,
    methods,
    policies,
    stability,
    thresholds,
    warm_up,
)
from bench.figures.instrumented_steps import ExactRows, WatchedRun, distances, fresh_step
from refimpl.lab.apps.errors import UserError

pytestmark = pytest.mark.runs

MODULES = history_error, stability, epoch_time, methods, thresholds, warm_up, heterogeneous
TINY = {"nodes": 300, "labels": 5, "hidden": 4, "epochs": 2}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: experiment_of(module).id)
def test_a_tiny_run_gives_rows_a_table_verdicts_and_a_picture(module, tmp_path):
    figure = experiment_of(module)
    tiny = {name: value for name, value in TINY.items() if name in figure.full}
    lab = lab_of(figure, seeds=2, **tiny)
    rows = rows_of(figure, lab)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    titles, lines = figure.table(lab, rows)
    assert lines and all(len(line) == len(titles) for line in lines)
    for verdict in figure.verdicts(lab, rows):
        assert verdict.outcome in OUTCOMES
        assert figure.claims[verdict.claim]["where"].startswith("V ")
        assert verdict.because or verdict.outcome != UNTESTED
    plotting.draw(tmp_path / "a.svg", figure.plot(lab, rows))
    assert experiment.find([figure.id, *figure.also]) == [figure]


def test_the_papers_order_is_kept():
    order = [id for id in experiment.ABOUT if id.startswith("V-")]
    wanted = ["fig1", "fig3", "fig10", "tab2", "fig13", "fig14", "tab3", "fig19"]
    assert [id[2:] for id in order if id[2:] in wanted] == wanted


# What is measured


@pytest.fixture
def run_of():
    """Return a function that makes a trainer on 44 nodes; all of them are closed in the end."""
    made = []

    def make(method, **options):
        common = {"layers": 3, "hidden": 4, "rng": 3}
        config = training.settings(method, **{**common, **options})
        made.append(fastimpl.make_trainer(small_dataset(), config))
        return made[-1]

    yield make
    for trainer in made:
        trainer.close()


def dense_rows(trainer):
    """Return the output of each layer for every node, in dense algebra."""
    graph, model = trainer.run.graph, trainer.config.model.name
    A = pattern(graph)
    M, Z, rows = matrix(model, A, A.sum(axis=1)), trainer.run.load(), []
    for number in range(1, trainer.config.layers + 1):
        Z = layer(model, M, weights_of(trainer.state.weights, f"layer{number}"), Z)
        rows.append(Z)
    return rows


@pytest.mark.parametrize("model", ["sage", "gcn", "gat"])
def test_exact_rows_are_those_of_dense_algebra(run_of, model):
    trainer = run_of("neighbor", model=model, batch_size=9, fanouts=(2, 2, 2))
    exact = ExactRows(trainer)
    for _ in range(3):
        for found, wanted in zip(exact.now(), dense_rows(trainer), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
        trainer.step()


@pytest.mark.parametrize("method", ["gas", "vrgcn", "fresh"])
def test_errors_are_distances_from_dense_algebra(run_of, method):
    """And they are seen: the weights move fast, so what was stored is far from exact."""
    own = {"fanouts": (-1,) * 3, "hotness": "none", "t_stale": 3} if method == "fresh" else {}
    trainer = run_of(method, batch_size=9, lr=0.1, **own)
    run, largest, first = WatchedRun(trainer, ExactRows(trainer)), 0, None
    for _ in range(6):
        there = dense_rows(trainer)
        read, made = run.step()
        found = history_error.errors("read", read, there)
        if found["read_rows"]:
            wanted = [
                np.sqrt(((row - there[number - 1][v]) ** 2).sum())
                for number, nodes, rows in read
                for v, row in zip(nodes, rows, strict=True)
            ]
            assert found["read_error"] == pytest.approx(np.mean(wanted), abs=1e-12)
            first = found["read_error"] if first is None else first
            largest = max(largest, found["read_error"])
        assert {number for number, _, _ in made} == {2}  # layer 1 is exact, layer 3 not kept
    assert largest > 0.05
    if method != "fresh":  # whose cache is empty in the beginning
        assert first < 1e-12  # the histories were exact


def test_where_weights_rest_nothing_that_is_read_is_wrong(run_of):
    for method, own in (("gas", {}), ("fresh", {"fanouts": (-1,) * 3, "hotness": "none"})):
        trainer = run_of(method, batch_size=9, lr=1e-14, **own)
        exact = ExactRows(trainer)
        run, count = WatchedRun(trainer, exact), 0
        for _ in range(8):
            there = exact.now()
            for found in run.step():
                far, _ = distances(found, there)
                count += len(far)
                assert far.max(initial=0) < 1e-9
        assert count > 50


def test_an_opened_step_is_a_step_of_training(run_of):
    options = {"batch_size": 9, "fanouts": (2, 2, 2), "t_stale": 3, "hotness": "none"}
    opened, closed = run_of("fresh", **options), run_of("fresh", **options)
    for _ in range(5):
        step = fresh_step(opened)
        assert closed.step().loss == step.loss
    assert any(cached.any() for cached in step.cached)
    for name, W in closed.state.weights.items():
        np.testing.assert_array_equal(W, opened.state.weights[name])


def test_similarities_of_rows_that_did_not_change_or_turned():
    before = np.array([[1.0, 0], [0, 0], [0, 0], [2, 0], [1, 1], [1, 0]])
    now = np.array([[1.0, 0], [0, 0], [3, 0], [0, 5], [2, 2], [0.9, 0.6]])
    found = stability.similarity(now, before)  # 1, 1, 0, 0, 1, 0.832
    assert found["above_0.8"] == pytest.approx(4 / 6)
    assert found["above_0.95"] == pytest.approx(3 / 6)
    assert found["q50"] == pytest.approx((1 + 0.9 / np.hypot(0.9, 0.6)) / 2)


def test_gradients_that_tell_and_that_do_not():
    nodes, error = np.arange(200), np.linspace(1, 3, 200)
    for norms, rank, kept in ((error**3, 1, 1.5), (-error, -1, 2.5)):
        found = (norms - norms.min(), error, error, -error)
        found = stability.compared(fastimpl, nodes, found, [0.5], 7)
        assert found["rank_harm"] == pytest.approx(-rank)
        assert found["rank_error"] == pytest.approx(rank)
        assert found["kept_0.5_gradient"] == pytest.approx(kept / 2, abs=0.01)
        assert found["kept_0.5_anti"] == pytest.approx((4 - kept) / 2, abs=0.01)
        assert found["kept_0.5_random"] == pytest.approx(1, abs=0.1)
    nothing = stability.compared(fastimpl, nodes, (np.zeros(200), error, error, error), [0.5], 7)
    assert nothing["rank_error"] == nothing["linear_drift"] == 0


def test_harm_is_the_first_order_error_of_the_loss():
    before, now = np.zeros((3, 2), np.float32), np.array([[9, 9], [1, 2], [3, 4]], np.float32)
    rows, G = np.array([[1.0, 2], [0, 0]]), np.array([[4.0, -2], [3, -4]])
    step = SimpleNamespace(nodes=[None, np.array([1, 2])], H=[None, rows], G=[None, G])
    nodes, norms, error, drift, harm = stability.stale(fastimpl, step, 1, [before], [now])
    assert norms.tolist() == pytest.approx([20**0.5, 5]) and harm.tolist() == [0, 7]
    assert error.tolist() == [0, 5] and drift.tolist() == pytest.approx([5**0.5, 5])


def test_an_epoch_has_as_many_iterations_for_all_methods():
    lab = lab_of(experiment_of(methods), **TINY, steps=5)
    dataset = training.few_labels(lab)
    assert dataset.setting == "transductive" and dataset.graph.n == 300
    assert np.bincount(dataset.labels[dataset.train]).tolist() == [5] * 10
    for name in methods.NAMES:
        with fastimpl.make_trainer(*training.trained(lab, name, 0)) as trainer:
            trainer.epoch()
        # clusters do not all have one size, nor does a batch of them
        least, most = (1, 1) if name == "full" else (4, 6) if name == "cluster" else (5, 5)
        assert least <= trainer.state.iterations <= most, name


def test_a_cache_that_never_begins_is_neighbour_sampling():
    lab = lab_of(experiment_of(warm_up), **TINY)
    late = {"start": warm_up.EPOCH * lab.sizes["epochs"], "seed": 0}
    (never,), (too_late,), (now,) = (
        warm_up.measure(lab, cell)
        for cell in ({"start": -1, "seed": 0}, late, {"start": 0, "seed": 0})
    )
    assert too_late["test_f1"] == never["test_f1"] and too_late["saved"] == never["saved"] == 0
    assert now["saved"] > 0 and now["iteration"] == 0


def test_thresholds_save_more_the_larger_they_are():
    lab = lab_of(experiment_of(thresholds), **TINY, shares=[0.3, 1.0], ages=[1 / 6, 1])
    saved = {
        (row["p_grad"], row["t_stale"]): row["saved"]
        for row in rows_of(experiment_of(thresholds), lab)
        if row["kind"] == "grid"
    }
    assert saved[0.3, 1] < saved[1.0, 1] < saved[1.0, 6] and saved[0.3, 1] < saved[0.3, 6]


def test_a_graph_without_relations_is_the_users_mistake():
    lab = lab_of(experiment_of(heterogeneous), **TINY)
    lab.data = "communities"
    with pytest.raises(UserError, match="TypedGraph"):
        heterogeneous.measure(lab, {"seed": 0})


# The rules


def history_rows(gas, late, fresh):
    """Errors of GAS at the ends of epochs 1 and 2, and of FreshGNN at those of epoch 2."""
    ends = [("gas", 1, gas), ("gas", 2, late), ("fresh", 1, fresh), ("fresh", 2, fresh)]
    return [
        {"method": method, "seed": 0, "epoch": epoch, "iteration": i}
        | {"read_error": pair[i // 4], "made_error": pair[i // 4], "read_share": 0.1}
        for method, epoch, pair in ends
        for i in range(8)
    ]


@pytest.mark.parametrize(
    ("gas", "late", "fresh", "wanted"),
    [
        ((1, 2), (2, 3), (1, 1), (HOLDS, HOLDS)),
        ((1, 2), (3, 2), (1, 1.5), (WEAKER, WEAKER)),
        ((1, 1.2), (2, 3), (1, 1), (WEAKER, HOLDS)),
        ((2, 1), (2, 3), (1, 4), (FAILS, FAILS)),
    ],
)
def test_the_rule_of_growing_errors(gas, late, fresh, wanted):
    found = outcomes(history_error.verdicts(None, history_rows(gas, late, fresh)))
    assert (found["V-gas-error-grows"], found["V-error-controlled"]) == wanted


@pytest.mark.parametrize(
    ("shares", "rank", "wanted"),
    [
        ((0.9, 0.6), 0.8, (HOLDS, HOLDS, WEAKER)),
        ((0.9, 0.4), 0.3, (WEAKER, WEAKER, FAILS)),
        ((0.5, 0.4), 0.05, (FAILS, FAILS, FAILS)),
        ((0.5, 0.4), -0.9, (FAILS, FAILS, FAILS)),
    ],
)
def test_the_rule_of_stability(shares, rank, wanted):
    """What is before iteration 100 does not count, nor do correlations in the last layer."""
    kept = {f"kept_0.5_{control}": 1.0 for control in stability.CONTROLS}
    own = {"rank_error": rank, "rank_drift": 0.0, "rank_harm": rank / 2, "linear_error": 0.0} | kept
    rows = [{"iteration": 20, "layer": 1, "above_0.8": 0.0, **own, "rank_error": -rank}]
    rows += [{"iteration": 100, "layer": 1, "above_0.8": shares[0], **own}]
    rows += [{"iteration": 100, "layer": 2, "above_0.8": shares[1]}]
    found = stability.verdicts(lab_of(experiment_of(stability), shares=[0.5]), rows)
    assert tuple(outcomes(found).values()) == wanted
    answer = {HOLDS: "tell", WEAKER: "tell a little", FAILS: "do not tell"}[wanted[1]]
    assert found[1].ours.startswith(f"gradients {answer} which embeddings are stable.")


@pytest.mark.parametrize(
    ("points", "wanted"),
    [((0.5, -0.9), HOLDS), ((0.5, -1.1), WEAKER), ((-2.5, 0.5), FAILS)],
)
def test_the_rule_of_accuracy(points, wanted):
    scores = {"neighbor": 0.8, "gas": 0.75, "cluster": 0.8, "graphfm": 0.8}
    rows = [
        {"model": model, "method": name, "seed": seed, "test_f1": score + seed / 10}
        for model, lost in zip(("sage", "gcn"), points, strict=True)
        for seed in range(2)
        for name, score in (scores | {"fresh": 0.8 + lost / 100}).items()
    ]
    found = methods.verdicts(None, rows)
    assert outcomes(found) == {"V-accuracy-1pt": wanted, "V-baselines-drop": UNTESTED}
    assert "5.0 with GAS, 0.0 with ClusterGCN" in found[1].ours


def timed_rows(fresh, scores, others):
    """Seconds of FreshGNN's epochs, of the others' (neighbour sampling, the rest), and scores."""
    seconds = {"neighbor": others[0], "fresh": fresh, "gas": others[1], "cluster": others[1]}
    return [
        {"seed": 0, "method": name, "epoch": epoch}
        | {"seconds": seconds[name] * (9 if epoch == 1 else 1), "val_f1": scores[name][epoch - 1]}
        | {"inputs": 10, "loaded": 10 if epoch == 1 else 4}
        for name in epoch_time.NAMES
        for epoch in (1, 2, 3)
    ]


LEARNS, NEVER, SLOWLY = (0.3, 0.8, 0.9), (0.3, 0.3, 0.3), (0.3, 0.3, 0.895)


@pytest.mark.parametrize(
    ("fresh", "others", "own", "other", "wanted"),
    [
        (1.0, (6.0, 4.0), LEARNS, NEVER, (HOLDS, HOLDS, HOLDS)),
        (1.0, (4.0, 1.0), LEARNS, NEVER, (FAILS, WEAKER, HOLDS)),
        (2.0, (4.0, 1.0), LEARNS, LEARNS, (FAILS, WEAKER, WEAKER)),
        (1.0, (6.0, 2.0), SLOWLY, NEVER, (WEAKER, HOLDS, HOLDS)),
        (3.5, (4.0, 1.0), LEARNS, NEVER, (FAILS, WEAKER, WEAKER)),
        (5.0, (4.0, 1.0), LEARNS, NEVER, (FAILS, FAILS, FAILS)),
        (1.0, (4.0, 1.0), NEVER, NEVER, (FAILS, WEAKER, FAILS)),
    ],
)
def test_the_rule_of_speed(fresh, others, own, other, wanted):
    """An epoch is one but the first; the time to an accuracy has all of them."""
    scores = {"neighbor": LEARNS, "fresh": own, "gas": other, "cluster": other}
    rows = timed_rows(fresh, scores, others)
    verdicts = epoch_time.verdicts(None, rows)
    found = outcomes(verdicts)
    assert "60.0% fewer rows" in verdicts[1].ours
    assert ("2.44" in verdicts[0].because) == (wanted[0] != HOLDS)
    claims = "V-faster-3.4x", "V-faster-5.3x", "V-time-to-accuracy"
    assert tuple(found[claim] for claim in claims) == wanted
    assert found["V-faster-than-systems"] == UNTESTED
    assert epoch_time.times(rows, "neighbor") == [others[0] * 11]


def grid_rows(points, saved):
    """Two by two cells: p_grad 0.3 and 0.9, t_stale 2 and 6 of 12; points and shares saved."""
    rows = [{"kind": "neighbor", "p_grad": 0.0, "age": 0.0, "t_stale": 1}]
    rows += [
        {"kind": kind, "p_grad": 0.9, "age": 1 / 6, "t_stale": 2}
        for kind in ["features", "wrap", "drop"]
    ]
    rows = [row | {"seed": 0, "saved": 0.3, "test_f1": 0.9} for row in rows]
    for p, t in ((0.3, 2), (0.3, 6), (0.9, 2), (0.9, 6)):
        place = {"kind": "grid", "p_grad": p, "age": t / 12, "t_stale": t, "seed": 0}
        rows.append(place | {"test_f1": 0.9 + points[p, t] / 100, "saved": saved})
    return rows


@pytest.mark.parametrize(
    ("points", "saved", "wanted"),
    [
        ((0.0, -0.2, -0.4, -1.0), 0.7, (HOLDS, HOLDS, HOLDS)),
        ((0.0, -0.2, -0.8, -0.3), 0.5, (WEAKER, WEAKER, WEAKER)),
        ((-1.0, 0.0, -3.0, 0.5), 0.2, (FAILS, FAILS, FAILS)),
        ((0.0, -2.0, 0.0, -1.0), 0.7, (HOLDS, WEAKER, HOLDS)),  # not along p_grad
    ],
)
def test_the_rules_of_thresholds(points, saved, wanted):
    points = dict(zip(((0.3, 2), (0.3, 6), (0.9, 2), (0.9, 6)), points, strict=True))
    found = outcomes(thresholds.verdicts(None, grid_rows(points, saved)))
    assert tuple(found.values()) == wanted


@pytest.mark.parametrize(
    ("gains", "wanted"),
    [((0.3, 0.2, 0.1), HOLDS), ((0.9, 0.1, -0.2), WEAKER), ((-0.5, 0.1, 0.1), FAILS)],
)
def test_the_rule_of_a_late_cache(gains, wanted):
    rows = []
    for seed, gain in enumerate(gains):
        scores = dict.fromkeys(warm_up.IN_PAPER, 0.8 + gain / 100) | {-1: 0.85, 0: 0.8}
        rows += [{"start": start, "seed": seed, "test_f1": x} for start, x in scores.items()]
    assert outcomes(warm_up.verdicts(None, rows)) == {"V-warm-up": wanted}


@pytest.mark.parametrize(
    ("seconds", "points", "wanted"),
    [
        (0.1, -0.5, (HOLDS, HOLDS)),
        (1.0, -1.5, (WEAKER, WEAKER)),
        (4.0, -2.5, (FAILS, FAILS)),
    ],
)
def test_the_rules_of_relations(seconds, points, wanted):
    """The first epoch counts neither for the seconds nor for the rows."""
    rows = [
        {"seed": 0, "method": name, "epoch": epoch, "seconds": 1000.0 if epoch == 1 else took}
        | {"test_f1": score, "inputs": 100, "loaded": 100 if epoch == 1 else 40}
        for name, took, score in (("neighbor", 3, 0.9), ("fresh", seconds, 0.9 + points / 100))
        for epoch in (1, 2, 3)
    ]
    found = heterogeneous.verdicts(None, rows)
    assert tuple(outcomes(found).values()) == wanted
    assert "60.0% fewer rows" in found[0].ours
    assert ("1.64" in found[0].because) == (wanted[0] != HOLDS)


@pytest.mark.parametrize(
    ("wide", "narrow", "wanted"),
    [  # degree, PageRank, embeddings, both, both for performance
        ((0.3, 0.3, 0.5, 0.6, 0.7), (0.3, 0.3, 0.1, 0.25, 0.4), (HOLDS, HOLDS)),
        ((0.3, 0.3, 0.5, 0.6, 0.6), (0.4, 0.3, 0.1, 0.35, 0.4), (WEAKER, HOLDS)),  # 0.50
        ((0.3, 0.3, 0.5, 0.6, 0.7), (0.5, 0.6, 0.1, 0.25, 0.4), (HOLDS, WEAKER)),  # 0.45, 0.425
        ((0.3, 0.3, 0.5, 0.6, 0.4), (0.5, 0.6, 0.1, 0.25, 0.4), (FAILS, FAILS)),
    ],
)
def test_the_rules_of_saved_rows_judge_means_over_the_widths(wide, narrow, wanted):
    rows = [
        {"overflow": overflow, "d": d, "h": 256, "policy": name, "saved": share}
        for overflow, shares in (("wrap", (wide, narrow)), ("drop", ((0,) * 5,) * 2))
        for d, each in zip((768, 128), shares, strict=True)
        for name, share in zip(policies.PRINTED, each, strict=True)
    ]
    found = policies.verdicts(None, rows)
    assert tuple(outcomes(found).values()) == wanted
    width = "with features of width"
    assert f"{wide[4]:.1%} {width} 768 and {narrow[4]:.1%} {width} 128" in found[0].ours
