"""One run from end to end: train, stop, go on, predict; in both packages, in this process."""

import json

import numpy as np
import pytest
from tiny_data import NODES, same_run, write_graphsaint

from refimpl.lab.apps.cli import main

EPOCHS = 4


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return write_graphsaint(tmp_path_factory.mktemp("data") / "tiny")


def test_train_resume_and_predict(gnn, folder, tmp_path, capfd):
    def run(command, *options):
        assert main([command, *map(str, options)]) == 0, capfd.readouterr().err

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    options = ["--data", folder, "--impl", gnn.__name__, "--hidden", 8]
    options += ["--lr", 0.05, "--dropout", 0.1]
    run("train", *options, "--epochs", EPOCHS, "--out", whole)
    run("train", *options, "--epochs", 2, "--out", parts)
    run("train", "--resume", "--epochs", EPOCHS, "--out", parts)
    same_run(whole / "checkpoint.npz", parts / "checkpoint.npz")

    metrics = json.loads((whole / "metrics.json").read_text())
    history = np.genfromtxt(whole / "history.csv", delimiter=",", names=True)
    assert history["epoch"].tolist() == list(range(1, EPOCHS + 1))
    assert history["loss"][-1] < history["loss"][0]
    assert metrics["test_f1"] > 1 / 3  # of 4 classes

    out = tmp_path / "labels.csv"
    run("predict", whole / "model.npz", "--data", folder, "--impl", gnn.__name__, "--out", out)
    assert len(out.read_text().splitlines()) == 1 + NODES
