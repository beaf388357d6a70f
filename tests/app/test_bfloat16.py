"""Training whose dense products have factors in bfloat16."""

import warnings

import numpy as np
import pytest
from comparison import threads

import fastimpl
import refimpl
from fastimpl import _bfloat16, _mkl
from fastimpl._blas_choice import Choice, in_use, use
from refimpl import TrainConfig
from refimpl.lab.apps.cli import main

DATA = refimpl.load_dataset("communities")
SETTINGS = {"method": "full", "hidden": 16, "epochs": 3, "lr": 0.1}


def trained(gnn, **settings):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="bfloat16 makes training slower")
        return gnn.train(DATA, TrainConfig(**{**SETTINGS, **settings}))


def gap(one, other):
    """Return how far the weights of two results are apart, relative to their size."""
    pairs = [(one.weights[name], other.weights[name]) for name in one.weights]
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)


def test_both_packages_round_alike_and_otherwise_than_without():
    exact = trained(refimpl, epochs=1)
    reference, fast = (trained(gnn, epochs=1, bfloat16=True) for gnn in (refimpl, fastimpl))
    assert gap(reference, exact) > 1e-4
    assert gap(fast, reference) < gap(reference, exact) / 4


@pytest.mark.runs
@pytest.mark.parametrize("model", ["sage", "gcn", "mixhop", "gat", "mlp"])
def test_every_model_learns(model):
    exact, rounded = (trained(fastimpl, model=model, bfloat16=on) for on in (False, True))
    assert gap(rounded, exact) > 0
    assert rounded.val_f1 >= exact.val_f1 - 0.05


def test_bits_do_not_depend_on_threads():
    with threads(1):
        one = trained(fastimpl, bfloat16=True)
    with threads(3):
        three = trained(fastimpl, bfloat16=True)
    assert gap(one, three) == 0


def test_evaluation_is_not_rounded(gnn):
    config = TrainConfig(**{**SETTINGS, "epochs": 1}, bfloat16=True, best_by="loss")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="bfloat16 makes training slower")
        result = gnn.train(DATA, config)
    A = DATA.graph.to_scipy() / np.maximum(DATA.graph.degrees(), 1)[:, None]
    mean, std = DATA.scaling
    X = (DATA.features - mean) / std
    W = {name: weight.astype(np.float64) for name, weight in result.weights.items()}
    for place in ("layer1", "layer2"):
        halves = A @ X @ W[f"{place}.W_neigh"], X @ W[f"{place}.W_self"]
        X = np.maximum(np.concatenate(halves, axis=1), 0)
    logits = (X @ W["classifier.W"])[DATA.val]
    largest = logits.max(axis=1)
    right = logits[np.arange(len(logits)), DATA.labels[DATA.val]]
    loss = np.mean(largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1)) - right)
    assert result.history[0].val_loss == pytest.approx(loss, rel=1e-5)


def test_float64_is_refused(gnn):
    double = refimpl.load_dataset("karate", dtype=np.float64)
    with pytest.raises(ValueError, match="bfloat16 must be False where the data set is float64"):
        gnn.train(double, TrainConfig(bfloat16=True))


def test_layers_that_do_not_round_are_refused():
    def own(*args, **options):
        return fastimpl.gcn_forward(*args, **options)

    made = refimpl.backend(fastimpl, gcn_forward=own)
    with pytest.raises(ValueError, match="bfloat16 must be False: gcn_forward of backend of fast"):
        made.train(DATA, TrainConfig(bfloat16=True))
    assert trained(refimpl.backend(fastimpl), bfloat16=True).iterations == 3


def test_a_run_that_gets_slower_warns():
    with pytest.warns(UserWarning, match="bfloat16 makes training slower.*minibatch-gnn\\[mkl\\]"):
        refimpl.train(DATA, TrainConfig(**SETTINGS, bfloat16=True))


def test_what_an_implementation_says_of_its_build_is_a_dict_or_returns_one():
    made = refimpl.backend(refimpl)
    for build in ({"bfloat16": True}, lambda: {"bfloat16": True}):  # warnings are errors
        made.build_info = build
        assert made.train(DATA, TrainConfig(**SETTINGS, bfloat16=True)).iterations == 3
        assert made.train(DATA, TrainConfig(**SETTINGS)).iterations == 3


@pytest.mark.skipif(not _bfloat16.use_tiles(), reason="no AMX here")
def test_a_run_on_tiles_does_not_warn():
    fastimpl.train(DATA, TrainConfig(**SETTINGS, bfloat16=True))


@pytest.mark.skipif(not _mkl.installed() or not _mkl.has_bfloat16(), reason="no bfloat16 here")
def test_a_run_that_gets_faster_does_not_warn():
    before = in_use()
    _bfloat16.use_tiles(False)
    use(Choice("mkl", "in a test", _mkl.opened(_mkl.installed()[1])))
    try:
        fastimpl.train(DATA, TrainConfig(**SETTINGS, bfloat16=True))
    finally:
        use(before)
        _bfloat16.use_tiles()


@pytest.mark.filterwarnings("ignore:bfloat16 makes training slower")
def test_on_the_command_line(tmp_path, capsys):
    common = ["train", "--data", "karate", "--method", "full", "--epochs", "2", "--bfloat16"]
    assert main([*common, "--out", str(tmp_path / "run")]) == 0
    assert main([*common, "--dtype", "float64", "--out", str(tmp_path / "other")]) == 2
    assert "--bfloat16 must be False where the data set is float64" in capsys.readouterr().err
