"""The command `predict`, on what `train` wrote."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from test_cli import one_error, parsers
from test_dataset_folders import real
from tiny_data import CLASSES, FEATURES, NODES, write_graphsaint

import refimpl
from refimpl import load_dataset, load_model
from refimpl.lab.apps.cli import main

pytestmark = pytest.mark.runs


@pytest.fixture(scope="session")
def run_folder(gnn, either, tmp_path_factory):
    """The folder of a run of `train` on `either`."""
    out = tmp_path_factory.mktemp("run")
    options = ["--impl", gnn.__name__, "--epochs", "4", "--hidden", "8"]
    assert main(["train", "--data", str(either), "--out", str(out), *options]) == 0
    return out


@pytest.fixture
def command(gnn, run_folder, capfd):
    """Run `predict` with the model of that run; return what it prints."""

    def command(*options):
        argv = ["predict", str(run_folder / "model.npz"), "--impl", gnn.__name__]
        argv += ["--overwrite"] if "--out" in options else []
        assert main([*argv, *map(str, options)]) == 0
        stdout, stderr = capfd.readouterr()
        assert stderr == ""
        return stdout

    return command


def test_train_writes_the_model_of_the_best_epoch(gnn, either, tmp_path, capfd):
    options = ["--impl", gnn.__name__, "--epochs", "8", "--hidden", "8", "--lr", "0.5"]
    out = tmp_path / "o"
    assert main(["train", "--data", str(either), "--out", str(out), *options]) == 0
    assert f"wrote {out / 'model.npz'}" in capfd.readouterr().out
    model = load_model(out / "model.npz")
    state, _ = refimpl.lab.training.load_checkpoint(out / "checkpoint.npz")
    assert state.best_epoch < 8  # or the last weights would do
    assert model.weights.keys() == state.best_weights.keys()
    for name, W in state.best_weights.items():
        np.testing.assert_array_equal(model.weights[name], W)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_train_writes_no_model_that_is_not_finite(folder, tmp_path, capfd):
    out = tmp_path / "o"
    options = ["--method", "full", "--epochs", "1", "--hidden", "8", "--lr", "1e39"]
    assert main(["train", "--data", str(folder), "--out", str(out), *options]) == 2
    assert "try a smaller --lr" in one_error(capfd)
    assert not (out / "model.npz").exists()


SCORE = """
import sys, importlib
import numpy as np
gnn = importlib.import_module(sys.argv[1])
model = gnn.load_model(sys.argv[2])
data = gnn.load_dataset(sys.argv[3], dtype=model.dtype, scaling=model.scaling)
labels = gnn.predict(model, data.graph, data.features, data.test)
if not model.multilabel:
    labels = labels[:, None] == np.arange(model.classes)
print(repr(gnn.f1_micro(labels, data.targets(data.test))))
"""


def new_process(*argv):
    done = subprocess.run(
        [sys.executable, *map(str, argv)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def scores_in(text):
    """Return F1-micro by part from the printed table."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[2] for row in rows if row and row[0] in ("training", "validation", "test")}


def test_a_new_process_scores_as_training_reported(gnn, either, run_folder):
    metrics = json.loads((run_folder / "metrics.json").read_text())
    model = run_folder / "model.npz"
    for threads in (1, 2):
        argv = ["predict", model, "--data", either, "--threads", threads]
        printed = scores_in(new_process("-m", gnn.__name__, *argv))
        assert printed.keys() == {"training", "validation", "test"}
        assert printed["test"] == f"{metrics['test_f1']:.4f}"
        assert printed["validation"] == f"{metrics['val_f1']:.4f}"
    exact = new_process("-c", SCORE, gnn.__name__, model, either)
    assert float(exact) == metrics["test_f1"]
    assert 0.3 < metrics["test_f1"] < 1


def test_computers_scores_as_training_reported(tmp_path, capfd):
    data, out = real("computers"), tmp_path / "out"
    size = ["--epochs", "2", "--hidden", "16", "--out", str(out)]
    assert main(["train", "--data", str(data), *size]) == 0
    reported = json.loads((out / "metrics.json").read_text())["test_f1"]
    argv = ["predict", out / "model.npz", "--data", data, "--nodes", "test"]
    assert scores_in(new_process("-m", "fastimpl", *argv)) == {"test": f"{reported:.4f}"}
    assert float(new_process("-c", SCORE, "fastimpl", out / "model.npz", data)) == reported


@pytest.mark.parametrize("what", ["labels", "probabilities", "embeddings"])
def test_csv_and_npy_hold_the_same(gnn, either, run_folder, command, tmp_path, what):
    (tmp_path / "nodes.txt").write_text("5 199\n0\n5\n")
    model = load_model(run_folder / "model.npz")
    data = load_dataset(either)
    column = {"labels": "label", "probabilities": "p", "embeddings": "e"}[what]
    for nodes, ids in (
        ("all", np.arange(NODES)),
        ("test", data.test),
        (tmp_path / "nodes.txt", np.array([5, 199, 0, 5])),
    ):
        for name in ("a.csv", "a.npy"):
            options = ["--data", either, "--what", what, "--nodes", nodes]
            text = command(*options, "--out", tmp_path / name)
            assert f"wrote {tmp_path / name}" in text
            assert f"{what} of {len(ids)} nodes" in text
        expected = gnn.predict(model, data.graph, data.features, ids, what)
        saved = np.load(tmp_path / "a.npy")
        assert saved.dtype == expected.dtype and saved.tobytes() == expected.tobytes()
        with (tmp_path / "a.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        columns = [f"{column}{c}" for c in range(expected.shape[1])] if expected.ndim == 2 else []
        assert header == ["node", *(columns or [column])]
        assert [int(row[0]) for row in rows] == ids.tolist()
        numbers = np.array([row[1:] for row in rows]).astype(expected.dtype)
        assert numbers.reshape(expected.shape).tobytes() == expected.tobytes()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"a.csv", "a.npy", "nodes.txt"}


def test_summary(either, run_folder, command):
    text = command("--data", either, "--nodes", "val")
    model, data = load_model(run_folder / "model.npz"), load_dataset(either)
    labels = refimpl.predict(model, data.graph, data.features, data.val)
    counts = labels.sum(axis=0) if model.multilabel else np.bincount(labels, minlength=CLASSES)
    rows = [line.split() for line in text.splitlines()]
    for c in np.flatnonzero(counts):
        assert [str(c), str(counts[c]), f"{counts[c] / data.val.size:.1%}"] in rows
    assert scores_in(text).keys() == {"validation"}
    assert text.startswith(f"GraphSAGE of {either.name} (2 layers of width 8, float32) on ")
    assert f"({NODES} nodes, {data.graph.e} directed edges)" in text


def test_a_new_graph_gives_what_the_data_set_gives(either, command, tmp_path):
    graph = ["--graph", either / "adj_full.npz", "--features", either / "feats.npy"]
    (tmp_path / "nodes.txt").write_text("\n".join(map(str, range(9, 60))))
    for what in ("labels", "probabilities"):
        for nodes in ("all", tmp_path / "nodes.txt"):
            options = ["--what", what, "--nodes", nodes, "--out"]
            text = command(*graph, *options, tmp_path / "new.npy")
            assert scores_in(text) == {}
            command("--data", either, *options, tmp_path / "known.npy")
            new, known = (tmp_path / f"{name}.npy" for name in ("new", "known"))
            assert new.read_bytes() == known.read_bytes()


def test_a_model_of_another_package(gnn, either, run_folder, tmp_path):
    other = "refimpl" if gnn.__name__ == "fastimpl" else "fastimpl"
    for impl in (gnn.__name__, other):
        argv = ["predict", run_folder / "model.npz", "--data", either, "--impl", impl]
        argv += ["--what", "probabilities", "--out", tmp_path / f"{impl}.npy"]
        assert main([*map(str, argv)]) == 0
    a, b = (np.load(tmp_path / f"{impl}.npy") for impl in (gnn.__name__, other))
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_help_of_predict():
    actions = {a.dest: a.help for a in parsers()["predict"]._actions}
    del actions["help"], actions["model"]
    for name, text in actions.items():
        assert "(default: " in text, name
        assert "None" not in text, name
    assert "(default: labels)" in actions["what"] and "(default: all)" in actions["nodes"]


NEW = "--graph {data}/adj_full.npz --features {data}/feats.npy"
BAD = {
    "no source": ("", "give either --data, or --graph and --features, or --data EDGES.csv"),
    "both": (f"--data {{data}} {NEW}", "got --data and --graph and --features"),
    "graph alone": ("--graph a.npz", "got --graph"),
    "features alone": ("--features a.npy", "got --features"),
    "part of no data set": (f"{NEW} --nodes test", "--nodes test does not apply without --data"),
    "suffix": ("--data {data} --out {tmp}/a.txt", "--out must end in .csv or .npy, got 'a.txt'"),
    "out a folder": ("--data {data} --out {tmp}/d.csv", "--out must be a file"),
    "no such folder": ("--data {data} --out {tmp}/x/a.csv", "in a folder that exists"),
    "what": ("--data {data} --what all", "--what: invalid choice: 'all'"),
    "abbreviated": ("--data {data} --node all", "--node"),
    "no data": ("--data {tmp}/nowhere", "nowhere"),
    "no graph": ("--graph {tmp}/no.npz --features a.npy", "no.npz"),
    "no features": ("--graph {data}/adj_full.npz --features {tmp}/no.npy", "no.npy"),
    "one way": ("--graph {tmp}/way.npz --features a.npy", "way.npz must be symmetric"),
    "width": (
        "--graph {data}/adj_full.npz --features {tmp}/narrow.npy",
        "the model takes 12 features a node, but {tmp}/narrow.npy has 3",
    ),
    "rows": (
        "--graph {data}/adj_full.npz --features {tmp}/few.npy",
        "few.npy must have shape (200, any), got (7, 12)",
    ),
    "width of data": ("--data communities", "features must have 12 columns"),
    "classes of data": ("--data {tmp}/five", "classes must be 4 like the model's, but {tmp}/five"),
    "several classes": ("--data {tmp}/multi", "multilabel must be False like the model's"),
    "threads": ("--data {data} --threads 0", "threads must be in [1, 1024], got 0"),
    "impl": ("--data {data} --impl json", "--impl json is no implementation"),
}


@pytest.fixture(scope="session")
def bad_files(tmp_path_factory):
    """A folder of files that do not fit the model."""
    tmp = tmp_path_factory.mktemp("bad")
    np.save(tmp / "narrow.npy", np.ones((NODES, 3)))
    np.save(tmp / "few.npy", np.ones((7, FEATURES)))
    sp.save_npz(tmp / "way.npz", sp.csr_array(([1.0], ([0], [1])), shape=(9, 9)))
    (tmp / "d.csv").mkdir()
    write_graphsaint(tmp / "multi", multilabel=True)
    classes = json.loads((write_graphsaint(tmp / "five") / "class_map.json").read_text())
    (tmp / "five" / "class_map.json").write_text(json.dumps(classes | {"0": 4}))
    return tmp


@pytest.mark.parametrize(("options", "words"), BAD.values(), ids=BAD)
def test_refused_commands(folder, bad_files, tiny_model, capfd, options, words):
    places = {"data": folder, "tmp": bad_files}
    assert main(["predict", str(tiny_model), *options.format(**places).split()]) == 2
    assert words.format(**places) in one_error(capfd)


def test_refused_models(folder, tiny_model, tmp_path, capfd):
    data = ["--data", str(folder)]
    assert main(["predict", str(tmp_path / "no.npz"), *data]) == 2
    assert "no model at " in one_error(capfd)
    assert main(["predict", *data]) == 2
    assert "MODEL.npz" in one_error(capfd)
    whole = tiny_model.read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    assert main(["predict", str(tmp_path / "half.npz"), *data]) == 2
    assert "half.npz is not a whole model" in one_error(capfd)
    options = ["--out", str(tmp_path / "run"), "--epochs", "0", "--hidden", "8"]
    assert main(["train", *data, *options]) == 0
    capfd.readouterr()
    assert main(["predict", str(tmp_path / "run" / "checkpoint.npz"), *data]) == 2
    assert "its format is not minibatch-gnn-model/2" in one_error(capfd)


def test_a_failed_prediction_leaves_the_old_file(folder, tiny_model, tmp_path, monkeypatch):
    out = tmp_path / "p.csv"
    out.write_text("old")

    def full_disk(file, *args):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr("refimpl.lab.apps.predict._write_csv", full_disk)
    argv = ["predict", str(tiny_model), "--data", str(folder), "--out", str(out)]
    assert main([*argv, "--overwrite"]) == 2
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
