"""Progress bars: on a terminal and in a notebook, of the first rank, and nowhere else."""

import io
import re
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest
from ogb_folders import write_ogb_text

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.data.communities import communities
from refimpl.lab.data.convert import convert
from refimpl.lab.training.methods import Fresh, Neighbor
from refimpl.lab.training.progress import Progress, bar

pytestmark = pytest.mark.runs


def test_training_shows_each_epoch_and_its_scores(gnn, on_terminal):
    terminal = on_terminal()
    data = communities(0, nodes=300)
    result = gnn.train(data, gnn.TrainConfig(epochs=2, hidden=8))
    lines = terminal.getvalue().split("\r")
    last = result.history[-1]
    assert "epoch 2.0/2" in lines[-1]
    assert f"loss={last.loss:.4f}, val_f1={last.val_f1:.4f}" in lines[-1]
    assert any("epoch 0." in line for line in lines)  # within the first, too
    more = gnn.TrainConfig(epochs=3, hidden=8)
    terminal.truncate(0)
    gnn.train(data, more, state=result.state)
    assert "epoch 3.0/3" in terminal.getvalue() and "epoch 1." not in terminal.getvalue()


def test_without_a_bar_the_result_is_the_same_and_nothing_is_shown(gnn, on_terminal, monkeypatch):
    terminal = on_terminal()
    data, config = communities(0, nodes=300), gnn.TrainConfig(epochs=2, hidden=8)
    shown = gnn.train(data, config)
    assert terminal.getvalue()
    terminal.truncate(0)
    terminal.seek(0)
    silent = gnn.train(data, config, progress=False)
    classifier = gnn.NodeClassifier(epochs=1, hidden=8)
    classifier.fit(data.features, data.labels, graph=data.graph, progress=False)
    assert terminal.getvalue() == ""
    for name, W in shown.weights.items():
        assert (silent.weights[name] == W).all()
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # no terminal
    gnn.train(data, config)
    assert sys.stderr.getvalue() == ""
    with pytest.raises(TypeError, match="progress must be True or False"):
        gnn.train(data, config, progress="yes")


@pytest.mark.parametrize("method", [Neighbor(batch_size=10), Fresh(batch_size=100, buffer=9999)])
def test_reads_ahead_are_shown_in_80_columns(gnn, on_terminal, monkeypatch, tmp_path, method):
    communities(0, nodes=300).save(tmp_path / "many")
    convert(tmp_path / "many", tmp_path / "graph", feature_dtype="float16", setting="transductive")
    data = gnn.load_dataset(tmp_path / "graph")
    config = gnn.TrainConfig(method=method, epochs=3, hidden=8)
    monkeypatch.setattr("tqdm.std._screen_shape_wrapper", lambda: lambda file: (80, 25))
    terminal = on_terminal()
    with gnn.loader.LookaheadFeatures(tmp_path / "graph" / "features.npy", 10**6) as ahead:
        result = gnn.train(data, config, features=ahead)
    lines = [line.strip() for line in terminal.getvalue().split("\r") if "/3 [" in line]
    assert len(lines) > 6 and max(map(len, lines)) <= 80
    assert all(line.endswith("]") for line in lines)  # no word is cut
    words = rf"loss={result.history[-1].loss:.4f} f1=\d\.\d{{4}} \d+\.\dMiB/s hit=\d+% wait=\d+%"
    assert re.search(words, lines[-1]), lines[-1]
    first = result.state.reads[0]
    assert sum(one["bytes"] for one in result.state.reads) <= ahead.counts.bytes > first["rows"] > 0
    terminal.truncate(0)
    gnn.train(data, config)
    assert "MiB/s" not in terminal.getvalue() and "epoch 3.0/3" in terminal.getvalue()


def test_reads_of_a_graph_on_storage_are_shown(gnn, on_terminal, tmp_path):
    communities(0, nodes=2000).save(tmp_path / "many")
    convert(tmp_path / "many", tmp_path / "graph", setting="transductive")
    data, terminal = gnn.load_dataset(tmp_path / "graph"), on_terminal()
    config = gnn.TrainConfig(method=Neighbor(batch_size=100), epochs=2, hidden=8)
    with gnn.loader.LookaheadGraph(data.train_graph, 10**6) as stored:
        gnn.train(data, config, graph=stored)
    lines = [line.strip() for line in terminal.getvalue().split("\r") if "/2 [" in line]
    assert any(re.search(r"graph=\d+\.\dMiB/s", line) for line in lines)
    assert lines[-1].count("MiB/s") == 1 and "graph=0.0MiB/s" in lines[-1]  # all is cached
    with (
        gnn.loader.LookaheadGraph(data.train_graph, 10**6) as stored,
        gnn.make_trainer(data, config, graph=stored) as trainer,
    ):
        trainer.epoch()
        assert trainer.graph_bytes_of_epoch() == stored.counts.bytes > 0
        trainer.epoch()
        assert trainer.graph_bytes_of_epoch() == 0


def test_only_the_first_rank_has_a_bar(on_terminal):
    on_terminal()
    trainer = SimpleNamespace(
        config=SimpleNamespace(epochs=2),
        state=SimpleNamespace(history=[]),
        team=SimpleNamespace(),
        reading=None,
        stored=None,
    )
    for rank, silent in ((0, False), (1, True)):
        trainer.team.rank = rank
        with Progress(trainer) as progress:
            assert bool(progress.bar.disable) is silent


def test_a_notebook_has_bars_though_its_stderr_is_no_terminal(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", ModuleType("ipykernel.zmqshell"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # no ipywidgets
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with bar(total=3, desc="walks") as one:
        one.update(3)
    assert "walks: 100%" in sys.stderr.getvalue()
    with bar(shown=False, total=3) as none:
        assert none.disable


@pytest.mark.filterwarnings("ignore:ignored .* self-loop")
def test_commands_show_how_far_they_are(on_terminal, capsys, tmp_path):
    terminal = on_terminal()
    assert main(["sample", "--data", "karate", "--count", "20", "--sampler", "edge"]) == 0
    assert "subgraphs: 100%" in terminal.getvalue() and "subgraphs:  80%" in terminal.getvalue()
    terminal.truncate(0)
    assert main(["compare", "--data", "karate", "--rounds", "2", "--pool", "1"]) == 0
    assert "rounds:  50%" in terminal.getvalue() and "rounds: 100%" in terminal.getvalue()
    terminal.truncate(0)
    source = write_ogb_text(tmp_path / "papers")
    assert main(["convert", str(source), str(tmp_path / "graph"), "--pack"]) == 0
    for stage, unit in (
        ("features", "rows"),
        ("reading edges", "edges"),
        ("sorting edges", "rows"),
        ("packing features", "rows"),
    ):
        line = rf"{stage}: 100%\|.*\| \[\d\d:\d\d<\d\d:\d\d, [\d.]+[kM]? {unit}/s\]"
        assert re.search(line, terminal.getvalue()), stage


@pytest.mark.parametrize("shown", [True, False])
def test_no_thread_is_left(on_terminal, shown):
    on_terminal()
    before = set(threading.enumerate())
    refimpl.train(
        communities(0, nodes=100), refimpl.TrainConfig(epochs=1, hidden=8), progress=shown
    )
    assert set(threading.enumerate()) <= before
