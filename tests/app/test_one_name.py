"""Both packages as `minibatch_gnn`, and other projects' packages with the names of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

import refimpl

pytestmark = pytest.mark.runs
ROOT = Path(refimpl.__file__).resolve().parents[1]
ONE_NAME = ROOT / "refimpl" / "_support" / "one_name"  # of a checkout


def python(folder, *words, paths=()):
    """Run Python in a folder, with some paths before the checkout."""
    path = ":".join(map(str, (*paths, ROOT, ONE_NAME)))
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def printed(folder, program, **options):
    """Return what a program prints that must not fail."""
    found = python(folder, "-c", program, **options)
    assert not found.returncode, found.stderr
    return found.stdout


def other(folder, name):
    """Write a package of another project."""
    place = folder / "other" / name / "__init__.py"
    place.parent.mkdir(parents=True)
    place.write_text("def frontier(*_): return 'another sampler'\n")
    return place


@pytest.mark.parametrize("name", ["refimpl", "fastimpl"])
def test_modules_are_the_same_objects(tmp_path, name):
    program = f"""
import minibatch_gnn.{name}.samplers.pin_tile as under_one_name
from minibatch_gnn.{name}.samplers import frontier
import {name}.samplers.pin_tile as alone, {name}, minibatch_gnn, pickle, importlib
assert under_one_name is alone and minibatch_gnn.{name} is {name}
assert frontier is {name}.samplers.frontier
assert {name}.__spec__.name == {name}.__name__ == "{name}"
assert importlib.reload(minibatch_gnn.{name}.streams) is {name}.streams
assert b"minibatch_gnn" not in pickle.dumps(minibatch_gnn.{name}.Sampler)
"""
    assert printed(tmp_path, program) == ""


def test_the_name_alone_imports_neither(tmp_path):
    program = "import sys, minibatch_gnn; print({'numpy', 'refimpl', 'fastimpl'} & {*sys.modules})"
    assert printed(tmp_path, program) == "set()\n"
    assert "fastimpl" in printed(tmp_path, "import minibatch_gnn; print(dir(minibatch_gnn))")


@pytest.mark.parametrize("name", ["nothing", "refimpl.nothing"])
def test_what_is_not_there(tmp_path, name):
    program = f"""
import importlib, minibatch_gnn
try:
    importlib.import_module("minibatch_gnn.{name}")
except ModuleNotFoundError as error:
    print(error.name)
print(hasattr(minibatch_gnn, "nothing"))
"""
    assert printed(tmp_path, program).split()[0].endswith(name)
    assert printed(tmp_path, program).split()[1] == "False"


@pytest.mark.parametrize("program", ["import fastimpl", "import minibatch_gnn.refimpl.samplers"])
def test_another_refimpl_is_refused_by_its_file(tmp_path, program):
    place = other(tmp_path, "refimpl")
    found = python(tmp_path, "-c", program, paths=[place.parents[1]])
    assert found.returncode == 1
    last = found.stderr.splitlines()[-1]
    assert last.startswith("ImportError") and str(place) in last and "rename the other" in last


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "refimpl", "sample", "--impl", "fastimpl"],
        ["-m", "refimpl", "conformance", "--impl", "fastimpl"],
        ["-m", "pytest", "--gnn-conformance", "--impl", "fastimpl", "-p", "pytest_minibatch_gnn"],
        ["-c", "import minibatch_gnn.fastimpl"],
    ],
)
def test_another_fastimpl_is_refused_by_its_file(tmp_path, words):
    place = other(tmp_path, "fastimpl")
    found = python(tmp_path, *words, paths=[place.parents[1]])
    assert found.returncode
    assert f"another fastimpl, {place}" in found.stdout + found.stderr


def test_no_refimpl(tmp_path):
    (tmp_path / "fastimpl").symlink_to(ROOT / "fastimpl")
    found = subprocess.run(
        [sys.executable, "-S", "-c", "import fastimpl"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={},
    )
    assert "needs the refimpl that was installed with it, but Python finds none" in found.stderr


def test_a_missing_dependency_is_named(tmp_path):
    program = """
import sys, minibatch_gnn
sys.modules["threadpoolctl"] = None
try:
    import minibatch_gnn.refimpl
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert printed(tmp_path, program) == "threadpoolctl\n"
