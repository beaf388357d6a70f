"""Presets: the papers' settings by name, on the command line and from Python."""

import json

import pytest

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.data.communities import communities
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.training import preset
from refimpl.lab.training.presets import PRESETS
from refimpl.samplers import Sampler

DATA = karate_dataset()
pytestmark = pytest.mark.runs
PAPERS = {
    "freshgnn": {  # V section 7.1
        "model": "sage",
        "method": "fresh",
        "layers": 3,
        "hidden": 256,
        "batch_size": 1000,
        "fanouts": [20, 15, 10],
        "p_grad": 0.9,
        "hotness": "profile",
        "performance": True,
        "header": "continue",
        "t_stale": None,
    },
    "graphsaint": {"model": "sage", "method": "graph", "normalize": "both", "coverage": 50.0},
    "sgc": {
        "model": "sign",
        "method": "prepropagation",
        "layers": 1,
        "classifier": "layer",
        "powers": "last",
        "hops": 2,
    },
    "sign": {"model": "sign", "method": "prepropagation", "powers": "all", "hops": 2},
}


@pytest.fixture
def run(tmp_path, capfd):
    """Train on karate; return (status, stderr, the run's settings)."""

    def run(*options):
        words = ["train", "--data", "karate", "--epochs", 2, "--out", tmp_path, *options]
        status = main([*map(str, words), *([] if "--resume" in options else ["--overwrite"])])
        file = tmp_path / "metrics.json"
        found = json.loads(file.read_text())["settings"] if file.exists() else {}
        return status, capfd.readouterr().err, found

    return run


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_the_papers_settings(name):
    config = preset(name, DATA)
    usual = refimpl.TrainConfig(model=config.model.name, method=config.method.name).flat()
    flat = config.flat()
    assert {one: flat[one] for one in PAPERS[name]} == PAPERS[name]
    sampler = flat.pop("sampler", None)
    assert (sampler and sampler.name) == PRESETS[name].get("sampler")
    others = flat.keys() - PAPERS[name].keys()
    assert {one: flat[one] for one in others} == {one: usual[one] for one in others}


@pytest.mark.parametrize("name", PRESETS)
def test_the_option_sets_what_the_function_sets_and_trains(run, name):
    status, err, found = run("--preset", name, "--hidden", 32)
    assert (status, err) == (0, "")
    config = preset(name, DATA, hidden=32, epochs=2).fitted(DATA)
    flat = config.flat()
    sampler = flat.pop("sampler", None)
    assert {one: found[one] for one in flat} == flat
    if sampler is not None:
        assert found["sampler"] == sampler.name == "random_walk"
        assert (found["roots"], found["walk_length"]) == (
            sampler.options["r"],
            sampler.options["h"],
        )
    assert found["hidden"] == 32


@pytest.mark.parametrize("name", PRESETS)
def test_presets_train_on_communities(gnn, name):
    data = communities(0, nodes=400)
    result = gnn.train(data, preset(name, data, hidden=32, epochs=20), progress=False)
    assert result.test_f1 > 0.4  # a fifth of the nodes are in the largest class


def test_what_is_given_wins(run, tmp_path):
    """And what hangs on a setting of the preset goes with it."""
    found = run("--preset", "freshgnn", "--layers", 2, "--batch-size", 9)[2]
    assert (found["layers"], found["batch_size"], found["fanouts"]) == (2, 9, [20, 15])
    found = run("--preset", "freshgnn", "--hotness", "degree")[2]
    assert (found["hotness"], found["performance"]) == ("degree", False)
    found = run("--preset", "freshgnn", "--method", "graph")[2]
    assert (found["layers"], found["sampler"]) == (3, "pin_tile")
    found = run("--preset", "graphsaint", "--sampler", "edge", "--normalize", "none")[2]
    assert (found["sampler"], found["normalize"]) == ("edge", "none")
    assert run("--preset", "graphsaint", "--model", "gcn")[2]["normalize"] == "none"
    file = tmp_path / "run.toml"
    file.write_text("hidden = 16\nlayers = 2\n")
    found = run("--preset", "freshgnn", "--config", file, "--hidden", 24)[2]
    assert (found["hidden"], found["layers"], found["batch_size"]) == (24, 2, 1000)
    walks = Sampler("random_walk", r=3, h=1)
    assert preset("graphsaint", sampler=walks, coverage=9).method.sampler == walks
    assert preset("freshgnn", hotness="none", layers=1).method.performance is False


def test_help_says_what_a_preset_sets(capfd):
    for command in ("train", "compare"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = " ".join(capfd.readouterr().out.split())
        assert "--preset freshgnn sets --model sage --method fresh --layers 3" in text
        assert "--fanouts 20,15,10 --p-grad 0.9 --hotness profile --performance" in text
        assert "--preset graphsaint sets" in text and "--sampler random-walk" in text


def test_bad_presets(run, tmp_path):
    assert "did you mean freshgnn?" in run("--preset", "freshgn")[1]
    assert run("--preset", "graphsaint")[0] == 0
    status, err, _ = run("--resume", "--preset", "graphsaint")
    assert status == 2 and "--preset does not apply with --resume" in err
    file = tmp_path / "bad.toml"
    file.write_text('preset = "freshgnn"\n')
    assert "--preset is typed, and not taken from a file" in run("--config", file)[1]
    with pytest.raises(ValueError, match="got 'graphsain'; did you mean graphsaint"):
        preset("graphsain")
    with pytest.raises(ValueError, match='^dataset must be given for the sampler "random_walk"'):
        preset("graphsaint")
    with pytest.raises(TypeError, match="^dataset must be a Dataset, got str"):
        preset("graphsaint", "karate")
    with pytest.raises(ValueError, match="^fanout is no setting of any model or method; did you"):
        preset("freshgnn", fanout=3)
