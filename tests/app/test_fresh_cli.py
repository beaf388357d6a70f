"""FreshGNN on the command line: options, counts, features in a file, comparison."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from tiny_data import FEATURES, arrays_of, same_run, tiny_dataset

import refimpl
from refimpl.lab.apps import preparing
from refimpl.lab.apps.cli import main
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods.base import LoadCounts
from refimpl.lab.training.state import EpochRecord

pytestmark = pytest.mark.runs

HIDDEN, TRAIN, EPOCHS = 8, 130, 3
GONE = object()  # a setting that does not apply and is not there
NEIGHBOR = ("--method", "neighbor", "--batch-size", "22", "--fanouts", "4,3")
LABOR = (*NEIGHBOR, "--sample-mode", "labor")
OLD = ("--t-stale", "200")  # older than any embedding here
FRESH = ("--method", "fresh", *NEIGHBOR[2:], *OLD, "--buffer", "6000")  # 187 of 260 embeddings
UNLIMITED = (*FRESH[:-1], "1MB")
SMALL = (*FRESH, "--buffer", "3000")  # too small for what is worth keeping
FREE = ("pool", "threads", "background", "workers", "features_in")


@pytest.fixture
def state(tmp_path):
    """Return the checkpoint of a run, as arrays and meta data; or with "weights" those alone."""

    def state(out="out", only=""):
        arrays, meta = arrays_of(tmp_path / out / "checkpoint.npz")
        return {name: a for name, a in arrays.items() if name.startswith(only)}, meta

    return state


@pytest.mark.parametrize(
    ("options", "settings", "title"),
    [
        (
            FRESH,
            {"p_grad": 0.9, "t_stale": 200, "warmup": 0, "buffer": 6000, "hotness": "degree"},
            "GraphSAGE with cached embeddings on batches of 22 nodes with fan-outs 4,3 of tiny",
        ),
        (
            (*FRESH, "--p-grad", "0.5", "--t-stale", "inf", "--control", "random"),
            {"p_grad": 0.5, "t_stale": "inf", "control": "random", "sampler": GONE, "pool": GONE},
            "GraphSAGE with cached embeddings",
        ),
        (
            (*FRESH, "--model", "gat", "--heads", "2", "--t-stale", "5", "--control", "anti"),
            {"t_stale": 5, "control": "anti", "heads": 2},
            "GAT with cached embeddings on batches",
        ),
        (
            (*FRESH, "--model", "gcn", "--warmup", "7", "--hotness", "pagerank", "--bias"),
            {"warmup": 7, "hotness": "pagerank", "overflow": "wrap", "header": "continue"},
            "GCN with cached embeddings on batches",
        ),
        (
            (
                *FRESH,
                "--layers",
                "3",
                "--fanouts",
                "4,3,all",
                "--buffer",
                "3kB",
                "--dropout",
                "0.2",
            ),
            {"layers": 3, "fanouts": [4, 3, -1], "buffer": 3000, "fanout_order": "roots_first"},
            "GraphSAGE with cached embeddings on batches of 22 nodes with fan-outs 4,3,all of",
        ),
        (
            (*FRESH, "--hotness", "profile", "--buffer-overflow", "drop", "--workers", "2"),
            {"hotness": "profile", "overflow": "drop", "budget": GONE, "workers": 2},
            "GraphSAGE with cached embeddings",
        ),
        (
            ("--method", "fresh", "--hotness", "none", "--buffer", "0"),
            {"hotness": "none", "buffer": 0, "t_stale": 1, "batch_size": 512, "fanouts": [20, 15]},
            "GraphSAGE with cached embeddings on batches of 512 nodes with fan-outs 20,15",
        ),
        (
            (*FRESH, "--sample-mode", "labor", "--batch-dependency", "4"),
            {"sample_mode": "labor", "batch_dependency": 4, "draw_all": False},
            "GraphSAGE with cached embeddings on batches",
        ),
        (
            (*NEIGHBOR, "--fanout-order", "code"),
            {"fanouts": [4, 3], "workers": 0, "p_grad": GONE, "t_stale": GONE, "buffer": GONE},
            "GraphSAGE on batches of 22 nodes with fan-outs 4,3, read backwards, of tiny",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_reach_the_run_and_both_packages_agree(
    run, agreed_weights, options, settings, title
):
    metrics = {}
    for name in ("refimpl", "fastimpl"):
        command = ("--dtype", "float64", *options)
        status, stdout, stderr, metrics[name] = run(*command, "--impl", name, out=name)
        assert (status, stderr) == (0, "")
        assert stdout.startswith(title)
        assert {k: metrics[name]["settings"].get(k, GONE) for k in settings} == settings
    for key in ("loads", "cache", "iterations"):
        assert metrics["refimpl"][key] == metrics["fastimpl"][key]
    agreed_weights()


@pytest.mark.parametrize(
    ("options", "without", "what"),
    [
        (FRESH, NEIGHBOR, "weights"),
        ((*FRESH, "--p-grad", "0.3"), FRESH, "weights"),
        ((*FRESH, "--t-stale", "4"), FRESH, "weights"),
        ((*UNLIMITED, "--t-stale", "inf"), (*UNLIMITED, "--t-stale", "9"), "weights"),
        ((*FRESH, "--t-stale", "inf"), FRESH, "cache/options"),
        ((*FRESH, "--warmup", "3"), FRESH, "weights"),
        (UNLIMITED, SMALL, "weights"),
        ((*SMALL, "--buffer-overflow", "drop"), SMALL, "weights"),
        ((*FRESH, "--header", "cycle", "--t-stale", "4"), (*FRESH, "--t-stale", "4"), "weights"),
        ((*FRESH, "--hotness", "pagerank"), FRESH, "cache/rank"),
        ((*FRESH, "--hotness", "profile"), FRESH, "cache/rank"),
        ((*FRESH, "--hotness", "none"), FRESH, "cache/rank"),
        ((*FRESH, "--half-features"), FRESH, "weights"),
        ((*NEIGHBOR[:4], "--fanouts", "2,2"), NEIGHBOR, "weights"),
        (LABOR, NEIGHBOR, "weights"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_every_option_changes_what_it_should(run, state, options, without, what):
    run(*options)
    run(*without, out="without")
    a, b = state(only=what)[0], state("without", only=what)[0]
    assert a.keys() == b.keys() != set()
    assert a != b


@pytest.mark.parametrize(
    "options",
    [("--workers", "2"), ("--features-in", "mmap"), ("--threads", "1")],
    ids=" ".join,
)
@pytest.mark.parametrize(
    "method",
    [FRESH, NEIGHBOR, LABOR, (*FRESH, "--sample-mode", "labor-1")],
    ids=["fresh", "neighbor", "labor", "fresh labor-1"],
)
def test_what_changes_no_bit(run, tmp_path, gnn, method, options):
    run(*method, "--impl", gnn.__name__)
    assert run(*method, *options, "--impl", gnn.__name__, out="other")[0] == 0
    a, b = (tmp_path / out / "checkpoint.npz" for out in ("out", "other"))
    same_run(a, b, but=FREE)


def test_nothing_cached_is_neighbour_sampling(run, state):
    """To the bit; a cache that is never asked counts nothing."""
    run(*NEIGHBOR, out="neighbor")
    for number, options in enumerate([("--p-grad", "0"), ("--t-stale", "0"), ("--warmup", "999")]):
        loads = run(*FRESH, *options, out=str(number))[3]["loads"]
        assert state(str(number), "weights")[0] == state("neighbor", "weights")[0]
        assert (loads["lookups"], loads["hits"], loads["admitted"]) == (0, 0, 0)


@pytest.mark.parametrize("options", [(9,), ("inf",), ("inf", "--buffer-overflow", "drop")], ids=str)
def test_counts(run, tmp_path, state, gnn, options):
    """metrics.json has the sums of history.csv, which are those of the trainer."""
    status, stdout, _, metrics = run(*FRESH, "--t-stale", *options, "--impl", gnn.__name__)
    with (tmp_path / "out" / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert status == 0
    assert tuple(rows[0]) == EpochRecord._fields + LoadCounts._fields
    assert len(rows) == EPOCHS
    loads = metrics["loads"]
    for name in LoadCounts._fields:
        assert loads[name] == sum(int(row[name]) for row in rows)
        assert [int(row[name]) for row in rows] == [one[name] for one in state()[1]["loads"]]
    assert loads["live"] == loads["loaded"] + loads["feature_hits"]
    assert loads["bytes"] == loads["loaded"] * FEATURES * 8  # as in feats.npy
    assert 0 < loads["loaded"] < loads["live"] < loads["inputs"]
    assert 0 < loads["evicted"] <= loads["admitted"]
    assert loads["io_saving"] == 1 - loads["loaded"] / loads["inputs"]
    assert loads["embedding_saving"] == 1 - loads["live"] / loads["inputs"] > 0
    assert loads["feature_hit_rate"] == loads["feature_hits"] / loads["live"] > 0
    assert loads["embedding_hit_rate"] == loads["hits"] / loads["lookups"] > 0
    with np.load(tmp_path / "out" / "checkpoint.npz") as file:
        *_, admitted, evicted, lost, dropped, _ = file["cache/numbers"]
    assert (loads["admitted"], loads["evicted"]) == (admitted, evicted)
    assert (loads["lost"], loads["dropped"]) == (lost, dropped)
    slots = 6000 // 4 // HIDDEN
    assert metrics["cache"]["bytes"] == 6000 + 4 * TRAIN + 12 * slots + 4 * TRAIN
    for shown in (loads["bytes"], loads["hits"], loads["admitted"], metrics["cache"]["bytes"]):
        assert f" {shown:,}\n" in stdout
    table = [line.rsplit(maxsplit=1) for line in stdout.splitlines() if "  " in line]
    lines = {name.strip(): value for name, value in table}
    assert lines["rows spared by embeddings, estimated"] == f"{loads['embedding_saving']:.1%}"
    assert lines["remaining rows in the feature cache"] == f"{loads['feature_hit_rate']:.1%}"
    assert lines["hit rate of embeddings"] == f"{loads['embedding_hit_rate']:.1%}"
    assert "filling the cache" in stdout
    assert "normalization" not in stdout


def test_a_buffer_for_all_features_says_what_embeddings_spare(run):
    """Then nothing is loaded, which says nothing of embeddings."""
    _, stdout, _, metrics = run(*UNLIMITED, "--t-stale", 3)
    loads = metrics["loads"]
    assert (loads["loaded"], loads["io_saving"], loads["feature_hit_rate"]) == (0, 1, 1)
    assert 0 < loads["embedding_saving"] < 1
    spared = next(line for line in stdout.splitlines() if line.startswith("rows spared"))
    assert spared.endswith(f" {loads['embedding_saving']:.1%}")


def test_a_small_buffer_wraps_or_drops(run):
    wrap = run(*SMALL, "--t-stale", "inf")[3]["loads"]
    drop = run(*SMALL, "--t-stale", "inf", "--buffer-overflow", "drop")[3]["loads"]
    ample = run(*UNLIMITED, "--t-stale", "inf")[3]["loads"]
    assert wrap["lost"] > 0 == wrap["dropped"]
    assert drop["dropped"] > 0 == drop["lost"]
    assert (ample["lost"], ample["dropped"]) == (0, 0)
    assert ample["feature_hits"] == ample["live"]  # there is room for all of them


def test_neighbour_sampling_loads_every_input(run, folder, state):
    status, stdout, _, metrics = run(*NEIGHBOR, "--seed", 5)
    dataset = tiny_dataset(folder)
    nodes = np.arange(TRAIN, dtype=np.int32)
    for epoch, loads in enumerate(state()[1]["loads"]):
        batches = refimpl.samplers.epoch_batches(nodes, 22, 5, epoch)
        sampled = [
            refimpl.sample_mfg(dataset.train_graph, roots, (4, 3), seed=5, epoch=epoch, batch=b)
            for b, roots in enumerate(batches)
        ]
        inputs = sum(len(mfg.nodes[0]) for mfg in sampled)
        assert loads["inputs"] == loads["live"] == loads["loaded"] == inputs
    assert status == 0
    assert metrics["cache"] is None
    assert metrics["loads"]["io_saving"] == 0
    assert metrics["loads"]["embedding_hit_rate"] is None
    assert f" {metrics['loads']['bytes']:,}\n" in stdout
    assert "hit rate" not in stdout


def test_other_methods_count_nothing(run, tmp_path):
    metrics = run("--method", "layer")[3]
    assert not {"loads", "cache"} & metrics.keys()
    header = (tmp_path / "out" / "history.csv").read_text().splitlines()[0]
    assert header == ",".join(EpochRecord._fields)


def test_no_epochs(run):
    status, stdout, stderr, metrics = run(*FRESH, "--epochs", 0)
    assert (status, stderr) == (0, "")
    assert metrics["loads"]["io_saving"] is None
    assert "rows spared by embeddings" in stdout


@pytest.mark.parametrize("options", [(), ("--draw-all",), ("--sample-mode", "labor")])
def test_an_estimate_is_called_one(run, options):
    stdout = run(*FRESH, "--epochs", 1, *options)[1]
    for name in ("rows spared by embeddings", "features sampled"):
        assert (f"{name}, estimated" in stdout) == (not options)


def test_progress_shows_hits_and_what_they_save(run, on_terminal):
    terminal = on_terminal()
    loads = run(*FRESH)[3]["loads"]
    lines = terminal.getvalue().split("\r")
    first = [line for line in lines if "epoch 0." in line and "rows_spared=" in line]
    assert first
    assert "features_cached=" in lines[-1]
    assert "hits=" in lines[-1]
    assert "loss=" in lines[-1]
    assert loads["hits"] > 0
    terminal.truncate(0)
    run(*NEIGHBOR)
    assert "rows_spared=0.0%" in terminal.getvalue()
    assert "hits=" not in terminal.getvalue()


# Features in a file.


def test_features_are_mapped_while_training_runs_and_the_file_is_gone_then(
    run, tmp_path, monkeypatch
):
    seen = []
    epoch = refimpl.lab.training.trainer.Trainer.epoch

    def spy(self, after_step=None):
        (file,) = (tmp_path / "out").glob("training_features.npy.*.tmp")
        X = np.load(file)
        assert isinstance(self.run.features, np.memmap)
        assert X.tobytes() == self.dataset.inputs(self.dataset.train).tobytes()
        seen.append(file.stat().st_size)
        return epoch(self, after_step)

    monkeypatch.setattr(refimpl.lab.training.trainer.Trainer, "epoch", spy)
    assert run(*FRESH, "--features-in", "mmap")[0] == 0
    assert seen == [128 + TRAIN * FEATURES * 4] * EPOCHS
    assert not list((tmp_path / "out").glob("*features*"))


def test_training_reads_the_features_that_it_is_given(gnn, folder):
    """Poisoned features of the data set are not met, neither by the loader nor by the cache."""
    few = {"hidden": 8, "batch_size": 22, "fanouts": (4, 3)}
    for options in ({"method": "neighbor"}, {"method": "fresh", "buffer": 6000}):
        config = config_from({**few, **options})
        dataset, poisoned = tiny_dataset(folder), tiny_dataset(folder)
        X = dataset.inputs(dataset.train)
        poisoned.features[...] = np.nan
        plain = gnn.make_trainer(dataset, config)
        given = gnn.make_trainer(poisoned, config, features=X)
        for _ in range(8):
            loss = plain.step().loss
            assert np.isfinite(loss)
            assert given.step().loss == loss


def test_the_file_goes_even_if_the_run_fails(run, tmp_path, monkeypatch):
    def broken(*args):
        assert list((tmp_path / "out").glob("training_features.npy.*.tmp"))
        raise ValueError("a fault")

    monkeypatch.setattr(refimpl.lab.training.trainer.Trainer, "step", broken)
    with pytest.raises(ValueError, match="a fault"):
        run(*FRESH, "--features-in", "mmap")
    assert (tmp_path / "out" / "checkpoint.npz").exists()
    assert not list((tmp_path / "out").glob("*features*"))


def test_half_features(run, tmp_path, gnn):
    runs = {
        out: run(*FRESH, *options, "--impl", gnn.__name__, out=out)[3]
        for out, options in {
            "whole": (),
            "half": ("--half-features",),
            "mapped": ("--half-features", "--features-in", "mmap"),
        }.items()
    }
    a, b = (tmp_path / out / "checkpoint.npz" for out in ("half", "mapped"))
    same_run(a, b, but=FREE)
    half = runs["half"]["loads"]
    assert half["bytes"] == half["loaded"] * FEATURES * 2
    assert abs(runs["half"]["val_f1"] - runs["whole"]["val_f1"]) < 0.2


def test_features_too_large_for_float16(run, tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "load_dataset", _with_an_outlier(preparing.load_dataset))
    status, _, stderr, _ = run(*FRESH, "--half-features")
    assert (status, "too large for float16" in stderr) == (2, True)
    assert not (tmp_path / "out").exists()


def _with_an_outlier(load):
    def changed(*args, **kwargs):
        dataset = load(*args, **kwargs)
        features = np.array(dataset.features)
        features[dataset.train[3], 2] = 1e6
        return replace(dataset, features=features)

    return changed


@pytest.mark.parametrize(
    ("options", "features", "error", "message"),
    [
        ({}, [[1.0]], TypeError, "features must be an array, got list"),
        ({}, np.zeros((4, 3), "f4"), ValueError, r"features must be C-contiguous \(130, 12\)"),
        ({}, np.zeros((130, 12), "f8"), TypeError, "features must be float32 as the data set"),
        ({}, np.zeros((12, 130), "f4").T, ValueError, "features must be C-contiguous"),
    ],
)
def test_features_that_do_not_fit(gnn, folder, options, features, error, message):
    config = config_from({"method": "fresh", "hidden": 8, **options})
    with pytest.raises(error, match=message):
        gnn.make_trainer(tiny_dataset(folder), config, features=features)


# What is refused.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--buffer-overflow", "wrap"), "--buffer-overflow does not apply with --method graph"),
        ((*NEIGHBOR, "--p-grad", "0.9"), "--p-grad does not apply with --method neighbor"),
        ((*FRESH, "--overflow", "grow"), "--overflow does not apply with --method fresh"),
        ((*FRESH, "--dtype", "float64", "--features-in", "mmap"), "with --dtype float64"),
        ((*FRESH, "--dtype", "float64", "--half-features"), "with --dtype float64"),
        (
            ("--method", "neighbor", "--model", "mixhop"),
            'model must have layers of one hop where method is "neighbor", got "mixhop"',
        ),
        ((*LABOR, "--batch-dependency", "0"), "--batch-dependency must be"),
        ((*FRESH, "--t-stale", "never"), "--t-stale: invalid value: 'never', not AGE|inf"),
        ((*FRESH, "--buffer", "lots"), "--buffer: invalid value: 'lots', not SIZE"),
        ((*FRESH, "--buffer", "99TiB"), "must hold at most 2147483647 embeddings"),
        ((*FRESH, "--hotness", "fame"), "--hotness: invalid choice: 'fame'"),
        ((*FRESH, "--fanouts", "4"), "fanouts must have 2 numbers"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_options_are_one_line_and_status_2(run, tmp_path, options, message):
    status, stdout, stderr, metrics = run(*options)
    assert (status, stdout, metrics) == (2, "", None)
    assert len(stderr.splitlines()) == 1
    assert message in stderr
    assert not (tmp_path / "out").exists()


# Both packages side by side.


@pytest.mark.parametrize("option", ["--workers", "--features-in", "--half-features"])
def test_compare_has_no_threads_that_sample_and_no_files(folder, capfd, option):
    assert main(["compare", "--data", str(folder), *FRESH, option]) == 2
    assert f"unrecognized arguments: {option}" in capfd.readouterr().err
