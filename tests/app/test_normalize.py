"""Training with --normalize: what it computes, writes, and refuses."""

import csv
import json

import numpy as np
import pytest
from tiny_data import same_run, tiny_dataset

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.training.config import config_from

pytestmark = pytest.mark.runs

PACKAGES = ("refimpl", "fastimpl")
SAINT = 1  # the domain
COVERAGE = 6
PLAIN = {"coverage": 50.0}  # without weights


@pytest.fixture
def run(run, tmp_path):
    """Run `train` normalised; return (status, stdout, stderr, metrics, history)."""

    def normalised(*options, out="out", normalize=("--normalize", "both", "--coverage", COVERAGE)):
        status, *text, metrics = run(*normalize, *options, out=out)
        if status:
            return status, *text, None, None
        with (tmp_path / out / "history.csv").open(newline="") as file:
            return status, *text, metrics, list(csv.DictReader(file))

    return normalised


def resume(path, *options):
    return main(["train", "--resume", "--out", str(path), *map(str, options)])


def test_its_time_is_a_part_of_the_training(run, gnn):
    status, stdout, stderr, metrics, history = run("--impl", gnn.__name__)
    assert (status, stderr) == (0, "")
    assert "normalised pin-tile subgraphs" in stdout
    assert metrics["settings"]["normalize"] == "both"
    assert metrics["settings"]["coverage"] == COVERAGE
    seconds = metrics["seconds"]
    assert seconds["normalization"] > 0
    assert [float(row["normalization"]) for row in history] == [seconds["normalization"]] * 3
    shown = {line.split()[0]: line.split()[1:] for line in stdout.splitlines() if line.split()}
    whole = sum(s for part, s in seconds.items() if part != "evaluation")
    assert shown["normalization"][0] == f"{seconds['normalization']:.3f}"
    assert shown["training"][0] == f"{whole:.3f}"


def test_without_it_there_is_no_such_part(run):
    _, stdout, _, metrics, history = run(normalize=())
    assert "normalization" not in stdout
    assert "normalised" not in stdout
    assert metrics["seconds"]["normalization"] == 0
    assert metrics["settings"]["normalize"] == "none"
    assert {row["normalization"] for row in history} == {"0.0"}


def test_default_coverage(run):
    assert run(normalize=("--normalize", "both"))[3]["settings"]["coverage"] == 50


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_packages_agree_and_differ_from_plain_training(run, tmp_path, agreed_weights, dtype):
    for name in PACKAGES:
        assert run("--impl", name, "--dtype", dtype, out=name)[0] == 0
    assert run("--dtype", dtype, out="plain", normalize=())[0] == 0
    plain, _ = refimpl.lab.training.load_checkpoint(tmp_path / "plain" / "checkpoint.npz")
    tolerance = 1e-9 if dtype == "float64" else 1e-3
    for name, W in agreed_weights(tolerance).items():
        assert W.dtype == dtype
        largest = np.abs(W).max()
        assert not np.allclose(plain.weights[name], W, rtol=0, atol=tolerance * largest)


def test_stopped_between_epochs(run, tmp_path, gnn):
    options = ("--impl", gnn.__name__)
    run(*options, "--epochs", 5, out="whole")
    run(*options, "--epochs", 2, "--pool", 3, out="parts")
    assert resume(tmp_path / "parts", "--epochs", 5, "--pool", 2, "--threads", 1) == 0
    same_run(*(tmp_path / out / "checkpoint.npz" for out in ("whole", "parts")))
    assert resume(tmp_path / "parts", "--epochs", 5, "--coverage", COVERAGE) == 0
    seconds = json.loads((tmp_path / "parts" / "metrics.json").read_text())["seconds"]
    assert seconds["normalization"] > 0


def test_resume_refuses_another_normalisation(run, tmp_path, capfd):
    run()
    run(out="plain", normalize=())
    for out, options, message in (
        ("out", ("--coverage", 7), "--coverage is 6.0 in"),
        ("plain", ("--normalize", "both"), "--normalize is none in"),
        ("plain", ("--coverage", 7), "--coverage does not apply without --normalize"),
    ):
        assert resume(tmp_path / out, *options) == 2
        assert message in capfd.readouterr().err


def test_bad_configurations():
    for options, error, message in (
        ({"normalize": "both", "method": "full"}, ValueError, "normalize is no setting where"),
        ({"normalize": 1}, ValueError, "normalize must be one of 'none', 'loss', 'both', got 1"),
        ({"coverage": -1}, ValueError, "coverage must be finite and above 0, got -1"),
        ({"coverage": 0}, ValueError, "coverage must be finite and above 0, got 0"),
        ({"coverage": 9.0}, ValueError, "coverage must be 50.0 where normalize is none"),
    ):
        with pytest.raises(error, match=message):
            config_from(options)


# The library underneath.


def config_of(**options):
    normalised = {"normalize": "both", "coverage": COVERAGE}
    return config_from({"hidden": 8, "rng": 4, **normalised, **options})


def counted(gnn, dataset, sampler):
    """Return weights of nodes and 1 / (deg alpha) as a matrix, from a recount of subgraphs."""
    n = dataset.train_graph.n
    nodes, pairs, subgraphs = np.zeros(n), np.zeros((n, n)), 0
    dense = dataset.train_graph.to_scipy().toarray()
    while nodes.sum() < COVERAGE * n:
        (sub,) = gnn.sample_many(dataset.train_graph, sampler, 4, subgraphs, 1, domain=SAINT)
        nodes[sub.nodes] += 1
        pairs[np.ix_(sub.nodes, sub.nodes)] += 1
        subgraphs += 1
    floored = np.maximum(nodes, 1)
    values = dense * floored[:, None] / np.maximum(pairs, 1)
    return subgraphs / (n * floored), values / np.maximum(dense.sum(axis=1), 1)[:, None]


@pytest.mark.parametrize("model", ["sage", "gcn"])
def test_first_iteration_is_the_weighted_one(gnn, tmp_path, model):
    """Loss and gradient of iteration 0 in dense algebra; GCN's aggregation has no weights."""
    dataset = tiny_dataset(tmp_path, "float64")
    normalize = "both" if model == "sage" else "loss"
    trainer = gnn.make_trainer(dataset, config_of(model=model, normalize=normalize))
    W = {name: array.copy() for name, array in trainer.state.weights.items()}
    loss, sampler = trainer.step().loss, trainer.config.method.sampler
    omega, matrix = counted(gnn, dataset, sampler)
    (sub,) = gnn.sample_many(dataset.train_graph, sampler, 4, 0, 1)
    ids = dataset.train[sub.nodes]
    A, H, Y = matrix[np.ix_(sub.nodes, sub.nodes)], dataset.inputs(ids), dataset.targets(ids)
    if model == "gcn":
        A = sub.graph.to_scipy().toarray() + np.eye(len(ids))
        A /= np.sqrt(np.outer(A.sum(axis=1), A.sum(axis=1)))
    for layer in ("layer1", "layer2"):
        if model == "sage":
            H = np.hstack([A @ H @ W[f"{layer}.W_neigh"], H @ W[f"{layer}.W_self"]])
        else:
            H = A @ H @ W[f"{layer}.W"]
        H = np.maximum(H, 0)
    logits = H @ W["classifier.W"]
    P = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert loss == pytest.approx(-(omega[sub.nodes] * np.log((P * Y).sum(axis=1))).sum(), rel=1e-12)
    gradient = H.T @ (omega[sub.nodes][:, None] * (P - Y))
    np.testing.assert_allclose(trainer.state.m["classifier.W"], 0.1 * gradient, atol=1e-12)


@pytest.mark.parametrize("model", ["gcn", "mixhop", "gat"])
def test_the_gradient_of_the_weighted_loss_by_finite_differences(gnn, tmp_path, model):
    dataset, eps = tiny_dataset(tmp_path, "float64"), 1e-6
    config = config_of(model=model, normalize="loss", hidden=12)

    def stepped(name=None, place=None, by=0.0):
        trainer = gnn.make_trainer(dataset, config)
        if name is not None:
            trainer.state.weights[name][place] += by
        return trainer.step().loss, trainer.state.m

    loss, m = stepped()
    for name, rows in m.items():
        place = np.unravel_index(np.abs(rows).argmax(), rows.shape)
        high, low = (stepped(name, place, by)[0] for by in (eps, -eps))
        assert high != low
        assert 10 * rows[place] == pytest.approx((high - low) / (2 * eps), rel=1e-5)
    plain = gnn.make_trainer(dataset, config_from({**config.flat(), "normalize": "none", **PLAIN}))
    assert abs(plain.step().loss - loss) > 1e-3


def test_evaluation_is_plain(gnn, tmp_path):
    dataset = tiny_dataset(tmp_path, "float64")
    normalised = gnn.make_trainer(dataset, config_of())
    plain = gnn.make_trainer(dataset, gnn.TrainConfig(hidden=8, rng=4))
    W = normalised.state.weights
    assert normalised.scores(W, dataset.val) == plain.scores(W, dataset.val)
    kept, expected = (t.evaluation.operands for t in (normalised, plain))
    assert kept.keys() == expected.keys() and kept
    for number in kept:
        np.testing.assert_array_equal(kept[number][0].data, expected[number][0].data)


def test_counts_are_of_the_training_graph_alone(gnn, tmp_path):
    """No node of validation or test is counted."""
    dataset = tiny_dataset(tmp_path)
    counts = gnn.make_trainer(dataset, config_of()).iterations.counts
    assert counts.nodes.shape == (dataset.train.size,)
    assert counts.edges.shape == (dataset.train_graph.e,)
