"""The papers' literal choices: one table, the option that makes them, and the page about them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from docs_ext import DOCS, paper_lines

import fastimpl
import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.options import train_options
from refimpl.lab.apps.sample import sample_options
from refimpl.lab.apps.settings import asked
from refimpl.lab.data.karate import karate_dataset
from refimpl.lab.training.config import PARTS, TrainConfig
from refimpl.lab.training.paper_defaults import PRINTED, default_of, printed_choices
from refimpl.lab.training.settings import settings_of
from refimpl.samplers import Sampler

DATA = karate_dataset(dtype=np.float64)
ERRATA = {erratum.id for erratum in paper_lines.read_errata()}
GRAPH, FRESH = refimpl.methods.SampledGraph, refimpl.methods.Fresh
USUAL = {"model": "sage", "method": "graph"}
LITERAL_FRESH = {
    "classifier": "layer",
    "draw_all": True,
    "rank_base": "new",
    "staleness": "header_only",
    "header": "cycle",
    "t_stale": 200,
}


@pytest.fixture
def run(tmp_path, capfd):
    """Run a command into a folder; return (status, stderr, settings in its JSON)."""

    def run(command, *options):
        files = {"train": "metrics.json", "sample": "sample.json", "compare": "table.json"}
        out, file = tmp_path / command, tmp_path / command / files[command]
        out.mkdir(exist_ok=True)
        words = [command, "--data", "karate", "--out", out if command != "compare" else file]
        words += options if "--resume" in options else [*options, "--overwrite"]
        status = main(list(map(str, words)))
        found = json.loads(file.read_text())["settings"] if file.exists() else None
        return status, capfd.readouterr().err, found

    return run


def chosen(*given):
    """Return what the table has an option for, of the settings that a run is asked for."""
    options = train_options()
    values = dict(zip(given[::2], given[1::2], strict=True))
    settings = asked(options, {"as_printed": True, **values})
    return {row.name: settings[row.name] for row in PRINTED if row.name in settings}


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: row.name)
def test_each_row_is_a_setting_with_another_default(row):
    """And an option; its erratum has a row, and so have the settings that it hangs on."""
    classes = [TrainConfig, *(cls for known in PARTS.values() for cls in known.values())]
    parameters = {**Sampler("frontier", m=1, n=2).options, "clip": None}
    known = {name for cls in classes for name in settings_of(cls)} | parameters.keys()
    assert row.name in known and row.only.keys() <= known
    assert default_of(row.name) != row.value
    assert row.name in {option.name for option in train_options().values()}
    assert row.erratum in ERRATA


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: row.name)
def test_what_is_printed_is_accepted(row):
    """By the class of the setting, or by the samplers that the row names."""
    if "sampler" in row.only:
        for name in row.only["sampler"]:
            refimpl.scaled_sampler(DATA.graph, name, **{row.name: row.value})
        return
    parts = {part: row.only.get(part, (name,))[0] for part, name in USUAL.items()}
    flat = {**parts, row.name: row.value}
    assert refimpl.lab.training.config.config_from(flat).flat()[row.name] == row.value


def test_the_option_sets_what_the_table_says():
    graph = {"include": "popped", "clip": 16, "classifier_relu": True}
    assert chosen() == graph
    assert chosen("model", "gat") == graph | {"attention": "none"}
    assert chosen("sampler", "edge") == {"clip": 16, "classifier_relu": True}
    assert chosen("method", "full") == {"classifier_relu": True}
    assert chosen("method", "fresh") == LITERAL_FRESH
    assert chosen("method", "fresh", "model", "gat") == LITERAL_FRESH | {"attention": "none"}


def test_what_is_given_wins():
    """Even the default; and a classifier, or what only one has, brings it back."""
    assert chosen("include", "pushed")["include"] == "pushed"
    assert chosen("clip", 8)["clip"] == 8
    assert chosen("model", "gat", "attention", "row")["attention"] == "row"
    assert chosen("method", "fresh", "t_stale", 7) == LITERAL_FRESH | {"t_stale": 7}
    dense = LITERAL_FRESH | {"classifier": "dense", "classifier_relu": True}
    assert chosen("method", "fresh", "classifier", "dense") == dense
    with_relu = chosen("method", "fresh", "classifier_relu", True)
    assert with_relu["classifier_relu"] is True and "classifier" not in with_relu
    assert "classifier" not in chosen("method", "fresh", "row_l2", True)


def test_nothing_changes_unless_it_is_asked_for():
    settings = asked(train_options(), {"method": "fresh"})
    assert settings["as_printed"] is False
    assert not settings.keys() & LITERAL_FRESH.keys()


def test_a_configuration_is_what_the_option_makes(gnn):
    fresh = gnn.as_printed(gnn.TrainConfig(model="gat", method="fresh"))
    flat = fresh.flat()
    assert {name: flat[name] for name in LITERAL_FRESH} == LITERAL_FRESH
    assert flat["attention"] == "none" and flat["hidden"] == 256
    assert gnn.as_printed(fresh) == fresh
    sampled = gnn.as_printed(gnn.TrainConfig(), DATA)
    assert sampled.method.sampler == gnn.scaled_sampler(DATA.train_graph, include="popped", clip=16)
    assert sampled.classifier_relu and sampled.classifier == "dense"


def test_a_configuration_keeps_what_is_not_the_default():
    method = FRESH(t_stale=5, cache_layers=(1,))
    printed = refimpl.as_printed(TrainConfig(method=method, row_l2=True))
    assert (printed.method.t_stale, printed.method.header) == (5, "cycle")
    assert printed.classifier == "dense" and printed.classifier_relu
    back = replace(printed.method, header="continue")
    assert replace(printed, method=back).method.header == "continue"
    sampler = Sampler("frontier", m=2, n=9, clip=3)
    mine = refimpl.as_printed(TrainConfig(method=GRAPH(sampler=sampler))).method.sampler
    assert mine == Sampler("frontier", m=2, n=9, clip=3, include="popped")


def one_node(graph, main, *, include="pushed"):
    """Draw node 0."""
    return refimpl.samplers.NodeSample(np.zeros(1, np.int32), refimpl.graph.Counters())


def test_a_sampler_of_ones_own_is_left_alone():
    """Its options may be called like the papers' and mean something else."""
    config = TrainConfig(method=GRAPH(sampler=Sampler(one_node)))
    assert refimpl.as_printed(config).method.sampler == Sampler(one_node)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("fresh",), TypeError, "config must be a TrainConfig, got str"),
        ((TrainConfig(), DATA.graph), TypeError, "dataset must be a Dataset, got Graph"),
        ((TrainConfig(),), ValueError, 'dataset must be given where method is "graph" without a'),
    ],
)
def test_bad_arguments(arguments, error, message):
    for gnn in (refimpl, fastimpl):
        with pytest.raises(error, match=message):
            gnn.as_printed(*arguments)


@pytest.mark.parametrize("model", ["sage", "gat"])
@pytest.mark.parametrize(
    "method", [GRAPH(), FRESH(batch_size=8, buffer=2**14)], ids=["graph", "fresh"]
)
def test_both_packages_train_alike(model, method):
    config = TrainConfig(model=model, method=method, hidden=8, epochs=4, rng=2)
    results = [gnn.train(DATA, gnn.as_printed(config, DATA)) for gnn in (refimpl, fastimpl)]
    losses = [[record.loss for record in result.history] for result in results]
    assert np.isfinite(losses).all() and len(set(losses[0])) > 1
    assert losses[1] == pytest.approx(losses[0], rel=1e-9)
    for name, W in results[0].state.weights.items():
        assert results[1].state.weights[name] == pytest.approx(W, rel=1e-9, abs=1e-12)


def test_fresh_as_printed_has_no_classifier():
    """Its last layer gives a number for each class, and the loss is of these."""
    config = TrainConfig(method=FRESH(batch_size=8), hidden=8, epochs=1)
    weights = refimpl.train(DATA, refimpl.as_printed(config)).state.weights
    assert "classifier.W" not in weights
    assert weights["layer2.W_neigh"].shape == (8, DATA.classes)
    assert "classifier.W" in refimpl.train(DATA, config).state.weights


def test_the_page_accounts_for_every_erratum_once():
    """In the table, or among those that cannot be asked for."""
    text = (DOCS / "as_printed.md").read_text().split("## Errata without an option")[1]
    listed = paper_lines.ERRATUM.findall(text)
    assert len(listed) == len(set(listed))
    assert {row.erratum for row in PRINTED} == ERRATA - set(listed)
    assert not set(listed) - ERRATA


def test_the_page_has_every_printed_choice():
    """Its erratum, its place, its option, and both values in the words of the command line."""
    text = (DOCS / "as_printed.md").read_text().partition("## The choices")[2]
    rows = [line.split(" | ") for line in text.partition("## ")[0].splitlines() if line[:1] == "|"]
    options = {option.name: option for option in train_options().values()}
    wanted = []
    for row in PRINTED:
        option, values = options[row.name], (row.value, default_of(row.name))
        said = [option.shown if value is None else typed(option, value) for value in values]
        wanted.append([f"| {row.erratum}", row.where, f"`{option.flag}`", *said])
    assert [row[:5] for row in rows[2:]] == wanted


def typed(option, value):
    """Return a value as the user would write it, that of a switch as on or off."""
    if option.sets is None:
        return option.as_typed(value)
    return "on" if value == option.sets else "off"


def test_sample_has_the_option():
    """It draws with the options of the samplers alone."""
    names = {option.name for option in sample_options().values()}
    known = printed_choices({"sampler": "pin_tile"}, ())
    both = {"include": "popped", "clip": 16}
    assert {"as_printed", *both} <= names
    assert {name: known[name] for name in known if name in names} == both


@pytest.mark.runs
def test_train_records_what_came_of_it_and_goes_on(run):
    options = ["--method", "fresh", "--hidden", "8", "--epochs", "1", "--header", "continue"]
    status, _, settings = run("train", "--as-printed", *options)
    assert status == 0 and settings["as_printed"] is True
    want = LITERAL_FRESH | {"header": "continue"}
    assert {name: settings[name] for name in LITERAL_FRESH} == want
    for more in (["--epochs", "2"], ["--as-printed", "--epochs", "3"]):
        status, error, after = run("train", "--resume", *more)
        assert status == 0, error
        assert {**after, "epochs": 1} == settings


@pytest.mark.runs
def test_a_run_cannot_become_literal_later(run):
    assert run("train", "--hidden", "8", "--epochs", "1")[0] == 0
    status, error, _ = run("train", "--resume", "--as-printed", "--epochs", "2")
    assert status == 2 and "--as-printed is False in" in error


@pytest.mark.runs
def test_sample_and_compare_record_it_too(run):
    status, error, settings = run("sample", "--as-printed", "--count", "2")
    assert (status, settings["include"], settings["clip"]) == (0, "popped", 16), error
    status, error, settings = run(
        "compare", "--as-printed", "--rounds", "1", "--hidden", "8", "--model", "gat"
    )
    assert (status, settings["attention"], settings["include"]) == (0, "none", "popped"), error
