"""The examples run, each on its own."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.runs

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *options, quiet=False):
    """Run an example; `quiet` ignores warnings, of which PyG's import has some."""
    warnings = "ignore" if quiet else "error"
    command = [sys.executable, "-W", warnings, str(EXAMPLES / name), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_torch_dataset_trains_a_model(gnn):
    pytest.importorskip("torch", reason="torch is not installed")
    done = run("torch_dataset.py", "--impl", gnn.__name__)
    assert (done.returncode, done.stderr) == (0, "")
    *progress, last = done.stdout.splitlines()
    losses = [float(line.split("loss ")[1]) for line in progress]
    assert len(losses) == 6 and losses[-1] < 0.5 * losses[0]
    assert last.startswith("test accuracy: ")
    assert float(last.split()[-1]) > 0.88  # features alone reach 0.6
    refused = run("torch_dataset.py", "--data", "communities-multilabel", "--impl", gnn.__name__)
    assert refused.returncode == 1
    assert "one class a node" in refused.stderr


def test_torch_batches_are_the_same_for_any_number_of_workers(gnn, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = importlib.import_module("torch_dataset")
    data = gnn.load_dataset("karate")
    sampler = gnn.Sampler("frontier", m=2, n=9)

    def batches(workers):
        for number in range(workers):
            worker = None
            if workers > 1:
                worker = type("Worker", (), {"id": number, "num_workers": workers})
            monkeypatch.setattr(example, "get_worker_info", lambda worker=worker: worker)
            yield from example.Subgraphs(gnn, data, sampler, 21, seed=3)

    def contents(batch):
        return [part.tolist() for part in batch]

    one = list(batches(1))
    assert len(one) == 21
    assert sorted(map(contents, one)) == sorted(map(contents, batches(3)))
    sub = gnn.sample_many(data.train_graph, sampler, 3, 7, 1)[0]
    nodes = data.train[sub.nodes]
    assert torch.equal(one[7].features, torch.tensor(data.inputs(nodes)))
    assert one[7].labels.tolist() == data.labels[nodes].tolist()
    ends = set(zip(nodes[one[7].target].tolist(), nodes[one[7].source].tolist(), strict=True))
    assert ends == {
        (u, v) for u in nodes.tolist() for v in nodes.tolist() if data.graph.to_scipy()[u, v]
    }


def test_pyg_training_trains_a_model(gnn):
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    options = ["--impl", gnn.__name__, "--epochs", "2"]
    runs = [run("pyg_training.py", *options, "--workers", str(n), quiet=True) for n in (0, 2)]
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
    first, second, last = runs[0].stdout.splitlines()
    assert float(second.split("loss ")[1]) < 0.5 * float(first.split("loss ")[1])
    assert last.startswith("test accuracy: ") and float(last.split()[-1]) > 0.88
