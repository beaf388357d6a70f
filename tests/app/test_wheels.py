"""What is published: contents of wheels, what configures their builds, and the page on it."""

import importlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from fastimpl import _levels
from refimpl import __version__ as VERSION

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

pytestmark = pytest.mark.runs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/install.md").read_text(encoding="utf-8")
TRIED = (ROOT / "docs/howto/install_tried.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def contents():
    return importlib.import_module("wheels.contents")


def wheel(folder, names, size=0):
    path = folder / "minibatch_gnn-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
        archive.writestr("filling", bytes(size))
    return path


def test_a_wheel_without_c_files_below_its_size_is_good(contents, tmp_path):
    assert contents.problems(wheel(tmp_path, contents.IN_WHEEL)) == []


@pytest.mark.parametrize("name", ["fastimpl/_graph.c", "fastimpl/samplers/_edge.c", "a/b.pyc"])
def test_what_a_build_leaves_behind_is_found(contents, tmp_path, name):
    (found,) = contents.problems(wheel(tmp_path, [*contents.IN_WHEEL, name]))
    assert name in found


def test_a_wheel_that_is_large_or_incomplete_is_found(contents, tmp_path):
    (found,) = contents.problems(wheel(tmp_path, contents.IN_WHEEL, contents.LARGEST))
    assert re.fullmatch(r"has 4,[\d,]+ bytes, 4,000,000 or more", found)
    assert contents.problems(wheel(tmp_path, contents.IN_WHEEL[1:])) == [
        "lacks refimpl/__init__.py"
    ]


def test_a_source_distribution_holds_what_tests_and_builds_and_no_made_c(contents, tmp_path):
    path = tmp_path / "minibatch_gnn-1.tar.gz"
    left_out, *names = contents.IN_SOURCE
    with tarfile.open(path, "w:gz") as archive:
        for name in [*names, "fastimpl/_graph.c", "bench/probes.c", "fastimpl/_graph.so"]:
            archive.addfile(tarfile.TarInfo(f"minibatch_gnn-1/{name}"), io.BytesIO())
    assert contents.problems(path) == [
        f"lacks {left_out}",
        "has fastimpl/_graph.c, which Cython makes",
        "has fastimpl/_graph.so",
    ]


def test_what_is_wanted_of_a_source_distribution_is_in_the_checkout(contents):
    for name in contents.IN_SOURCE:
        assert (ROOT / name).is_file()


def test_the_page_has_each_variable_of_a_build_and_of_the_import():
    asked = set(
        re.findall(r"environ\.get\(\s*\"(MINIBATCH_GNN_\w+)", (ROOT / "setup.py").read_text())
    )
    for_tests = {"MINIBATCH_GNN_CHECKED", "MINIBATCH_GNN_SANITIZE"}
    listed = set(re.findall(r"^- `(MINIBATCH_GNN_\w+)` \(", PAGE, re.M))
    assert for_tests < asked
    assert listed == asked - for_tests | {_levels.VARIABLE}


def test_each_python_that_is_claimed_was_tried_or_is_said_not_to_be():
    rows = [line.strip("| ").split(" | ") for line in TRIED.splitlines() if line.startswith("| ")][
        2:
    ]
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert rows and "failed" not in TRIED
    passed = [row for row in rows if re.fullmatch(r"[1-9]\d+ passed", row[5])]
    tried = {row[1].rpartition(".")[0] for row in passed}
    untried = re.search(r"^Not yet tried as a wheel: Python (.*)\.$", TRIED, re.M)
    assert set(claimed) - tried == set(untried[1].split(", ") if untried else [])
    assert {row[4] for row in passed} == {"base", "x86-64-v3", "x86-64-v4"}
    assert any("NumPy 2.0." in row[2] for row in passed)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are of x86-64")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_levels_need_a_compiler_that_can_tell_them_apart(tmp_path):
    """GCC 11 compiles for the levels, but what it makes would never choose one."""
    pytest.importorskip("Cython", reason="setup.py imports Cython")
    pytest.importorskip("setuptools", reason="setup.py imports setuptools")
    compiler = tmp_path / "gcc-11"
    compiler.write_text(
        "#!/bin/sh\nfor arg; do\n"
        '    case $arg in *.c) grep -q \'cpu_supports("x86-64\' "$arg" && exit 1;; esac\n'
        'done\nexec cc "$@"\n'
    )
    compiler.chmod(0o755)
    levels = importlib.import_module("wheels.build").LEVELS
    command = [sys.executable, "setup.py", "-q", "build_ext"]
    command += ["--build-lib", str(tmp_path), "--build-temp", str(tmp_path)]
    env = {**os.environ, "CC": str(compiler), "MINIBATCH_GNN_ARCH": levels}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode
    assert "cannot tell which of ['x86-64-v3', 'x86-64-v4']" in done.stderr


def test_cibuildwheel_builds_for_each_python_that_is_claimed():
    settings = PROJECT["tool"]["cibuildwheel"]
    claimed = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert settings["build"].split() == [f"cp3{minor}-*" for minor in claimed]
    levels = settings["linux"]["environment"]["MINIBATCH_GNN_ARCH"].split(",")
    assert levels == importlib.import_module("wheels.build").LEVELS.split(",")
    for name in settings["test-sources"]:
        assert (ROOT / name).exists()


def test_the_workflow_builds_on_each_platform_that_is_configured():
    text = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    platforms = set(re.findall(r"platform: (\w+),", text))
    settings = PROJECT["tool"]["cibuildwheel"]
    assert platforms == {name for name, of in settings.items() if "environment" in of}


def test_rows_of_several_runs_stand_in_one_table(tmp_path):
    """What is run again replaces its rows."""
    main, row = (
        importlib.import_module("wheels.__main__"),
        importlib.import_module("wheels.trying").Row,
    )
    old = [
        row("Debian", f"3.{minor}.1", "NumPy 2", "this one", "base", "3 passed")
        for minor in (9, 12)
    ]
    path = tmp_path / "table.md"
    path.write_text("\n".join(main.lines(old)))
    new = [row("Debian", "3.12.1", "NumPy 3", "this one", "base", "4 passed")]
    assert main.joined(path, new) == [old[0], *new]
    assert main.joined(tmp_path / "none.md", new) == new


@pytest.mark.parametrize("address", ["", "https://example.org/some/where"])
def test_links_of_the_published_readme_lead_to_the_repository(tmp_path, address):
    """As the metadata of a distribution has it; without an address it is the file."""
    pytest.importorskip("Cython", reason="setup.py imports Cython")
    env = {
        **os.environ,
        "MINIBATCH_GNN_PURE": "1",
        "MINIBATCH_GNN_URL": address + "/" * bool(address),
    }
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.egg-info/PKG-INFO")
    head, _, text = made.read_text(encoding="utf-8").partition("\n\n")
    source = (ROOT / "README.md").read_text(encoding="utf-8")
    if not address:
        assert text.strip() == source.strip() and "Project-URL" not in head
        return
    assert f"Project-URL: Source, {address}\n" in head
    links = re.findall(r"\]\(([^)]+)\)", text)
    there = [link.removeprefix(address) for link in links]
    assert there == [
        re.sub(
            r"^(?!https?:|#)", f"/{'raw' if link.endswith('.png') else 'blob'}/v{VERSION}/", link
        )
        for link in re.findall(r"\]\(([^)]+)\)", source)
    ]
