"""A setting that is added to a class, and a model that is registered: on the command line at once.

Nothing but the class is edited.
"""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest
from tiny_data import write_graphsaint

from refimpl.lab.apps.cli import build_parser, main
from refimpl.lab.apps.options import train_options
from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS, GraphFm
from refimpl.lab.training.models import MODELS, Gcn, ModelSettings
from refimpl.lab.training.settings import choice, integer, integers, real, switch

pytestmark = pytest.mark.runs

SEEN = []  # what the added settings were in each run


@dataclass(frozen=True, eq=False)
class Slower(GraphFm):
    """GraphFM with more settings."""

    pace: float = real(0.25, "how slow", high=1, metavar="PACE")
    steps: tuple | None = integers((1, 2), "some numbers")
    kind_of: str = choice("one_way", "which way", ("one_way", "no_way"))
    quietly: bool = switch(True, "make a noise")
    rarely: bool = switch(False, "now and then", needs="loud")
    loud: bool = switch(False, "be heard", flag="noisy")

    def start(self, run):
        """Return the iterations of GraphFM."""
        SEEN.append((self.pace, self.steps, self.kind_of, self.quietly, self.rarely, self.loud))
        return super().start(run)


@dataclass(frozen=True)
class Thrice(ModelSettings):
    name: ClassVar[str] = "thrice"
    matrix: ClassVar[str] = "sym"

    times: int = integer(3, "how often, 100% sure")

    def layer(self, gnn, config, f_in, f_out, first):
        """Return a layer of GCN."""
        SEEN.append(self.times)
        return Gcn().layer(gnn, config, f_in, f_out, first)


@pytest.fixture(autouse=True)
def added(monkeypatch):
    """Know both classes in this test; the model as `register_layer` makes it known."""
    SEEN.clear()
    monkeypatch.setitem(METHODS, "graphfm", Slower)
    monkeypatch.setitem(MODELS, "thrice", Thrice)


@pytest.fixture
def train(tmp_path, capfd):
    """Run `train` on the tiny folder; return (status, stdout, stderr, settings in metrics.json)."""
    write_graphsaint(tmp_path / "tiny")

    def train(*options):
        argv = ["train", "--data", tmp_path / "tiny", "--out", tmp_path / "out", "--hidden", "8"]
        status = main(
            [*map(str, argv), *([] if "--resume" in options else ["--overwrite"]), *options]
        )
        metrics = tmp_path / "out" / "metrics.json"
        found = json.loads(metrics.read_text())["settings"] if metrics.exists() else None
        return status, *capfd.readouterr(), found

    return train


def helps():
    """Return (heading, help) of every flag of `train`."""
    parser = build_parser()._subparsers._group_actions[0].choices["train"]
    assert "--pace" in parser.format_all()
    return {
        action.option_strings[-1]: (group.title, action.help)
        for group in parser._action_groups
        for action in group._group_actions
    }


def test_the_help_has_them():
    found = helps()
    graphfm = "--method graphfm"
    assert found["--pace"] == (graphfm, "how slow (default: 0.25)")
    assert found["--steps"] == (graphfm, "some numbers (default: 1,2)")
    assert found["--kind-of"] == (graphfm, "which way (default: one-way)")
    assert found["--no-quietly"] == (graphfm, "make a noise (default: off)")
    assert found["--rarely"] == (graphfm, "now and then; only with --noisy (default: off)")
    assert found["--times"] == ("--model thrice", "how often, 100%% sure (default: 3)")
    assert "--loud" not in found
    assert "; thrice (default: sage)" in found["--model"][1]


def test_they_reach_the_run_the_metrics_and_a_resumed_run(train):
    options = ("--method", "graphfm", "--batch-size", "40", "--pace", "0.5", "--kind-of", "no-way")
    more = ("--no-quietly", "--noisy", "--rarely", "--steps", "3,4")
    status, stdout, stderr, settings = train(*options, *more, "--epochs", "1")
    assert (status, stderr) == (0, "")
    expected = {
        "pace": 0.5,
        "steps": [3, 4],
        "kind_of": "no_way",
        "quietly": False,
        "rarely": True,
        "loud": True,
    }
    assert {name: settings[name] for name in expected} == expected
    assert train("--resume", "--epochs", "2", "--pace", "0.5")[0] == 0
    assert SEEN == [(0.5, (3, 4), "no_way", False, True, True)] * 2
    status, _, stderr, _ = train("--resume", "--kind-of", "one-way")
    assert (status, "--kind-of is no-way in" in stderr) == (2, True)
    assert "got one-way" in stderr


def test_a_model_with_a_setting(train):
    status, stdout, stderr, settings = train("--model", "thrice", "--times", "7", "--epochs", "1")
    assert (status, stderr) == (0, "")
    assert stdout.startswith("thrice on pin-tile subgraphs of tiny")
    assert settings["times"] == 7
    assert set(SEEN) == {7}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pace", "0.5"), "--pace does not apply with --method graph"),
        (("--times", "2"), "--times does not apply with --model sage"),
        (("--method", "graphfm", "--pace", "2"), "pace must be"),
        (("--method", "graphfm", "--steps", "a"), "--steps: invalid value: 'a', not COUNT,.."),
        (("--method", "graphfm", "--rarely"), "--rarely does not apply without --noisy"),
    ],
)
def test_they_are_refused_by_name(train, options, message):
    status, _, stderr, settings = train(*options)
    assert (status, settings) == (2, None)
    assert message in stderr


def test_one_flag_for_two_things_is_refused(monkeypatch):
    @dataclass(frozen=True)
    class Other(Thrice):
        name: ClassVar[str] = "other"
        heads: float = real(0.5, "not those of GAT")

    monkeypatch.setitem(MODELS, "other", Other)
    with pytest.raises(ValueError, match="--heads must have one parse for models gat and other"):
        train_options()

    @dataclass(frozen=True)
    class Budget(Thrice):
        name: ClassVar[str] = "other"
        budget: int = integer(5, "not the sampler's")

    monkeypatch.setitem(MODELS, "other", Budget)
    with pytest.raises(ValueError, match="two settings have the flag --budget"):
        train_options()


def test_flat_settings_know_them():
    flat = config_from({"method": "graphfm", "pace": 0.75, "model": "gcn"}).flat()
    assert flat["pace"] == 0.75
    assert config_from(flat).method.pace == 0.75
