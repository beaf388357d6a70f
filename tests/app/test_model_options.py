"""The settings of models and methods, in TrainConfig and on the command line."""

import json

import numpy as np
import pytest
from tiny_data import arrays_of, same_run, write_graphsaint

import fastimpl
import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.models import MODELS

pytestmark = pytest.mark.runs

DATA = karate_dataset()
LAST = {"classifier": "layer"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dropout": 1.0}, ValueError, "dropout must be below 1, got 1.0"),
        ({"dropout": -0.1}, ValueError, "dropout must be finite and at least 0"),
        ({"dropout": "much"}, TypeError, "dropout must be a real number"),
        ({"bias": 1}, TypeError, "bias must be True or False"),
        ({"row_l2": None}, TypeError, "row_l2 must be True or False"),
        ({"classifier": "last"}, ValueError, "classifier must be one of 'dense', 'layer'"),
        (LAST | {"row_l2": True}, ValueError, 'row_l2 must be False where classifier is "layer"'),
        (LAST | {"classifier_relu": True}, ValueError, "classifier_relu must be False where cla"),
        ({"decay": "all"}, ValueError, 'decay must be "first" where weight_decay is 0'),
        (LAST | {"model": "mixhop"}, ValueError, 'classifier must be "dense" .* is "mixhop"'),
        ({"model": "gat", "attention_dropout": 1}, ValueError, "attention_dropout must be below 1"),
        ({"model": "gat", "attention_dropout": -1}, ValueError, "attention_dropout must be finite"),
        ({"model": "gat", "attention_dropout": "x"}, TypeError, "attention_dropout must be a real"),
        ({"background": "yes"}, TypeError, "background must be True or False"),
        ({"concat": "both"}, ValueError, "concat must be one of 'neigh_first', 'self_first'"),
        ({"model": "gat", "attention": "x"}, ValueError, "attention must be one of 'softmax'"),
        ({"model": "gat", "heads": 0}, ValueError, r"heads must be in \[1, "),
        ({"model": "gat", "heads": 3}, ValueError, r"hidden must be a multiple of heads \(3\)"),
        ({"model": "mixhop", "hops": -1}, ValueError, r"hops must be in \[0, "),
        ({"method": "layer", "batch_size": 0}, ValueError, r"batch_size must be in \[1, "),
        ({"method": "layer", "fanouts": (5,)}, ValueError, "fanouts must have 2 numbers"),
        ({"method": "layer", "fanouts": (5, 0)}, ValueError, "fanouts must be -1 or at least 1"),
        ({"method": "layer", "fanouts": (5, -2)}, ValueError, r"fanouts must be in \[-1, "),
        ({"method": "layer", "fanouts": (5, 2.5)}, TypeError, "fanouts must be an integer"),
        ({"method": "layer", "fanouts": 5}, TypeError, "fanouts must be a tuple of ints"),
        ({"method": "fresh", "p_grad": 1.1}, ValueError, "p_grad .* at most 1, got 1.1"),
        ({"method": "fresh", "p_grad": "all"}, TypeError, "p_grad must be a real number"),
        ({"method": "fresh", "t_stale": -1}, ValueError, r"t_stale must be in \[0, "),
        ({"method": "fresh", "t_stale": "old"}, TypeError, "t_stale must be an integer"),
        ({"method": "fresh", "warmup": -1}, ValueError, r"warmup must be in \[0, "),
        ({"method": "fresh", "buffer": 2.5}, TypeError, "buffer must be an integer"),
        ({"method": "fresh", "hotness": "fame"}, ValueError, "hotness must be one of 'none', 'd"),
        ({"method": "fresh", "header": "back"}, ValueError, "header must be one of 'continue'"),
        ({"method": "fresh", "overflow": "grow"}, ValueError, "overflow must be one of 'wrap'"),
        ({"method": "fresh", "control": "none"}, ValueError, "control must be one of 'gradient'"),
        ({"method": "neighbor", "workers": -1}, ValueError, r"workers must be in \[0, "),
        ({"method": "neighbor", "model": "mlp"}, ValueError, 'method is "neighbor", got "mlp"'),
        ({"model": "sag"}, ValueError, "model must be one of 'sage', 'gcn'"),
        ({"method": "node"}, ValueError, "method must be one of 'graph', "),
        ({"hiden": 8}, ValueError, "hiden is no setting of any model or method; did you mean hid"),
    ],
)
def test_bad_settings(options, error, message):
    with pytest.raises(error, match=message):
        config_from({"hidden": 8, **options}).fitted(DATA)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": 3}, TypeError, "model must be a ModelSettings, such as Sage\\(\\), or its name"),
        ({"method": refimpl.models.Gat()}, TypeError, "method must be a MethodSettings, such as"),
        ({"model": refimpl.models.Gat}, TypeError, "model must be a ModelSettings, .* got type"),
        ({"heads": 2}, TypeError, "heads"),
    ],
)
def test_parts_of_another_kind(options, error, message):
    with pytest.raises(error, match=message):
        refimpl.TrainConfig(**options)


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("normalize", "both", {"method": "layer"}),
        ("normalize", "both", {"method": "full"}),
        ("sampler", refimpl.Sampler("edge", b=3), {"method": "layer"}),
        ("batch_size", 9, {"method": "graph"}),
        ("batch_size", 9, {"method": "full"}),
        ("fanouts", (25, 10), {"method": "graph"}),
        ("fanouts", (25, 10), {"method": "full"}),
        ("background", True, {"method": "full"}),
        ("concat", "self_first", {"model": "gcn"}),
        ("hops", 3, {"model": "sage"}),
        ("heads", 2, {"model": "sage"}),
        ("attention", "row", {"model": "mixhop"}),
        ("attention_dropout", 0.5, {"model": "gcn"}),
        ("background", True, {"method": "fresh"}),
        ("workers", 1, {"method": "layer"}),
        ("p_grad", 0.5, {"method": "neighbor"}),
        ("t_stale", None, {"method": "layer"}),
        ("warmup", 1, {"method": "neighbor"}),
        ("buffer", 1, {"method": "graph"}),
        ("hotness", "none", {"method": "neighbor"}),
        ("overflow", "drop", {"method": "full"}),
        ("header", "cycle", {"method": "neighbor"}),
        ("control", "anti", {"method": "neighbor"}),
    ],
)
def test_settings_that_do_not_apply_are_refused(name, value, where):
    other, found = next(iter(where.items()))
    with pytest.raises(ValueError, match=f'^{name} is no setting where .*{other} is "{found}"'):
        config_from({**where, name: value})
    classes = {"model": MODELS, "method": METHODS}[other]
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        classes[found](**{name: value})


@pytest.mark.parametrize("model", ["gcn", "mixhop", "gat"])
def test_what_normalising_is_for(model):
    with pytest.raises(
        ValueError, match=f'^normalize must be none or loss where model is "{model}"'
    ):
        config_from({"model": model, "normalize": "both"})


def test_default_fanouts_are_those_of_the_paper():
    def fanouts(**options):
        return config_from({"method": "layer", **options}).fitted(DATA).method.fanouts

    assert fanouts() == (25, 10)
    assert fanouts(layers=1) == (25,)
    assert fanouts(layers=4) == (25, 10, 10, 10)
    assert fanouts(model="mixhop", hops=3) == (25, 10, 10, 10, 10, 10)
    assert fanouts(model="mixhop", hops=0) == fanouts(model="mlp") == ()
    assert fanouts(fanouts=[3, -1]) == (3, -1)
    with pytest.raises(ValueError, match="fanouts must have 0 numbers"):
        fanouts(model="mlp", fanouts=(25, 10))


@pytest.mark.parametrize("method", METHODS)
def test_flat_settings_are_json_and_come_back(method):
    """Those of a class are flat beside those of the run; filled in or not."""
    options = {
        "fresh": {"t_stale": np.inf, "cache_layers": (1,), "fanouts": (3, -1)},
        "cluster": {"clusters": 4, "clusters_per_batch": 2},
        "prepropagation": {"model": "sign", "powers": "last"},
    }
    config = config_from({"method": method, "rng": 5, **options.get(method, {})})
    for one in (config, config.fitted(DATA) if method != "graph" else config):
        flat = json.loads(json.dumps(one.flat()))
        assert config_from(flat).flat() == one.flat()
        again = config_from(flat)
        assert again == one or method in ("gas", "graphfm")  # these may hold an array
        assert flat["model"] == options.get(method, {}).get("model", "sage")
        assert flat["method"] == method and flat["rng"] == 5
    with pytest.raises(AttributeError):
        config.method.name = "other"


def test_the_age_bound_scales_with_the_epoch():
    """A sixth of an epoch's iterations, at least 1."""

    def age(size, **options):
        options = {"method": "fresh", "batch_size": size, **options}
        return config_from(options).fitted(DATA).method.t_stale

    assert DATA.train_graph.n == 18
    assert [age(size) for size in (1, 2, 3, 18, 512)] == [3, 1, 1, 1, 1]
    assert (age(1, t_stale=9), age(1, t_stale=np.inf)) == (9, np.inf)


# The command line.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_graphsaint(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture
def run(folder, tmp_path, capfd):
    """Run `train` on the tiny folder; return (status, stdout, stderr, settings)."""

    def run(*options, out="out"):
        argv = ["train", "--data", folder, "--out", tmp_path / out, "--epochs", 2, "--hidden", 8]
        status = main([*map(str, (*argv, "--overwrite", *options))])
        text = capfd.readouterr()
        metrics = tmp_path / out / "metrics.json"
        found = json.loads(metrics.read_text())["settings"] if metrics.exists() else None
        return status, *text, found

    return run


LAYER = ("--method", "layer", "--batch-size", "40")


@pytest.mark.parametrize(
    ("options", "settings", "title"),
    [
        (("--model", "gcn"), {"concat": "absent", "hops": "absent"}, "GCN on pin-tile subgraphs"),
        (
            ("--model", "mixhop", "--hops", "3"),
            {"hops": 3, "heads": "absent"},
            "MixHop on pin-tile",
        ),
        (
            ("--model", "gat", "--heads", "2", "--attention", "softmax"),
            {"heads": 2, "attention": "softmax", "hops": "absent", "concat": "absent"},
            "GAT on pin-tile subgraphs",
        ),
        (("--concat", "self-first"), {"concat": "self_first"}, "GraphSAGE on pin-tile subgraphs"),
        (("--bias", "--row-l2"), {"bias": True, "row_l2": True}, "GraphSAGE on"),
        (
            ("--model", "gat", "--classifier", "layer", "--attention-dropout", "0.5"),
            {"classifier": "layer", "attention_dropout": 0.5},
            "GAT on pin-tile subgraphs",
        ),
        (("--dropout", "0.25", "--background"), {"dropout": 0.25, "background": True}, "GraphSAGE"),
        (
            LAYER,
            {
                "batch_size": 40,
                "fanouts": [25, 10],
                "fanout_order": "roots_first",
                "budget": "absent",
            },
            "GraphSAGE on batches of 40 nodes with fan-outs 25,10 of tiny",
        ),
        (
            (*LAYER, "--fanouts", "3,all", "--fanout-order", "code", "--model", "gat"),
            {"fanouts": [3, -1], "fanout_order": "code", "sampler": "absent", "heads": 1},
            "GAT on batches of 40 nodes with fan-outs 3,all, read backwards, of tiny",
        ),
        (
            (*LAYER, "--model", "mixhop", "--layers", "1", "--background", "--pool", "2"),
            {"fanouts": [25, 10], "background": True, "pool": 2, "hops": 2},
            "MixHop on batches of 40 nodes with fan-outs 25,10 of tiny",
        ),
        (
            (*LAYER, "--model", "mlp"),
            {"fanouts": [], "hops": "absent", "batch_size": 40},
            "MLP on batches of 40 nodes of tiny",
        ),
        (
            ("--method", "full", "--model", "gcn"),
            {"pool": "absent", "background": "absent", "batch_size": "absent"},
            "GCN on the full graph of tiny",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_reach_the_run_and_both_packages_agree(run, tmp_path, options, settings, title):
    for name in ("refimpl", "fastimpl"):
        command = ("--impl", name, "--dtype", "float64", *options)
        status, stdout, stderr, found = run(*command, out=name)
        assert (status, stderr) == (0, "")
        assert stdout.startswith(title)
        assert {key: found.get(key, "absent") for key in settings} == settings
    slow, fast = (
        refimpl.lab.training.load_checkpoint(tmp_path / name / "checkpoint.npz")[0]
        for name in ("refimpl", "fastimpl")
    )
    assert slow.iterations == fast.iterations
    for name, W in slow.weights.items():
        largest = np.abs(W).max(initial=0)
        np.testing.assert_allclose(fast.weights[name], W, rtol=0, atol=1e-9 * largest)


@pytest.mark.parametrize(
    ("options", "without"),
    [
        (("--model", "gcn"), ()),
        (("--model", "mixhop"), ()),
        (("--model", "gat"), ()),
        (("--bias",), ()),
        (("--dropout", "0.5"), ()),
        (("--row-l2",), ()),
        (("--concat", "self-first"), ()),
        (("--model", "mixhop", "--hops", "1"), ("--model", "mixhop")),
        (("--model", "gat", "--heads", "2"), ("--model", "gat")),
        (("--model", "gat", "--attention", "none"), ("--model", "gat")),
        (LAYER, ()),
        ((*LAYER[:2], "--batch-size", "50"), LAYER),
        ((*LAYER, "--fanouts", "2,2"), LAYER),
    ],
    ids=" ".join,
)
def test_every_option_changes_the_result(run, tmp_path, options, without):
    run("--impl", "refimpl", *options)
    run("--impl", "refimpl", *without, out="without")
    a, b = (arrays_of(tmp_path / out / "checkpoint.npz")[0] for out in ("out", "without"))
    assert a != b


def test_fan_outs_as_the_graphsage_code_reads_them(run, tmp_path):
    """E-G5: the list from its other end; a resumed run goes on so."""
    code = (*LAYER, "--fanouts", "2,5", "--fanout-order", "code")
    run("--impl", "refimpl", *code)
    run("--impl", "refimpl", *LAYER, "--fanouts", "5,2", out="turned")
    run("--impl", "refimpl", *LAYER, "--fanouts", "2,5", out="other")
    run("--impl", "refimpl", *code, "--epochs", "1", out="parts")
    assert main(["train", "--resume", "--out", str(tmp_path / "parts"), "--epochs", "2"]) == 0
    out, turned, other, parts = (
        tmp_path / name / "checkpoint.npz" for name in ("out", "turned", "other", "parts")
    )
    assert arrays_of(out)[0] == arrays_of(turned)[0]
    assert arrays_of(out)[0] != arrays_of(other)[0]
    same_run(out, parts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--hops", "2"), "--hops does not apply with --model sage"),
        (("--heads", "1"), "--heads does not apply with --model sage"),
        (("--attention", "row"), "--attention does not apply with --model sage"),
        (("--model", "mlp", "--concat", "neigh-first"), "--concat does not apply with --model mlp"),
        (("--batch-size", "512"), "--batch-size does not apply with --method graph"),
        (("--fanouts", "25,10"), "--fanouts does not apply with --method graph"),
        (("--fanout-order", "code"), "--fanout-order does not apply with --method graph"),
        (
            (*LAYER, "--model", "mlp", "--fanouts", "2"),
            "fanouts must have 0 numbers, one for each hop",
        ),
        (("--method", "full", "--background"), "--background does not apply with --method full"),
        (
            ("--method", "full", "--batch-size", "4"),
            "--batch-size does not apply with --method full",
        ),
        ((*LAYER, "--sampler", "edge"), "--sampler does not apply with --method layer"),
        ((*LAYER, "--budget", "9"), "--budget does not apply with --method layer"),
        ((*LAYER, "--normalize", "both"), "--normalize does not apply with --method layer"),
        ((*LAYER, "--coverage", "9"), "--coverage does not apply with --method layer"),
        (
            ("--model", "gcn", "--normalize", "both"),
            'normalize must be none or loss where model is "gcn"',
        ),
        (
            ("--model", "gat", "--normalize", "both"),
            'normalize must be none or loss where model is "gat"',
        ),
        (("--model", "mixhop", "--coverage", "9"), "--coverage does not apply without --normalize"),
        (("--dropout", "1"), "dropout must be below 1, got 1.0"),
        (("--model", "gat", "--heads", "3"), "hidden must be a multiple of heads (3), got 8"),
        (("--model", "gcnn"), "--model: invalid choice: 'gcnn'"),
        ((*LAYER, "--fanouts", "2"), "fanouts must have 2 numbers, one for each hop"),
        ((*LAYER, "--fanouts", "2,x"), "argument --fanouts: invalid value: '2,x'"),
        ((*LAYER, "--fanouts", "2,0"), "fanouts must be -1 or at least 1, got 0"),
        ((*LAYER[:2], "--batch-size", "0"), "--batch-size must be in [1, "),
    ],
)
def test_bad_options_are_one_line_and_status_2(run, options, message):
    status, stdout, stderr, settings = run("--impl", "refimpl", *options)
    assert (status, stdout, settings) == (2, "", None)
    assert len(stderr.splitlines()) == 1
    assert message in stderr


@pytest.mark.parametrize("model", ["sage", "mlp"])
def test_normalisation_works_with_the_models_it_is_for(run, tmp_path, model):
    options = ("--impl", "refimpl", "--model", model)
    assert run(*options, "--normalize", "both", "--coverage", "4")[0] == 0
    assert run(*options, out="plain")[0] == 0
    a, b = (arrays_of(tmp_path / out / "checkpoint.npz")[0] for out in ("out", "plain"))
    assert a != b


def test_resume_may_start_sampling_in_the_background(run, tmp_path):
    run("--impl", "refimpl", *LAYER, out="whole")
    run("--impl", "refimpl", *LAYER, "--epochs", "1")
    resume = ["train", "--resume", "--out", str(tmp_path / "out"), "--epochs", "2"]
    assert main([*resume, "--background"]) == 0
    same_run(*(tmp_path / out / "checkpoint.npz" for out in ("out", "whole")))


FULL = ("--method", "full")


@pytest.mark.parametrize("method", [(), LAYER, FULL], ids=["graph", "layer", "full"])
@pytest.mark.parametrize("model", ["gcn", "mixhop", "gat", "mlp"])
def test_compare(folder, tmp_path, capfd, model, method):
    out = tmp_path / "table.json"
    argv = ["compare", "--data", folder, "--out", out, "--hidden", 8, "--rounds", 2]
    argv += ["--model", model, "--dtype", "float64", "--dropout", 0.2, *method]
    assert main([*map(str, argv)]) == 0
    result = json.loads(out.read_text())
    assert result["iterations"] == 4
    assert (result["same_subgraphs"], result["agree"]) == (True, True)


def test_compare_finds_other_neighbours(folder, capfd, monkeypatch):
    def other_key(graph, roots, fanouts, key, sample=fastimpl.layer_sample):
        return sample(graph, roots, fanouts, key + 1)

    monkeypatch.setattr(fastimpl, "layer_sample", other_key)
    argv = ["compare", "--data", str(folder), "--hidden", "8", "--rounds", "1", *LAYER]
    assert main([*argv, "--fanouts", "2,2"]) == 1
    assert "subgraphs identical: NO" in capfd.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        "--method cluster --clusters 6 --clusters-per-batch 2",
        "--method fastgcn --layer-sizes 20,20",
        "--method ladies --model gcn --layer-sizes 20,20",
        "--method gas --batch-size 40",
        "--method graphfm --batch-size 40 --beta 0.3",
        "--method vrgcn --batch-size 40",
        "--method fresh --batch-size 40 --rank-base new --no-gradient-evict",
        "--method fresh --batch-size 40 --staleness header-only",
        "--method fresh --batch-size 40 --hotness profile --performance --buffer 20000",
        "--method fresh --layers 3 --batch-size 40 --cache-layers 2 --no-lookup-roots",
        "--method neighbor --batch-size 40 --sample-mode shared",
        "--model rgcn --method neighbor --batch-size 40 --bases 2 --node-types all",
        "--model rgcn --method fresh --batch-size 40 --fanouts RELATIONS,4",
    ],
)
def test_the_options_of_baselines_and_ablations(options, tmp_path, capsys):
    if "rgcn" in options:
        words = ["train", "--data", "typed"]
    else:
        write_graphsaint(tmp_path / "data")
        words = ["train", "--data", str(tmp_path / "data")]
    relations = refimpl.load_dataset("typed").graph.relations
    options = options.replace("RELATIONS", ":".join(["2", "all", "0", "1", "3", "5"][:relations]))
    words += ["--out", str(tmp_path / "run"), "--hidden", "8", *options.split()]
    assert main([*words, "--epochs", "1"]) == 0
    assert "test F1-micro" in capsys.readouterr().out
    assert main([*words, "--epochs", "2", "--resume"]) == 0
