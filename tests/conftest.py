"""Hypothesis profiles, and `--impl`: which packages the tests marked with `gnn` run on."""

import importlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, max_examples=60, deadline=None, print_blob=True)
settings.register_profile("dev", max_examples=40, deadline=None)
settings.register_profile("hunt", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))

PACKAGES = ("refimpl", "fastimpl")


def pytest_addoption(parser):
    parser.addoption(
        "--impl",
        choices=[*PACKAGES, "both"],
        default="both",
        help="package that a test with the argument `gnn` runs on (default: both)",
    )


def pytest_generate_tests(metafunc):
    if "gnn" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--impl")
        names = PACKAGES if chosen == "both" else (chosen,)
        metafunc.parametrize("gnn", names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def gnn(request):
    """The package under test; one that cannot be imported is an error, never a skip."""
    return importlib.import_module(request.param)


@pytest.fixture
def bench_folder(tmp_path, monkeypatch):
    """A folder to import `bench` from, and nothing else: packages stay as installed."""
    root = Path(__file__).parents[1]
    (tmp_path / "bench").symlink_to(root / "bench", target_is_directory=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def pytest_report_header():
    try:
        build = importlib.import_module("fastimpl").build_info()
    except ImportError as error:
        return f"fastimpl: not importable ({error})"
    return "fastimpl: " + ", ".join(f"{key} {value}" for key, value in build.items())
