"""Features read ahead from a folder, on the command line."""

import csv
import json
import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.report import TRAINING
from refimpl.lab.data.convert import convert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("graph") / "communities"
    convert("communities", place, setting="transductive", feature_dtype="float16")
    return place


@pytest.fixture
def train(tmp_path, capfd):
    """Train in the folder tmp_path/out; return the status and what was said on stderr."""

    def train(data, *words):
        fixed = ("train", "--data", data, "--epochs", 1)
        if "--method" not in words:
            fixed += ("--method", "neighbor", "--fanouts", "5,3")
        out = ("--out", tmp_path / "out", "--overwrite")
        capfd.readouterr()
        return main([str(word) for word in (*fixed, *out, *words)]), capfd.readouterr().err

    return train


@pytest.mark.runs
def test_what_was_read_is_written(train, folder, tmp_path):
    ahead = ("--features-in", "lookahead", "--batch-size", 100)
    assert train(folder, *ahead, "--memory", "500KB") == (0, "")
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    reads, settings = metrics["reads"], metrics["settings"]
    assert settings["memory"] == 500_000 and reads["asked"] > reads["rows"] > 0
    assert reads["bytes"] == 4096 * reads["pages"]
    assert reads["hit_rate"] == 1 - reads["rows"] / reads["asked"]
    row_bytes = 2 * metrics["dataset"]["features"]
    size = (reads["rows"] + reads["on_demand"]) * row_bytes
    assert reads["amplification"] == reads["bytes"] / size >= 1
    assert 0 < reads["wait_share"] < 1 and reads["mib_a_second"] > 0


def history(out):
    """Return the lines of history.csv."""
    with (out / "history.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.runs
def test_every_epoch_has_what_it_read_and_a_picture_shows_it(train, folder, tmp_path, monkeypatch):
    """Of four epochs all but the second read ahead; three processes train 1, 1 and 2 epochs."""
    figures = []
    drawing = pytest.importorskip("matplotlib.figure").Figure
    monkeypatch.setattr(drawing, "savefig", lambda one, *args, **form: figures.append(one))
    ahead = ("--features-in", "lookahead", "--memory", "500KB")
    assert train(folder, "--batch-size", 100, *ahead) == (0, "")
    first = json.loads((tmp_path / "out" / "metrics.json").read_text())["reads"]
    for epochs, words in ((2, ("--features-in", "memory")), (4, ahead)):
        again = ("train", "--resume", "--out", tmp_path / "out", "--epochs", epochs, *words)
        assert main([*map(str, again)]) == 0
    rows = history(tmp_path / "out")
    read = [{key[5:]: float(x) for key, x in row.items() if key[:5] == "read_"} for row in rows]
    assert set(read[1].values()) == {0.0}
    last = json.loads((tmp_path / "out" / "metrics.json").read_text())["reads"]
    for metrics, some in ((first, read[:1]), (last, read[2:])):
        assert all(0 < one["rows"] < one["asked"] and one["bytes"] > 0 for one in some)
        for key in ("asked", "rows", "bytes", "waiting"):
            assert sum(one[key] for one in some) <= metrics[key]
    seconds = [sum(float(row[part]) for part in TRAINING) for row in rows]
    drawn = {axes.get_ylabel(): axes.lines for axes in figures[-1].axes[-4::2]}  # over epochs
    speed, (hits, waits) = drawn["MiB/s read"][0].get_ydata(), drawn["share"]
    assert (hits.get_label(), waits.get_label()) == ("hit rate of rows", "waiting for rows")
    lengths = np.diff(seconds, prepend=0)
    for key, found in (("bytes", speed * 2**20), ("waiting", waits.get_ydata())):
        expected = [one[key] / s for one, s in zip(read, lengths, strict=True)]
        assert_allclose(found, [expected[0], np.nan, *expected[2:]])
    assert_allclose(hits.get_ydata()[0], 1 - read[0]["rows"] / read[0]["asked"])


LOCAL = ("--method", "graph", "--partition", "local", "--workers-a-step", 2)


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        ("communities", (), "--features-in lookahead needs a folder of minibatch-gnn convert"),
        (None, ("--half-features",), "--half-features does not go with --features-in lookahead"),
        (None, ("--memory", "1KB"), "--memory must hold the place of each of 10000 rows"),
        (None, ("--memory", "100KB"), "--memory must hold the 8774 rows of two minibatches"),
        (None, ("--method", "full"), "--features-in lookahead does not go with --method full"),
        (None, ("--method", "vrgcn"), "lookahead does not go with --method vrgcn: choose one of"),
        (None, LOCAL, "lookahead does not go with --method graph and --partition local: choose"),
    ],
)
def test_what_cannot_be_read_ahead_is_refused(train, folder, tmp_path, data, words, message):
    status, said = train(data or folder, "--features-in", "lookahead", *words)
    assert status == 2 and message in said and said.count("\n") == 1
    assert not (tmp_path / "out" / "checkpoint.npz").exists()


def test_float64_is_refused(train, tmp_path):
    refimpl.load_dataset("karate").save(tmp_path / "karate")
    status, said = train(tmp_path / "karate", "--features-in", "lookahead")
    assert status == 2 and "--features-in lookahead reads float32 and float16: store" in said


def test_parts_are_refused_where_all_rows_are_needed(train, folder):
    words = ("--model", "sign", "--method", "prepropagation", "--features-in", "parts")
    status, said = train(folder, *words)
    assert status == 2 and "--features-in parts does not go with --method prepropagation" in said


@pytest.mark.runs
def test_a_resumed_run_may_begin_and_end_to_read_ahead(train, folder, tmp_path):
    def weights():
        return refimpl.load_model(tmp_path / "out" / "model.npz").weights

    assert train(folder)[0] == 0
    assert main(["train", "--resume", "--out", str(tmp_path / "out"), "--epochs", "3"]) == 0
    whole = weights()
    assert train(folder)[0] == 0
    for epochs, words in ((2, ("lookahead", "--memory", "2MB")), (3, ("memory",))):
        again = ("train", "--resume", "--out", tmp_path / "out", "--features-in", *words)
        assert main([*map(str, again), "--epochs", str(epochs)]) == 0
    for name, value in weights().items():
        assert_array_equal(value, whole[name])


@pytest.mark.runs
def test_a_file_that_shrinks_while_training_is_one_line(train, folder, tmp_path, monkeypatch):
    place = tmp_path / "short"
    place.mkdir()
    for path in folder.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    opened = os.open

    def shrunk(path, flags, *mode, **more):
        file = opened(path, flags, *mode, **more)
        if str(path) == str(place / "features.npy") and flags & getattr(os, "O_DIRECT", 0):
            os.truncate(path, 50_000)
        return file

    monkeypatch.setattr(os, "open", shrunk)
    status, said = train(place, "--features-in", "lookahead")
    assert status == 2 and "features.npy: the file ends at byte 50000, and" in said
    assert said.count("\n") == 1


STORED = ("--graph-in", "lookahead")


@pytest.mark.runs
def test_what_was_read_of_the_graph_is_written_and_changes_nothing(train, folder, tmp_path):
    def weights():
        return refimpl.load_model(tmp_path / "out" / "model.npz").weights

    assert train(folder, "--batch-size", 30) == (0, "")
    whole = weights()
    assert train(folder, "--batch-size", 30, *STORED, "--graph-memory", "600KB") == (0, "")
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    reads = metrics["graph_reads"]
    assert metrics["settings"]["graph_memory"] == 600_000 and reads["asked"] > reads["pages"] > 0
    assert reads["bytes"] >= 4096 * reads["pages"] and reads["reading"] > 0
    assert reads["hit_rate"] == 1 - reads["pages"] / reads["asked"] and reads["mib_a_second"] > 0
    for name, value in weights().items():
        assert_array_equal(value, whole[name])


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        ("communities", (), "--graph-in lookahead needs a folder of minibatch-gnn convert"),
        (None, ("--graph-memory", "1KB"), "--graph-memory: memory must hold the place of each of"),
        (None, ("--graph-memory", "99KB"), "--graph-memory: memory must hold the 1"),
        (None, ("--method", "graph"), "--graph-in does not apply with --method graph"),
        (None, ("--partition", "local", "--workers-a-step", 2), "not go with --partition local"),
    ],
)
def test_a_graph_that_cannot_be_drawn_from_storage_is_refused(train, folder, data, words, message):
    status, said = train(data or folder, *STORED, *words)
    assert status == 2 and message in said and said.count("\n") == 1
