"""A training that leaves the range of its floats ends at once, and says what left it first."""

import numpy as np
import pytest

from refimpl.lab.apps.cli import main
from refimpl.lab.training.divergence import Diverged

RING = [(v, (v + 1) % 40) for v in range(40)]
PARTS = {"train": range(20), "val": range(20, 30), "test": range(30, 40)}


def ring(gnn, largest=None, scaling="standard"):
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    X[20, 1] = X[20, 1] if largest is None else largest
    return gnn.Dataset.from_arrays(RING, X, np.arange(40) % 2, scaling=scaling, **PARTS)


def config(gnn, lr=0.01):
    return gnn.TrainConfig(method="full", hidden=4, epochs=3, model="gcn", lr=lr)


def test_a_step_that_is_too_large(gnn):
    with pytest.raises(
        Diverged, match="in iteration 2: the weights became too large first"
    ) as found:
        gnn.train(ring(gnn), config(gnn, lr=1e25), progress=False)
    assert found.value.first == "weights"


def test_a_feature_that_is_too_large(gnn):
    """Node 20 is for validation: standard scaling does not see it, but messages pass."""
    message = "in iteration 1: the features came first: column 1 of node 20 is"
    with pytest.raises(Diverged, match=message) as found:
        gnn.train(ring(gnn, 3e38), config(gnn), progress=False)
    assert found.value.first == "features"


def test_gradients_that_overflow(gnn, monkeypatch):
    trainer = gnn.make_trainer(ring(gnn), config(gnn))
    step = trainer.step()
    broken = {name: np.full_like(G, np.inf) for name, G in step.gradients.items()}
    monkeypatch.setattr(trainer.iterations, "iteration", lambda: step._replace(gradients=broken))
    with pytest.raises(Diverged, match="in iteration 2: the gradients became too large first"):
        trainer.step()


def test_the_command_line_blames_the_feature(tmp_path, capsys):
    edges = "".join(f"{u},{v}\n" for u, v in RING)
    rows = "".join(
        f"{v},{v % 2},{'3e38' if v == 20 else v % 2},{'train' if v < 20 else 'test'}\n"
        for v in range(40)
    )
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}")
    (tmp_path / "nodes.csv").write_text(f"id,label,x,split\n{rows}")
    tables = ["--data", str(tmp_path / "edges.csv"), "--features", str(tmp_path / "nodes.csv")]
    form = [
        "--model",
        "gcn",
        "--method",
        "full",
        "--epochs",
        "1",
        "--out",
        str(tmp_path / "run"),
    ]
    assert main(["train", *tables, *form]) == 2
    error = capsys.readouterr().err
    assert "column 0 of node 20" in error and "--lr" not in error
