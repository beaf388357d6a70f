"""The command line: what it writes, prints and refuses."""

import argparse
import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest
from tiny_data import NODES, arrays_of, same_run, tiny_dataset, write_graphsaint

import fastimpl
import refimpl
from refimpl.lab.apps.cli import HelpAll, build_parser, main
from refimpl.lab.apps.info import processor
from refimpl.lab.apps.options import train_options
from refimpl.lab.data.communities import communities
from refimpl.lab.training.state import EpochRecord

pytestmark = pytest.mark.runs

PACKAGES = ("refimpl", "fastimpl")
FILES = ["checkpoint.npz", "curve.png", "history.csv", "metrics.json", "model.npz"]


def test_every_file_and_its_content(run, tmp_path, gnn):
    status, stdout, stderr, metrics = run("--impl", gnn.__name__, "--seed", 4, "--threads", 1)
    assert (status, stderr) == (0, "")
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert metrics["dataset"]["nodes"] == NODES
    assert metrics["dataset"]["train"] == 130
    assert metrics["settings"] == {
        "data": str((tmp_path / metrics["settings"]["data"]).resolve()),
        "as_printed": False,
        "features": None,
        "labels": None,
        "columns": None,
        "titles": None,
        "minus_one": None,
        "setting": None,
        "split": None,
        "scaling": None,
        "verify": False,
        "impl": gnn.__name__,
        "dtype": "float32",
        "features_in": "memory",
        "half_features": False,
        "threads": 1,
        "model": "sage",
        "method": "graph",
        "layers": 2,
        "hidden": 8,
        "bias": False,
        "dropout": 0.0,
        "classifier": "dense",
        "row_l2": False,
        "classifier_relu": False,
        "bfloat16": False,
        "epochs": 3,
        "lr": 0.01,
        "weight_decay": 0.0,
        "decay": "first",
        "best_by": "score",
        "patience": None,
        "workers_a_step": 1,
        "partition": "whole",
        "shuffle": 0.1,
        "eval_every": 1,
        "eval_memory": 2**30,
        "rng": 4,
        "concat": "neigh_first",
        "normalize": "none",
        "coverage": 50.0,
        "pool": 4,
        "background": False,
        "sampler": "pin_tile",
        "frontier": 3,
        "budget": 26,
        "eta": 2.0,
        "degree_cap": None,
        "include": "pushed",
        "lanes": 8,
        "probing": "one",
        "probe_range": "capacity",
        "overflow": "truncate",
        "clip": None,
    }
    assert metrics["threads"] == 1
    assert metrics["build"] == (fastimpl.build_info() if gnn is fastimpl else None)
    assert metrics["versions"]["numpy"] == np.__version__
    assert 0 < metrics["val_f1"] <= 1
    assert 0 < metrics["test_f1"] <= 1
    with (out / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == EpochRecord._fields
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3]
    assert int(rows[-1]["iterations"]) == metrics["iterations"] >= 3 * 5
    assert float(rows[metrics["best_epoch"] - 1]["val_f1"]) == metrics["val_f1"]
    for part in ("sampling", "aggregation", "weights", "other"):
        assert float(rows[-1][part]) == metrics["seconds"][part] > 0
        assert part in stdout
    assert metrics["seconds"]["evaluation"] > float(rows[-1]["evaluation"])  # the final scores
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    for name in FILES:
        assert f"wrote {out / name}" in stdout
    assert f"{metrics['test_f1']:.4f}" in stdout
    assert f"{metrics['val_f1']:.4f}" in stdout
    assert f"{metrics['best_epoch']} of 3" in stdout


def test_the_scores_are_those_of_the_weights_in_the_checkpoint(run, folder, tmp_path):
    metrics = run("--impl", "refimpl")[3]
    state, _ = refimpl.lab.training.load_checkpoint(tmp_path / "out" / "checkpoint.npz")
    dataset = tiny_dataset(folder)
    A, X, W = dataset.graph.to_scipy(), dataset.inputs(), state.best_weights
    degrees = np.maximum(dataset.graph.degrees(), 1)[:, None]
    for layer in ("layer1", "layer2"):
        halves = [(A @ X) / degrees @ W[f"{layer}.W_neigh"], X @ W[f"{layer}.W_self"]]
        X = np.maximum(np.hstack(halves), 0)
    right = (X @ W["classifier.W"]).argmax(axis=1) == dataset.labels
    assert metrics["val_f1"] == pytest.approx(right[dataset.val].mean(), abs=1e-12)
    assert metrics["test_f1"] == pytest.approx(right[dataset.test].mean(), abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "full"),
        ("--model", "mlp"),
        ("--method", "full", "--model", "mlp"),
        ("--sampler", "frontier", "--frontier", 5, "--budget", 40, "--degree-cap", 3),
        ("--eta", 3, "--layers", 3, "--lr", 0.1, "--pool", 2),
        ("--dtype", "float64", "--classifier-relu"),
        ("--hidden", 1),
        ("--epochs", 0),
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_options_reach_the_run_and_both_packages_agree(run, agreed_weights, options):
    for name in PACKAGES:
        status, _, stderr, metrics = run("--impl", name, *options, out=name)
        assert (status, stderr) == (0, "")
    for option, value in zip(options[::2], options[1::2], strict=False):
        assert metrics["settings"][option[2:].replace("-", "_")] == value
    assert metrics["settings"]["classifier_relu"] == ("--classifier-relu" in options)
    if "full" in options:
        assert metrics["iterations"] == 3
        assert not {"sampler", "budget", "pool"} & metrics["settings"].keys()
    weights = agreed_weights(1e-9 if "float64" in options else 1e-3)
    assert {W.dtype.name for W in weights.values()} == {metrics["settings"]["dtype"]}


def test_multilabel_folder(tmp_path, capsys):
    data = write_graphsaint(tmp_path / "multi", multilabel=True)
    argv = ["train", "--data", str(data), "--out", str(tmp_path / "o"), "--epochs", "40"]
    assert main([*argv, "--hidden", "16", "--lr", "0.05"]) == 0
    metrics = json.loads((tmp_path / "o" / "metrics.json").read_text())
    assert metrics["dataset"]["multilabel"] is True
    assert metrics["val_f1"] > 0.7  # half of all pairs hold: 0.67 if everything is predicted


def test_default_folder_and_default_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--epochs", "1", "--hidden", "8"]) == 0
    metrics = json.loads((tmp_path / "runs" / "communities" / "metrics.json").read_text())
    assert metrics["settings"]["data"] == "communities"
    assert metrics["settings"]["impl"] == "fastimpl"
    assert (metrics["settings"]["budget"], metrics["settings"]["frontier"]) == (1320, 165)


def test_seeds_are_reproducible_and_differ(run, tmp_path):
    again = [run("--seed", seed, out=out)[3] for seed, out in ((1, "a"), (1, "b"), (2, "c"))]
    a, b, c = (tmp_path / out / "checkpoint.npz" for out in "abc")
    same_run(a, b, but=())
    assert arrays_of(a)[0] != arrays_of(c)[0]
    for key in ("val_f1", "test_f1", "best_epoch", "iterations"):
        assert again[0][key] == again[1][key]


def test_a_new_run_replaces_an_old_one(run, tmp_path):
    run("--epochs", 5)
    assert run("--epochs", 2, "--seed", 1)[3]["epochs"] == 2
    assert len((tmp_path / "out" / "history.csv").read_text().splitlines()) == 3
    run("--epochs", 2, "--seed", 1, out="fresh")
    same_run(tmp_path / "out" / "checkpoint.npz", tmp_path / "fresh" / "checkpoint.npz", but=())


def test_a_refused_run_leaves_the_old_one_alone(run, tmp_path):
    run()
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert run("--frontier", 5000)[0] == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_without_matplotlib_the_curve_is_left_out(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, stdout, _, _ = run()
    assert status == 0
    assert "no curve.png: matplotlib is not installed" in stdout
    assert not (tmp_path / "out" / "curve.png").exists()


def test_progress_bar_on_a_terminal_only(run, on_terminal, monkeypatch):
    terminal = on_terminal()
    run()
    shown = terminal.getvalue()
    assert "epoch 3.0/3" in shown
    assert "val_f1=" in shown
    assert "loss=" in shown
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # no terminal
    run()
    assert sys.stderr.getvalue() == ""


def parsers():
    root = build_parser()
    (commands,) = [a for a in root._actions if isinstance(a, argparse._SubParsersAction)]
    return commands.choices


def test_the_help_has_what_all_runs_have_first():
    groups = {
        group.title: [action.dest for action in group._group_actions]
        for group in parsers()["train"]._action_groups
        if group._group_actions
    }
    titles = list(groups)
    first = ["options", "run", "model and training", "several methods", "--method graph"]
    assert titles[: len(first)] == first
    assert titles[-2:] == ["--model rgcn", "--model sign"]
    assert {"batch_size", "fanouts", "pool", "workers"} <= {*groups["several methods"]}
    assert {"normalize", "sampler", "budget"} <= {*groups["--method graph"]}
    assert groups["--model gat"] == ["heads", "attention", "attention_dropout"]


@pytest.mark.parametrize("command", ["train", "compare", "sample", "info"])
def test_help_explains_every_option_with_its_default(command):
    parser = parsers()[command]
    helps = (argparse._HelpAction, HelpAll)
    actions = [a for a in parser._actions if not isinstance(a, helps)]
    for action in actions:
        assert "(default: " in action.help, action.option_strings
        assert "None" not in action.help
    text = " ".join(parser.format_all().split())
    assert text.count("(default: ") == len(actions)
    if command != "info":
        assert "a fifth" in text


def test_help_shows_the_defaults_that_are_used(run):
    settings = run("--epochs", 1)[3]["settings"]
    actions = {a.dest: a.help for a in parsers()["train"]._actions}
    assert actions.keys() == {
        "help",
        "help_all",
        "config",
        "preset",
        "out",
        "resume",
        "overwrite",
        *train_options(),
    }
    for name in (
        "impl",
        "method",
        "model",
        "layers",
        "sampler",
        "eta",
        "pool",
        "dtype",
    ):
        shown = str(settings[name]).replace("pin_tile", "pin-tile")
        assert f"(default: {shown})" in actions[name]
    assert f"(default: {settings['rng']})" in actions["seed"]
    assert "(default: 30; with method full 200)" in actions["epochs"]
    assert "(default: 0.01; with model gat 0.003)" in actions["lr"]
    assert "(default: 256)" in actions["hidden"]
    assert build_parser("refimpl").parse_args(["train"]).command == "train"


BAD = {
    "unknown command": (["fly"], "invalid choice: 'fly'"),
    "command that left": (["figure", "V-fig14"], "run python -m bench figure in a checkout"),
    "bench left, too": (["bench"], "run pytest bench in a checkout"),
    "no command": ([], "COMMAND"),
    "unknown option": (["train", "--depth", "2"], "--depth"),
    "abbreviated option": (["train", "--lay", "2"], "--lay"),
    "no number": (["train", "--layers", "two"], "--layers: must be an integer, got 'two'"),
    "bad choice": (["train", "--dtype", "float16"], "--dtype: invalid choice: 'float16'"),
    "no sampler": (["--sampler", "snow_ball"], "--sampler: invalid choice: 'snow_ball' (choose"),
    "layers": (["--layers", "0"], "--layers must be in [1, "),
    "hidden": (["--hidden", "-3"], "--hidden must be in [1, "),
    "hidden too large": (["--hidden", "2147483647"], "Unable to allocate"),
    "epochs": (["--epochs", "-1"], "--epochs must be in [0, "),
    "lr": (["--lr", "0"], "--lr must be finite and above 0, got 0.0"),
    "lr nan": (["--lr", "nan"], "--lr must be finite and above 0, got nan"),
    "pool": (["--pool", "0"], "--pool must be in [1, "),
    "seed": (["--seed", "-1"], "--seed must be in [0, "),
    "threads": (["--threads", "0"], "--threads must be in [1, 1024], got 0"),
    "frontier": (
        ["--frontier", "131"],
        "--frontier must be at most the number of nodes (130), got 131",
    ),
    "budget": (["--budget", "4", "--frontier", "5"], "--budget must be at least m (5), got 4"),
    "eta": (["--eta", "1"], "--eta must be finite and above 1, got 1.0"),
    "degree cap": (["--degree-cap", "0"], "--degree-cap must be in [1, "),
    "eta for frontier": (
        ["--sampler", "frontier", "--eta", "2"],
        "--eta does not apply with --sampler frontier",
    ),
    "no module": (["--impl", "nosuchpackage"], "--impl nosuchpackage cannot be imported"),
    "other module": (["--impl", "json"], "--impl json is no implementation"),
    "no name": (["--impl", ""], "--impl must be an import name, got ''"),
    "relative name": (["--impl", ".fastimpl"], "--impl must be an import name"),
    "diverging": (["--lr", "1e30", "--layers", "3"], "try a smaller --lr than 1e+30"),
    "budget for full": (
        ["--method", "full", "--budget", "9"],
        "--budget does not apply with --method full",
    ),
}


@pytest.mark.parametrize(
    ("argv", "words", "close"),
    [
        (("train", "--batch", "22"), "--batch 22", "--batch-size"),
        (("train", "--lookup-roots"), "--lookup-roots", "--no-lookup-roots"),
        (("compare", "--bugdet=9"), "--bugdet=9", "--budget"),
        (("sample", "--counts", "2"), "--counts 2", "--count"),
        (("predict", "model.npz", "--node", "all"), "--node all", "--nodes"),
        (("train", "--zzz"), "--zzz", None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_unknown_flag_names_the_right_help_and_what_is_close(capfd, argv, words, close):
    assert main([*argv]) == 2
    hint = f"; did you mean {close}?" if close else ""
    help_of = f" (see minibatch-gnn {argv[0]} --help)"
    assert one_error(capfd).endswith(f"error: unrecognized arguments: {words}{hint}{help_of}")


@pytest.mark.parametrize(
    ("argv", "close"),
    [
        (("trian",), "train"),
        (("train", "--sampler", "pin_tiles"), "pin-tile"),
        (("train", "--method", "grph"), "graph"),
        (("exercise", "lst"), "list"),
        (("trace", "frontierr"), "frontier"),
        (("trace", "pin-tiles"), "pin_tile"),
    ],
)
def test_a_misspelt_word_gets_the_nearest_name(capfd, argv, close):
    assert main([*argv]) == 2
    assert f"; did you mean {close}?" in one_error(capfd)


@pytest.mark.parametrize("command", ["train", "compare"])
def test_no_line_of_the_short_help_is_cut_off(command):
    *_, listed, _ = parsers()[command].format_help().split("\n\n")
    for line in listed.split("\n"):
        assert ".. (" not in line


def test_words_are_read_with_hyphens_or_underscores(run):
    for options in (
        ("--sampler", "pin_tile", "--concat", "self_first"),
        ("--sampler", "pin-tile", "--concat", "self-first"),
    ):
        status, stdout, stderr, metrics = run(*options)
        assert (status, stderr) == (0, "")
        assert stdout.startswith("GraphSAGE on pin-tile subgraphs")
        assert metrics["settings"]["sampler"] == "pin_tile"
        assert metrics["settings"]["concat"] == "self_first"


def one_error(capfd, prog="minibatch-gnn"):
    stdout, stderr = capfd.readouterr()
    assert stdout == ""
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith(f"{prog}: error: ")
    return lines[0]


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("options, message", BAD.values(), ids=BAD.keys())
def test_bad_options_are_one_line_and_status_2(folder, tmp_path, capfd, options, message):
    if options and options[0].startswith("--"):
        options = ["train", "--data", str(folder), "--out", str(tmp_path / "o"), *options]
    assert main(options) == 2
    assert message in one_error(capfd)


def test_bad_files_are_one_line_and_status_2(folder, tmp_path, capfd):
    out = ["--out", str(tmp_path / "o")]
    assert main(["train", "--data", str(tmp_path / "nowhere"), *out]) == 2
    assert "nowhere" in one_error(capfd)
    bad = write_graphsaint(tmp_path / "bad")
    (bad / "role.json").write_text("{")
    assert main(["train", "--data", str(bad), *out]) == 2
    assert "role.json" in one_error(capfd)
    (bad / "role.json").unlink()
    assert main(["train", "--data", str(bad), *out]) == 2
    assert "role.json" in one_error(capfd)
    assert not (tmp_path / "o").exists()
    (tmp_path / "o").write_text("a file")
    assert main(["train", "--data", str(folder), *out]) == 2
    assert "--out must be a folder" in one_error(capfd)


def test_a_fault_of_the_program_shows_its_traceback(run, monkeypatch):
    def broken(*args):
        raise ValueError("a fault")

    monkeypatch.setattr("refimpl.lab.training.trainer.Trainer.step", broken)
    with pytest.raises(ValueError, match="a fault"):
        run()


@pytest.mark.parametrize("package", PACKAGES)
def test_python_m_trains_on_that_package(folder, tmp_path, package):
    def python_m(*argv):
        return subprocess.run(
            [sys.executable, "-m", package, *argv], capture_output=True, text=True, check=False
        )

    data = ["--data", str(folder), "--out", str(tmp_path / "o"), "--epochs", "1"]
    done = python_m("train", *data)
    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads((tmp_path / "o" / "metrics.json").read_text())
    assert metrics["settings"]["impl"] == package
    failed = python_m("train", "--layers", "0", "--out", str(tmp_path / "none"))
    assert failed.returncode == 2
    assert failed.stderr.startswith(f"python -m {package}: error: --layers")
    assert f"(default: {package})" in " ".join(python_m("train", "--help-all").stdout.split())


def test_refimpl_runs_without_fastimpl(folder, tmp_path):
    code = (
        "import sys; sys.modules['fastimpl'] = None\n"
        "from refimpl.lab.apps.cli import main\n"
        "sys.exit(main(sys.argv[1:], impl='refimpl'))"
    )
    argv = ["train", "--data", str(folder), "--out", str(tmp_path / "o"), "--epochs", "1"]
    command = [sys.executable, "-c", code]
    subprocess.run([*command, *argv], check=True, capture_output=True)
    argv += ["--overwrite", "--impl", "fastimpl"]
    failed = subprocess.run([*command, *argv], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "--impl fastimpl cannot be imported" in failed.stderr


def test_info(capsys):
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    build = fastimpl.build_info()
    for word in (
        "minibatch-gnn",
        np.__version__,
        processor(),
        build["compiler"],
        build["simd"],
        build["arch"],
    ):
        assert word in text
    assert "fastimpl openmp" in text
    assert "blas" in text
    assert main(["info", "--impl", "refimpl"]) == 0
    assert "not compiled" in capsys.readouterr().out
    assert main(["info", "--impl", "nosuchpackage"]) == 0
    assert "cannot be imported" in capsys.readouterr().out


def test_training_on_communities_lowers_the_loss_and_uses_the_graph():
    """The default data set keeps its promise: features alone about 60%, a GNN above 90%."""
    dataset = communities(0)
    results = {
        model: fastimpl.train(dataset, fastimpl.TrainConfig(model=model, epochs=10))
        for model in ("sage", "mlp")
    }
    losses = [record.loss for record in results["sage"].history]
    assert losses[:5] == sorted(losses[:5], reverse=True)
    assert losses[-1] < 0.3 * losses[0]
    assert results["sage"].test_f1 > 0.9
    assert 0.5 < results["mlp"].test_f1 < 0.7
