"""Both packages on one seed: the same subgraphs, the same weights; and the table that says so."""

import json

import numpy as np
import pytest
from tiny_data import tiny_dataset, write_graphsaint

import fastimpl
import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.data.communities import communities
from refimpl.lab.training.methods import METHODS, SampledGraph
from refimpl.lab.training.settings import settings_of

pytestmark = pytest.mark.runs

PARTS = ["sampling", "aggregation", "weights", "other", "whole iteration"]


@pytest.fixture
def compare(folder, tmp_path, capfd):
    """Run `compare` on the tiny data; return (status, stdout, stderr, JSON)."""

    def compare(*options):
        out = tmp_path / "table.json"
        argv = ["compare", "--data", str(folder), "--out", str(out), "--overwrite"]
        status = main([*argv, "--hidden", "8", *options])
        text = capfd.readouterr()
        return status, *text, json.loads(out.read_text()) if out.exists() else None

    return compare


@pytest.mark.parametrize("sampler", ["pin_tile", "frontier"])
def test_twenty_iterations_in_float64_agree(sampler):
    dataset = communities(3, dtype="float64")
    graph = dataset.train_graph
    method = SampledGraph(sampler=refimpl.scaled_sampler(graph, sampler, n=400))
    config = refimpl.TrainConfig(method=method, hidden=32, rng=11)
    drawn = [gnn.sample_many(graph, method.sampler, 11, 0, 20) for gnn in (refimpl, fastimpl)]
    for a, b in zip(*drawn, strict=True):
        assert a.nodes.tobytes() == b.nodes.tobytes()
        assert a.graph.indptr.tobytes() == b.graph.indptr.tobytes()
        assert a.graph.indices.tobytes() == b.graph.indices.tobytes()
        assert a.edge_ids.tobytes() == b.edge_ids.tobytes()
        assert a.transpose_perm.tobytes() == b.transpose_perm.tobytes()
        assert a.counters == b.counters
    slow, fast = (gnn.make_trainer(dataset, config) for gnn in (refimpl, fastimpl))
    for _ in range(20):
        a, b = slow.step(), fast.step()
        assert a.nodes == b.nodes
        assert b.loss == pytest.approx(a.loss, rel=1e-9)
    start = refimpl.make_trainer(dataset, config).state.weights
    for name, W in slow.state.weights.items():
        assert not np.array_equal(W, start[name])
        np.testing.assert_allclose(fast.state.weights[name], W, rtol=1e-9, atol=0)


def test_table_and_json(compare, tmp_path):
    status, stdout, stderr, result = compare("--rounds", "3", "--threads", "1")
    assert (status, stderr) == (0, "")
    assert list(result["parts"]) == PARTS
    for part, of in result["parts"].items():
        line = next(line for line in stdout.splitlines() if line.startswith(part))
        assert f"{of['refimpl_ms']:.3f}" in line
        assert f"{of['fastimpl_ms']:.3f}" in line
        assert of["speedup"] == pytest.approx(of["refimpl_ms"] / of["fastimpl_ms"])
        assert f"{of['speedup']:.1f}x" in line
    assert (result["rounds"], result["iterations"], result["threads"]) == (3, 6, 1)
    assert result["same_subgraphs"] is True
    assert result["agree"] is True
    assert result["settings"]["dtype"] == "float32"
    assert result["settings"]["budget"] == 26
    assert 0 <= result["weights_difference"] < 1e-3
    assert "in float32" in stdout
    assert "subgraphs identical: yes" in stdout
    assert f"wrote {tmp_path / 'table.json'}" in stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--dtype", "float64", "--pool", "3"),
        ("--method", "full"),
        ("--model", "mlp"),
        ("--sampler", "frontier", "--budget", "50"),
    ],
)
def test_other_settings(compare, options):
    status, _, stderr, result = compare("--rounds", "2", *options)
    assert (status, stderr) == (0, "")
    assert result["iterations"] == 2 * (3 if "--pool" in options else 2)
    assert result["weights_difference"] < result["tolerance"]
    assert result["tolerance"] == (1e-9 if "float64" in options else 1e-3)
    if "full" in options:  # there is nothing to sample
        assert result["parts"]["sampling"]["speedup"] is None


WORDS = {
    "cluster": "--clusters 6",
    "layer": "--batch-size 40",
    "neighbor": "--batch-size 22 --fanouts 4,3",
    "fresh": "--batch-size 22 --fanouts 4,3 --t-stale 200 --buffer 6000",
}
MODELS = {
    "prepropagation": ["sign"],
    **dict.fromkeys(("graph", "layer", "full"), ["sage", "gcn", "mixhop", "gat", "mlp"]),
    **dict.fromkeys(("neighbor", "fresh"), ["sage", "gcn", "gat"]),
}


@pytest.mark.parametrize(
    ("method", "model"),
    [(method, model) for method in METHODS for model in MODELS.get(method, ["sage"])],
)
def test_what_every_method_samples_is_compared(compare, method, model):
    words = ["--method", method, "--model", model, "--dropout", "0.2", "--dtype", "float64"]
    size = "--batch-size 40" if "batch_size" in settings_of(METHODS[method]) else ""
    status, stdout, _, result = compare("--rounds", "4", *words, *WORDS.get(method, size).split())
    assert (status, result["iterations"]) == (0, 8)
    assert (result["same_subgraphs"], result["agree"]) == (True, True)
    if method in ("neighbor", "fresh"):
        assert result["same_loads"] is True
        assert "counts of rows loaded and cached identical: yes" in stdout
    unused = {"impl", "epochs", "background", "workers", "features_in", "half_features"}
    assert not unused & result["settings"].keys()
    assert result["settings"]["method"] == method


def test_no_file_unless_asked(tmp_path, monkeypatch, capsys):
    folder = write_graphsaint(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "--data", str(folder), "--rounds", "1"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


OTHER = {  # what draws: a change of its seed, and a method that calls it
    "sample_many": (lambda own, g, sampler, rng, *more: own(g, sampler, rng + 1, *more), ""),
    "layer_sample": (
        lambda own, g, roots, fanouts, key: own(g, roots, fanouts, key + 1),
        "--method layer --batch-size 40 --fanouts 2,2",
    ),
    "sample_mfg": (
        lambda own, *args, seed, **more: own(*args, seed=seed + 1, **more),
        "--method neighbor --batch-size 22 --fanouts 4,3",
    ),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_subgraphs_are_found(compare, monkeypatch, name):
    (change, words), own = OTHER[name], getattr(fastimpl, name)
    monkeypatch.setattr(fastimpl, name, lambda *args, **more: change(own, *args, **more))
    status, stdout, _, result = compare("--rounds", "1", *words.split())
    assert status == 1
    assert result["same_subgraphs"] is False
    assert "subgraphs identical: NO" in stdout


NORMALISED = ("--rounds", "1", "--normalize", "both", "--coverage", "6")


def test_what_normalisation_costs_is_shown_once(compare):
    status, stdout, _, result = compare(*NORMALISED)
    assert status == 0
    once = result["normalization"]
    assert once["same_counts"] is True
    assert "normalization" not in result["parts"]
    (line,) = [line for line in stdout.splitlines() if line.startswith("normalization, once")]
    assert f"{once['refimpl_ms']:.3f}" in line
    assert f"{once['fastimpl_ms']:.3f}" in line
    assert once["speedup"] == pytest.approx(once["refimpl_ms"] / once["fastimpl_ms"])
    assert f"counts of {once['subgraphs']} subgraphs identical: yes" in stdout
    status, stdout, _, result = compare("--rounds", "1")
    assert (status, result["normalization"]) == (0, None)
    assert "normalization" not in stdout


def test_other_counts_are_found(compare, monkeypatch):
    def one_more(graph, sampler, rng, *, coverage, pool, estimate=fastimpl.estimate_counts):
        counts = estimate(graph, sampler, rng, coverage=coverage, pool=pool)
        counts.edges[-1] += 1
        return counts

    monkeypatch.setattr(fastimpl, "estimate_counts", one_more)
    status, stdout, _, result = compare(*NORMALISED)
    assert status == 1
    assert (result["normalization"]["same_counts"], result["agree"]) == (False, False)
    assert "subgraphs identical: NO" in stdout


def test_other_weights_are_found(compare, monkeypatch):
    def other_rate(W, gradient, m, v, t, *, lr, step=fastimpl.adam_step):
        return step(W, gradient, m, v, t, lr=lr * 1.1)

    monkeypatch.setattr(fastimpl, "adam_step", other_rate)
    status, stdout, _, result = compare("--rounds", "1")
    assert status == 1
    assert result["same_subgraphs"] is True
    assert result["agree"] is False
    assert "(at most 1e-03: NO)" in stdout


def test_weights_just_outside_the_tolerance_are_found(compare, monkeypatch):
    def nudged(W, gradient, m, v, t, *, lr, step=fastimpl.adam_step):
        step(W, gradient, m, v, t, lr=lr)
        W *= 1 + 2e-9

    monkeypatch.setattr(fastimpl, "adam_step", nudged)
    assert compare("--rounds", "1", "--dtype", "float64")[0] == 1
    assert compare("--rounds", "1", "--dtype", "float32")[0] == 0


@pytest.mark.parametrize(
    "options, message",
    [
        (("--rounds", "0"), "--rounds must be at least 1, got 0"),
        (("--epochs", "3"), "--epochs"),
        (("--impl", "refimpl"), "--impl"),
        (("--resume",), "--resume"),
        (("--frontier", "500"), "--frontier must be at most the number of nodes (130), got 500"),
        (("--sampler", "frontier", "--eta", "2"), "--eta does not apply"),
        (("--lr", "1e300"), ": try a smaller --lr"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_bad_options(compare, options, message):
    status, stdout, stderr, result = compare("--rounds", "2", *options)
    assert (status, stdout, result) == (2, "", None)
    assert len(stderr.splitlines()) == 1
    assert message in stderr


def test_interrupted(compare, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("refimpl.lab.training.trainer.Trainer.step", interrupt)
    status, _, stderr, result = compare()
    assert (status, stderr, result) == (130, "minibatch-gnn: interrupted\n", None)


def test_an_out_file_that_cannot_be_written(folder, tmp_path, capfd):
    out = tmp_path / "no" / "such" / "table.json"
    assert main(["compare", "--data", str(folder), "--rounds", "1", "--out", str(out)]) == 2
    assert str(out.parent) in capfd.readouterr().err


def test_the_tiny_data_is_hard_enough_to_mean_something(tmp_path):
    result = fastimpl.train(tiny_dataset(tmp_path), fastimpl.TrainConfig(epochs=20, hidden=16))
    assert result.test_f1 > 0.6  # a quarter by chance
