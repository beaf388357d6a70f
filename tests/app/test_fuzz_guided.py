"""The fuzzer that coverage guides, with a fuzzer in its place; `python -m fuzz guided` goes on."""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.runs

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """
import contextlib, os, pathlib, sys

def instrument_imports(include, exclude):
    assert "refimpl" in include and "refimpl._reading" not in exclude
    return contextlib.nullcontext()

def Mutate(data, most):
    return data[:-1]

def Setup(argv, one, custom_mutator):
    global asked
    asked = argv[-1], one, custom_mutator

def Fuzz():
    corpus, one, changed = asked
    one(b"")
    print("#3 INITED cov: 5 ft: 6 corp: 1/5b exec/s: 0", file=sys.stderr)
    for path in pathlib.Path(corpus).iterdir():
        for seed in range(5):
            one(changed(path.read_bytes(), 2**22, seed))
    print("#13 DONE   cov: 9 ft: 12 corp: 3/9b exec/s: 0", file=sys.stderr, flush=True)
    {end}
"""


@pytest.fixture
def fuzz():
    """Return a function that imports a module of `fuzz`."""
    return lambda name: importlib.import_module(f"fuzz.{name}")


@pytest.fixture
def guided(fuzz, monkeypatch, tmp_path):
    """Return fuzz.guided, and a function that says how the stand-in for atheris ends."""
    module = fuzz("guided")
    for name in ("guided", "files"):
        monkeypatch.setattr(fuzz(name), "FOUND", tmp_path / "found")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.syspath_prepend(tmp_path)

    def ending(code):
        (tmp_path / "atheris.py").write_text(STAND_IN.format(end=code))
        return module

    return ending


SHORT = ["--formats", "features", "--seconds", "1", "--seed", "1"]


def test_a_clean_run(guided, capsys):
    assert guided("os._exit(0)").main(SHORT) == 0
    first, _, row = capsys.readouterr().out.splitlines()
    assert first == "seed 1, 1 s a format"
    assert " ".join(row.split()) == "features 13 5 to 9 6 to 12 3 0"


def test_a_process_that_ends_leaves_its_case(guided, fuzz, capsys, tmp_path):
    assert guided("os.abort()").main(SHORT) == 1
    assert "FINDING features: ended with status -6" in capsys.readouterr().out
    (path,) = (tmp_path / "found").iterdir()
    form, variant, files = fuzz("loading").unpacked(path)
    assert (form, list(files)) == ("features", ["features.npy"]) and variant in ("half", "single")


def test_a_finding_is_saved_once(guided, capsys, tmp_path):
    wrong = "import fuzz.loading as it; it.LOADERS['features'] = None, None; one(packed)"
    again = "packed = next(pathlib.Path(corpus).iterdir()).read_bytes()"
    assert guided(f"{again}; {wrong}; one(packed); os._exit(0)").main(SHORT) == 1
    assert capsys.readouterr().out.count("FINDING features: no file is named: ") == 1
    assert len(list((tmp_path / "found").iterdir())) == 1


def test_without_atheris(fuzz, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert fuzz("guided").main(SHORT) == 2
    assert "the package atheris is missing" in capsys.readouterr().err


def test_what_is_watched_is_there(fuzz):
    """A module that gets another name must get it there, too."""
    guiding = fuzz("guiding")
    names = [f"{name}." for name in guiding.no_readers()]
    assert "refimpl.lab.training.stack." in names
    for reader in guiding.READERS:
        importlib.import_module(reader)
        assert f"{reader}." not in names


def test_a_case_as_bytes(fuzz):
    guiding, files = fuzz("guiding"), {"a/b.npy": bytes(range(256)), "c": b""}
    assert guiding.unpacked(guiding.packed("old", files)) == ("old", files)
