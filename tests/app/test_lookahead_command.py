"""Features read ahead from a folder, on the command line."""

import json
import os

import pytest

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
        fixed = ("train", "--data", data, "--method", "neighbor", "--fanouts", "5,3", "--epochs", 1)
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
    assert reads["bytes"] % 4096 == 0


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        ("communities", (), "--features-in lookahead needs a folder of minibatch-gnn convert"),
        (None, ("--half-features",), "--half-features does not go with --features-in lookahead"),
        (None, ("--memory", "1KB"), "--memory must hold the place of each of 10000 rows"),
        (
            None,
            ("--memory", "100KB"),
            "--memory must hold the 8774 rows of two minibatches",
        ),
    ],
)
def test_what_cannot_be_read_ahead_is_refused(train, folder, data, words, message):
    status, said = train(data or folder, "--features-in", "lookahead", *words)
    assert status == 2 and message in said and said.count("\n") == 1


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
