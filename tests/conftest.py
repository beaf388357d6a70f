"""How a run of the tests is set up: `--runs`, both packages, how many examples are drawn."""

import importlib
import io
import os
import sys
import types
from pathlib import Path

import pytest
import tqdm
from hypothesis import settings

# `bench` is imported from the checkout; the packages stay as installed, before it.
sys.path.append(str(Path(__file__).parents[1]))

# Idle threads sleep: their waiting costs more than the small kernels of most tests. OpenMP reads
# this when it is loaded, and so do the programs that tests start.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)):
    # each of the processes its share of the cores; tests of threads ask for as many as they like
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

settings.register_profile("quick", max_examples=15, deadline=None)
settings.register_profile("dev", max_examples=40, deadline=None)
settings.register_profile("ci", derandomize=True, max_examples=40, deadline=None, print_blob=True)
settings.register_profile("hunt", max_examples=5000, deadline=None)

PACKAGES = ("refimpl", "fastimpl")
LEFT_OUT = pytest.StashKey[int]()


def pytest_configure(config):
    whole = "ci" if "CI" in os.environ else "dev"
    profile = whole if config.getoption("--runs") or whole == "ci" else "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run the tests in a process a core, 4 at most, if all are asked for: ``pytest``.

    A single file is sooner done in this process. ``-n 0`` is as before.
    """
    option = config.option
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    free = getattr(option, "numprocesses", 0) is None  # pytest-xdist is there, and no -n
    if (
        whole
        and free
        and not (hasattr(config, "workerinput") or option.usepdb or option.collectonly)
    ):
        option.numprocesses, option.dist = min(4, os.cpu_count() or 1), "worksteal"


def pytest_collection_modifyitems(config, items):
    """Leave out the tests marked with `runs`, unless they are asked for."""
    if config.getoption("--runs"):
        return
    marked = [item for item in items if item.get_closest_marker("runs")]
    items[:] = [item for item in items if not item.get_closest_marker("runs")]
    config.stash[LEFT_OUT] = len(marked)
    config.hook.pytest_deselected(items=marked)


def pytest_sessionfinish(session):
    """Tell the process that started this one how many tests it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter, config):
    """Say at the end how many tests were left out."""
    count = config.stash.get(LEFT_OUT, 0)
    if count:
        terminalreporter.write_line(
            f"left out: {count} tests that start programs, train or take long; --runs runs them too"
        )


def pytest_addoption(parser):
    parser.addoption(
        "--runs",
        action="store_true",
        help="also run the tests marked with `runs`: they start programs, train or take long",
    )


def pytest_generate_tests(metafunc):
    """Run a test with the argument `gnn` on both packages, unless --impl says which."""
    if "gnn" in metafunc.fixturenames and metafunc.config.getoption("--impl") is None:
        metafunc.parametrize("gnn", PACKAGES, indirect=True, scope="session")


def pytest_report_header():
    try:
        build = importlib.import_module("fastimpl").build_info()
    except ImportError as error:
        return f"fastimpl: not importable ({error})"
    return "fastimpl: " + ", ".join(f"{key} {value}" for key, value in build.items())


@pytest.fixture
def module(monkeypatch):
    """Make a module of some kernels that can be imported."""

    def make(name, **kernels):
        made = types.ModuleType(name)
        vars(made).update(kernels)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return make


@pytest.fixture
def on_terminal(monkeypatch):
    """Let stderr be a terminal, on which a progress bar shows every change; return it.

    It is a function, as pytest sets stderr once more between the fixtures and the test.
    """

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    class Eager(tqdm.tqdm):
        def __init__(self, *args, **options):
            super().__init__(*args, **options | {"mininterval": 0, "miniters": 0})

    def begin():
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setattr(tqdm, "tqdm", Eager)
        return sys.stderr

    return begin


@pytest.fixture
def run_notebook(monkeypatch, tmp_path):
    """Return a function that runs a notebook from above, in a folder and a kernel of its own."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))

    def run(notebook, seconds=300):
        resources = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(notebook, timeout=seconds, resources=resources).execute()

    return run
