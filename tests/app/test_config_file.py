"""Options from a file: what is typed, what the file says, what neither may say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.lab.apps.cli import main
from refimpl.lab.apps.config_file import with_file
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.options import train_options
from refimpl.lab.apps.settings import asked, config_of
from refimpl.lab.data.karate import karate_dataset

OPTIONS = train_options()
DATA = karate_dataset()


@pytest.fixture
def read(tmp_path):
    """Write a file; return the options of `train` with it and what is given."""

    def take(text, name="run.toml", given=None, options=OPTIONS):
        path = tmp_path / name
        path.write_text(text)
        return with_file(str(path), options, given or {}, OPTIONS)

    return take


def test_a_table_is_what_could_have_been_typed(read):
    text = 'method = "fresh"\nhidden = 8\nfanouts = [3, 2]\nt-stale = 5\nbias = true\n'
    text += 'eval-memory = "64MB"\nseed = 7\nbuffer-overflow = "drop"\n'
    found = read(text)
    assert found == {
        "method": "fresh",
        "hidden": 8,
        "fanouts": [3, 2],
        "t_stale": 5,
        "bias": True,
        "eval_memory": 64_000_000,
        "seed": 7,
        "buffer_overflow": "drop",
    }
    assert asked(OPTIONS, found)["overflow"] == "drop"


def test_what_is_given_wins(read):
    assert read("hidden = 8\nlr = 0.5", given={"hidden": 4}) == {"hidden": 4, "lr": 0.5}


def test_what_does_not_apply_with_what_is_given_is_left_out(read):
    found = read('method = "fresh"\nt-stale = 5\nlayers = 3', given={"method": "graph"})
    assert found == {"method": "graph", "layers": 3}


def test_what_hangs_on_what_is_left_out_is_left_out_too(read):
    """Rounds are of features in parts, and parts of float32 only."""
    text = 'features-in = "parts"\nrounds = "pairwise"\nlayers = 3'
    found = read(text, given={"dtype": "float64"})
    assert found == {"dtype": "float64", "layers": 3}


@pytest.mark.parametrize("value", [True, False])
def test_a_switch_is_set_by_its_flag_and_by_its_setting(read, value):
    """`lookup_roots` is on; its flag is --no-lookup-roots."""
    start = 'method = "fresh"\n'
    by_flag = read(f"{start}no-lookup-roots = {str(value).lower()}")
    by_name = read(f"{start}lookup-roots = {str(not value).lower()}")
    assert by_flag == by_name == {"method": "fresh"} | ({"no_lookup_roots": False} if value else {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch = 3", r"no option 'epoch'; did you mean epochs\?"),
        ('sampler = "edge"\nmethod = "fresh"', "--sampler does not apply with --method fresh"),
        ('method = "fesh"', "method: invalid choice: 'fesh'"),
        ("bias = 1", "bias must be true or false, got 1"),
        ('eval-memory = "much"', "eval-memory: "),
        ("hidden = ", "Invalid value"),
        ("coverage = 3", "--coverage does not apply without --normalize"),
        ("method = 3", "method must be a text, got 3"),
        ("model = [1]", "model must be a text, got .1."),
        ("data = 5", "data must be a text, got 5"),
        ("features-in = 3", "features-in must be a text, got 3"),
        ('out = "x"', "--out is typed, and not taken from a file"),
        ("t-stale = 5\nt_stale = 6", "t-stale stands there twice"),
        ("seed = 3\nrng = 4", "seed stands there twice"),
        ("a = " + 50_000 * "[", "run.toml: "),
    ],
)
def test_what_a_table_cannot_say_is_said_with_its_name(read, text, message):
    with pytest.raises(UserError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.yaml", "hidden: 8", "must be a .toml or .json file"),
        ("a.json", "[1]", "holds no settings of a run"),
        ("a.json", "{", "a.json: Expecting"),
        ("a.json", 50_000 * "[", "a.json: "),
        ("a.json", '{"settings": {"nonsense": 1}}', "no option 'nonsense'"),
    ],
)
def test_other_files_are_refused(read, name, text, message):
    with pytest.raises(UserError, match=message):
        read(text, name)


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    assert main(["train", "--config", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "fresh", "--fanouts", "3,2", "--t-stale", "5", "--no-lookup-roots"],
        ["--method", "graph", "--sampler", "edge", "--normalize", "both", "--coverage", "3"],
        ["--method", "gas", "--model", "gat", "--heads", "2", "--row-l2"],
        ["--as-printed", "--method", "fresh", "--eval-memory", "64MB"],
    ],
)
def test_the_metrics_of_a_run_are_its_settings(tmp_path, capsys, words):
    """And so the second run has the same scores, to the bit."""
    common = ["--data", "karate", "--epochs", "2", "--hidden", "8"]
    first, second = tmp_path / "a", tmp_path / "b"
    assert main(["train", *common, *words, "--out", str(first)]) == 0
    again = ["train", "--config", str(first / "metrics.json"), "--out", str(second)]
    assert main(again) == 0
    capsys.readouterr()
    a, b = (json.loads((one / "metrics.json").read_text()) for one in (first, second))
    assert a["settings"] == b["settings"] and a["test_f1"] == b["test_f1"]
    assert main([*again, "--overwrite", "--method", "layer", "--epochs", "1"]) == 0
    other = json.loads((second / "metrics.json").read_text())["settings"]
    assert other["method"] == "layer" and other["epochs"] == 1 and other["hidden"] == 8


def test_of_a_run_other_commands_take_what_they_have(tmp_path, capsys):
    out = tmp_path / "run"
    words = ["--data", "karate", "--epochs", "1", "--hidden", "8", "--method", "fresh"]
    assert main(["train", *words, "--out", str(out)]) == 0
    assert main(["sample", "--config", str(out / "metrics.json")]) == 0
    assert main(["compare", "--config", str(out / "metrics.json"), "--rounds", "1"]) == 0
    assert "of karate" in capsys.readouterr().out


def test_a_run_that_goes_on_has_settings_of_its_own(tmp_path, capsys):
    path = tmp_path / "run.toml"
    path.write_text("hidden = 8")
    assert main(["train", "--config", str(path), "--resume", "--out", str(tmp_path)]) == 2
    assert "--config does not apply with --resume" in capsys.readouterr().err


@given(
    st.dictionaries(
        st.sampled_from([*OPTIONS, "nonsense"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        max_size=4,
    )
)
def test_any_settings_are_taken_or_refused_in_words(tmp_path_factory, settings):
    path = tmp_path_factory.mktemp("any") / "metrics.json"
    path.write_text(json.dumps({"settings": settings}))
    try:
        found = with_file(str(path), OPTIONS, {}, OPTIONS)
        assert set(found) <= set(OPTIONS) and None not in found.values()
        config_of(asked(OPTIONS, found), DATA)
    except UserError:
        return


@pytest.mark.parametrize("command", ["train", "sample"])
@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_file_decides_on_no_import(tmp_path, monkeypatch, capsys, kind, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    file = tmp_path / f"settings.{kind}"
    if kind == "toml":
        file.write_text('data = "karate"\nimpl = "evil"\n')
    else:
        file.write_text(json.dumps({"settings": {"data": "karate", "impl": "evil"}}))
    assert main([command, "--config", str(file)]) == 2
    err = capsys.readouterr().err
    assert "impl must be refimpl or fastimpl in a file, got 'evil'" in err and "--impl" in err
    assert {path.name for path in tmp_path.iterdir()} == {"evil.py", file.name}


@pytest.mark.parametrize("package", ["refimpl", "fastimpl"])
def test_a_package_on_the_command_line_overrides_that_of_a_file(tmp_path, package, capsys):
    file = tmp_path / "settings.toml"
    file.write_text('data = "karate"\nimpl = "evil"\n')
    words = ["sample", "--graph", "full", "--count", "1", "--config", str(file), "--impl", package]
    assert main(words) == 0
