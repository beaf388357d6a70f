"""Data sets, models and runs that many of these tests share."""

import json

import numpy as np
import pytest
from tiny_data import tiny_dataset, write_graphsaint
from trained_models import trained
from typed_data import write_typed

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.data.loading import load_dataset


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The GraphSAINT folder of the tiny data set; a test must not change it."""
    return write_graphsaint(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture(scope="session", params=["single", "multi"])
def either(request, tmp_path_factory):
    """A folder of nodes that have one class each, and one of nodes that have several."""
    several = request.param == "multi"
    return write_graphsaint(tmp_path_factory.mktemp("data") / request.param, several)


@pytest.fixture(scope="session")
def model(gnn, either):
    """A model of that folder."""
    return trained(gnn, load_dataset(either, dtype="float64"))


@pytest.fixture(scope="session")
def tiny_model(folder, tmp_path_factory):
    """The file of a model of the tiny data set."""
    path = tmp_path_factory.mktemp("model") / "m.npz"
    refimpl.save_model(path, trained(refimpl, load_dataset(folder)))
    return path


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """The tiny data set, in float64."""
    return tiny_dataset(tmp_path_factory.mktemp("tiny"), "float64")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The tiny data set, in float32."""
    return tiny_dataset(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A small data set with types of edges and nodes, in float64."""
    return load_dataset(write_typed(tmp_path_factory.mktemp("typed")), dtype="float64")


@pytest.fixture
def run(folder, tmp_path, capfd):
    """Run `train` on the tiny folder for 3 epochs; return (status, stdout, stderr, metrics)."""

    def run(*options, out="out"):
        argv = ["train", "--data", folder, "--out", tmp_path / out, "--epochs", 3, "--hidden", 8]
        argv += [] if "--resume" in options else ["--overwrite"]
        status = main([*map(str, (*argv, *options))])
        text = capfd.readouterr()
        metrics = tmp_path / out / "metrics.json"
        return status, *text, json.loads(metrics.read_text()) if metrics.exists() else None

    return run


@pytest.fixture
def agreed_weights(tmp_path):
    """Assert that runs in the folders `refimpl` and `fastimpl` agree; return the weights."""

    def agreed(tolerance=1e-9):
        load = refimpl.lab.training.load_checkpoint
        paths = (tmp_path / name / "checkpoint.npz" for name in ("refimpl", "fastimpl"))
        slow, fast = (load(path)[0] for path in paths)
        assert slow.iterations == fast.iterations
        for name, W in slow.weights.items():
            largest = np.abs(W).max(initial=0)
            np.testing.assert_allclose(fast.weights[name], W, rtol=0, atol=tolerance * largest)
        return slow.weights

    return agreed
