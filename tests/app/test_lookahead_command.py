"""Features read ahead from a folder, on the command line."""

import json
import os

import pytest
from numpy.testing import assert_array_equal

import refimpl
from refimpl.lab.apps.cli import main
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
